"""How questions spread over task types, media and languages, and what the targets still lack."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import Session

from annotation_ui import labels
from annotation_ui.targets import ANY, Shape, media_code, shape_of, targets
from annotation_ui.words import Words
from core.content import Modality
from core.taxonomy import load_taxonomy
from warehouse.release.build import item_shapes
from warehouse.spreadsheets import Cell
from warehouse.tables import CoverageTarget, ItemState

_DONE = frozenset({ItemState.ACCEPTED, ItemState.RELEASED})
_OUT = frozenset({ItemState.REJECTED, ItemState.RETIRED})


@dataclass(frozen=True)
class Kind:
    """What a question is like: its task type, the media that it shows, its language, and whether it is accepted."""

    task_type: str
    media: frozenset[Modality]
    language: str
    is_done: bool


Questions = Mapping[Kind, int]
"""How many there are of each kind; those that are rejected or retired do not count."""


@dataclass(frozen=True)
class Coverage:
    """Counts of items by task type (rows) and modality combination (columns), for one language or all."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[int]]]
    untouched: Sequence[str]
    task_type_count: int


@dataclass(frozen=True)
class TargetRow:
    """One target: `have` are accepted or released, `underway` are written and not decided.

    `share` in [0, 1] is how much of it is there, `coming` how much more is underway.
    """

    shape: Shape
    version: int
    task_type: str
    about: str
    have: int
    underway: int
    target: int

    @property
    def missing(self) -> int:
        """How many more must be accepted."""
        return max(self.target - self.have, 0)

    @property
    def share(self) -> float:
        """How much of it is there, in [0, 1]."""
        return min(self.have / self.target, 1.0)

    @property
    def coming(self) -> float:
        """How much more is underway, as far as the target reaches."""
        return min(self.underway / self.target, 1.0 - self.share)


def questions(session: Session) -> Questions:
    """All that count, by kind."""
    return Counter(
        Kind(one.task_type, one.modalities, one.language, one.state in _DONE)
        for one in item_shapes(session)
        if one.state not in _OUT
    )


def languages(found: Questions) -> list[str]:
    """Languages that questions are written in, the most used first."""
    counts: Counter[str] = Counter()
    for kind, count in found.items():
        counts[kind.language] += count
    return [code for code, _ in counts.most_common()]


def coverage(found: Questions, t: Words, language: str | None = None) -> Coverage:
    """How questions spread over task types and modality combinations."""
    counts: Counter[tuple[str, str]] = Counter()
    combinations: Counter[str] = Counter()
    for kind, count in found.items():
        if language is not None and kind.language != language:
            continue
        label = labels.modality_set(t, kind.media)
        counts[kind.task_type, label] += count
        combinations[label] += count
    columns = [label for label, _ in combinations.most_common()]
    known = [entry.id for entry in load_taxonomy().task_types]
    touched = {task_type for task_type, _ in counts}
    order = [name for name in known if name in touched] + sorted(touched - set(known))
    return Coverage(
        columns=columns,
        rows=[(labels.task_type(t, name), [counts[name, column] for column in columns]) for name in order],
        untouched=[labels.task_type(t, name) for name in known if name not in touched],
        task_type_count=len(known),
    )


def target_rows(session: Session, found: Questions, t: Words) -> list[TargetRow]:
    """All targets, those first that lack most."""
    rows = [_row(row, found, t) for row in targets(session)]
    return sorted(rows, key=lambda row: (-row.missing, row.underway, row.shape))


def target_cells(rows: Iterable[TargetRow]) -> list[list[Cell]]:
    """The table that can be brought back, under `COLUMNS`."""
    return [[*vars(row.shape).values(), row.target] for row in sorted(rows, key=lambda row: row.shape)]


def about(t: Words, shape: Shape) -> str:
    """Media and language of a target in words; nothing where both may be any."""
    said = []
    if (media := shape.modalities) is not None:
        said.append(labels.modality_set(t, media))
    if shape.language != ANY:
        said.append(labels.question_language(t, shape.language))
    return " · ".join(said) or t("any media, any language")


def _row(row: CoverageTarget, found: Questions, t: Words) -> TargetRow:
    shape = shape_of(row)
    have = underway = 0
    for kind, count in found.items():
        if shape.fits(kind.task_type, media_code(kind.media), kind.language):
            have, underway = (have + count, underway) if kind.is_done else (have, underway + count)
    name = t("Any task type") if shape.task_type == ANY else labels.task_type(t, shape.task_type)
    return TargetRow(shape, row.version, name, about(t, shape), have, underway, row.target)
