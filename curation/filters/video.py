"""Filters of videos."""

import numpy as np

from curation.filters.thresholds import Thresholds
from curation.filters.verdict import DropReason, Keep, Verdict, judged
from curation.filters.views import FRAMES_HZ, Film


def duration(film: Film, thresholds: Thresholds) -> Verdict:
    """Drop films that end before anything is seen."""
    least_s = thresholds.video_duration_min_s
    faults = [f"lasts {film.duration_s:.2f} s, at least {least_s:g} s"] if film.duration_s < least_s else []
    return judged(DropReason.TOO_SHORT, faults, {"duration_s": film.duration_s})


def black(film: Film, thresholds: Thresholds) -> Verdict:
    """Drop films of which hardly a frame has a bright spot."""
    share, most = float((film.brightest < thresholds.video_bright_min).mean()), thresholds.video_black_share_max
    faults = [f"{share:.1%} of the frames are black, at most {most:.1%}"] if share > most else []
    return judged(DropReason.BLACK, faults, {"black_share": share, "brightest_luma": float(film.brightest.max())})


def frozen(film: Film, thresholds: Thresholds) -> Verdict:
    """Drop films that stand still: hardly a frame differs from the last one that did (as FFmpeg's freezedetect).

    Slides that change every other minute are kept.
    """
    later = film.changed[1:]
    share, most = float((later == 0).mean()) if later.size else 1.0, thresholds.video_frozen_share_max
    faults = [f"{share:.1%} of the frames stand still, at most {most:.1%}"] if share > most else []
    return judged(DropReason.FROZEN, faults, {"frozen_share": share})


def scenes(film: Film, thresholds: Thresholds) -> Verdict:
    """Count the cuts: frames that differ from the one before in luma and in its histogram.

    Measured only: neither a long take nor a quick montage is a fault. Cuts within a quarter of a second count as one,
    and fades as none.
    """
    is_cut = (film.luma_steps >= thresholds.video_cut_luma_min) & (
        film.histogram_steps >= thresholds.video_cut_histogram_min
    )
    cuts = int(is_cut.sum())
    return Keep({"scene_count": cuts + 1, "cuts_per_minute": cuts * 60 * FRAMES_HZ / film.changed.size})


def bitrate(film: Film, thresholds: Thresholds) -> Verdict:
    """Drop films with too few bits for what moves in them: such a picture is made of blocks.

    The bits are counted a pixel that changes, four times a second, and each pixel once: what stands still costs next to
    nothing, and slides or a mouse pointer need few bits a second.
    """
    pixels, bits = film.width_px * film.height_px, 8 * film.byte_count
    changes = max(1.0, float(np.sum(film.changed, dtype=np.float64)))
    found, least = bits / (pixels * changes), thresholds.video_bits_per_change_min
    faults = [f"{found:.4f} bits for each pixel that changes, at least {least:g}"] if found < least else []
    per_second = bits / (pixels * film.duration_s) if film.duration_s else None
    measures = {"bits_per_pixel_s": per_second, "bits_per_changed_pixel": found}
    return judged(DropReason.BLOCKY, faults, measures)
