"""Sound and video containers through FFmpeg, opened so that no file can make it open another."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, NoReturn

import av
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.stream import Disposition, Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from core.media.errors import (
    DecoderCrashed,
    DisguisedMedia,
    MediaError,
    ReferencingMedia,
    UndecodableMedia,
    UnsupportedMedia,
)
from core.media.formats import Format, recognise
from core.media.limits import MediaLimits
from core.media.source import Source, open_source, source_name

BITEXACT = {"fflags": "+bitexact"}
"""Muxers leave out dates, random ids and their own version: the same packets give the same bytes."""

_STRUCTURAL_TAGS = {"major_brand", "minor_version", "compatible_brands", "language", "vendor_id", "duration"}
_MUXER_VALUES = ("Lavf", "Lavc", "VideoHandler", "SoundHandler")


@contextmanager
def opened(source: Source, limits: MediaLimits) -> Iterator[InputContainer]:
    """Open a sound or video source for demuxing.

    Raises:
        EmptyFile, TooLarge: As `open_source`.
        DisguisedMedia: The content is a picture or no media.
        ReferencingMedia: The content would have FFmpeg open another file or host.
        UndecodableMedia: FFmpeg finds no streams in it.
    """
    name = source_name(source)
    with open_source(source, limits) as file:
        found = recognise(file, name)
        if found.is_image:
            raise DisguisedMedia(f"{name}: a {found.label} picture where sound or video is needed")
        with open_container(file, found, name, limits) as container:
            yield container


def open_container(file: BinaryIO, found: Format, name: str, limits: MediaLimits) -> InputContainer:
    """Open a container whose format is known, with that demuxer alone and without any further file or host.

    Raises:
        ReferencingMedia: The demuxer asked for another file or host.
        UndecodableMedia: FFmpeg finds no streams in it.
    """

    def refuse(url: str, _flags: int, _options: dict[str, str]) -> NoReturn:
        raise ReferencingMedia(f"{name}: its content names {url!r}; only files that hold all of their media are taken")

    try:
        return av.open(
            file,
            mode="r",
            format=found.reader,
            options={"max_pixels": str(limits.max_pixels)},
            container_options={"protocol_whitelist": "pipe", "format_whitelist": found.reader},
            metadata_errors="replace",
            io_open=refuse,
        )
    except FFmpegError as error:
        raise undecodable(error, name) from error


def undecodable(error: FFmpegError, name: str) -> MediaError:
    """An FFmpeg error as ours."""
    if isinstance(error, MemoryError):
        return DecoderCrashed(f"{name}: decoding needs more memory than there is; is the file damaged?")
    return UndecodableMedia(f"{name}: cannot be decoded ({error.strerror or type(error).__name__})")


def decoded_frames(container: InputContainer, stream: Stream) -> Iterator[VideoFrame | AudioFrame]:
    """The frames of one stream; packets that do not decode are passed over, as players do (`probe` counts them)."""
    for packet in container.demux((stream,)):
        yield from _frames_of(packet)


def first_times_s(container: InputContainer, stream: Stream, name: str) -> tuple[float, float] | None:
    """When a stream's first packet begins and when its first frame does, after what decoders drop; None without frames.

    Raises:
        UndecodableMedia: It cannot be read.
    """
    packet_s: float | None = None
    try:
        for packet in container.demux((stream,)):
            if packet_s is None and packet.pts is not None:
                packet_s = float(packet.pts * packet.time_base)
            for frame in _frames_of(packet):
                frame_s = frame.time or 0.0
                return (frame_s if packet_s is None else packet_s), frame_s
    except FFmpegError as error:
        raise undecodable(error, name) from error
    return None


def _frames_of(packet: "Packet[Stream]") -> list[VideoFrame | AudioFrame]:
    try:
        frames = packet.decode()
    except FFmpegError as error:
        if isinstance(error, MemoryError):
            raise
        return []
    return [frame for frame in frames if isinstance(frame, VideoFrame | AudioFrame)]


def main_video(container: InputContainer) -> VideoStream | None:
    """The video stream to look at; cover pictures of sound files are none."""
    films = [stream for stream in container.streams.video if not stream.disposition & Disposition.attached_pic]
    best = container.streams.best("video")
    return next((stream for stream in films if stream is best), films[0] if films else None)


def main_audio(container: InputContainer) -> AudioStream | None:
    """The sound stream to listen to."""
    best = container.streams.best("audio")
    return best if isinstance(best, AudioStream) else None


def has_container_metadata(container: InputContainer) -> bool:
    """Whether there are tags that a muxer does not write of itself, or covers, chapters, data tracks or attachments."""
    tags = [*container.metadata.items(), *(item for stream in container.streams for item in stream.metadata.items())]
    is_plain = all(key.lower() in _STRUCTURAL_TAGS or value.startswith(_MUXER_VALUES) for key, value in tags)
    has_more = any(
        stream.type not in ("video", "audio") or stream.disposition & Disposition.attached_pic
        for stream in container.streams
    )
    return not is_plain or has_more or bool(container.chapters())


def codec_name(stream: Stream) -> str:
    """The codec by its common name (`av1`), whichever decoder reads it (`libdav1d`)."""
    return stream.codec_context.codec.canonical_name if stream.codec_context else "unknown"


def remux(
    container: InputContainer, streams: Sequence[Stream], muxer: str, name: str, shift_s: float = 0.0, **options: str
) -> bytes:
    """Copy streams into a new container packet by packet: no decoding, no tags, chapters, covers or other streams.

    Args:
        container: Where the streams come from, not read from yet.
        streams: The streams to keep.
        muxer: FFmpeg's name of the new container.
        name: The source, for error texts.
        shift_s: Seconds that every time is moved towards zero.
        options: Muxer options.

    Returns:
        The new file, the same bytes for the same packets.

    Raises:
        UnsupportedMedia: The new container cannot hold a stream.
        UndecodableMedia: The packets cannot be read or written.
    """
    buffer = io.BytesIO()
    try:
        with av.open(buffer, "w", format=muxer, container_options={**BITEXACT, **options}) as out:
            copies = {stream.index: _copy_of(stream, out, name) for stream in streams}
            for packet in container.demux(tuple(streams)):
                if packet.dts is None and packet.size == 0:
                    continue
                ticks = round(shift_s / packet.time_base)
                packet.pts = None if packet.pts is None else packet.pts - ticks
                packet.dts = None if packet.dts is None else packet.dts - ticks
                packet.stream = copies[packet.stream_index]
                out.mux(packet)
    except FFmpegError as error:
        raise undecodable(error, name) from error
    return buffer.getvalue()


def _copy_of(stream: Stream, out: Any, name: str) -> Stream:
    try:
        return out.add_stream_from_template(stream, opaque=True)
    except ValueError as error:
        raise UnsupportedMedia(f"{name}: stream {stream.index} cannot be copied ({error}); convert the file") from error
