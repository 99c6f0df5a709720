"""A sampling design: strata, how much is drawn of each, the draw, the estimate and its standard error.

Stratified sampling after Cochran (1977), chapters 5 and 7; the generalized regression (GREG) estimate after Särndal,
Swensson and Wretman (1992), chapter 6, with a ridge whose strength the source models tell.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from compression.allocate import LEAST, allocate
from compression.frame import Frame
from compression.matrix import Codes, Floats
from compression.strata import stratum_sums

# More effective predictors than this share of the draws, and intervals come out too narrow.
_PREDICTORS_A_DRAW = 1 / 20
# Below it the error of leaving a unit out would be divided by next to nothing.
_LEAST_REST = 0.05


@dataclass(frozen=True)
class Estimate:
    """Estimated means of some models.

    Attributes:
        value: (models,) in the scores' unit.
        standard_error: (models,); None where the design has none.
        degrees: Of freedom of the standard error.
    """

    value: Floats
    standard_error: Floats | None
    degrees: float

    @property
    def margin(self) -> Floats | None:
        """(models,) half the width of the 95% interval, by Student's t."""
        if self.standard_error is None:
            return None
        from scipy import stats

        return np.asarray(float(stats.t.ppf(0.975, self.degrees)) * self.standard_error)


@dataclass(frozen=True)
class Sample:
    """Drawn units in the order of their strata, and then of their numbers.

    Attributes:
        units: (draws,) numbers.
        weights: (draws,) the estimated mean of a model is the sum of weights times its values.
    """

    units: Codes
    weights: Floats


@dataclass(frozen=True)
class Design:
    """Strata of a frame's units and the draws of each.

    Attributes:
        frame: That is sampled.
        labels: (units,) stratum of each unit, from 0 without a gap.
        draws: (strata,) drawn without replacement in each, at least one.
        regression: Whether estimates are regressed on the source models.
    """

    frame: Frame
    labels: Codes
    draws: Codes
    regression: bool = False

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
        order = np.argsort(self.labels + rng.random(len(self.labels)))
        starts = np.cumsum(self.sizes) - self.sizes
        place = np.arange(len(order)) - np.repeat(starts, self.sizes)
        chosen = order[place < np.repeat(self.draws, self.sizes)]
        units = chosen[np.lexsort((chosen, self.labels[chosen]))]
        return Sample(units, self._weights(units))

    def extended(self, total: int) -> "Design":
        """The design with `total` draws, at least as many in each stratum as now.

        Raises:
            BadPool: Less than there are already, or more than there are units.
        """
        return replace(self, draws=allocate(self.sizes, total, at_least=self.draws))

    def estimate(self, sample: Sample, values: Floats) -> Estimate:
        """Estimated means from the (draws, models) values of a sample's units."""
        if not self.regression or self._ridge is None:
            residuals, leverage, predictors = values, None, 0.0
        else:
            fit = self._fit(sample.units)
            residuals = values - fit.centred @ (fit.solve @ values)
            leverage, predictors = fit.leverage, fit.effective
        variance = self.variance(self.labels[sample.units], residuals, leverage)
        degrees = max(1.0, float(np.maximum(self.draws - 1, 0)[self.draws < self.sizes].sum()) - predictors)
        error = None if variance is None else np.sqrt(variance)
        return Estimate(sample.weights @ values, error, degrees)

    def variance(self, strata: Codes, residuals: Floats, leverage: Floats | None = None) -> Floats | None:
        """(models,) estimated variance of a mean over units, with finite-population correction (Cochran 1977, 5.6).

        With leverages each residual is that of a fit without its unit (a jackknife), so that a regression on many
        predictors does not look surer than it is. None where a stratum has one draw of several units.

        Args:
            strata: (draws,) in order, of the sampled units.
            residuals: (draws, models).
            leverage: (draws,) of the regression within strata.
        """
        if ((self.draws < LEAST) & (self.draws < self.sizes)).any():
            return None
        counts = self.draws[strata].astype(np.float64)
        sums = self._sums(residuals)
        rest = 1 - 1 / np.maximum(counts, LEAST) - (0.0 if leverage is None else leverage)
        left = (residuals - sums[strata] / counts[:, None]) / np.maximum(rest, _LEAST_REST)[:, None]
        n = self.draws.astype(np.float64)
        # (n - 1) / n^2 times the squares of left-out residuals is the usual s^2 where there is no regression.
        factor = np.square(self.sizes / len(self.labels)) * (1 - n / self.sizes) / n * (n - 1) / np.square(n)
        return np.asarray(factor @ self._sums(np.square(left)))

    def design_variance(self, values: Floats) -> Floats:
        """(models,) the variance that estimates have over all samples, from the (units, models) values of all units.

        In closed form (`stratified_variance`). With a regression it is that of the residuals of the expected fit,
        times 1 + p / (n - strata) for what the slopes cost (p effective predictors).
        """
        cost = 1.0
        if self.regression and self._ridge is not None:
            centred = self._centred(self.frame.predictors)
            share = self.size / len(self.frame)
            gram = centred.T @ centred * share
            slopes = _solve(gram, self._ridge, centred.T @ self._centred(values) * share)
            values = values - centred @ slopes
            effective = float(np.trace(_solve(gram, self._ridge, gram)))
            cost = 1 + effective / max(1.0, self.size - len(self.draws))
        return stratified_variance(values, self.labels, self.draws) * cost

    def _sums(self, values: Floats) -> Floats:
        """(strata, columns) sums of a sample's (draws, columns) values."""
        return np.asarray(np.add.reduceat(values, np.cumsum(self.draws) - self.draws, axis=0))

    @cached_property
    def _ridge(self) -> float | None:
        """Strength of the ridge; None where there are too few draws for any predictor."""
        most = self.size * _PREDICTORS_A_DRAW
        if most < 1:
            return None
        centred = self._centred(self.frame.predictors)
        gram = centred.T @ centred
        eigenvalues = np.maximum(np.linalg.eigvalsh(gram), 0) * (self.size / len(self.frame))
        return max(_prior_strength(gram, len(self.frame)), _strength_for(eigenvalues, most))

    def _centred(self, values: Floats) -> Floats:
        """(units, columns) less the mean of their stratum."""
        return np.asarray(values - (stratum_sums(values, self.labels) / self.sizes[:, None])[self.labels])

    def _weights(self, units: Codes) -> Floats:
        strata = self.labels[units]
        plain = (self.sizes / self.draws)[strata] / len(self.labels)
        if not self.regression or self._ridge is None:
            return np.asarray(plain)
        fit = self._fit(units)
        predictors = self.frame.predictors
        missed = predictors.mean(axis=0) - plain @ predictors[units]
        return np.asarray(plain + missed @ fit.solve)

    def _fit(self, units: Codes) -> "_Fit":
        strata = self.labels[units]
        predictors = self.frame.predictors[units]
        centred = predictors - (self._sums(predictors) / self.draws[:, None])[strata]
        # Weights that are 1 on average: the ridge's strength is told for as many observations as there are draws.
        scale = (self.sizes / self.draws)[strata] * (len(units) / len(self.labels))
        weighted = centred * scale[:, None]
        gram = weighted.T @ centred
        ridge = self._ridge or 0.0
        solve = _solve(gram, ridge, weighted.T)
        return _Fit(centred, solve, (centred * solve.T).sum(axis=1), float(np.trace(_solve(gram, ridge, gram))))


@dataclass(frozen=True)
class _Fit:
    """A regression in a sample: slopes are `solve` @ values, fitted values `centred` @ slopes."""

    centred: Floats
    solve: Floats
    leverage: Floats
    effective: float


def _solve(gram: Floats, ridge: float, right: Floats) -> Floats:
    # Sources that never vary within a stratum make the matrix singular; a trace of a ridge leaves them out.
    size = max(ridge, 1e-9 * float(np.trace(gram)), 1e-12)
    return np.asarray(np.linalg.solve(gram + size * np.eye(len(gram)), right))


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
    means = stratum_sums(values, labels) / counts[:, None]
    variances = stratum_sums(np.square(values - means[labels]), labels) / np.maximum(counts - 1, 1)[:, None]
    return np.asarray((np.square(counts / counts.sum()) * (1 - draws / counts) / draws) @ variances)


def pooled_variances(frame: Frame, units: Codes, strata: Codes) -> Floats:
    """(strata,) variance of source values of some units within each of their strata, on average over the sources."""
    counts = np.bincount(strata).astype(np.float64)
    values = (frame.sources * frame.sizes[:, None])[units]
    centred = values - (stratum_sums(values, strata) / counts[:, None])[strata]
    return np.asarray(stratum_sums(np.square(centred), strata).mean(axis=1) / np.maximum(counts - 1, 1))
