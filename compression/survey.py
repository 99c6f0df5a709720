"""What an estimate needs of a sample: strata, draws and predictors, without the pool that it was drawn from.

The stratified estimate after Cochran (1977), chapter 5; the generalized regression (GREG) estimate after Särndal,
Swensson and Wretman (1992), chapter 6, with a ridge.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compression.allocate import LEAST
from compression.matrix import Codes, Floats

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
    def quantile(self) -> float:
        """How many standard errors half a 95% interval is, by Student's t."""
        from scipy import stats

        return float(stats.t.ppf(0.975, self.degrees))

    @property
    def margin(self) -> Floats | None:
        """(models,) half the width of the 95% interval."""
        return None if self.standard_error is None else np.asarray(self.quantile * self.standard_error)


@dataclass(frozen=True)
class Regression:
    """Estimates are regressed on what is known of all units of the pool.

    Attributes:
        predictors: (draws, predictors) of the drawn units.
        means: (predictors,) over all units.
        ridge: Strength, for as many observations as there are draws.
    """

    predictors: Floats
    means: Floats
    ridge: float


@dataclass(frozen=True)
class Survey:
    """A stratified sample; drawn units stand in the order of their strata.

    Attributes:
        sizes: (strata,) units of the pool in each.
        draws: (strata,) drawn without replacement in each, at least one.
        regression: None: the stratified mean.
    """

    sizes: Codes
    draws: Codes
    regression: Regression | None = None

    @cached_property
    def strata(self) -> Codes:
        """(draws,) stratum of each drawn unit."""
        return np.repeat(np.arange(len(self.draws)), self.draws)

    @cached_property
    def plain_weights(self) -> Floats:
        """(draws,) share of the pool that each drawn unit stands for."""
        return np.asarray((self.sizes / self.draws)[self.strata] / self.sizes.sum())

    @cached_property
    def weights(self) -> Floats:
        """(draws,) the estimated mean is their sum with the values: `plain_weights` calibrated by the regression."""
        if self.regression is None or self._fit is None:
            return self.plain_weights
        missed = self.regression.means - self.plain_weights @ self.regression.predictors
        return np.asarray(self.plain_weights + missed @ self._fit.solve)

    def slopes(self, values: Floats) -> Floats | None:
        """(predictors, models) of the regression of (draws, models) values within strata; None without regression."""
        return None if self._fit is None else np.asarray(self._fit.solve @ values)

    def estimate(self, values: Floats) -> Estimate:
        """Estimated means from the (draws, models) values of the drawn units."""
        residuals = values if self._fit is None else values - self._fit.centred @ (self._fit.solve @ values)
        return self.with_error(self.weights @ values, residuals)

    def with_error(self, estimates: Floats, residuals: Floats) -> Estimate:
        """(models,) estimates with the standard error of the mean of these (draws, models) residuals."""
        variance = self.variance(residuals)
        effective = 0.0 if self._fit is None else self._fit.effective
        degrees = max(1.0, float((self.draws - 1)[self.draws < self.sizes].sum()) - effective)
        return Estimate(estimates, None if variance is None else np.sqrt(variance), degrees)

    def variance(self, residuals: Floats) -> Floats | None:
        """(models,) estimated variance of a mean over units, with finite-population correction (Cochran 1977, 5.6).

        With a regression each residual becomes that of a fit without its unit (a jackknife), so that one on many
        predictors does not look surer than it is. None where a stratum has one draw of several units.

        Args:
            residuals: (draws, models).
        """
        if ((self.draws < LEAST) & (self.draws < self.sizes)).any():
            return None
        counts = self.draws[self.strata].astype(np.float64)
        leverage = 0.0 if self._fit is None else self._fit.leverage
        rest = np.maximum(1 - 1 / np.maximum(counts, LEAST) - leverage, _LEAST_REST)
        left = (residuals - self._sums(residuals)[self.strata] / counts[:, None]) / rest[:, None]
        n = self.draws.astype(np.float64)
        # (n - 1) / n^2 times the squares of left-out residuals is the usual s^2 where there is no regression.
        factor = np.square(self.sizes / self.sizes.sum()) * (1 - n / self.sizes) / n * (n - 1) / np.square(n)
        return np.asarray(factor @ self._sums(np.square(left)))

    def _sums(self, values: Floats) -> Floats:
        """(strata, columns) sums of (draws, columns) values."""
        return np.asarray(np.add.reduceat(values, np.cumsum(self.draws) - self.draws, axis=0))

    @cached_property
    def _fit(self) -> "_Fit | None":
        if self.regression is None:
            return None
        predictors = self.regression.predictors
        centred = predictors - (self._sums(predictors) / self.draws[:, None])[self.strata]
        # Weights that are 1 on average: the ridge's strength is told for as many observations as there are draws.
        weighted = centred * (self.plain_weights * len(predictors))[:, None]
        gram = weighted.T @ centred
        solve = solve_ridge(gram, self.regression.ridge, weighted.T)
        effective = float(np.trace(solve_ridge(gram, self.regression.ridge, gram)))
        return _Fit(centred, solve, (centred * solve.T).sum(axis=1), effective)


@dataclass(frozen=True)
class _Fit:
    """A regression in a sample: slopes are `solve` @ values, fitted values `centred` @ slopes."""

    centred: Floats
    solve: Floats
    leverage: Floats
    effective: float


def solve_ridge(gram: Floats, ridge: float, right: Floats) -> Floats:
    """The solution of (gram + ridge) x = right.

    Sources that never vary within a stratum make `gram` singular; a trace of a ridge leaves them out.
    """
    size = max(ridge, 1e-9 * float(np.trace(gram)), 1e-12)
    return np.asarray(np.linalg.solve(gram + size * np.eye(len(gram)), right))
