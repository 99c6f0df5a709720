"""Who speaks when without any model: speech as many Gaussians over cepstra, merged while they sound alike.

The way of Chen and Gopalakrishnan, "Speaker, environment and channel change detection and clustering via the Bayesian
information criterion" (1998), which was the usual one before there were neural speaker embeddings. It is much weaker
than those: docs/speech.md says by how much.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from core.media.audio import Samples
from curation.speech.features import HOP_S, RATE_HZ, Rows, cepstra, power_spectra
from curation.speech.heard import Span, Turn
from curation.speech.vad import windows

DIMENSIONS = 12
PIECE_S = 3.5
"""Speech is first cut into pieces of about this length, of one speaker each, it is hoped."""
PENALTY = 3.0
"""Weight of the criterion's penalty: higher, and there are fewer speakers."""
GATE_DB = 30.0
"""Frames this far below the loud ones of a window tell of the room, not of the voice."""
SWITCH_PENALTY = 100.0
"""Log-likelihood that another speaker must win by before the turn is theirs."""
LEAST_FRAMES = 30
_RIDGE = 1e-3


@dataclass(frozen=True)
class _Voice:
    """A Gaussian over cepstra, as the sums of which it can be merged."""

    count: int
    total: npt.NDArray[np.float64]
    squares: npt.NDArray[np.float64]

    @classmethod
    def of(cls, rows: Rows) -> "_Voice":
        return cls(len(rows), rows.sum(axis=0), rows.T @ rows)

    def __add__(self, other: "_Voice") -> "_Voice":
        return _Voice(self.count + other.count, self.total + other.total, self.squares + other.squares)

    @cached_property
    def mean(self) -> npt.NDArray[np.float64]:
        return self.total / self.count

    @cached_property
    def covariance(self) -> npt.NDArray[np.float64]:
        centred: npt.NDArray[np.float64] = self.squares / self.count - np.outer(self.mean, self.mean)
        return centred + _RIDGE * np.eye(DIMENSIONS)

    @cached_property
    def log_determinant(self) -> float:
        return float(np.linalg.slogdet(self.covariance)[1])

    def likelihoods(self, rows: Rows) -> npt.NDArray[np.float64]:
        """Log-likelihood of each row, up to what all voices share."""
        away = rows - self.mean
        distance = np.einsum("ij,jk,ik->i", away, np.linalg.inv(self.covariance), away)
        found: npt.NDArray[np.float64] = -0.5 * (self.log_determinant + distance)
        return found


@dataclass(frozen=True)
class LightDiarizer:
    """Tells speakers apart without a model."""

    @property
    def fingerprint(self) -> str:
        """Name and version."""
        return "light-diarizer@1"

    @property
    def lighter(self) -> bool:
        """It is the lighter way."""
        return True

    def load(self) -> None:
        """There is nothing to load."""

    def diarize(self, samples: Samples, speech: Sequence[Span]) -> list[Turn]:
        """Who speaks when; voices are told apart in each window of ten minutes, then the windows' voices merged."""
        heard = [part for part in (_listen(samples, window, speech) for window in windows(samples)) if part.stretches]
        voices = _merge([voice for part in heard for voice in part.voices])
        turns = [turn for part in heard for turn in part.turns(voices)]
        return turns or [Turn(span.start_s, span.end_s, "0") for span in speech]


@dataclass(frozen=True)
class _Part:
    """What is heard in one window: cepstra, which frames are loud, where speech is (in frames), and its voices."""

    start_s: float
    rows: Rows
    loud: npt.NDArray[np.bool_]
    stretches: list[slice]
    voices: list[_Voice]

    def turns(self, voices: Sequence[_Voice]) -> Iterator[Turn]:
        """Each stretch cut where another of all the voices takes over."""
        if not voices:
            return
        likelihoods = np.stack([voice.likelihoods(self.rows) for voice in voices], axis=1) * self.loud[:, None]
        for stretch in self.stretches:
            path = _best_path(likelihoods[stretch])
            changes = [0, *(np.flatnonzero(np.diff(path)) + 1), len(path)]
            for first, last in pairwise(changes):
                start_s, end_s = (self.start_s + (stretch.start + place) * HOP_S for place in (first, last))
                yield Turn(start_s, end_s, str(path[first]))


def _listen(samples: Samples, window: slice, speech: Sequence[Span]) -> _Part:
    heard = samples[window]
    rows = cepstra(heard)[:, :DIMENSIONS]
    start_s = window.start / RATE_HZ
    places = [
        slice(max(0, round((span.start_s - start_s) / HOP_S)), min(len(rows), round((span.end_s - start_s) / HOP_S)))
        for span in speech
    ]
    stretches = [place for place in places if place.stop > place.start]
    levels_db = 10 * np.log10(power_spectra(heard).sum(axis=1) + 1e-12)
    spoken = np.concatenate([levels_db[place] for place in stretches]) if stretches else np.zeros(1)
    loud = levels_db > np.percentile(spoken, 90) - GATE_DB
    pieces = [rows[piece][loud[piece]] for stretch in stretches for piece in _pieces(stretch)]
    return _Part(start_s, rows, loud, stretches, _merge([_Voice.of(p) for p in pieces if len(p) >= LEAST_FRAMES]))


def _pieces(stretch: slice) -> Iterator[slice]:
    length = stretch.stop - stretch.start
    count = max(1, round(length * HOP_S / PIECE_S))
    edges = [stretch.start + length * place // count for place in range(count + 1)]
    yield from (slice(first, last) for first, last in pairwise(edges))


def _merge(voices: Sequence[_Voice]) -> list[_Voice]:
    """Merge the two voices that one Gaussian tells of best, as long as the criterion is for it."""
    held = list(voices)
    gains = np.full((len(held), len(held)), np.inf)
    for row in range(len(held)):
        gains[row, :row] = [_criterion(held[row], held[column]) for column in range(row)]
    alive = list(range(len(held)))
    while len(alive) > 1:
        row, column = divmod(int(gains.argmin()), len(held))
        if gains[row, column] >= 0:
            break
        held[column] = held[row] + held[column]
        alive.remove(row)
        gains[row, :] = gains[:, row] = np.inf
        for other in alive:
            if other != column:
                gains[max(other, column), min(other, column)] = _criterion(held[other], held[column])
    return [held[place] for place in alive]


def _criterion(one: _Voice, other: _Voice) -> float:
    """How much worse one Gaussian tells of both than two do, less the penalty for two; below 0 they are one voice."""
    both = one + other
    worse = 0.5 * (
        both.count * both.log_determinant - one.count * one.log_determinant - other.count * other.log_determinant
    )
    parameters = DIMENSIONS + DIMENSIONS * (DIMENSIONS + 1) / 2
    return float(worse - PENALTY * 0.5 * parameters * np.log(both.count))


def _best_path(likelihoods: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The most likely voice of each frame where each change costs `SWITCH_PENALTY` (Viterbi)."""
    count, voices = likelihoods.shape
    came_from = np.zeros((count, voices), dtype=np.int64)
    score = likelihoods[0].copy()
    for frame in range(1, count):
        best = int(score.argmax())
        stays = score >= score[best] - SWITCH_PENALTY
        came_from[frame] = np.where(stays, np.arange(voices), best)
        score = np.maximum(score, score[best] - SWITCH_PENALTY) + likelihoods[frame]
    path = np.zeros(count, dtype=np.int64)
    path[-1] = int(score.argmax())
    for frame in range(count - 1, 0, -1):
        path[frame - 1] = came_from[frame, path[frame]]
    return path


def light_diarizer(model: str | None) -> LightDiarizer:
    """The one that needs no model, whatever is set."""
    del model
    return LightDiarizer()
