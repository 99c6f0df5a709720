"""Small media made on the spot: films, sounds and pictures whose content is known."""

import io
from collections.abc import Callable
from fractions import Fraction

import av
import numpy as np
import pytest
from av.audio.resampler import AudioResampler
from PIL import Image

FILM_RATE_HZ = 10
SOUND_RATE_HZ = 48000


def film(
    muxer: str = "mp4",
    video: str | None = "libx264",
    audio: str | None = "aac",
    *,
    seconds: float = 1.0,
    size: tuple[int, int] = (64, 48),
    sound_delay_s: float = 0.0,
    rotation: tuple[float, bool] | None = None,
    tags: dict[str, str] | None = None,
    options: dict[str, str] | None = None,
    cover: bool = False,
) -> bytes:
    """A film or sound file: `frame_pixels` 0, 1, ... at 10 Hz, and `tone` at 48 kHz."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=muxer, options=options or {}) as out:
        out.metadata.update(tags or {})
        picture = sound = None
        if video:
            codec_options = {"svtav1-params": "preset=13"} if video == "libsvtav1" else {}
            picture = out.add_stream(video, rate=FILM_RATE_HZ, options=codec_options)
            picture.width, picture.height = size
            picture.pix_fmt = "yuv420p"
            if rotation:
                picture.set_display_rotation(rotation[0], hflip=rotation[1])
        if audio:
            sound = out.add_stream(audio, rate=SOUND_RATE_HZ, layout="mono")
        if cover:
            add_cover(out)
        if picture:
            for place in range(round(seconds * FILM_RATE_HZ)):
                frame = av.VideoFrame.from_ndarray(frame_pixels(place, size), format="rgb24")
                frame.pts, frame.time_base = place, Fraction(1, FILM_RATE_HZ)
                out.mux(picture.encode(frame))
            out.mux(picture.encode(None))
        if sound:
            resampler = AudioResampler(
                format=sound.format.name, layout="mono", rate=SOUND_RATE_HZ, frame_size=sound.frame_size or 1024
            )
            whole = av.AudioFrame.from_ndarray(tone(seconds)[None], format="s16", layout="mono")
            whole.sample_rate, whole.pts = SOUND_RATE_HZ, round(sound_delay_s * SOUND_RATE_HZ)
            whole.time_base = Fraction(1, SOUND_RATE_HZ)
            for piece in (*resampler.resample(whole), *resampler.resample(None)):
                out.mux(sound.encode(piece))
            out.mux(sound.encode(None))
    return buffer.getvalue()


def add_cover(out: av.container.OutputContainer) -> None:
    """A cover picture as the first packet of a stream of its own."""
    stream = out.add_stream("mjpeg", rate=1)
    stream.width, stream.height, stream.pix_fmt = 16, 16, "yuvj420p"
    stream.disposition = av.stream.Disposition.attached_pic
    frame = av.VideoFrame.from_ndarray(np.zeros((16, 16, 3), np.uint8), format="rgb24").reformat(format="yuvj420p")
    frame.pts, frame.time_base = 0, Fraction(1, 1)
    out.mux((*stream.encode(frame), *stream.encode(None)))


def tone(seconds: float) -> np.ndarray:
    """A 440 Hz sine at 48 kHz, int16, at 30% of full scale."""
    times_s = np.arange(round(seconds * SOUND_RATE_HZ)) / SOUND_RATE_HZ
    return (np.sin(2 * np.pi * 440 * times_s) * 0.3 * 32767).astype(np.int16)


def frame_pixels(place: int, size: tuple[int, int] = (64, 48)) -> np.ndarray:
    """Frame `place` of a film: grey of level 20 + 4 times its place (modulo 256), red in the upper left quarter."""
    width, height = size
    pixels = np.full((height, width, 3), (20 + 4 * place) % 256, np.uint8)
    pixels[: height // 2, : width // 2] = (220, 20, 20)
    return pixels


def picture(format: str = "JPEG", size: tuple[int, int] = (60, 40), mode: str = "RGB", **settings: object) -> bytes:
    """A picture with a gradient and a red upper left corner, so that no two orientations look alike."""
    width, height = size
    across, down = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    pixels = np.stack([across, down, np.full_like(across, 90)], axis=2).astype(np.uint8)
    pixels[: height // 4, : width // 4] = (250, 5, 5)
    buffer = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(buffer, format, **settings)
    return buffer.getvalue()


def exif(orientation: int | None = None) -> bytes:
    """EXIF with a camera, its serial number and a place."""
    tags = Image.Exif()
    tags[0x010F], tags[0x0110] = "Snooper", "Model 7"
    tags.get_ifd(0x8769)[0xA431] = "SERIAL-1234"
    tags.get_ifd(0x8825)[1], tags.get_ifd(0x8825)[2] = "N", (39.0, 54.0, 26.0)
    if orientation:
        tags[0x0112] = orientation
    return tags.tobytes()


@pytest.fixture(scope="session")
def make_film() -> Callable[..., bytes]:
    return film


@pytest.fixture(scope="session")
def make_picture() -> Callable[..., bytes]:
    return picture


@pytest.fixture(scope="session")
def make_exif() -> Callable[..., bytes]:
    return exif


@pytest.fixture(scope="session")
def make_tone() -> Callable[[float], np.ndarray]:
    return tone
