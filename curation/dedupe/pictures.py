"""Near pictures: found by hashes of views of them, under every turning, then laid onto one another and compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from curation.dedupe.cosine import (
    MIRRORED,
    TURNINGS,
    UPRIGHT,
    WHOLE,
    Coefficients,
    Hashes,
    coefficients,
    hashes_of,
    turned,
)
from curation.dedupe.index import Rows, near_pairs
from curation.dedupe.match import Match, Pair, inverse, placed
from curation.dedupe.register import SIDE, Maps, compare

Luma = npt.NDArray[np.uint8]

RADIUS = 7
"""How many of the 64 bits of a view may differ for two pictures to be compared."""
WINDOW = 0.9
WINDOWS = tuple((place * (1 - WINDOW) / 4, WINDOW) for place in range(5))
"""Windows of nine tenths of both sides, on a grid so close that a copy that is cropped so far is near one of them."""
STRIP = 0.35
"""Strips along each edge: a mark in a corner or at the centre leaves at least one of them as it was."""
STRIPS = (UPRIGHT, TURNINGS[2], TURNINGS[4], TURNINGS[6])
"""Turnings that bring the upper, lower, left and right edge up."""
VIEWS = 1 + len(WINDOWS) ** 2 + len(STRIPS)

_AT_ONCE = 1024


def view_hashes(luma: Luma) -> Hashes:
    """Hashes of all views, (pictures, 30): the whole, 25 windows, 4 strips with their edge up."""
    whole = hashes_of(coefficients(luma, [WHOLE]))[:, :, 0]
    windows = hashes_of(coefficients(luma, WINDOWS, WINDOWS)).reshape(len(luma), -1)
    return np.concatenate([whole, windows, hashes_of(_strips(luma))], axis=1)


@dataclass(frozen=True)
class Pictures:
    """Renditions of pictures: luma (pictures, 32, 32), and the hashes of their views (pictures, 30)."""

    luma: Luma
    views: Hashes

    @classmethod
    def of(cls, luma: Luma) -> "Pictures":
        """With the hashes worked out."""
        held = [view_hashes(luma[start : start + _AT_ONCE]) for start in range(0, len(luma), _AT_ONCE)]
        return cls(luma, np.concatenate([np.zeros((0, VIEWS), dtype=np.uint64), *held]))


def near_pictures(pictures: Pictures, asked: npt.NDArray[np.bool_]) -> dict[Pair, Match]:
    """All near pairs (i, j), i < j, of which one at least is asked for.

    Two pictures are compared when, under one turning, the hash of the one as a whole is within 7 bits of that of the
    other, or of a window of it, or hashes of strips along the same edge are. They are near when they agree.
    """
    hits = view_hits(pictures, np.flatnonzero(asked), np.flatnonzero(~asked)).best(pictures.luma)
    found: dict[Pair, Match] = {}
    for start in range(0, len(hits.reference), _AT_ONCE):
        part = hits.part(slice(start, start + _AT_ONCE))
        reference, other = pictures.luma[part.reference], pictures.luma[part.other]
        agreement = compare(reference, other, part.maps())
        for place in np.flatnonzero(agreement.is_same):
            i, j = int(part.reference[place]), int(part.other[place])
            first_to_second = agreement.maps[place] if i < j else inverse(agreement.maps[place])
            match = Match(round(max(0.0, 1 - float(agreement.share[place])), 4), placed(first_to_second))
            pair = (min(i, j), max(i, j))
            if pair not in found or match.distance < found[pair].distance:
                found[pair] = match
    return found


@dataclass(frozen=True)
class Hits:
    """Pairs to compare, all (hits,): the reference, under a turning, looks like a window of the other picture.

    `bits` is how many bits of the hashes differ, `is_strip` whether only strips of both were compared.
    """

    reference: Rows
    other: Rows
    turning: Rows
    window: Rows
    bits: Rows
    is_strip: Rows

    @classmethod
    def of(cls, reference: Rows, other: Rows, turning: Rows, window: Rows, bits: Any, is_strip: bool = False) -> "Hits":
        """Without those of a picture and itself."""
        hits = cls(reference, other, turning, window, bits.astype(np.int64), np.full(len(other), is_strip, np.int64))
        return hits.part(reference != other)

    def part(self, chosen: Any) -> "Hits":
        """Some of them."""
        return Hits(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    @classmethod
    def joined(cls, parts: Sequence["Hits"]) -> "Hits":
        """All of several."""
        return cls(*(np.concatenate([getattr(one, name) for one in parts]) for name in cls.__dataclass_fields__))

    def best(self, luma: Luma) -> "Hits":
        """For each pair the hit with the fewest bits of strips, and of all else.

        Who was asked for, and in which order pictures come, makes no difference: where neither picture is a window of
        the other, the one whose luma is less comes first.
        """
        is_first = _is_less(luma, self.reference, self.other)
        swap = ~is_first & (self.window == 0)
        hits = Hits(
            np.where(swap, self.other, self.reference),
            np.where(swap, self.reference, self.other),
            np.where(swap, INVERSE[self.turning], self.turning),
            *(self.window, self.bits, self.is_strip),
        )
        low, high = np.minimum(hits.reference, hits.other), np.maximum(hits.reference, hits.other)
        order = np.lexsort((hits.turning, is_first | swap, hits.window, hits.bits, hits.is_strip, high, low))
        pairs = np.stack([low, high, hits.is_strip])[:, order]
        is_best = np.ones(len(order), dtype=bool)
        is_best[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
        return hits.part(order[is_best])

    def maps(self) -> Maps:
        """From the reference to the other picture."""
        starts = np.array([(0.0, 0.0, 1.0), *((x, y, WINDOW) for y, _ in WINDOWS for x, _ in WINDOWS)])
        left, top, size = starts[self.window].T
        matrices = np.stack([turning.matrix.T for turning in TURNINGS])[self.turning] * size[:, None, None]
        centres = np.stack([left + size / 2 - 0.5, top + size / 2 - 0.5], axis=1)
        return np.concatenate([matrices, centres[:, :, np.newaxis]], axis=2)


def view_hits(pictures: Pictures, asked: Rows, others: Rows) -> Hits:
    """Pairs whose hashes are near, of which one is asked for; which of the two that is makes no difference."""
    views, luma = pictures.views, pictures.luma[asked]
    windows, turns = views[:, : -len(STRIPS)], len(TURNINGS)
    # A picture turned by t looks like a window of another one, or like it as a whole.
    hashes, known = _in_parts(luma, _turned_wholes), windows.ravel()
    rows, near = near_pairs(hashes, known, RADIUS)
    (one, turning), (other, window) = np.divmod(rows, turns), np.divmod(near, windows.shape[1])
    bits = np.bitwise_count(hashes[rows] ^ known[near])
    found = [Hits.of(asked[one], other, turning, window, bits)]
    if len(others):
        # A window turned by t looks like another picture, which so needs the inverse turning.
        hashes, known = _in_parts(luma, _turned_windows), windows[others, 0]
        rows, near = near_pairs(hashes, known, RADIUS)
        place, turning = np.divmod(rows, turns)
        one, window = np.divmod(place, len(WINDOWS) ** 2)
        bits = np.bitwise_count(hashes[rows] ^ known[near])
        found.append(Hits.of(others[near], asked[one], INVERSE[turning], window + 1, bits))
    hits = Hits.joined([_near_both_ways(pictures, Hits.joined(found)), _strip_hits(pictures, asked)])
    # Of two that are both asked for, wholes and strips were found from either side.
    twice = np.isin(hits.reference, asked) & np.isin(hits.other, asked) & (hits.window == 0)
    return hits.part(~(twice & (hits.reference > hits.other)))


def _near_both_ways(pictures: Pictures, hits: Hits) -> Hits:
    """Those that are near whichever of the two is turned, by the larger count of bits.

    The counts can differ: what counts as nothing in a picture gives the bit 0, however it is turned.
    """
    rows = np.flatnonzero(hits.turning != TURNINGS.index(UPRIGHT))
    part, bits = hits.part(rows), hits.bits.copy()
    reference = _turned_hashes(pictures, part.reference, np.zeros_like(rows), part.turning)
    other = _turned_hashes(pictures, part.other, part.window, INVERSE[part.turning])
    bits[rows] = np.maximum(
        np.bitwise_count(reference ^ pictures.views[part.other, part.window]),
        np.bitwise_count(other ^ pictures.views[part.reference, 0]),
    )
    return replace(hits, bits=bits).part(bits <= RADIUS)


def _turned_hashes(pictures: Pictures, rows: Rows, windows: Rows, turnings: Rows) -> Hashes:
    """Of a window of each picture, or with 0 of it as a whole, under a turning; all (hits,)."""
    found = np.zeros(len(rows), dtype=np.uint64)
    for first, count, hash_part in ((0, 1, _turned_wholes), (1, len(WINDOWS) ** 2, _turned_windows)):
        here = np.flatnonzero((windows >= first) & (windows < first + count))
        held, places = np.unique(rows[here], return_inverse=True)
        hashes = _in_parts(pictures.luma[held], hash_part).reshape(len(held), count, len(TURNINGS))
        found[here] = hashes[places, windows[here] - first, turnings[here]]
    return found


def _strip_hits(pictures: Pictures, asked: Rows) -> Hits:
    strips = pictures.views[:, -len(STRIPS) :]
    hashes, known = _in_parts(pictures.luma[asked], _mirrored_strips), strips.ravel()
    rows, near = near_pairs(hashes, known, RADIUS)
    place, mirrored = np.divmod(rows, 2)
    (one, edge), (other, known_edge) = np.divmod(place, len(STRIPS)), np.divmod(near, len(STRIPS))
    # As in `_near_both_ways`: the other strip mirrored is near as well.
    held, places = np.unique(other, return_inverse=True)
    back = _in_parts(pictures.luma[held], _mirrored_strips).reshape(len(held), len(STRIPS), 2)
    behind = back[places, known_edge, mirrored] ^ strips[asked[one], edge]
    bits = np.maximum(np.bitwise_count(hashes[rows] ^ known[near]), np.bitwise_count(behind))
    turning = _STRIP_TURNINGS[edge, mirrored, known_edge]
    hits = Hits.of(asked[one], other, turning, np.zeros_like(other), bits, is_strip=True)
    return hits.part(hits.bits <= RADIUS)


def _in_parts(luma: Luma, hash_part: Callable[[Luma], Hashes]) -> Hashes:
    """The hashes of all pictures one behind another, made of a few at a time."""
    starts = range(0, len(luma), _AT_ONCE)
    return np.concatenate(
        [np.zeros(0, dtype=np.uint64), *(hash_part(luma[at : at + _AT_ONCE]).ravel() for at in starts)]
    )


def _turned_wholes(luma: Luma) -> Hashes:
    whole = coefficients(luma, [WHOLE])[:, 0, 0]
    return np.stack([hashes_of(turned(whole, turning)) for turning in TURNINGS], axis=-1)


def _turned_windows(luma: Luma) -> Hashes:
    windows = coefficients(luma, WINDOWS, WINDOWS)
    return np.stack([hashes_of(turned(windows, turning)) for turning in TURNINGS], axis=-1)


def _mirrored_strips(luma: Luma) -> Hashes:
    strips = _strips(luma)
    return np.stack([hashes_of(strips), hashes_of(turned(strips, MIRRORED))], axis=-1)


def _strips(luma: Luma) -> Coefficients:
    """Of the strip along each edge, with the edge up, (pictures, 4, 11, 11)."""
    near, far = (0.0, STRIP), (1 - STRIP, STRIP)
    rows, columns = coefficients(luma, [near, far]), coefficients(luma, [WHOLE], [near, far])
    along = (rows[:, 0, 0], rows[:, 1, 0], columns[:, 0, 0], columns[:, 0, 1])
    return np.stack([turned(strip, turning) for strip, turning in zip(along, STRIPS, strict=True)], axis=1)


def _turning_of(matrix: npt.NDArray[np.float64]) -> int:
    """Which turning shows, at each place, what is at the place that the matrix leads to."""
    return int(np.argmax([(turning.matrix * matrix).sum() for turning in TURNINGS]))


INVERSE = np.array([_turning_of(turning.matrix.T) for turning in TURNINGS])
_STRIP_TURNINGS = np.array(
    [
        [
            [_turning_of(edge.matrix @ mirror.matrix @ known.matrix.T) for known in STRIPS]
            for mirror in (UPRIGHT, MIRRORED)
        ]
        for edge in STRIPS
    ]
)
"""By the edge that was asked for, whether its strip is mirrored, and the edge of the known picture."""


def _is_less(luma: Luma, first: Rows, second: Rows) -> npt.NDArray[np.bool_]:
    """Whether the luma of the first, read from the upper left corner on, is less than that of the second."""
    less = np.zeros(len(first), dtype=bool)
    for start in range(0, len(first), _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        one, other = (luma[rows[here]].reshape(-1, SIDE * SIDE) for rows in (first, second))
        at = np.argmax(one != other, axis=1)
        every = np.arange(len(at))
        less[here] = one[every, at] < other[every, at]
    return less
