"""Items and their revisions: the only code that makes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from core.errors import InterplayError, UnknownName
from core.ids import Clock, utc_now
from core.question import Question
from warehouse import events
from warehouse.lifecycle import Action, Advance, advance, lock_item, target_state
from warehouse.tables import Item, ItemRevision, ItemState, RevisionMedia


class NameTaken(InterplayError):
    """Two items cannot have one name."""


@dataclass(frozen=True)
class Draft:
    """What an author hands in: a question, the material behind each placeholder, notes (evidence for a modality)."""

    question: Question
    materials: Mapping[str, str]
    author: str
    notes: Mapping[str, Any] = field(default_factory=dict)
    run_id: str | None = None


def create_item(
    session: Session, name: str, draft: Draft, twin_group: str | None = None, clock: Clock = utc_now
) -> tuple[Item, ItemRevision]:
    """A new item in state draft, with its first revision.

    Raises:
        NameTaken: Another item has that name.
    """
    item = Item(name=name, twin_group=twin_group, created_by=draft.author, created_at=clock())
    try:
        with session.begin_nested():
            session.add(item)
    except IntegrityError as error:
        raise NameTaken(f"an item named {name!r} exists already; choose another name, or revise that one") from error
    revision = _add_revision(session, item, 1, draft, clock)
    item.current_revision_id = revision.id
    events.record(
        session, draft.author, "item", item.id, "create", clock, name=name, revision_id=revision.id, version=1
    )
    return item, revision


def revise_item(
    session: Session, item: Item, expected_version: int, draft: Draft, clock: Clock = utc_now
) -> ItemRevision | None:
    """A new revision, with which the rounds start again; None when the draft `says_the_same` as the current one.

    Raises:
        StaleVersion, ImpossibleAction: As `advance`; nothing is changed then.
    """
    item = lock_item(session, item.id)
    current = current_revision(session, item)
    if says_the_same(item, current, draft):
        return None
    target_state(item, expected_version, Action.REVISE)
    revision = _add_revision(session, item, current.number + 1, draft, clock)
    step = Advance(Action.REVISE, draft.author, revision_id=revision.id)
    advance(session, item.id, expected_version, step, clock)
    return revision


def says_the_same(item: Item, current: ItemRevision, draft: Draft) -> bool:
    """Whether a draft changes nothing: its question is the same, and while the item is its author's, its notes are.

    A question under review is not judged anew for a note alone.
    """
    is_authors = item.state in (ItemState.DRAFT, ItemState.RETURNED)
    same_notes = dict(current.notes) == dict(draft.notes)
    return current.content_hash == draft.question.content_hash and (same_notes or not is_authors)


def join_twin_group(session: Session, item: Item, group: str, actor: str, clock: Clock = utc_now) -> str:
    """The twin group of an item, which becomes `group` where it has none; one that it has is kept."""
    if item.twin_group is None:
        item.twin_group = group
        session.add(item)
        events.record(session, actor, "item", item.id, "twin_group", clock, group=group)
        session.flush()
    return item.twin_group


def find_item(session: Session, name: str) -> Item | None:
    """The item of that name or id."""
    return session.exec(select(Item).where((col(Item.name) == name) | (col(Item.id) == name))).first()


def get_item(session: Session, name: str) -> Item:
    """The item of that name or id.

    Raises:
        UnknownName: There is none.
    """
    item = find_item(session, name)
    if item is None:
        raise UnknownName("item", name, session.exec(select(Item.name)))
    return item


def current_revision(session: Session, item: Item) -> ItemRevision:
    """The revision that the item's state speaks of."""
    revision = session.get(ItemRevision, item.current_revision_id)
    assert revision is not None, f"item {item.id} has no current revision"
    return revision


def revisions_in(session: Session, *states: ItemState) -> list[tuple[Item, ItemRevision]]:
    """Items in any of the states with their current revisions, by name."""
    query = (
        select(Item, ItemRevision)
        .join(ItemRevision, col(Item.current_revision_id) == col(ItemRevision.id))
        .where(col(Item.state).in_(states))
        .order_by(Item.name)
    )
    return [(item, revision) for item, revision in session.exec(query)]


def _add_revision(session: Session, item: Item, number: int, draft: Draft, clock: Clock) -> ItemRevision:
    revision = ItemRevision(
        item_id=item.id,
        number=number,
        question=draft.question.model_dump(mode="json"),
        content_hash=draft.question.content_hash,
        notes=dict(draft.notes),
        author=draft.author,
        run_id=draft.run_id,
        created_at=clock(),
    )
    session.add(revision)
    session.flush()
    for placeholder, material_id in sorted(draft.materials.items()):
        session.add(RevisionMedia(revision_id=revision.id, placeholder=placeholder, material_id=material_id))
    session.flush()
    return revision
