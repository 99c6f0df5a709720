"""Filters of images."""

import numpy as np
import numpy.typing as npt

from curation.filters.thresholds import Thresholds
from curation.filters.verdict import DropReason, Verdict, judged
from curation.filters.views import Picture

EXTREME_PERCENT = 0.1
"""How much of a picture its darkest and brightest parts must fill to count: a few dots on a plain page do."""


def resolution(picture: Picture, thresholds: Thresholds) -> Verdict:
    """Drop icons: the shorter side is too short."""
    side_px, least_px = min(picture.width_px, picture.height_px), thresholds.image_side_min_px
    faults = [f"shorter side {side_px} px, at least {least_px} px"] if side_px < least_px else []
    return judged(DropReason.TOO_SMALL, faults, {"shorter_side_px": side_px})


def aspect(picture: Picture, thresholds: Thresholds) -> Verdict:
    """Drop strips: one side is many times the other."""
    sides = sorted((picture.width_px, picture.height_px))
    ratio, most = sides[1] / sides[0], thresholds.image_aspect_max
    faults = [f"aspect {ratio:.1f} to 1, at most {most:g} to 1"] if ratio > most else []
    return judged(DropReason.BAD_ASPECT, faults, {"aspect_ratio": ratio})


def blur(picture: Picture, thresholds: Thresholds) -> Verdict:
    """Drop pictures without an edge: the variance of the Laplacian (Pech-Pacheco et al., ICPR 2000) is too low."""
    variance, least = float(_laplacian(picture.luma).var()), thresholds.image_laplacian_variance_min
    faults = [f"variance of the Laplacian {variance:.2f}, at least {least:g}"] if variance < least else []
    return judged(DropReason.BLURRED, faults, {"laplacian_variance": variance})


def exposure(picture: Picture, thresholds: Thresholds) -> Verdict:
    """Drop pictures that are dark or bright all over: even their brightest or darkest thousandth is."""
    # Whole levels are sorted by counting, which is quicker than to part them in floating point.
    levels = np.sort(picture.luma.astype(np.uint8), axis=None, kind="stable").astype(np.float32)
    dark, bright = (float(value) for value in np.percentile(levels, (EXTREME_PERCENT, 100 - EXTREME_PERCENT)))
    faults = []
    if bright < thresholds.image_bright_min:
        faults.append(f"brightest luma {bright:.0f}, at least {thresholds.image_bright_min:g}")
    if dark > thresholds.image_dark_max:
        faults.append(f"darkest luma {dark:.0f}, at most {thresholds.image_dark_max:g}")
    return judged(DropReason.BAD_EXPOSURE, faults, {"darkest_luma": dark, "brightest_luma": bright})


def near_uniform(picture: Picture, thresholds: Thresholds) -> Verdict:
    """Drop pictures of one tone: the standard deviation of luma is too low."""
    spread, least = float(picture.luma.std()), thresholds.image_spread_min
    faults = [f"spread of luma {spread:.2f}, at least {least:g}"] if spread < least else []
    return judged(DropReason.NEAR_UNIFORM, faults, {"luma_spread": spread})


def _laplacian(luma: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The sum of the second differences across and down, mirrored at the edges."""
    wide = np.pad(luma, 1, mode="symmetric")
    around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    found: npt.NDArray[np.float32] = around - 4 * luma
    return found
