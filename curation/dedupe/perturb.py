"""What happens to media on their way through the world: the labelled changes by which finding duplicates is measured.

A change of a picture gives a picture, of a sound or a film the bytes of a file. Chance comes from a Generator.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.filter import Graph
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont

from core.media.audio import encode_wav

Generator = np.random.Generator
Samples = npt.NDArray[np.float32]
Box = tuple[int, int, int, int]

PictureChange = Callable[[Image.Image, Generator], Image.Image]
SoundChange = Callable[[Samples, int, Generator], bytes]


@dataclass(frozen=True)
class Film:
    """Frames of one size, shown `rate_hz` a second."""

    frames: Sequence[Image.Image]
    rate_hz: float


FilmChange = Callable[[Film, Generator], bytes]

WATERMARK_WORDS = "SAMPLE PHOTO"
WATERMARK_OPACITY = 0.55
NEUTRAL = (128, 128, 128)


def recoded(kind: str, **options: Any) -> PictureChange:
    """Written as JPEG, WebP or PNG, and read again."""

    def change(image: Image.Image, _: Generator) -> Image.Image:
        buffer = io.BytesIO()
        image.save(buffer, kind, **options)
        return Image.open(buffer).convert("RGB")

    return change


def resized(factor: float) -> PictureChange:
    """Both sides times `factor`."""

    def change(image: Image.Image, _: Generator) -> Image.Image:
        size = (max(8, round(image.width * factor)), max(8, round(image.height * factor)))
        return image.resize(size, Image.Resampling.LANCZOS)

    return change


def cropped(share: float, at: str = "random") -> PictureChange:
    """`share` of each side is gone: half of it at each end (`centre`), all at one (`corner`), or anyhow (`random`)."""

    def change(image: Image.Image, rng: Generator) -> Image.Image:
        return image.crop(_crop_box(image, share, at, rng))

    return change


def turned(turn: Image.Transpose) -> PictureChange:
    """Turned by quarters, or mirrored."""
    return lambda image, _: image.transpose(turn)


def rotated(degrees: float) -> PictureChange:
    """Turned a little, in a frame of the same size; grey where nothing is left."""
    return lambda image, _: image.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=NEUTRAL)


def watermarked(area: float, at: str, form: str) -> PictureChange:
    """A translucent `form` (words on a band, or a logo) over `area` of the picture, at the centre or in a corner."""

    def change(image: Image.Image, rng: Generator) -> Image.Image:
        box = _mark_box(image, area, at, 1.0 if form == "logo" else 3.0, rng)
        mark = _logo((box[2], box[3])) if form == "logo" else _words((box[2], box[3]))
        marked = image.convert("RGB")
        marked.paste(mark.convert("RGB"), box[:2], mark.getchannel("A").point(lambda a: round(a * WATERMARK_OPACITY)))
        return marked

    return change


def noisy(deviation: float) -> PictureChange:
    """Gaussian noise of so many levels of 255."""

    def change(image: Image.Image, rng: Generator) -> Image.Image:
        pixels = np.asarray(image.convert("RGB"), dtype=np.float32)
        grained = pixels + rng.normal(0, deviation, pixels.shape)
        return Image.fromarray(np.clip(grained, 0, 255).astype(np.uint8))

    return change


PICTURE_CHANGES: dict[str, PictureChange] = {
    "re-encode: JPEG 85": recoded("JPEG", quality=85),
    "re-encode: JPEG 50": recoded("JPEG", quality=50),
    "re-encode: JPEG 30": recoded("JPEG", quality=30),
    "re-encode: WebP 75": recoded("WEBP", quality=75),
    "re-encode: PNG": recoded("PNG", compress_level=1),
    "resize: 25%": resized(0.25),
    "resize: 50%": resized(0.5),
    "resize: 150%": resized(1.5),
    "crop 10%: centre": cropped(0.1, "centre"),
    "crop 10%: corner": cropped(0.1, "corner"),
    "crop 10%: random": cropped(0.1),
    "crop 20%: centre": cropped(0.2, "centre"),
    "crop 20%: corner": cropped(0.2, "corner"),
    "turn: 90": turned(Image.Transpose.ROTATE_90),
    "turn: 180": turned(Image.Transpose.ROTATE_180),
    "turn: 270": turned(Image.Transpose.ROTATE_270),
    "turn: mirrored": turned(Image.Transpose.FLIP_LEFT_RIGHT),
    "watermark: words 5%, corner": watermarked(0.05, "corner", "words"),
    "watermark: words 15%, centre": watermarked(0.15, "centre", "words"),
    "watermark: logo 5%, corner": watermarked(0.05, "corner", "logo"),
    "watermark: logo 10%, centre": watermarked(0.10, "centre", "logo"),
    "watermark: logo 15%, corner": watermarked(0.15, "corner", "logo"),
    "noise: 10 of 255": noisy(10),
    "noise: 25 of 255": noisy(25),
    "light: 30% darker": lambda image, _: ImageEnhance.Brightness(image).enhance(0.7),
    "light: 30% brighter": lambda image, _: ImageEnhance.Brightness(image).enhance(1.3),
    "light: half the contrast": lambda image, _: ImageEnhance.Contrast(image).enhance(0.5),
    "blur: 1% of the shorter side": lambda image, _: image.filter(ImageFilter.GaussianBlur(min(image.size) / 100)),
    "rotate: 2 degrees": rotated(2),
    "rotate: 5 degrees": rotated(5),
}
"""Kind to change; what stands before the colon is the family."""


def coded_sound(container: str, codec: str, bit_rate: int) -> SoundChange:
    """Coded with loss."""
    return lambda samples, rate_hz, _: _encoded(samples, rate_hz, container, codec, bit_rate)


def resampled(rate_hz: int) -> SoundChange:
    """Written at another sampling rate."""
    return lambda samples, held_hz, _: encode_wav(filtered(samples, held_hz, [("aresample", str(rate_hz))]), rate_hz)


def trimmed(start: float, end: float) -> SoundChange:
    """Without these shares at the start and at the end."""

    def change(samples: Samples, rate_hz: int, _: Generator) -> bytes:
        return encode_wav(samples[round(len(samples) * start) : round(len(samples) * (1 - end))], rate_hz)

    return change


def pitched(semitones: float) -> SoundChange:
    """Higher or lower, as fast as before."""

    def change(samples: Samples, rate_hz: int, _: Generator) -> bytes:
        factor = 2 ** (semitones / 12)
        steps = [("asetrate", str(round(rate_hz * factor))), ("aresample", str(rate_hz)), ("atempo", f"{1 / factor}")]
        return encode_wav(filtered(samples, rate_hz, steps), rate_hz)

    return change


def sped(factor: float) -> SoundChange:
    """Played faster or slower, and so higher or lower."""

    def change(samples: Samples, rate_hz: int, _: Generator) -> bytes:
        steps = [("asetrate", str(round(rate_hz * factor))), ("aresample", str(rate_hz))]
        return encode_wav(filtered(samples, rate_hz, steps), rate_hz)

    return change


def stretched(factor: float) -> SoundChange:
    """Played faster or slower, as high as before."""
    return lambda samples, rate_hz, _: encode_wav(filtered(samples, rate_hz, [("atempo", str(factor))]), rate_hz)


def hissing(snr_db: float) -> SoundChange:
    """White noise, so many dB below the mean power of the sound."""

    def change(samples: Samples, rate_hz: int, rng: Generator) -> bytes:
        power = float(np.square(samples, dtype=np.float64).mean())
        noise = rng.normal(0, np.sqrt(power / 10 ** (snr_db / 10)), len(samples))
        return encode_wav(samples + noise.astype(np.float32), rate_hz)

    return change


SOUND_CHANGES: dict[str, SoundChange] = {
    "re-encode: MP3 64k": coded_sound("mp3", "mp3", 64_000),
    "re-encode: Opus 24k": coded_sound("ogg", "libopus", 24_000),
    "re-encode: AAC 64k": coded_sound("ipod", "aac", 64_000),
    "resample: 8 kHz": resampled(8000),
    "resample: 22 kHz": resampled(22050),
    "resample: 48 kHz": resampled(48000),
    "volume: a quarter": lambda samples, rate_hz, _: encode_wav(samples * 0.25, rate_hz),
    "trim: 10% at the start": trimmed(0.1, 0),
    "trim: 10% at both ends": trimmed(0.1, 0.1),
    "trim: 30% at the start": trimmed(0.3, 0),
    "trim: 30% at the end": trimmed(0, 0.3),
    "noise: 20 dB": hissing(20),
    "noise: 10 dB": hissing(10),
    "pitch: +1 semitone": pitched(1),
    "pitch: -1 semitone": pitched(-1),
    "pitch: +2 semitones": pitched(2),
    "pitch: -2 semitones": pitched(-2),
    "speed: +5%": sped(1.05),
    "speed: -5%": sped(0.95),
    "speed: +10%": sped(1.1),
    "speed: -10%": sped(0.9),
    "tempo: +10%": stretched(1.1),
    "tempo: -10%": stretched(0.9),
}


def framewise(change: PictureChange, bit_rate_share: float = 1.0) -> FilmChange:
    """Each frame changed in the same way."""

    def film_change(film: Film, rng: Generator) -> bytes:
        seed = int(rng.integers(1 << 31))
        frames = [change(frame, np.random.default_rng(seed)) for frame in film.frames]
        return encode_film(Film(frames, film.rate_hz), bit_rate_share)

    return film_change


def shortened(start: float, end: float) -> FilmChange:
    """Without these shares at the start and at the end."""

    def change(film: Film, _: Generator) -> bytes:
        count = len(film.frames)
        kept = film.frames[round(count * start) : round(count * (1 - end))]
        return encode_film(Film(kept, film.rate_hz))

    return change


def replayed(factor: float) -> FilmChange:
    """The same frames, shown faster or slower."""
    return lambda film, _: encode_film(Film(film.frames, film.rate_hz * factor))


def reframed(rate_hz: float) -> FilmChange:
    """As fast as before, at another frame rate."""

    def change(film: Film, _: Generator) -> bytes:
        count = round(len(film.frames) / film.rate_hz * rate_hz)
        places = np.minimum(np.arange(count) * film.rate_hz / rate_hz, len(film.frames) - 1).astype(int)
        return encode_film(Film([film.frames[place] for place in places], rate_hz))

    return change


def _same(image: Image.Image, _: Generator) -> Image.Image:
    return image


FILM_CHANGES: dict[str, FilmChange] = {
    "re-encode: a quarter of the bits": framewise(_same, 0.25),
    "resize: 50%": framewise(resized(0.5)),
    "resize: 150%": framewise(resized(1.5)),
    "crop 10%: centre": framewise(cropped(0.1, "centre")),
    "crop 10%: random": framewise(cropped(0.1)),
    "watermark: words 5%, corner": framewise(watermarked(0.05, "corner", "words")),
    "watermark: logo 10%, centre": framewise(watermarked(0.10, "centre", "logo")),
    "turn: mirrored": framewise(turned(Image.Transpose.FLIP_LEFT_RIGHT)),
    "frame rate: 12 Hz": reframed(12),
    "trim: 10% at the start": shortened(0.1, 0),
    "trim: 30% at the end": shortened(0, 0.3),
    "speed: +10%": replayed(1.1),
    "speed: -10%": replayed(1 / 1.1),
}


def encode_film(film: Film, bit_rate_share: float = 1.0) -> bytes:
    """An MP4 of MPEG-4 pictures, at a tenth of a bit for each pixel times `bit_rate_share`."""
    buffer = io.BytesIO()
    rate = Fraction(film.rate_hz).limit_denominator(1000)
    width, height = (side // 2 * 2 for side in film.frames[0].size)
    with av.open(buffer, "w", format="mp4") as out:
        stream = out.add_stream("mpeg4", rate=rate)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.bit_rate = max(20_000, int(0.1 * width * height * film.rate_hz * bit_rate_share))
        for place, image in enumerate(film.frames):
            frame = VideoFrame.from_ndarray(np.asarray(image.crop((0, 0, width, height)).convert("RGB")))
            frame.pts, frame.time_base = place, 1 / rate
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return buffer.getvalue()


def filtered(samples: Samples, rate_hz: int, steps: Sequence[tuple[str, str]]) -> Samples:
    """Samples (mono) through FFmpeg filters, each a name and its argument."""
    graph = Graph()
    links = [graph.add_abuffer(sample_rate=rate_hz, format="fltp", layout="mono", time_base=Fraction(1, rate_hz))]
    links += [graph.add(name, argument) for name, argument in [*steps, ("aformat", "sample_fmts=fltp")]]
    links.append(graph.add("abuffersink"))
    graph.link_nodes(*links).configure()
    graph.push(_frame(samples, rate_hz))
    graph.push(None)
    pieces = []
    while True:
        try:
            frame = graph.pull()
        except (av.error.BlockingIOError, av.error.EOFError):
            break
        assert isinstance(frame, AudioFrame)
        pieces.append(frame.to_ndarray()[0])
    out: Samples = np.concatenate(pieces).astype(np.float32)
    return out


def _encoded(samples: Samples, rate_hz: int, container: str, codec: str, bit_rate: int) -> bytes:
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container) as out:
        stream = out.add_stream(codec, rate=48_000, layout="mono")
        assert isinstance(stream, AudioStream)
        stream.bit_rate = bit_rate
        _mux(out, stream, filtered(samples, rate_hz, [("aresample", "48000")]))
    return buffer.getvalue()


def _mux(out: OutputContainer, stream: AudioStream, samples: Samples) -> None:
    resampler = av.AudioResampler(
        format=stream.format, layout="mono", rate=48_000, frame_size=stream.frame_size or None
    )
    for ready in [*resampler.resample(_frame(samples, 48_000)), *resampler.resample(None)]:
        out.mux(stream.encode(ready))
    out.mux(stream.encode(None))


def _frame(samples: Samples, rate_hz: int) -> AudioFrame:
    frame = AudioFrame.from_ndarray(samples[np.newaxis].astype(np.float32), format="fltp", layout="mono")
    frame.sample_rate, frame.time_base, frame.pts = rate_hz, Fraction(1, rate_hz), 0
    return frame


def _crop_box(image: Image.Image, share: float, at: str, rng: Generator) -> Box:
    keep = round(image.width * (1 - share)), round(image.height * (1 - share))
    spare = image.width - keep[0], image.height - keep[1]
    places = {"centre": (0.5, 0.5), "corner": tuple(rng.integers(0, 2, 2)), "random": tuple(rng.random(2))}[at]
    left, top = round(spare[0] * float(places[0])), round(spare[1] * float(places[1]))
    return left, top, left + keep[0], top + keep[1]


def _mark_box(image: Image.Image, area: float, at: str, aspect: float, rng: Generator) -> Box:
    """Left, top, width and height of a mark."""
    width = min(image.width, round((area * image.width * image.height * aspect) ** 0.5))
    height = min(image.height, round(area * image.width * image.height / width))
    margin = round(min(image.size) * 0.03)
    if at == "centre":
        return (image.width - width) // 2, (image.height - height) // 2, width, height
    right, bottom = rng.integers(0, 2, 2)
    left = max(0, image.width - width - margin) if right else min(margin, image.width - width)
    top = max(0, image.height - height - margin) if bottom else min(margin, image.height - height)
    return left, top, width, height


def _words(size: tuple[int, int]) -> Image.Image:
    mark = Image.new("RGBA", size, (0, 0, 0, 110))
    draw = ImageDraw.Draw(mark)
    pixels = max(6, round(min(size[1] * 0.7, size[0] / len(WATERMARK_WORDS) * 1.5)))
    draw.text(
        (size[0] / 2, size[1] / 2), WATERMARK_WORDS, (255, 255, 255, 255), ImageFont.load_default(pixels), anchor="mm"
    )
    return mark


def _logo(size: tuple[int, int]) -> Image.Image:
    mark = Image.new("RGBA", size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(mark)
    width, height = size
    draw.ellipse((0, 0, width - 1, height - 1), fill=(255, 255, 255, 255))
    draw.ellipse((width * 0.15, height * 0.15, width * 0.85, height * 0.85), fill=(200, 30, 40, 255))
    draw.polygon(
        [(width * 0.5, height * 0.2), (width * 0.75, height * 0.7), (width * 0.25, height * 0.7)], fill="white"
    )
    return mark
