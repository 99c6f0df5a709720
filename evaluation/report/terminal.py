"""A report on a terminal: headers and rows of text."""

from evaluation.report.document import Cell, Number, Report, Table, TableCell


def table_of_cells(report: Report) -> tuple[list[str], list[list[str]]]:
    """Header and rows by kind, model and condition: a row for each cell."""
    header = ["kind", "model", "condition", "points", "95%", "graded", "invalid", "chance"]
    return header, [_cell_row(cell) for cell in report.cells]


def table_as_text(table: Table) -> tuple[list[str], list[list[str]]]:
    """Header and rows of any table of a report."""
    header = [table.head, *(f"{one.group}, {one.title}" if one.group else one.title for one in table.columns)]
    return header, [[row.label, *(as_text(cell) for cell in row.cells)] for row in table.rows]


def as_text(cell: TableCell) -> str:
    """A cell on one line: points, interval, how many were graded, and how far those that were not could move it."""
    if not isinstance(cell, Number):
        return cell.text
    if cell.points is None:
        return "-" if cell.answered == 0 else f"not graded (0/{cell.answered})"
    return f"{cell.points:.1f} {ends(cell)} {count_told(cell)}".strip()


def ends(number: Number) -> str:
    """The interval of a number."""
    return "" if number.low is None or number.high is None else f"[{number.low:.0f}, {number.high:.0f}]"


def count_told(number: Number) -> str:
    """How many are behind a number; where some have no grade, how many do and how far the others could move it."""
    if number.graded == number.answered:
        return f"n={number.graded}"
    told = f"{number.graded}/{number.answered} graded"
    if number.worst is None or number.best is None:
        return told
    return f"{told}, {number.worst:.1f} to {number.best:.1f}"


def _cell_row(cell: Cell) -> list[str]:
    points = "not graded" if cell.points is None else f"{cell.points:.1f}"
    between = "" if cell.low is None or cell.high is None else f"{cell.low:.0f} to {cell.high:.0f}"
    chance = "" if cell.chance is None else f"{cell.chance:.0f}"
    graded = f"{cell.graded} of {cell.answered}"
    if cell.graded < cell.answered:
        graded += f" ({cell.worst:.0f} to {cell.best:.0f})"
    return [cell.kind, cell.model, cell.condition, points, between, graded, str(cell.invalid or ""), chance]
