"""Which media are near by their hashes alone: all that an index of other people's media holds.

Pictures under turning and mirroring, sequences (of frames, of sound) under shifting.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from curation.dedupe.index import bit_distances, near_pairs
from curation.dedupe.looks import HASH_SIDE, TURNS, coarse_hash

HASH_BITS = HASH_SIDE**2
HASH_WORDS = HASH_BITS // 64

RADIUS = 7
"""How many of the 64 coarse bits may differ for two hashes to be compared in full."""
DISTANCE_MAX = 0.105
"""The largest share of different bits between copies. Photographs, sounds and films, re-encoded and resized, stay below
0.1; the nearest different ones that were tried (spoken letters of one voice, rows of three and of five dots) differ in
0.117 and more."""
DHASH_MAX = 12
UNMATCHED = 0.5
"""What a stretch that the other sequence lacks counts: as much as an unrelated one differs."""

Words = npt.NDArray[np.uint64]
Pair = tuple[int, int]


def near_pictures(asked: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, Any]]) -> dict[Pair, float]:
    """Near pairs (asked, known) with their distance, the share of different bits of pHash.

    Two pictures are near when, under one turning or mirroring of either of them, pHash, its coarse part and dHash all
    are. Which of the two was asked makes no difference.
    """
    asked_hashes, known_hashes = _Pictures.read(asked), _Pictures.read(known)
    found = _near_turned(asked_hashes, known_hashes, known_is_turned=False)
    for pair, distance in _near_turned(known_hashes, asked_hashes, known_is_turned=True).items():
        found[pair] = min(distance, found.get(pair, 1.0))
    return found


@dataclass(frozen=True)
class _Pictures:
    """Hashes of pictures under each turning: phash (pictures, turns, 4), dhash and coarse (pictures, turns)."""

    phash: Words
    dhash: Words
    coarse: Words

    @classmethod
    def read(cls, looks: Sequence[Mapping[str, Any]]) -> "_Pictures":
        phash = _words([text for look in looks for text in look["phash"]], HASH_WORDS)
        dhash = _words([text for look in looks for text in look["dhash"]], 1)
        coarse = _words([coarse_hash(text) for look in looks for text in look["phash"]], 1)
        turns = len(TURNS)
        return cls(phash.reshape(-1, turns, HASH_WORDS), dhash.reshape(-1, turns), coarse.reshape(-1, turns))


def _near_turned(turned: _Pictures, upright: _Pictures, known_is_turned: bool) -> dict[Pair, float]:
    """Near pairs (asked, known), of which the known or the asked pictures are turned in every way."""
    # What is asked goes first: the index spreads its words over all their neighbours, and there is less of it.
    if known_is_turned:
        j, rows = near_pairs(upright.coarse[:, 0], turned.coarse.ravel(), RADIUS)
    else:
        rows, j = near_pairs(turned.coarse.ravel(), upright.coarse[:, 0], RADIUS)
    i, turn = np.divmod(rows, len(TURNS))
    shares = bit_distances(turned.phash[i, turn], upright.phash[j, 0]) / HASH_BITS
    dhash_bits = bit_distances(turned.dhash[i, turn, np.newaxis], upright.dhash[j, 0, np.newaxis])
    near = (shares <= DISTANCE_MAX) & (dhash_bits <= DHASH_MAX)
    found: dict[Pair, float] = {}
    for one, other, share in zip(i[near].tolist(), j[near].tolist(), shares[near].tolist(), strict=True):
        pair = (other, one) if known_is_turned else (one, other)
        found[pair] = min(share, found.get(pair, 1.0))
    return found


def near_sequences(asked: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, Any]]) -> dict[Pair, float]:
    """Near pairs (asked, known) with their distance: the mean share of different bits in their best alignment.

    The mean runs over every place where either of them has a hash; where one of them has none, it counts a half.
    An alignment is tried when it brings two hashes together whose coarse parts differ in at most 7 of 64 bits.
    """
    firsts, seconds = [_Sequence.read(look) for look in asked], [_Sequence.read(look) for look in known]
    found: dict[Pair, float] = {}
    for i, j, shift in _alignments(firsts, seconds):
        distance = _aligned_distance(firsts[i], seconds[j], shift)
        if distance <= DISTANCE_MAX:
            found[i, j] = min(distance, found.get((i, j), 1.0))
    return found


@dataclass(frozen=True)
class _Sequence:
    """Places (n,) that have a hash, the hashes (n, 4), and their coarse parts (n,)."""

    places: npt.NDArray[np.int64]
    hashes: Words
    coarse: Words

    @classmethod
    def read(cls, look: Mapping[str, Any]) -> "_Sequence":
        held = [(place, text) for place, text in enumerate(look["hashes"], start=look["first"]) if text is not None]
        texts = [text for _, text in held]
        places = np.array([place for place, _ in held], dtype=np.int64)
        return cls(places, _words(texts, HASH_WORDS), _words([coarse_hash(text) for text in texts], 1)[:, 0])


def _alignments(firsts: Sequence[_Sequence], seconds: Sequence[_Sequence]) -> list[tuple[int, int, int]]:
    """(i, j, shift) that bring a place of firsts[i] and one of seconds[j] with near hashes together."""
    (owner_i, place_i, coarse_i), (owner_j, place_j, coarse_j) = _flat(firsts), _flat(seconds)
    rows_i, rows_j = near_pairs(coarse_i, coarse_j, RADIUS)
    columns = (owner_i[rows_i], owner_j[rows_j], place_i[rows_i] - place_j[rows_j])
    return [(int(i), int(j), int(shift)) for i, j, shift in np.unique(np.stack(columns, axis=1), axis=0)]


def _flat(sequences: Sequence[_Sequence]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Words]:
    owners = np.repeat(np.arange(len(sequences)), [len(one.places) for one in sequences])
    no_places, no_hashes = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    places = np.concatenate([no_places, *(one.places for one in sequences)])
    return owners, places, np.concatenate([no_hashes, *(one.coarse for one in sequences)])


def _aligned_distance(first: _Sequence, second: _Sequence, shift: int) -> float:
    _, at_first, at_second = np.intersect1d(first.places, second.places + shift, return_indices=True)
    shares = bit_distances(first.hashes[at_first], second.hashes[at_second]) / HASH_BITS
    union = len(first.places) + len(second.places) - len(at_first)
    return float((shares.sum() + UNMATCHED * (union - len(at_first))) / union)


def _words(texts: Sequence[str], count: int) -> Words:
    """Hashes in hexadecimal digits as words of 64 bits, shape (hashes, count)."""
    return np.frombuffer(bytes.fromhex("".join(texts)), dtype=">u8").astype(np.uint64).reshape(-1, count)
