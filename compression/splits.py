"""Splits of a pool's models into sources and held-out ones, whole families at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compression.families import told_families
from compression.importers.base import NothingHeldOut
from compression.matrix import Codes, Missing, ScoreMatrix
from core.content import Frozen

# Of the models: 8 of 20, as in UNO-Bench, appendix A.
HELD_OUT = 0.4


@dataclass(frozen=True)
class Split:
    """Numbers of the models that strata and regression are made of, and of those that are predicted."""

    sources: Codes
    held_out: Codes


class OnSplits(Frozen):
    """What a measurement on held-out models was made of.

    Attributes:
        pool: Its name.
        questions, models: Of the pool, without what is left out.
        held_out: Models in each random split.
        splits: Random ones.
        repeats: Draws in each.
        seed: Of splits, strata and draws.
        families: Of two models or more.
        missing: What was missing in the pool.
        merged: Rows that repeated another.
    """

    pool: str
    questions: int
    models: int
    held_out: tuple[int, ...]
    splits: int
    repeats: int
    seed: int
    families: tuple[tuple[str, ...], ...]
    missing: Missing
    merged: int


def facts_of(matrix: ScoreMatrix, families: Codes, splits: Sequence[Split], repeats: int, seed: int) -> dict[str, Any]:
    """The fields of `OnSplits`."""
    return {
        "pool": matrix.pool,
        "questions": len(matrix),
        "models": len(matrix.models),
        "held_out": tuple(len(split.held_out) for split in splits),
        "splits": len(splits),
        "repeats": repeats,
        "seed": seed,
        "families": told_families(matrix, families),
        "missing": matrix.missing,
        "merged": matrix.merged,
    }


def random_splits(
    matrix: ScoreMatrix, families: Codes, count: int, rng: np.random.Generator, share: float = HELD_OUT
) -> Iterator[Split]:
    """`count` random splits, about `share` of the models held out in each.

    Families are taken in random order, and each that still fits is held out. Models with imputed scores, and their
    families, are sources: nobody knows their true mean.

    Raises:
        BadPool: There is nothing to hold out, or nothing would be left.
    """
    codes, free = _free_families(matrix, families)
    for _ in range(count):
        yield _split(codes, rng.permutation(free), share)


def weak_to_strong(matrix: ScoreMatrix, families: Codes, share: float = HELD_OUT) -> Split:
    """The split that holds out the families with the highest mean scores: the future of most benchmarks.

    The strongest family is held out whatever its size, and those after it as long as they fit.

    Raises:
        BadPool: As `random_splits`.
    """
    codes, free = _free_families(matrix, families)
    means = matrix.scores.mean(axis=0, dtype=np.float64)
    strength = np.array([means[codes == family].mean() for family in free])
    order = free[np.argsort(-strength, kind="stable")]
    sizes = np.bincount(codes)[order]
    fitting = int((np.cumsum(sizes) <= _wanted(codes, share)).sum())
    return _held_out(codes, order[: max(1, fitting)].tolist())


def _free_families(matrix: ScoreMatrix, families: Codes) -> tuple[Codes, Codes]:
    """(models,) families numbered without gaps, and those that may be held out."""
    codes = np.unique(families, return_inverse=True)[1]
    free = np.setdiff1d(np.arange(codes.max() + 1), codes[matrix.imputed])
    if codes.max() < 1 or not len(free):
        what = "one model" if len(matrix.models) == 1 else "one family of models (--family FILE tells others)"
        if codes.max() >= 1:
            what = "only models with imputed scores"
        raise NothingHeldOut(
            f"{matrix.pool} holds {what}: nothing can be held out to validate with; bring scores of more models, "
            "or select without validating"
        )
    return codes, free


def _split(codes: Codes, order: Codes, share: float) -> Split:
    sizes = np.bincount(codes)
    wanted = _wanted(codes, share)
    held_out: list[int] = []
    for family in order.tolist():
        if sizes[[*held_out, family]].sum() <= wanted:
            held_out.append(family)
    if not held_out:
        # Every family is larger than what is wanted: the smallest comes nearest.
        held_out = [min(order.tolist(), key=lambda family: int(sizes[family]))]
    return _held_out(codes, held_out)


def _wanted(codes: Codes, share: float) -> int:
    return min(max(1, round(share * len(codes))), len(codes) - 1)


def _held_out(codes: Codes, families: list[int]) -> Split:
    is_held_out = np.isin(codes, families)
    return Split(np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out))
