"""What an evaluation shows: points by model and condition with intervals, as tables, a picture and a page."""

import io
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core.content import Frozen
from core.question import Question, QuestionKind
from evaluation.grade import INVALID_STATES
from evaluation.graders import grader_for
from warehouse.analytics import analysis, load_sql
from warehouse.facts import FactStore

CONFIDENCE = 0.95
RESAMPLES = 2_000


class Cell(Frozen):
    """One model under one condition.

    Attributes:
        model, condition: Names.
        kind: `choice` (points are right or wrong) or `multi_step` or `open`.
        answered: Units with any response. `graded` of them have points; `invalid` of those refused, were cut, empty.
        points: Mean of the graded points, in percent; None when none is graded.
        low, high: 95% interval in percent: Wilson's for right-or-wrong points, else a bootstrap over items.
        worst, best: What `points` could become if all ungraded answers were wrong, or right.
        chance: Mean over items of 1 / number of choices in percent, where there are choices.
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
    """An evaluation's numbers, and the responses behind each."""

    title: str
    cells: tuple[Cell, ...]
    answers: tuple[AnswerRow, ...]


def build_report(
    facts: FactStore, title: str, questions: Mapping[str, Question], models: Sequence[str] | None = None
) -> Report:
    """Read the responses to these questions (by revision id) with the grades of their present graders.

    Only the unrotated asking counts: rotations belong to quality control.
    """
    graders = sorted({grader_for(asked).fingerprint for q in questions.values() for asked in (q, q.as_open())})
    with analysis(facts, ["response", "grade"]) as connection:
        found = connection.sql(
            load_sql("evaluation.queries", "graded_answers.sql"), params=[graders, sorted(questions)]
        ).to_arrow_table()
    rows = [row for row in found.to_pylist() if models is None or row["model"] in models]
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["model"], row["condition"], questions[row["revision_id"]].kind.value].append(row)
    cells = tuple(_cell(*group, rows, questions) for group, rows in sorted(groups.items(), key=_reading_order))
    return Report(title=title, cells=cells, answers=tuple(AnswerRow(**_only(row, AnswerRow)) for row in rows))


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

    kind = max({cell.kind for cell in report.cells}, key=lambda k: sum(c.answered for c in report.cells if c.kind == k))
    cells = {(cell.model, cell.condition): cell for cell in report.cells if cell.kind == kind}
    conditions = conditions_in_order(cells.values())
    models = sorted({model for model, _ in cells})
    with mpl.rc_context({"svg.hashsalt": "interplay", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = Figure(figsize=(max(6.0, 1.6 * len(conditions)), 3.6), layout="constrained")
        axes = figure.subplots()
        width = 0.8 / len(models)
        for place, model in enumerate(models):
            shown = [(at, cells[model, c]) for at, c in enumerate(conditions) if (model, c) in cells]
            shown = [(at, cell) for at, cell in shown if cell.points is not None]
            heights = np.array([cell.points for _, cell in shown], dtype=float)
            ends = np.array([[cell.low, cell.high] for _, cell in shown], dtype=float).T
            spread = np.abs(ends - heights)
            left = np.array([at for at, _ in shown]) - 0.4 + width * (place + 0.5)
            axes.bar(left, heights, width * 0.9, yerr=spread, capsize=3, label=model)
        chances = [cell.chance for cell in cells.values() if cell.chance is not None]
        if chances:
            axes.axhline(float(np.mean(chances)), color="0.4", linestyle="--", linewidth=1, label="chance")
        axes.set_xticks(range(len(conditions)), [name.replace("_", " ") for name in conditions])
        axes.set_ylabel("points, percent" if kind != "choice" else "accuracy, percent")
        axes.set_ylim(0, 105)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, ncols=3, loc="upper right")
        drawn = io.BytesIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def page(report: Report) -> str:
    """One HTML file that opens offline: the picture, the table, and the responses behind each number."""
    from jinja2 import Environment, PackageLoader

    templates = Environment(loader=PackageLoader("evaluation"), autoescape=True)
    header, rows = table_by_condition(report)
    drawing = picture(report).decode() if report.cells else ""
    return templates.get_template("report.html").render(
        report=report, header=header, rows=rows, picture=drawing[drawing.find("<svg") :]
    )


def write_report(report: Report, folder: Path) -> None:
    """The report as a page, as data and as a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.html").write_text(page(report), encoding="utf-8")
    (folder / "report.json").write_text(report.model_dump_json(indent=2), encoding="utf-8")
    if report.cells:
        (folder / "report.svg").write_bytes(picture(report))


def _cell(
    model: str, condition: str, kind: str, rows: Sequence[Mapping[str, Any]], questions: Mapping[str, Question]
) -> Cell:
    points = np.array([row["points"] for row in rows if row["points"] is not None], dtype=float)
    missing = len(rows) - len(points)
    low, high = interval(points)
    chances = [1 / len(choices) for row in rows if (choices := questions[row["revision_id"]].choices)]
    return Cell(
        model=model,
        condition=condition,
        kind=kind,
        answered=len(rows),
        graded=len(points),
        invalid=sum(row["state"] in INVALID_STATES for row in rows),
        points=100 * float(points.mean()) if len(points) else None,
        low=low,
        high=high,
        worst=100 * float(points.sum()) / len(rows),
        best=100 * (float(points.sum()) + missing) / len(rows),
        chance=100 * float(np.mean(chances)) if chances else None,
    )


def interval(points: np.ndarray[Any, Any]) -> tuple[float | None, float | None]:
    """95% interval of the mean of points in [0, 1], in percent: Wilson's where all are 0 or 1, else a bootstrap."""
    from scipy.stats import binomtest, bootstrap

    if len(points) == 0:
        return None, None
    if set(np.unique(points)) <= {0.0, 1.0}:
        wilson = binomtest(int(points.sum()), len(points)).proportion_ci(CONFIDENCE, method="wilson")
        return 100 * float(wilson.low), 100 * float(wilson.high)
    if len(points) < 2 or math.isclose(float(points.std()), 0.0):
        return 0.0, 100.0  # one value says nothing about its spread
    drawn = bootstrap(
        (points,), np.mean, n_resamples=RESAMPLES, confidence_level=CONFIDENCE, method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    return 100 * float(drawn.low), 100 * float(drawn.high)


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


def _reading_order(group: tuple[tuple[str, str, str], Any]) -> tuple[Any, ...]:
    model, condition, kind = group[0]
    return kind != QuestionKind.CHOICE.value, kind, model, _condition_order(condition)


def _only(row: Mapping[str, Any], model: type[Frozen]) -> dict[str, Any]:
    return {name: row[name] for name in model.model_fields}
