"""95% intervals of a subset's estimates: of few answers, Student's alone would be too sure of itself."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compression.matrix import Codes, Floats
from compression.survey import Estimate, Survey

# Variances below it are none.
_ROUNDING = 1e-15
# With fewer right or fewer wrong answers than these a mean is not normally distributed.
_FEW = 10


@dataclass(frozen=True)
class Bounds:
    """(models,) estimates with the bounds of their 95% intervals; None without."""

    value: Floats
    low: Floats | None = None
    high: Floats | None = None


def bounds_of(found: Estimate, answers: Floats) -> Bounds:
    """Student's interval, or Wilson's (1927) of independent answers where that reaches further.

    Of few answers, all of which are right, the standard error is 0 and the truth may still be well below 1.

    Args:
        found: The estimate.
        answers: (models,) 1 / number of independent answers that can tell so much at best.
    """
    margin = found.margin
    if margin is None:
        return Bounds(found.value)
    share = np.clip(found.value, 0, 1)
    square = found.quantile**2 * answers
    centre = (share + square / 2) / (1 + square)
    half = np.sqrt(share * (1 - share) * square + np.square(square) / 4) / (1 + square)
    return Bounds(
        found.value, np.minimum(found.value - margin, centre - half), np.maximum(found.value + margin, centre + half)
    )


def bounds_of_all(survey: Survey, found: Estimate) -> Bounds:
    """The interval of a mean over the whole pool: Student's, or Wilson's where few answers are right, or few wrong."""
    share = np.clip(found.value, 0, 1)
    drawn = np.arange(survey.draws.sum())
    is_rare = np.minimum(share, 1 - share) * len(drawn) < _FEW
    return bounds_of(found, np.where(is_rare, left_of(survey, drawn), 0.0))


def left_of(survey: Survey, units: Codes) -> float:
    """1 / number of drawn units, times the share of what they stand for that is not drawn: 0 where all is."""
    weights = survey.plain_weights[units]
    not_drawn = 1 - (survey.draws / survey.sizes)[survey.strata[units]]
    return float((weights * not_drawn).sum() / weights.sum() / len(units))


def efficiency_of(survey: Survey, found: Estimate) -> Floats:
    """(models,) independent answers that a drawn unit is worth, at least 1, by the variance of the whole estimate."""
    share = np.clip(found.value, 0, 1)
    independent = share * (1 - share) * left_of(survey, np.arange(survey.draws.sum()))
    variance = np.zeros_like(share) if found.standard_error is None else np.square(found.standard_error)
    ratio = np.divide(independent, variance, out=np.full_like(share, np.inf), where=variance > _ROUNDING)
    return np.where(independent > _ROUNDING, np.maximum(ratio, 1.0), 1.0)


def mean_of(survey: Survey, parts: Sequence[Bounds], residuals: Sequence[Floats]) -> Bounds:
    """The mean of benchmarks, the distances of whose bounds add up as errors do (MOVER, Zou and Donner 2008).

    Groups that stay together may make benchmarks err together; a positive covariance is added.
    """
    found = survey.with_error(np.mean([part.value for part in parts], axis=0), np.asarray(np.mean(residuals, axis=0)))
    apart = [
        (part.value - part.low, part.high - part.value)
        for part in parts
        if part.low is not None and part.high is not None
    ]
    own = [one for one in map(survey.variance, residuals) if one is not None]
    if found.standard_error is None or len(apart) < len(parts):
        return Bounds(found.value)
    together = np.square(found.standard_error) - np.sum(own, axis=0) / len(parts) ** 2
    squares = np.square(apart).sum(axis=0) / len(parts) ** 2 + found.quantile**2 * np.maximum(together, 0)
    below, above = np.sqrt(squares)
    return Bounds(found.value, found.value - below, found.value + above)
