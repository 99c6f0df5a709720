"""Listen without a model: find the sounds in a recording, count beeps, and read spoken digits.

A recording is cut at its silences. A stretch whose energy lies in one narrow band is a beep; any other is compared
with the spoken digits of a gallery by its log-mel picture, stretched to a fixed length.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import zoom

from core.errors import InterplayError
from core.media.audio import Samples

RATE_HZ = 16_000

_HOP = RATE_HZ // 100
_WINDOW = 400
_BANDS = 24
_TOP_HZ = 4000.0
_STEPS = 24
# A closure inside a word ("six") lasts under 0.1 s; the sounds of our stimuli stand at least 0.2 s apart.
_LONGEST_CLOSURE_S = 0.13
_SHORTEST_SOUND_S = 0.05
_BELOW_PEAK = 0.04
_TRIMS = (0.02, 0.03, 0.04, 0.055, 0.08, 0.12)
_QUIETEST = 0.001
_PURE = 0.8
_LEAST_LIKENESS = 0.8


class NotOneWord(InterplayError):
    """A reference recording that is not one word between silences."""


def sounds(samples: Samples, below_peak: float = _BELOW_PEAK) -> list[Samples]:
    """The stretches between silences, in order.

    Args:
        samples: Mono at `RATE_HZ`, in [-1, 1].
        below_peak: What counts as sound, as a share of the loudest hundredth of a second.
    """
    frames = samples[: len(samples) // _HOP * _HOP].reshape(-1, _HOP)
    if not len(frames):
        return []
    level = np.sqrt(np.mean(frames.astype(np.float64) ** 2, axis=1))
    loud = np.flatnonzero(level > max(_QUIETEST, below_peak * float(level.max())))
    if not len(loud):
        return []
    cuts = np.flatnonzero(np.diff(loud) * _HOP > _LONGEST_CLOSURE_S * RATE_HZ) + 1
    stretches = [(int(run[0]) * _HOP, (int(run[-1]) + 1) * _HOP) for run in np.split(loud, cuts)]
    return [samples[start:end] for start, end in stretches if end - start >= _SHORTEST_SOUND_S * RATE_HZ]


def is_beep(sound: Samples) -> bool:
    """Whether nearly all energy lies in one narrow band, as in a tone and in no voice."""
    power = np.abs(np.fft.rfft(sound * np.hanning(len(sound)))) ** 2
    half_width = max(2, round(60 * len(sound) / RATE_HZ))
    peak = int(power.argmax())
    return bool(power[max(0, peak - half_width) : peak + half_width + 1].sum() > _PURE * power.sum())


def fingerprint(sound: Samples) -> NDArray[np.float32]:
    """Log-mel picture stretched to a fixed length, as a vector of mean 0 and length 1."""
    padded = np.pad(sound, (0, max(0, _WINDOW + _HOP - len(sound))))
    frames = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP] * np.hanning(_WINDOW)
    energy = np.abs(np.fft.rfft(frames, axis=1)) ** 2 @ _mel_filters().T
    floor = 1e-4 * energy.max() + 1e-12
    picture = np.log(np.maximum(energy, floor))
    stretched = zoom(picture, (_STEPS / len(picture), 1), order=1, grid_mode=True, mode="nearest")
    vector = (stretched - stretched.mean(axis=0)).ravel()
    return (vector / (np.linalg.norm(vector) + 1e-9)).astype(np.float32)


def references(recording: Samples) -> NDArray[np.float32]:
    """Fingerprints of one spoken digit, trimmed at several loudnesses, because codecs move the edges of a word.

    Returns:
        Shape (n, d).

    Raises:
        NotOneWord: The recording holds no sound, or several stretches of it.
    """
    trimmed = [sounds(recording, below_peak) for below_peak in _TRIMS]
    if any(len(stretches) != 1 for stretches in trimmed):
        raise NotOneWord(
            f"a recording of one digit holds {len(trimmed[0])} stretches of sound; give one word in silence"
        )
    return np.stack([fingerprint(stretches[0]) for stretches in trimmed])


def count_beeps(samples: Samples) -> int:
    """How many beeps the recording holds."""
    return sum(is_beep(sound) for sound in sounds(samples))


def spoken_digits(
    samples: Samples, values: NDArray[np.int64], fingerprints: NDArray[np.float32]
) -> tuple[int | None, ...]:
    """The digit of each stretch that is no beep, in order; None where no digit is near.

    Args:
        samples: Mono at `RATE_HZ`.
        values: Shape (n,), the digits of the gallery.
        fingerprints: Shape (n, d), their fingerprints.
    """
    heard: list[int | None] = []
    for sound in sounds(samples):
        if is_beep(sound):
            continue
        likeness = fingerprints @ fingerprint(sound) if len(values) else np.zeros(1)
        best = int(likeness.argmax())
        heard.append(int(values[best]) if likeness[best] >= _LEAST_LIKENESS else None)
    return tuple(heard)


def _mel_filters() -> NDArray[np.float64]:
    """Triangular filters, equally spaced on the mel scale of O'Shaughnessy (2595 log10(1 + f / 700)); (bands, bins)."""
    top_mel = 2595 * np.log10(1 + _TOP_HZ / 700)
    edges_hz = 700 * (10 ** (np.linspace(0, top_mel, _BANDS + 2) / 2595) - 1)
    bins_hz = np.fft.rfftfreq(_WINDOW, 1 / RATE_HZ)
    rise = (bins_hz - edges_hz[:-2, None]) / np.diff(edges_hz)[:-1, None]
    fall = (edges_hz[2:, None] - bins_hz) / np.diff(edges_hz)[1:, None]
    return np.clip(np.minimum(rise, fall), 0, None)
