"""The sampling frame: what is drawn, and what is known of it from the source models."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compression.importers.base import BadPool
from compression.matrix import Codes, Floats, ScoreMatrix, impute


@dataclass(frozen=True)
class Frame:
    """Units of a pool: a question, or questions that stay together, with the scores of source models.

    A unit's value is the sum of its questions' scores times units / questions, so that the mean over units is the mean
    over questions whatever the units' sizes.

    Attributes:
        unit_of: (questions,) number of each question's unit.
        benchmark_of: (questions,) number of each question's benchmark.
        benchmarks: Their names.
        sources: (units, source models) mean scores of a unit.
        families: (source models,) number of each model's family.
        patterns: (units,) equal numbers for units of one benchmark that have equal scores.
        fixed: (units,) whether the unit is in every sample.
    """

    unit_of: Codes
    benchmark_of: Codes
    benchmarks: tuple[str, ...]
    sources: Floats
    families: Codes
    patterns: Codes
    fixed: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.sources)

    @cached_property
    def sizes(self) -> Floats:
        """(units,) questions in each."""
        return np.bincount(self.unit_of, minlength=len(self)).astype(np.float64)

    @property
    def question_count(self) -> int:
        """Questions of the pool."""
        return len(self.unit_of)

    def benchmark_shares(self, units: Codes) -> Floats:
        """(units, benchmarks) share of a unit's questions of each benchmark; for one question a one-hot code."""
        return np.asarray(self._benchmark_counts[units].toarray() / self.sizes[units, None])

    @cached_property
    def main_benchmark(self) -> Codes:
        """(units,) number of the benchmark that most of a unit's questions are of."""
        return np.asarray(self._benchmark_counts.argmax(axis=1), dtype=np.int64).ravel()

    @cached_property
    def _benchmark_counts(self) -> Any:
        # Sparse: half a million questions by hundreds of benchmarks fill the memory otherwise.
        from scipy.sparse import csr_array

        ones = np.ones(self.question_count)
        return csr_array((ones, (self.unit_of, self.benchmark_of)), shape=(len(self), len(self.benchmarks)))

    @cached_property
    def predictors(self) -> Floats:
        """(units, predictors) what a new model's values are regressed on: mean values of each family of sources.

        The members of a family say nearly the same, and would each be counted as evidence. Where units differ in size,
        the size is one more predictor.
        """
        means = family_means(self.sources, self.families)
        scale = len(self) / self.question_count
        if np.ptp(self.sizes) == 0:
            return np.asarray(means * self.sizes[:, None] * scale)
        return np.column_stack([means * self.sizes[:, None], self.sizes]) * scale

    @cached_property
    def predictor_means(self) -> Floats:
        """(predictors,) over all units."""
        return np.asarray(self.predictors.mean(axis=0))

    def unit_sums(self, scores: NDArray[np.floating]) -> Floats:
        """(units, models) sums over each unit's questions of (questions, models) scores."""
        if len(self) == self.question_count and np.array_equal(self.unit_of, np.arange(len(self))):
            return scores.astype(np.float64)
        return unit_sums(scores, self.unit_of, len(self))

    def values(self, scores: NDArray[np.floating]) -> Floats:
        """(units, models) values (see the class) of (questions, models) scores."""
        return self.unit_sums(scores) * (len(self) / self.question_count)


def make_frame(
    matrix: ScoreMatrix,
    families: Codes,
    sources: Codes | None = None,
    together: Sequence[str | None] | None = None,
    fixed: NDArray[np.bool_] | None = None,
) -> Frame:
    """The frame of a pool. Scores that are filled in are filled from the source models' alone.

    Args:
        matrix: The pool.
        families: (models,) number of each model's family.
        sources: Numbers of the source models; all, if not given.
        together: (questions,) names of groups that stay together, or None for a question on its own.
        fixed: (questions,) those that are in every sample, with all of their group.
    """
    chosen = np.arange(len(matrix.models)) if sources is None else sources
    unit_of: Codes = np.arange(len(matrix), dtype=np.int64)
    patterns, scores = matrix.patterns, matrix.scores[:, chosen]
    if sources is not None and matrix.imputed[chosen].any() and matrix.gaps is not None:
        scores = impute(np.where(matrix.gaps[:, chosen], np.float32(np.nan), scores), matrix.benchmark_of)
        patterns = np.arange(len(matrix), dtype=np.int64)
    if together is not None and any(name is not None for name in together):
        # A name that no group can have, for a question on its own.
        labels = [f"g{name}" if name is not None else f"q{place:012d}" for place, name in enumerate(together)]
        _, first, codes = np.unique(np.array(labels, dtype=object), return_index=True, return_inverse=True)
        # Units in the order of their first question, so that a pool without groups has units as it has questions.
        unit_of = np.argsort(np.argsort(first))[codes]
        patterns = np.arange(len(first), dtype=np.int64)
    sizes = np.bincount(unit_of)
    of_units = scores.astype(np.float64)
    if len(sizes) < len(matrix):
        of_units = unit_sums(scores, unit_of, len(sizes)) / sizes[:, None]
    is_fixed = np.zeros(len(sizes), dtype=bool)
    if fixed is not None:
        is_fixed[unit_of[fixed]] = True
    return Frame(
        unit_of=unit_of.astype(np.int64),
        benchmark_of=matrix.benchmark_of,
        benchmarks=matrix.benchmarks,
        sources=of_units,
        families=families[chosen],
        patterns=patterns,
        fixed=is_fixed,
    )


def unit_sums(values: NDArray[np.floating], unit_of: Codes, count: int) -> Floats:
    """(units, columns) sums of (questions, columns) values over the questions of each of `count` units."""
    sums = np.zeros((count, values.shape[1]))
    np.add.at(sums, unit_of, values)
    return sums


def family_means(scores: NDArray[np.floating], families: Codes) -> Floats:
    """(rows, families) means of (rows, models) scores over the members of each family."""
    codes = np.unique(families, return_inverse=True)[1]
    members = np.eye(codes.max() + 1)[codes]
    return np.asarray(scores.astype(np.float64) @ (members / members.sum(axis=0)))


def share_to_size(rate: float | None, size: int | None, units: int) -> int:
    """How many of the units are drawn.

    Raises:
        BadPool: The rate is not in (0, 1], the size not between 1 and all, or neither or both are given.
    """
    if (rate is None) == (size is None):
        raise BadPool("say how much to keep: either --rate, a share such as 0.1, or --size, a number of questions")
    if rate is not None:
        if not 0 < rate <= 1:
            raise BadPool(f"--rate {rate:g} is no share in (0, 1]; 0.1 keeps a tenth")
        return max(1, round(rate * units))
    if size is None or not 1 <= size <= units:
        raise BadPool(f"--size {size} is not between 1 and the pool's {units}")
    return size
