"""What is done with one untrusted file, in a worker process: decode, strip, take apart, look, judge."""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from av.audio.frame import AudioFrame
from av.video.frame import VideoFrame
from PIL import Image

from core.content import MediaRef, Modality
from core.media.audio import Recorder, strip_container
from core.media.container import ffmpeg_errors
from core.media.errors import MediaError
from core.media.formats import FLAC, recognise
from core.media.image import strip_image
from core.media.limits import MediaLimits
from core.media.probe import Decoding, MediaProbe, Shown, probe
from core.media.segments import without_metadata
from core.media.source import read_source, source_name
from core.media.video import demux, shown_at_rate
from curation.dedupe.looks import AUDIO_RATE_HZ, audio_looks, image_looks, video_looks
from curation.dedupe.renditions import FILM_HZ
from curation.filters.catalogue import Judgement, judge
from curation.filters.thresholds import Thresholds
from curation.filters.views import FRAMES_HZ, Hearing, Watching, see, small_grey


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

    `copies` are the bytes that the references name.
    """

    main: Examined
    sound: Examined | None = None
    offset_s: float = 0.0
    copies: tuple[bytes, ...] = field(default=(), repr=False)


def examine(path: Path, limits: MediaLimits, thresholds: Thresholds) -> Examination:
    """Decode a file in full and make its working copies, which are decoded in full too where they are other bytes.

    Raises:
        MediaError: The file cannot be taken; the class says why.
    """
    bare = _bare(path, limits)
    if bare is not None:
        seen = _seen(bare, limits, thresholds, path)
        return Examination(_examined(seen, seen.found), copies=(bare,))
    received = probe(path, limits)
    if received.modality == Modality.VIDEO:
        return _take_apart(path, received, limits, thresholds)
    is_image = received.modality == Modality.IMAGE
    copy = strip_image(path.read_bytes(), limits) if is_image else strip_container(path, limits)
    return Examination(_examined(_seen(copy, limits, thresholds), received), copies=(copy,))


def _bare(path: Path, limits: MediaLimits) -> bytes | None:
    """The bytes of a file that is its own working copy, as far as that is told without decoding it."""
    try:
        data = read_source(path, limits)
        found = recognise(io.BytesIO(data), str(path))
        cut = without_metadata(data, found)
        if cut == data and found == FLAC:  # the end of its last frame is not found by its segments
            cut = strip_container(data, limits)
    except (MediaError, ValueError):
        return None  # decoding says what is wrong with it
    return data if cut == data else None


def _take_apart(path: Path, received: MediaProbe, limits: MediaLimits, thresholds: Thresholds) -> Examination:
    parts = demux(path, limits)
    main = _examined(_seen(parts.muted_video, limits, thresholds), received)
    if parts.audio is None:
        return Examination(main, copies=(parts.muted_video,))
    seen = _seen(parts.audio, limits, thresholds)
    return Examination(main, _examined(seen, seen.found), parts.offset_s, (parts.muted_video, parts.audio))


@dataclass(frozen=True)
class _Seen:
    """A working copy decoded once: what it is, what it looks or sounds like, and what the filters say."""

    found: MediaProbe
    looks: dict[str, Any]
    judgement: Judgement


def _seen(copy: bytes, limits: MediaLimits, thresholds: Thresholds, named: Path | None = None) -> _Seen:
    decoding = Decoding(copy, limits, named)
    shown = decoding.shown()
    with ffmpeg_errors(source_name(named or copy)):
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
