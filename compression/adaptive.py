"""The default sampler: strata and allocation that serve left-out source models best, and a regression on top."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from compression.allocate import NEYMAN_FLOOR, allocate, neyman_measure
from compression.design import Design, pooled_variances, stratified_variance
from compression.frame import Frame
from compression.matrix import Codes, Floats
from compression.samplers import Floors, StratifiedSampler
from compression.strata import DRAWS_A_STRATUM, FUSED_STRATA, by_scores_and_benchmark

# What the one-hot code of the benchmark may weigh beside the scores; 0 leaves it out.
BENCHMARK_WEIGHTS = (0.0, 0.5, 1.0, 2.0)
# In proportion to size, or Neyman's allocation with a floor.
ALLOCATIONS = (None, 0.8, NEYMAN_FLOOR)
_FOLDS = 3
_TUNED_ON = 20_000


@dataclass(frozen=True)
class AdaptiveSampler:
    """`fused+greg` with the benchmark's weight and the allocation that suit the pool (see `tune`)."""

    has_interval: bool = True
    is_weighted: bool = True

    def plan(self, frame: Frame, size: int, seed: int, floors: Floors | None = None) -> Design:
        """See `Sampler.plan`."""
        weight, neyman = tune(frame, size, seed)
        stratifier = partial(by_scores_and_benchmark, weight=weight)
        return StratifiedSampler(stratifier, regression=True, neyman=neyman).plan(frame, size, seed, floors)


def tune(frame: Frame, size: int, seed: int) -> tuple[float, float | None]:
    """The weight and the allocation with the smallest design variance, on average over left-out source models.

    Families of sources are left out in three folds in turn; strata and allocation are made of the others. Of a large
    pool 20,000 units are looked at. With one family there is nothing to leave out, and with fixed units only
    nothing to draw: 1 and in proportion to size.
    """
    # Not the numbers that units are drawn by.
    rng = np.random.default_rng([seed, 1])
    families = np.unique(frame.families)
    units = np.flatnonzero(~frame.fixed)
    size -= len(frame) - len(units)
    if len(families) < 2 or not 1 <= size <= len(units):
        return 1.0, None
    draws = size
    if len(units) > _TUNED_ON:
        # As large a share as of all units, but enough for some in each stratum.
        draws = max(round(size * _TUNED_ON / len(units)), min(size, FUSED_STRATA * DRAWS_A_STRATUM))
        units = np.sort(rng.choice(units, _TUNED_ON, replace=False))
    unit_sums = (frame.sources * frame.sizes[:, None])[units]
    weights = BENCHMARK_WEIGHTS if len(frame.benchmarks) > 1 else (0.0,)
    totals = dict.fromkeys(product(weights, ALLOCATIONS), 0.0)
    for fold in np.array_split(rng.permutation(families), min(_FOLDS, len(families))):
        left_out = np.isin(frame.families, fold)
        rest = _of_sources(frame, ~left_out)
        values = _unexplained(unit_sums[:, left_out], unit_sums[:, ~left_out])
        for weight in weights:
            labels = by_scores_and_benchmark(rest, units, size, seed, weight)
            for neyman in ALLOCATIONS:
                planned = _allocated(rest, units, labels, draws, neyman)
                totals[weight, neyman] += float(stratified_variance(values, labels, planned).mean())
    return min(totals, key=totals.__getitem__)


def _allocated(frame: Frame, units: Codes, labels: Codes, draws: int, neyman: float | None) -> Codes:
    sizes = np.bincount(labels)
    if neyman is None:
        return allocate(sizes, draws)
    return allocate(sizes, draws, neyman_measure(sizes, pooled_variances(frame, units, labels), neyman))


def _unexplained(values: Floats, predictors: Floats) -> Floats:
    """What a regression on the predictors leaves of the values: the estimate takes the rest away by itself."""
    centred = predictors - predictors.mean(axis=0)
    return values - centred @ np.linalg.lstsq(centred, values, rcond=None)[0]


def _of_sources(frame: Frame, chosen: NDArray[np.bool_]) -> Frame:
    return replace(frame, sources=frame.sources[:, chosen], families=frame.families[chosen])


ADAPTIVE = AdaptiveSampler()
