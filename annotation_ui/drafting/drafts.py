"""Drafts: they save themselves, never over a newer version, and nothing that was written is lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from annotation_ui.drafting.content import DraftContent, content_of
from annotation_ui.permissions import Permission, Principal, authorize
from annotation_ui.told import Told
from annotation_ui.words import N_
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.items import current_revision, find_item
from warehouse.lifecycle import Action, possible_actions
from warehouse.tables import DraftVersion, Item, ItemDraft, RevisionMedia
from warehouse.verdicts import own_items

MOST_OPEN = 200
MOST_DISCARDED = 50
SUBMITTED, DISCARDED = "submitted", "discarded"


class UnknownDraft(Told):
    """There is no such draft, or it is somebody else's: which of the two is not said."""

    text = N_("There is no such draft among yours. It may have been handed in or thrown away.")


class DraftClosed(Told):
    """A draft that was handed in or thrown away meanwhile."""

    text = N_("This draft was handed in or thrown away meanwhile, and cannot be changed any more.")


class TooManyDrafts(Told):
    """Somebody who opens drafts without end."""

    text = N_("You have {count} open drafts. Hand some in or throw some away first.")


class NotRevisable(Told):
    """An item that is another's, or whose state allows no new revision."""

    text = N_("This item cannot be revised by you: only its author and maintainers can, while it is not rejected.")


@dataclass(frozen=True)
class Save:
    """What an editor hands over: `expected_version` is the one that it began from.

    `editor` names the browser tab, `stroke` counts its saves.
    """

    expected_version: int
    content: DraftContent
    editor: str = ""
    stroke: int = 0


@dataclass(frozen=True)
class Saved:
    """A draft as it is stored now."""

    version: int
    saved_at: datetime


@dataclass(frozen=True)
class Conflict:
    """Somebody saved since the editor began, and both are kept.

    `theirs` is what the draft holds; `aside_id` names the copy of what was not saved into it.
    """

    version: int
    saved_at: datetime
    saved_by: str
    theirs: DraftContent
    aside_id: str


def open_draft(session: Session, who: Principal, item_name: str | None = None, clock: Clock = utc_now) -> ItemDraft:
    """A new draft, or one that revises an item; who has an open one on that item gets that.

    Raises:
        NotAllowed, AccountInactive, TooManyDrafts, NotRevisable: As they say.
    """
    who = authorize(session, who, Permission.AUTHOR)
    if item_name is not None:
        return _revising(session, who, item_name, clock)
    return opened(session, who, DraftContent(), clock)


def new_question(
    session: Session, who: Principal, language: str = "", clock: Clock = utc_now, task_type: str = ""
) -> ItemDraft:
    """A draft of a new item: one's own open one that holds no words yet, where there is one of that task type.

    It begins in the language that its author wrote in last, else in the one that is given; where a task type is asked
    for, in the one that is given.

    Raises:
        NotAllowed, AccountInactive, TooManyDrafts: As they say.
    """
    who = authorize(session, who, Permission.AUTHOR)
    for draft in open_drafts(session, who):
        fits = not task_type or draft.content.get("language", "") == language
        if draft.item_id is None and fits and _is_blank(draft.content, task_type):
            return draft
    last = select(ItemDraft).where(ItemDraft.author == who.user_id).order_by(col(ItemDraft.saved_at).desc()).limit(1)
    before = session.exec(last).first()
    usual = before.content.get("language") if before and not task_type else None
    return opened(session, who, DraftContent(task_type=task_type, language=usual or language), clock)


def get_draft(
    session: Session, who: Principal, draft_id: str, *, lock: bool = False, is_open: bool = False
) -> ItemDraft:
    """One's own draft (a maintainer's: anybody's); open or closed, unless it `is_open` that is asked for.

    Raises:
        UnknownDraft: There is none.
        DraftClosed: There is, but it is closed.
    """
    draft = session.get(ItemDraft, draft_id, with_for_update=lock or None, populate_existing=True)
    if draft is None or not (draft.author == who.user_id or who.may(Permission.SEE_EVERY_KEY)):
        raise UnknownDraft
    if is_open and draft.closed_at is not None:
        raise DraftClosed
    return draft


def save_draft(session: Session, who: Principal, draft_id: str, save: Save, clock: Clock = utc_now) -> Saved | Conflict:
    """Store what an editor has, unless somebody else saved since it began; then it is laid aside and both are told.

    A repeat changes nothing, be it of the same words or of a save that the same tab has overtaken.

    Raises:
        NotAllowed, AccountInactive, UnknownDraft, DraftClosed: As they say.
    """
    who = authorize(session, who, Permission.AUTHOR)
    draft = get_draft(session, who, draft_id, lock=True)
    content = save.content.as_json()
    is_same_tab = bool(save.editor) and (draft.editor, draft.saved_by) == (save.editor, who.user_id)
    if draft.content == content:
        if draft.closed_at is None and not is_same_tab:
            # These are now the words of both, and neither writes over them as over its own.
            draft.editor, draft.stroke = "", 0
            session.add(draft)
        return Saved(draft.version, draft.saved_at)
    if draft.closed_at is not None:
        raise DraftClosed
    if is_same_tab and save.stroke <= draft.stroke:
        return Saved(draft.version, draft.saved_at)
    if not is_same_tab and save.expected_version != draft.version:
        aside = _lay_aside(session, who, draft, save.expected_version, content, clock)
        theirs = DraftContent.parse(draft.content)
        return Conflict(draft.version, draft.saved_at, draft.saved_by, theirs, aside.id)
    if not is_same_tab and not _is_blank(draft.content):
        # Of one tab's saves only the last is kept; what another one wrote is never lost.
        session.add(_version(draft, draft.version, draft.content, draft.saved_by, draft.saved_at))
    draft.content, draft.version = content, draft.version + 1
    draft.saved_by, draft.saved_at = who.user_id, clock()
    draft.editor, draft.stroke = save.editor, save.stroke
    session.add(draft)
    return Saved(draft.version, draft.saved_at)


def discard_draft(
    session: Session, who: Principal, draft_id: str, expected_version: int, clock: Clock = utc_now
) -> None:
    """Throw a draft away; what it held stays in the database, and `reopen_draft` brings it back.

    Raises:
        NotAllowed, AccountInactive, UnknownDraft, DraftClosed: As they say; the last also where it was changed since.
    """
    who = authorize(session, who, Permission.AUTHOR)
    draft = get_draft(session, who, draft_id, lock=True)
    if draft.closed_as == DISCARDED:
        return
    if draft.closed_at is not None or draft.version != expected_version:
        raise DraftClosed
    close(session, draft, DISCARDED, who, clock)


def reopen_draft(session: Session, who: Principal, draft_id: str, clock: Clock = utc_now) -> ItemDraft:
    """Bring a draft back that was thrown away; one that was handed in stays closed.

    Raises:
        NotAllowed, AccountInactive, UnknownDraft, DraftClosed: As they say.
    """
    who = authorize(session, who, Permission.AUTHOR)
    draft = get_draft(session, who, draft_id, lock=True)
    if draft.closed_as == SUBMITTED:
        raise DraftClosed
    draft.closed_at, draft.closed_as = None, None
    try:
        with session.begin_nested():
            session.add(draft)
    except IntegrityError:  # another draft on the same item was begun meanwhile
        raise DraftClosed from None
    events.record(session, who.user_id, "draft", draft.id, "reopen", clock)
    return draft


def close(session: Session, draft: ItemDraft, closed_as: str, who: Principal, clock: Clock) -> None:
    """End a draft, and say so in the history."""
    draft.closed_at, draft.closed_as = clock(), closed_as
    session.add(draft)
    events.record(session, who.user_id, "draft", draft.id, closed_as, clock, revision_id=draft.revision_id)


def open_drafts(session: Session, who: Principal) -> Sequence[ItemDraft]:
    """One's own open drafts, the last saved first."""
    query = select(ItemDraft).where(ItemDraft.author == who.user_id, col(ItemDraft.closed_at).is_(None))
    return session.exec(query.order_by(col(ItemDraft.saved_at).desc(), col(ItemDraft.id))).all()


def discarded_drafts(session: Session, who: Principal) -> Sequence[ItemDraft]:
    """One's own drafts that were thrown away with words in them, the last first, at most `MOST_DISCARDED`."""
    query = select(ItemDraft).where(ItemDraft.author == who.user_id, ItemDraft.closed_as == DISCARDED)
    found = session.exec(query.order_by(col(ItemDraft.closed_at).desc(), col(ItemDraft.id)).limit(MOST_DISCARDED))
    return [draft for draft in found if draft.content]


def draft_versions(session: Session, draft: ItemDraft) -> Sequence[DraftVersion]:
    """What the draft said before somebody else saved, and what was laid aside, the newest first."""
    query = select(DraftVersion).where(DraftVersion.draft_id == draft.id)
    return session.exec(query.order_by(col(DraftVersion.saved_at).desc(), col(DraftVersion.id).desc())).all()


def opened(
    session: Session, who: Principal, content: DraftContent, clock: Clock, item: Item | None = None
) -> ItemDraft:
    """A new draft of somebody's that begins with this content.

    Raises:
        TooManyDrafts: They have too many open ones.
    """
    count = len(open_drafts(session, who))
    if count >= MOST_OPEN:
        raise TooManyDrafts(count=count)
    now = clock()
    draft = ItemDraft(
        author=who.user_id,
        item_id=item.id if item else None,
        base_revision_id=item.current_revision_id if item else None,
        content=content.as_json(),
        saved_by=who.user_id,
        saved_at=now,
        created_at=now,
    )
    session.add(draft)
    session.flush()
    events.record(session, who.user_id, "draft", draft.id, "open", clock, item=item.name if item else None)
    return draft


def _is_blank(content: dict[str, Any], task_type: str = "") -> bool:
    """Whether nobody has written yet: the language is there from the start, and the task type that was asked for."""
    return set(content) <= {"language", "task_type"} and content.get("task_type", "") == task_type


def _revising(session: Session, who: Principal, item_name: str, clock: Clock) -> ItemDraft:
    item = find_item(session, item_name)
    if item is None or not is_revisable(session, who, item):
        raise NotRevisable
    mine = select(ItemDraft).where(
        ItemDraft.item_id == item.id, ItemDraft.author == who.user_id, col(ItemDraft.closed_at).is_(None)
    )
    if known := session.exec(mine).first():
        return known
    revision = current_revision(session, item)
    media = session.exec(select(RevisionMedia).where(RevisionMedia.revision_id == revision.id))
    content = content_of(item.name, revision, {one.placeholder: one.material_id for one in media}, item.twin_group)
    try:
        with session.begin_nested():
            return opened(session, who, content, clock, item)
    except IntegrityError:  # their other tab opened it at the same moment
        return session.exec(mine).one()


def is_revisable(session: Session, who: Principal, item: Item) -> bool:
    """Whether somebody could begin a revision now."""
    return (
        who.may(Permission.AUTHOR) and Action.REVISE in possible_actions(item.state) and may_revise(session, who, item)
    )


def may_revise(session: Session, who: Principal, item: Item) -> bool:
    """Whether somebody had a hand in the item, or may see everything."""
    if who.may(Permission.SEE_EVERY_KEY):
        return True
    return session.exec(own_items(session, who.user_id).where(Item.id == item.id)).first() is not None


def _lay_aside(
    session: Session, who: Principal, draft: ItemDraft, version: int, content: dict[str, object], clock: Clock
) -> DraftVersion:
    """Keep what could not be saved; the same once more is kept once."""
    for known in draft_versions(session, draft):
        if known.is_aside and known.saved_by == who.user_id and known.content == content:
            return known
    aside = _version(draft, version, content, who.user_id, clock(), is_aside=True)
    session.add(aside)
    session.flush()
    return aside


def _version(
    draft: ItemDraft, version: int, content: dict[str, object], by: str, at: datetime, *, is_aside: bool = False
) -> DraftVersion:
    return DraftVersion(
        draft_id=draft.id, version=version, is_aside=is_aside, content=content, saved_by=by, saved_at=at
    )
