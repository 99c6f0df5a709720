"""The append-only story of the project."""

from typing import Any

from sqlmodel import Session, select

from core.ids import Clock, utc_now
from warehouse.tables import Event


def record(
    session: Session, actor: str, subject_kind: str, subject_id: str, action: str, clock: Clock = utc_now, **detail: Any
) -> Event:
    """Append an event to the transaction that makes the change it tells of. `detail` must be JSON values."""
    event = Event(
        at=clock(), actor=actor, subject_kind=subject_kind, subject_id=subject_id, action=action, detail=detail
    )
    session.add(event)
    return event


def history(session: Session, subject_kind: str, subject_id: str) -> list[Event]:
    """What happened to one subject, oldest first."""
    query = select(Event).where(Event.subject_kind == subject_kind, Event.subject_id == subject_id)
    return list(session.exec(query.order_by(Event.sequence)))  # type: ignore[arg-type]
