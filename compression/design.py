"""A sampling design: strata of a pool, the draws of each, and the variance that estimates have over all samples."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from compression.allocate import allocate
from compression.frame import Frame
from compression.matrix import Codes, Floats
from compression.strata import centred, stratum_sums
from compression.survey import Estimate, Regression, Survey, solve_ridge

# More effective predictors than this share of the draws, and intervals come out too narrow.
_PREDICTORS_A_DRAW = 1 / 20


@dataclass(frozen=True)
class Sample:
    """Drawn units in the order of their strata, and then of their numbers.

    Attributes:
        units: (draws,) numbers.
        weights: (draws,) the estimated mean of a model is the sum of weights times its values.
        survey: Of a stratified design.
    """

    units: Codes
    weights: Floats
    survey: Survey | None = None


@dataclass(frozen=True)
class Design:
    """Strata of a frame's units and the draws of each.

    Attributes:
        frame: That is sampled.
        labels: (units,) stratum of each unit, from 0 without a gap.
        draws: (strata,) drawn without replacement in each, at least one.
        regression: Whether estimates are regressed on the source models.
        measure: (strata,) what the draws are proportional to; None: the sizes.
    """

    frame: Frame
    labels: Codes
    draws: Codes
    regression: bool = False
    measure: Floats | None = None

    @cached_property
    def sizes(self) -> Codes:
        """(strata,) units in each."""
        return np.bincount(self.labels, minlength=len(self.draws)).astype(np.int64)

    @property
    def size(self) -> int:
        """Units that are drawn."""
        return int(self.draws.sum())

    def draw(self, rng: np.random.Generator) -> Sample:
        """Draw a sample: in each stratum the units with the smallest random numbers.

        Each unit's number is the generator's, whatever is drawn: a design with more draws in the same strata gives a
        superset for the same generator ("permanent random numbers", Ohlsson 1995).
        """
        order = np.argsort(self.labels + rng.random(len(self.labels)), kind="stable")
        chosen = first_of_each(order, self.sizes, self.draws)
        units = chosen[np.lexsort((chosen, self.labels[chosen]))]
        survey = self.survey(units)
        return Sample(units, survey.weights, survey)

    def extended(self, total: int) -> "Design":
        """The design with `total` draws, at least as many in each stratum as now.

        Raises:
            BadPool: Less than there are already, or more than there are units.
        """
        return replace(self, draws=allocate(self.sizes, total, self.measure, at_least=self.draws))

    def estimate(self, sample: Sample, values: Floats) -> Estimate:
        """Estimated means from the (draws, models) values of a sample's units."""
        return (sample.survey or self.survey(sample.units)).estimate(values)

    def survey(self, units: Codes) -> Survey:
        """What an estimate needs of these drawn units, in the order of their strata."""
        if not self.regression or self._ridge is None:
            return Survey(self.sizes, self.draws)
        known = Regression(self.frame.predictors[units], self.frame.predictor_means, self._ridge)
        return Survey(self.sizes, self.draws, known)

    def design_variance(self, values: Floats) -> Floats:
        """(models,) the variance that estimates have over all samples, from the (units, models) values of all units.

        In closed form (`stratified_variance`). With a regression it is that of the residuals of the expected fit,
        times 1 + p / (n - strata) for what the slopes cost (p effective predictors).
        """
        cost = 1.0
        if self.regression and self._ridge is not None:
            predictors = centred(self.frame.predictors, self.labels)
            share = self.size / len(self.frame)
            gram = predictors.T @ predictors * share
            slopes = solve_ridge(gram, self._ridge, predictors.T @ centred(values, self.labels) * share)
            values = values - predictors @ slopes
            effective = float(np.trace(solve_ridge(gram, self._ridge, gram)))
            cost = 1 + effective / max(1.0, self.size - len(self.draws))
        return stratified_variance(values, self.labels, self.draws) * cost

    @cached_property
    def _ridge(self) -> float | None:
        """Strength of the ridge; None where there are too few draws for any predictor."""
        most = self.size * _PREDICTORS_A_DRAW
        if most < 1:
            return None
        predictors = centred(self.frame.predictors, self.labels)
        gram = predictors.T @ predictors
        eigenvalues = np.maximum(np.linalg.eigvalsh(gram), 0) * (self.size / len(self.frame))
        return max(_prior_strength(gram, len(self.frame)), _strength_for(eigenvalues, most))


def first_of_each(order: Codes, sizes: Codes, draws: Codes) -> Codes:
    """(draws,) the first units of each stratum; (units,) all in the order of strata, (strata,) sizes and draws."""
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(order[place < np.repeat(draws, sizes)])


def _prior_strength(gram: Floats, count: int) -> float:
    """Residual variance over variance of slopes, from regressing each source family on all others.

    That is the ridge of a normal prior on the slopes (empirical Bayes). One source alone says nothing of it: 0.
    """
    size = len(gram)
    if size < 2:
        return 0.0
    inverse = np.linalg.inv(gram + max(1e-6 * float(np.trace(gram)) / size, 1e-12) * np.eye(size))
    diagonal = np.diag(inverse)
    slopes = -inverse / diagonal[:, None]
    np.fill_diagonal(slopes, 0.0)
    spread = float(np.square(slopes).sum()) / (size * (size - 1))
    residual = float((1 / diagonal).mean()) / count
    return residual / max(spread, 1e-12)


def _strength_for(eigenvalues: Floats, most: float) -> float:
    """The ridge that leaves at most so many effective predictors."""

    def effective(strength: float) -> float:
        return float((eigenvalues / (eigenvalues + strength)).sum())

    top = float(eigenvalues.sum())
    if len(eigenvalues) <= most or top <= 0:
        return 0.0
    low, high = 0.0, top
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if effective(middle) > most else (low, middle)
    return high


def stratified_variance(values: Floats, labels: Codes, draws: Codes) -> Floats:
    """(models,) variance of stratified means over all samples (Cochran 1977, theorem 5.3); (units, models) values."""
    counts = np.bincount(labels, minlength=len(draws)).astype(np.float64)
    variances = stratum_sums(np.square(centred(values, labels)), labels) / np.maximum(counts - 1, 1)[:, None]
    return np.asarray((np.square(counts / counts.sum()) * (1 - draws / counts) / draws) @ variances)


def pooled_variances(frame: Frame, units: Codes, strata: Codes) -> Floats:
    """(strata,) variance of source values of some units within each of their strata, on average over the sources."""
    counts = np.bincount(strata).astype(np.float64)
    values = centred((frame.sources * frame.sizes[:, None])[units], strata)
    return np.asarray(stratum_sums(np.square(values), strata).mean(axis=1) / np.maximum(counts - 1, 1))
