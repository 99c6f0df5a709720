"""A draft becomes a revision under review."""

from collections.abc import Sequence

from sqlmodel import Session, col, select

from annotation_ui.drafting.checks import Note, check_draft, materials_of
from annotation_ui.drafting.content import DraftContent
from annotation_ui.drafting.drafts import SUBMITTED, DraftClosed, close, get_draft
from annotation_ui.forms import once
from annotation_ui.permissions import Permission, Principal, authorize
from annotation_ui.told import Told
from annotation_ui.words import N_, Words
from core.ids import Clock, utc_now
from warehouse.items import Draft, NameTaken, create_item, current_revision, revise_item
from warehouse.lifecycle import Action, Advance, ImpossibleAction, advance, lock_item
from warehouse.tables import Item, ItemDraft, ItemState

_HAND_IN = "hand in a draft"


class DraftChanged(Told):
    """A draft that was saved elsewhere after the page showed it."""

    text = N_("This draft was changed elsewhere since you saw it. Look at it again, then hand it in.")


class ItemMovedOn(Told):
    """An item that was revised, or judged for good, since its draft began."""

    text = N_("The item was revised or decided meanwhile. Begin a new draft from what it is now; this one is kept.")


class SameAsBefore(Told):
    """A revision that says what the one before says."""

    text = N_("The question says the same as the revision before. Change it, or throw the draft away.")


class ItemNameTaken(Told):
    """Two items cannot have one name."""

    text = N_("There is an item named {name} already. Choose another name.")


class NotReady(Told):
    """A draft that lacks something, or has findings that block it; `notes` say what."""

    text = N_("This draft cannot be handed in yet: {count} points are open.")

    def __init__(self, notes: Sequence[Note]) -> None:
        self.notes = [note for note in notes if note.severity != "warning"]
        super().__init__(count=len(self.notes))


def hand_in(
    session: Session,
    who: Principal,
    draft_id: str,
    expected_version: int,
    form_key: str,
    t: Words,
    clock: Clock = utc_now,
) -> Item:
    """Submit a draft for review, as a new item or as a revision; the same form twice does it once.

    Everybody who wrote in it counts as having had a hand in the item, and will not review it.

    Raises:
        NotAllowed, AccountInactive, UnknownDraft, DraftClosed, DraftChanged, NotReady, ItemMovedOn, SameAsBefore,
        ItemNameTaken, FormMisused: As they say; nothing is changed then.
    """
    who = authorize(session, who, Permission.AUTHOR)
    item_id = once(
        session, who, form_key, _HAND_IN, lambda: _hand_in(session, who, draft_id, expected_version, t, clock), clock
    )
    return session.get_one(Item, item_id)


def suggested_name(session: Session, content: DraftContent) -> str:
    """The first free name after the task type: `counting-007` where six are there."""
    stem = content.task_type or "item"
    taken = set(session.exec(select(Item.name).where(col(Item.name).startswith(f"{stem}-", autoescape=True))))
    number = 1
    while f"{stem}-{number:03}" in taken:
        number += 1
    return f"{stem}-{number:03}"


def _hand_in(session: Session, who: Principal, draft_id: str, expected_version: int, t: Words, clock: Clock) -> str:
    draft = get_draft(session, who, draft_id, lock=True)
    if draft.closed_at is not None:
        raise DraftClosed
    if draft.version != expected_version:
        raise DraftChanged
    content = DraftContent.parse(draft.content)
    item = lock_item(session, draft.item_id) if draft.item_id else None
    checked = check_draft(session, draft.author, content, item, t)
    if checked.question is None or not checked.is_ready:
        raise NotReady(checked.notes)
    materials = {place: material.id for place, material in materials_of(session, content).items()}
    handed = Draft(checked.question, materials, draft.author, _notes(session, content, item))
    if item is None:
        item = _created(session, content, handed, clock)
    else:
        _revised(session, item, draft, handed, clock)
    if item.state is ItemState.DRAFT:
        advance(session, item.id, item.version, Advance(Action.SUBMIT, who.user_id), clock)
    draft.revision_id, draft.item_id = item.current_revision_id, item.id
    close(session, draft, SUBMITTED, who, clock)
    return item.id


def _created(session: Session, content: DraftContent, handed: Draft, clock: Clock) -> Item:
    while True:
        name = content.name or suggested_name(session, content)
        try:
            item, _ = create_item(session, name, handed, content.twin_group or None, clock)
        except NameTaken:
            # Of two who hand in at once, and chose no name, the second gets the next.
            if content.name:
                raise ItemNameTaken(name=name) from None
        else:
            return item


def _revised(session: Session, item: Item, draft: ItemDraft, handed: Draft, clock: Clock) -> None:
    if item.current_revision_id != draft.base_revision_id:
        raise ItemMovedOn
    try:
        if revise_item(session, item, item.version, handed, clock) is None:
            raise SameAsBefore
    except ImpossibleAction:
        raise ItemMovedOn from None


def _notes(session: Session, content: DraftContent, item: Item | None) -> dict[str, object]:
    """What the author adds; evidence of a form that the editor does not know stays with media that are still there."""
    notes: dict[str, object] = dict(current_revision(session, item).notes) if item else {}
    before = notes.pop("evidence", {})
    kept = before if isinstance(before, dict) else {}
    mine = {place: one.model_dump(exclude_defaults=True) for place, one in content.evidence.items()}
    evidence = {place: told for place, told in {**kept, **mine}.items() if told and place in content.media}
    return notes | ({"evidence": evidence} if evidence else {})
