"""People's ablation solves: how often reviewers answered rightly with a modality hidden, and with everything."""

from collections import defaultdict
from collections.abc import Iterable

from sqlmodel import Session, col, select

from core.content import Frozen, Modality
from evaluation.metrics import wilson
from warehouse.tables import Review

# What somebody answered, None for "cannot tell", and the points.
_Answer = tuple[str | None, float | None]


class Solves(Frozen):
    """Reviewers' answers with one modality hidden; with nothing hidden where `hidden` is None.

    `answered` counts who answered or could not tell, without the answers that the question's grader could not grade:
    those are `ungraded`. `right` earned all points. `low` and `high` are Wilson's 95% interval of right / answered,
    None (undefined) where nobody's answer counts.
    """

    hidden: Modality | None
    answered: int
    right: int
    ungraded: int
    low: float | None
    high: float | None

    @property
    def words(self) -> str:
        """For a terminal."""
        share = "undefined" if self.low is None else f"95% interval {self.low:.2f} to {self.high:.2f}"
        more = f", {self.ungraded} not graded" if self.ungraded else ""
        shown = "with everything" if self.hidden is None else f"without {self.hidden.value}"
        return f"{shown}: {self.right} of {self.answered} right ({share}{more})"


def ablation_solves(session: Session, revision_id: str | None = None) -> tuple[Solves, ...]:
    """What all reviewers answered, on one revision or on all; a row for each condition that anybody answered under.

    Reviews of gold items are left out: the same few revisions, shown to everybody, would outweigh the others.
    """
    query = select(Review).where(col(Review.is_gold).is_(False))
    if revision_id is not None:
        query = query.where(Review.revision_id == revision_id)
    return solves_of(session.exec(query))


def solves_of(reviews: Iterable[Review]) -> tuple[Solves, ...]:
    """The same for chosen reviews; everything first, then the hidden modalities by name."""
    answers: dict[str | None, list[_Answer]] = defaultdict(list)
    for review in reviews:
        if review.partial_at is not None:
            answers[review.hidden].append((review.partial_answer, review.partial_points))
        if review.full_at is not None:
            answers[None].append((review.full_answer, review.full_points))
    return tuple(_counted(hidden, answers[hidden]) for hidden in sorted(answers, key=lambda name: name or ""))


def _counted(hidden: str | None, answers: list[_Answer]) -> Solves:
    ungraded = sum(text is not None and points is None for text, points in answers)
    answered = len(answers) - ungraded
    right = sum(points == 1 for _, points in answers)
    low, high = wilson(right, answered) if answered else (None, None)
    return Solves(
        hidden=Modality(hidden) if hidden else None,
        answered=answered,
        right=right,
        ungraded=ungraded,
        low=low,
        high=high,
    )
