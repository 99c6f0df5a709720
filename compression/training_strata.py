"""Strata of samples that sources score alike, and the order in which samples enter a selection."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from compression.matrix import Codes, Floats
from compression.strata import cluster

EASY, MIDDLE, HARD = range(3)
# The easiest and the hardest fifth of the scale of difficulty.
EASY_TO, HARD_FROM = 0.2, 0.8
_NO_SHARE = 1e-12


class Kind(StrEnum):
    """What values are: `score`, in [0, 1], 1 for solved; `loss`, 0 and more; `reward`, any number, more is better."""

    SCORE = "score"
    LOSS = "loss"
    REWARD = "reward"


@dataclass(frozen=True)
class Patterns:
    """What sources say of samples.

    Attributes:
        vectors: (samples, sources) in [0, 1], higher for easier; no gaps.
        difficulty: (samples,) in [0, 1].
    """

    vectors: Floats
    difficulty: Floats

    def of(self, chosen: Codes) -> "Patterns":
        """Only those samples."""
        return Patterns(self.vectors[chosen], self.difficulty[chosen])


def patterns_of(values: Floats, kind: Kind) -> Patterns:
    """Patterns and difficulty of samples.

    A gap in scores or losses is filled with the source's mean plus how far the sample lies from the means of the
    sources that it has (an additive model of samples and sources), within [0, 1]; in rewards, whose rollouts have no
    identity, with the sample's own mean. Rewards of a sample are sorted, for the same reason.

    Difficulty is 1 - the mean of a sample's scores. For losses and rewards it is the sample's place among the file's
    samples: the average rank by the mean of its vector, scaled so that the easiest has 0 and the hardest 1.

    Args:
        values: (samples, sources), NaN for gaps. Scores as they are; losses and rewards as shares of the source's (or
            the file's) values that are worse, half of the equal ones among them.
        kind: What they are.
    """
    gaps = np.isnan(values)
    if gaps.any():
        means = np.zeros(values.shape[1]) if kind is Kind.REWARD else np.nanmean(values, axis=0)
        apart = np.nanmean(values - means, axis=1, keepdims=True)
        values = np.where(gaps, np.clip(means + apart, 0, 1), values)
    if kind is Kind.REWARD:
        values = np.sort(values, axis=1)
    means = values.mean(axis=1)
    # What is equal on paper must not differ in the last digit, for ranks and for the limits of easy and hard.
    difficulty = np.round(1 - means, 9)
    if kind is not Kind.SCORE:
        from scipy.stats import rankdata

        ranks = rankdata(difficulty)
        spread = np.ptp(ranks)
        difficulty = (ranks - ranks.min()) / spread if spread else np.full(len(ranks), 0.5)
    return Patterns(values, difficulty)


def strata_of(patterns: Patterns, strata: int, seed: int) -> Codes:
    """(samples,) number of each sample's stratum, from 0 for the easiest by mean difficulty.

    K-means++ on the different patterns, weighted by how many samples have each; K is at most `strata`, and at most a
    fifth of the samples.
    """
    same = np.unique(patterns.vectors, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    codes = cluster(patterns.vectors, same, max(1, min(strata, len(same) // 5)), seed)
    means = np.bincount(codes, patterns.difficulty) / np.bincount(codes)
    return np.argsort(np.argsort(means, kind="stable"), kind="stable")[codes].astype(np.int64)


def bands_of(difficulty: Floats) -> Codes:
    """(samples,) EASY for a difficulty up to 0.2, HARD from 0.8, else MIDDLE."""
    return np.where(difficulty <= EASY_TO, EASY, np.where(difficulty >= HARD_FROM, HARD, MIDDLE)).astype(np.int64)


def entry_order(strata: Codes, bands: Codes, floors: Floats, rng: np.random.Generator) -> Codes:
    """Places of samples in the order in which they enter: the first n are the selection of size n.

    So a larger selection with the same seed holds the smaller one. Any beginning of length n has at least
    floor(n x floor) of each band while it lasts, and otherwise bands, and strata in a band, in proportion to their
    samples: both by the method of Sainte-Lague (Webster), whose seats never shrink in a larger house, and which stays
    within quota for three parties (Balinski and Young 1982, "Fair Representation"). In a cell of stratum and band the
    order is random.

    Args:
        strata: (samples,).
        bands: (samples,) 0, 1 or 2.
        floors: (3,) least share of each band, sum at most 1.
        rng: Draws the order.
    """
    drawn = rng.permutation(len(strata))
    cells = cells_of(strata, bands)
    # The k-th member of a cell of N enters the band at (k - 1/2) / N: the divisors 1, 3, 5, ... of the method.
    inside = (_places(cells, drawn) + 0.5) / np.bincount(cells)[cells]
    rank = np.lexsort((drawn, inside))
    place = np.empty(len(rank), dtype=np.int64)
    place[rank] = np.arange(len(rank))
    sizes = np.bincount(bands, minlength=3)
    shares = _raised(sizes / len(bands), np.where(sizes > 0, floors, 0.0))
    # A band that floors leave no share comes last, in its own order.
    return np.lexsort((drawn, (_places(bands, place) + 0.5) / np.maximum(shares, _NO_SHARE)[bands]))


def cells_of(strata: Codes, bands: Codes) -> Codes:
    """(samples,) number of each sample's cell of stratum and band, without gaps."""
    return np.unique(strata * 3 + bands, return_inverse=True)[1].astype(np.int64)


def weights_of(cells: Codes, chosen: Codes) -> Floats:
    """(samples,) how many samples of its cell a chosen one stands for, by the places of those chosen."""
    return np.bincount(cells)[cells] / np.maximum(np.bincount(cells[chosen], minlength=len(cells)), 1)[cells]


def _places(groups: Codes, key: Codes) -> Codes:
    """(samples,) place of each in its group, from 0, by the key."""
    order = np.lexsort((key, groups))
    starts = np.concatenate([[0], np.cumsum(np.bincount(groups))])
    places = np.empty(len(groups), dtype=np.int64)
    places[order] = np.arange(len(groups)) - starts[groups[order]]
    return places


def _raised(shares: Floats, floors: Floats) -> Floats:
    """Shares of which none lies below its floor: those below are raised, the others shrink in proportion."""
    fixed: NDArray[np.bool_] = np.zeros(len(shares), dtype=bool)
    raised = shares.copy()
    for _ in shares:
        fixed |= raised < floors
        open_sum = shares[~fixed].sum()
        room = 1 - floors[fixed].sum()
        raised = np.where(fixed, floors, shares * (room / open_sum if open_sum else 0.0))
    return raised
