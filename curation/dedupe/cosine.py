"""Hashes of small grey pictures: the signs of a cosine transform over a window, under all turnings and mirrorings.

The transform is taken over the window itself, with the parts of the pixels that lie in it, so that any window of a
picture can be hashed without cutting it out. Under a turning its coefficients change place and sign and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

Coefficients = npt.NDArray[np.float32]
Hashes = npt.NDArray[np.uint64]
Pictures = npt.NDArray[np.uint8] | npt.NDArray[np.float32]
Span = tuple[float, float]
"""Start and length on an axis, as shares of the whole."""
WHOLE: Span = (0.0, 1.0)

FREQUENCIES = 11
_CHOSEN = [
    (u, v) for u in range(FREQUENCIES) for v in range(FREQUENCIES) if 0 < u + v < FREQUENCIES and (u, v) != (5, 5)
]
"""The 64 lowest frequencies but the mean; with each its transpose."""
_ROWS, _COLUMNS = (np.array(axis) for axis in zip(*_CHOSEN, strict=True))
NOTHING_SHARE = 0.03
"""Up to this share of their root mean square, coefficients count as nothing and give the bit 0 under every turning.
Where a picture is symmetric its odd coefficients are noise, whose signs differ in every copy."""


@dataclass(frozen=True)
class Turning:
    """Transposed or not, then turned upside down or not, then mirrored or not."""

    name: str
    transposed: bool = False
    upside_down: bool = False
    mirrored: bool = False

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """What place of the picture is shown at a place of the turned one; both from the centre, (x, y)."""
        signs = np.diag([-1.0 if self.mirrored else 1.0, -1.0 if self.upside_down else 1.0])
        matrix: npt.NDArray[np.float64] = (np.eye(2)[::-1] if self.transposed else np.eye(2)) @ signs
        return matrix


UPRIGHT = Turning("upright")
MIRRORED = Turning("mirrored", mirrored=True)
TURNINGS = (
    UPRIGHT,
    MIRRORED,
    Turning("upside down", upside_down=True),
    Turning("turned 180", upside_down=True, mirrored=True),
    Turning("transposed", transposed=True),
    Turning("turned 90 right", transposed=True, mirrored=True),
    Turning("turned 90 left", transposed=True, upside_down=True),
    Turning("transversed", transposed=True, upside_down=True, mirrored=True),
)


def coefficients(pictures: Pictures, down: Sequence[Span], across: Sequence[Span] = (WHOLE,)) -> Coefficients:
    """The cosine transforms of windows: (pictures, spans down, spans across, 11, 11) from (pictures, height, width)."""
    rows = np.concatenate([_waves(pictures.shape[1], *span) for span in down])
    columns = np.concatenate([_waves(pictures.shape[2], *span) for span in across])
    found = rows @ pictures.astype(np.float32) @ columns.T
    split = found.reshape(len(pictures), len(down), FREQUENCIES, len(across), FREQUENCIES)
    return np.ascontiguousarray(split.transpose(0, 1, 3, 2, 4))


def turned(found: Coefficients, turning: Turning) -> Coefficients:
    """The coefficients that the turned picture has; shape (..., 11, 11)."""
    found = found.swapaxes(-1, -2) if turning.transposed else found
    signs = (-1.0) ** np.arange(FREQUENCIES, dtype=np.float32)
    if turning.upside_down:
        found = found * signs[:, np.newaxis]
    return found * signs if turning.mirrored else found


def hashes_of(found: Coefficients) -> Hashes:
    """The signs of 64 coefficients each: shape (...) from (..., 11, 11)."""
    chosen = found[..., _ROWS, _COLUMNS]
    threshold = NOTHING_SHARE * np.sqrt(np.square(chosen).mean(axis=-1, keepdims=True))
    bits = np.packbits(chosen > threshold, axis=-1)
    return np.ascontiguousarray(bits).view(">u8")[..., 0].astype(np.uint64)


@cache
def _waves(size: int, start: float, length: float) -> npt.NDArray[np.float32]:
    """Integrals of each cosine over each pixel's part in the window, (11, size); orthonormal over the window."""
    edges = np.clip(np.arange(size + 1) / size, start, start + length) - start
    turns = np.arange(FREQUENCIES)[:, np.newaxis] * np.pi / length
    integrals = np.where(turns == 0, edges, np.sin(turns * edges) / np.maximum(turns, 1e-9))
    scale = np.where(turns == 0, 1.0, np.sqrt(2.0)) / length
    waves: npt.NDArray[np.float32] = (np.diff(integrals, axis=1) * scale).astype(np.float32)
    return waves
