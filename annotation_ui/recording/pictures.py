"""A take as a picture: its waveform over its spectrogram, with axes and units, the same in every language."""

import io
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from core.media.audio import Samples, load_audio
from core.media.preview import waveform
from curation.recordings.takes import as_file
from warehouse.blobs import BlobStore, write_atomically

RATE_HZ = 48_000
WIDTH_PX, WAVE_PX, SPECTRUM_PX = 1440, 240, 320
_LEFT_PX, _RIGHT_PX, _TOP_PX, _GAP_PX, _BOTTOM_PX = 92, 100, 18, 34, 46
_WINDOW = 1024
_FLOOR_DB = -90.0
_FONT_PX = 22
_INK, _LINE, _WAVE, _CLIPPED, _END = "#46525f", "#c9d2dc", "#4c6a92", "#c0392b", "#1b6e4b"
# From quiet to loud: light to dark, readable in grey too.
_SHADES = np.array([(250, 251, 253), (203, 219, 236), (111, 147, 184), (47, 93, 140), (20, 34, 56)], np.float64)
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
_STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120)
_drawing = threading.BoundedSemaphore(2)


@dataclass(frozen=True)
class Ends:
    """Where speech begins and ends, in seconds from the start."""

    first_s: float
    last_s: float


class TakePictures:
    """Draws takes once and keeps the pictures in the folder of small pictures, which a withdrawal clears."""

    def __init__(self, originals: BlobStore, folder: Path) -> None:
        self._originals = originals
        self._folder = folder

    def get(self, sha256: str, leading_s: float, trailing_s: float) -> bytes:
        """The PNG of a take.

        Raises:
            MissingBlob, DamagedBlob: The take's bytes are lost.
            MediaError: They cannot be decoded.
        """
        kept = self._folder / sha256[:2] / f"{sha256}.take.png"
        if kept.is_file():
            return kept.read_bytes()
        with _drawing, as_file(self._originals.get(sha256), "the take") as file:
            samples = load_audio(file, RATE_HZ)
        made = draw_take(samples, Ends(leading_s, len(samples) / RATE_HZ - trailing_s))
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, made)
        return made


def draw_take(samples: Samples, ends: Ends) -> bytes:
    """A PNG of mono samples at `RATE_HZ`: level over time, and frequency over time with levels in dB."""
    height_px = _TOP_PX + WAVE_PX + _GAP_PX + SPECTRUM_PX + _BOTTOM_PX
    picture = Image.new("RGB", (WIDTH_PX, height_px), "white")
    pen = ImageDraw.Draw(picture)
    font = ImageFont.load_default(_FONT_PX)
    duration_s = len(samples) / RATE_HZ
    _draw_wave(pen, font, samples, ends)
    spectrum_top_px = _TOP_PX + WAVE_PX + _GAP_PX
    picture.paste(_spectrum(samples), (_LEFT_PX, spectrum_top_px))
    pen.rectangle((_LEFT_PX, spectrum_top_px, _right_px(), spectrum_top_px + SPECTRUM_PX), outline=_LINE)
    for frequency_khz in range(0, 25, 6):
        at_px = spectrum_top_px + SPECTRUM_PX * (1 - frequency_khz * 1000 / (RATE_HZ / 2))
        unit = " kHz" if frequency_khz == 24 else ""
        pen.text((_LEFT_PX - 8, at_px), f"{frequency_khz}{unit}", _INK, font, anchor="rm")
    _draw_shades(picture, pen, font, spectrum_top_px)
    _draw_seconds(pen, font, duration_s, spectrum_top_px + SPECTRUM_PX)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _right_px() -> int:
    return WIDTH_PX - _RIGHT_PX


def _draw_wave(pen: ImageDraw.ImageDraw, font: Font, samples: Samples, ends: Ends) -> None:
    """The samples' range in each column; columns that touch full scale in red, the ends of speech dashed."""
    width_px, middle_px, reach_px = _right_px() - _LEFT_PX, _TOP_PX + WAVE_PX / 2, WAVE_PX / 2
    for level, label in ((1.0, "1"), (0.5, "0.5"), (0.0, "0"), (-0.5, "-0.5"), (-1.0, "-1")):
        at_px = middle_px - level * reach_px
        pen.line((_LEFT_PX, at_px, _right_px(), at_px), "#edf0f4" if level else _LINE)
        pen.text((_LEFT_PX - 8, at_px), label, _INK, font, anchor="rm")
    for place, (low, high) in enumerate(waveform(samples, width_px)):
        at_px = _LEFT_PX + place
        colour = _CLIPPED if max(high, -low) >= 0.999 else _WAVE
        pen.line((at_px, middle_px - high * reach_px, at_px, middle_px - low * reach_px), colour)
    duration_s = len(samples) / RATE_HZ
    for end_s in (ends.first_s, ends.last_s):
        at_px = _LEFT_PX + width_px * min(max(end_s / duration_s, 0.0), 1.0)
        for dash_px in range(_TOP_PX, _TOP_PX + WAVE_PX, 12):
            pen.line((at_px, dash_px, at_px, dash_px + 6), _END, 2)


def _spectrum(samples: Samples) -> Image.Image:
    """Levels of a Hann-windowed Fourier transform in dB under full scale, time to the right, frequency upwards."""
    width_px = _right_px() - _LEFT_PX
    padded = np.pad(samples, (0, max(0, _WINDOW - len(samples))))
    starts = np.linspace(0, len(padded) - _WINDOW, width_px).astype(int)
    window = np.hanning(_WINDOW).astype(np.float32)
    rows = np.stack([padded[start : start + _WINDOW] for start in starts]) * window
    levels_db = 20 * np.log10(np.abs(np.fft.rfft(rows)) / (window.sum() / 2) + 1e-9)
    shaded = _shaded(np.clip(1 - levels_db.T[::-1] / _FLOOR_DB, 0, 1))
    return Image.fromarray(shaded).resize((width_px, SPECTRUM_PX), Image.Resampling.BILINEAR)


def _shaded(shares: npt.NDArray[np.floating]) -> npt.NDArray[np.uint8]:
    stops = np.linspace(0, 1, len(_SHADES))
    return np.stack([np.interp(shares, stops, channel) for channel in _SHADES.T], axis=-1).astype(np.uint8)


def _draw_shades(
    picture: Image.Image, pen: ImageDraw.ImageDraw, font: Font, top_px: int
) -> None:  # fmt: skip
    """What the spectrogram's shades mean."""
    column = _shaded(np.linspace(1, 0, SPECTRUM_PX)[:, None].repeat(14, 1))
    left_px = _right_px() + 12
    picture.paste(Image.fromarray(column), (left_px, top_px))
    pen.text((left_px + 20, top_px), "0 dB", _INK, font, anchor="lt")
    pen.text((left_px + 20, top_px + SPECTRUM_PX), f"{_FLOOR_DB:.0f}", _INK, font, anchor="lb")


def _draw_seconds(pen: ImageDraw.ImageDraw, font: Font, duration_s: float, top_px: int) -> None:
    step_s = next((step for step in _STEPS_S if duration_s / step <= 12), _STEPS_S[-1])
    width_px = _right_px() - _LEFT_PX
    for place in range(int(duration_s / step_s) + 1):
        at_px = _LEFT_PX + width_px * place * step_s / duration_s
        pen.line((at_px, top_px, at_px, top_px + 6), _INK)
        unit = " s" if place == 0 else ""
        pen.text((at_px, top_px + 16), f"{place * step_s:g}{unit}", _INK, font, anchor="mt")
