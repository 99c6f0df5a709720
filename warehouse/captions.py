"""Captions and transcripts: proposed by models, written and decided by people, every version kept."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from core.content import Modality
from core.errors import InterplayError
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.caption_search import Search, captions_of, descent, find_captions, get_caption
from warehouse.people import Role, require_role
from warehouse.tables import Caption, CaptionKind, CaptionState, Material, User

KINDS: Mapping[str, CaptionKind] = {
    Modality.IMAGE: CaptionKind.CAPTION,
    Modality.VIDEO: CaptionKind.CAPTION,
    Modality.AUDIO: CaptionKind.TRANSCRIPT,
}
WRITERS = (Role.ANNOTATOR, Role.REVIEWER, Role.MAINTAINER)
DECIDERS = (Role.REVIEWER, Role.MAINTAINER)


class StaleCaption(InterplayError):
    """Somebody else wrote a newer version since this one was read."""


class UnusableText(InterplayError):
    """A text that cannot stand in the place of media."""


class BadLanguage(InterplayError):
    """Something else than the tag of a language."""


@dataclass(frozen=True)
class Proposal:
    """What a model said of a material; `response_key` is the `key` of its response, `run_id` the run that asked."""

    material_id: str
    kind: CaptionKind
    language: str
    text: str
    model: str
    model_fingerprint: str
    response_key: str
    run_id: str


@dataclass(frozen=True)
class AcceptedAll:
    """What was accepted at once, and what a person must choose: several proposals, or another text is accepted."""

    accepted: list[Caption] = field(default_factory=list)
    undecided: list[Caption] = field(default_factory=list)


def language_of(tag: str) -> str:
    """The language that captions are kept under: 'zh' of 'zh-CN'.

    Raises:
        BadLanguage: It is no tag of a language.
    """
    language = tag.partition("-")[0].lower()
    if not (language.isascii() and language.isalpha() and 2 <= len(language) <= 3):
        raise BadLanguage(f"{tag!r} is no tag of a language; write one as 'en' or 'zh-CN'")
    return language


def propose_caption(session: Session, proposal: Proposal, clock: Clock = utc_now) -> Caption | None:
    """Store what a model said; None when this very response has become a caption before.

    Raises:
        UnusableText: There are no words in it.
    """
    known = select(Caption.id).where(Caption.response_key == proposal.response_key)
    if session.exec(known).first() is not None:
        return None
    caption = Caption(
        material_id=proposal.material_id,
        kind=proposal.kind,
        language=proposal.language,
        # PostgreSQL's text has no NUL.
        text=_usable(proposal.text.replace("\x00", "\N{REPLACEMENT CHARACTER}")),
        author=proposal.model,
        by_person=False,
        model_fingerprint=proposal.model_fingerprint,
        response_key=proposal.response_key,
        run_id=proposal.run_id,
        created_at=clock(),
    )
    try:
        with session.begin_nested():
            session.add(caption)
    except IntegrityError:
        if session.exec(known).first() is None:
            raise
        return None  # another process stored it at this moment
    _tell(session, caption, proposal.model, "propose", clock)
    return caption


def replace_proposals(
    session: Session, material: Material, pipeline: str, said: Proposal | None, actor: str, clock: Clock = utc_now
) -> Caption | None:
    """Let what a pipeline says now stand in place of what its earlier versions proposed, in whichever language.

    Its authors begin with its name and '@'; `said` is None when it has nothing to say any more. What people accepted,
    rejected or edited stays, and the same words of the same author are not proposed again.

    Raises:
        UnusableText: There are no words in it.
    """
    _lock(session, material.id)
    versions = find_captions(session, Search([material.id], [KINDS[material.modality]]))
    edited = {one.based_on_id for one in versions}
    words = None if said is None else (said.model, said.language, said.text.strip())
    stands = False
    for one in versions:
        if one.by_person or one.author.partition("@")[0] != pipeline:
            continue
        is_same = words == (one.author, one.language, one.text)
        if is_same and (one.state != CaptionState.SUPERSEDED or one.id in edited):
            stands = True
        elif one.state == CaptionState.PROPOSED:
            _move(session, one, CaptionState.SUPERSEDED, actor, clock)
    return None if said is None or stands else propose_caption(session, said, clock)


def write_caption(
    session: Session, material: Material, language: str, text: str, user: User, clock: Clock = utc_now
) -> Caption:
    """A person's own words for a material, as a proposal. Words that stand there already are not written again.

    Raises:
        NotAllowed: The user's roles do not allow it.
        UnusableText, BadLanguage: There are no words in it, or the language is none.
    """
    require_role(user, *WRITERS)
    wanted = _usable(text)
    _lock(session, material.id)
    known = standing_caption(session, material, language, wanted)
    if known is not None:
        return known
    caption = Caption(
        material_id=material.id,
        kind=KINDS[material.modality],
        language=language_of(language),
        text=wanted,
        author=user.name,
        by_person=True,
        created_at=clock(),
    )
    return _add(session, caption, user, "write", clock)


def standing_caption(session: Session, material: Material, language: str, text: str) -> Caption | None:
    """The proposed or accepted version that says this of the material."""
    for known in captions_of(session, [material.id], KINDS[material.modality], language_of(language)):
        if known.text == text.strip() and known.state in (CaptionState.PROPOSED, CaptionState.ACCEPTED):
            return known
    return None


def edit_caption(session: Session, caption_id: str, text: str, user: User, clock: Clock = utc_now) -> Caption:
    """A new version by a person, as a proposal; an accepted one stays accepted until the new one is.

    The same text makes no version: the one that was to be edited is given back.

    Raises:
        UnknownId, StaleCaption: There is no such version, or it was edited meanwhile.
        NotAllowed: The user's roles do not allow it.
        UnusableText: There are no words in it.
    """
    require_role(user, *WRITERS)
    old = _locked(session, caption_id)
    _require_current(session, old)
    wanted = _usable(text)
    if old.text == wanted:
        return old
    if old.state == CaptionState.PROPOSED:
        _move(session, old, CaptionState.SUPERSEDED, user.name, clock)
    caption = Caption(
        material_id=old.material_id,
        kind=old.kind,
        language=old.language,
        text=wanted,
        author=user.name,
        by_person=True,
        based_on_id=old.id,
        created_at=clock(),
    )
    return _add(session, caption, user, "edit", clock)


def accept_caption(session: Session, caption_id: str, user: User, clock: Clock = utc_now) -> Caption:
    """Let a version stand for its material; the one that did is superseded. Accepting it again changes nothing.

    Raises:
        UnknownId, StaleCaption: There is no such version, or it was edited meanwhile.
        NotAllowed: The user's roles do not allow it.
    """
    require_role(user, *DECIDERS)
    caption = _locked(session, caption_id)
    if caption.state == CaptionState.ACCEPTED:
        return caption
    _require_current(session, caption)
    for other in captions_of(session, [caption.material_id], caption.kind, caption.language):
        if other.state == CaptionState.ACCEPTED:
            # In the database before the new one, which its index would refuse else.
            _move(session, other, CaptionState.SUPERSEDED, user.name, clock)
    return _move(session, caption, CaptionState.ACCEPTED, user.name, clock)


def reject_caption(session: Session, caption_id: str, user: User, clock: Clock = utc_now) -> Caption:
    """Say that a version is wrong, also of one that was accepted. Rejecting it again changes nothing.

    Raises:
        UnknownId, StaleCaption: There is no such version, or it was edited meanwhile.
        NotAllowed: The user's roles do not allow it.
    """
    require_role(user, *DECIDERS)
    caption = _locked(session, caption_id)
    if caption.state == CaptionState.REJECTED:
        return caption
    if caption.state != CaptionState.ACCEPTED:
        _require_current(session, caption)
    return _move(session, caption, CaptionState.REJECTED, user.name, clock)


def accept_all(
    session: Session,
    material_ids: Iterable[str],
    user: User,
    *,
    author: str | None = None,
    kinds: Sequence[CaptionKind] = tuple(CaptionKind),
    clock: Clock = utc_now,
) -> AcceptedAll:
    """Accept the proposals (of one author) wherever there is one alone and nothing, or what led to it, is accepted.

    Raises:
        NotAllowed: The user's roles do not allow it.
    """
    require_role(user, *DECIDERS)
    done = AcceptedAll()
    together: dict[tuple[str, str, str], list[Caption]] = {}
    for caption in find_captions(session, Search(sorted(set(material_ids)), kinds)):
        together.setdefault((caption.material_id, caption.kind, caption.language), []).append(caption)
    for versions in together.values():
        by_id = {one.id: one for one in versions}
        proposals = [
            one for one in versions if one.state == CaptionState.PROPOSED and author in (None, one.author)
        ]  # fmt: skip
        accepted = {one.id for one in versions if one.state == CaptionState.ACCEPTED}
        if len(proposals) == 1 and accepted <= {one.id for one in descent(proposals[0], by_id)}:
            done.accepted.append(accept_caption(session, proposals[0].id, user, clock))
        else:
            done.undecided.extend(proposals)
    return done


def _usable(text: str) -> str:
    if "\x00" in text:
        raise UnusableText("a caption cannot hold the character NUL; remove it")
    if not text.strip():
        raise UnusableText("a caption needs words; write what is seen or heard, or reject the one that is there")
    return text.strip()


def _locked(session: Session, caption_id: str) -> Caption:
    # Nobody else can change the material's words before the transaction ends.
    caption = get_caption(session, caption_id)
    _lock(session, caption.material_id)
    session.refresh(caption)
    return caption


def _lock(session: Session, material_id: str) -> None:
    session.get(Material, material_id, with_for_update=True)


def _require_current(session: Session, caption: Caption) -> None:
    newer = select(Caption).where(Caption.based_on_id == caption.id, col(Caption.state) != CaptionState.REJECTED)
    found = session.exec(newer).first()
    if found is not None:
        raise StaleCaption(
            f"caption {caption.id} was edited by {found.author} meanwhile; go on from that version, {found.id}"
        )


def _add(session: Session, caption: Caption, user: User, action: str, clock: Clock) -> Caption:
    session.add(caption)
    session.flush()
    _tell(session, caption, user.name, action, clock, based_on_id=caption.based_on_id)
    return caption


_ACTIONS = {
    CaptionState.ACCEPTED: "accept",
    CaptionState.SUPERSEDED: "supersede",
    CaptionState.REJECTED: "reject",
}


def _move(session: Session, caption: Caption, state: CaptionState, actor: str, clock: Clock) -> Caption:
    before, caption.state = caption.state, state
    session.add(caption)
    session.flush()
    _tell(session, caption, actor, _ACTIONS[state], clock, before=before.value)
    return caption


def _tell(session: Session, caption: Caption, actor: str, action: str, clock: Clock, **detail: str | None) -> None:
    about = {"material_id": caption.material_id, "kind": caption.kind.value, "language": caption.language}
    events.record(session, actor, "caption", caption.id, action, clock, **about, **detail)
