"""What a filter says of a material: keep it, or drop it for a reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from curation.filters.thresholds import Thresholds

Measures = Mapping[str, float | str | None]
"""What a filter found, by name with unit; None for what is not defined, then `why` says the reason."""


class DropClass(StrEnum):
    """Three classes of thrown-out material (UNO-Bench, section 3.1.2), and one of our own.

    `not_usable` says nothing against the material itself: its licence, its language or what it shows do not fit what
    the project may publish.
    """

    LOW_QUALITY = "low_quality"
    MEANINGLESS = "meaningless"
    ILLOGICAL = "illogical"
    NOT_USABLE = "not_usable"


class DropReason(StrEnum):
    """Why our own filters drop; where several apply, the first one here is the one that tells most."""

    UNSAFE = "unsafe"
    LICENCE = "licence"
    WRONG_LANGUAGE = "wrong_language"
    SILENT = "silent"
    BLACK = "black"
    NEAR_UNIFORM = "near_uniform"
    TOO_SHORT = "too_short"
    TOO_SMALL = "too_small"
    BAD_ASPECT = "bad_aspect"
    FROZEN = "frozen"
    BAD_EXPOSURE = "bad_exposure"
    BLURRED = "blurred"
    TOO_QUIET = "too_quiet"
    CLIPPED = "clipped"
    NOISY = "noisy"
    NARROW_BAND = "narrow_band"
    BLOCKY = "blocky"


CLASS_OF_REASON: Mapping[str, DropClass] = {
    DropReason.UNSAFE: DropClass.NOT_USABLE,
    DropReason.LICENCE: DropClass.NOT_USABLE,
    DropReason.WRONG_LANGUAGE: DropClass.NOT_USABLE,
    DropReason.SILENT: DropClass.MEANINGLESS,
    DropReason.BLACK: DropClass.MEANINGLESS,
    DropReason.NEAR_UNIFORM: DropClass.MEANINGLESS,
    DropReason.TOO_SHORT: DropClass.MEANINGLESS,
    DropReason.TOO_SMALL: DropClass.LOW_QUALITY,
    DropReason.BAD_ASPECT: DropClass.ILLOGICAL,
    DropReason.FROZEN: DropClass.ILLOGICAL,
    DropReason.BAD_EXPOSURE: DropClass.LOW_QUALITY,
    DropReason.BLURRED: DropClass.LOW_QUALITY,
    DropReason.TOO_QUIET: DropClass.LOW_QUALITY,
    DropReason.CLIPPED: DropClass.LOW_QUALITY,
    DropReason.NOISY: DropClass.MEANINGLESS,
    DropReason.NARROW_BAND: DropClass.LOW_QUALITY,
    DropReason.BLOCKY: DropClass.LOW_QUALITY,
}


@dataclass(frozen=True)
class Keep:
    """Nothing against it."""

    measures: Measures = field(default_factory=dict)


@dataclass(frozen=True)
class Drop:
    """To be thrown out: `measure` says in words what was found and where the limit lies."""

    reason: str
    measure: str
    drop_class: DropClass
    measures: Measures = field(default_factory=dict)


Verdict = Keep | Drop


class Filter(Protocol):
    """Judges one material.

    `view` is a `Picture`, a `Sound` or a `Film`, as the modality in the filter's name says, or a `Described` where the
    name begins with `any-`. Such a filter raises an `InterplayError` where it cannot judge; that is noted beside the
    material, which is kept.
    """

    def __call__(self, view: Any, thresholds: Thresholds) -> Verdict:
        """Keep it, or drop it with a reason."""
        ...


def judged(reason: DropReason, faults: list[str], measures: Measures) -> Verdict:
    """Drop for the reason when there are faults (each in words), else keep."""
    if not faults:
        return Keep(measures)
    return Drop(reason, "; ".join(faults), CLASS_OF_REASON[reason], measures)
