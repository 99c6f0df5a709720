"""Tables for people who work in a spreadsheet: no cell of ours is taken for a formula."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

# What a spreadsheet would take for a formula. An apostrophe before it makes it text; one that stands there already gets
# another, so that reading back takes away no more than was put there.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
# What XML, and so XLSX, cannot hold.
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udfff]")
MOST_CHARACTERS = 32_767
"""In one cell of XLSX; spreadsheets refuse a file that holds more."""

Cell = str | int | float | None


def neutral(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def plain(cell: str) -> str:
    """The cell that `neutral` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> bytes:
    """A CSV file in UTF-8 with a byte order mark, by which Excel knows it; numbers stay numbers, None is empty."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(map(neutral, columns))
    writer.writerows([neutral(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return stream.getvalue().encode("utf-8-sig", errors="replace")


def as_xlsx(columns: Sequence[str], rows: Iterable[Sequence[Cell]], title: str) -> bytes:
    """A workbook of one sheet with its head fixed; texts are stored as texts, and cut at `MOST_CHARACTERS`."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet(re.sub(r"[\\/*?:\[\]]", " ", title)[:31] or "table")
    sheet.freeze_panes = "A2"
    for row in ([*columns], *rows):
        cells = []
        for value in row:
            cell = WriteOnlyCell(sheet, value=None if isinstance(value, str) else value)
            if isinstance(value, str):
                cell.value = _UNWRITABLE.sub("\ufffd", neutral(value))[:MOST_CHARACTERS]
                cell.data_type = "s"  # openpyxl would make a formula of what begins with "="
            cells.append(cell)
        sheet.append(cells)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()
