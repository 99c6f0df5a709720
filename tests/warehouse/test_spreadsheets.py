"""What a spreadsheet makes of exported tables: read back by pandas and openpyxl, nothing is a formula."""

import io

import openpyxl
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse.spreadsheets import MOST_CHARACTERS, as_csv, as_xlsx, neutral, plain

FORMULAS = ["=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://x","y")', "'=1", "=cmd|' /C calc'!A0"]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_begins_a_formula(text):
    (row,) = pandas.read_csv(io.BytesIO(as_csv(["name"], [[text]])), dtype=str).values.tolist()
    assert row[0].startswith("'")
    cell = openpyxl.load_workbook(io.BytesIO(as_xlsx(["name"], [[text]], "t"))).active["A2"]
    assert (cell.data_type, cell.value[0]) == ("s", "'")


@pytest.mark.parametrize("text", FORMULAS)
def test_heads_are_cells_too(text):
    assert as_csv([text], []).decode("utf-8-sig").lstrip('"').startswith("'")
    assert openpyxl.load_workbook(io.BytesIO(as_xlsx([text], [], "t"))).active["A1"].data_type == "s"


@given(st.text())
def test_what_was_put_before_a_cell_is_taken_away_again(text):
    assert plain(neutral(text)) == text


def test_numbers_stay_numbers_and_nothing_is_empty():
    rows = [["钟声", 3, -0.5, None]]
    read = pandas.read_csv(io.BytesIO(as_csv(["name", "count", "share", "none"], rows)))
    assert read["count"].tolist() == [3] and read["share"].tolist() == [-0.5] and read["none"].isna().all()
    sheet = openpyxl.load_workbook(io.BytesIO(as_xlsx(["name", "count", "share", "none"], rows, "a/b"))).active
    assert [cell.value for cell in sheet[2]] == ["钟声", 3, -0.5, None]
    assert sheet.title == "a b"


@given(st.lists(st.text(), min_size=1, max_size=3))
def test_any_text_makes_a_workbook_that_opens(texts):
    book = openpyxl.load_workbook(io.BytesIO(as_xlsx(["a"] * len(texts), [texts], "t")))
    assert len(list(book.active.rows)) == 2


def test_a_cell_is_never_longer_than_spreadsheets_take():
    cell = openpyxl.load_workbook(io.BytesIO(as_xlsx(["a"], [["x" * 40_000]], "t"))).active["A2"]
    assert len(cell.value) == MOST_CHARACTERS
