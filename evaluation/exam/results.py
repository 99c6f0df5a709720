"""What an exam showed: people against models, how long people took, and whether they knew how sure to be."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from sqlmodel import Session, col, func, select

from core.content import Frozen
from evaluation.exam.grading import Sat, model_of, sat_in
from evaluation.exam.sheet import CONFIDENCES
from evaluation.exam.timing import seen_s, taken_s
from evaluation.metrics import Values, mean_of
from evaluation.report.build import build_report
from evaluation.report.document import Report
from evaluation.report.items import item_facts
from evaluation.run import evaluated_models
from warehouse.facts import FactStore
from warehouse.tables import Exam, ExamPlace, ExamSeat, PlaceState


class Times(Frozen):
    """The middle half of some times, in seconds."""

    count: int
    low_s: float
    median_s: float
    high_s: float


class Sure(Frozen):
    """Answers of one confidence (percent): how many, and their points in percent with the 95% interval."""

    confidence: int
    answers: int
    points: float | None = None
    low: float | None = None
    high: float | None = None


class Group(Frozen):
    """The people of one profile, as reports call them.

    `answered`, `abstained` and `timed_out` count what is behind them, `left` what was shown and never handed in.
    `taken` is from first showing to handing in, `seen` without pauses. Over the answers that have both points and a
    confidence, `confidence` and `points` are their means in percent, and `brier` is the mean squared difference of both
    as shares (0 is best, 0.25 is what saying 50% always gives).
    """

    name: str
    people: int
    answered: int
    abstained: int
    timed_out: int
    left: int
    taken: Times | None
    seen: Times | None
    sure: tuple[Sure, ...] = ()
    confidence: float | None = None
    points: float | None = None
    brier: float | None = None


class ExamResults(Frozen):
    """What a graded exam says; `report` is over the questions that its people were asked."""

    groups: tuple[Group, ...]
    report: Report


def exam_results(session: Session, facts: FactStore, exam: Exam) -> ExamResults:
    """The results of an exam that is graded; without numbers where it is not."""
    sat = sat_in(session, exam)
    items = item_facts(session, sorted({one.place.revision_id for one in sat}))
    names = sorted({one.model for one in sat})
    models = evaluated_models(session, exam.subject) if exam.subject else None
    report = build_report(facts, exam.name, items, models and sorted({*models, *names}))
    points = {row.key: row.points for row in report.answers}
    left = _left(session, exam)
    groups = [_group(name, [one for one in sat if one.model == name], points, left.get(name, 0)) for name in names]
    return ExamResults(groups=tuple(groups), report=report)


def _left(session: Session, exam: Exam) -> dict[str, int]:
    query = (
        select(ExamSeat, func.count())
        .join(ExamPlace, col(ExamPlace.seat_id) == col(ExamSeat.id))
        .where(ExamSeat.exam_id == exam.id, ExamPlace.state == PlaceState.WAITING)
        .where(col(ExamPlace.shown_at).is_not(None))
        .group_by(col(ExamSeat.id))
    )
    counts: dict[str, int] = {}
    for seat, count in session.exec(query):
        counts[model_of(seat)] = counts.get(model_of(seat), 0) + count
    return counts


def _group(name: str, sat: Sequence[Sat], points: Mapping[str, float | None], left: int) -> Group:
    states = [one.place.state for one in sat]
    given = [one for one in sat if one.place.state is PlaceState.ANSWERED]
    told = [
        (one, one.place.confidence, float(earned))
        for one in given
        if one.place.confidence is not None and (earned := points.get(one.key)) is not None
    ]
    stated = np.array([confidence for _, confidence, _ in told], dtype=float) / 100
    earned_shares = np.array([earned for *_, earned in told], dtype=float)
    return Group(
        name=name,
        people=len({one.seat.id for one in sat}),
        answered=len(given),
        abstained=states.count(PlaceState.ABSTAINED),
        timed_out=states.count(PlaceState.TIMED_OUT),
        left=left,
        taken=_times(taken_s(one.place) for one in given),
        seen=_times(seen_s(one.place) for one in given),
        sure=tuple(_sure(confidence, [one for one in told if one[1] == confidence]) for confidence in CONFIDENCES)
        if told
        else (),
        confidence=100 * float(stated.mean()) if told else None,
        points=100 * float(earned_shares.mean()) if told else None,
        brier=float(np.square(stated - earned_shares).mean()) if told else None,
    )


def _sure(confidence: int, told: Sequence[tuple[Sat, int | None, float]]) -> Sure:
    values: Values = np.array([earned for *_, earned in told], dtype=float)
    items = np.unique([one.place.revision_id for one, *_ in told], return_inverse=True)[1]
    persons = np.unique([one.seat.id for one, *_ in told], return_inverse=True)[1]
    mean = mean_of(values, items, persons)
    if mean is None:
        return Sure(confidence=confidence, answers=0)
    low, high = 100 * mean.low, 100 * mean.high
    return Sure(confidence=confidence, answers=len(told), points=100 * mean.value, low=low, high=high)


def _times(taken: Iterable[float | None]) -> Times | None:
    known = [one for one in taken if one is not None]
    if not known:
        return None
    low, median, high = np.quantile(known, (0.25, 0.5, 0.75))
    return Times(count=len(known), low_s=float(low), median_s=float(median), high_s=float(high))
