"""What people did, counted: by person, and by the kind of annotator that they are."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median
from typing import Any

from sqlmodel import Session, col, func, select

from annotation_ui.words import Words
from evaluation.metrics import wilson
from warehouse.lifecycle import Action
from warehouse.tables import Event, Item, ItemRevision, ItemState, Review, User

_PASSED = frozenset({ItemState.ACCEPTED, ItemState.RELEASED, ItemState.RETIRED})
_DECIDED = _PASSED | {ItemState.RETURNED, ItemState.REJECTED}


@dataclass
class Work:
    """Counts of one person, or of several together.

    `written` are items whose current revision is theirs; of those `passed` are accepted, released or retired, and
    `decided` are these and what stands returned or rejected. `returns` counts every time that one of them was returned.
    """

    written: int = 0
    passed: int = 0
    decided: int = 0
    returns: int = 0
    recordings: int = 0
    review_times_s: list[float] = field(default_factory=list)

    @property
    def reviews(self) -> int:
        """Reviews that were finished; those of items that only check reviewers count too, for they are work."""
        return len(self.review_times_s)

    @property
    def usual_review_s(self) -> float | None:
        """The median from taking a review to its verdict."""
        return median(self.review_times_s) if self.review_times_s else None


@dataclass(frozen=True)
class WorkWords:
    """The same as people read it; empty where there is nothing to tell."""

    written: str
    passed: str
    returns: str
    pass_rate: str
    interval: str
    reviews: str
    review_time: str
    recordings: str


def work_by_person(session: Session, users: Iterable[User]) -> dict[str, Work]:
    """By user id. Rows name people by id or by sign-in name; whatever names nobody is left out."""
    found = {user.id: Work() for user in users}
    ids = {user.name: user.id for user in session.exec(select(User))}

    def of(actor: str) -> Work | None:
        return found.get(ids.get(actor, actor))

    _count_items(session, of)
    for reviewer, started_at, finished_at in session.exec(
        select(Review.reviewer, Review.started_at, Review.finished_at).where(col(Review.finished_at).is_not(None))
    ):
        if (work := of(reviewer)) is not None and finished_at is not None:
            work.review_times_s.append((finished_at - started_at).total_seconds())
    recorded = select(Event.actor, func.count()).where(Event.subject_kind == "recording", Event.action == "record")
    for actor, count in session.exec(recorded.group_by(col(Event.actor))):
        if (work := of(actor)) is not None:
            work.recordings += count
    return found


def together(works: Iterable[Work]) -> Work:
    """Several people as one."""
    total = Work()
    for work in works:
        total.written += work.written
        total.passed += work.passed
        total.decided += work.decided
        total.returns += work.returns
        total.recordings += work.recordings
        total.review_times_s += work.review_times_s
    return total


def work_words(work: Work, t: Words) -> WorkWords:
    """Counts in words; the pass rate with Wilson's 95% interval."""
    rate, interval = "", ""
    if work.decided:
        low, high = wilson(work.passed, work.decided)
        rate = t.percent(work.passed / work.decided)
        interval = t("{low} to {high}, of {count}", low=t.percent(low), high=t.percent(high), count=work.decided)
    usual = work.usual_review_s
    return WorkWords(
        written=_count(work.written, t),
        passed=_count(work.passed, t),
        returns=_count(work.returns, t),
        pass_rate=rate,
        interval=interval,
        reviews=_count(work.reviews, t),
        review_time=t.span(timedelta(seconds=usual)) if usual is not None else "",
        recordings=_count(work.recordings, t),
    )


def last_seen(session: Session, user_ids: Sequence[str]) -> Mapping[str, Any]:
    """When each of them did anything last, by user id."""
    query = select(Event.actor, func.max(Event.at)).where(col(Event.actor).in_(user_ids)).group_by(col(Event.actor))
    return dict(session.exec(query).all())


def _count_items(session: Session, of: Any) -> None:
    current = select(Item.id, Item.state, ItemRevision.author).join(
        ItemRevision, col(Item.current_revision_id) == col(ItemRevision.id)
    )
    authors: dict[str, str] = {}
    states: dict[str, Counter[ItemState]] = defaultdict(Counter)
    for item_id, state, author in session.exec(current):
        authors[item_id] = author
        states[author][ItemState(state)] += 1
    for author, counts in states.items():
        if (work := of(author)) is not None:
            work.written += counts.total()
            work.passed += sum(counts[state] for state in _PASSED)
            work.decided += sum(counts[state] for state in _DECIDED)
    returned = select(Event.subject_id, func.count()).where(
        Event.subject_kind == "item", Event.action == Action.RETURN.value
    )
    for item_id, count in session.exec(returned.group_by(col(Event.subject_id))):
        if (work := of(authors.get(item_id, ""))) is not None:
            work.returns += count


def _count(count: int, t: Words) -> str:
    return t.number(count) if count else ""
