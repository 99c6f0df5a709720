"""Video through FFmpeg: frames as arrays, and a film taken apart into its picture and its sound."""

import io
import itertools
import math
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from av.buffer import Buffer
from av.container import InputContainer
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from core.media.audio import extract_audio, extracted_start_s
from core.media.container import decoded_frames, first_times_s, main_audio, main_video, opened, remux, undecodable
from core.media.errors import UndecodableMedia
from core.media.formats import recognise
from core.media.limits import DEFAULT_LIMITS, MediaLimits
from core.media.source import Source, open_source, source_name

Pixels = npt.NDArray[np.uint8]

Shot = tuple[float, VideoFrame]
"""A decoded frame behind its time in seconds from the first frame."""

Jump = Callable[[Shot, float], Iterator[Shot] | None]

SEEK_GAP_S = 10.0
"""From this gap on it is quicker to look for a key frame than to decode all between."""
CLOCK_SLACK_S = 1e-6

Turn = tuple[int, int, int, int]
UNTURNED: Turn = (1, 0, 0, 1)
"""Signs a, b, c, d of a display matrix: a pixel at (x, y) is shown at (ax + cy, bx + dy)."""


@dataclass(frozen=True)
class Demuxed:
    """A film taken apart.

    `muted_video` has one picture stream and nothing else; `audio` is a plain sound file, or None when the film has no
    sound. Both begin at their own zero; `offset_s` is when the sound begins on the clock of the picture, negative when
    it begins first, 0 without sound.
    """

    muted_video: bytes
    audio: bytes | None
    offset_s: float


def iter_frames(
    source: Source, at_hz: float | None = None, count: int | None = None, limits: MediaLimits = DEFAULT_LIMITS
) -> Iterator[tuple[float, Pixels]]:
    """Frames of a video, upright, with their times in seconds from the first frame.

    Args:
        source: Path or bytes.
        at_hz: Give what is shown at 0, 1/at_hz, 2/at_hz, ...; a frame that is shown for longer is given again.
        count: Give what is shown in the middle of each of so many equal parts. With neither, every frame at its time.
        limits: Bounds on what is opened.

    Yields:
        Time and pixels, uint8 of shape (height, width, 3).

    Raises:
        ValueError: Both `at_hz` and `count` are given, or one is not positive.
        UndecodableMedia: There is no picture in it, or it cannot be decoded.
        EmptyFile, TooLarge, DisguisedMedia, UnsupportedMedia, ReferencingMedia: It is no video that is read here.
    """
    if (at_hz is not None and count is not None) or min(at_hz or 1, count or 1) <= 0 or count == 0 or at_hz == 0:
        raise ValueError(f"give a positive at_hz or a positive count, not at_hz={at_hz} and count={count}")
    if at_hz is None and count is None:
        yield from _every(source, limits)
    elif at_hz is not None:
        yield from _shown_at(source, limits, (place / at_hz for place in itertools.count()))
    else:
        assert count is not None
        part_s = _span_s(source, limits) / count
        times_s = [(place + 0.5) * part_s for place in range(count)]
        yield from _shown_at(source, limits, times_s, to_the_last=True)


def shown_at_rate(frames: Iterable[VideoFrame], at_hz: float) -> Iterator[tuple[float, Pixels]]:
    """Of the frames of a video as they are decoded, what `iter_frames` gives with `at_hz`."""
    return _shown(_timed(frames), (place / at_hz for place in itertools.count()))


def demux(source: Source, limits: MediaLimits = DEFAULT_LIMITS) -> Demuxed:
    """Take a film apart into a muted video in the same kind of container and its main sound, both without metadata.

    The picture's packets are copied, its rotation is kept as the container's own rotation, and the sound's packets are
    copied into M4A, MP3, Ogg, FLAC or WAV where the codec has such a file, else decoded to WAV without loss. Tags,
    location, device, chapters, covers, subtitles and data streams are gone. Same bytes in, same bytes out.

    Raises:
        UndecodableMedia: There is no picture in it, or its streams cannot be read.
        UnsupportedMedia: Its container cannot be written again.
        EmptyFile, TooLarge, DisguisedMedia, ReferencingMedia: It is no film that is read here.
    """
    picture, sound = io.BytesIO(), io.BytesIO()
    offset_s = demux_into(picture, sound, source, limits)
    return Demuxed(picture.getvalue(), None if offset_s is None else sound.getvalue(), offset_s or 0.0)


def demux_into(
    picture: BinaryIO, sound: BinaryIO, source: Source, limits: MediaLimits = DEFAULT_LIMITS
) -> float | None:
    """Write to two empty files what `demux` gives, without holding it in memory.

    Returns:
        When the sound begins on the clock of the picture, in seconds; None without sound, whose file stays empty.

    Raises:
        As `demux`.
    """
    name = source_name(source)
    with open_source(source, limits) as file:
        muxer = recognise(file, name).muxer
    with opened(source, limits) as container:
        times_s = first_times_s(container, _picture(container, name), name)
    if times_s is None:
        raise UndecodableMedia(f"{name}: its picture track holds no picture")
    _, picture_start_s = times_s
    with opened(source, limits) as container:
        remux(container, [_picture(container, name)], muxer, name, picture, picture_start_s)
    with opened(source, limits) as container:
        stream = main_audio(container)
        sound_start_s = None if stream is None else extracted_start_s(container, stream, name)
    if sound_start_s is None:
        return None
    with opened(source, limits) as container:
        stream = main_audio(container)
        assert stream is not None
        extract_audio(container, stream, name, sound, sound_start_s, limits)
    return round(sound_start_s - picture_start_s, 6)


def pixels_of(frame: VideoFrame) -> Pixels:
    """A decoded frame as upright RGB, uint8 of shape (height, width, 3)."""
    pixels = np.asarray(frame.to_ndarray(format="rgb24"), dtype=np.uint8)
    a, b, c, d = turn_of(frame)
    if a == 0:
        pixels, a, d = pixels.transpose(1, 0, 2), c, b
    return np.ascontiguousarray(pixels[:: d or 1, :: a or 1])


def turn_of(frame: VideoFrame) -> Turn:
    """How the container says the frame is to be turned and mirrored, to the nearest quarter."""
    matrix = frame.side_data.get("DISPLAYMATRIX")
    if not isinstance(matrix, Buffer):
        return UNTURNED
    a, b, _, c, d, *_ = struct.unpack("=9i", bytes(matrix))
    if abs(b) + abs(c) > abs(a) + abs(d):
        return 0, _sign(b), _sign(c), 0
    return (_sign(a), 0, 0, _sign(d)) if a and d else UNTURNED


def rotation_degrees(turn: Turn) -> int:
    """The clockwise rotation in a turn, behind its mirroring if it has one: 0, 90, 180 or 270 degrees."""
    _, _, c, d = turn
    return round(math.degrees(math.atan2(-c, d))) % 360


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _picture(container: InputContainer, name: str) -> VideoStream:
    stream = main_video(container)
    if stream is None:
        raise UndecodableMedia(f"{name}: there is no picture in it")
    return stream


def _pictures(container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
    return (frame for frame in decoded_frames(container, stream) if isinstance(frame, VideoFrame))


def _timed(frames: Iterable[VideoFrame], start_s: float | None = None) -> Iterator[Shot]:
    """Decoded frames with their times from the first frame; `start_s` is that frame's time where it is known."""
    for frame in frames:
        at_s = frame.time or 0.0
        start_s = at_s if start_s is None else start_s
        yield at_s - start_s, frame


def _every(source: Source, limits: MediaLimits) -> Iterator[tuple[float, Pixels]]:
    name = source_name(source)
    with opened(source, limits) as container:
        try:
            for time_s, frame in _timed(_pictures(container, _picture(container, name))):
                yield time_s, pixels_of(frame)
        except FFmpegError as error:
            raise undecodable(error, name) from error


def _shown_at(
    source: Source, limits: MediaLimits, times_s: Iterable[float], to_the_last: bool = False
) -> Iterator[tuple[float, Pixels]]:
    """As `_shown`, of a file in which there are ways to be jumped over."""
    name = source_name(source)
    with opened(source, limits) as container:
        stream = _picture(container, name)
        try:
            shots = _timed(_pictures(container, stream))
            yield from _shown(shots, times_s, to_the_last, partial(_jump, container, stream))
        except FFmpegError as error:
            raise undecodable(error, name) from error


def _shown(
    shots: Iterator[Shot], times_s: Iterable[float], to_the_last: bool = False, jump: Jump | None = None
) -> Iterator[tuple[float, Pixels]]:
    """What is shown at each of the rising times, up to the end of the video, or for all of them `to_the_last`."""
    shown: Shot | None = None
    ahead: Shot | None = None
    ended = False
    for wanted_s in times_s:
        is_far = shown is not None and not ended and wanted_s - shown[0] > SEEK_GAP_S
        if is_far and shown and jump and (nearer := jump(shown, wanted_s)):
            shots, shown, ahead = nearer, None, None
        while not ended and (ahead is None or ahead[0] <= wanted_s + CLOCK_SLACK_S):
            shown, ahead = ahead or shown, next(shots, None)
            ended = ahead is None
        shown = shown or ahead
        if shown is None or (ended and not to_the_last and wanted_s >= shown[0] + _duration_s(shown[1])):
            return
        yield wanted_s, pixels_of(shown[1])


def _jump(container: InputContainer, stream: VideoStream, shown: Shot, wanted_s: float) -> Iterator[Shot] | None:
    """What follows from the key frame before a time on; None where the container cannot go there."""
    start_s = (shown[1].time or 0.0) - shown[0]
    assert stream.time_base is not None
    try:
        container.seek(int((start_s + wanted_s) / stream.time_base), stream=stream)
    except FFmpegError:
        return None
    return _timed(_pictures(container, stream), start_s)


def _duration_s(frame: VideoFrame) -> float:
    return float(frame.duration * frame.time_base) if frame.duration and frame.time_base else 0.0


def _span_s(source: Source, limits: MediaLimits) -> float:
    """Seconds from the first frame to the end of the last one, by the packets alone."""
    name = source_name(source)
    with opened(source, limits) as container:
        starts_s, ends_s = [], []
        try:
            for packet in container.demux(_picture(container, name)):
                at = packet.dts if packet.pts is None else packet.pts
                if at is not None and not packet.is_discard:
                    starts_s.append(float(at * packet.time_base))
                    ends_s.append(float((at + (packet.duration or 0)) * packet.time_base))
        except FFmpegError as error:
            raise undecodable(error, name) from error
    return max(ends_s) - min(starts_s) if starts_s else 0.0
