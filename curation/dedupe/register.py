"""Whether two small grey pictures show the same: one is laid onto the other, then they are compared block by block."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SIDE = 32
BLOCK = 4
BLOCKS = (SIDE // BLOCK) ** 2
ITERATIONS = 6
STEP_MAX = 0.1
"""The largest change of a parameter in one iteration, in shares of the side."""
TEXTURE = 3.0
"""Deviation of luma in a block at which it counts half: below lies what coding and noise leave."""

EMPTY_EVIDENCE, POOR_EVIDENCE = 20.0, 48.0
"""Pictures with less texture (of 64 blocks) are nearly empty, or poor: there a small addition is another picture."""
MARKED_SHARE_MIN, EMPTY_SHARE_MIN = 0.65, 0.88
UNCHANGED_CORRELATION = 0.9
UNCHANGED_MIN, POOR_UNCHANGED_MIN = 0.5, 0.6
BLURRED_SHARE_MIN, BLURRED_WHOLE_MIN = 0.8, 0.95
STRETCH_MAX = 1.15
SCALE_MAX = 4 / 3

Floats = npt.NDArray[np.float32]
Maps = npt.NDArray[np.float64]
"""Affine maps (pairs, 2, 3) from a place of one picture to a place of the other, (x, y) from the centre, side 1."""

_AXIS = (np.arange(SIDE, dtype=np.float32) + 0.5) / SIDE - 0.5
_Y, _X = (axis.ravel() for axis in np.meshgrid(_AXIS, _AXIS, indexing="ij"))
_SPARSE = np.flatnonzero(np.add.outer(np.arange(SIDE), np.arange(SIDE)).ravel() % 2 == 0)
"""Every other pixel: enough to find the map."""


@dataclass(frozen=True)
class Agreement:
    """How far pairs of pictures agree, all (pairs,) but the maps.

    Blocks count by their texture. `share` is their mean correlation, from 0 to 1; `unchanged` the share of them that
    correlate by more than 0.9; `whole` the correlation of all pixels; `evidence` the sum of the blocks' weights, at
    most 64. `maps` (pairs, 2, 3) lead from the first picture to the second.
    """

    share: Floats
    unchanged: Floats
    whole: Floats
    evidence: Floats
    maps: Maps

    @property
    def is_same(self) -> npt.NDArray[np.bool_]:
        """Whether the pictures show the same: but for a part that was changed, or throughout, if less sharply.

        Where they had to be stretched more on one side than on the other, they are not.
        """
        is_poor, is_empty = self.evidence < POOR_EVIDENCE, self.evidence < EMPTY_EVIDENCE
        marked = (self.share >= np.where(is_empty, EMPTY_SHARE_MIN, MARKED_SHARE_MIN)) & (
            self.unchanged >= np.where(is_poor, POOR_UNCHANGED_MIN, UNCHANGED_MIN)
        )
        blurred = (self.share >= BLURRED_SHARE_MIN) & (self.whole >= BLURRED_WHOLE_MIN)
        longest, shortest = np.linalg.svd(self.maps[:, :, :2], compute_uv=False).T
        is_even = (longest <= STRETCH_MAX * shortest) & (longest < SCALE_MAX) & (shortest > 1 / SCALE_MAX)
        same: npt.NDArray[np.bool_] = (marked | blurred) & is_even
        return same


def compare(first: npt.NDArray[np.uint8], second: npt.NDArray[np.uint8], maps: Maps) -> Agreement:
    """Improve maps from the first to the second pictures, and see how far they agree there.

    The maps are improved by inverse compositional Gauss-Newton steps with robust weights, over an affine map, gain and
    offset of luma (Baker and Matthews, "Lucas-Kanade 20 Years On", IJCV 2004); they must be right to a pixel or two.

    Args:
        first: Shape (pairs, 32, 32).
        second: Shape (pairs, 32, 32).
        maps: Where to begin.
    """
    one, other = first.astype(np.float32), second.astype(np.float32)
    return _agreement(one, other, _fit(_smooth(one), _smooth(other), maps))


def _fit(first: Floats, second: Floats, maps: Maps) -> Maps:
    pairs = len(first)
    down, across = (slope.reshape(pairs, -1)[:, _SPARSE] * SIDE for slope in np.gradient(first, axis=(1, 2)))
    luma, x, y = first.reshape(pairs, -1)[:, _SPARSE], _X[_SPARSE], _Y[_SPARSE]
    terms = [luma, np.ones_like(luma), across, down, across * x, down * y, across * y, down * x]
    jacobian = np.stack(terms, axis=2)
    # Where the picture says nothing about a parameter it stays: a small pull towards no change.
    pull = np.diag([0.0, 0.0, *[0.6] * 6])
    solution = None
    for _ in range(ITERATIONS):
        seen, inside = _sample(second, maps, x, y)
        weights = inside.astype(np.float32)
        if solution is not None:
            weights *= _trust(seen - (luma * solution[:, 0, None] + solution[:, 1, None]).astype(np.float32))
        weighted = (jacobian * weights[:, :, np.newaxis]).transpose(0, 2, 1)
        normal = (weighted @ jacobian).astype(np.float64)
        normal += pull * np.maximum(1, weights.sum(axis=1))[:, np.newaxis, np.newaxis] + np.eye(8) * 1e-3
        solution = np.linalg.solve(normal, (weighted @ seen[:, :, np.newaxis]).astype(np.float64))[:, :, 0]
        maps = _moved(maps, solution)
    return maps


def _trust(residuals: Floats) -> Floats:
    """Weights that fall where pixels fit much worse than most (Geman and McClure)."""
    scale = np.median(np.abs(residuals), axis=1, keepdims=True) * 1.48 + 1
    weights: Floats = (1 / (1 + np.square(residuals / (2 * scale)))) ** 2
    return weights


def _moved(maps: Maps, solution: npt.NDArray[np.float64]) -> Maps:
    """The maps behind the inverse of the small change that was solved for."""
    gain = solution[:, :1]
    change = np.clip(solution[:, 2:] / np.where(np.abs(gain) < 0.1, 0.1, gain), -STEP_MAX, STEP_MAX)
    right, below, wider, taller, lean_x, lean_y = change.T
    back = np.tile(np.eye(3), (len(maps), 1, 1))
    back[:, 0] -= np.stack([wider, lean_x, right], axis=1)
    back[:, 1] -= np.stack([lean_y, taller, below], axis=1)
    return maps @ back


def _sample(pictures: Floats, maps: Maps, x: Floats, y: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """What pictures show where the maps lead (bilinear), and whether that is inside them; (pairs, places)."""
    m = maps.astype(np.float32)[:, :, :, np.newaxis]
    column = (m[:, 0, 0] * x + m[:, 0, 1] * y + m[:, 0, 2] + 0.5) * SIDE - 0.5
    row = (m[:, 1, 0] * x + m[:, 1, 1] * y + m[:, 1, 2] + 0.5) * SIDE - 0.5
    inside = (np.abs(column - (SIDE - 1) / 2) <= SIDE / 2 + 0.25) & (np.abs(row - (SIDE - 1) / 2) <= SIDE / 2 + 0.25)
    column, row = np.clip(column, 0, SIDE - 1.001), np.clip(row, 0, SIDE - 1.001)
    left, top = column.astype(np.int32), row.astype(np.int32)
    column -= left
    row -= top
    place = (np.arange(len(pictures))[:, np.newaxis] * SIDE + top) * SIDE + left
    flat = pictures.reshape(-1)
    above = flat[place] * (1 - column) + flat[place + 1] * column
    place += SIDE
    below = flat[place] * (1 - column) + flat[place + 1] * column
    return above * (1 - row) + below * row, inside


def _agreement(first: Floats, second: Floats, maps: Maps) -> Agreement:
    seen, inside = _sample(second, maps, _X, _Y)
    first = first.reshape(len(first), -1)
    whole, _ = _correlations(first, seen, inside.astype(np.float32))
    is_inside = _blocks(inside.astype(np.float32)).mean(axis=2) >= 0.75
    one, other = _blocks(first), _blocks(seen)
    correlations, texture = _correlations(one, other, np.ones_like(one))
    weights = texture / (texture + TEXTURE**2) * is_inside
    evidence = weights.sum(axis=1)
    share, unchanged = (
        ((values * weights).sum(axis=1) / np.maximum(evidence, 1e-6)).astype(np.float32)
        for values in (np.maximum(correlations, 0), correlations > UNCHANGED_CORRELATION)
    )
    return Agreement(share, unchanged, whole, evidence, maps)


def _correlations(one: Floats, other: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Correlation over the last axis, and the larger of both variances."""
    count = np.maximum(weights.sum(axis=-1, keepdims=True), 1)
    one, other = (
        (values - (values * weights).sum(axis=-1, keepdims=True) / count) * weights for values in (one, other)
    )
    spread_one, spread_other = (np.square(values).sum(axis=-1) / count[..., 0] for values in (one, other))
    product = (one * other).sum(axis=-1) / count[..., 0]
    # The small number leaves no correlation to what is flat.
    return product / np.sqrt((spread_one + 1e-3) * (spread_other + 1e-3)), np.maximum(spread_one, spread_other)


def _blocks(values: Floats) -> Floats:
    """(pairs, 64 blocks, 16 pixels) from (pairs, 1024)."""
    count = SIDE // BLOCK
    split = values.reshape(-1, count, BLOCK, count, BLOCK).transpose(0, 1, 3, 2, 4)
    return split.reshape(-1, BLOCKS, BLOCK * BLOCK)


def _smooth(pictures: Floats) -> Floats:
    """A binomial filter over three pixels on both axes."""
    for axis in (1, 2):
        ends = [pictures.take([0], axis), pictures, pictures.take([-1], axis)]
        padded = np.concatenate(ends, axis)
        before, here, behind = (padded.take(np.arange(start, start + SIDE), axis) for start in range(3))
        pictures = 0.25 * before + 0.5 * here + 0.25 * behind
    return pictures
