"""Sound through FFmpeg: decoded to arrays, written as WAV, and stripped of tags and cover pictures."""

import io
import tempfile
import wave
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import av
import numpy as np
import numpy.typing as npt
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet

from core.media import formats
from core.media.container import (
    BITEXACT,
    codec_name,
    decoded_frames,
    first_times_s,
    main_audio,
    main_video,
    opened,
    remux,
    undecodable,
)
from core.media.errors import TooLarge, UndecodableMedia, UnsupportedMedia
from core.media.formats import Format, recognise
from core.media.limits import DEFAULT_LIMITS, MediaLimits
from core.media.segments import Piece, is_whole, kept_pieces, write_pieces
from core.media.source import Source, content_of, open_source, source_name

Samples = npt.NDArray[np.float32]

PCM_SCALE = 1 << 15
SAMPLE_BYTES = 4
_PCM_OF = {"u8": "pcm_u8", "s16": "pcm_s16le", "s32": "pcm_s32le", "flt": "pcm_f32le", "dbl": "pcm_f64le"}
"""Packed sample format to the WAV codec that holds it without loss."""
_FILE_OF_CODEC = {
    **dict.fromkeys(("aac", "alac"), "ipod"),
    **dict.fromkeys(("opus", "vorbis"), "ogg"),
    "flac": "flac",
    "mp3": "mp3",
    **dict.fromkeys(("pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le", "pcm_f64le"), "wav"),
}
"""Codec to the muxer of the plain sound file that carries it."""
_TAGGING_MUXERS = ("flac", "mp3", "wav")
"""What these write of themselves is cut out of their files."""
_MUXER_OPTIONS = {"mp3": {"id3v2_version": "0", "write_xing": "0"}}


def load_audio(
    source: Source, sample_rate_hz: int | None = 16000, mono: bool = True, limits: MediaLimits = DEFAULT_LIMITS
) -> Samples:
    """The sound of an audio or video source as float32 in about [-1, 1].

    Args:
        source: Path or bytes.
        sample_rate_hz: Rate to resample to; None keeps the source's own.
        mono: Give the mean of the channels.
        limits: Bounds; `max_duration_s` bounds what is decoded.

    Returns:
        Shape (samples,) when mono, else (channels, samples).

    Raises:
        UndecodableMedia: There is no sound in it, or it cannot be decoded.
        TooLarge: It lasts longer than the limits allow.
        EmptyFile, DisguisedMedia, UnsupportedMedia, ReferencingMedia: It is no sound or video that is read here.
    """
    name = source_name(source)
    recorder = Recorder(sample_rate_hz, mono)
    try:
        for frame in sound_frames(source, limits):
            recorder.take(frame)
        samples = recorder.samples()
    except FFmpegError as error:
        raise undecodable(error, name) from error
    if not samples.size:
        raise UndecodableMedia(f"{name}: its sound track holds no sound")
    return samples


def sound_frames(source: Source, limits: MediaLimits = DEFAULT_LIMITS) -> Iterator[AudioFrame]:
    """The sound of an audio or video source, frame by frame as it is decoded.

    Raises:
        As `load_audio`.
    """
    name = source_name(source)
    with opened(source, limits) as container:
        stream = main_audio(container)
        if stream is None:
            raise UndecodableMedia(f"{name}: there is no sound in it")
        try:
            yield from _bounded(container, stream, name, limits)
        except FFmpegError as error:
            raise undecodable(error, name) from error


class Recorder:
    """Takes sound frame by frame as it is decoded, and keeps nothing but what `load_audio` gives of it.

    Args:
        sample_rate_hz: Rate to resample to; None keeps the sound's own.
        mono: Keep the mean of the channels.
        most: So many samples are kept, and the rest passed over; None keeps all.
    """

    def __init__(self, sample_rate_hz: int | None, mono: bool, most: int | None = None) -> None:
        self._resampling = _Resampling("fltp", None, sample_rate_hz)
        self._mono, self._most = mono, most
        self._rows: list[bytearray] = []

    def take(self, frame: AudioFrame) -> None:
        """Keep what is in the next frame."""
        if not self.is_full:
            self._keep(self._resampling.take(frame))

    @property
    def is_full(self) -> bool:
        """Whether nothing more is kept."""
        return self._most is not None and bool(self._rows) and len(self._rows[0]) >= self._most * SAMPLE_BYTES

    def samples(self) -> Samples:
        """All that was taken: (samples,) when mono, else (channels, samples)."""
        if not self.is_full:
            self._keep(self._resampling.end())
        rows = [np.frombuffer(row, np.float32)[: self._most] for row in self._rows]
        if self._mono:
            return rows[0] if rows else np.zeros(0, np.float32)
        return np.stack(rows) if rows else np.zeros((0, 0), np.float32)

    def _keep(self, frames: Iterable[AudioFrame]) -> None:
        for frame in frames:
            array = frame.to_ndarray().astype(np.float32, copy=False)
            pieces = array.mean(axis=0, keepdims=True) if self._mono else array
            self._rows = self._rows or [bytearray() for _ in pieces]
            for row, piece in zip(self._rows, pieces, strict=True):
                row.extend(piece.data)  # grows in place, where an array would be copied to grow


def encode_wav(samples: npt.NDArray[np.floating | np.int16], sample_rate_hz: int) -> bytes:
    """Samples as a 16-bit WAV file.

    Args:
        samples: Shape (samples,) or (channels, samples); floats are clipped to [-1, 1), int16 is written as it is.
        sample_rate_hz: Sampling rate.
    """
    rows = np.atleast_2d(samples)
    if rows.dtype != np.int16:
        rows = np.clip(np.round(rows * PCM_SCALE), -PCM_SCALE, PCM_SCALE - 1)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(rows.shape[0])
        file.setsampwidth(2)
        file.setframerate(sample_rate_hz)
        file.writeframes(np.ascontiguousarray(rows.T).astype("<i2").tobytes())
    return buffer.getvalue()


def strip_container(source: Source, limits: MediaLimits = DEFAULT_LIMITS) -> bytes:
    """A sound or video file without tags, cover pictures, chapters, subtitles and data streams; nothing is decoded.

    WAV, FLAC, MP3 and AAC keep their coded data bit for bit; of other containers the main picture and the main sound
    are copied packet by packet, on their common clock, rotation kept. Same bytes in, same bytes out.

    Raises:
        UndecodableMedia, UnsupportedMedia: The streams cannot be read or copied.
        EmptyFile, TooLarge, DisguisedMedia, ReferencingMedia: As `load_audio`.
    """
    buffer = io.BytesIO()
    strip_container_into(buffer, source, limits)
    return buffer.getvalue()


def strip_container_into(target: BinaryIO, source: Source, limits: MediaLimits = DEFAULT_LIMITS) -> None:
    """Write to an empty file what `strip_container` gives, without holding it in memory.

    Raises:
        As `strip_container`.
    """
    name = source_name(source)
    with open_source(source, limits) as file:
        found = recognise(file, name)
        if not found.is_image and (pieces := _stripped(file, source, found, limits)) is not None:
            write_pieces(pieces, file, target)
            return
    with opened(source, limits) as container:
        video, audio = main_video(container), main_audio(container)
        streams = [stream for stream in (video, audio) if stream is not None]
        if not streams:
            raise UnsupportedMedia(f"{name}: a {found.label} file without sound or picture")
        remux(container, streams, _muxer(found, audio if video is None else None), name, target)


def is_stripped(source: Source, limits: MediaLimits = DEFAULT_LIMITS) -> bool:
    """Whether stripping a sound or picture would give the same bytes, as far as that is told without decoding it.

    Raises:
        UndecodableMedia, UnsupportedMedia, EmptyFile, TooLarge, ReferencingMedia: As `strip_container`.
    """
    with open_source(source, limits) as file:
        found = recognise(file, source_name(source))
        pieces = _stripped(file, source, found, limits)
        if pieces is None:
            return False
        with content_of(file) as data:
            return is_whole(pieces, data)


def extract_audio(
    container: InputContainer,
    stream: AudioStream,
    name: str,
    target: BinaryIO,
    shift_s: float,
    limits: MediaLimits = DEFAULT_LIMITS,
) -> None:
    """Write one sound stream to an empty file, as a plain sound file.

    Its packets are copied where such a file exists, else it is decoded to WAV.

    Decoding loses nothing: WAV holds every sample format that decoders give. Times are moved by `shift_s` towards zero.

    Raises:
        UndecodableMedia: It cannot be read.
    """
    muxer = _FILE_OF_CODEC.get(codec_name(stream))
    if muxer is None:
        try:
            _decode_to_wav(container, stream, name, target, limits)
        except FFmpegError as error:
            raise undecodable(error, name) from error
        return
    options = _MUXER_OPTIONS.get(muxer, {})
    if muxer not in _TAGGING_MUXERS:
        remux(container, [stream], muxer, name, target, shift_s, **options)
        return
    with _file_beside(target) as tagged:
        remux(container, [stream], muxer, name, tagged, shift_s, **options)
        found = recognise(tagged, name)
        with content_of(tagged) as data:
            pieces = kept_pieces(data, found)
        assert pieces is not None
        write_pieces(pieces, tagged, target)


def extracted_start_s(container: InputContainer, stream: AudioStream, name: str) -> float | None:
    """When the file that `extract_audio` makes begins, in seconds on the container's clock; None without any sound.

    That is the first sample after what decoders drop; but an MP3 file cannot say what to drop, so it begins with its
    first packet.

    Raises:
        UndecodableMedia: It cannot be read.
    """
    times_s = first_times_s(container, stream, name)
    if times_s is None:
        return None
    packet_s, sample_s = times_s
    return packet_s if codec_name(stream) == "mp3" else sample_s


def _file_beside(target: BinaryIO) -> BinaryIO:
    """A nameless file where the target lies: in memory or in its folder."""
    return io.BytesIO() if isinstance(target, io.BytesIO) else tempfile.TemporaryFile(dir=Path(target.name).parent)


def _stripped(file: BinaryIO, source: Source, found: Format, limits: MediaLimits) -> list[Piece] | None:
    """Of an open file of segments, what is kept; None for other formats."""
    name = source_name(source)
    try:
        with content_of(file) as data:
            pieces = kept_pieces(data, found)
    except ValueError as error:
        raise UndecodableMedia(f"{name}: damaged {found.label} data ({error})") from error
    if pieces is None or found != formats.FLAC:
        return pieces
    head, coded = pieces
    assert isinstance(coded, range)
    return [head, range(coded.start, min(coded.stop, _flac_end(source, limits) or coded.stop))]


def _flac_end(source: Source, limits: MediaLimits) -> int | None:
    """Where the last frame of FLAC ends, whose length nothing but decoding it tells; None when it does not decode."""
    name = source_name(source)
    with opened(source, limits) as container:
        stream = container.streams.audio[0]
        last: Packet[AudioStream] | None = None
        try:
            for packet in container.demux(stream):
                last = packet if packet.size else last
        except FFmpegError as error:
            raise undecodable(error, name) from error
        if last is None:
            raise UndecodableMedia(f"{name}: there is no sound in it")
        assert last.pos is not None
        setup, coded = stream.codec_context.extradata, bytes(last)
    whole = _decoded_flac_frame(setup, coded)
    if whole is None:
        return None
    # The shortest beginning that decodes to the same sound.
    short, long = 0, len(coded)
    while long - short > 1:
        middle = (short + long) // 2
        if _decoded_flac_frame(setup, coded[:middle]) == whole:
            long = middle
        else:
            short = middle
    return last.pos + long


def _decoded_flac_frame(setup: bytes | None, coded: bytes) -> bytes | None:
    decoder = av.CodecContext.create("flac", "r")
    decoder.extradata = setup
    try:
        frames = [frame for packet in (av.Packet(coded), None) for frame in decoder.decode(packet)]
    except FFmpegError:
        return None
    return b"".join(bytes(plane) for frame in frames for plane in frame.planes) or None


def _muxer(found: Format, sound_alone: AudioStream | None) -> str:
    is_m4a = found == formats.MP4 and sound_alone is not None and codec_name(sound_alone) in ("aac", "alac")
    return "ipod" if is_m4a else found.muxer


def _bounded(container: InputContainer, stream: AudioStream, name: str, limits: MediaLimits) -> Iterator[AudioFrame]:
    duration_s = 0.0
    for frame in decoded_frames(container, stream):
        assert isinstance(frame, AudioFrame)
        duration_s += frame.samples / frame.sample_rate
        if duration_s > limits.max_duration_s:
            raise TooLarge(f"{name}: lasts longer than the {limits.max_duration_s:g} s that are taken; cut it")
        yield frame


def _resampled(
    frames: Iterable[AudioFrame], sample_format: str, layout: str | None, rate_hz: int | None
) -> Iterator[AudioFrame]:
    resampling = _Resampling(sample_format, layout, rate_hz)
    for frame in frames:
        yield from resampling.take(frame)
    yield from resampling.end()


class _Resampling:
    """Frames in one format, layout and rate (the first frame's where not given) from frames that may change theirs."""

    def __init__(self, sample_format: str, layout: str | None, rate_hz: int | None) -> None:
        self._format, self._layout, self._rate_hz = sample_format, layout, rate_hz
        self._resampler: AudioResampler | None = None
        self._taken: tuple[str, str, int] | None = None

    def take(self, frame: AudioFrame) -> Iterator[AudioFrame]:
        now = (frame.format.name, frame.layout.name, frame.sample_rate)
        if self._resampler is None or now != self._taken:
            yield from self.end()
            self._layout, self._rate_hz = self._layout or frame.layout.name, self._rate_hz or frame.sample_rate
            self._resampler = AudioResampler(format=self._format, layout=self._layout, rate=self._rate_hz)
            self._taken = now
        yield from self._resampler.resample(frame)

    def end(self) -> Iterator[AudioFrame]:
        if self._resampler is not None:
            yield from self._resampler.resample(None)
            self._resampler = None


def _decode_to_wav(
    container: InputContainer, stream: AudioStream, name: str, target: BinaryIO, limits: MediaLimits
) -> None:
    packed = stream.format.packed.name if stream.format.packed.name in _PCM_OF else "s32"
    with av.open(target, "w", format="wav", container_options=BITEXACT) as out:
        copy = out.add_stream(_PCM_OF[packed], rate=stream.sample_rate)
        assert isinstance(copy, AudioStream)
        copy.layout = stream.layout
        frames = _bounded(container, stream, name, limits)
        for frame in _resampled(frames, packed, stream.layout.name, stream.sample_rate):
            frame.pts = None
            out.mux(copy.encode(frame))
        out.mux(copy.encode(None))
