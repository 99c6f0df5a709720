"""Numbers of a report in words: the leaderboard, tables whose every number leads to its responses."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urlencode

import numpy as np

from annotation_ui import labels
from annotation_ui.results.kept import Results
from annotation_ui.results.responses import Chosen
from annotation_ui.views.results_words import TABLES, condition_label, head_label, kind_label, modalities_label, phrase
from annotation_ui.words import Words
from core.condition import FULL
from core.question import QuestionKind
from evaluation.report.comparisons import as_number, conditions_in_order, coverage
from evaluation.report.document import FEW_ITEMS, Cell, Column, Number, Report, Row, Selection, Table, TableCell
from evaluation.report.figures import models_of
from evaluation.report.frame import POINTS
from warehouse.spreadsheets import Cell as SheetCell

PAPER_TABLES = ("benchmarks", "table2", "table3", "table4", "table5", "table6", "twins")
SINGLE_PEOPLE = "single_people"
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class CellView:
    """One cell: mean points in percent with the 95% interval, how many answers could be graded, and its link.

    A cell without a link is words, or empty; `tip` says why, or all that is known of the number.
    """

    text: str
    interval: str = ""
    graded: str = ""
    bounds: str = ""
    invalid: str = ""
    tip: str = ""
    href: str = ""
    is_small: bool = False
    is_star: bool = False
    is_words: bool = False


@dataclass(frozen=True)
class GridRow:
    """A row, called by what it is of; `note` says more of it."""

    label: str
    cells: Sequence[CellView]
    is_person: bool = False
    note: str = ""


@dataclass(frozen=True)
class Grid:
    """A table to draw; `groups` are common heads over columns, with how many each spans."""

    key: str
    title: str
    note: str
    head: str
    columns: Sequence[str]
    groups: Sequence[tuple[str, int]]
    rows: Sequence[GridRow]


@dataclass(frozen=True)
class Count:
    """How many responses met a fate, and the way to them."""

    text: str
    href: str = ""


@dataclass(frozen=True)
class BoardRow:
    """A place in the leaderboard; people have none. `low`, `at` and `high` are percent, None without a number."""

    place: str
    label: str
    is_person: bool
    cell: CellView
    low: float | None
    at: float | None
    high: float | None
    ranks: str
    answered: Count
    unasked: Count
    failed: Count
    invalid: Count
    ungraded: Count


@dataclass(frozen=True)
class Board:
    """The leaderboard; `notes` say what its numbers rest on, `chance` is what guessing gives, where that is known."""

    rows: Sequence[BoardRow]
    notes: Sequence[str]
    chance: str
    has_small: bool


class Links:
    """Addresses of this page."""

    def __init__(self, scope: str) -> None:
        self._scope = scope

    def to(self, show: str, **more: str) -> str:
        """A part of the page, relative to it."""
        return f"results?{urlencode({'show': show, 'scope': self._scope, **more})}"

    def behind(self, number: Number) -> str:
        """The responses behind a number."""
        return self.responses(Chosen.behind(number))

    def responses(self, chosen: Chosen, **more: str) -> str:
        """Chosen responses."""
        pairs = [("show", "answers"), ("scope", self._scope), *more.items()]
        for prefix, selection in (("of", chosen.selection), ("than", chosen.against or {})):
            pairs += [(f"{prefix}.{name}", value) for name, values in selection.items() for value in values]
        return f"results?{urlencode(pairs)}"


def board(found: Results, kind: str | None, links: Links, t: Words) -> Board | None:
    """The leaderboard over all questions or those of one kind; None where nothing is graded."""
    table = found.boards.get(kind) if kind else found.report.table("leaderboard")
    if table is None or found.answered is None:
        return None
    among: Selection = {"kind": (kind,)} if kind else {}
    rows = [_board_row(found, row, among, links, t) for row in table.rows]
    return Board(
        rows=rows,
        notes=_board_notes(found, table, t),
        chance=_chance(found.report, kind, t),
        has_small=any(row.cell.is_small for row in rows),
    )


def grid(found: Report, key: str, links: Links, t: Words, only: Sequence[str] | None = None) -> Grid | None:
    """One table of a report, of some of its models alone where these are named; None where there are no data for it."""
    table = found.table(key)
    if table is None:
        return None
    title, note = TABLES[key]
    return Grid(
        key=key,
        title=t(title),
        note=t(note),
        head=phrase(t, table.head),
        columns=[head_label(t, column.title) for column in table.columns],
        groups=_groups(table.columns, t),
        rows=[
            GridRow(
                _label(row, t),
                [
                    _counted(one, column, t) or cell_view(one, links, t)
                    for one, column in zip(row.cells, table.columns, strict=True)
                ],
                row.label in found.people or key == SINGLE_PEOPLE,
            )
            for row in table.rows
            if only is None or row.label in only
        ],
    )


def conditions_grid(found: Report, links: Links, t: Words) -> Grid:
    """Points by condition: a row for each model and kind of question."""
    conditions = conditions_in_order(found.cells)
    by_place = {(cell.model, cell.kind, cell.condition): cell for cell in found.cells}
    return Grid(
        key="conditions",
        title=t("Points by condition"),
        note=t("Every model, kind of question and condition that was asked."),
        head=t("Model"),
        columns=[condition_label(t, name) for name in conditions],
        groups=[],
        rows=[
            GridRow(
                model,
                [_cell_at(by_place, (model, kind, name), links, t) for name in conditions],
                model in found.people,
                kind_label(t, kind),
            )
            for kind in dict.fromkeys(cell.kind for cell in found.cells)
            for model in models_of(found)
            if any(cell.model == model and cell.kind == kind for cell in found.cells)
        ],
    )


def cell_view(cell: TableCell, links: Links, t: Words) -> CellView:
    """A cell of a report."""
    if not isinstance(cell, Number):
        return CellView("–" if cell.text == "-" else phrase(t, cell.text))
    graded = f"{t.number(cell.graded)}/{t.number(cell.answered)}"
    if cell.points is None:
        if not cell.answered:
            return CellView("–", tip=phrase(t, cell.reason or ""))
        return CellView(t("not graded"), graded=graded, href=links.behind(cell), is_small=True)
    return CellView(
        text=points_text(cell.points),
        interval="" if cell.low is None or cell.high is None else between(cell.low, cell.high, t),
        graded=t.number(cell.graded) if cell.graded == cell.answered else graded,
        bounds=_bounds(cell),
        invalid=t("{count} invalid", count=t.number(cell.invalid)) if cell.invalid else "",
        tip=_told(cell, t),
        href=links.behind(cell),
        is_small=cell.is_small,
        is_star=cell.p_holm is not None and cell.p_holm < SIGNIFICANT,
    )


def points_text(points: float) -> str:
    """Points in percent, with a minus that is one."""
    return f"{points:.1f}".replace("-", "−")


def between(low: float, high: float, t: Words) -> str:
    """Two ends; words between them where one is negative, for a dash is a minus too."""
    ends = [f"{end:.0f}".replace("-", "−") for end in (low, high)]
    return t("{low} to {high}", low=ends[0], high=ends[1]) if low < 0 else "–".join(ends)


def sheet_columns(t: Words) -> list[str]:
    """Heads of a table that is saved: a line for each number."""
    names = [t("Table"), t("Row"), t("Human"), t("Kind"), t("Group"), t("Column"), t("Value")]
    names += [t("95% low"), t("95% high"), t("Answered"), t("Graded"), t("No valid answer")]
    return [*names, t("Items"), t("Clusters")]


def sheet_rows(tables: Sequence[Table], people: Sequence[str], t: Words) -> Iterator[Sequence[SheetCell]]:
    """The numbers of some tables, a line each, with all their digits."""
    for table in tables:
        title = t(TABLES[table.key][0]) if table.key in TABLES else t("Leaderboard")
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                place = [title, _label(row, t), _yes(row.label in people, t), "", phrase(t, column.group or "")]
                yield [*place, head_label(t, column.title), *_values(cell, t)]


def cell_rows(found: Report, t: Words) -> Iterator[Sequence[SheetCell]]:
    """The same of the points by model, kind and condition."""
    for cell in found.cells:
        person = _yes(cell.model in found.people, t)
        place = [t("Points by condition"), cell.model, person, kind_label(t, cell.kind), ""]
        yield [*place, condition_label(t, cell.condition), *_values(as_number(cell), t)]


def _values(cell: TableCell, t: Words) -> list[SheetCell]:
    if not isinstance(cell, Number):
        value = cell.value if isinstance(cell.value, int | float) and not isinstance(cell.value, bool) else None
        return [phrase(t, cell.text) if value is None else value, *([None] * 7)]
    return [
        cell.points, cell.low, cell.high, cell.answered, cell.graded, cell.invalid, cell.items, cell.clusters,
    ]  # fmt: skip


def _board_row(found: Results, row: Row, among: Selection, links: Links, t: Words) -> BoardRow:
    assert found.answered is not None
    place, number, ends = row.cells
    assert isinstance(number, Number)
    frame, shown = found.answered.frame, number.selection
    wanted = np.ones(len(frame.items), dtype=bool)
    for attribute, values in among.items():
        wanted &= frame.of_items[attribute].is_in(values)
    wanted[frame.item[frame.mask(shown)]] = False

    def count(outcome: str) -> Count:
        selection = {**shown, "outcome": (outcome,)}
        met = int(frame.mask(selection).sum())
        return Count(t.number(met), links.responses(Chosen(selection))) if met else Count("–")

    is_person, unasked = row.label in found.report.people, int(wanted.sum())
    return BoardRow(
        place="–" if is_person or isinstance(place, Number) else phrase(t, place.text).replace("-", "–"),
        label=row.label,
        is_person=is_person,
        cell=cell_view(number, links, t),
        low=number.low,
        at=number.points,
        high=number.high,
        ranks="" if isinstance(ends, Number) else phrase(t, ends.text),
        answered=Count(t.number(number.answered), links.behind(number)) if number.answered else Count("–"),
        unasked=Count(t.number(unasked) if unasked else "–"),
        failed=count("failed"),
        invalid=count("invalid"),
        ungraded=count("ungraded"),
    )


def _board_notes(found: Results, table: Table, t: Words) -> list[str]:
    """Whether the models answered the same questions: else their points are not of the same thing."""
    assert found.answered is not None
    numbers = [row.cells[1] for row in table.rows if row.label not in found.report.people]
    selections = [one.selection for one in numbers if isinstance(one, Number) and one.graded]
    for_all, for_any = coverage(found.answered.frame, selections)
    if for_all == for_any:
        return []
    text = t(
        "Of {some} questions, {all} are graded for every model: the points of different models stand for different "
        "questions, and only the gaps between neighbours are over the same ones.",
        some=t.number(for_any), all=t.number(for_all),
    )  # fmt: skip
    return [text]


def _chance(found: Report, kind: str | None, t: Words) -> str:
    """What guessing gives with everything shown; of kinds together there is nothing to say."""
    kinds = {cell.kind for cell in found.cells}
    wanted = kind or (next(iter(kinds)) if len(kinds) == 1 else None)
    cells = [cell for cell in found.cells if cell.kind == wanted and cell.condition == FULL.name]
    known = [cell.chance for cell in cells if cell.chance is not None]
    if wanted != QuestionKind.CHOICE or not known:
        return ""
    ends = [points_text(min(known)), points_text(max(known))]
    return ends[0] if ends[0] == ends[1] else t("{low} to {high}", low=ends[0], high=ends[1])


def _cell_at(
    by_place: Mapping[tuple[str, str, str], Cell], place: tuple[str, str, str], links: Links, t: Words
) -> CellView:
    cell = by_place.get(place)
    return CellView("–", tip=t("not asked")) if cell is None else cell_view(as_number(cell), links, t)


def _counted(cell: TableCell, column: Column, t: Words) -> CellView | None:
    """What Table 1 counts, `audio+image 2, audio 1`, in words; None for other cells."""
    words = {"Modalities": modalities_label, "Languages": labels.question_language, "Kinds": kind_label}.get(
        column.title
    )
    if words is None or isinstance(cell, Number) or cell.text == "-":
        return None
    counted = [one.rsplit(" ", 1) for one in cell.text.split(", ")]
    told = t("; ").join(f"{words(t, name.replace('-', '_'))} {count}" for name, count in counted)
    return CellView(told, is_words=True)


def _bounds(cell: Number) -> str:
    """Between what the ungraded answers could move the number."""
    if cell.graded == cell.answered or cell.worst is None or cell.best is None:
        return ""
    return f"{points_text(cell.worst)}–{points_text(cell.best)}"


def _told(cell: Number, t: Words) -> str:
    told = [
        t("{graded} of {answered} graded", graded=t.number(cell.graded), answered=t.number(cell.answered)),
        t("{items} questions in {clusters} clusters", items=t.number(cell.items), clusters=t.number(cell.clusters)),
    ]
    if bounds := _bounds(cell):
        told.append(t("the ungraded could move it between {ends}", ends=bounds))
    if cell.is_small:
        told.append(t("fewer than {few} questions", few=FEW_ITEMS))
    if cell.p is not None:
        told.append(f"p {cell.p:.4f}" + ("" if cell.p_holm is None else f", Holm {cell.p_holm:.4f}"))
    if cell.smallest_visible is not None:
        told.append(t("smallest visible difference {points}", points=points_text(cell.smallest_visible)))
    return t("; ").join(told)


def _groups(columns: Sequence[Column], t: Words) -> list[tuple[str, int]]:
    if all(column.group is None for column in columns):
        return []
    grouped = groupby(columns, key=lambda column: column.group)
    return [(phrase(t, group or ""), len(list(under))) for group, under in grouped]


def _label(row: Row, t: Words) -> str:
    first = row.cells[0] if row.cells else None
    if isinstance(first, Number) and "person" in first.selection:
        (who,), (number,) = first.selection["model"], first.selection["person"]
        return t("{who}, person {number}", who=who, number=number)
    if isinstance(first, Number) and first.against is not None and first.measure == POINTS:
        better, worse = (one["model"][0] for one in (first.selection, first.against))
        if better != worse:
            return t("{better} over {worse}", better=better, worse=worse)
    return phrase(t, row.label)


def _yes(so: bool, t: Words) -> str:
    return t("yes") if so else ""
