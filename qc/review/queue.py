"""Who reviews what next: leases on the places that a revision still has for reviewers."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlmodel import Session, col, select

from core.content import Frozen
from core.ids import Clock, utc_now
from core.provenance import content_hash
from qc.review.blind import hidden_modality
from qc.review.gold import GOLD_EVERY, gold_due
from qc.review.places import ReviewEnded, case_place, review_place
from qc.review.waiting import (
    OPEN_CASE,
    REVIEW,
    Waiting,
    cases_seen,
    last_leases,
    open_cases,
    revision_of,
    task_id_of,
    turn,
    waiting_for_review,
)
from warehouse.assignments import finish, renew, take
from warehouse.lifecycle import lock_item
from warehouse.people import Role, get_user, require_role
from warehouse.tables import Assignment, AssignmentState, Item, ItemRevision, Review, User
from warehouse.verdicts import judged_revisions, own_items

# A long film is watched twice, once with a modality hidden.
REVIEW_LEASE = timedelta(hours=3)


class Task(Frozen):
    """What a reviewer has to do now: a revision, and the lease on it."""

    assignment_id: str
    kind: str
    item: str
    revision_id: str
    expires_at: datetime


class WaitingFor(Frozen):
    """How much somebody could take now: blind reviews, and open cases."""

    reviews: int
    open_cases: int


def take_review(session: Session, reviewer: str, clock: Clock = utc_now, gold_every: int = GOLD_EVERY) -> Task | None:
    """The reviewer's present task of round 3, or the next one that still needs somebody; None when none does.

    Never one that they had a hand in, judged in any round, or took as an open case, because they know the answer then.
    Disputes come first, the longest-waiting one before; then the oldest revision. Before them comes one whose lease
    this reviewer let run out, after them one that they gave back. Each `gold_every`-th task is a gold item, unless
    it is one that they gave back.

    Raises:
        UnknownName: No such user.
        NotAllowed: Not a reviewer, or not active.
    """
    user = _at_the_desk(session, reviewer)
    present = _present(session, user, REVIEW, clock)
    if present is not None:
        return present
    due = gold_due(session, user, gold_every)
    if due and not due.is_given_back:
        return _take_gold(session, user, due.revision_id, clock)
    task = _take_first(session, user, REVIEW, _reviewable(session, user, clock), clock)
    # One that they gave back comes last, as with any other: else they would be told that it is gold.
    return _take_gold(session, user, due.revision_id, clock) if task is None and due else task


def take_open_case(session: Session, reviewer: str, clock: Clock = utc_now) -> Task | None:
    """The reviewer's present open case, or the oldest one that a check of round 1 or 2 left and nobody has.

    Never one that they had a hand in or could not decide before.

    Raises:
        UnknownName: No such user.
        NotAllowed: Not a reviewer, or not active.
    """
    user = _at_the_desk(session, reviewer)
    present = _present(session, user, OPEN_CASE, clock)
    if present is not None:
        return present
    return _take_first(session, user, OPEN_CASE, _decidable(session, user, clock), clock)


def waiting_for(session: Session, reviewer: str, clock: Clock = utc_now, gold_every: int = GOLD_EVERY) -> WaitingFor:
    """What `take_review` and `take_open_case` have for a reviewer; a gold item counts like any other.

    Raises:
        UnknownName: No such user.
        NotAllowed: Not a reviewer, or not active.
    """
    user = get_user(session, reviewer)
    require_role(user, Role.REVIEWER)
    reviews = len(_reviewable(session, user, clock)) + (gold_due(session, user, gold_every) is not None)
    return WaitingFor(reviews=reviews, open_cases=len(_decidable(session, user, clock)))


def present_task(session: Session, reviewer: str, clock: Clock = utc_now) -> Task | None:
    """What the reviewer is at work on, of either queue; nothing is taken.

    Raises:
        UnknownName: No such user.
    """
    user = get_user(session, reviewer)
    for assignment in _leases(session, user, (REVIEW, OPEN_CASE), clock):
        return _task(session, assignment)
    return None


def keep_task(session: Session, assignment_id: str, reviewer: str, clock: Clock = utc_now) -> datetime:
    """Hold a task for a whole term from now on; gives the moment when that ends.

    Raises:
        UnknownName: No such user.
        NotAllowed: Not a reviewer, or not active.
        LeaseLost: It is not the reviewer's any more.
    """
    user = get_user(session, reviewer)
    require_role(user, Role.REVIEWER)
    return renew(session, assignment_id, user.id, REVIEW_LEASE, clock).expires_at


def release_task(session: Session, assignment_id: str, reviewer: str, clock: Clock = utc_now) -> None:
    """Give a task back; what was answered is kept.

    Raises:
        UnknownName: No such user.
        NotAllowed: Not a reviewer, or not active.
        LeaseLost: It is not the reviewer's any more.
    """
    user = get_user(session, reviewer)
    require_role(user, Role.REVIEWER)
    finish(session, assignment_id, user.id, AssignmentState.RELEASED, clock)


def _at_the_desk(session: Session, reviewer: str) -> User:
    """The reviewer; their other tabs wait until this transaction ends, so that one person never gets two tasks."""
    user = get_user(session, reviewer)
    require_role(user, Role.REVIEWER)
    session.exec(select(User.id).where(User.id == user.id).with_for_update(key_share=True)).one()
    return user


def _present(session: Session, user: User, kind: str, clock: Clock) -> Task | None:
    """The task that the user holds; a lease on what was decided or revised meanwhile is given back."""
    look = {REVIEW: review_place, OPEN_CASE: case_place}[kind]
    for assignment in _leases(session, user, (kind,), clock):
        try:
            look(session, assignment.id, user.name, clock, lock=False)
        except ReviewEnded:
            finish(session, assignment.id, user.id, AssignmentState.RELEASED, clock)
        else:
            return _task(session, assignment)
    return None


def _leases(session: Session, user: User, kinds: tuple[str, ...], clock: Clock) -> list[Assignment]:
    query = select(Assignment).where(
        Assignment.user_id == user.id,
        col(Assignment.task_kind).in_(kinds),
        Assignment.state == AssignmentState.LIVE,
        col(Assignment.expires_at) > clock(),
    )
    return list(session.exec(query.order_by(col(Assignment.taken_at), col(Assignment.id))))


def _known_items(session: Session, user: User) -> set[str]:
    """Items of which the user made or wrote something, or has judged the current revision."""
    finished = select(Review.revision_id).where(Review.reviewer == user.name, col(Review.finished_at).is_not(None))
    query = select(Item.id).where(
        col(Item.id).in_(own_items(session, user.name))
        | col(Item.current_revision_id).in_(judged_revisions(session, user.name))
        | col(Item.current_revision_id).in_(finished)
    )
    return set(session.exec(query))


def _reviewable(session: Session, user: User, clock: Clock) -> list[Waiting]:
    known = _known_items(session, user) | cases_seen(session, user)
    waiting = waiting_for_review(session, clock)
    return [one for one in waiting if not {one.item_id, one.revision_id} & known and one.free_slots]


def _decidable(session: Session, user: User, clock: Clock) -> list[Waiting]:
    known = _known_items(session, user)
    return [one for one in open_cases(session, clock) if one.item_id not in known and one.free_slots]


def _take_first(session: Session, user: User, kind: str, waiting: Iterable[Waiting], clock: Clock) -> Task | None:
    """The first that nobody else takes at this moment."""
    held = last_leases(session, user, kind)
    ordered = sorted(waiting, key=lambda one: turn(held.get(one.revision_id)))
    # What others take or decide at this moment is waited for last: else all who come at once queue for each in turn.
    for waits in (False, True):
        for candidate in ordered:
            task = _take_slot(session, user, candidate, clock, waits=waits)
            if task is not None:
                return task
    return None


def _take_slot(session: Session, user: User, candidate: Waiting, clock: Clock, *, waits: bool) -> Task | None:
    """A lease on a free slot, looked for again now that nobody else can take or decide; None when it is gone.

    Unless it `waits`, an item that somebody else has locked counts as gone.
    """
    kind, waiting = (REVIEW, waiting_for_review) if candidate.round == 3 else (OPEN_CASE, open_cases)
    with session.begin_nested() as savepoint:
        if not waits and not _locks_at_once(session, candidate.item_id):
            return None
        lock_item(session, candidate.item_id)
        now = [one for one in waiting(session, clock, candidate.item_id) if one.revision_id == candidate.revision_id]
        slots = [slot for one in now for slot in one.free_slots]
        assignment = take(session, user.id, kind, slots, REVIEW_LEASE, clock)
        if assignment is not None:
            if kind == REVIEW:
                _begin(session, user, assignment, False, clock)
            return _task(session, assignment)
        # Lets go of the item, so that nobody ever waits for one while holding another.
        savepoint.rollback()
    return None


def _locks_at_once(session: Session, item_id: str) -> bool:
    query = select(Item.id).where(Item.id == item_id).with_for_update(skip_locked=True)
    return session.exec(query).first() is not None


def _take_gold(session: Session, user: User, revision_id: str, clock: Clock) -> Task | None:
    # Many may be at work on one: a slot for each person.
    slot = task_id_of(revision_id, content_hash([user.id])[:16])
    assignment = take(session, user.id, REVIEW, [slot], REVIEW_LEASE, clock)
    if assignment is None:
        return None
    _begin(session, user, assignment, True, clock)
    return _task(session, assignment)


def _begin(session: Session, user: User, assignment: Assignment, is_gold: bool, clock: Clock) -> None:
    """The review row of the lease: the one that the reviewer began before, or a new one."""
    revision = session.get_one(ItemRevision, revision_of(assignment.task_id))
    reviews = session.exec(select(Review).where(Review.revision_id == revision.id)).all()
    begun = next((one for one in reviews if one.reviewer == user.name and one.is_gold == is_gold), None)
    if begun is None:
        used = [one.hidden for one in reviews]
        begun = Review(
            revision_id=revision.id,
            reviewer=user.name,
            is_gold=is_gold,
            assignment_id=assignment.id,
            hidden=hidden_modality(revision.as_question(), revision.id, user.name, used),
            started_at=clock(),
        )
    begun.assignment_id = assignment.id
    session.add(begun)
    session.flush()


def _task(session: Session, assignment: Assignment) -> Task:
    revision = session.get_one(ItemRevision, revision_of(assignment.task_id))
    item = session.get_one(Item, revision.item_id)
    return Task(
        assignment_id=assignment.id,
        kind=assignment.task_kind,
        item=item.name,
        revision_id=revision.id,
        expires_at=assignment.expires_at,
    )
