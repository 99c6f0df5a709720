"""Near films: frames that look alike tell how their clocks run, then frames of the same moments are compared."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from curation.dedupe.index import Rows
from curation.dedupe.match import Match, Pair, inverse, placed
from curation.dedupe.pictures import INVERSE, Hits, Pictures, view_hits
from curation.dedupe.register import EMPTY_EVIDENCE, Maps, compare
from curation.dedupe.timeline import Alignment, alignments, grouped, overlap

FLAT_SPREAD = 1.0
KEY_BITS = 4
"""A frame whose hash differs in so few bits from that of the last indexed one is not indexed."""
STEP_S = 0.5
LINES = 6
MOMENTS = 12
SAME_MOMENTS_MIN = 0.5
"""The part of the compared moments that must show the same."""
SHARED_MIN = 2 / 3
"""How far both must agree, on average over the shorter film. By half, a show of two photos agrees with all films that
show one of them."""


@dataclass(frozen=True)
class Films:
    """Frames of films one behind another; film i has those from starts[i] to starts[i + 1], hz[i] of them a second."""

    frames: Pictures
    starts: Rows
    hz: npt.NDArray[np.float64]

    def luma(self, film: int) -> npt.NDArray[np.uint8]:
        """The frames of a film, (frames, 32, 32)."""
        return self.frames.luma[self.starts[film] : self.starts[film + 1]]

    def seconds(self, film: int) -> float:
        """How long a film is."""
        return float((self.starts[film + 1] - self.starts[film]) / self.hz[film])


def near_films(films: Films, asked: npt.NDArray[np.bool_], shared_min: float = SHARED_MIN) -> dict[Pair, Match]:
    """All near pairs (i, j), i < j, of which one at least is asked for.

    Two films are compared when frames of theirs look alike, as pictures do, along lines of constant speed; they are
    near when half of the moments that are compared show the same, and when their blocks correlate by `shared_min` on
    average over the shorter one, where what only one of them shows counts 0. Who asks for less than half there asks for
    no more of the compared moments.
    """
    owners = np.repeat(np.arange(len(films.hz)), np.diff(films.starts))
    indexed = np.flatnonzero(_is_key(films, owners))
    keys = Pictures(films.frames.luma[indexed], films.frames.views[indexed])
    is_asked = asked[owners[indexed]]
    hits = view_hits(keys, np.flatnonzero(is_asked), np.flatnonzero(~is_asked))
    found: dict[Pair, Match] = {}
    for pair, rows in grouped(owners[indexed[hits.reference]], owners[indexed[hits.other]]):
        match = _compared(films, pair, hits.part(rows), indexed, shared_min)
        if match is not None:
            found[pair] = match
    return found


def _is_key(films: Films, owners: Rows) -> npt.NDArray[np.bool_]:
    """Which frames are indexed: of a scene that stands still, one."""
    luma, wholes = films.frames.luma, films.frames.views[:, 0]
    key = luma.reshape(len(luma), -1).std(axis=1) >= FLAT_SPREAD
    last = -1
    for place in np.flatnonzero(key):
        is_new = last < 0 or owners[last] != owners[place]
        if is_new or int(wholes[last] ^ wholes[place]).bit_count() > KEY_BITS:
            last = place
        else:
            key[place] = False
    keys: npt.NDArray[np.bool_] = key
    return keys


def _compared(films: Films, pair: Pair, hits: Hits, indexed: Rows, shared_min: float) -> Match | None:
    """The best of some alignments, if it is good enough."""
    # What is first must not depend on the order in which films come.
    low, high = pair
    first, second = (high, low) if _is_less(films, high, low) else (low, high)
    frames = indexed[hits.reference], indexed[hits.other]
    is_forward = (frames[0] >= films.starts[first]) & (frames[0] < films.starts[first + 1])
    one, other = np.where(is_forward, *frames), np.where(is_forward, *frames[::-1])
    first_s = (one - films.starts[first]) / films.hz[first]
    second_s = (other - films.starts[second]) / films.hz[second]
    maps = np.where(is_forward[:, None, None], hits.maps(), inverse(hits.maps()))
    turnings = np.where(is_forward, hits.turning, INVERSE[hits.turning])
    is_first_whole = is_forward & (hits.window > 0)
    order = np.lexsort((is_first_whole, second_s, first_s, hits.window, turnings, hits.bits))
    best: tuple[float, Alignment, Maps] | None = None
    for line in alignments(first_s, second_s, STEP_S, LINES):
        on_line = np.abs(second_s - line.speed * first_s - line.offset_s) <= STEP_S / 2 + 1e-9
        # Frames that are nearly symmetric look alike under several turnings; most frames tell which it is.
        likely = on_line & (turnings == np.bincount(turnings[on_line]).argmax())
        tried = _along(films, (first, second), line, maps[order[np.argmax(likely[order])]], shared_min)
        if tried is not None and (best is None or tried[0] < best[0]):
            best = (tried[0], line, tried[1])
    if best is None:
        return None
    distance, line, placing = best
    if first > second:
        line, placing = line.reversed(), inverse(placing)
    clocks = {"offset_s": round(line.offset_s, 2) + 0.0, "speed": round(line.speed, 3)}
    return Match(round(distance, 4), placed(placing) | clocks)


def _along(films: Films, pair: Pair, line: Alignment, start: Maps, shared_min: float) -> tuple[float, Maps] | None:
    """Distance and map along an alignment, None where the films are not near."""
    first, second = pair
    seconds = films.seconds(first), films.seconds(second)
    begin, end = overlap(line, *seconds)
    share_min = shared_min * min(seconds[0], seconds[1] / line.speed) / max(end - begin, 1e-9)
    if share_min > 1:
        return None
    at_s = np.linspace(begin, end, MOMENTS * 2 + 1)[1::2]
    one, other = films.luma(first), films.luma(second)
    here = np.unique(np.minimum((at_s * films.hz[first]).astype(np.int64), len(one) - 1))
    there = np.round((here / films.hz[first] * line.speed + line.offset_s) * films.hz[second]).astype(np.int64)
    there = np.clip(there, 0, len(other) - 1)
    agreement = compare(one[here], other[there], np.repeat(start[np.newaxis], len(here), axis=0))
    # All moments count the same but for those at which there is next to nothing to see, as in a fade to black.
    weights = np.minimum(agreement.evidence, EMPTY_EVIDENCE)
    if weights.sum() == 0:
        return None
    share, same = (float((values * weights).sum() / weights.sum()) for values in (agreement.share, agreement.is_same))
    if same < min(SAME_MOMENTS_MIN, shared_min) or share < share_min:
        return None
    clearest = int(np.argmax(agreement.share * (weights > 0)))
    return max(0.0, 1 - share), agreement.maps[clearest]


def _is_less(films: Films, one: int, other: int) -> bool:
    return films.luma(one).tobytes() < films.luma(other).tobytes()
