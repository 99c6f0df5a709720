"""Classical test theory, with models in the place of test takers."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics import Codes, Values

# With two models every correlation is 1 or -1.
MODELS_AT_LEAST = 3
# The upper and lower 27% of fewer models than this are one or two of them.
DISCRIMINATION_MODELS = 10
TAIL = 0.27
# Sums of the same points in another order differ in their last digits.
_PLACES_KEPT = 9

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Classical:
    """Statistics of each item; NaN where one is not defined.

    Attributes:
        models: How many have points.
        difficulty: Their mean points.
        item_rest: Correlation of the points with the rest score.
        discrimination: Mean points of the upper less those of the lower models.
        rest_models: How many have points and a rest score.
        same_rest: Whether those rest scores do not differ.
    """

    models: Codes
    difficulty: Values
    item_rest: Values
    discrimination: Values
    rest_models: Codes
    same_rest: Mask


def classical(points: Values) -> Classical:
    """Difficulty, corrected item-rest correlation and discrimination index of each item.

    Rest scores are means and not sums, so that a model without points for some items can be set beside the others;
    where all have points for all, no statistic differs. Models that tie at a border of the upper or lower 27%
    (Kelley 1939) are each counted in part, so that their order does not matter.

    Args:
        points: Models x items, in [0, 1]; NaN where a model has no points.
    """
    graded = ~np.isnan(points)
    filled = np.round(np.where(graded, points, 0.0), _PLACES_KEPT)
    others = graded.sum(axis=1, keepdims=True) - graded
    has_rest = graded & (others > 0)
    rest = (filled.sum(axis=1, keepdims=True) - filled) / np.maximum(others, 1)
    rest = np.round(np.where(has_rest, rest, np.nan), _PLACES_KEPT)
    models: Codes = graded.sum(axis=0)
    counted: Codes = has_rest.sum(axis=0)
    own, beside = _centred(filled, has_rest), _centred(np.nan_to_num(rest), has_rest)
    spread = np.square(own).sum(axis=0) * np.square(beside).sum(axis=0)
    same_rest = _same(rest, has_rest)
    defined: Mask = (counted >= MODELS_AT_LEAST) & ~_same(filled, has_rest) & ~same_rest
    return Classical(
        models=models,
        difficulty=ratio(filled.sum(axis=0), models, models > 0),
        item_rest=ratio((own * beside).sum(axis=0), np.sqrt(spread), defined),
        discrimination=np.where(
            (counted >= DISCRIMINATION_MODELS) & ~same_rest, _upper_less_lower(filled, rest, counted), np.nan
        ),
        rest_models=counted,
        same_rest=same_rest,
    )


def _centred(values: Values, counts: Mask) -> Values:
    """Values less their column's mean over those that count, 0 for the others."""
    means = ratio((values * counts).sum(axis=0), counts.sum(axis=0), counts.any(axis=0))
    return np.where(counts, values - means, 0.0)


def _same(values: Values, counts: Mask) -> Mask:
    """Whether those that count are the same throughout a column."""
    highest = np.max(values, axis=0, where=counts, initial=-math.inf)
    return np.asarray(highest <= np.min(values, axis=0, where=counts, initial=math.inf))


def _upper_less_lower(points: Values, rest: Values, counted: Codes) -> Values:
    """Mean points of the upper tail of each column by rest score, less those of the lower one."""
    size = np.maximum(1, np.floor(TAIL * counted + 0.5)).astype(np.int64)
    upper = _tail_weights(-rest, size)
    lower = _tail_weights(rest, size)
    found: Values = ((upper - lower) * points).sum(axis=0) / size
    return found


def _tail_weights(rest: Values, size: Codes) -> Values:
    """1 for the `size` smallest of each column; those that tie at the border share what is left; NaN counts nothing."""
    if not len(rest):
        return rest
    ranked = np.sort(rest, axis=0)  # NaN comes last
    border = np.take_along_axis(ranked, np.minimum(size, len(rest))[None, :] - 1, axis=0)
    inside, tied = rest < border, rest == border
    left = size - inside.sum(axis=0)
    found: Values = inside + tied * ratio(left, tied.sum(axis=0), tied.any(axis=0), 0.0)
    return found


def ratio(above: NDArray[Any], below: NDArray[Any], defined: Any, otherwise: float = math.nan) -> Values:
    """`above` over `below` where that is defined."""
    found: Values = np.divide(above, below, out=np.full(np.shape(below), otherwise), where=defined)
    return found
