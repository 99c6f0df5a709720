"""Draw and sound what `percepts` recognises: dots, numbered photos, printed numbers, flashes, beeps, spoken digits.

Everything is small (320 pixels, a few seconds) and follows from its arguments and the generator passed in.
"""

import io
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from core.errors import InterplayError
from core.media.audio import Samples, encode_wav, load_audio
from core.media.container import BITEXACT
from core.media.image import load_image
from evaluation.models.sim.gallery import square
from evaluation.models.sim.hearing import RATE_HZ
from evaluation.models.sim.printed import BOLDNESS, FIGURES, MOST_FIGURES

SIZE_PX = 320
FRAME_RATE = 10
VIDEO_SIZE_PX = (320, 240)
SHOT_S = 1.0
MOST_DOTS = 9

_COLOURS = ((255, 0, 200), (0, 225, 255), (255, 210, 0), (70, 255, 0), (255, 70, 0))
_DOT_RADIUS_PX = (13, 19)
_JPEG_QUALITY = 90
# A light ground stays below what counts as a white flash.
_LIGHT, _DARK = (180, 200), (15, 45)
_FIGURE_SIZES_PX = (96, 116)
_FIGURE_GAP_PX = 12
_SHOWN_S = 1.0
# At two frames a second, as common servers sample films, every blank and every figure is seen.
_BLANK_S = 0.6
_LEAD_S = 0.4
_FLASH_S = 0.4
_DARK_S = 0.6
_BEEP_S = 0.14
_BEEP_GAP_S = 0.3
_WORD_GAP_S = 0.35
_TONES_HZ = (660.0, 990.0)
_HISS = 0.0006
# With its macroblock tree, x264's vector code gives other bytes for the same frames in about one run of three.
_H264 = {"preset": "veryfast", "crf": "26", "x264-params": "threads=1:mbtree=0"}


class TooManyDots(InterplayError):
    """More dots than can be told apart on a picture."""


class UnprintableNumber(InterplayError):
    """Something that is no number of a few figures."""


def dots_picture(count: int, rng: np.random.Generator, background: Path | None = None) -> bytes:
    """A JPEG of `count` bright dots of one colour, on grey or on a faded photo.

    Raises:
        TooManyDots: More than `MOST_DOTS`.
    """
    if count > MOST_DOTS:
        raise TooManyDots(f"{count} dots do not fit apart from each other; draw at most {MOST_DOTS}")
    image = _ground((SIZE_PX, SIZE_PX), rng, background)
    pen = ImageDraw.Draw(image)
    colour = _COLOURS[int(rng.integers(len(_COLOURS)))]
    cells = rng.permutation(MOST_DOTS)[:count]
    cell_px = SIZE_PX / 3
    for cell in cells:
        radius = float(rng.uniform(*_DOT_RADIUS_PX))
        room = cell_px / 2 - radius - 4
        x = cell_px * (cell % 3 + 0.5) + float(rng.uniform(-room, room))
        y = cell_px * (cell // 3 + 0.5) + float(rng.uniform(-room, room))
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour, outline=(20, 20, 20))
    return _jpeg(image)


def grid_picture(photos: Sequence[Path]) -> bytes:
    """A JPEG of four photos in a 2 x 2 grid, each with its number (1 to 4, in reading order) in its corner."""
    tile_px = SIZE_PX // 2
    image = Image.new("RGB", (SIZE_PX, SIZE_PX), "white")
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=16)
    for place, photo in enumerate(photos):
        left, top = place % 2 * tile_px, place // 2 * tile_px
        image.paste(_photo(photo, (tile_px - 2, tile_px - 2)), (left + 1, top + 1))
        pen.rectangle((left + 3, top + 3, left + 21, top + 21), fill="white", outline="black")
        pen.text((left + 12, top + 12), str(place + 1), fill="black", font=font, anchor="mm")
    return _jpeg(image)


def number_picture(digits: str, rng: np.random.Generator) -> bytes:
    """A JPEG of a number of one to four figures, big on a plain ground: dark on light or light on dark.

    Raises:
        UnprintableNumber: Something else than one to four figures.
    """
    if len(digits) > MOST_FIGURES:
        raise UnprintableNumber(f"{digits!r} has more figures than fit on a picture; print at most {MOST_FIGURES}")
    return _jpeg(_number(digits, (SIZE_PX, SIZE_PX), *_tones(rng), rng))


def numbers_video(digits: str, rng: np.random.Generator, sound: Samples | None = None) -> bytes:
    """An MP4 that shows figures one after another, a second each, with a blank between; `sound` becomes its track.

    Raises:
        UnprintableNumber: Something else than one figure or more.
    """
    ground, ink = _tones(rng)
    blank = np.full((*reversed(VIDEO_SIZE_PX), 3), ground, np.uint8)
    pause = [blank] * round(_BLANK_S * FRAME_RATE)
    pictures = [*pause]
    for digit in _figures(digits):
        shown = np.asarray(_number(digit, VIDEO_SIZE_PX, ground, ink, rng))
        pictures += [shown] * round(_SHOWN_S * FRAME_RATE) + pause
    return mp4(pictures, sound)


def flashes_video(
    count: int, rng: np.random.Generator, background: Path | None = None, sound: Samples | None = None
) -> bytes:
    """An MP4 of a dim picture, slowly drifting, that turns white `count` times; `sound` becomes its track."""
    width, height = VIDEO_SIZE_PX
    scene = np.asarray(_ground((width + 40, height), rng, background))
    times_s = np.arange(round((2 * _LEAD_S + count * (_FLASH_S + _DARK_S)) * FRAME_RATE)) / FRAME_RATE
    start_s = _LEAD_S + float(rng.uniform(0, 0.2))
    pictures = []
    for place, time_s in enumerate(times_s):
        since_s = time_s - start_s
        number, phase_s = divmod(since_s, _FLASH_S + _DARK_S)
        lit = 0 <= number < count and phase_s < _FLASH_S - 1e-9
        shift = place * 40 // len(times_s)
        pictures.append(np.full((height, width, 3), 250, np.uint8) if lit else scene[:, shift : shift + width])
    return mp4(pictures, sound)


def photos_video(photos: Sequence[Path], sound: Samples | None = None) -> bytes:
    """An MP4 that shows photos one after another, `SHOT_S` seconds each; `sound` becomes its track."""
    shots = [np.asarray(_photo(photo, VIDEO_SIZE_PX)) for photo in photos]
    return mp4([shot for shot in shots for _ in range(round(SHOT_S * FRAME_RATE))], sound)


def beeps(count: int, rng: np.random.Generator) -> Samples:
    """`count` short tones of one pitch between silences; mono at 16 kHz."""
    time_s = np.arange(round(_BEEP_S * RATE_HZ)) / RATE_HZ
    fade = np.minimum(1, np.minimum(time_s, _BEEP_S - time_s) / 0.01)
    tone = 0.4 * fade * np.sin(2 * np.pi * float(rng.uniform(*_TONES_HZ)) * time_s)
    return _in_silence([tone] * count, _BEEP_GAP_S, rng)


def spoken(recordings: Sequence[Path], rng: np.random.Generator) -> Samples:
    """Recordings of one word each, in order, between silences; mono at 16 kHz."""
    return _in_silence([load_audio(recording, RATE_HZ) for recording in recordings], _WORD_GAP_S, rng)


def wav(recording: Samples) -> bytes:
    """A 16-bit WAV of a mono recording at 16 kHz."""
    return encode_wav(recording, RATE_HZ)


def mp4(pictures: Sequence[NDArray[np.uint8]], sound: Samples | None = None) -> bytes:
    """An MP4 (H.264, AAC) of frames (height, width, 3) at `FRAME_RATE`, with `sound` as its track if there is one."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4", container_options=BITEXACT) as container:
        video = container.add_stream("libx264", rate=Fraction(FRAME_RATE), options=_H264)
        audio = None if sound is None else container.add_stream("aac", rate=RATE_HZ, layout="mono")
        video.thread_count = 1
        video.height, video.width = pictures[0].shape[:2]
        video.pix_fmt = "yuv420p"
        for place, pixels in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            frame.pts, frame.time_base = place, Fraction(1, FRAME_RATE)
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        if audio is not None and sound is not None:
            container.mux(audio.encode(_audio_frame(sound)))
            container.mux(audio.encode(None))
    return out.getvalue()


def _audio_frame(recording: Samples) -> av.AudioFrame:
    whole = np.round(np.clip(recording, -1, 1) * 32767).astype(np.int16)[None]
    frame = av.AudioFrame.from_ndarray(whole, format="s16", layout="mono")
    frame.sample_rate = RATE_HZ
    return frame


def _in_silence(words: Sequence[NDArray[np.floating]], gap_s: float, rng: np.random.Generator) -> Samples:
    """Words between silences of at least `gap_s`, in a faint hiss, at a loudness drawn once."""
    gain = float(rng.uniform(0.6, 1.0))
    pieces: list[NDArray[np.floating]] = [np.zeros(round(rng.uniform(0.3, 0.6) * RATE_HZ))]
    for word in words:
        pieces += [gain * word, np.zeros(round(rng.uniform(gap_s, gap_s + 0.1) * RATE_HZ))]
    whole = np.concatenate(pieces)
    return (whole + rng.normal(0, _HISS, len(whole))).astype(np.float32)


def _ground(size_px: tuple[int, int], rng: np.random.Generator, background: Path | None) -> Image.Image:
    """A dim, nearly colourless surface: even, or a faded photo."""
    if background is None:
        level = int(rng.integers(60, 120))
        return Image.new("RGB", size_px, (level, level, level + int(rng.integers(-15, 15))))
    photo = _photo(background, size_px)
    grey = photo.convert("L").convert("RGB")
    return Image.blend(photo, grey, 0.5).point(lambda value: 0.6 * value)


def _tones(rng: np.random.Generator) -> tuple[int, int]:
    """Grey levels of ground and ink."""
    tones = int(rng.integers(*_LIGHT)), int(rng.integers(*_DARK))
    return tones if rng.integers(2) else (tones[1], tones[0])


def _figures(digits: str) -> str:
    if not digits or not set(digits) <= set(FIGURES):
        raise UnprintableNumber(f"{digits!r} is no number; give figures from 0 to 9 only")
    return digits


def _number(digits: str, size_px: tuple[int, int], ground: int, ink: int, rng: np.random.Generator) -> Image.Image:
    """Figures side by side near the middle, as large as fits; apart, so that no two of them touch."""
    image = Image.new("RGB", size_px, (ground,) * 3)
    pen = ImageDraw.Draw(image)
    size = int(rng.integers(*_FIGURE_SIZES_PX))
    font, bold = ImageFont.load_default(size=size), size * BOLDNESS
    widths = [pen.textlength(digit, font) + _FIGURE_GAP_PX for digit in _figures(digits)]
    free = (size_px[0] - sum(widths)) / 2
    x = free + float(rng.uniform(-0.5, 0.5)) * free
    y = size_px[1] * float(rng.uniform(0.42, 0.58))
    for digit, width in zip(digits, widths, strict=True):
        pen.text((x + _FIGURE_GAP_PX / 2, y), digit, fill=(ink,) * 3, font=font, anchor="lm", stroke_width=bold)
        x += width
    return image


def _photo(file: Path, size_px: tuple[int, int]) -> Image.Image:
    """The middle square of a photo, in the middle of a picture of that size."""
    image = _middle(file, file.stat().st_mtime_ns, min(size_px))
    canvas = Image.new("RGB", size_px, (128, 128, 128))
    canvas.paste(image, ((size_px[0] - image.width) // 2, (size_px[1] - image.height) // 2))
    return canvas


@lru_cache(maxsize=128)
def _middle(file: Path, modified_ns: int, side_px: int) -> Image.Image:
    """Kept, because a few photos, some of them large, make many items; nobody draws on it."""
    del modified_ns
    return square(load_image(file)).resize((side_px, side_px), Image.Resampling.LANCZOS, reducing_gap=3)


def _jpeg(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_JPEG_QUALITY)
    return out.getvalue()
