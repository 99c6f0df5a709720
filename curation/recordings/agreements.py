"""Consents: who agreed to what, in which words, until when."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from core.errors import InterplayError, UnknownName
from core.ids import Clock, utc_now
from curation.recordings.contributors import get_contributor
from warehouse import events
from warehouse.consents import Scope, consent_problems
from warehouse.database import Database
from warehouse.handles import UnknownId, whole_id
from warehouse.tables import Consent, ConsentText, Contributor

LANGUAGES = ("en", "zh")
_VERSION_LENGTH = 32
_STORES = "store"
CONSENTS = "interplay consent list"


class BadConsentText(InterplayError):
    """Words of a consent that nobody could agree to."""


class ConsentTextUsed(InterplayError):
    """Somebody has agreed to these words; they never change."""


class BadConsent(InterplayError):
    """A consent that cannot be given so."""


class ConsentLacking(InterplayError):
    """A consent that does not allow what was asked for."""


@dataclass(frozen=True)
class NewConsent:
    """What somebody agrees to: in the words of a version, for these scopes, until then (for ever when None)."""

    contributor: str
    text_version: str
    scope: Collection[Scope]
    expires_at: datetime | None = None


def put_text(
    session: Session,
    version: str,
    texts: Mapping[str, str],
    licence: str | None,
    actor: str,
    clock: Clock = utc_now,
) -> ConsentText:
    """Store the words of a version in English and Chinese; until somebody has agreed to them, they can be replaced.

    Args:
        session: The caller's transaction.
        version: As people call it.
        texts: By language.
        licence: Under which the words let the project publish what is recorded.
        actor: Who stores them.
        clock: For the row's time.

    Raises:
        BadConsentText: A language is missing or empty, or the version is no short name.
        ConsentTextUsed: Somebody has agreed to other words of that version.
    """
    missing = [language for language in LANGUAGES if not texts.get(language, "").strip()]
    if missing:
        raise BadConsentText(f"consent text {version!r} lacks words in {' and '.join(missing)}; write both languages")
    if not version.strip() or len(version) > _VERSION_LENGTH:
        raise BadConsentText(f"{version!r:.80} is no version; write at most {_VERSION_LENGTH} characters, as 1.0")
    held = session.get(ConsentText, version, with_for_update=True)
    wanted = {language: texts[language].strip() for language in LANGUAGES}
    if held is not None and (held.texts, held.licence) == (wanted, licence):
        return held
    if held is not None and session.exec(select(Consent.id).where(Consent.text_version == version)).first():
        raise ConsentTextUsed(
            f"somebody has agreed to consent text {version!r}, so it never changes; store new words as a new version"
        )
    text = held or ConsentText(version=version, created_by=actor, created_at=clock())
    text.texts, text.licence = wanted, licence
    session.add(text)
    events.record(session, actor, "consent_text", version, "replace" if held else "create", clock, licence=licence)
    session.flush()
    return text


def list_texts(session: Session) -> list[ConsentText]:
    """All versions, oldest first."""
    return list(session.exec(select(ConsentText).order_by(col(ConsentText.created_at), col(ConsentText.version))))


def get_text(session: Session, version: str) -> ConsentText:
    """The words of that version.

    Raises:
        UnknownName: There is none.
    """
    found = session.get(ConsentText, version)
    if found is None:
        raise UnknownName("consent text", version, session.exec(select(ConsentText.version)))
    return found


def give_consent(session: Session, new: NewConsent, actor: str, clock: Clock = utc_now) -> Consent:
    """Note that somebody agreed, in the caller's transaction.

    Raises:
        UnknownName: There is no such contributor or text.
        BadConsent: It covers nothing, or has ended already.
    """
    contributor = get_contributor(session, new.contributor)
    # Held for update, so that nobody replaces the words at this moment.
    text = session.get(ConsentText, get_text(session, new.text_version).version, with_for_update=True)
    assert text is not None
    if not new.scope:
        raise BadConsent(
            f"a consent must cover something: {', '.join(Scope)}; name what {contributor.pseudonym} allows"
        )
    if new.expires_at is not None and new.expires_at <= clock():
        raise BadConsent(f"a consent that ends on {new.expires_at:%Y-%m-%d} has ended already; give a later day")
    consent = Consent(
        contributor_id=contributor.id,
        text_version=text.version,
        scope=[scope.value for scope in Scope if scope in new.scope],
        given_at=clock(),
        expires_at=new.expires_at,
    )
    session.add(consent)
    session.flush()
    events.record(
        session, actor, "consent", consent.id, "give", clock,
        contributor_id=contributor.id, text_version=text.version, scope=consent.scope,
    )  # fmt: skip
    return consent


def consent_named(session: Session, written: str) -> str:
    """The id of the consent whose id is or begins with what was written.

    Raises:
        UnknownId, AmbiguousId: There is none, or there are several.
    """
    return whole_id(session, [Consent.id], written, "consent", CONSENTS)


def get_consent(session: Session, consent_id: str, *, lock: bool = False) -> Consent:
    """The consent of that id; with `lock` nobody else can withdraw it before the transaction ends.

    Raises:
        UnknownName: There is none.
    """
    found = session.get(Consent, consent_id, with_for_update=lock or None, populate_existing=lock)
    if found is None:
        raise UnknownId("consent", consent_id, CONSENTS)
    return found


def require_consent(consent: Consent, needed: Iterable[Scope], now: datetime) -> None:
    """Stop what a consent does not allow.

    Raises:
        ConsentLacking: It was withdrawn, has ended, or does not cover it.
    """
    problems = list(consent_problems(consent, needed, now))
    if problems:
        raise ConsentLacking(
            f"{' and '.join(problems)}; ask for a new consent, and note it with 'interplay consent give'"
        )


def note_bytes(
    database: Database, consent_id: str, hashes: Collection[str], actor: str, clock: Clock = utc_now
) -> None:
    """Note which bytes are about to be stored under a consent: a withdrawal finds them, whatever dies meanwhile."""
    with database.session() as session:
        events.record(session, actor, "consent", consent_id, _STORES, clock, sha256=sorted(hashes))


def noted_bytes(session: Session, consent_id: str) -> set[str]:
    """The sha256 of all bytes that were, or were to be, stored under a consent."""
    told = events.history(session, "consent", consent_id)
    return {sha256 for event in told if event.action == _STORES for sha256 in event.detail["sha256"]}


def list_consents(
    session: Session, contributor: str | None = None, ended_before: datetime | None = None
) -> list[tuple[Consent, Contributor]]:
    """Consents with who gave them, oldest first; those of one contributor, or those that ended before a moment.

    Raises:
        UnknownName: There is no such contributor.
    """
    query = (
        select(Consent, Contributor)
        .join(Contributor, col(Contributor.id) == col(Consent.contributor_id))
        .order_by(col(Consent.given_at), col(Consent.id))
    )
    if contributor is not None:
        query = query.where(Consent.contributor_id == get_contributor(session, contributor).id)
    if ended_before is not None:
        query = query.where(col(Consent.expires_at) <= ended_before, col(Consent.withdrawn_at).is_(None))
    return list(session.exec(query))
