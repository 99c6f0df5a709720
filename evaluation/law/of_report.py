"""The points of the compositional law from a release's report: its table of uni-modal and omni-modal scores."""

from core.errors import InterplayError
from evaluation.law.points import Interval, LawPoint, law_points
from evaluation.report.document import Number, Report

_SCORES = {"audio": "Audio", "visual": "Visual", "omni": "Omni-MC"}


class NoUniModalScores(InterplayError):
    """A release that says nothing of hearing or of seeing alone."""


def points_of(report: Report) -> tuple[LawPoint, ...]:
    """A point for each model that has an audio, a visual and an omni-modal score under full input; people are none.

    Raises:
        NoUniModalScores: No model has all three.
    """
    table = report.table("table2")
    places = {column.title: place for place, column in enumerate(table.columns)} if table else {}
    scores: dict[str, list[float]] = {}
    intervals: dict[str, dict[str, Interval]] = {}
    for row in table.rows if table else ():
        cells = {name: row.cells[places[title]] for name, title in _SCORES.items() if title in places}
        known = {name: cell for name, cell in cells.items() if isinstance(cell, Number) and cell.points is not None}
        if row.label in report.people or len(known) < len(_SCORES):
            continue
        scores[row.label] = [(known[name].points or 0.0) / 100 for name in _SCORES]
        intervals[row.label] = {
            name: (cell.low / 100, cell.high / 100)
            for name, cell in known.items()
            if cell.low is not None and cell.high is not None
        }
    if not scores:
        raise NoUniModalScores(
            f"in {report.title} no model has scores on questions that are only heard, only seen, and both; "
            "put uni-modal questions to them too, or give their scores in a file to 'interplay law fit'"
        )
    return law_points(scores, intervals)
