"""Sound and video containers through FFmpeg, opened so that no file can make it open another."""

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
from core.media.userdata import Cutter, cutters

BITEXACT = {"fflags": "+bitexact"}
"""Muxers leave out dates, random ids and their own version: the same packets give the same bytes."""
BACKWARDS = 1 << 31
"""Ticks from which on an Ogg packet's duration is a negative one: sound may end before its last packet begins, and
FFmpeg's demuxer keeps the difference without a sign."""

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


@contextmanager
def ffmpeg_errors(name: str) -> Iterator[None]:
    """FFmpeg's errors inside come out as ours."""
    try:
        yield
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
    container: InputContainer,
    streams: Sequence[Stream],
    muxer: str,
    name: str,
    target: BinaryIO,
    shift_s: float = 0.0,
    **options: str,
) -> None:
    """Copy streams into a new container packet by packet: no tags, chapters, covers, user data or other streams.

    Nothing is decoded, and every picture decodes to the same pixels as before. The same packets give the same bytes.

    Args:
        container: Where the streams come from, not read from yet.
        streams: The streams to keep.
        muxer: FFmpeg's name of the new container.
        name: The source, for error texts.
        target: An empty file that can seek, for the new container.
        shift_s: Seconds that every time is moved towards zero.
        options: Muxer options.

    Raises:
        UnsupportedMedia: The new container cannot hold a stream.
        UndecodableMedia: The packets cannot be read or written.
    """
    try:
        with av.open(target, "w", format=muxer, container_options={**BITEXACT, **options}) as out:
            copies = {stream.index: _copy_of(stream, out, name) for stream in streams}
            cuts = {stream.index: user_data_cutter(stream) for stream in streams}
            for packet in _to_copy(container, tuple(streams)):
                if packet.dts is None and packet.size == 0:
                    continue
                kept = _without_user_data(packet, cuts[packet.stream_index])
                if kept is None:
                    continue
                ticks = round(shift_s / kept.time_base)
                kept.pts = None if kept.pts is None else kept.pts - ticks
                kept.dts = None if kept.dts is None else kept.dts - ticks
                kept.stream = copies[packet.stream_index]
                out.mux(kept)
    except FFmpegError as error:
        raise undecodable(error, name) from error


def _to_copy(container: InputContainer, streams: tuple[Stream, ...]) -> Iterator["Packet[Stream]"]:
    """The packets of some streams, each held back until the next of its stream is known if the container is Ogg."""
    if container.format.name != "ogg":
        yield from container.demux(streams)
        return
    held: dict[int, Packet[Stream]] = {}
    for packet in container.demux(streams):
        before = held.pop(packet.stream_index, None)
        if before is not None:
            _end_at_last_page(before, packet)
            yield before
        held[packet.stream_index] = packet
    yield from held.values()


def _end_at_last_page(before: "Packet[Stream]", last: "Packet[Stream]") -> None:
    """Where sound ends before its last packet begins, have both packets end there, which is what muxers can write."""
    if (last.duration or 0) < BACKWARDS or before.pts is None or last.pts is None:
        return
    end = max(before.pts, last.pts + (last.duration or 0) - (1 << 32))
    before.duration = min(before.duration or 0, end - before.pts)
    last.pts = last.dts = end
    last.duration = 0


def _copy_of(stream: Stream, out: Any, name: str) -> Stream:
    try:
        copy: Stream = out.add_stream_from_template(stream, opaque=True)
    except ValueError as error:
        raise UnsupportedMedia(f"{name}: stream {stream.index} cannot be copied ({error}); convert the file") from error
    found = _cutters_of(stream)
    if found is not None:
        if codec_name(stream) in ("h264", "hevc"):
            copy.codec_context.bit_rate = 0  # else the muxer repeats what was true with their user data
        if stream.codec_context.extradata:
            copy.codec_context.extradata = found[0](stream.codec_context.extradata)
    return copy


def user_data_cutter(stream: Stream, keeps_settings: bool = False) -> Cutter | None:
    """What cuts user data out of the stream's packets; None for codecs of which none is known."""
    found = _cutters_of(stream, keeps_settings)
    return None if found is None else found[1]


def has_user_data(stream: Stream) -> bool:
    """Whether the stream's setup, which stands before its packets, carries user data beside an encoder's settings."""
    found = _cutters_of(stream, keeps_settings=True)
    setup = stream.codec_context.extradata if found is not None else None
    return found is not None and setup is not None and found[0](setup) != setup


def _cutters_of(stream: Stream, keeps_settings: bool = False) -> tuple[Cutter, Cutter] | None:
    if not isinstance(stream, VideoStream):
        return None
    return cutters(codec_name(stream), stream.codec_context.extradata, keeps_settings)


def _without_user_data(packet: "Packet[Stream]", cut: Cutter | None) -> "Packet[Stream] | None":
    """The packet, or, for PyAV cannot shorten one, another in its place; None when it was user data alone."""
    data = b"" if cut is None else bytes(packet)
    kept = data if cut is None else cut(data)
    if kept == data:
        return packet
    if not kept:
        return None
    copy: Packet[Stream] = Packet(kept)
    copy.stream, copy.time_base = packet.stream, packet.time_base
    copy.pts, copy.dts, copy.duration = packet.pts, packet.dts, packet.duration
    copy.is_keyframe = packet.is_keyframe
    for beside in packet.iter_sidedata():
        copy.set_sidedata(beside)
    return copy
