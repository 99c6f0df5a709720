"""Media in another coding: each way says what it did and whether anything was lost; same bytes in, same bytes out."""

import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from PIL import Image

from core.content import MediaRef
from core.media.audio import PCM_SCALE, encode_wav, load_audio
from core.media.container import BITEXACT, codec_name, first_times_s, main_audio, main_video, opened
from core.media.errors import UndecodableMedia
from core.media.image import load_image
from core.media.limits import DEFAULT_LIMITS
from core.media.probe import probe
from core.media.source import Source
from core.media.video import Pixels, demux, iter_frames

Loss = Literal["lossless", "lossy"]

# Containers whose packets all carry their times, and codecs that players of MP4 know.
_COPIED_FROM = frozenset({"video/webm", "video/matroska", "video/mp4", "video/quicktime"})
_COPIED_CODECS = frozenset({"h264", "hevc", "vp9", "av1", "mpeg4"})
# Without mbtree=0, x264 looks ahead in threads of its own, and the bytes depend on how they meet.
_X264 = {"preset": "veryfast", "x264-params": "mbtree=0:threads=1:lookahead-threads=1"}
_CLOCK_HZ = 90_000
_USUAL_RATE_HZ = 25.0
_KEPT_CRF = 18
_SMALL_CRF = 28
_JPEG_QUALITY = 90
_EXACT_MODES = frozenset({"1", "L", "P", "RGB"})
_AAC_BITS = 192_000
_AAC_RATES_HZ = frozenset(
    {96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000}
)
_SPEECH_RATE_HZ = 16_000
_STILL_RATE_HZ = 2.0
_STILL_FRAMES = 4
_ATTEMPTS = 8


@dataclass(frozen=True)
class Adaptation:
    """One change on the way to a model."""

    what: str
    loss: Loss
    detail: str


MUTED = Adaptation("muted", "lossless", "sent without its own sound track; sound is a part of its own")


@dataclass(frozen=True)
class Piece:
    """Bytes to send; `time_s` is when a frame is shown."""

    data: bytes
    media_type: str
    duration_s: float | None = None
    time_s: float | None = None


def png(data: bytes) -> tuple[Piece, Adaptation]:
    """A picture as PNG: its first frame, of 8 bits, laid on white."""
    piece = Piece(_saved(load_image(data), "PNG"), "image/png")
    with Image.open(io.BytesIO(data)) as image:
        is_exact = image.mode in _EXACT_MODES and not image.has_transparency_data and getattr(image, "n_frames", 1) == 1
    detail = "first frame as PNG of 8 bits, laid on white"
    return piece, Adaptation("coded again", "lossless" if is_exact else "lossy", detail)


def jpeg(data: bytes) -> tuple[Piece, Adaptation]:
    """A picture as JPEG, for servers that take nothing else."""
    detail = f"first frame as JPEG of quality {_JPEG_QUALITY}, laid on white"
    return Piece(_saved(load_image(data), "JPEG"), "image/jpeg"), Adaptation("coded again", "lossy", detail)


def wav(media: MediaRef, data: bytes) -> tuple[Piece, Adaptation]:
    """A sound as WAV of 16 bits in its own rate and channels."""
    samples = load_audio(data, sample_rate_hz=None, mono=False)
    rate_hz = media.sample_rate_hz or probe(data).sample_rate_hz
    if rate_hz is None:
        raise UndecodableMedia(f"sound {media.sha256[:12]} has no sampling rate; ingest it again")
    scaled = samples * PCM_SCALE
    # Float sounds that are no whole 16-bit steps, or louder than full scale, change a little.
    is_exact = bool(np.array_equal(scaled, np.clip(np.round(scaled), -PCM_SCALE, PCM_SCALE - 1)))
    piece = Piece(encode_wav(samples, rate_hz), "audio/wav", samples.shape[1] / rate_hz)
    return piece, Adaptation("coded again", "lossless" if is_exact else "lossy", "decoded to WAV of 16 bits")


def mp4(media: MediaRef, data: bytes) -> tuple[Piece, Adaptation]:
    """The picture of a video as MP4, without sound: copied packet by packet where possible, else coded again."""
    copied = _copied(media, data)
    if copied is not None:
        return Piece(copied, "video/mp4", media.duration_s), Adaptation("copied", "lossless", "copied into MP4")
    coded = _film(f"video {media.sha256[:12]}", iter_frames(data), media.frame_rate_hz or _USUAL_RATE_HZ, _KEPT_CRF)
    piece = Piece(coded, "video/mp4", media.duration_s)
    return piece, Adaptation("coded again", "lossy", "coded again as H.264 in MP4")


def has_sound(source: Source) -> bool:
    """Whether a video holds a sound track."""
    with opened(source, DEFAULT_LIMITS) as container:
        return main_audio(container) is not None


def muted(media: MediaRef, data: bytes) -> tuple[Piece, Adaptation]:
    """A video in its own container without its sound; the picture's packets are copied."""
    piece = Piece(demux(data).muted_video, media.media_type, media.duration_s)
    return piece, MUTED


def frames(media: MediaRef, data: bytes, count: int, media_type: str) -> list[Piece]:
    """What a video shows in the middle of each of so many equal parts, as pictures with their times."""
    kind = {"image/png": "PNG", "image/jpeg": "JPEG"}[media_type]
    shown = [
        Piece(_saved(Image.fromarray(pixels), kind), media_type, time_s=round(time_s, 3))
        for time_s, pixels in iter_frames(data, count=count)
    ]
    if not shown:
        raise UndecodableMedia(f"video {media.sha256[:12]} shows no frame; ingest it again")
    return shown


def film_with_sound(video: MediaRef, picture: bytes, sound: bytes) -> Piece:
    """A muted video and a sound as one MP4: the picture copied where MP4 knows its codec, the sound coded as AAC.

    Both begin at zero; it lasts as long as the longer of them.
    """
    film = _copied(video, picture, sound)
    if film is None:
        rate_hz = video.frame_rate_hz or _USUAL_RATE_HZ
        film = _film(f"video {video.sha256[:12]}", iter_frames(picture), rate_hz, _KEPT_CRF, sound)
    return Piece(film, "video/mp4", probe(film).duration_s)


def still_with_sound(image: MediaRef, picture: bytes, sound: bytes) -> Piece:
    """A picture and a sound as one MP4 in which the picture stands as long as the sound lasts."""
    duration_s = load_audio(sound, sample_rate_hz=_SPEECH_RATE_HZ).shape[0] / _SPEECH_RATE_HZ
    pixels = np.asarray(load_image(picture), dtype=np.uint8)
    height_px, width_px = pixels.shape[:2]
    # H.264's usual colour format has one colour for 2 x 2 pixels; a still may not lose its last row to that.
    even = np.pad(pixels, ((0, height_px % 2), (0, width_px % 2), (0, 0)), mode="edge")
    count = max(_STILL_FRAMES, math.ceil(duration_s * _STILL_RATE_HZ))
    shots = ((place / _STILL_RATE_HZ, even) for place in range(count))
    coded = _film(f"image {image.sha256[:12]}", shots, _STILL_RATE_HZ, _KEPT_CRF, sound)
    return Piece(coded, "video/mp4", count / _STILL_RATE_HZ)


def smaller_image(piece: Piece, most_bytes: int) -> tuple[Piece, Adaptation] | None:
    """A picture as JPEG of at most so many bytes, scaled down as far as it needs; None if that does not help."""
    full = load_image(piece.data)
    scale = 1.0
    for _ in range(_ATTEMPTS):
        size_px = max(1, round(full.width * scale)), max(1, round(full.height * scale))
        image = full if size_px == full.size else full.resize(size_px, Image.Resampling.LANCZOS)
        data = _saved(image, "JPEG")
        if len(data) <= most_bytes:
            sizes = f"{full.width} x {full.height} to {size_px[0]} x {size_px[1]} pixels"
            detail = f"{sizes}, JPEG, for at most {most_bytes} bytes"
            return Piece(data, "image/jpeg", time_s=piece.time_s), Adaptation("downscaled", "lossy", detail)
        scale *= min(0.9, math.sqrt(most_bytes / len(data)))
    return None


def smaller_audio(piece: Piece, most_bytes: int, media_types: Sequence[str]) -> tuple[Piece, Adaptation] | None:
    """A sound of at most so many bytes: mono WAV at 16 kHz, else MP3 where that is taken; None if neither fits."""
    samples = load_audio(piece.data, _SPEECH_RATE_HZ)
    duration_s = samples.shape[0] / _SPEECH_RATE_HZ
    if "audio/wav" in media_types and len(data := encode_wav(samples, _SPEECH_RATE_HZ)) <= most_bytes:
        detail = f"mono WAV at 16 kHz, for at most {most_bytes} bytes"
        return Piece(data, "audio/wav", duration_s), Adaptation("transcoded", "lossy", detail)
    for bits in (64_000, 32_000):
        if "audio/mpeg" in media_types and len(data := _mp3(encode_wav(samples, _SPEECH_RATE_HZ), bits)) <= most_bytes:
            detail = f"mono MP3 of {bits // 1000} kbit/s, for at most {most_bytes} bytes"
            return Piece(data, "audio/mpeg", duration_s), Adaptation("transcoded", "lossy", detail)
    return None


def smaller_video(piece: Piece, most_bytes: int) -> tuple[Piece, Adaptation] | None:
    """A video as H.264 in MP4 of at most so many bytes, scaled down as far as needed, with its sound if any."""
    found = probe(piece.data)
    sound = piece.data if found.has_audio else None
    scale, before = 1.0, f"{found.width_px} x {found.height_px}"
    for _ in range(_ATTEMPTS):
        shots = _scaled(iter_frames(piece.data), scale)
        data = _film("video", shots, found.frame_rate_hz or _USUAL_RATE_HZ, _SMALL_CRF, sound)
        if len(data) <= most_bytes:
            size = f"{round((found.width_px or 0) * scale)} x {round((found.height_px or 0) * scale)} pixels"
            detail = f"{before} to about {size}, H.264 at CRF {_SMALL_CRF}, for at most {most_bytes} bytes"
            return Piece(data, "video/mp4", piece.duration_s), Adaptation("downscaled", "lossy", detail)
        scale *= min(0.7, math.sqrt(most_bytes / len(data)))
    return None


def _saved(image: Image.Image, kind: str) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **({"quality": _JPEG_QUALITY} if kind == "JPEG" else {}))
    return buffer.getvalue()


def _scaled(shots: Iterable[tuple[float, Pixels]], scale: float) -> Iterator[tuple[float, Pixels]]:
    for time_s, pixels in shots:
        size_px = max(2, round(pixels.shape[1] * scale)), max(2, round(pixels.shape[0] * scale))
        image = Image.fromarray(pixels).resize(size_px, Image.Resampling.BILINEAR)
        yield time_s, np.asarray(image, dtype=np.uint8)


def _film(
    name: str, shots: Iterable[tuple[float, Pixels]], rate_hz: float, crf: int, sound: bytes | None = None
) -> bytes:
    """Frames at their times as H.264 in MP4, with a sound as AAC if there is one; odd sizes lose a row or column."""
    buffer = io.BytesIO()
    try:
        with av.open(buffer, "w", format="mp4", container_options=BITEXACT) as out:
            stream: VideoStream | None = None
            track: AudioStream | None = None
            for time_s, pixels in shots:
                if stream is None:
                    height_px, width_px = (size - size % 2 for size in pixels.shape[:2])
                    stream = _h264_stream(out, width_px, height_px, rate_hz, crf)
                    track = None if sound is None else _aac_stream(out, sound)
                even = np.ascontiguousarray(pixels[: stream.height, : stream.width])
                frame = VideoFrame.from_ndarray(even, format="rgb24")
                frame.pts, frame.time_base = round(time_s * _CLOCK_HZ), Fraction(1, _CLOCK_HZ)
                out.mux(stream.encode(frame))
            if stream is None:
                raise UndecodableMedia(f"{name} shows no frame; ingest it again")
            out.mux(stream.encode(None))
            if track is not None and sound is not None:
                _put_sound(out, track, sound)
    except (FFmpegError, ValueError) as error:
        raise UndecodableMedia(f"{name} cannot be coded as H.264 ({error}); convert it") from error
    return buffer.getvalue()


def _copied(media: MediaRef, data: bytes, sound: bytes | None = None) -> bytes | None:
    """The packets of a picture in MP4 from time zero on, with a sound as AAC; None where they cannot be copied."""
    name = f"video {media.sha256[:12]}"
    with opened(data, DEFAULT_LIMITS) as container:
        stream = main_video(container)
        if media.media_type not in _COPIED_FROM or stream is None or codec_name(stream) not in _COPIED_CODECS:
            return None
        times_s = first_times_s(container, stream, name)
    with opened(data, DEFAULT_LIMITS) as container:
        return _packets_as_mp4(container, media, 0.0 if times_s is None else times_s[1], name, sound)


def _packets_as_mp4(
    container: InputContainer, media: MediaRef, start_s: float, name: str, sound: bytes | None
) -> bytes:
    stream, buffer = main_video(container), io.BytesIO()
    assert stream is not None
    shown_s = 1 / (media.frame_rate_hz or stream.average_rate or _USUAL_RATE_HZ)
    try:
        with av.open(buffer, "w", format="mp4", container_options=BITEXACT) as out:
            copy = out.add_stream_from_template(stream, opaque=True)
            track = None if sound is None else _aac_stream(out, sound)
            for packet in container.demux(stream):
                if packet.dts is None and packet.size == 0:
                    continue
                ticks = round(start_s / packet.time_base)
                packet.pts = None if packet.pts is None else packet.pts - ticks
                packet.dts = None if packet.dts is None else packet.dts - ticks
                # Matroska need not say how long a frame is shown, and MP4 leaves out a last one that is shown for 0 s.
                packet.duration = packet.duration or round(shown_s / packet.time_base)
                packet.stream = copy
                out.mux(packet)
            if track is not None and sound is not None:
                _put_sound(out, track, sound)
    except (FFmpegError, ValueError) as error:
        raise UndecodableMedia(f"{name} cannot be copied into MP4 ({error}); convert it") from error
    return buffer.getvalue()


def _h264_stream(out: OutputContainer, width_px: int, height_px: int, rate_hz: float, crf: int) -> VideoStream:
    # Frames carry their own times; the rate says how long the last one is shown.
    rate = Fraction(rate_hz).limit_denominator(1001)
    stream = out.add_stream("libx264", rate=rate, options={**_X264, "crf": str(crf)})
    stream.width, stream.height, stream.pix_fmt = width_px, height_px, "yuv420p"
    stream.time_base = stream.codec_context.time_base = Fraction(1, _CLOCK_HZ)
    stream.codec_context.thread_count = 1  # with more threads, the bytes depend on how many
    return stream


def _aac_stream(out: OutputContainer, sound: bytes) -> AudioStream:
    with opened(sound, DEFAULT_LIMITS) as container:
        source = main_audio(container)
        if source is None:
            raise UndecodableMedia("there is no sound in what should be joined to a picture; ingest it again")
        layout = "mono" if source.layout.nb_channels == 1 else "stereo"
        rate_hz = source.sample_rate if source.sample_rate in _AAC_RATES_HZ else 48_000
    track = out.add_stream("aac", rate=rate_hz, layout=layout)
    track.bit_rate = _AAC_BITS
    track.codec_context.flags |= av.codec.context.Flags.bitexact.value
    return track


def _put_sound(out: OutputContainer, track: AudioStream, sound: bytes) -> None:
    samples = load_audio(sound, track.sample_rate, mono=track.layout.nb_channels == 1)
    rows = np.atleast_2d(samples)[: track.layout.nb_channels].astype(np.float32)
    step = track.codec_context.frame_size or 1024
    for start in range(0, rows.shape[1], step):
        block = np.ascontiguousarray(rows[:, start : start + step])
        frame = AudioFrame.from_ndarray(block, format="fltp", layout=track.layout.name)
        frame.sample_rate, frame.pts, frame.time_base = track.sample_rate, start, Fraction(1, track.sample_rate)
        out.mux(track.encode(frame))
    out.mux(track.encode(None))


def _mp3(sound: bytes, bits: int) -> bytes:
    samples = load_audio(sound, _SPEECH_RATE_HZ)
    buffer = io.BytesIO()
    options = {**BITEXACT, "id3v2_version": "0", "write_xing": "0"}
    with av.open(buffer, "w", format="mp3", container_options=options) as out:
        track = out.add_stream("libmp3lame", rate=_SPEECH_RATE_HZ, layout="mono")
        track.bit_rate = bits
        frame = AudioFrame.from_ndarray(samples[None].astype(np.float32), format="fltp", layout="mono")
        frame.sample_rate = _SPEECH_RATE_HZ
        out.mux(track.encode(frame))
        out.mux(track.encode(None))
    return buffer.getvalue()
