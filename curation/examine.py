"""What is done with one untrusted file, in a worker process: decode, strip, take apart, look, judge."""

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from av.audio.frame import AudioFrame
from av.video.frame import VideoFrame
from PIL import Image

from core.content import MediaRef, Modality
from core.media.audio import Recorder, is_stripped, strip_container_into
from core.media.container import ffmpeg_errors
from core.media.errors import MediaError, TooLarge
from core.media.image import strip_image_into
from core.media.limits import MediaLimits
from core.media.probe import Decoding, MediaProbe, Shown, probe
from core.media.source import source_name
from core.media.video import demux_into, shown_at_rate
from curation.dedupe.looks import AUDIO_RATE_HZ, audio_looks, image_looks, video_looks
from curation.dedupe.renditions import FILM_HZ
from curation.filters.catalogue import Judgement, judge
from curation.filters.thresholds import Thresholds
from curation.filters.views import FRAMES_HZ, Hearing, Watching, see, small_grey

WORKING_COPY, SOUND = "working copy", "sound"
"""Names of the files that are made, which error texts say."""


@dataclass(frozen=True)
class Examined:
    """A working copy: what it is, what it looks or sounds like, and what the filters say. All JSON values."""

    ref: MediaRef
    looks: dict[str, Any]
    measures: dict[str, Any]
    drop_reason: str | None = None
    drop_measure: str | None = None


@dataclass(frozen=True)
class Examination:
    """A file examined: its working copy, and for a video its sound, which starts `offset_s` after the picture.

    `copies` are files with the bytes that the references name; a file that needs no change is its own working copy.
    """

    main: Examined
    sound: Examined | None = None
    offset_s: float = 0.0
    copies: tuple[Path, ...] = ()

    @property
    def named_copies(self) -> Iterator[tuple[Path, str]]:
        """The copies, each with the sha256 of its bytes."""
        refs = [one.ref.sha256 for one in (self.main, self.sound) if one is not None]
        return zip(self.copies, refs, strict=True)


def examine(path: Path, folder: Path, limits: MediaLimits, thresholds: Thresholds) -> Examination:
    """Decode a file in full and make its working copies, which are decoded in full too where they are other bytes.

    Args:
        path: The file.
        folder: An empty folder, for the working copies.
        limits: Bounds, for the working copies too.
        thresholds: Of the filters.

    Raises:
        MediaError: The file cannot be taken; the class says why.
        OSError: The file cannot be read, or the folder cannot be written.
    """
    if _is_bare(path, limits):
        seen = _seen(path, limits, thresholds)
        return Examination(_examined(seen, seen.found), copies=(path,))
    received = probe(path, limits)
    if received.modality == Modality.VIDEO:
        return _take_apart(path, folder, received, limits, thresholds)
    copy = folder / WORKING_COPY
    with _bounded(path, limits), copy.open("w+b") as target:
        strip = strip_image_into if received.modality == Modality.IMAGE else strip_container_into
        strip(target, path, limits)
    return Examination(_examined(_seen(copy, limits, thresholds), received), copies=(copy,))


def _is_bare(path: Path, limits: MediaLimits) -> bool:
    """Whether the file is its own working copy, as far as that is told without decoding it."""
    try:
        return is_stripped(path, limits)
    except MediaError:
        return False  # decoding says what is wrong with it


@contextmanager
def _bounded(path: Path, limits: MediaLimits) -> Iterator[None]:
    """What is written inside may be no larger than what is taken."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        raise TooLarge(f"{path}: its working copy has more than the {limits.max_bytes} bytes that are taken") from error


def _take_apart(
    path: Path, folder: Path, received: MediaProbe, limits: MediaLimits, thresholds: Thresholds
) -> Examination:
    picture, sound = folder / WORKING_COPY, folder / SOUND
    with _bounded(path, limits), picture.open("w+b") as shown, sound.open("w+b") as heard:
        offset_s = demux_into(shown, heard, path, limits)
    main = _examined(_seen(picture, limits, thresholds), received)
    if offset_s is None:
        return Examination(main, copies=(picture,))
    seen = _seen(sound, limits, thresholds)
    return Examination(main, _examined(seen, seen.found), offset_s, (picture, sound))


@dataclass(frozen=True)
class _Seen:
    """A working copy decoded once: what it is, what it looks or sounds like, and what the filters say."""

    found: MediaProbe
    looks: dict[str, Any]
    judgement: Judgement


def _seen(copy: Path, limits: MediaLimits, thresholds: Thresholds) -> _Seen:
    decoding = Decoding(copy, limits)
    shown = decoding.shown()
    with ffmpeg_errors(source_name(copy)):
        first = next(shown)
        match first:
            case Image.Image():
                return _picture(first, shown, decoding, thresholds)
            case AudioFrame():
                return _sound(chain([first], shown), decoding, thresholds)
            case _:
                return _film(chain([first], shown), decoding, thresholds)


def _picture(image: Image.Image, rest: Iterator[Shown], decoding: Decoding, thresholds: Thresholds) -> _Seen:
    for _ in rest:
        pass
    grey = image.convert("L")
    judgement = judge(see(grey), Modality.IMAGE, thresholds)
    return _Seen(decoding.found, image_looks(grey), judgement)


def _sound(frames: Iterable[Shown], decoding: Decoding, thresholds: Thresholds) -> _Seen:
    hearing, recorder = Hearing(), Recorder(AUDIO_RATE_HZ, mono=True)
    for frame in frames:
        assert isinstance(frame, AudioFrame)
        hearing.take(frame)
        recorder.take(frame)
    judgement = judge(hearing.sound(decoding.found.media_ref()), Modality.AUDIO, thresholds)
    del hearing
    return _Seen(decoding.found, audio_looks(recorder.samples()), judgement)


def _film(frames: Iterable[Shown], decoding: Decoding, thresholds: Thresholds) -> _Seen:
    pictures = (frame for frame in frames if isinstance(frame, VideoFrame))
    watching, looked_at = Watching(thresholds), []
    for place, (_, pixels) in enumerate(shown_at_rate(pictures, FRAMES_HZ)):
        grey = small_grey(pixels)
        watching.take(grey)
        if place % (FRAMES_HZ // FILM_HZ) == 0:
            looked_at.append(grey)
    judgement = judge(watching.film(decoding.found.media_ref()), Modality.VIDEO, thresholds)
    return _Seen(decoding.found, video_looks(looked_at), judgement)


def _examined(seen: _Seen, received: MediaProbe) -> Examined:
    facts = received.model_dump(mode="json", exclude={*MediaRef.model_fields}, exclude_none=True)
    drop = seen.judgement.drop
    return Examined(
        ref=seen.found.media_ref(),
        looks=seen.looks,
        measures={"as_received": facts, **seen.judgement.measures},
        drop_reason=drop.reason if drop else None,
        drop_measure=f"{drop.drop_class.value}: {drop.measure}" if drop else None,
    )
