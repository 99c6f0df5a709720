"""Which moments of two films or sounds belong together: a straight line through moments that are alike."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SPEED_MAX = 1.25
SPEEDS = np.exp(np.arange(-18, 19) * np.log(SPEED_MAX) / 18)
"""How many seconds of the second pass in one of the first; the steps are as fine as a shift of 1/8 s in 10 s."""
OVERLAP_MIN = 0.5
"""The part of the shorter one that both must show."""

Rows = npt.NDArray[np.int64]
Times = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Alignment:
    """What is at t in the first is at `speed` * t + `offset_s` in the second; `votes` moments say so."""

    speed: float
    offset_s: float
    votes: int

    def reversed(self) -> "Alignment":
        """As seen from the second."""
        return Alignment(1 / self.speed, -self.offset_s / self.speed, self.votes)


def grouped(owners: Rows, others: Rows) -> Iterator[tuple[tuple[int, int], Rows]]:
    """Rows of hits by the pair of things they are between, the lower number first; none between a thing and itself."""
    pairs = np.stack([np.minimum(owners, others), np.maximum(owners, others)], axis=1)
    apart = np.flatnonzero(owners != others)
    if not len(apart):
        return
    pairs = pairs[apart]
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    cuts = np.flatnonzero((pairs[order][1:] != pairs[order][:-1]).any(axis=1)) + 1
    for rows in np.split(order, cuts):
        low, high = pairs[rows[0]].tolist()
        yield (low, high), apart[np.sort(rows)]


def alignments(first_s: Times, second_s: Times, step_s: float, count: int) -> list[Alignment]:
    """The lines on which most pairs of moments lie, at most `count`; the least change of speed first among equals.

    Args:
        first_s: A moment of the first in each pair.
        second_s: That of the second.
        step_s: How far from the line a moment may lie.
        count: How many lines.
    """
    moments = np.round(first_s / step_s).astype(np.int64)
    bins = np.round((second_s - SPEEDS[:, np.newaxis] * first_s) / step_s).astype(np.int64)
    lowest, width = bins.min(), int(np.ptp(bins)) + 1
    lines = np.arange(len(SPEEDS))[:, np.newaxis] * width + bins - lowest
    # A moment votes once for a line, however many moments of the other look like it.
    voters = np.unique(lines * (moments.max() + 1) + moments)
    named, votes = np.unique(voters // (moments.max() + 1), return_counts=True)
    speeds, places = named // width, named % width + lowest
    order = np.lexsort((named, np.abs(places), np.abs(speeds - len(SPEEDS) // 2), -votes))[:count]
    return [Alignment(float(SPEEDS[speeds[at]]), float(places[at] * step_s), int(votes[at])) for at in order]


def overlap(alignment: Alignment, first_s: float, second_s: float) -> tuple[float, float]:
    """Start and end, on the clock of the first, of what both show; their lengths are given."""
    start = max(0.0, -alignment.offset_s / alignment.speed)
    end = min(first_s, (second_s - alignment.offset_s) / alignment.speed)
    return start, end


def is_long_enough(alignment: Alignment, first_s: float, second_s: float, of_longer: bool = False) -> bool:
    """Whether both show enough of the shorter one, or of the longer one."""
    start, end = overlap(alignment, first_s, second_s)
    choose = max if of_longer else min
    return end - start >= OVERLAP_MIN * choose(first_s, second_s / alignment.speed) - 1e-9
