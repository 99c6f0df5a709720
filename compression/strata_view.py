"""The strata that a sampler would make of a pool, looked at before anything is drawn."""

import numpy as np

from compression.design import Design, pooled_variances
from compression.families import families_of
from compression.frame import make_frame, share_to_size
from compression.importers.base import BadPool
from compression.matrix import Codes, ScoreMatrix
from compression.samplers import SAMPLERS
from core.content import Frozen

# Benchmarks that are named of each stratum.
_NAMED = 3


class StratumView(Frozen):
    """One stratum.

    Attributes:
        questions: In it.
        drawn: Of these.
        mean: Of all models' scores in it.
        spread: Standard deviation of a model's scores within it, on average over the models.
        benchmarks: The most frequent ones with how many questions each.
        others: Questions of other benchmarks.
    """

    questions: int
    drawn: int
    mean: float
    spread: float
    benchmarks: tuple[tuple[str, int], ...]
    others: int


class StrataView(Frozen):
    """Strata of a pool for one sampler and size, those that models find hardest first."""

    sampler: str
    size: int
    questions: int
    strata: tuple[StratumView, ...]


def look_at_strata(matrix: ScoreMatrix, sampler: str, size: int, seed: int = 0) -> StrataView:
    """The strata of a plan for so many questions.

    Raises:
        UnknownName: No sampler is called so.
        BadPool: The size is none, or the sampler has no strata.
    """
    frame = make_frame(matrix, families_of(matrix))
    plan = SAMPLERS[sampler].load().plan(frame, share_to_size(None, size, len(matrix)), seed)
    if not isinstance(plan, Design):
        raise BadPool(f"{sampler!r} makes no strata; choose another sampler to see some")
    means = np.bincount(plan.labels, frame.sources.mean(axis=1)) / plan.sizes
    spreads = np.sqrt(pooled_variances(frame, np.arange(len(frame)), plan.labels))
    counts = np.zeros((len(plan.sizes), len(matrix.benchmarks)), dtype=np.int64)
    np.add.at(counts, (plan.labels, matrix.benchmark_of), 1)
    order = np.argsort(means, kind="stable")
    return StrataView(
        sampler=sampler,
        size=plan.size,
        questions=len(matrix),
        strata=tuple(
            StratumView(
                questions=int(plan.sizes[place]),
                drawn=int(plan.draws[place]),
                mean=float(means[place]),
                spread=float(spreads[place]),
                benchmarks=(named := _named(matrix.benchmarks, counts[place])),
                others=int(plan.sizes[place]) - sum(count for _, count in named),
            )
            for place in order
        ),
    )


def _named(benchmarks: tuple[str, ...], counts: Codes) -> tuple[tuple[str, int], ...]:
    most = np.argsort(-counts, kind="stable")[:_NAMED]
    return tuple((benchmarks[place], int(counts[place])) for place in most if counts[place])
