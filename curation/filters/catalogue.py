"""The filters, found by name."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from core.content import Modality
from core.registry import Entry, Registry
from curation.filters.thresholds import Thresholds
from curation.filters.verdict import Drop, DropReason, Filter

# A filter's name begins with the modality that it judges.
_TARGETS = (
    "image-aspect",
    "image-blur",
    "image-exposure",
    "image-near_uniform",
    "image-resolution",
    "audio-clipping",
    "audio-duration",
    "audio-loudness",
    "audio-silence",
    "video-black",
    "video-duration",
    "video-frozen",
)


def filters() -> Registry[Filter]:
    """Our filters, and those that installed packages offer as entry points `interplay.filters`."""
    return Registry("filters", tuple(_entry(name) for name in _TARGETS))


@dataclass(frozen=True)
class Judgement:
    """What all filters of a modality say together; `drop` is the most telling of the drops, None to keep.

    `measures` are by filter (`name@version`), plain JSON values.
    """

    drop: Drop | None
    measures: dict[str, Any] = field(default_factory=dict)


def judge(view: Any, modality: Modality, thresholds: Thresholds) -> Judgement:
    """Ask every filter of the modality."""
    measures: dict[str, Any] = {"thresholds": thresholds.version}
    drops: list[Drop] = []
    for fingerprint, judge_one in _filters_of(modality):
        verdict = judge_one(view, thresholds)
        measures[fingerprint] = {name: round(value, 4) for name, value in verdict.measures.items()}
        if isinstance(verdict, Drop):
            drops.append(verdict)
            measures[fingerprint]["drop"] = verdict.reason
    return Judgement(min(drops, key=_rank, default=None), measures)


# Looking for entry points reads the metadata of every installed package: once a process, not once a file.
@cache
def _filters_of(modality: Modality) -> tuple[tuple[str, Filter], ...]:
    entries = [entry for entry in filters() if entry.name.startswith(f"{modality.value}-")]
    return tuple((entry.fingerprint, entry.load()) for entry in entries)


def _rank(drop: Drop) -> int:
    ranks = [reason.value for reason in DropReason]
    return ranks.index(drop.reason) if drop.reason in ranks else len(ranks)


def _entry(name: str) -> Entry[Filter]:
    modality, _, attribute = name.partition("-")
    return Entry(name, "1", f"curation.filters.{modality}:{attribute}")
