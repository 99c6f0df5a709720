"""Targets as maintainers edit them: a grid, and what was changed in it."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from math import prod
from typing import Any

from annotation_ui import labels
from annotation_ui.targets import ANY, MOST_ROWS, Shape, Target, TooManyTargets, media_code
from annotation_ui.told import Told
from annotation_ui.views.coverage import TargetRow
from annotation_ui.words import N_, Words
from core.content import Modality
from core.taxonomy import load_taxonomy

# The grid shows an empty code as an empty cell.
ANY_CODE = "any"
SHAPE, NUMBERS = ("task_type", "media", "language"), ("target", "have", "underway")


class HalfRow(Told):
    """A row of the grid in which something is not filled."""

    text = N_("Row {number} is not complete: choose its task type, media and language, and write its target.")


def task_types(t: Words, shown: Sequence[TargetRow]) -> dict[str, str]:
    """Those of the taxonomy, after "any", with their names; last what only targets of an earlier one name."""
    known = [one.id for one in load_taxonomy().task_types]
    codes = dict.fromkeys([*known, *(row.shape.task_type for row in shown if row.shape.task_type != ANY)])
    return {ANY_CODE: t("Any task type")} | {code: labels.task_type(t, code) for code in codes}


def media(t: Words) -> dict[str, str]:
    """Combinations of media, the smaller ones first, after "any"."""
    senses = [modality for modality in Modality if modality is not Modality.TEXT]
    sets = [frozenset(some) for count in (2, 3, 1, 0) for some in combinations(senses, count)]
    return {ANY_CODE: t("Any media")} | {media_code(some): labels.modality_set(t, some) for some in sets}


def languages(t: Words, shown: Sequence[TargetRow], used: Iterable[str]) -> dict[str, str]:
    """Those that questions are written in and targets are set for, after "any"."""
    wanted = {row.shape.language for row in shown} - {ANY}
    codes = dict.fromkeys([*labels.QUESTION_LANGUAGES, *sorted({*used, *wanted})])
    return {ANY_CODE: t("Any language")} | {code: labels.question_language(t, code) for code in codes}


def grid(rows: Sequence[TargetRow]) -> list[dict[str, Any]]:
    """The rows of the grid."""
    return [
        {name: code or ANY_CODE for name, code in vars(row.shape).items()}
        | {"target": row.target, "have": row.have, "underway": row.underway}
        for row in rows
    ]


def changes(shown: Sequence[TargetRow], edited: Sequence[Mapping[str, Any]]) -> list[Target]:
    """What was changed in the grid: set, changed and taken away, each with the version that was shown.

    Raises:
        HalfRow: A row that was added is not filled.
    """
    before = {row.shape: row for row in shown}
    wanted: list[Target] = []
    for number, row in enumerate(edited, start=1):
        codes, count = [row.get(name) for name in SHAPE], row.get("target")
        if count is None and all(code in (None, ANY_CODE) for code in codes):
            continue  # a row that was added and never filled
        if not all(codes) or count is None:
            raise HalfRow(number=number)
        shape = Shape(*(ANY if code == ANY_CODE else str(code) for code in codes))
        held = before.get(shape)
        wanted.append(Target(shape, int(count), held.version if held else 0))
    kept = {one.shape for one in wanted}
    gone = [Target(shape, 0, row.version) for shape, row in before.items() if shape not in kept]
    same = {(row.shape, row.target) for row in shown}
    # What stands there twice is told as a mistake by whoever stores it, changed or not.
    twice = len(kept) < len(wanted)
    return gone + [one for one in wanted if twice or (one.shape, one.count) not in same]


def many(chosen: Sequence[Sequence[str]], count: int) -> list[Target]:
    """One target for every combination of chosen task types, media and languages; nothing chosen is any.

    Raises:
        TooManyTargets: There are far too many combinations.
    """
    if prod(max(len(codes), 1) for codes in chosen) > MOST_ROWS:
        raise TooManyTargets(count=MOST_ROWS)
    return [Target(Shape(*codes), count) for codes in product(*(codes or [ANY] for codes in chosen))]
