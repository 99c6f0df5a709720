"""Renditions: media made so small that a copy still agrees with them, as they are stored and as they are compared.

A picture is 32 x 32 grey pixels, a film such a picture each half second, a sound its semitones 16 times a second.
Everything else that finding duplicates needs is worked out from them.
"""

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from core.content import Modality
from curation.dedupe.index import Rows
from curation.dedupe.pictures import VIEWS, Pictures
from curation.dedupe.register import SIDE
from curation.dedupe.sounds import BANDS, VARIANTS, Samples, levels_of, piece_hashes

IMAGE_METHOD = "image_hash@2"
VIDEO_METHOD = "video_hash@2"
AUDIO_METHOD = "audio_hash@2"
METHODS = {Modality.IMAGE: IMAGE_METHOD, Modality.VIDEO: VIDEO_METHOD, Modality.AUDIO: AUDIO_METHOD}

FILM_HZ = 2
FRAMES_MAX = 1200
"""Of longer films, fewer frames a second are kept."""
FLAT_SPREAD = 1.0
"""Below this standard deviation of luma there is nothing to compare but noise."""
ROW_SIZES = {Modality.IMAGE: SIDE * SIDE, Modality.VIDEO: SIDE * SIDE, Modality.AUDIO: BANDS}
HASH_COUNTS = {Modality.IMAGE: VIEWS, Modality.VIDEO: VIEWS, Modality.AUDIO: len(VARIANTS)}


def rendered_image(image: Image.Image) -> dict[str, Any] | None:
    """The rendition of a picture; None for one of one tone."""
    small = _small(image)
    return None if small.std() < FLAT_SPREAD else {"luma": base64.b64encode(small.tobytes()).decode()}


def rendered_video(frames: Sequence[Image.Image]) -> dict[str, Any]:
    """The rendition of a film of which two frames a second are given."""
    every = max(1, -(-len(frames) // FRAMES_MAX))
    return {"hz": FILM_HZ / every, "luma": _packed(np.array([_small(frame) for frame in frames[::every]], np.uint8))}


def rendered_audio(samples: Samples) -> dict[str, Any]:
    """The rendition of a sound: mono at 8 kHz, shape (samples,)."""
    return {"levels": _packed(levels_of(samples))}


@dataclass(frozen=True)
class Rendered:
    """A rendition that is ready to be compared: its rows of bytes, `hz` of a film, hashes, and where they belong."""

    rows: npt.NDArray[np.uint8]
    hashes: npt.NDArray[np.uint64]
    places: Rows
    hz: float = 0.0


def read(modality: Modality, look: Mapping[str, Any] | None) -> Rendered:
    """A stored rendition with its hashes; without rows where there is nothing to compare."""
    rows: npt.NDArray[np.uint8]
    if look is None:
        rows = np.zeros((0, ROW_SIZES[modality]), dtype=np.uint8)
        return Rendered(rows, np.zeros((0, HASH_COUNTS[modality]), dtype=np.uint64), np.zeros(0, dtype=np.int64))
    if modality == Modality.AUDIO:
        levels = _unpacked(look["levels"], BANDS)
        hashes, places = piece_hashes(levels)
        return Rendered(levels, hashes, places)
    if modality == Modality.IMAGE:
        rows = np.frombuffer(base64.b64decode(look["luma"]), dtype=np.uint8).reshape(1, -1)
    else:
        rows = _unpacked(look["luma"], SIDE * SIDE)
    hashes = Pictures.of(rows.reshape(-1, SIDE, SIDE)).views
    return Rendered(rows, hashes, np.arange(len(rows)), float(look.get("hz", 0.0)))


def _small(image: Image.Image) -> npt.NDArray[np.uint8]:
    grey = image.convert("L")
    return np.asarray(grey.resize((SIDE, SIDE), Image.Resampling.LANCZOS, reducing_gap=3.0), dtype=np.uint8)


def _packed(values: npt.NDArray[np.uint8]) -> str:
    return base64.b64encode(zlib.compress(values.tobytes(), 6)).decode()


def _unpacked(text: str, size: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8).reshape(-1, size)
