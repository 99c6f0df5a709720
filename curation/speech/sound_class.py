"""Speech, music or environment without a model: by how much of the sound is spoken, and whether it keeps to a scale."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.media.audio import Samples
from curation.speech.features import RATE_HZ
from curation.speech.heard import SoundClass, Span

SPEECH, MUSIC, ENVIRONMENT = "speech", "music", "environment"
CLASSES = (SPEECH, MUSIC, ENVIRONMENT)

SPEECH_SHARE_MIN = 0.5
"""From this share of what is audible on, a sound is speech."""
SCALE_MIN = 0.25
"""From this agreement of the tones with one scale of semitones on, a sound is music."""
TONES_MIN = 2
"""A horn or a bell has one, with its overtones."""
MUSIC_S_MIN = 2.5
"""A shorter one is a signal."""
AUDIBLE_DB = 40.0
"""Frames this far below the loudest one are silence."""
_FRAME, _HOP = 4096, 1024
_CHUNK_S = 60
_LOWEST_HZ, _HIGHEST_HZ = 110.0, 4000.0
_WEAKEST = 0.05
"""Tones weaker than this share of a frame's strongest are not counted."""
_TONE_SHARE_MIN = 0.04
"""A tone of the scale counts that is the strongest in this share of the frames."""
_SEMITONES = 12


@dataclass(frozen=True)
class LightSoundClassifier:
    """Speech where most of what is audible is spoken; music where sustained tones lie on one scale of semitones.

    Voices, animals and engines glide; instruments hold tones whose distances are whole semitones. What has no tones
    (drums alone) or another scale is not recognised as music: docs/speech.md has the confusion that was measured.
    """

    @property
    def fingerprint(self) -> str:
        """Name and version."""
        return "light-sound-class@1"

    def load(self) -> None:
        """There is nothing to load."""

    def classify(self, samples: Samples, speech: Sequence[Span]) -> SoundClass:
        """Classify a sound; the scores are the share of speech, the agreement with a scale, and what both leave."""
        tones = _tones(samples)
        spoken = min(1.0, sum(span.duration_s for span in speech) / tones.audible_s) if tones.audible_s else 0.0
        is_long = len(samples) / RATE_HZ >= MUSIC_S_MIN
        tuned = tones.agreement if is_long and tones.count >= TONES_MIN else 0.0
        scores = {SPEECH: spoken, MUSIC: tuned, ENVIRONMENT: 1 - max(spoken, tuned)}
        name = SPEECH if spoken >= SPEECH_SHARE_MIN else MUSIC if tuned >= SCALE_MIN else ENVIRONMENT
        return SoundClass(name, {kind: round(score, 4) for kind, score in scores.items()})


@dataclass(frozen=True)
class _Sustained:
    """Tones: their frames, pitches in semitones from 440 Hz, weights, and whether they are their frame's strongest."""

    frame: npt.NDArray[np.int64]
    pitch: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]
    strongest: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Tones:
    """How long something is audible; how much of it holds tones of one scale, and how many of them lead in turn."""

    audible_s: float
    agreement: float
    count: int


def _tones(samples: Samples) -> _Tones:
    levels, tones = [], []
    for spectra in _spectra(samples):
        levels.append(np.square(spectra, dtype=np.float64).sum(axis=1))
        tones.append(_sustained(spectra))
    loudest = max(level.max() for level in levels)
    audible = [level > loudest * 10 ** (-AUDIBLE_DB / 10) for level in levels]
    audible_s = float(sum(one.sum() for one in audible)) * _HOP / RATE_HZ if loudest > 0 else 0.0
    parts = []
    for part, loud in zip(tones, audible, strict=True):
        heard = loud[part.frame]
        parts.append((part.pitch[heard], part.weight[heard], part.strongest[heard]))
    pitch, weight, strongest = (np.concatenate(kind) for kind in zip(*parts, strict=True))
    audible_s = min(audible_s, len(samples) / RATE_HZ)
    if loudest <= 0 or not weight.sum():
        return _Tones(audible_s, 0.0, 0)
    # Mean resultant length of the tones' places between two semitones: 1 where all share one tuning, 0 anywhere.
    turn = (weight * np.exp(2j * np.pi * pitch)).sum() / weight.sum()
    offset = np.angle(turn) / (2 * np.pi)
    counts = np.bincount(np.round(pitch[strongest] - offset).astype(int) % _SEMITONES, minlength=_SEMITONES)
    # What glides holds a tone only where it turns round.
    held_share = counts.sum() / sum(one.sum() for one in audible)
    return _Tones(audible_s, float(np.abs(turn) * held_share), int((counts > _TONE_SHARE_MIN * counts.sum()).sum()))


def _spectra(samples: Samples) -> Iterator[npt.NDArray[np.float32]]:
    """Magnitudes of frames of a quarter second, a minute at a time, so that memory stays bounded."""
    from scipy.fft import rfft

    window = np.hanning(_FRAME).astype(np.float32)
    step = _CHUNK_S * RATE_HZ // _HOP * _HOP
    padded = np.pad(samples, (0, max(0, _FRAME - len(samples))))
    for start in range(0, max(1, len(padded) - _FRAME + 1), step):
        chunk = padded[start : start + step + _FRAME - _HOP]
        frames = np.lib.stride_tricks.sliding_window_view(chunk, _FRAME)[::_HOP]
        yield np.abs(rfft(frames * window, axis=1)).astype(np.float32)


def _sustained(spectra: npt.NDArray[np.float32]) -> _Sustained:
    """Tones that are there in two frames in a row."""
    low, high = round(_LOWEST_HZ / RATE_HZ * _FRAME), round(_HIGHEST_HZ / RATE_HZ * _FRAME)
    band = spectra[:, low:high]
    logs = np.log(band + 1e-9)
    left, centre, right = logs[:, :-2], logs[:, 1:-1], logs[:, 2:]
    strong = band[:, 1:-1] > _WEAKEST * band.max(axis=1, keepdims=True)
    peaks = (centre > left) & (centre > right) & strong
    near = peaks.copy()
    near[:, 1:] |= peaks[:, :-1]
    near[:, :-1] |= peaks[:, 1:]
    peaks[1:] &= near[:-1]
    peaks[0] = False
    frame, place = np.nonzero(peaks)
    before, here, after = left[frame, place], centre[frame, place], right[frame, place]
    # The vertex of the parabola through three points of the logarithm.
    shift = 0.5 * (before - after) / (before - 2 * here + after)
    tones_hz = (place + 1 + low + shift).astype(np.float64) * RATE_HZ / _FRAME
    pitch = _SEMITONES * np.log2(tones_hz / 440)
    weight = np.sqrt(band[frame, place + 1].astype(np.float64))
    strongest = np.zeros(len(frame), dtype=bool)
    order = np.lexsort((weight, frame))
    strongest[order[np.flatnonzero(np.diff(frame[order], append=-1))]] = True
    return _Sustained(frame, pitch, weight, strongest)


def light_sound_classifier(model: str | None) -> LightSoundClassifier:
    """The one that needs no model."""
    del model
    return LightSoundClassifier()
