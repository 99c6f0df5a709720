"""What filters look at: media decoded once, as small as judging needs."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from av.audio.frame import AudioFrame
from PIL import Image

from core.content import MediaRef, Modality
from core.media.audio import Recorder, sound_frames
from core.media.image import load_image
from core.media.limits import MediaLimits
from core.media.video import Pixels, iter_frames
from curation.filters.thresholds import Thresholds

PICTURE_SIDE_PX = 512
FRAME_SIDE_PX = 128
EXCERPT_S = 600.0
EXCERPT_RATE_HZ = 16_000
FRAMES_HZ = 4
HISTOGRAM_BINS = 32


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
    """A video without its sound, four frames a second, each scaled to at most 128 px.

    Attributes:
        duration_s: How long it lasts.
        width_px: As shown.
        height_px: As shown.
        byte_count: Of the file, which holds the picture and nothing else.
        brightest: (frames,) the 99.9th percentile of each frame's luma, 0 to 255.
        changed: (frames,) the share of pixels whose luma differs by `video_change_min` from the last frame that had
            such pixels: so what moves slowly moves in the end. 0 for the first frame.
        luma_steps: (frames,) mean difference of luma from the frame before; 0 for the first frame.
        histogram_steps: (frames,) the share of pixels that changed their place in a histogram of luma of 32 bins from
            the frame before, in [0, 1]; 0 for the first frame.
    """

    duration_s: float
    width_px: int
    height_px: int
    byte_count: int
    brightest: npt.NDArray[np.float32]
    changed: npt.NDArray[np.float32]
    luma_steps: npt.NDArray[np.float32]
    histogram_steps: npt.NDArray[np.float32]


View = Picture | Sound | Film


def see(image: Image.Image) -> Picture:
    """The view of a picture."""
    grey = image.convert("L")
    grey.thumbnail((PICTURE_SIDE_PX, PICTURE_SIDE_PX))
    return Picture(image.width, image.height, np.asarray(grey, dtype=np.float32))


def hear(data: bytes, ref: MediaRef, limits: MediaLimits) -> Sound:
    """The view of a sound; long ones are cut, because their whole would not fit into a worker's memory."""
    hearing = Hearing()
    for frame in sound_frames(data, limits):
        hearing.take(frame)
        if hearing.has_enough:
            break
    return hearing.sound(ref)


class Hearing:
    """Makes the view of a sound from its frames, taken one by one as they are decoded."""

    def __init__(self) -> None:
        self._frames: deque[AudioFrame] = deque()
        self._rate_hz, self._sample_count = 0, 0
        self._excerpt: Recorder | None = None

    def take(self, frame: AudioFrame) -> None:
        """Hear the next frame."""
        if self._excerpt is not None:
            self._excerpt.take(frame)
            return
        self._rate_hz = self._rate_hz or frame.sample_rate
        self._sample_count += frame.samples
        self._frames.append(frame)
        if self._sample_count / self._rate_hz > EXCERPT_S:
            # All frames until now wait for this, for a sound that is not cut keeps its rate and its channels.
            self._excerpt = self._played_to(
                Recorder(EXCERPT_RATE_HZ, mono=True, most=round(EXCERPT_S * EXCERPT_RATE_HZ))
            )

    @property
    def has_enough(self) -> bool:
        """Whether more frames would change nothing."""
        return self._excerpt is not None and self._excerpt.is_full

    def sound(self, ref: MediaRef) -> Sound:
        """What was heard, of the sound that the reference names."""
        assert ref.duration_s is not None
        assert ref.sample_rate_hz is not None
        if self._excerpt is not None:
            return Sound(ref.duration_s, EXCERPT_RATE_HZ, self._excerpt.samples()[np.newaxis])
        samples = self._played_to(Recorder(None, mono=False)).samples()
        return Sound(ref.duration_s, ref.sample_rate_hz, samples)

    def _played_to(self, recorder: Recorder) -> Recorder:
        while self._frames:
            recorder.take(self._frames.popleft())
        return recorder


def small_grey(frame: Pixels) -> Image.Image:
    """A frame in grey, at most 128 px wide and high."""
    image = Image.fromarray(frame).convert("L")
    image.thumbnail((FRAME_SIDE_PX, FRAME_SIDE_PX))
    return image


def watch(frames: Iterable[Image.Image], ref: MediaRef, thresholds: Thresholds) -> Film:
    """The view of a video, from its frames as `small_grey` gives them."""
    watching = Watching(thresholds)
    for frame in frames:
        watching.take(frame)
    return watching.film(ref)


class Watching:
    """Makes the view of a video from its frames, as `small_grey` gives them, taken one by one."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._change_min = thresholds.video_change_min
        self._last: npt.NDArray[np.float32] | None = None
        self._differing: npt.NDArray[np.float32] | None = None
        self._rows: list[tuple[float, float, float, float]] = []

    def take(self, frame: Image.Image) -> None:
        """Watch the next frame."""
        luma = np.asarray(frame, dtype=np.float32)
        if self._last is None or self._differing is None:
            self._last = self._differing = luma
        changed = _changed(luma, self._differing, self._change_min)
        self._rows.append((float(np.percentile(luma, 99.9)), changed, *_steps(luma, self._last)))
        self._last, self._differing = luma, luma if changed else self._differing

    def film(self, ref: MediaRef) -> Film:
        """What was watched, of the video that the reference names."""
        assert ref.duration_s is not None
        assert ref.width_px is not None
        assert ref.height_px is not None
        brightest, changes, luma_steps, histogram_steps = np.array(self._rows, dtype=np.float32).T
        return Film(
            ref.duration_s, ref.width_px, ref.height_px, ref.byte_count, brightest, changes, luma_steps, histogram_steps
        )


def view_of(copy: bytes, ref: MediaRef, limits: MediaLimits, thresholds: Thresholds) -> View:
    """The view of a working copy; decoding belongs into a guarded process.

    Raises:
        MediaError: It cannot be decoded.
    """
    match ref.modality:
        case Modality.IMAGE:
            return see(load_image(copy, limits))
        case Modality.AUDIO:
            return hear(copy, ref, limits)
        case _:
            frames = (small_grey(pixels) for _, pixels in iter_frames(copy, at_hz=FRAMES_HZ, limits=limits))
            return watch(frames, ref, thresholds)


def _changed(luma: npt.NDArray[np.float32], other: npt.NDArray[np.float32], least: float) -> float:
    # A film may change its size midway, which changes all of it.
    return float((np.abs(luma - other) >= least).mean()) if luma.shape == other.shape else 1.0


def _steps(luma: npt.NDArray[np.float32], last: npt.NDArray[np.float32]) -> tuple[float, float]:
    if luma.shape != last.shape:
        return 255.0, 1.0
    first, second = (np.histogram(one, HISTOGRAM_BINS, (0, 256))[0] / one.size for one in (luma, last))
    return float(np.abs(luma - last).mean()), float(np.abs(first - second).sum() / 2)
