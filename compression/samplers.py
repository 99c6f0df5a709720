"""Samplers: one registry, and one way to plan, draw and estimate with each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from compression.allocate import NEYMAN_FLOOR, allocate, neyman_measure, share_out
from compression.design import Design, Sample, pooled_variances
from compression.frame import Frame
from compression.importers.base import BadPool
from compression.matrix import Codes, Floats
from compression.strata import (
    Stratifier,
    by_benchmark,
    by_scores,
    by_scores_and_benchmark,
    whole,
)
from compression.survey import Estimate
from core.registry import Entry, Registry

DEFAULT_SAMPLER = "adaptive"
# So unlikely that a floor counts as met.
_NEVER = 1e-9


class Plan(Protocol):
    """A sampler made ready for one frame and one size."""

    @property
    def size(self) -> int:
        """Units that are drawn."""
        ...

    def draw(self, rng: np.random.Generator) -> Sample:
        """Draw a sample."""
        ...

    def estimate(self, sample: Sample, values: Floats) -> Estimate:
        """Estimated means from the (draws, models) values of the sample's units."""
        ...


class Sampler(Protocol):
    """A way to choose units and to estimate from them."""

    @property
    def has_interval(self) -> bool:
        """Whether its estimates come with a standard error that holds for any model."""
        ...

    @property
    def is_weighted(self) -> bool:
        """Whether an estimate is the sum of weights times values: whoever has the subset needs nothing more."""
        ...

    def plan(self, frame: Frame, size: int, seed: int, floors: "Floors | None" = None) -> Plan:
        """Make it ready.

        Args:
            frame: What is sampled.
            size: Units to draw, from 1 to all.
            seed: Of whatever is random before the draw, such as K-means++.
            floors: Units that some labels need.

        Raises:
            BadPool: The floors or the fixed units exceed the size.
        """
        ...


@dataclass(frozen=True)
class Floors:
    """Least numbers of units by label: of each benchmark, ability or whatever the labels tell.

    Attributes:
        labels: By column, (units,) labels; None for a unit without.
        least: By column, the least number of each of its labels.
    """

    labels: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class StratifiedSampler:
    """Strata, allocation, simple random sampling in each, and the stratified or the regression estimate.

    Attributes:
        stratifier: Makes the strata.
        regression: Whether estimates are regressed on the source models (GREG).
        neyman: More is drawn where source models vary more, with this floor (see `neyman_measure`); None: in proportion
            to size.
    """

    stratifier: Stratifier
    regression: bool = False
    neyman: float | None = None
    has_interval: bool = True
    is_weighted: bool = True

    def plan(self, frame: Frame, size: int, seed: int, floors: Floors | None = None) -> Design:
        """See `Sampler.plan`."""
        labels = np.empty(len(frame), dtype=np.int64)
        draws: list[Codes] = []
        measures: list[Floats] = []
        made = 0
        for units, wanted in in_parts(frame, size, floors):
            strata = self._strata(frame, units, wanted, seed)
            labels[units] = strata + made
            sizes = np.bincount(strata)
            measures.append(sizes.astype(np.float64))
            if self.neyman is not None:
                measures[-1] = neyman_measure(sizes, pooled_variances(frame, units, strata), self.neyman)
            draws.append(allocate(sizes, wanted, measures[-1]))
            made += len(sizes)
        return Design(frame, labels, np.concatenate(draws), self.regression, np.concatenate(measures))

    def _strata(self, frame: Frame, units: Codes, wanted: int, seed: int) -> Codes:
        if wanted == len(units):
            return np.zeros(len(units), dtype=np.int64)
        return self.stratifier(frame, units, wanted, seed)


def in_parts(frame: Frame, size: int, floors: Floors | None, by_chance: bool = True) -> list[tuple[Codes, int]]:
    """The units that are stratified together, and how many are drawn of them; fixed ones are drawn whatever happens.

    Labels that could get less than their floor are set apart; the rest stays one part. Where units are not drawn
    `by_chance`, any label could.
    """
    fixed, free = np.flatnonzero(frame.fixed), np.flatnonzero(~frame.fixed)
    left = size - len(fixed)
    if left < 0 or (left == 0 and len(free)):
        raise BadPool(f"{len(fixed)} questions are to be in every sample, which leaves no room in {size}; keep more")
    parts = [(fixed, len(fixed))] if len(fixed) else []
    if not len(free):
        return parts
    needs = [] if floors is None else _needs(frame, floors, left, free, by_chance)
    if not needs:
        return [*parts, (free, left)]
    cells = np.unique(np.column_stack([members for members, _ in needs]), axis=0, return_inverse=True)[1].ravel()
    counts = np.bincount(cells)
    of_cells = [(np.bincount(cells, members) > 0, need) for members, need in needs]
    draws = share_out(counts, left, of_cells)
    return [*parts, *((free[cells == cell], int(draws[cell])) for cell in range(len(counts)))]


def _needs(
    frame: Frame, floors: Floors, left: int, free: Codes, by_chance: bool
) -> list[tuple[NDArray[np.bool_], int]]:
    """Which of the free units together need how many, where they could get fewer."""
    from scipy import stats

    needs = []
    for column, least in floors.least.items():
        labels = np.array([label if label is not None else "" for label in floors.labels[column]], dtype=object)
        for label in np.unique(labels[labels != ""]):
            members = labels[free] == label
            need = min(least - int((labels[frame.fixed] == label).sum()), int(members.sum()))
            # Neyman's allocation may halve their share, and no draw in strata has a longer tail than a binomial of the
            # same mean (Hoeffding 1956).
            share = members.mean() * NEYMAN_FLOOR if by_chance else 0.0
            if need > 0 and stats.binom.cdf(need - 1, left, share) > _NEVER:
                needs.append((members, need))
    return needs


SAMPLERS: Registry[Sampler] = Registry(
    "samplers",
    (
        Entry("adaptive", "1", "compression.adaptive:ADAPTIVE"),
        Entry("anchor", "1", "compression.baselines:ANCHOR"),
        Entry("benchmark", "1", "compression.samplers:BENCHMARK"),
        Entry("cghs", "1", "compression.samplers:CGHS"),
        Entry("fused", "1", "compression.samplers:FUSED"),
        Entry("irt", "1", "compression.baselines:IRT"),
        Entry("neyman", "1", "compression.samplers:NEYMAN"),
        Entry("random", "1", "compression.samplers:RANDOM"),
        *(
            Entry(f"{name}+greg", "1", f"compression.samplers:{name.upper()}_GREG")
            for name in ("random", "benchmark", "cghs", "fused", "neyman")
        ),
    ),
)

RANDOM, RANDOM_GREG = StratifiedSampler(whole), StratifiedSampler(whole, regression=True)
BENCHMARK, BENCHMARK_GREG = StratifiedSampler(by_benchmark), StratifiedSampler(by_benchmark, regression=True)
CGHS, CGHS_GREG = StratifiedSampler(by_scores), StratifiedSampler(by_scores, regression=True)
FUSED = StratifiedSampler(by_scores_and_benchmark)
FUSED_GREG = StratifiedSampler(by_scores_and_benchmark, regression=True)
NEYMAN = StratifiedSampler(by_scores_and_benchmark, neyman=NEYMAN_FLOOR)
NEYMAN_GREG = StratifiedSampler(by_scores_and_benchmark, regression=True, neyman=NEYMAN_FLOOR)
