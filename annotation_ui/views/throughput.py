"""How fast the work goes: what was done in each of the last weeks, and how long items wait for a round."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy
from sqlmodel import Session, col, func, select

from annotation_ui.permissions import Principal
from annotation_ui.words import N_, Words
from warehouse.lifecycle import Action
from warehouse.tables import Event, ItemState
from warehouse.tables.base import UtcDateTime
from warehouse.verdicts import names_of, own_items

WEEKS = 8
_WEEK = timedelta(weeks=1)
_ROUNDS = {ItemState.SUBMITTED.value: 1, ItemState.ROUND1_PASSED.value: 2, ItemState.ROUND2_PASSED.value: 3}
_HANDED_IN = frozenset({Action.SUBMIT.value, Action.REVISE.value})
_DECIDED = frozenset(
    one.value for one in (Action.PASS_ROUND1, Action.PASS_ROUND2, Action.ACCEPT, Action.RETURN, Action.REJECT)
)
_MEASURES = {
    "handed_in": N_("Handed in"),
    "round1": N_("Decided in round 1"),
    "round2": N_("Decided in round 2"),
    "round3": N_("Decided in round 3"),
    "accepted": N_("Accepted"),
    "takes": N_("Takes recorded"),
    "reviews": N_("Reviews finished"),
}


@dataclass(frozen=True)
class Week:
    """How many in one week; `share` in [0, 1] is the height of its bar against the fullest week of the row."""

    count: int
    share: float


@dataclass(frozen=True)
class Measure:
    """One kind of work over the weeks."""

    label: str
    weeks: Sequence[Week]
    total: int


@dataclass(frozen=True)
class Wait:
    """How long items waited for a round's decision: half of them no longer than `usual`, nine in ten than `long`."""

    label: str
    count: int
    usual: str
    long: str


@dataclass(frozen=True)
class Throughput:
    """The last weeks, the present one last; `weeks` are the days on which they began."""

    weeks: Sequence[str]
    measures: Sequence[Measure]
    waits: Sequence[Wait]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was done in these weeks."""
        return not any(measure.total for measure in self.measures)


def throughput(session: Session, who: Principal, now: datetime, t: Words, *, mine: bool = False) -> Throughput:
    """What was done in the last `WEEKS` weeks (Monday to Sunday, UTC), by events.

    With `mine`: what became of items that the reader had a hand in, and the reader's own takes and reviews.
    """
    start = first_monday(now)
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    waits: dict[int, list[timedelta]] = defaultdict(list)
    for step in _steps(session, who if mine else None, start):
        week = (step.at - start) // _WEEK
        number = _ROUNDS.get(step.before)
        if step.action in _HANDED_IN and step.after == ItemState.SUBMITTED:
            counts["handed_in"][week] += 1
        elif step.action in _DECIDED and number is not None:
            counts[f"round{number}"][week] += 1
            waits[number].append(step.waited)
        if step.action == Action.ACCEPT:
            counts["accepted"][week] += 1
    for name, at in _own_work(session, who if mine else None, start):
        counts[name][(at - start) // _WEEK] += 1
    return Throughput(
        weeks=[t.day(start + number * _WEEK) for number in range(WEEKS)],
        measures=[_measure(t(label), counts[name]) for name, label in _MEASURES.items()],
        waits=[_wait(number, waits[number], t) for number in sorted(waits)],
    )


def first_monday(now: datetime) -> datetime:
    """The midnight with which the weeks begin that are looked at."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=today.weekday()) - (WEEKS - 1) * _WEEK


@dataclass(frozen=True)
class _Step:
    """A step in an item's life, and how long the item had stood where it was."""

    action: str
    before: str
    after: str
    at: datetime
    waited: timedelta


def _steps(session: Session, who: Principal | None, start: datetime) -> Iterator[_Step]:
    actions = [action.value for action in Action]
    touched = select(Event.subject_id).where(
        Event.subject_kind == "item", col(Event.action).in_(actions), col(Event.at) >= start
    )
    if who is not None:
        touched = touched.where(col(Event.subject_id).in_(own_items(session, who.name)))
    earlier = func.lag(col(Event.at), type_=UtcDateTime).over(
        partition_by=col(Event.subject_id), order_by=col(Event.sequence)
    )
    before, after = (col(Event.detail)[name].as_string().label(name) for name in ("before", "after"))
    told = (
        sqlalchemy.select(col(Event.action), before, after, col(Event.at), earlier.label("since"))
        .where(col(Event.subject_kind) == "item", col(Event.action).in_(actions), col(Event.subject_id).in_(touched))
        .subquery()
    )
    counted = told.c.action.in_(_HANDED_IN | _DECIDED) & (told.c.at >= start)
    for step in session.exec(select(*told.c).where(counted)):
        yield _Step(step.action, step.before, step.after, step.at, step.at - (step.since or step.at))


def _own_work(session: Session, who: Principal | None, start: datetime) -> Iterator[tuple[str, datetime]]:
    recorded = (Event.subject_kind == "recording") & (Event.action == "record")
    reviewed = (Event.subject_kind == "review") & (Event.action == "finish")
    query = select(Event.subject_kind, Event.at).where(recorded | reviewed, col(Event.at) >= start)
    if who is not None:
        query = query.where(col(Event.actor).in_(names_of(session, who.name)))
    for kind, at in session.exec(query):
        yield ("takes" if kind == "recording" else "reviews"), at


def _measure(label: str, counts: Counter[int]) -> Measure:
    fullest = max(counts.values(), default=0) or 1
    weeks = [Week(counts[number], counts[number] / fullest) for number in range(WEEKS)]
    return Measure(label, weeks, sum(week.count for week in weeks))


def _wait(number: int, waited: Sequence[timedelta], t: Words) -> Wait:
    return Wait(
        label=t("Round {number}", number=number),
        count=len(waited),
        usual=t.span(_percentile(waited, 50)),
        long=t.span(_percentile(waited, 90)),
    )


def _percentile(lengths: Sequence[timedelta], percent: int) -> timedelta:
    """The shortest of the lengths that so many percent of them do not exceed."""
    return sorted(lengths)[max(-(-len(lengths) * percent // 100) - 1, 0)]
