"""Statistics of graded answers: means with clustered intervals, paired comparisons, twin groups, rankings.

Items that share media or belong to one twin group are no independent evidence. So everything here takes a cluster for
each value, and the number of clusters, not that of answers, decides how sure a number is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Codes = NDArray[np.int64]

CONFIDENCE = 0.95
ALPHA = 0.05
POWER = 0.8
RESAMPLES = 2_000
FLIPS = 9_999
Z_95 = 1.959963984540054
# Up to so many clusters every pattern of signs is tried (2^13 = 8192 of them) instead of a random sample.
_ALL_PATTERNS_UP_TO = 13
_DRAWN_AT_ONCE = 2_000_000
# A standard error below this is the rounding of a sum: cluster totals that do not differ.
_NO_SPREAD = 1e-9


@dataclass(frozen=True)
class Mean:
    """A mean of values in [0, 1] with its 95% interval; `method` is `t` or `wilson` (see `mean_of`)."""

    value: float
    low: float
    high: float
    count: int
    clusters: int
    method: Literal["t", "wilson"]


@dataclass(frozen=True)
class Difference:
    """A mean paired difference with its 95% interval and a two-sided p.

    `test` is `mcnemar` (exact) or `sign_flip`. `smallest_visible` is the true difference that a comparison of this
    spread and this many clusters would find with power 0.8 at alpha 0.05; None where the clusters do not differ, or
    where it could find none (see `smallest_visible`).
    """

    value: float
    low: float
    high: float
    p: float
    test: Literal["mcnemar", "sign_flip"]
    pairs: int
    clusters: int
    smallest_visible: float | None


@dataclass(frozen=True)
class Gap:
    """Two neighbours in a ranking, by their places in the given rows; None where they share no item."""

    better: int
    worse: int
    difference: Difference | None
    p_holm: float | None

    @property
    def told_apart(self) -> bool:
        """Whether the data tell the two apart, with Holm's correction over all neighbours."""
        return self.p_holm is not None and self.p_holm <= ALPHA


def wilson(successes: float, count: float, quantile: float = Z_95) -> tuple[float, float]:
    """Wilson's interval of a share (Wilson 1927; Newcombe 1998, method 3), by default the 95% one.

    `successes` may be a sum of shares: points in [0, 1] vary at most as much as right-or-wrong ones of the same mean.
    `count` may be an effective sample size.
    """
    share, square = successes / count, quantile**2
    middle = share + square / (2 * count)
    spread = quantile * math.sqrt(max(0.0, share * (1 - share)) / count + square / (4 * count**2))
    scale = 1 + square / count
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def standard_error(values: Values, clusters: Codes | None = None) -> float | None:
    """Cluster-robust standard error of a mean (Bell and McCaffrey 2002, "CR2").

    The squared total of the residuals of a cluster of m among n values counts 1 / (1 - m / n) times, so that it is
    unbiased for independent values however unequal the clusters are. For clusters of equal size that is the correction
    G / (G - 1) of "CR1", and with a cluster for each value the usual s / sqrt(n). None for fewer than two clusters.
    """
    totals = cluster_totals(values - values.mean(), clusters) if len(values) else values
    if len(totals) < 2:
        return None
    sizes = cluster_totals(np.ones(len(values)), clusters)
    return math.sqrt(float((np.square(totals) / (1 - sizes / len(values))).sum())) / len(values)


def degrees_of_freedom(count: int, clusters: Codes | None = None) -> float:
    """Satterthwaite's degrees of freedom of the squared standard error of independent values (Bell and McCaffrey 2002).

    For G clusters of equal size it is G - 1; where one cluster outweighs the rest it comes near 1.

    Args:
        count: Values.
        clusters: Of each, at least two; without them each value is one.
    """
    sizes = cluster_totals(np.ones(count), clusters)
    weights = np.square(sizes) / (1 - sizes / count)
    beside = float(weights.sum() ** 2 - np.square(weights).sum()) / count**2
    return float(count**2 / (np.square(sizes).sum() + beside))


def cluster_totals(values: Values, clusters: Codes | None) -> Values:
    """The sum of the values of each cluster; without clusters, the values."""
    if clusters is None:
        return values
    _, codes = np.unique(clusters, return_inverse=True)
    return np.bincount(codes, values).astype(np.float64)


def crossed_error(values: Values, clusters: Codes, others: Codes) -> float | None:
    """The standard error of a mean of values that belong together in two ways, as answers by item and by person.

    The squared errors of both ways less that of the groups which both form (Cameron, Gelbach and Miller 2011), and
    never less than the larger of the two. None where either way has fewer than two groups.
    """
    both = np.unique(np.stack([clusters, others]), axis=1, return_inverse=True)[1].reshape(-1)
    errors = [standard_error(values, codes) for codes in (clusters, others, both)]
    if errors[0] is None or errors[1] is None:
        return None
    first, second, joint = (error**2 if error is not None else 0.0 for error in errors)
    return math.sqrt(max(first + second - joint, first, second))


def mean_of(values: Values, clusters: Codes | None = None, others: Codes | None = None) -> Mean | None:
    """The mean of values in [0, 1] with a 95% interval that knows which values belong together.

    Values between 0 and 1 (partial points): mean +- t x cluster-robust standard error, cut at 0 and 1; t has the
    degrees of freedom of `degrees_of_freedom`, G - 1 for G clusters of equal size.

    Right-or-wrong values: Wilson's interval with the effective sample size n / deff, where deff is the cluster-robust
    variance over that of independent values and at least 1 (Kish 1965; Dean and Pagano 2015), and with the quantile of
    that t where values are clustered. It stays inside [0, 1] and holds near both ends and for few clusters, where the
    interval above fails; elsewhere the two agree, so there is no threshold between them.

    Values of one cluster, and clusters that do not differ, say nothing about their spread: Wilson's interval for G
    independent values. No values have no mean: None.

    Values that also belong together in another way that cuts across the first, `others` (of answers to the same
    questions, the people who gave them), have the error of `crossed_error` and the fewer degrees of freedom of both.
    """
    count = len(values)
    if count == 0:
        return None
    mean = float(values.mean())
    cluster_count = count if clusters is None else len(np.unique(clusters))
    error = standard_error(values, clusters)
    groupings = [clusters]
    if clusters is not None and others is not None and len(np.unique(others)) > 1:
        error = crossed_error(values, clusters, others)
        groupings.append(others)
        cluster_count = min(cluster_count, len(np.unique(others)))
    is_mixed = np.ptp(values) > 0 and np.isin(values, (0.0, 1.0)).all()
    if error is None or (error < _NO_SPREAD and not is_mixed):
        low, high = wilson(mean * cluster_count, cluster_count)
        return Mean(mean, low, high, count, cluster_count, "wilson")
    quantile = _t_quantile(min(degrees_of_freedom(count, codes) for codes in groupings))
    if is_mixed:
        independent = mean * (1 - mean) / (count - 1)
        effective = max(1.0, count / max(1.0, error**2 / independent))
        low, high = wilson(mean * effective, effective, Z_95 if cluster_count == count else quantile)
        return Mean(mean, low, high, count, cluster_count, "wilson")
    spread = quantile * error
    return Mean(mean, max(0.0, mean - spread), min(1.0, mean + spread), count, cluster_count, "t")


def compare(first: Values, second: Values, clusters: Codes, rng: np.random.Generator) -> Difference | None:
    """How much better `first` is than `second` on the same items, value by value; both in [0, 1].

    The interval is mean +- t x cluster-robust standard error of the differences, t as in `mean_of`. p is McNemar's
    exact one for right-or-wrong values that are all independent, else that of flipping the signs of whole clusters at
    random.
    Where the clusters do not differ they say nothing about their spread: the interval is as wide as Wilson's upper
    bound u for a share that was never seen in G allows (a share u of the pairs could lie at either end).
    No pairs: None.

    Args:
        first: Values in [0, 1].
        second: Those of the same items, in the same order.
        clusters: A cluster for each item.
        rng: For the random signs; used only where there are too many clusters to try all.
    """
    pairs = len(first)
    if pairs == 0:
        return None
    differences = first - second
    totals = cluster_totals(differences, clusters)
    count, mean = len(totals), float(differences.mean())
    error = standard_error(differences, clusters)
    if error is None or error < _NO_SPREAD:
        unseen = wilson(0, count)[1]
        low, high = mean * (1 - unseen) - unseen, mean * (1 - unseen) + unseen
        visible = None
    else:
        degrees = degrees_of_freedom(pairs, clusters)
        spread = _t_quantile(degrees) * error
        low, high = max(-1.0, mean - spread), min(1.0, mean + spread)
        visible = smallest_visible(error, count, degrees)
        visible = None if visible is None or visible > 1 else visible
    binary = np.isin(first, (0.0, 1.0)).all() and np.isin(second, (0.0, 1.0)).all()
    if binary and count == pairs:
        p = mcnemar_p(int((differences > 0).sum()), int((differences < 0).sum()))
        return Difference(mean, low, high, p, "mcnemar", pairs, count, visible)
    return Difference(mean, low, high, sign_flip_p(totals, rng), "sign_flip", pairs, count, visible)


def mcnemar_p(only_first: int, only_second: int) -> float:
    """McNemar's exact two-sided p from the pairs in which only one of two was right; 1 when there are none."""
    from scipy import stats

    count = only_first + only_second
    return float(stats.binomtest(only_first, count, 0.5).pvalue) if count else 1.0


def sign_flip_p(totals: Values, rng: np.random.Generator, flips: int = FLIPS) -> float:
    """Two-sided p of the sum of cluster totals when each could as well have had the other sign.

    All patterns of signs are tried where they are few; else `flips` random ones, and the observed one counts as one of
    them (Phipson and Smyth 2010), so p is never 0. Clusters of equal size |total| are drawn together, as a binomial
    count of plus signs.
    """
    # Totals that are equal but for their last digits are one size, in what was observed too.
    totals = np.round(totals, 9)
    sizes = np.abs(totals[totals != 0])
    if len(sizes) == 0:
        return 1.0
    # Sums of the same values in another order differ in their last digits.
    reached = abs(float(totals.sum())) - 1e-9 * float(sizes.sum())
    if len(sizes) <= _ALL_PATTERNS_UP_TO:
        patterns = np.array(np.meshgrid(*[(-1, 1)] * len(sizes))).reshape(len(sizes), -1)
        return float((np.abs(sizes @ patterns) >= reached).mean())
    distinct, counts = np.unique(sizes, return_counts=True)
    extreme, done = 1, 0
    while done < flips:
        portion = min(flips - done, max(1, _DRAWN_AT_ONCE // len(distinct)))
        plus = rng.binomial(counts, 0.5, size=(portion, len(distinct)))
        extreme += int((np.abs((2 * plus - counts) @ distinct) >= reached).sum())
        done += portion
    return extreme / (flips + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment of a family of p values (Holm 1979), in the order given."""
    raw = np.asarray(p_values, dtype=float)
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * (len(raw) - np.arange(len(raw))))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(one) for one in adjusted]


def smallest_visible(error: float, clusters: int, degrees: float) -> float | None:
    """The true difference that a two-sided paired t test finds with power 0.8 at alpha 0.05.

    Args:
        error: Standard error of the mean difference that was observed.
        clusters: Independent clusters behind it. So few that the p of `compare` cannot reach alpha, which is at least
            2 of 2^clusters patterns of signs, show no difference at all: None.
        degrees: Of freedom of the error.
    """
    return None if 2.0 ** (1 - clusters) > ALPHA else error * _noncentrality(degrees)


def groups_right(points: Values, groups: Codes, members: Codes) -> Values:
    """For each group: 1 when all its members have 1, 0 when one has less, NaN when that is not known.

    A group of which some have no points is wrong as soon as one that has is; else it cannot be told.

    Args:
        points: NaN where there is no grade.
        groups: The group of each, counted from 0 without a gap.
        members: How many members each group has, those without a response too.
    """
    wrong = np.bincount(groups, points < 1, len(members)) > 0
    missing = np.bincount(groups, ~np.isnan(points), len(members)) < members
    return np.where(wrong, 0.0, np.where(missing, np.nan, 1.0))


def adjacent_gaps(points: Values, order: Sequence[int], clusters: Codes, rng: np.random.Generator) -> tuple[Gap, ...]:
    """Paired differences of neighbours in a ranking, with Holm's correction over them.

    Args:
        points: A row for each model, a column for each item; NaN where there is no grade.
        order: Row numbers, best first.
        clusters: Of each item.
        rng: For sign flips.
    """
    found: list[tuple[int, int, Difference | None]] = []
    for better, worse in pairwise(order):
        both = ~np.isnan(points[better]) & ~np.isnan(points[worse])
        found.append((better, worse, compare(points[better][both], points[worse][both], clusters[both], rng)))
    adjusted = iter(holm([difference.p for _, _, difference in found if difference is not None]))
    return tuple(
        Gap(better, worse, difference, None if difference is None else next(adjusted))
        for better, worse, difference in found
    )


def rank_intervals(
    points: Values, clusters: Codes, rng: np.random.Generator, resamples: int = RESAMPLES
) -> list[tuple[int, int]]:
    """95% interval of each model's rank (1 is best) over resampled clusters of items.

    A rank is one more than the number of models with a better mean. Where a resample holds no item of a model, its
    observed mean stands in. One cluster, drawn anew, is always the same: it leaves every rank open. `points` as in
    `adjacent_gaps`; every row needs a value.
    """
    codes = np.unique(clusters, return_inverse=True)[1]
    graded = ~np.isnan(points)
    count = int(codes.max()) + 1
    if count == 1:
        return [(1, len(points))] * len(points)
    sums = np.array([np.bincount(codes, row, count) for row in np.where(graded, points, 0.0)]).T
    sizes = np.array([np.bincount(codes, row, count) for row in graded]).T
    observed = sums.sum(axis=0) / sizes.sum(axis=0)
    ranks = np.empty((resamples, len(points)), dtype=int)
    portion = max(1, _DRAWN_AT_ONCE // count)
    for start in range(0, resamples, portion):
        rows = slice(start, min(start + portion, resamples))
        weights: NDArray[Any] = rng.multinomial(count, np.full(count, 1 / count), size=rows.stop - rows.start)
        drawn = weights @ sizes
        means = np.where(drawn > 0, (weights @ sums) / np.maximum(drawn, 1), observed)
        ranks[rows] = 1 + (means[:, None, :] > means[:, :, None] + 1e-12).sum(axis=2)
    ends = np.quantile(ranks, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0, method="nearest")
    return [(int(low), int(high)) for low, high in ends.T]


@cache
def _t_quantile(degrees: float) -> float:
    from scipy import stats

    return float(stats.t.ppf((1 + CONFIDENCE) / 2, degrees))


@cache
def _noncentrality(degrees: float) -> float:
    """The mean of a t statistic, in standard errors, with which a two-sided test has the wanted power."""
    from scipy import optimize, stats

    critical = float(stats.t.ppf(1 - ALPHA / 2, degrees))

    def missing(shift: float) -> float:
        # Far in the wrong tail scipy's distribution has no value; nothing lies there.
        beyond = np.nan_to_num(stats.nct.cdf(-critical, degrees, shift))
        return float(stats.nct.sf(critical, degrees, shift) + beyond - POWER)

    return float(optimize.brentq(missing, 0.0, 10 * critical))
