"""What the ear hears in short stretches of sound: mel bands and cepstra."""

from functools import cache

import numpy as np
import numpy.typing as npt

from core.media.audio import Samples

RATE_HZ = 16000
FRAME = 400
HOP = 160
HOP_S = HOP / RATE_HZ
BANDS = 40
CEPSTRA = 20
# Below telephones' lowest and above their highest frequency there is no speech in much of what is recorded.
LOWEST_HZ, HIGHEST_HZ = 100.0, 3800.0
FLOOR = 1e-10

Rows = npt.NDArray[np.float64]


def power_spectra(samples: Samples) -> npt.NDArray[np.float32]:
    """Power of each frequency in frames of 25 ms, one every 10 ms; shape (frames, 257), none for less than a frame.

    Args:
        samples: Mono, at 16 kHz.
    """
    from scipy.fft import rfft

    if len(samples) < FRAME:
        return np.zeros((0, 257), dtype=np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(np.float32, copy=False), FRAME)[::HOP]
    spectra = rfft(frames * np.hanning(FRAME).astype(np.float32), 512, axis=1)
    power: npt.NDArray[np.float32] = np.square(spectra.real) + np.square(spectra.imag)
    return power


def cepstra(samples: Samples) -> Rows:
    """Mel-frequency cepstral coefficients 1 to 19 of each frame (Davis and Mermelstein, 1980); shape (frames, 19).

    Coefficient 0, the loudness, is left out: it tells of the distance to the microphone.

    Args:
        samples: Mono, at 16 kHz.
    """
    from scipy.fft import dct

    bands = np.log(np.maximum(power_spectra(samples) @ _mel_filters().T, FLOOR))
    found: Rows = dct(bands, norm="ortho", axis=1)[:, 1:CEPSTRA].astype(np.float64)
    return found


@cache
def _mel_filters() -> npt.NDArray[np.float32]:
    """Triangles over the mel scale (O'Shaughnessy, 1987); shape (bands, 257)."""
    lowest, highest = (2595 * np.log10(1 + hz / 700) for hz in (LOWEST_HZ, HIGHEST_HZ))
    edges_hz = 700 * (10 ** (np.linspace(lowest, highest, BANDS + 2) / 2595) - 1)
    bins_hz = np.arange(257) * RATE_HZ / 512
    left, centre, right = edges_hz[:-2, None], edges_hz[1:-1, None], edges_hz[2:, None]
    rising, falling = (bins_hz - left) / (centre - left), (right - bins_hz) / (right - centre)
    filters: npt.NDArray[np.float32] = np.maximum(0, np.minimum(rising, falling)).astype(np.float32)
    return filters
