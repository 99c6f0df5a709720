"""The filters, found by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from core.content import Modality
from core.errors import InterplayError
from core.registry import Entry, Registry
from curation.filters.described import Described
from curation.filters.thresholds import Thresholds
from curation.filters.verdict import Drop, DropClass, DropReason, Filter, Verdict
from curation.filters.views import View

ANY = "any"
# A filter's name begins with the modality that it judges, or with `any`.
_TARGETS = {
    "any-language": "1",
    "any-licence": "2",
    "image-aspect": "1",
    "image-blur": "1",
    "image-exposure": "1",
    "image-near_uniform": "1",
    "image-resolution": "1",
    "audio-bandwidth": "1",
    "audio-clipping": "1",
    "audio-duration": "1",
    "audio-loudness": "1",
    "audio-silence": "1",
    "audio-snr": "1",
    "video-bitrate": "1",
    "video-black": "2",
    "video-duration": "1",
    "video-frozen": "2",
    "video-scenes": "1",
}


def filters() -> Registry[Filter]:
    """Our filters, and those that installed packages offer as entry points `interplay.filters`."""
    return Registry("filters", tuple(_entry(name, version) for name, version in _TARGETS.items()))


@dataclass(frozen=True)
class Judgement:
    """What all filters that were asked say together; `drop` is the most telling of the drops, None to keep.

    `measures` are by filter (`name@version`), plain JSON values, beside the version of the thresholds.
    """

    drop: Drop | None
    measures: dict[str, Any] = field(default_factory=dict)


def judge(view: View, modality: Modality, thresholds: Thresholds) -> Judgement:
    """Ask every filter of the modality."""
    measures: dict[str, Any] = {"thresholds": thresholds.version}
    for fingerprint, judge_one in filters_of(modality.value):
        measures[fingerprint] = _facts(judge_one(view, thresholds))
    return Judgement(worst_drop(measures), measures)


def judge_described(described: Described, thresholds: Thresholds) -> Judgement:
    """Ask every filter of any modality; what a filter cannot judge is noted as its failure and drops nothing."""
    measures: dict[str, Any] = {"known": described.fingerprint}
    for fingerprint, judge_one in filters_of(ANY):
        try:
            measures[fingerprint] = _facts(judge_one(described, thresholds))
        except InterplayError as error:
            measures[fingerprint] = {"failure": str(error)}
    return Judgement(worst_drop(measures), measures)


def worst_drop(measures: Mapping[str, Any]) -> Drop | None:
    """The most telling of the drops that measures tell of."""
    drops = [
        Drop(facts["drop"], facts["fault"], DropClass(facts["class"]))
        for facts in measures.values()
        if isinstance(facts, Mapping) and "fault" in facts
    ]
    return min(drops, key=_rank, default=None)


# Looking for entry points reads the metadata of every installed package: once a process, not once a file.
@cache
def filters_of(kind: str) -> tuple[tuple[str, Filter], ...]:
    """The filters of a modality, or of any, by `name@version`."""
    entries = [entry for entry in filters() if entry.name.startswith(f"{kind}-")]
    return tuple((entry.fingerprint, entry.load()) for entry in entries)


def _facts(verdict: Verdict) -> dict[str, Any]:
    found = verdict.measures.items()
    facts: dict[str, Any] = {name: round(held, 4) if isinstance(held, float) else held for name, held in found}
    if isinstance(verdict, Drop):
        facts |= {"drop": verdict.reason, "class": verdict.drop_class.value, "fault": verdict.measure}
    return facts


def _rank(drop: Drop) -> tuple[int, str]:
    ranks = [reason.value for reason in DropReason]
    return ranks.index(drop.reason) if drop.reason in ranks else len(ranks), drop.reason


def _entry(name: str, version: str) -> Entry[Filter]:
    modality, _, attribute = name.partition("-")
    return Entry(name, version, f"curation.filters.{modality}:{attribute}")
