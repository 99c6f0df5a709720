"""How well questions tell models apart, and whether private ones made after public ones do it better.

After UNO-Bench (arXiv:2510.18915), Figure 12: the spread of the models' means, and the gaps between neighbours in their
ranking. Differences are paired: the same models, before and after.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import InterplayError
from curation.questions.scores import Scores
from evaluation.metrics import Gap, Values, adjacent_gaps

RESAMPLES = 2_000
FEWEST_MODELS = 3


class TooFewModels(InterplayError):
    """A ranking of fewer than three models has no gaps to speak of."""


@dataclass(frozen=True)
class Interval:
    """A number with its 95% interval."""

    value: float
    low: float
    high: float

    def told(self, decimals: int) -> str:
        """As people read it: '0.123 (0.100 to 0.150)'."""
        return f"{self.value:.{decimals}f} ({self.low:.{decimals}f} to {self.high:.{decimals}f})"


@dataclass(frozen=True)
class Spread:
    """How one set of questions tells models apart.

    Attributes:
        models: From the best to the worst.
        means: Of each, in [0, 1].
        questions: How many.
        deviation: Standard deviation of the means.
        smallest_gap, median_gap: Between neighbours.
        gaps: Of neighbours, with a paired test each.
    """

    models: tuple[str, ...]
    means: tuple[float, ...]
    questions: int
    deviation: Interval
    smallest_gap: float
    median_gap: Interval
    gaps: tuple[Gap, ...]

    @property
    def told_apart(self) -> int:
        """How many neighbours the questions tell apart (Holm's correction)."""
        return sum(gap.told_apart for gap in self.gaps)


@dataclass(frozen=True)
class BeforeAfter:
    """The same models on public questions and on those made after them; changes are after less before."""

    before: Spread
    after: Spread
    left_out: tuple[str, ...]
    deviation_change: Interval
    median_gap_change: Interval

    @property
    def verdict(self) -> str:
        """`better`, `worse` or `open`: whether the interval of the change of the deviation leaves out zero."""
        if self.deviation_change.low > 0:
            return "better"
        return "worse" if self.deviation_change.high < 0 else "open"


def before_after(before: Scores, after: Scores, rng: np.random.Generator) -> BeforeAfter:
    """Compare two sets of questions by the models that were scored on both; the two are resampled apart.

    Raises:
        TooFewModels: Fewer than three models were scored on both.
    """
    models = sorted(set(before.models) & set(after.models))
    left_out = tuple(sorted(set(before.models) ^ set(after.models)))
    points = _checked(before, models), _checked(after, models)
    drawn = _drawn(points[0], rng), _drawn(points[1], rng)
    spreads = [_spread(one, models, means, rng) for one, means in zip(points, drawn, strict=True)]
    changes = []
    for measure in (_deviation, _median_gap):
        observed = measure(np.nanmean(points[1], axis=1)) - measure(np.nanmean(points[0], axis=1))
        changes.append(_interval(float(observed), measure(drawn[1]) - measure(drawn[0])))
    return BeforeAfter(spreads[0], spreads[1], left_out, changes[0], changes[1])


def _checked(scores: Scores, models: Sequence[str]) -> Values:
    if len(models) < FEWEST_MODELS:
        raise TooFewModels(
            f"{len(models)} models ({', '.join(models) or 'none'}) were scored on all that is compared; "
            f"at least {FEWEST_MODELS} are needed, under the same names"
        )
    return scores.of(models)


def _spread(points: Values, models: Sequence[str], drawn: Values, rng: np.random.Generator) -> Spread:
    means = np.nanmean(points, axis=1)
    order = np.argsort(-means, kind="stable").tolist()
    gaps = means[order][:-1] - means[order][1:]
    return Spread(
        models=tuple(models[place] for place in order),
        means=tuple(float(mean) for mean in means[order]),
        questions=points.shape[1],
        deviation=_interval(float(_deviation(means)), _deviation(drawn)),
        smallest_gap=float(gaps.min()),
        median_gap=_interval(float(_median_gap(means)), _median_gap(drawn)),
        gaps=adjacent_gaps(points, order, np.arange(points.shape[1]), rng),
    )


def _drawn(points: Values, rng: np.random.Generator) -> Values:
    """Means of each model over resampled questions, shape (resamples, models)."""
    graded = ~np.isnan(points)
    count = points.shape[1]
    weights = rng.multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    sizes = weights @ graded.T
    means = weights @ np.where(graded, points, 0.0).T / np.maximum(sizes, 1)
    observed = np.nanmean(points, axis=1)
    return np.where(sizes > 0, means, observed)


def _deviation(means: Values) -> Values:
    found: Values = np.std(means, axis=-1, ddof=1)
    return found


def _median_gap(means: Values) -> Values:
    found: Values = np.median(np.diff(np.sort(means, axis=-1), axis=-1), axis=-1)
    return found


def _interval(value: float, drawn: Values) -> Interval:
    """The basic bootstrap's interval (Davison and Hinkley 1997, 5.2): resampled means spread more than real ones."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Interval(value, float(2 * value - high), float(2 * value - low))
