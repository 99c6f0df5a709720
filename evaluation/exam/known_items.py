"""Who has seen which item: an exam asks people what they never had to do with."""

from collections.abc import Iterator
from typing import Any

from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from warehouse.database import portions
from warehouse.tables import (
    Assignment,
    AuditFinding,
    AuditItem,
    Caption,
    DraftVersion,
    Exam,
    ExamPlace,
    ExamSeat,
    ExamState,
    Item,
    ItemDraft,
    ItemRevision,
    Recording,
    Review,
    RevisionMedia,
    User,
)
from warehouse.verdicts import judged_revisions, names_of, own_items

# Where a user's profile names the contributor under whom they record.
CONTRIBUTOR = "contributor_id"


def known_items(session: Session, user: User, seat_id: str | None = None) -> set[str]:
    """Ids of the items that somebody had to do with, and of the twins of these, which read the same.

    That is: wrote or helped to write any revision or draft; reviewed, judged, audited, or took up for that; gave their
    voice to a material, or put one into words; was asked it in an exam, or is to be in one that is not closed, but for
    the seat that is named.
    """
    items = {item for query in _item_queries(session, user, seat_id) for item in session.exec(query) if item}
    revisions = {one for query in _revision_queries(session, user) for one in session.exec(query) if one}
    revisions |= _leased(session, user)
    items |= set(_items_of(session, revisions))
    return items | _twins(session, items)


def _item_queries(session: Session, user: User, seat_id: str | None) -> Iterator[SelectOfScalar[Any]]:
    names = names_of(session, user.id)
    yield own_items(session, user.id)
    yield select(ItemDraft.item_id).where(col(ItemDraft.author).in_(names) | col(ItemDraft.saved_by).in_(names))
    yield select(ItemDraft.item_id).join(DraftVersion).where(col(DraftVersion.saved_by).in_(names))
    asked = _asked(user.id).where(col(ExamPlace.shown_at).is_not(None) | (col(Exam.state) != ExamState.CLOSED))
    yield asked if seat_id is None else asked.where(ExamSeat.id != seat_id)


def _asked(user_id: str) -> SelectOfScalar[str]:
    """The items of somebody's exams."""
    return (
        select(ItemRevision.item_id)
        .join(ExamPlace, col(ExamPlace.revision_id) == col(ItemRevision.id))
        .join(ExamSeat, col(ExamSeat.id) == col(ExamPlace.seat_id))
        .join(Exam, col(Exam.id) == col(ExamSeat.exam_id))
        .where(ExamSeat.user_id == user_id)
    )


def _revision_queries(session: Session, user: User) -> Iterator[SelectOfScalar[Any]]:
    names = names_of(session, user.id)
    yield judged_revisions(session, user.id)
    yield select(Review.revision_id).where(col(Review.reviewer).in_(names))
    audited = select(AuditItem.revision_id).join(AuditFinding, col(AuditFinding.audit_item_id) == col(AuditItem.id))
    yield audited.where(col(AuditFinding.auditor).in_(names))
    shown = select(RevisionMedia.revision_id)
    described = shown.join(Caption, col(Caption.material_id) == col(RevisionMedia.material_id))
    yield described.where(Caption.by_person, col(Caption.author).in_(names))
    if contributor := user.profile.get(CONTRIBUTOR):
        spoken = shown.join(Recording, col(Recording.material_id) == col(RevisionMedia.material_id))
        yield spoken.where(Recording.contributor_id == contributor)


def _leased(session: Session, user: User) -> set[str]:
    """Revisions that were taken up as a task; whatever the task was, its id begins with the revision's."""
    tasks = session.exec(select(Assignment.task_id).where(Assignment.user_id == user.id))
    return {task.partition("/")[0] for task in tasks}


def _items_of(session: Session, revisions: set[str]) -> Iterator[str]:
    for ids in portions(sorted(revisions)):
        yield from session.exec(select(ItemRevision.item_id).where(col(ItemRevision.id).in_(ids)))


def _twins(session: Session, items: set[str]) -> set[str]:
    if not items:  # most people sit no exam, and every list of items asks
        return set()
    grouped = session.exec(select(Item.id, Item.twin_group).where(col(Item.twin_group).is_not(None))).all()
    groups = {group for item, group in grouped if item in items}
    return {item for item, group in grouped if group in groups}


def shut_items(session: Session, user_id: str) -> set[str]:
    """Ids of the items that are in somebody's exam and not yet over for them: they may see neither page nor key."""
    query = _asked(user_id).where(col(ExamSeat.finished_at).is_(None), Exam.state != ExamState.CLOSED)
    items = set(session.exec(query))
    return items | _twins(session, items)
