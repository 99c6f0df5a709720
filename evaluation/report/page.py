"""A report as files: one HTML page that opens offline, the same as JSON, and the first figure."""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from core.provenance import content_hash
from evaluation.report.document import FEW_ITEMS, AnswerRow, Column, ItemRow, Number, Report
from evaluation.report.figures import FIGURES, points_figure
from evaluation.report.frame import ITEM_ATTRIBUTES

ANSWERS_ON_PAGE = 20_000
_ANSWER_CHARACTERS_ON_PAGE = 600
_FIGURE_TITLES = {
    "leaderboard": f"Points with 95% intervals; hollow: fewer than {FEW_ITEMS} items",
    "table3": "Points by ability",
    "people": "Points by ability with 95% intervals, over the questions that people answered in full",
    "conditions": "Points by condition with 95% intervals, for the kind of question with most graded answers",
    "drops": "Points lost, with 95% intervals",
}


def page(report: Report) -> str:
    """One HTML file that opens offline: figures, tables, and the responses behind each number.

    Of very many responses it holds a random part (the first by the hash of their keys, the same each time); all are in
    `report.json`.
    """
    from jinja2 import Environment, PackageLoader

    templates = Environment(loader=PackageLoader("evaluation"), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    templates.globals.update(heads=_heads, details=_details, chosen=_chosen, between=_between, few=FEW_ITEMS)
    answers = report.answers
    if len(answers) > ANSWERS_ON_PAGE:
        places = sorted(range(len(answers)), key=lambda place: content_hash(answers[place].key))[:ANSWERS_ON_PAGE]
        answers = tuple(answers[place] for place in sorted(places))
    return templates.get_template("report.html").render(
        report=report,
        numbers_of=_summary(report),
        figures={key: _inline(draw(report)) for key, draw in FIGURES.items()},
        figure_titles=_FIGURE_TITLES,
        answer_count=len(report.answers),
        page_count=len(answers),
        data=_for_script(_columns(answers, report.items)),
        settings={model: json.dumps(told, ensure_ascii=False, indent=1) for model, told in report.settings.items()},
    )


def write_report(report: Report, folder: Path) -> None:
    """The report as a page, as data and as a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.html").write_text(page(report), encoding="utf-8")
    (folder / "report.json").write_text(report.model_dump_json(), encoding="utf-8")
    if picture := points_figure(report):
        (folder / "report.svg").write_bytes(picture)


def _summary(report: Report) -> dict[str, str]:
    answered, graded = sum(cell.answered for cell in report.cells), sum(cell.graded for cell in report.cells)
    found = {
        "models": str(len({cell.model for cell in report.cells})),
        "conditions": str(len({cell.condition for cell in report.cells})),
        "responses": f"{answered:,}",
        "graded": f"{graded:,} of {answered:,}",
        "invalid": f"{sum(cell.invalid for cell in report.cells):,}",
    }
    return {"questions": f"{len(report.items):,}", **found} if report.items else found


def _heads(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Common heads over columns, each with how many it spans; none when no column has one."""
    if all(column.group is None for column in columns):
        return []
    return [(group or "", len(list(under))) for group, under in groupby(columns, key=lambda column: column.group)]


def _between(low: float, high: float, decimals: int) -> str:
    """Two ends with a dash between; words where one is negative, for a dash is a minus too."""
    ends = f"{low:.{decimals}f}", f"{high:.{decimals}f}"
    return (" to " if low < 0 else "–").join(ends)


def _details(number: Number) -> str:
    """All that is known of a number, for whoever points at it."""
    told = [f"{number.graded} of {number.answered} graded", f"{number.items} items in {number.clusters} clusters"]
    if number.people:
        told.append("by 1 person" if number.people == 1 else f"by {number.people} people")
    if number.invalid:
        told.append(f"{number.invalid} invalid, with zero points")
    if number.worst is not None and number.best is not None and number.graded < number.answered:
        told.append(f"the ungraded could move it between {number.worst:.1f} and {number.best:.1f}")
    if number.p is not None:
        told.append(f"p {number.p:.4f}" + (f", Holm {number.p_holm:.4f}" if number.p_holm is not None else ""))
    if number.smallest_visible is not None:
        told.append(f"smallest visible difference {number.smallest_visible:.1f}")
    return "; ".join(told)


def _chosen(number: Number) -> str:
    """The selections of a number, as its link holds them."""
    return json.dumps([dict(one) for one in (number.selection, number.against) if one is not None])


def _columns(answers: Sequence[AnswerRow], items: Sequence[ItemRow]) -> dict[str, Any]:
    """Responses in rows of plain values, items once each: what the page's script filters."""
    used = {answer.revision_id for answer in answers}
    kept = [item for item in items if item.revision_id in used]
    places = {item.revision_id: place for place, item in enumerate(kept)}
    rows = [
        [
            places.get(answer.revision_id),
            answer.item_name,
            answer.model,
            answer.condition,
            answer.view,
            answer.state,
            answer.points,
            _cut(answer.answer if answer.answer is not None else answer.error),
            _cut(answer.reason),
            answer.key,
            answer.person,
        ]
        for answer in answers
    ]
    attributes = [{name: getattr(item, name) for name in ITEM_ATTRIBUTES} for item in kept]
    return {"items": attributes, "rows": rows}


def _cut(text: str | None) -> str:
    text = text or ""
    return text if len(text) <= _ANSWER_CHARACTERS_ON_PAGE else text[:_ANSWER_CHARACTERS_ON_PAGE] + " …"


def _for_script(data: Mapping[str, Any]) -> str:
    """JSON that is safe inside a script element: nobody's text can end it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _inline(drawn: bytes | None) -> str:
    """An SVG file as an element of a page."""
    text = "" if drawn is None else drawn.decode()
    return text[text.find("<svg") :] if text else ""
