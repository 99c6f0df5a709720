"""What an evaluation shows: points by model and condition with intervals, as tables, a picture and a page."""

import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from core.content import Frozen
from core.provenance import content_hash
from core.question import Question, QuestionKind
from evaluation.grade import INVALID_STATES, graders_of
from warehouse.analytics import analysis, load_sql
from warehouse.facts import FactStore

CONFIDENCE = 0.95
Z_95 = 1.959963984540054
RESAMPLES = 2_000
_RESAMPLED_AT_ONCE = 2_000_000
ANSWERS_ON_PAGE = 2_000


class Cell(Frozen):
    """One model under one condition.

    Attributes:
        model, condition: Names.
        kind: `choice` (points are right or wrong) or `multi_step` or `open`.
        answered: Units with any response. `graded` of them have points; `invalid` of those refused, were cut, empty.
        points: Mean of the graded points, in percent; None when none is graded.
        low, high: 95% interval in percent: Wilson's for right-or-wrong points, else a bootstrap over items.
        worst, best: What `points` could become if all ungraded answers were wrong, or right.
        chance: Mean over items of 1 / number of choices in percent, where there are choices and one is right.
    """

    model: str
    condition: str
    kind: str
    answered: int
    graded: int
    invalid: int
    points: float | None
    low: float | None
    high: float | None
    worst: float
    best: float
    chance: float | None


class AnswerRow(Frozen):
    """One response with its grade: what stands behind the numbers."""

    key: str
    item_name: str
    revision_id: str
    model: str
    condition: str
    state: str
    answer: str | None
    error: str | None
    points: float | None
    reason: str | None


class Report(Frozen):
    """An evaluation's numbers, and the responses behind each.

    `settings` tells how each model was asked (provider, arguments, generation; never a secret). A name that was asked
    under several settings stands apart for each, as `name #1a2b3c`: numbers of different settings are never mixed.
    """

    title: str
    cells: tuple[Cell, ...]
    answers: tuple[AnswerRow, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = {}


def build_report(
    facts: FactStore,
    title: str,
    questions: Mapping[str, Question],
    models: Sequence[str] | None = None,
    *,
    with_answers: bool = True,
) -> Report:
    """Read the responses to these questions (by revision id) with the grades of their present graders.

    Only the unrotated asking counts: rotations belong to quality control. Where an item was put to a model twice under
    the same settings and condition (in other words since, or with another caption), the latest asking counts.

    Args:
        facts: Where responses and grades are.
        title: Of the report.
        questions: By revision id.
        models: Only models of these names.
        with_answers: Whether to load the responses too, and not the numbers alone.
    """
    with analysis(facts, ["response", "grade"]) as connection:
        connection.register("wanted", _wanted(questions))
        names = "list_contains(getvariable('models'), model)" if models is not None else "true"
        connection.execute("SET VARIABLE models = ?", [list(models or ())])
        rows = connection.sql(load_sql("evaluation.queries", "graded_answers.sql"))
        rows.filter(names).create_view("graded_answers")
        cells = connection.sql(load_sql("evaluation.queries", "cells.sql"), params=[list(INVALID_STATES)])
        found = cells.to_arrow_table().to_pylist()
        labels = _labels((row["model"], row["parameters"]) for row in found)
        answers = connection.sql("FROM graded_answers ORDER BY model, parameters, condition, item_name, key")
        table = answers.to_arrow_table() if with_answers else None
    return Report(
        title=title,
        cells=tuple(sorted((_cell(labels[row["model"], row["parameters"]], row) for row in found), key=_reading_order)),
        answers=tuple(_answer_rows(table, labels)) if table is not None else (),
        settings={label: json.loads(parameters) for (_, parameters), label in sorted(labels.items())},
    )


def conditions_in_order(cells: Iterable[Cell]) -> list[str]:
    """Full first, then what leaves out one modality, then the rest."""
    return sorted({cell.condition for cell in cells}, key=_condition_order)


def table_by_condition(report: Report) -> tuple[list[str], list[list[str]]]:
    """Header and rows for a page: a row for each kind and model, a column for each condition."""
    conditions = conditions_in_order(report.cells)
    by_place = {(cell.model, cell.kind, cell.condition): cell for cell in report.cells}
    rows = [
        [model, kind, *(_cell_text(by_place.get((model, kind, condition))) for condition in conditions)]
        for model, kind in dict.fromkeys((cell.model, cell.kind) for cell in report.cells)
    ]
    return ["model", "kind", *conditions], rows


def table_of_cells(report: Report) -> tuple[list[str], list[list[str]]]:
    """Header and rows for a terminal: a row for each cell."""
    header = ["kind", "model", "condition", "points", "95%", "graded", "chance"]
    return header, [_cell_row(cell) for cell in report.cells]


def picture(report: Report) -> bytes:
    """Bars of points by condition and model with intervals, and chance as a line: an SVG picture.

    Shows the kind with most answers; the same report gives the same bytes.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    kind = max(
        sorted({cell.kind for cell in report.cells}),
        key=lambda k: sum(c.answered for c in report.cells if c.kind == k),
    )
    cells = {(cell.model, cell.condition): cell for cell in report.cells if cell.kind == kind}
    conditions = conditions_in_order(cells.values())
    models = sorted({model for model, _ in cells})
    # `parse_math`: a dollar sign in a model's name begins no formula.
    with mpl.rc_context(
        {"svg.hashsalt": "interplay", "svg.fonttype": "none", "font.family": "sans-serif", "text.parse_math": False}
    ):
        figure = Figure(figsize=(max(6.0, 1.6 * len(conditions)), 3.6), layout="constrained")
        axes = figure.subplots()
        width = 0.8 / len(models)
        for place, model in enumerate(models):
            shown = [(at, cells[model, c]) for at, c in enumerate(conditions) if (model, c) in cells]
            bars = [(at, cell.points, cell.low, cell.high) for at, cell in shown if cell.points is not None]
            at, heights, low, high = np.array(bars, dtype=float).reshape(-1, 4).T
            left = at - 0.4 + width * (place + 0.5)
            spread = [(heights - low).tolist(), (high - heights).tolist()]
            axes.bar(left, heights, width * 0.9, yerr=spread, capsize=3, label=model)
        chances = [cell.chance for cell in cells.values() if cell.chance is not None]
        if chances:
            axes.axhline(float(np.mean(chances)), color="0.4", linestyle="--", linewidth=1, label="chance")
        axes.set_xticks(range(len(conditions)), [name.replace("_", " ") for name in conditions])
        axes.set_ylabel("points, percent" if kind != "choice" else "accuracy, percent")
        axes.set_ylim(0, 105)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(frameon=False, ncols=4, loc="outside upper center")
        drawn = io.BytesIO()
        figure.savefig(drawn, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return drawn.getvalue()


def page(report: Report) -> str:
    """One HTML file that opens offline: the picture, the table, and the responses behind each number.

    Of very many responses it shows the first; all are in `report.json`.
    """
    from jinja2 import Environment, PackageLoader

    templates = Environment(loader=PackageLoader("evaluation"), autoescape=True)
    header, rows = table_by_condition(report)
    drawing = picture(report).decode() if report.cells else ""
    return templates.get_template("report.html").render(
        report=report,
        header=header,
        rows=rows,
        picture=drawing[drawing.find("<svg") :],
        answers=report.answers[:ANSWERS_ON_PAGE],
        settings={model: json.dumps(told, ensure_ascii=False) for model, told in report.settings.items()},
    )


def write_report(report: Report, folder: Path) -> None:
    """The report as a page, as data and as a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.html").write_text(page(report), encoding="utf-8")
    (folder / "report.json").write_text(report.model_dump_json(indent=2), encoding="utf-8")
    if report.cells:
        (folder / "report.svg").write_bytes(picture(report))


def wilson(successes: float, count: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share (Wilson 1927; Newcombe 1998, method 3).

    `successes` may be a sum of shares: points in [0, 1] vary at most as much as right-or-wrong ones of the same mean.
    """
    share, square = successes / count, Z_95**2
    middle = share + square / (2 * count)
    spread = Z_95 * math.sqrt(share * (1 - share) / count + square / (4 * count**2))
    scale = 1 + square / count
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def interval(points: np.ndarray[Any, Any]) -> tuple[float | None, float | None]:
    """95% interval of the mean of points in [0, 1], in percent.

    Wilson's where all are 0 or 1, and where all are equal (which says nothing about their spread); else a bootstrap.
    """
    count = len(points)
    if count == 0:
        return None, None
    if np.isin(points, (0.0, 1.0)).all() or np.ptp(points) == 0:
        low, high = wilson(float(points.sum()), count)
        return 100 * low, 100 * high
    from scipy.stats import bootstrap

    drawn = bootstrap(
        (points,), np.mean, n_resamples=RESAMPLES, confidence_level=CONFIDENCE, method="percentile",
        rng=np.random.default_rng(0), batch=max(1, _RESAMPLED_AT_ONCE // count),
    ).confidence_interval  # fmt: skip
    return 100 * float(drawn.low), 100 * float(drawn.high)


def _wanted(questions: Mapping[str, Question]) -> pa.Table:
    graders = graders_of(questions)
    rows = [
        {
            "revision_id": revision_id,
            "grader": entry.fingerprint if (entry := graders[revision_id]) else None,
            "question_kind": question.kind.value,
            "chance": 1 / len(question.choices) if len(question.answer.correct) == 1 else None,
        }
        for revision_id, question in questions.items()
    ]
    text = pa.string()
    columns = {"revision_id": text, "grader": text, "question_kind": text, "chance": pa.float64()}
    return pa.Table.from_pylist(rows, schema=pa.schema(columns.items()))


def _labels(asked: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What a report calls each model with its settings."""
    settings: dict[str, set[str]] = {}
    for model, parameters in asked:
        settings.setdefault(model, set()).add(parameters)
    return {
        (model, parameters): model if len(several) == 1 else f"{model} #{content_hash(parameters)[:6]}"
        for model, several in settings.items()
        for parameters in several
    }


def _cell(label: str, row: Mapping[str, Any]) -> Cell:
    points = np.array(row["points"] or [], dtype=float)
    low, high = interval(points)
    missing = row["answered"] - len(points)
    return Cell(
        model=label,
        condition=row["condition"],
        kind=row["question_kind"],
        answered=row["answered"],
        graded=len(points),
        invalid=row["invalid"],
        points=100 * float(points.mean()) if len(points) else None,
        low=low,
        high=high,
        worst=100 * float(points.sum()) / row["answered"],
        best=100 * (float(points.sum()) + missing) / row["answered"],
        chance=None if row["chance"] is None else 100 * row["chance"],
    )


def _answer_rows(table: pa.Table, labels: Mapping[tuple[str, str], str]) -> Iterable[AnswerRow]:
    for batch in table.to_batches():
        for row in batch.to_pylist():
            label = labels[row["model"], row["parameters"]]
            yield AnswerRow(**{name: row[name] for name in AnswerRow.model_fields} | {"model": label})


def _cell_text(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    if cell.points is None:
        return f"not graded (0/{cell.answered})"
    text = f"{cell.points:.1f} [{cell.low:.0f}, {cell.high:.0f}]"
    return text + (f" {cell.graded}/{cell.answered} graded" if cell.graded < cell.answered else f" n={cell.graded}")


def _cell_row(cell: Cell) -> list[str]:
    points = "not graded" if cell.points is None else f"{cell.points:.1f}"
    ends = "" if cell.low is None or cell.high is None else f"{cell.low:.0f} to {cell.high:.0f}"
    chance = "" if cell.chance is None else f"{cell.chance:.0f}"
    return [cell.kind, cell.model, cell.condition, points, ends, f"{cell.graded} of {cell.answered}", chance]


def _condition_order(name: str) -> tuple[int, str]:
    order = ("full", "without_", "caption_", "donor_", "text_only", "options_only")
    return next((place for place, start in enumerate(order) if name.startswith(start)), len(order)), name


def _reading_order(cell: Cell) -> tuple[Any, ...]:
    return cell.kind != QuestionKind.CHOICE.value, cell.kind, cell.model, _condition_order(cell.condition)
