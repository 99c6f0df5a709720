"""Spectra of a sound, and what they tell of its noise and its bandwidth."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.ndimage import median_filter, uniform_filter1d
from scipy.signal import get_window

from curation.filters.views import Sound

Powers = npt.NDArray[np.float64]

WINDOW_S = 0.032
UNITS_MAX = 500
"""Excerpts of a long sound: 32 s in all, evenly spread."""
UNITS_MIN = 8
SMOOTH_BINS = 9
TONE_BINS = 41
"""Tones narrower than half of so many bins (640 Hz) are no noise."""
QUIET_PERCENT = 10.0
QUIET_BIAS = 1.45
"""Mean power of white noise over what `_noise_floor` makes of it: between 1.34 (0.6 s) and 1.49 (a minute)."""
POWER_FLOOR = 1e-14
RATIO_MIN = 1e-3
EDGE_SHARE = 1e-6
"""The band ends where the power is 60 dB below its peak for good."""


@dataclass(frozen=True)
class Noise:
    """How loud a sound is over its steady noise, and how white that is: 1 is white, real places are far below."""

    snr_db: float
    whiteness: float


@dataclass(frozen=True)
class Band:
    """`energy_99_hz` is where 99% of the energy lies below, `edge_hz` where the spectrum has fallen by 60 dB."""

    energy_99_hz: float
    edge_hz: float


def noise_of(sound: Sound) -> Noise | None:
    """A blind estimate of signal to noise; None for sounds shorter than half a second, and silence.

    The noise in each band is the power in its quietest tenth of time (quantile-based noise estimation: Stahl, Fischer
    and Bippus, ICASSP 2000), the median over neighbouring bands, so that tones that last are no noise. What is noise by
    nature (rain, applause, an engine) has a low ratio, too.
    """
    units = _units(sound)
    band = band_of(sound)
    if units.shape[1] < UNITS_MIN or band is None:
        return None
    powers = _powers(units)
    floor = _noise_floor(powers)
    noise = max(float(floor.mean()) * QUIET_BIAS, POWER_FLOOR)
    ratio = max((float(powers.mean()) - noise) / noise, RATIO_MIN)
    inside = floor[: max(1, int(band.edge_hz * WINDOW_S))] + POWER_FLOOR
    return Noise(10 * float(np.log10(ratio)), float(np.exp(np.log(inside).mean()) / inside.mean()))


def band_of(sound: Sound) -> Band | None:
    """How far up the sound reaches, by its mean spectrum; None for silence."""
    units = _units(sound)
    window = get_window("blackmanharris", units.shape[2])  # its side lobes are below the 60 dB that are looked for
    centred = units - units.mean(axis=2, keepdims=True)
    powers = np.square(np.abs(np.fft.rfft(centred * window, axis=2))).mean(axis=(0, 1))
    if powers.sum() <= POWER_FLOOR * units.shape[2]:
        return None
    frequencies_hz = np.fft.rfftfreq(units.shape[2], 1 / sound.sample_rate_hz)
    below = np.cumsum(powers) / powers.sum()
    within = np.flatnonzero(powers >= powers.max() * EDGE_SHARE)
    return Band(float(frequencies_hz[np.searchsorted(below, 0.99)]), float(frequencies_hz[within[-1]]))


def _units(sound: Sound) -> npt.NDArray[np.float32]:
    """Excerpts of two windows each, evenly spaced: (channels, units, samples); a shorter sound is one, padded."""
    size = 2 * max(8, round(WINDOW_S * sound.sample_rate_hz))
    samples = np.pad(sound.samples, ((0, 0), (0, max(0, size - sound.samples.shape[1]))))
    count = min(samples.shape[1] // size, UNITS_MAX)
    starts = np.linspace(0, samples.shape[1] - size, count).astype(int)
    return samples[:, starts[:, np.newaxis] + np.arange(size)]


def _powers(units: npt.NDArray[np.float32]) -> Powers:
    """Power of each unit by frequency, the mean of three windows that overlap by half: (units, bins)."""
    size = units.shape[2] // 2
    window = get_window("hann", size)
    found = [
        np.square(np.abs(np.fft.rfft(units[:, :, start : start + size] * window, axis=2)))
        for start in (0, size // 2, size)
    ]
    # Without the first and the last bin, which hold the constant and half a band.
    powers: Powers = np.mean(found, axis=(0, 1))[:, 1:-1] / np.square(window).sum()
    return powers


def _noise_floor(powers: Powers) -> Powers:
    smooth = np.maximum(uniform_filter1d(powers, SMOOTH_BINS, axis=1), 0.0)  # running sums can end below zero
    floor: Powers = median_filter(np.percentile(smooth, QUIET_PERCENT, axis=0), TONE_BINS)
    return floor
