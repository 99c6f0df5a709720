"""What a lease is about: the review or the open case that somebody is at work on, as long as it is theirs."""

from dataclasses import dataclass

from sqlmodel import Session, select

from core.errors import InterplayError
from core.ids import Clock
from core.question import Question
from qc.review.waiting import OPEN_CASE, revision_of
from warehouse.assignments import LeaseLost, hold
from warehouse.lifecycle import lock_item
from warehouse.people import Role, get_user, require_role
from warehouse.tables import Assignment, Item, ItemRevision, ItemState, Review, User
from warehouse.verdicts import ROUND_NEEDS


class ReviewEnded(InterplayError):
    """The item went on while somebody was at work on it."""


@dataclass(frozen=True)
class Place:
    """A live lease of a reviewer's on a revision, and the item that it belongs to."""

    user: User
    assignment: Assignment
    item: Item
    revision: ItemRevision

    @property
    def question(self) -> Question:
        """What the revision asks."""
        return self.revision.as_question()


@dataclass(frozen=True)
class ReviewPlace(Place):
    """A place with the review as far as it is written."""

    review: Review


def review_place(session: Session, assignment_id: str, reviewer: str, clock: Clock, *, lock: bool) -> ReviewPlace:
    """The review that a lease is about; with `lock` nobody changes it or moves the item before the transaction ends.

    Raises:
        UnknownName: No such user.
        NotAllowed: Not a reviewer, or not active.
        LeaseLost: It is not live, has expired, is another's, or is no review.
        ReviewEnded: A new revision, or a decision, came meanwhile; the answers stay stored.
    """
    place = _place(session, assignment_id, reviewer, clock, lock=lock)
    query = select(Review).where(Review.assignment_id == assignment_id)
    review = session.exec(query.execution_options(populate_existing=lock)).first()
    if review is None:
        raise LeaseLost("this task is no review; take it again")
    if not review.is_gold:
        check_waits(place.item, place.revision, ItemState.ROUND2_PASSED)
    return ReviewPlace(place.user, place.assignment, place.item, place.revision, review)


def case_place(session: Session, assignment_id: str, reviewer: str, clock: Clock, *, lock: bool) -> tuple[Place, int]:
    """The open case that a lease is about, and its round; as `review_place`."""
    place = _place(session, assignment_id, reviewer, clock, lock=lock)
    if place.assignment.task_kind != OPEN_CASE:
        raise LeaseLost("this task is no open case; take it again")
    number = 1 if place.item.state is ROUND_NEEDS[1] else 2
    check_waits(place.item, place.revision, ROUND_NEEDS[number])
    return place, number


def check_waits(item: Item, revision: ItemRevision, state: ItemState) -> None:
    """Make sure that the item still waits in that state with that revision.

    Raises:
        ReviewEnded: It does not.
    """
    kept = "what you answered is kept; take the next task"
    if item.current_revision_id != revision.id:
        raise ReviewEnded(f"item {item.name!r} has a newer revision than number {revision.number}, your task; {kept}")
    if item.state is not state:
        raise ReviewEnded(f"item {item.name!r} was decided meanwhile and is {item.state.value}; {kept}")


def _place(session: Session, assignment_id: str, reviewer: str, clock: Clock, *, lock: bool) -> Place:
    user = get_user(session, reviewer)
    require_role(user, Role.REVIEWER)
    assignment = hold(session, assignment_id, user.id, clock, lock=False)
    revision = session.get_one(ItemRevision, revision_of(assignment.task_id))
    if lock:
        # The item first, as everybody who takes or decides does, so that nobody waits for one another in a circle.
        item = lock_item(session, revision.item_id)
        assignment = hold(session, assignment_id, user.id, clock)
    else:
        item = session.get_one(Item, revision.item_id, populate_existing=True)
    return Place(user, assignment, item, revision)
