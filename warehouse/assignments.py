"""Leases on tasks: two people never get the same one, and an abandoned one comes back."""

from collections.abc import Iterable
from datetime import timedelta

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from core.errors import InterplayError
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.tables import Assignment, AssignmentState

LEASE = timedelta(minutes=30)


class LeaseLost(InterplayError):
    """Work was handed in on a lease that is no longer the caller's."""


def take(
    session: Session,
    user_id: str,
    kind: str,
    candidates: Iterable[str],
    lease: timedelta = LEASE,
    clock: Clock = utc_now,
) -> Assignment | None:
    """Lease the first candidate task that nobody else holds; None when there is none.

    Who already holds a live lease on a candidate gets that one again, so that a refresh keeps one's place. Expired
    leases are ended first, in the same transaction.
    """
    now = clock()
    _expire(session, kind, clock)
    wanted = list(candidates)
    live = select(Assignment).where(Assignment.task_kind == kind, col(Assignment.state) == AssignmentState.LIVE)
    held = {assignment.task_id: assignment for assignment in session.exec(live)}
    for task_id in wanted:
        if task_id in held and held[task_id].user_id == user_id:
            return held[task_id]
    for task_id in wanted:
        if task_id in held:
            continue
        assignment = Assignment(task_kind=kind, task_id=task_id, user_id=user_id, taken_at=now, expires_at=now + lease)
        try:
            with session.begin_nested():
                session.add(assignment)
        except IntegrityError:
            # Another transaction took it between our look and our insert: somebody else, or this user's other tab.
            holder = session.exec(live.where(Assignment.task_id == task_id)).first()
            if holder is not None and holder.user_id == user_id:
                return holder
            continue
        events.record(session, user_id, kind, task_id, "lease", clock, assignment_id=assignment.id)
        return assignment
    return None


def finish(session: Session, assignment_id: str, user_id: str, state: AssignmentState, clock: Clock = utc_now) -> None:
    """End one's own live lease as done or released.

    Raises:
        LeaseLost: It is not live, has expired, or is another's.
    """
    assignment = hold(session, assignment_id, user_id, clock)
    assignment.state = state
    assignment.ended_at = clock()
    events.record(session, user_id, assignment.task_kind, assignment.task_id, f"lease_{state.value}", clock)


def renew(
    session: Session, assignment_id: str, user_id: str, lease: timedelta = LEASE, clock: Clock = utc_now
) -> Assignment:
    """One's own live lease, good for a whole term from now on; never for a shorter time than it was.

    Raises:
        LeaseLost: It is not live, has expired, or is another's.
    """
    assignment = hold(session, assignment_id, user_id, clock)
    assignment.expires_at = max(assignment.expires_at, clock() + lease)
    session.add(assignment)
    return assignment


def hold(
    session: Session, assignment_id: str, user_id: str, clock: Clock = utc_now, *, lock: bool = True
) -> Assignment:
    """One's own live lease, which nobody ends before the transaction does; without `lock` it is only looked at.

    Raises:
        LeaseLost: It is not live, has expired, or is another's.
    """
    assignment = session.get(Assignment, assignment_id, with_for_update=lock or None, populate_existing=True)
    if (
        assignment is None
        or assignment.user_id != user_id
        or assignment.state != AssignmentState.LIVE
        or assignment.expires_at <= clock()
    ):
        raise LeaseLost("this task is no longer yours (the lease ran out or was given back); take it again")
    return assignment


def _expire(session: Session, kind: str, clock: Clock) -> None:
    now = clock()
    overdue = select(Assignment).where(
        Assignment.task_kind == kind, col(Assignment.state) == AssignmentState.LIVE, col(Assignment.expires_at) <= now
    )
    # In one order, so that two transactions that do this together wait and never deadlock.
    locked = overdue.order_by(Assignment.id).with_for_update().execution_options(populate_existing=True)
    for assignment in session.exec(locked):
        assignment.state = AssignmentState.EXPIRED
        assignment.ended_at = now
        events.record(session, assignment.user_id, kind, assignment.task_id, "lease_expired", clock)
    session.flush()
