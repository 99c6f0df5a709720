"""Read a number printed big on a plain picture: cut it into figures and compare each with the ten that Pillow draws."""

from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import find_objects, gaussian_filter, label

FIGURES = "0123456789"
MOST_FIGURES = 4
BOLDNESS = 0.03
"""Width of the outline that thickens a figure, as a share of the font's size: plain strokes are thin when small."""

_BOX_PX = 24
_SOFTNESS_PX = 0.8
_DRAWN_PX = 96
_LEAST_CONTRAST = 80.0
_LEAST_PLAIN = 0.75
_TALLEST_DIRT = 0.02
_LEAST_HEIGHT = 0.15
_SAME_HEIGHT = 0.12
_LEAST_LIKENESS = 0.85


def read_number(image: Image.Image) -> str | None:
    """The number on a plain picture: empty if it carries nothing, None if it is not plain or carries something else.

    Figures are darker or lighter than the ground, of one height, side by side in one line.
    """
    grey = np.asarray(image.convert("L"), np.float32)
    ground = float(np.median(grey))
    away = np.abs(grey - ground)
    contrast = float(np.quantile(away, 0.999))
    if contrast < _LEAST_CONTRAST:
        return "" if contrast < _LEAST_CONTRAST / 4 else None
    if np.mean(np.minimum(away, np.abs(away - contrast)) < contrast / 4) < _LEAST_PLAIN:
        return None
    glyphs = _glyphs(np.minimum(away / contrast, 1))
    if glyphs is None:
        return None
    figures = [_figure(glyph) for glyph in glyphs]
    return None if None in figures else "".join(figure or "" for figure in figures)


def _glyphs(ink: NDArray[np.float32]) -> list[NDArray[np.float32]] | None:
    """The figures from left to right; None where they do not stand as the figures of one number do."""
    marks, _ = label(ink > 0.5, structure=np.ones((3, 3)))
    height = ink.shape[0]
    found = [
        (rows, columns, ink[rows, columns])
        for rows, columns in find_objects(marks)
        if rows.stop - rows.start > _TALLEST_DIRT * height
    ]
    if not 1 <= len(found) <= MOST_FIGURES:
        return None
    found.sort(key=lambda mark: mark[1].start)
    tops, bottoms = [mark[0].start for mark in found], [mark[0].stop for mark in found]
    tallest = max(bottoms) - min(tops)
    one_line = max(max(tops) - min(tops), max(bottoms) - min(bottoms)) <= _SAME_HEIGHT * tallest + 1
    beside = all(left[1].stop <= right[1].start for left, right in pairwise(found))
    return [mark for _, _, mark in found] if one_line and beside and tallest >= _LEAST_HEIGHT * height else None


def _figure(glyph: NDArray[np.float32]) -> str | None:
    likeness = _references() @ _in_box(glyph)
    best = int(likeness.argmax())
    return FIGURES[best] if likeness[best] >= _LEAST_LIKENESS else None


@cache
def _references() -> NDArray[np.float32]:
    font = ImageFont.load_default(size=_DRAWN_PX)
    drawn = []
    for figure in FIGURES:
        canvas = Image.new("L", (2 * _DRAWN_PX, 2 * _DRAWN_PX))
        pen = ImageDraw.Draw(canvas)
        pen.text((_DRAWN_PX // 2, _DRAWN_PX // 4), figure, fill=255, font=font, stroke_width=_DRAWN_PX * BOLDNESS)
        drawn.append(_in_box(np.asarray(canvas.crop(canvas.getbbox()), np.float32) / np.float32(255)))
    return np.stack(drawn)


def _in_box(glyph: NDArray[np.float32]) -> NDArray[np.float32]:
    """A glyph scaled to one height, in the middle of a square, as a vector of mean 0 and length 1."""
    height, width = glyph.shape
    scaled = Image.fromarray(glyph).resize(
        (max(1, min(_BOX_PX, round(width * _BOX_PX / height))), _BOX_PX), Image.Resampling.BOX
    )
    box = np.zeros((_BOX_PX, _BOX_PX), np.float32)
    left = (_BOX_PX - scaled.width) // 2
    box[:, left : left + scaled.width] = np.asarray(scaled)
    soft = gaussian_filter(box, _SOFTNESS_PX)
    vector = (soft - soft.mean()).ravel()
    return vector / (float(np.linalg.norm(vector)) + 1e-9)
