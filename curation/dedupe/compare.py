"""Which looks are near: pictures under turning and mirroring, sequences (of frames, of sound) under shifting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from curation.dedupe.index import bit_distances, near_pairs

PHASH_RADIUS = 7
DHASH_RADIUS = 12
"""pHash tells pictures apart, dHash confirms: on photographs, re-encoded and resized copies stay within 6 and 9 bits,
different ones differ in 16 and more of the pHash."""
SEQUENCE_RADIUS = 7
SEQUENCE_DISTANCE_MAX = 0.1
UNMATCHED = 0.5
"""What a stretch that the other sequence lacks counts: as much as an unrelated one differs."""

Words = npt.NDArray[np.uint64]
Pair = tuple[int, int]


def near_pictures(asked: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, Any]]) -> dict[Pair, float]:
    """Near pairs (asked, known) with their distance: the share of different bits of pHash and dHash together.

    Two pictures are near when, under one turning or mirroring of either of them, both hashes are. Which of the two was
    asked makes no difference.
    """
    asked_hashes, known_hashes = _Pictures.read(asked), _Pictures.read(known)
    found: dict[Pair, float] = {}
    for turned, upright, flip in ((asked_hashes, known_hashes, False), (known_hashes, asked_hashes, True)):
        _add_near_pictures(found, turned, upright, flip)
    return found


@dataclass(frozen=True)
class _Pictures:
    """Hashes (pictures, turns)."""

    phash: Words
    dhash: Words

    @classmethod
    def read(cls, looks: Sequence[Mapping[str, Any]]) -> "_Pictures":
        return cls(*(_words([look[name] for look in looks]) for name in ("phash", "dhash")))


def _add_near_pictures(found: dict[Pair, float], turned: _Pictures, upright: _Pictures, flip: bool) -> None:
    if not len(turned.phash) or not len(upright.phash):
        return
    turns = turned.phash.shape[1]
    upright_phash, upright_dhash = upright.phash[:, 0], upright.dhash[:, 0]
    # The smaller side is the one whose words are spread over all their neighbours.
    if flip:
        j, row = near_pairs(upright_phash, turned.phash.ravel(), PHASH_RADIUS)
    else:
        row, j = near_pairs(turned.phash.ravel(), upright_phash, PHASH_RADIUS)
    i, turn = row // turns, row % turns
    by_dhash = bit_distances(turned.dhash[i, turn][:, None], upright_dhash[j][:, None])
    by_phash = bit_distances(turned.phash[i, turn][:, None], upright_phash[j][:, None])
    near = by_dhash <= DHASH_RADIUS
    shares = (by_dhash + by_phash) / 128
    for one, other, share in zip(i[near].tolist(), j[near].tolist(), shares[near].tolist(), strict=True):
        pair = (other, one) if flip else (one, other)
        found[pair] = min(share, found.get(pair, 1.0))


def near_sequences(asked: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, Any]]) -> dict[Pair, float]:
    """Near pairs (asked, known) with their distance: the mean share of different bits in their best alignment.

    The mean runs over every place where either of them has a hash; where one of them has none, it counts a half.
    An alignment is tried when it brings two hashes together that differ in at most 7 of 64 bits (of longer hashes, the
    64 that stand for the lowest frequencies).
    """
    firsts, seconds = [_Sequence.read(look) for look in asked], [_Sequence.read(look) for look in known]
    found: dict[Pair, float] = {}
    for i, j, shift in _alignments(firsts, seconds):
        distance = _aligned_distance(firsts[i], seconds[j], shift)
        if distance <= SEQUENCE_DISTANCE_MAX:
            found[i, j] = min(distance, found.get((i, j), 1.0))
    return found


@dataclass(frozen=True)
class _Sequence:
    """Places (n,) that have a hash, the hashes (n, words), and 64 bits of each (n,)."""

    places: npt.NDArray[np.int64]
    hashes: Words
    coarse: Words

    @classmethod
    def read(cls, look: Mapping[str, Any]) -> "_Sequence":
        held = [(place, text) for place, text in enumerate(look["hashes"], start=look["first"]) if text is not None]
        places = np.array([place for place, _ in held], dtype=np.int64)
        texts = [text for _, text in held]
        side = round((4 * len(texts[0])) ** 0.5) if texts else 8
        hashes = _words([[text[at : at + 16] for at in range(0, len(text), 16)] for text in texts])
        return cls(places, hashes, _words([[_corner(text, side)] for text in texts])[:, 0])


def _alignments(firsts: Sequence[_Sequence], seconds: Sequence[_Sequence]) -> list[tuple[int, int, int]]:
    """(i, j, shift) that bring a place of firsts[i] and one of seconds[j] with near hashes together."""
    (owner_i, place_i, coarse_i), (owner_j, place_j, coarse_j) = _flat(firsts), _flat(seconds)
    rows_i, rows_j = near_pairs(coarse_i, coarse_j, SEQUENCE_RADIUS)
    columns = (owner_i[rows_i], owner_j[rows_j], place_i[rows_i] - place_j[rows_j])
    return [(int(i), int(j), int(shift)) for i, j, shift in np.unique(np.stack(columns, axis=1), axis=0)]


def _flat(sequences: Sequence[_Sequence]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Words]:
    owners = np.repeat(np.arange(len(sequences)), [len(one.places) for one in sequences])
    none = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.uint64)]
    places = np.concatenate([one.places for one in sequences] or none[0])
    return owners, places, np.concatenate([one.coarse for one in sequences] or none[1])


def _aligned_distance(first: _Sequence, second: _Sequence, shift: int) -> float:
    if first.hashes.shape[1] != second.hashes.shape[1]:
        return 1.0
    _, at_first, at_second = np.intersect1d(first.places, second.places + shift, return_indices=True)
    bits = 64 * first.hashes.shape[1]
    shares = bit_distances(first.hashes[at_first], second.hashes[at_second]) / bits
    union = len(first.places) + len(second.places) - len(at_first)
    return float((shares.sum() + UNMATCHED * (union - len(at_first))) / union)


def _corner(text: str, side: int) -> str:
    """The 8 x 8 bits of the lowest frequencies of a square hash, as 16 hexadecimal digits."""
    digits = side // 4
    return "".join(text[row * digits : row * digits + 2] for row in range(8))


def _words(texts: Sequence[Sequence[str]]) -> Words:
    joined = bytes.fromhex("".join("".join(row) for row in texts))
    flat = np.frombuffer(joined, dtype=">u8").astype(np.uint64)
    return flat.reshape(len(texts), -1) if texts else flat.reshape(0, 1)
