"""What media look or sound like: perceptual hashes, and the renditions by which duplicates are found.

The hashes are bits from which nothing can be seen or heard: an index of other people's media is made of them. All are
pHash of 256 bits (the signs of the 16 x 16 lowest frequencies of a cosine transform) from imagehash: of a picture, of a
frame each second, of the spectrogram of a second each half second. Pictures have a dHash too.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

import imagehash
import numpy as np
import numpy.typing as npt
from PIL import Image

from core.content import Modality
from curation.dedupe import renditions, sounds

IMAGE_METHOD = "image_hash@1"
VIDEO_METHOD = "video_hash@1"
AUDIO_METHOD = "audio_hash@1"
METHOD_OF_MODALITY = {
    Modality.IMAGE: IMAGE_METHOD,
    Modality.VIDEO: VIDEO_METHOD,
    Modality.AUDIO: AUDIO_METHOD,
}

HASH_SIDE = 16
IMAGE_SIDE_PX = 256
FLAT_SPREAD = 1.0
"""Below this standard deviation of luma there is nothing to hash but noise."""
TURNS = (None, *Image.Transpose)
"""The eight ways to turn and mirror a picture; the first leaves it as it is."""

AUDIO_RATE_HZ = sounds.AUDIO_RATE_HZ
_WINDOW = 512
_HOP = 128
_COLUMNS = 64
_FFT = 1024
_BANDS = 32
_BAND_EDGES_HZ = (150.0, 3600.0)
_RANGE_DB = 50.0
_QUIET = 10**-2.5
_STEP = _HOP * _COLUMNS // 2
_PIECE = 1 << 22

Samples = npt.NDArray[np.float32]


def image_looks(image: Image.Image) -> dict[str, Any]:
    """pHash and dHash under all quarter turns and mirrorings, in the order of `TURNS`, and the rendition.

    Both are None for a flat picture.
    """
    rendition = {renditions.IMAGE_METHOD: renditions.rendered_image(image)}
    grey = image.convert("L")
    grey.thumbnail((IMAGE_SIDE_PX, IMAGE_SIDE_PX), Image.Resampling.LANCZOS)
    if np.asarray(grey).std() < FLAT_SPREAD:
        return {IMAGE_METHOD: None} | rendition
    turned = [grey if turn is None else grey.transpose(turn) for turn in TURNS]
    hashes = {
        "phash": [perceptual_hash(one) for one in turned],
        "dhash": [str(imagehash.dhash(one)) for one in turned],
    }
    return {IMAGE_METHOD: hashes} | rendition


def video_looks(frames: Iterable[Image.Image]) -> dict[str, Any]:
    """pHash of a frame each second, None for flat ones, and the rendition.

    Args:
        frames: Two a second.
    """
    given = list(frames)
    hashes = [
        None if np.asarray(frame).std() < FLAT_SPREAD else perceptual_hash(frame)
        for frame in given[:: renditions.FILM_HZ]
    ]
    return {
        VIDEO_METHOD: {"first": 0, "hashes": hashes},
        renditions.VIDEO_METHOD: renditions.rendered_video(given),
    }


def audio_looks(samples: Samples) -> dict[str, Any]:
    """pHash of the spectrogram of each second, half a second apart, None for what is much quieter, and the rendition.

    The grid lies around the sound's centre of energy, which codecs that add a delay or padding leave on the same spot
    of the sound, to a fraction of a sample.

    Args:
        samples: Mono at 8 kHz, shape (samples,).
    """
    rendition = {renditions.AUDIO_METHOD: renditions.rendered_audio(samples)}
    centre = _centre(samples)
    if centre is None:
        return {AUDIO_METHOD: {"first": 0, "hashes": []}} | rendition
    before, behind = centre // _STEP + 1, (len(samples) - centre) // _STEP + 1
    margin = _STEP + _WINDOW
    padded = np.pad(samples, (margin + (before + 1) * _STEP, margin + (behind + 1) * _STEP))
    origin = centre + (before + 1) * _STEP + margin
    loudest, loudness = 0.0, list[float]()
    hashes: list[str | None] = []
    for place in range(-before, behind + 1):
        spectrum = _spectrum(padded, origin + place * _STEP)
        loudness.append(float(spectrum.sum()))
        # The spectra of hours do not fit into memory; what is too quiet by now is too quiet in the end.
        loudest = max(loudest, loudness[-1])
        hashes.append(_spectral_hash(spectrum) if loudness[-1] >= loudest * _QUIET else None)
    hashes = [hashed if loud >= loudest * _QUIET else None for hashed, loud in zip(hashes, loudness, strict=True)]
    return {AUDIO_METHOD: {"first": -before, "hashes": hashes}} | rendition


def _centre(samples: Samples) -> int | None:
    """The sample around which the sound's energy lies, in pieces, for hours do not fit in double precision."""
    total = moment = 0.0
    for start in range(0, len(samples), _PIECE):
        energy = np.square(samples[start : start + _PIECE], dtype=np.float64)
        total += float(energy.sum())
        moment += float(energy @ np.arange(start, start + len(energy)))
    return round(moment / total) if total else None


def perceptual_hash(image: Image.Image) -> str:
    """pHash of 256 bits as hexadecimal digits."""
    return str(imagehash.phash(image, hash_size=HASH_SIDE, highfreq_factor=2))


def coarse_hash(text: str) -> str:
    """Of a hash of 256 bits, the 8 x 8 that stand for the lowest frequencies, as 16 hexadecimal digits."""
    row_digits = HASH_SIDE // 4
    return "".join(text[row * row_digits : row * row_digits + 2] for row in range(8))


def _spectrum(samples: Samples, centre: int) -> npt.NDArray[np.float64]:
    """Power in 32 bands (rows) of 64 windows (columns) around a sample."""
    start = centre - _STEP - _WINDOW // 2
    piece = samples[start : start + 2 * _STEP + _WINDOW]
    windows = np.lib.stride_tricks.sliding_window_view(piece, _WINDOW)[::_HOP][:_COLUMNS]
    power = np.abs(np.fft.rfft(windows * np.hanning(_WINDOW), n=_FFT)) ** 2
    return (power @ _band_weights()).T


@cache
def _band_weights() -> npt.NDArray[np.float64]:
    """Triangles of equal width in log frequency: (frequencies, bands), each band sums to 1."""
    edges = np.geomspace(*_BAND_EDGES_HZ, _BANDS + 2)
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    frequencies = np.fft.rfftfreq(_FFT, 1 / AUDIO_RATE_HZ)[:, np.newaxis]
    weights = np.maximum(0, np.minimum((frequencies - low) / (middle - low), (high - frequencies) / (high - middle)))
    normed: npt.NDArray[np.float64] = weights / np.maximum(weights.sum(axis=0), 1e-9)
    return normed


def _spectral_hash(spectrum: npt.NDArray[np.float64]) -> str:
    levels_db = 10 * np.log10(spectrum + 1e-12)
    above_floor = np.maximum(levels_db - levels_db.max() + _RANGE_DB, 0) / _RANGE_DB
    return perceptual_hash(Image.fromarray(np.round(above_floor * 255).astype(np.uint8)))
