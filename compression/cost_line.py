"""A margin of error as a function of the number of questions, known at some sizes: between them, back, and its knee."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from compression.matrix import Floats

# So many sizes between the smallest and all are looked at for the knee.
_KNEE_STEPS = 1_000


@dataclass(frozen=True)
class Line:
    """Margins at some sizes, and straight lines between them: log margin over log(1/n - 1/N).

    There simple random sampling has the slope 1/2 at every size, with the finite-population correction (Cochran 1977,
    2.6); so has the line before its first size and after its last. At n = N the margin is 0.

    Attributes:
        total: N, all questions.
        known: Margin by size.
    """

    total: int
    known: Mapping[int, float]

    @cached_property
    def _knots(self) -> tuple[Floats, Floats] | None:
        """Logarithms of 1/n - 1/N, from large sizes to small ones, and of the margins; None where all margins are 0."""
        sizes = sorted((size for size, margin in self.known.items() if size < self.total and margin > 0), reverse=True)
        if not sizes:
            return None
        at = _abscissa(np.array(sizes, dtype=np.float64), self.total)
        height = np.log([self.known[size] for size in sizes])
        ends = _abscissa(np.array([self.total - 0.5, 1.0]), self.total)
        rise = [height[0] + (ends[0] - at[0]) / 2, height[-1] + (ends[1] - at[-1]) / 2]
        return np.concatenate([ends[:1], at, ends[1:]]), np.concatenate([rise[:1], height, rise[1:]])

    def margin_at(self, sizes: ArrayLike) -> Floats:
        """Margins at sizes from 1 to all."""
        wanted = np.asarray(sizes, dtype=np.float64)
        if self._knots is None:
            return np.zeros_like(wanted)
        below = np.minimum(wanted, self.total - 0.5)
        found = np.exp(np.interp(_abscissa(below, self.total), *self._knots))
        return np.where(wanted < self.total, found, 0.0)

    def size_for(self, margin: float) -> int:
        """The smallest size from which on no margin is greater; all questions, if need be."""
        if self._knots is None:
            return min(self.known)
        at, height = self._knots
        # A stratification for a larger sample may be a worse one: what counts is that no larger size is worse.
        never_less = np.maximum.accumulate(height)
        if np.log(margin) < never_less[0]:
            return self.total
        found = float(np.interp(np.log(margin), never_less, at))
        return min(self.total, int(np.ceil(1 / (np.exp(found) + 1 / self.total) - 1e-6)))

    def knee(self) -> int | None:
        """The size at the knee between the smallest known size and all (`knee_of`, both axes linear); None without."""
        sizes = np.unique(np.geomspace(min(self.known), self.total, _KNEE_STEPS).round())
        place = knee_of(sizes, self.margin_at(sizes))
        return None if place is None else int(sizes[place])


def knee_of(along: Floats, height: Floats) -> int | None:
    """Place of the knee of a falling curve; None for a curve that is nowhere below the straight line from end to end.

    Kneedle (Satopää, Albrecht, Irwin and Raghavan 2011, section III) for a smooth curve: both axes are scaled to
    [0, 1], and the knee is where the curve is farthest below the line that joins its ends.

    Args:
        along: (points,) rising.
        height: (points,) of the curve, falling from first to last.
    """
    if len(along) < 3 or height[0] <= height[-1]:
        return None
    x = (along - along[0]) / (along[-1] - along[0])
    y = (height - height[-1]) / (height[0] - height[-1])
    below = 1 - x - y
    place = int(below.argmax())
    return place if below[place] > 1e-9 else None


def _abscissa(sizes: Floats, total: int) -> Floats:
    return np.asarray(np.log(1 / sizes - 1 / total))
