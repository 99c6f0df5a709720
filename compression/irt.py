"""A multidimensional two-parameter logistic model of item response theory (2PL), fitted to source scores."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from compression.matrix import Codes, Floats

MOST_DIMENSIONS = 5
# So many families of sources for each dimension; fewer, and a dimension tells one family from another.
FAMILIES_A_DIMENSION = 5
# Prior standard deviations, in logits: of easiness about its mean, and of a new model's ability in those of the
# sources. The second is wide, since a new model may well be better than all sources.
_EASINESS = 2.0
_NEW_ABILITY = 3.0
_FIT_STEPS, _ABILITY_STEPS = 300, 500
_SETTLED = 1e-7
# A dimension in which sources differ less has no scale.
_NO_SPREAD = 1e-3


@dataclass(frozen=True)
class Items:
    """Items of a 2PL: a model of ability t has a score of 1 / (1 + exp(-(slope . t + easiness))) on one.

    Attributes:
        slopes: (items, dimensions) discriminations, for abilities whose mean is 0 and whose variance 1 over sources.
        easiness: (items,) in logits.
    """

    slopes: Floats
    easiness: Floats

    def predict(self, abilities: Floats) -> Floats:
        """(items, models) expected scores for (models, dimensions) abilities."""
        from scipy.special import expit

        return np.asarray(expit(self.slopes @ abilities.T + self.easiness[:, None]))

    def of(self, chosen: Codes) -> "Items":
        """Only those."""
        return Items(self.slopes[chosen], self.easiness[chosen])

    def abilities(self, scores: Floats, weights: Floats) -> Floats:
        """(models, dimensions) most probable abilities, by the (items, models) scores and the prior N(0, 3^2).

        By the logistic curvature's upper bound in place of the Hessian (Böhning and Lindsay 1988): no step overshoots.
        """
        from threadpoolctl import threadpool_limits

        weighted = self.slopes * weights[:, None]
        prior = np.eye(self.slopes.shape[1]) / _NEW_ABILITY**2
        abilities: Floats = np.zeros((scores.shape[1], self.slopes.shape[1]))
        # Sums of several threads come out in any order.
        with threadpool_limits(1):
            step = np.linalg.inv(weighted.T @ self.slopes / 4 + prior)
            for _ in range(_ABILITY_STEPS):
                moved = ((scores - self.predict(abilities)).T @ weighted - abilities @ prior) @ step
                abilities = abilities + moved
                if np.abs(moved).max(initial=0.0) < _SETTLED:
                    break
        return abilities


def dimensions_for(families: int) -> int:
    """One for each five families of sources, at least one and at most five."""
    return min(MOST_DIMENSIONS, max(1, families // FAMILIES_A_DIMENSION))


def fit_items(scores: Floats, weights: Floats, dimensions: int) -> Items:
    """The most probable items for the (items, sources) scores, which may be fractions.

    Slopes are N(mean, 1) and easiness N(mean, 2^2) a priori, with means that are fitted too (as py-irt's hierarchical
    priors, which tinyBenchmarks fits). By L-BFGS from the principal components; nothing is random.

    Args:
        scores: In [0, 1].
        weights: (items,) how often each counts, such as the questions that it stands for.
        dimensions: Of abilities.
    """
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        # Items with equal scores have equal parameters, and are fitted once.
        rows, codes = np.unique(scores, axis=0, return_inverse=True)
        counts = np.bincount(codes.ravel(), weights).astype(np.float64)
        found = minimize(
            negative_log_posterior,
            _start(rows, counts, dimensions),
            args=(rows, counts, dimensions),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _FIT_STEPS, "ftol": 1e-7, "gtol": 1e-6},
        )
        slopes, easiness, abilities = _unpack(found.x, rows.shape, dimensions)
        return _standardised(slopes, easiness, abilities).of(codes.ravel())


def negative_log_posterior(
    parameters: Floats, scores: Floats, weights: Floats, dimensions: int
) -> tuple[float, Floats]:
    """What `fit_items` minimises, per item, and its gradient.

    Args:
        parameters: Slopes, easiness and abilities in one row.
        scores: (items, sources).
        weights: (items,).
        dimensions: Of abilities.
    """
    from scipy.special import expit

    slopes, easiness, abilities = _unpack(parameters, scores.shape, dimensions)
    logits = slopes @ abilities.T + easiness[:, None]
    total = float(weights.sum())
    # As many terms as the slopes have: else abilities would grow, slopes shrink, and their prior mean nothing.
    strength = total / len(abilities)
    off_slopes = slopes - weights @ slopes / total
    off_easiness = (easiness - weights @ easiness / total) / _EASINESS
    loss = weights @ (np.logaddexp(0, logits) - scores * logits).sum(axis=1)
    loss += weights @ (np.square(off_slopes).sum(axis=1) + np.square(off_easiness)) / 2
    loss += strength * np.square(abilities).sum() / 2
    missed = (expit(logits) - scores) * weights[:, None]
    gradient = np.concatenate(
        [
            (missed @ abilities + weights[:, None] * off_slopes).ravel(),
            missed.sum(axis=1) + weights * off_easiness / _EASINESS,
            (missed.T @ slopes + strength * abilities).ravel(),
        ]
    )
    return float(loss) / total, gradient / total


def _unpack(parameters: Floats, shape: tuple[int, ...], dimensions: int) -> tuple[Floats, Floats, Floats]:
    items, sources = shape
    ends = np.cumsum([0, items * dimensions, items, sources * dimensions])
    slopes, easiness, abilities = (parameters[start:end] for start, end in pairwise(ends))
    return slopes.reshape(items, dimensions), easiness, abilities.reshape(sources, dimensions)


def _start(scores: Floats, weights: Floats, dimensions: int) -> Floats:
    """Principal components of the sources, in logits; slopes of 1 (a Rasch model) where sources do not differ."""
    means = scores.mean(axis=1)
    centred = scores - means[:, None]
    _, vectors = np.linalg.eigh(centred.T @ (centred * weights[:, None]))
    sources = scores.shape[1]
    abilities = np.zeros((sources, dimensions))
    kept = min(dimensions, sources)
    abilities[:, :kept] = vectors[:, ::-1][:, :kept] * np.sqrt(sources)
    # Better models have greater abilities.
    abilities *= np.where(abilities.T @ (weights @ centred) < 0, -1.0, 1.0)
    # A probability of one half moves by a quarter for each logit.
    slopes = 4 * centred @ abilities / sources
    if not centred.any():
        abilities[:], slopes[:] = 0.0, 1.0
    clipped = (means * sources + 0.5) / (sources + 1)
    return np.concatenate([slopes.ravel(), np.log(clipped / (1 - clipped)), abilities.ravel()])


def _standardised(slopes: Floats, easiness: Floats, abilities: Floats) -> Items:
    """The same model with abilities that have mean 0, variance 1 and no correlation over the sources."""
    mean = abilities.mean(axis=0)
    variances, axes = np.linalg.eigh(np.cov(abilities.T, bias=True).reshape(len(mean), len(mean)))
    scales = np.sqrt(np.maximum(variances, 0))
    return Items(slopes @ axes * np.where(scales > _NO_SPREAD, scales, 1.0), easiness + slopes @ mean)
