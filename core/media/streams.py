"""A sound or video container decoded from its first packet to its last, and what that shows."""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import BinaryIO

from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.stream import Disposition, Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from core.content import Modality
from core.media import formats
from core.media.container import (
    codec_name,
    has_container_metadata,
    has_user_data,
    main_audio,
    main_video,
    open_container,
    undecodable,
    user_data_cutter,
)
from core.media.errors import TooLarge, TruncatedMedia, UndecodableMedia, UnsupportedMedia
from core.media.formats import Format
from core.media.limits import MediaLimits
from core.media.userdata import Cutter
from core.media.video import rotation_degrees, turn_of

MICROSECONDS = 1_000_000
BAD_SHARE = 0.01
"""Share of packets that may fail to decode: files cut from streams often begin with one that leans on what is gone."""
SHORT_S, SHORT_SHARE, SHORT_FRAMES = 0.25, 0.02, 2
"""How far decoding may end before the header says: the largest of seconds, share of the duration, and frames."""
RATE_SLACK_SHARE, RATE_SLACK_FRAMES = 0.01, 2
"""How far frames may be from where the header's rate puts the last; AVI, without display times, is off by a few."""

# Ogg has no length in its header; where its last page says that it ends is often wrong, and is there if all is there.
_LENGTH_ESTIMATED = (formats.MP3, formats.AAC, formats.OGG)
_TRAILING_JUNK = (formats.MP3,)
_OPEN_ENDED = (formats.WAV,)  # the last packet of a recording without a size is a short one


@dataclass
class Tally:
    """What decoding one stream has shown so far; times in seconds on the container's clock."""

    stream: VideoStream | AudioStream
    packet_count: int = 0
    error_count: int = 0
    last_failed: bool = False
    frame_count: int = 0
    sample_count: int = 0
    first_s: float | None = None
    last_s: float = 0.0
    end_s: float = 0.0
    packets_end_s: float = 0.0
    sample_rate_hz: int | None = None
    channel_count: int | None = None
    first_frame: VideoFrame | None = None

    def count(self, frame: VideoFrame | AudioFrame) -> None:
        """Take in a decoded frame."""
        if isinstance(frame, AudioFrame):
            self.sample_rate_hz = self.sample_rate_hz or frame.sample_rate
            self.channel_count = self.channel_count or frame.layout.nb_channels
            duration_s = frame.samples / frame.sample_rate
            self.sample_count += frame.samples
        else:
            self.first_frame = self.first_frame or frame
            self.error_count += frame.is_corrupt
            duration_s = self._frame_duration_s(frame)
        at_s = self.end_s if frame.time is None else frame.time
        self.first_s = at_s if self.first_s is None else min(self.first_s, at_s)
        self.last_s = max(self.last_s, at_s)
        self.end_s = max(self.end_s, at_s + duration_s)
        self.frame_count += 1

    def _frame_duration_s(self, frame: VideoFrame) -> float:
        if frame.duration and frame.time_base:
            return float(frame.duration * frame.time_base)
        rate = self.stream.average_rate
        return float(1 / rate) if rate else 0.0

    @property
    def span_s(self) -> float:
        """Seconds from the first frame to the end of the last."""
        return 0.0 if self.first_s is None else self.end_s - self.first_s


@dataclass
class StreamFacts:
    """What a container really holds: the fields of `MediaProbe` that decoding its streams shows."""

    modality: Modality
    duration_s: float
    codecs: tuple[str, ...]
    has_audio: bool
    has_metadata: bool
    decode_error_count: int
    width_px: int | None = None
    height_px: int | None = None
    rotation_degrees: int = 0
    frame_rate_hz: float | None = None
    frame_count: int | None = None
    sample_rate_hz: int | None = None
    channel_count: int | None = None


@dataclass
class _Reading:
    """One pass over a container."""

    container: InputContainer
    found: Format
    name: str
    limits: MediaLimits
    tallies: dict[int, Tally] = field(default_factory=dict)
    cutters: dict[int, Cutter] = field(default_factory=dict)
    end_s: float = 0.0
    has_user_data: bool = False


def decode_streams(
    file: BinaryIO, found: Format, name: str, limits: MediaLimits
) -> Generator[VideoFrame | AudioFrame, None, StreamFacts]:
    """Decode all sound and picture of an open file.

    Yields:
        The frames of the picture, or of the sound where there is no picture.

    Raises:
        TruncatedMedia: It ends before its header says, or its last packet is cut.
        UndecodableMedia: It holds nothing that decodes, or too many packets fail.
        TooLarge: Too many streams, pixels or seconds.
        UnsupportedMedia: A codec that cannot be decoded here, or a container without sound and picture.
        ReferencingMedia: The demuxer asked for another file.
    """
    with open_container(file, found, name, limits) as container:
        reading = _Reading(container, found, name, limits)
        _check_header(reading)
        main = main_video(container) or main_audio(container)
        try:
            for packet in container.demux():
                frames = _take_packet(reading, packet)
                if main is not None and packet.stream.index == main.index:
                    yield from frames
        except FFmpegError as error:
            raise undecodable(error, name) from error
        _check_complete(reading)
        return _facts(reading)


def _check_header(reading: _Reading) -> None:
    container, name, limits = reading.container, reading.name, reading.limits
    if len(container.streams) > limits.max_streams:
        raise TooLarge(f"{name}: {len(container.streams)} streams, but at most {limits.max_streams} are taken")
    duration_s = (container.duration or 0) / MICROSECONDS
    if reading.found not in _LENGTH_ESTIMATED and duration_s > limits.max_duration_s:
        raise _too_long(duration_s, reading)
    films = [stream for stream in container.streams.video if not stream.disposition & Disposition.attached_pic]
    streams: list[VideoStream | AudioStream] = [*films, *container.streams.audio]
    for stream in streams:
        if stream.codec_context is None:
            raise UnsupportedMedia(f"{name}: stream {stream.index} has a codec that is not read here; convert the file")
        reading.tallies[stream.index] = Tally(stream)
        reading.has_user_data |= has_user_data(stream)
        cutter = user_data_cutter(stream, keeps_settings=True)
        if cutter is not None:
            reading.cutters[stream.index] = cutter
    for film in films:
        _check_pixels(film.codec_context.width, film.codec_context.height, reading)
    if not reading.tallies:
        raise UnsupportedMedia(f"{name}: a {reading.found.label} file without sound or picture")


def _take_packet(reading: _Reading, packet: "Packet[Stream]") -> list[VideoFrame | AudioFrame]:
    if packet.is_corrupt and reading.found not in _OPEN_ENDED:
        raise TruncatedMedia(f"{reading.name}: its last {packet.stream.type} packet is cut off; copy the file again")
    at = packet.dts if packet.pts is None else packet.pts
    end_s = 0.0 if at is None else float((at + (packet.duration or 0)) * packet.time_base)
    reading.end_s = max(reading.end_s, end_s)
    tally = reading.tallies.get(packet.stream.index)  # `stream_index` of the last, empty one of an attachment is 0
    if tally is None:
        return []
    if not reading.has_user_data and (cutter := reading.cutters.get(packet.stream.index)):
        data = bytes(packet)
        reading.has_user_data = cutter(data) != data
    tally.packets_end_s = max(tally.packets_end_s, end_s)
    tally.packet_count += 1
    try:
        decoded = packet.decode()
    except FFmpegError as error:
        if isinstance(error, MemoryError):
            raise  # ends the whole file, not this packet
        tally.error_count += 1
        tally.last_failed = True
        return []
    tally.last_failed = tally.last_failed and not packet.size
    frames = [frame for frame in decoded if isinstance(frame, VideoFrame | AudioFrame)]
    for frame in frames:
        if isinstance(frame, VideoFrame):
            _check_pixels(frame.width, frame.height, reading)
        tally.count(frame)
    if tally.span_s > reading.limits.max_duration_s:
        raise _too_long(tally.span_s, reading)
    return frames


def _check_complete(reading: _Reading) -> None:
    name, found = reading.name, reading.found
    for tally in reading.tallies.values():
        if tally.last_failed and found not in _TRAILING_JUNK:
            raise TruncatedMedia(f"{name}: its last {tally.stream.type} packet does not decode; copy the file again")
        if tally.error_count > max(1, BAD_SHARE * tally.packet_count):
            raise UndecodableMedia(
                f"{name}: {tally.error_count} of {tally.packet_count} {tally.stream.type} packets do not decode"
            )
    if found in _LENGTH_ESTIMATED:
        return
    start_s = (reading.container.start_time or 0) / MICROSECONDS
    _check_length((reading.container.duration or 0) / MICROSECONDS, reading.end_s - min(start_s, 0), reading)
    for tally in reading.tallies.values():
        stream = tally.stream
        if stream.duration and stream.time_base:
            begin_s = float((stream.start_time or 0) * stream.time_base)
            _check_length(float(stream.duration * stream.time_base), tally.packets_end_s - begin_s, reading)


def _check_length(promised_s: float, found_s: float, reading: _Reading) -> None:
    rates = [
        float(tally.stream.average_rate or 0) for tally in reading.tallies.values() if tally.stream.type == "video"
    ]
    frame_s = max((1 / rate for rate in rates if rate > 0), default=0.0)
    slack_s = max(SHORT_S, SHORT_SHARE * promised_s, SHORT_FRAMES * frame_s)
    if found_s < promised_s - slack_s:
        raise TruncatedMedia(
            f"{reading.name}: its header promises {promised_s:.2f} s, the data end after {found_s:.2f} s; copy it again"
        )


def _facts(reading: _Reading) -> StreamFacts:
    container, tallies = reading.container, reading.tallies
    video, audio = main_video(container), main_audio(container)
    picture = tallies[video.index] if video is not None else None
    sound = tallies[audio.index] if audio is not None and tallies[audio.index].sample_count else None
    main = picture or sound
    if main is None or not main.frame_count:
        raise UndecodableMedia(f"{reading.name}: nothing in it decodes")
    facts = StreamFacts(
        modality=Modality.VIDEO if picture else Modality.AUDIO,
        duration_s=main.span_s,
        codecs=tuple(codec_name(tally.stream) for tally in tallies.values()),
        has_audio=sound is not None,
        has_metadata=has_container_metadata(container) or reading.has_user_data,
        decode_error_count=sum(tally.error_count for tally in tallies.values()),
    )
    if sound is not None:
        assert sound.sample_rate_hz
        facts.sample_rate_hz, facts.channel_count = sound.sample_rate_hz, sound.channel_count
        facts.duration_s = sound.sample_count / sound.sample_rate_hz
    if picture is not None:
        _add_picture(facts, picture, sound)
    return facts


def _add_picture(facts: StreamFacts, picture: Tally, sound: Tally | None) -> None:
    assert picture.first_frame is not None
    turn = turn_of(picture.first_frame)
    size_px = (picture.first_frame.width, picture.first_frame.height)
    facts.width_px, facts.height_px = size_px if turn[0] else size_px[::-1]
    facts.rotation_degrees = rotation_degrees(turn)
    facts.frame_count = picture.frame_count
    facts.frame_rate_hz = _frame_rate_hz(picture)
    both = [tally for tally in (picture, sound) if tally is not None]
    facts.duration_s = max(tally.end_s for tally in both) - min(tally.first_s or 0.0 for tally in both)


def _frame_rate_hz(picture: Tally) -> float | None:
    """The rate that the header says where the frames' times agree with it, else the rate that they show."""
    said = float(picture.stream.average_rate or 0) or None
    shown_s = picture.last_s - (picture.first_s or 0.0)
    if picture.frame_count < 2 or shown_s <= 0:
        return said
    gaps = picture.frame_count - 1
    slack = max(RATE_SLACK_FRAMES, RATE_SLACK_SHARE * gaps)
    return said if said and abs(said * shown_s - gaps) <= slack else gaps / shown_s


def _check_pixels(width_px: int, height_px: int, reading: _Reading) -> None:
    most = reading.limits.max_pixels
    if width_px * height_px > most:
        raise TooLarge(
            f"{reading.name}: {width_px} x {height_px} pixels a frame, but at most {most} are taken; scale it down"
        )


def _too_long(duration_s: float, reading: _Reading) -> TooLarge:
    return TooLarge(
        f"{reading.name}: lasts {duration_s:.1f} s, but at most {reading.limits.max_duration_s:g} s are taken; cut it"
    )
