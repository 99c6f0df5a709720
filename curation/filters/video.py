"""Filters of videos."""

from curation.filters.thresholds import Thresholds
from curation.filters.verdict import DropReason, Verdict, judged
from curation.filters.views import Film


def duration(film: Film, thresholds: Thresholds) -> Verdict:
    """Drop films that end before anything is seen."""
    least_s = thresholds.video_duration_min_s
    faults = [f"lasts {film.duration_s:.2f} s, at least {least_s:g} s"] if film.duration_s < least_s else []
    return judged(DropReason.TOO_SHORT, faults, {"duration_s": film.duration_s})


def black(film: Film, thresholds: Thresholds) -> Verdict:
    """Drop films in which no frame has a bright spot."""
    brightest, least = float(film.brightest.max()), thresholds.video_bright_min
    faults = [f"brightest luma of all frames {brightest:.0f}, at least {least:g}"] if brightest < least else []
    return judged(DropReason.BLACK, faults, {"brightest_luma": brightest})


def frozen(film: Film, thresholds: Thresholds) -> Verdict:
    """Drop films in which nothing ever differs from the first frame."""
    change, least = float(film.changes.max()), thresholds.video_change_min
    faults = [f"largest change of luma {change:.0f}, at least {least:g}"] if change < least else []
    return judged(DropReason.FROZEN, faults, {"largest_change": change})
