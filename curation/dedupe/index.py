"""Near neighbours among hashes of 64 bits: all of them, without comparing every pair."""

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint16]

WORD_COUNT = 4
WORD_BITS = 16
RADIUS_MAX = 15
"""Beyond this, every word may differ in four bits, and a large part of all pairs is looked at."""
_TILE = 1 << 15
"""Comparisons at once: what they write stays in the processor's cache."""


def near_pairs(asked: Hashes, known: Hashes, radius: int) -> tuple[Rows, Rows]:
    """Rows (i, j) of all pairs with a Hamming distance of at most `radius` between asked[i] and known[j], in order.

    Exactly what comparing every pair would find, by the pigeonhole principle: two hashes that differ in at most r bits
    differ, in at least one of their four words of 16 bits, in at most r // 4 bits. So only hashes in neighbouring
    buckets of a word are compared (multi-index hashing: Norouzi, Punjani and Fleet, CVPR 2012). Beside the hashes and
    the pairs found, memory is taken for one sorted copy of the hashes.

    Raises:
        ValueError: The radius is negative or larger than 15.
    """
    if not 0 <= radius <= RADIUS_MAX:
        raise ValueError(f"the radius must be between 0 and {RADIUS_MAX}, not {radius}")
    found = [_near_by_word(asked, known, radius, place) for place in range(WORD_COUNT)]
    rows = np.concatenate([rows for rows, _ in found])
    columns = np.concatenate([columns for _, columns in found])
    order = np.lexsort((columns, rows))
    return rows[order], columns[order]


def bit_distances(first: npt.NDArray[np.uint64], second: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Number of different bits along the last axis, element by element; each has shape (..., words)."""
    counts: Rows = np.bitwise_count(np.bitwise_xor(first, second)).sum(axis=-1, dtype=np.int64)
    return counts


def _near_by_word(asked: Hashes, known: Hashes, radius: int, place: int) -> tuple[Rows, Rows]:
    """Near pairs that agree in a word, but for the bits that may differ, and in no earlier word."""
    flips = radius // WORD_COUNT
    masks = _masks(flips)
    asked_buckets, asked_rows = _Buckets.of(asked, np.arange(len(asked)), place), np.arange(len(asked))
    # A few hashes ask for few buckets: what lies in no such bucket is not sorted.
    wanted = np.zeros(1 << WORD_BITS, dtype=bool)
    wanted[(asked_buckets.filled[:, np.newaxis] ^ masks).ravel()] = True
    known_rows = np.flatnonzero(wanted[_words(known, place)])
    known_buckets = _Buckets.of(known[known_rows], known_rows, place)
    found: list[tuple[Rows, Rows]] = [(asked_rows[:0], asked_rows[:0])]
    for word in asked_buckets.filled:
        hashes, rows = asked_buckets.at(word)
        near_hashes, near_rows = known_buckets.around(word ^ masks)
        for start, i, j in _close(hashes, near_hashes, radius):
            found.append((rows[start + i], near_rows[j]))
    rows, columns = (np.concatenate(ends) for ends in zip(*found, strict=True))
    fresh = np.ones(len(rows), dtype=bool)
    for earlier in range(place):
        fresh &= np.bitwise_count(_words(asked[rows], earlier) ^ _words(known[columns], earlier)) > flips
    return rows[fresh], columns[fresh]


def _close(asked: Hashes, known: Hashes, radius: int) -> Iterator[tuple[int, Rows, Rows]]:
    """Places of near pairs, tile by tile: where the tile starts in `asked`, rows in the tile, rows in `known`."""
    if not len(known):
        return
    height = max(1, _TILE // len(known))
    for start in range(0, len(asked), height):
        distances = np.bitwise_count(asked[start : start + height, np.newaxis] ^ known)
        near = distances <= radius
        if near.any():
            i, j = np.nonzero(near)
            yield start, i, j


class _Buckets:
    """Hashes and their rows, sorted by one of their words."""

    def __init__(self, hashes: Hashes, rows: Rows, starts: Rows) -> None:
        self._hashes, self._rows, self._starts = hashes, rows, starts
        self.filled: Words = np.flatnonzero(np.diff(starts)).astype(np.uint16)

    @classmethod
    def of(cls, hashes: Hashes, rows: Rows, place: int) -> "_Buckets":
        words = _words(hashes, place)
        order = np.argsort(words, kind="stable")
        counts = np.bincount(words, minlength=1 << WORD_BITS)
        return cls(hashes[order], rows[order], np.concatenate([[0], np.cumsum(counts)]))

    def at(self, word: int) -> tuple[Hashes, Rows]:
        here = slice(self._starts[word], self._starts[int(word) + 1])
        return self._hashes[here], self._rows[here]

    def around(self, words: Words) -> tuple[Hashes, Rows]:
        held = [self.at(word) for word in words if self._starts[word] != self._starts[int(word) + 1]]
        if not held:
            return self._hashes[:0], self._rows[:0]
        return np.concatenate([hashes for hashes, _ in held]), np.concatenate([rows for _, rows in held])


def _words(hashes: Hashes, place: int) -> Words:
    words: Words = ((hashes >> np.uint64(WORD_BITS * place)) & np.uint64((1 << WORD_BITS) - 1)).astype(np.uint16)
    return words


def _masks(flips: int) -> Words:
    """Every word of 16 bits with at most so many bits set."""
    choices = (itertools.combinations(range(WORD_BITS), count) for count in range(flips + 1))
    return np.array([sum(1 << bit for bit in bits) for bits in itertools.chain.from_iterable(choices)], dtype=np.uint16)
