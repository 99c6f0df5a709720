"""What no code may do to the tables, whichever path it takes: change history, or move an item past `advance`."""

from typing import Any

from sqlalchemy import event, inspect
from sqlalchemy.orm import ORMExecuteState
from sqlmodel import Session

from core.errors import InterplayError
from warehouse.tables import (
    AuditFinding,
    AuditItem,
    AuditSample,
    Caption,
    Certificate,
    Event,
    ExamPlace,
    Item,
    ItemRevision,
    PlaceState,
    Release,
    ReleaseItem,
    ReleaseState,
    RevisionMedia,
    Subset,
    Verdict,
)

ADVANCING = "advancing"
FORGETTING = "forgetting"
FORGOTTEN = "[withdrawn]"
"""What stands in the place of words that were taken out (`warehouse.forgetting`)."""
_IMMUTABLE = (
    Event, ItemRevision, RevisionMedia, Verdict, ReleaseItem, AuditSample, AuditItem, AuditFinding, Certificate, Subset,
)  # fmt: skip


class ImmutableRow(InterplayError):
    """A change to a row that never changes."""


class StateWrittenDirectly(InterplayError):
    """`Item.state` was assigned outside `warehouse.lifecycle.advance`."""


def guard_session(session: Session) -> None:
    """Refuse forbidden changes before they reach the database."""
    event.listen(session, "before_flush", _check_flush)
    event.listen(session, "do_orm_execute", _check_statement)


def _check_flush(session: Session, _context: Any, _instances: Any) -> None:
    for row in session.new:
        if isinstance(row, ReleaseItem) and not _of_open_release(session, row):
            raise ImmutableRow("a sealed release takes no more items; build a new version instead")
    for row in session.deleted:
        if isinstance(row, (*_IMMUTABLE, Caption)) and not _of_open_release(session, row):
            raise ImmutableRow(f"{type(row).__name__} rows are never deleted")
        if isinstance(row, Release) and _was_sealed(row):
            raise ImmutableRow(f"release {row.name} {row.version} is sealed and never deleted")
    for row in session.dirty:
        if not session.is_modified(row) or _only_forgets(session, row):
            continue
        if isinstance(row, _IMMUTABLE):
            raise ImmutableRow(f"{type(row).__name__} rows are never changed; add a new one")
        if isinstance(row, ExamPlace) and _before(row, "state") is not PlaceState.WAITING:
            raise ImmutableRow("what somebody answered in an exam never changes")
        if isinstance(row, Caption) and _changes(row) != {"state"}:
            raise ImmutableRow("of a Caption only the state changes; write a new version with captions.edit_caption")
        if isinstance(row, Release) and _was_sealed(row):
            raise ImmutableRow(f"release {row.name} {row.version} is sealed; build a new version instead")
        if isinstance(row, Item) and "state" in _changes(row) and row.id not in session.info.get(ADVANCING, ()):
            raise StateWrittenDirectly(f"item {row.name!r}: change its state with warehouse.lifecycle.advance")


def _only_forgets(session: Session, row: Any) -> bool:
    """Whether words go out of the row, and nothing else changes: about what was withdrawn (`warehouse.forgetting`)."""
    forgotten = session.info.get(FORGETTING, ())
    match row:
        case Caption():
            return row.material_id in forgotten and _changes(row) <= {"text", "state"} and row.text == FORGOTTEN
        case Event():
            return row.subject_id in forgotten and _changes(row) == {"detail"} and _only_blanks(row)
        case _:
            return False


def _only_blanks(row: Event) -> bool:
    before: dict[str, Any] = inspect(row).attrs["detail"].history.deleted[0]
    return before.keys() == row.detail.keys() and all(
        value in (before[name], FORGOTTEN) for name, value in row.detail.items()
    )


def _check_statement(state: ORMExecuteState) -> None:
    # UPDATE and DELETE statements pass no flush.
    if not (state.is_update or state.is_delete) or state.bind_mapper is None:
        return
    table = state.bind_mapper.class_
    if issubclass(table, (*_IMMUTABLE, Caption, Release)):
        raise ImmutableRow(
            f"{table.__name__} rows are not changed or deleted in bulk; go through the session's objects"
        )
    if issubclass(table, Item):
        raise StateWrittenDirectly("items are not changed in bulk; use warehouse.lifecycle.advance")


def _was_sealed(release: Release) -> bool:
    return bool(_before(release, "state") == ReleaseState.SEALED)


def _before(row: Any, name: str) -> Any:
    """What the database holds of a field that may have been changed since."""
    history = inspect(row).attrs[name].history
    return history.deleted[0] if history.deleted else getattr(row, name)


def _of_open_release(session: Session, row: Any) -> bool:
    if not isinstance(row, ReleaseItem):
        return False
    release = session.get(Release, row.release_id)
    return release is None or not _was_sealed(release)


def _changes(row: Any) -> set[str]:
    return {attribute.key for attribute in inspect(row).attrs if attribute.history.has_changes()}
