"""Near sounds: pieces of a second that sound alike tell how to lay one sound onto the other, then all is compared.

Pieces may be higher or lower, faster or slower. What is compared are levels of semitones, block by block.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from curation.dedupe.cosine import Hashes, Span, coefficients, hashes_of
from curation.dedupe.index import Rows, near_pairs
from curation.dedupe.match import Match, Pair
from curation.dedupe.timeline import OVERLAP_MIN, Alignment, alignments, grouped, is_long_enough, overlap

AUDIO_RATE_HZ = 8000
"""Even telephone speech has this rate, so that every sound is compared over the same band."""
COLUMNS_HZ = 16
BANDS = 55
"""Semitones from 150 Hz to 3.6 kHz: a change of pitch moves what is heard by whole bands."""
LOWEST_HZ = 150.0
RANGE_DB = 60.0
LEVELS = 30
"""Steps of 2 dB below the loudest."""
_WINDOW = 1024
_FFT = 2048

RADIUS = 7
PITCHES = (-2, -1, 0, 1, 2)
TEMPOS = (1 / 1.1, 1.0, 1.1)
_MARGIN_BANDS = 3
_PIECE, _REACH = 16, 20
"""Columns that are hashed, and those that the slowest variant reaches over."""
QUIET = 12
"""Pieces so many steps (24 dB) below the loudest of their sound are not hashed."""
FLOOR = 15
"""What is more steps (30 dB) below the loudest around it may be noise, and counts as silence."""

STEP_S = 0.125
LINES = 3
SHORT_S, LONG_S = 1.5, 3.0
"""What both have of short sounds says little: more of it must be alike, more closely, in half of the longer one."""
SHORT_DISTANCE_MAX, DISTANCE_MAX, LONG_DISTANCE_MAX = 0.055, 0.2, 0.3
SHORT_VOTES_MIN, VOTES_MIN = 0.4, 0.15
"""The part of the moments along a line that must sound alike for sounds to be compared along it."""
LEFT_OVER_MAX = 0.1
"""The part of what is heard in a sound that repeats itself which the other may lack: four beeps are not five."""
REPEATS_FROM = 0.85
"""How far stretches of a quarter second must correlate with others of the same sound, in the middle of them, for it to
repeat itself."""
_STRETCH, _APART, _STRETCHES_MAX = 4, 6, 400
"""Columns of a stretch, columns between two that are not the same one, and how many are looked at."""
HEARD_MIN_S = 0.4
_BLOCK_COLUMNS, _BLOCK_BANDS = 8, 11
TEXTURE = 2.0
_AT_ONCE = 2048

Levels = npt.NDArray[np.uint8]
Samples = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float32]

VARIANTS = [(pitch, tempo) for pitch in PITCHES for tempo in TEMPOS]
PLAIN = VARIANTS.index((0, 1.0))


def levels_of(samples: Samples) -> Levels:
    """How loud each semitone is, 16 times a second: (columns, 55), in steps of 2 dB, 30 for the loudest.

    Args:
        samples: Mono at 8 kHz, shape (samples,).
    """
    hop = AUDIO_RATE_HZ // COLUMNS_HZ
    padded = np.pad(samples, (_WINDOW // 2, _WINDOW // 2 + hop))
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::hop]
    power = np.concatenate(
        [
            np.square(np.abs(np.fft.rfft(windows[at : at + _AT_ONCE] * np.hanning(_WINDOW), n=_FFT))) @ _band_weights()
            for at in range(0, len(windows), _AT_ONCE)
        ]
    )
    if power.max() <= 0:
        return np.zeros((0, BANDS), dtype=np.uint8)
    below_db = 10 * np.log10(np.maximum(power / power.max(), 10 ** (-RANGE_DB / 10)))
    levels: Levels = np.round((below_db / RANGE_DB + 1) * LEVELS).astype(np.uint8)
    return levels


def piece_hashes(levels: Levels) -> tuple[Hashes, Rows]:
    """Hashes of pieces of a second under each variant, (pieces, 15), and the columns of their middles."""
    if not len(levels):
        return np.zeros((0, len(VARIANTS)), dtype=np.uint64), np.zeros(0, dtype=np.int64)
    padded = np.pad(levels, ((_REACH // 2, _REACH // 2), (0, 0)))
    pieces = np.lib.stride_tricks.sliding_window_view(padded, _REACH, axis=0)[: len(levels)]
    middles = np.arange(len(levels))
    loud = pieces.max(axis=(1, 2)) >= LEVELS - QUIET
    middles = middles[loud]
    hashes = [_variants(pieces[loud][at : at + _AT_ONCE]) for at in range(0, len(middles), _AT_ONCE)]
    return np.concatenate([np.zeros((0, len(VARIANTS)), dtype=np.uint64), *hashes]), middles


def _variants(pieces: Levels) -> Hashes:
    above = _above_floor(pieces.astype(np.float32), (1, 2))
    bands: list[Span] = [((_MARGIN_BANDS + pitch) / BANDS, 1 - 2 * _MARGIN_BANDS / BANDS) for pitch in PITCHES]
    lengths = [_PIECE / _REACH / tempo for tempo in TEMPOS]
    times: list[Span] = [((1 - length) / 2, length) for length in lengths]
    return hashes_of(coefficients(above, bands, times)).reshape(len(pieces), len(VARIANTS))


def _above_floor(levels: Floats, axis: tuple[int, ...]) -> Floats:
    above: Floats = np.maximum(levels - levels.max(axis=axis, keepdims=True) + FLOOR, 0)
    return above


@cache
def _band_weights() -> npt.NDArray[np.float64]:
    """Triangles over semitones, (frequencies, bands), of which each sums to 1."""
    middles = LOWEST_HZ * 2 ** (np.arange(BANDS + 2) / 12)
    low, middle, high = middles[:-2], middles[1:-1], middles[2:]
    frequencies = np.fft.rfftfreq(_FFT, 1 / AUDIO_RATE_HZ)[:, np.newaxis]
    weights = np.maximum(0, np.minimum((frequencies - low) / (middle - low), (high - frequencies) / (high - middle)))
    normed: npt.NDArray[np.float64] = weights / np.maximum(weights.sum(axis=0), 1e-9)
    return normed


@dataclass(frozen=True)
class Sounds:
    """Levels of sounds one behind another, sound i from starts[i] to starts[i + 1], and hashes of their pieces.

    `hashes` is (pieces, 15), `owners` and `middles` (pieces,) tell whose piece and around which column.
    """

    levels: Levels
    starts: Rows
    hashes: Hashes
    owners: Rows
    middles: Rows

    @classmethod
    def of(cls, sounds: list[Levels]) -> "Sounds":
        """With the hashes worked out."""
        held = [piece_hashes(levels) for levels in sounds]
        return cls(
            np.concatenate([np.zeros((0, BANDS), dtype=np.uint8), *sounds]),
            np.concatenate([[0], np.cumsum([len(levels) for levels in sounds])]).astype(np.int64),
            np.concatenate([np.zeros((0, len(VARIANTS)), dtype=np.uint64), *(hashes for hashes, _ in held)]),
            np.repeat(np.arange(len(sounds)), [len(middles) for _, middles in held]),
            np.concatenate([np.zeros(0, dtype=np.int64), *(middles for _, middles in held)]),
        )

    def heard(self, sound: int) -> Levels:
        """The levels of one sound."""
        return self.levels[self.starts[sound] : self.starts[sound + 1]]


def near_sounds(sounds: Sounds, asked: npt.NDArray[np.bool_]) -> dict[Pair, Match]:
    """All near pairs (i, j), i < j, of which one at least is asked for.

    Two sounds are compared when pieces of theirs sound alike along a line of constant speed, up to two semitones higher
    or lower; they are near when both have half of the shorter one, and agree there.
    """
    is_asked = asked[sounds.owners]
    mine, others = np.flatnonzero(is_asked), np.flatnonzero(~is_asked)
    # A variant of what is asked for sounds like something as it is, or a variant of the latter like what is asked for.
    rows, near = near_pairs(sounds.hashes[mine].ravel(), sounds.hashes[:, PLAIN], RADIUS)
    back_rows, back_near = near_pairs(sounds.hashes[mine, PLAIN], sounds.hashes[others].ravel(), RADIUS)
    varied = np.concatenate([mine[rows // len(VARIANTS)], others[back_near // len(VARIANTS)]])
    plain = np.concatenate([near, mine[back_rows]])
    variant = np.concatenate([rows, back_near]) % len(VARIANTS)
    found: dict[Pair, Match] = {}
    for pair, hits in grouped(sounds.owners[varied], sounds.owners[plain]):
        match = _compared(sounds, pair, varied[hits], plain[hits], variant[hits])
        if match is not None:
            found[pair] = match
    return found


def _compared(sounds: Sounds, pair: Pair, varied: Rows, plain: Rows, variant: Rows) -> Match | None:
    low, high = pair
    # What is first must not depend on the order in which sounds come.
    is_less = sounds.heard(high).tobytes() < sounds.heard(low).tobytes()
    first, second = (high, low) if is_less else (low, high)
    is_forward = sounds.owners[varied] == first
    pitches = np.array([pitch for pitch, _ in VARIANTS])[variant] * np.where(is_forward, 1, -1)
    first_s = sounds.middles[np.where(is_forward, varied, plain)] / COLUMNS_HZ
    second_s = sounds.middles[np.where(is_forward, plain, varied)] / COLUMNS_HZ
    one, other = sounds.heard(first), sounds.heard(second)
    if len(np.unique(first_s)) < VOTES_MIN * OVERLAP_MIN * min(len(one), len(other)) / COLUMNS_HZ / STEP_S:
        return None  # too few for any line
    best: tuple[float, Alignment, float] | None = None
    for line in alignments(first_s, second_s, STEP_S, LINES):
        on_line = np.abs(second_s - line.speed * first_s - line.offset_s) <= STEP_S / 2 + 1e-9
        values, votes = np.unique(pitches[on_line], return_counts=True)
        tried = _fitted(one, other, line, float(values[np.argmax(votes)]))
        if tried is None or tried[0] > _allowed(one, other, tried[1]) or _is_one_of_many(one, other, tried):
            continue
        if best is None or tried[0] < best[0]:
            best = tried
    if best is None:
        return None
    distance, line, pitch = best
    if first > second:
        line, pitch = line.reversed(), -pitch
    clocks: dict[str, Any] = {"offset_s": round(line.offset_s, 2) + 0.0, "speed": round(line.speed, 3)}
    return Match(round(distance, 4), clocks | {"semitones": round(-pitch, 2) + 0.0})


def _fitted(one: Levels, other: Levels, line: Alignment, pitch: float) -> tuple[float, Alignment, float] | None:
    """The least distance near an alignment and a pitch: offset, then speed, then pitch, then offset again."""
    seconds = len(one) / COLUMNS_HZ, len(other) / COLUMNS_HZ
    start, end = overlap(line, *seconds)
    is_short = end - start < SHORT_S
    if not is_long_enough(line, *seconds, of_longer=is_short):
        return None
    if line.votes < (end - start) / STEP_S * (SHORT_VOTES_MIN if is_short else VOTES_MIN):
        return None
    middle = (start + end) / 2
    best = (_distance(one, other, line, pitch), line, pitch)
    for fine in ("offset", "pitch", "speed", "offset"):
        _, line, pitch = best
        for step in (-1.0, -0.5, 0.5, 1.0):
            moved, shifted = line, pitch
            if fine == "offset":
                moved = Alignment(line.speed, line.offset_s + step * STEP_S / 2, line.votes)
            elif fine == "speed":
                change = step * STEP_S / max(1.0, end - start)
                moved = Alignment(line.speed + change, line.offset_s - change * middle, line.votes)
            else:
                shifted = pitch + step * 0.7
            tried = (_distance(one, other, moved, shifted), moved, shifted)
            if tried[0] < best[0]:
                best = tried
    return best


def _allowed(one: Levels, other: Levels, line: Alignment) -> float:
    start, end = overlap(line, len(one) / COLUMNS_HZ, len(other) / COLUMNS_HZ)
    if end - start < SHORT_S:
        return SHORT_DISTANCE_MAX
    return DISTANCE_MAX if end - start < LONG_S else LONG_DISTANCE_MAX


def _is_one_of_many(one: Levels, other: Levels, tried: tuple[float, Alignment, float]) -> bool:
    """Whether a fit says nothing, because a sound repeats itself and the two do not agree in nearly all of it.

    A part of such a sound fits in many places, and how often it is heard is what tells it apart.
    """
    distance, line, _ = tried
    start, end = overlap(line, len(one) / COLUMNS_HZ, len(other) / COLUMNS_HZ)
    spans = (one, start, end), (other, line.speed * start + line.offset_s, line.speed * end + line.offset_s)
    is_near_all = distance <= SHORT_DISTANCE_MAX and all(_left_over(*span) <= LEFT_OVER_MAX for span in spans)
    return not is_near_all and (_repeats_itself(one) or _repeats_itself(other))


def _left_over(levels: Levels, start_s: float, end_s: float) -> float:
    """The share of what is heard that lies outside a span."""
    is_heard = _is_heard(levels)
    inside = slice(max(0, round(start_s * COLUMNS_HZ)), round(end_s * COLUMNS_HZ))
    return 1 - float(is_heard[inside].sum()) / max(1, int(is_heard.sum()))


def _is_heard(levels: Levels) -> npt.NDArray[np.bool_]:
    loudest = levels.max(axis=1).astype(np.int64)
    found: npt.NDArray[np.bool_] = loudest > loudest.max(initial=0) - FLOOR
    return found


def _repeats_itself(levels: Levels) -> bool:
    """Whether most of what is heard is heard again elsewhere in the same sound."""
    if len(levels) < _STRETCH:
        return False
    starts = np.flatnonzero(_is_heard(levels)[: len(levels) - _STRETCH + 1])
    starts = starts[:: max(1, -(-len(starts) // _STRETCHES_MAX))]
    if len(starts) < 2:
        return False
    windows = np.lib.stride_tricks.sliding_window_view(levels.astype(np.float32), _STRETCH, axis=0)[starts]
    flat = windows.reshape(len(starts), -1)
    flat = flat - flat.mean(axis=1, keepdims=True)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True) + 1e-6
    alike = flat @ flat.T
    alike[np.abs(starts[:, np.newaxis] - starts) < _APART] = -1.0
    return bool(np.median(alike.max(axis=1)) >= REPEATS_FROM)


def _distance(one: Levels, other: Levels, line: Alignment, pitch: float) -> float:
    """1 - the mean correlation of blocks of half a second and 11 semitones, each weighted by what goes on in it."""
    start, end = overlap(line, len(one) / COLUMNS_HZ, len(other) / COLUMNS_HZ)
    columns: Rows = np.arange(int(np.ceil(start * COLUMNS_HZ - 1e-6)), int(end * COLUMNS_HZ + 1e-6))
    count = len(columns) // _BLOCK_COLUMNS * _BLOCK_COLUMNS
    if count < HEARD_MIN_S * COLUMNS_HZ:
        return 1.0
    columns = columns[:count]
    heard = one[columns].astype(np.float32)
    there = columns * line.speed + line.offset_s * COLUMNS_HZ
    seen = _interpolated(other.astype(np.float32), there, np.arange(BANDS) - pitch)
    kept = slice(int(np.ceil(max(0.0, pitch))), BANDS + int(np.floor(min(0.0, pitch))))
    blocks_one, blocks_other = (_blocks(values[:, kept]) for values in (heard, seen))
    both = [blocks - blocks.mean(axis=1, keepdims=True) for blocks in (blocks_one, blocks_other)]
    spread_one, spread_other = (np.square(values).mean(axis=1) for values in both)
    correlation = (both[0] * both[1]).mean(axis=1) / np.sqrt((spread_one + 1e-3) * (spread_other + 1e-3))
    texture = np.maximum(spread_one, spread_other)
    weights = texture / (texture + TEXTURE**2)
    return float(1 - (np.maximum(correlation, 0) * weights).sum() / max(weights.sum(), 1e-6))


def _interpolated(levels: Floats, columns: npt.NDArray[Any], bands: npt.NDArray[Any]) -> Floats:
    """Levels between columns and bands (bilinear)."""
    columns, bands = np.clip(columns, 0, len(levels) - 1.001), np.clip(bands, 0, levels.shape[1] - 1.001)
    left, low = columns.astype(np.int64), bands.astype(np.int64)
    along, up = (columns - left)[:, np.newaxis].astype(np.float32), (bands - low).astype(np.float32)
    right = np.minimum(left + 1, len(levels) - 1)
    early = levels[left][:, low] * (1 - up) + levels[left][:, low + 1] * up
    late = levels[right][:, low] * (1 - up) + levels[right][:, low + 1] * up
    between: Floats = early * (1 - along) + late * along
    return between


def _blocks(values: Floats) -> Floats:
    """(blocks, pixels) from (columns, bands); what does not fill a block at the top is left out."""
    bands = values.shape[1] // _BLOCK_BANDS * _BLOCK_BANDS
    rows = len(values) // _BLOCK_COLUMNS
    floored = _above_floor(values[:, :bands].reshape(rows, _BLOCK_COLUMNS, bands), (1, 2))
    split = floored.reshape(rows, _BLOCK_COLUMNS, bands // _BLOCK_BANDS, _BLOCK_BANDS)
    blocks: Floats = split.transpose(0, 2, 1, 3).reshape(-1, _BLOCK_COLUMNS * _BLOCK_BANDS)
    return blocks
