"""What filters look at: media decoded once, as small as judging needs."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from core.content import MediaRef
from core.media.audio import load_audio
from core.media.limits import MediaLimits
from core.media.video import Pixels

PICTURE_SIDE_PX = 512
FRAME_SIDE_PX = 128
EXCERPT_S = 600.0
EXCERPT_RATE_HZ = 16_000
FRAMES_HZ = 4


@dataclass(frozen=True)
class Picture:
    """An image: its own size, and its luma, float32 (height, width) in 0 to 255, at most 512 px wide and high."""

    width_px: int
    height_px: int
    luma: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Sound:
    """A sound: float32 (channels, samples) in about [-1, 1]; of long sounds the first ten minutes, mono, at 16 kHz."""

    duration_s: float
    sample_rate_hz: int
    samples: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Film:
    """A video, four frames a second.

    `brightest` (frames,) is the 99.9th percentile of each frame's luma, 0 to 255; `changes` (frames,) is the largest
    difference of luma between each frame and the first one, over all pixels of frames scaled to at most 128 px.
    """

    duration_s: float
    brightest: npt.NDArray[np.float32]
    changes: npt.NDArray[np.float32]


def see(image: Image.Image) -> Picture:
    """The view of a picture."""
    grey = image.convert("L")
    grey.thumbnail((PICTURE_SIDE_PX, PICTURE_SIDE_PX))
    return Picture(image.width, image.height, np.asarray(grey, dtype=np.float32))


def hear(data: bytes, ref: MediaRef, limits: MediaLimits) -> Sound:
    """The view of a sound; long ones are cut, because their whole would not fit into a worker's memory."""
    assert ref.duration_s is not None
    assert ref.sample_rate_hz is not None
    if ref.duration_s <= EXCERPT_S:
        return Sound(ref.duration_s, ref.sample_rate_hz, load_audio(data, None, mono=False, limits=limits))
    start = load_audio(data, EXCERPT_RATE_HZ, limits=limits)[: int(EXCERPT_S * EXCERPT_RATE_HZ)]
    return Sound(ref.duration_s, EXCERPT_RATE_HZ, start[np.newaxis].copy())


def small_grey(frame: Pixels) -> Image.Image:
    """A frame in grey, at most 128 px wide and high."""
    image = Image.fromarray(frame).convert("L")
    image.thumbnail((FRAME_SIDE_PX, FRAME_SIDE_PX))
    return image


def watch(frames: Iterable[Image.Image], duration_s: float) -> Film:
    """The view of a video, from its frames as `small_grey` gives them."""
    first: npt.NDArray[np.float32] | None = None
    brightest, changes = [], []
    for frame in frames:
        luma = np.asarray(frame, dtype=np.float32)
        first = luma if first is None else first
        brightest.append(np.percentile(luma, 99.9))
        # A film may change its size midway, which is a change.
        changes.append(np.abs(luma - first).max() if luma.shape == first.shape else 255.0)
    return Film(duration_s, np.array(brightest, dtype=np.float32), np.array(changes, dtype=np.float32))
