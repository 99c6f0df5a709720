"""All tables of a synthetic release: six models and a person, 200 items with twins, steps and conditions."""

import importlib.util
import json
import statistics
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from evaluation.metrics import compare, holm
from evaluation.report.build import build_report
from evaluation.report.document import Number
from evaluation.report.tables import Audit, benchmark_table, describe

MODELS = [f"model-{letter}" for letter in "abcdef"]


@pytest.fixture(scope="module")
def synthetic():
    place = Path(__file__).parents[2] / "benchmarks" / "report.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_reports", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def release(synthetic):
    return synthetic.release(200)


@pytest.fixture(scope="module")
def facts(synthetic, release, tmp_path_factory):
    return synthetic.store(tmp_path_factory.mktemp("facts"), release, len(MODELS))[0]


@pytest.fixture(scope="module")
def report(facts, release):
    return build_report(facts, "synthetic 1.0.0", release)


@pytest.fixture(scope="module")
def document(report):
    """The report as a program reads it."""
    return json.loads(report.model_dump_json())


def numbers(document):
    for table in document["tables"]:
        for row in table["rows"]:
            yield from (cell for cell in row["cells"] if cell["type"] == "number")
    yield from document["cells"]


class Recount:
    """Numbers again from the JSON alone, response by response."""

    def __init__(self, document):
        self.items = {item["revision_id"]: item for item in document["items"]}
        self.answers = [self.items[answer["revision_id"]] | answer for answer in document["answers"]]
        self.places = {}
        for place, answer in enumerate(self.answers):
            for name, value in answer.items():
                if isinstance(value, str):
                    self.places.setdefault((name, value), set()).add(place)

    def chosen(self, selection):
        either = [set().union(*(self.places.get((name, one), ()) for one in selection[name])) for name in selection]
        return [self.answers[place] for place in sorted(set.intersection(*either))]

    def value(self, answer, measure):
        if answer["points"] is None or measure == "points":
            return answer["points"]
        worth = self.items[answer["revision_id"]]["step_points"]
        earned = [share * points / 10 for share, points in zip(answer["step_points"], worth, strict=True)]
        return sum(earned[2:]) if measure == "steps_3_on" else earned[int(measure[-1]) - 1]

    def mean(self, number):
        chosen = self.chosen(number["selection"])
        if number["measure"] == "all_right":
            groups = {}
            for answer in chosen:
                groups.setdefault(answer["twin_group"], []).append(answer["points"])
            values = [
                0.0 if any(one is not None and one < 1 for one in members) else None if None in members else 1.0
                for members in groups.values()
            ]
        else:
            values = [self.value(answer, number["measure"]) for answer in chosen]
        known = [value for value in values if value is not None]
        return len(values), len(known), 100 * statistics.fmean(known) if known else None

    def difference(self, number):
        sides = [
            {one["revision_id"]: one["points"] for one in self.chosen(number[side])}
            for side in ("selection", "against")
        ]
        both = [one for one in sides[0] if one in sides[1]]
        pairs = [(sides[0][one], sides[1][one]) for one in both if None not in (sides[0][one], sides[1][one])]
        return len(both), len(pairs), 100 * statistics.fmean(a - b for a, b in pairs) if pairs else None


def test_any_number_can_be_made_again_from_the_json(document):
    recount, seen = Recount(document), 0
    for number in numbers(document):
        again = recount.difference(number) if number["against"] else recount.mean(number)
        told = number["answered"], number["graded"], number["points"]
        assert told[:2] == again[:2], number
        assert told[2] == (None if again[2] is None else pytest.approx(again[2])), number
        seen += number["points"] is not None
    assert seen > 400


def test_a_missing_number_says_why_and_is_never_nought(document):
    missing = [number for number in numbers(document) if number["points"] is None]
    assert {number["reason"] for number in missing} == {"not asked", "no item was asked both ways"}
    assert all(number["reason"] is None for number in numbers(document) if number["points"] is not None)


def test_intervals_and_bounds_hold_the_numbers(document):
    for number in numbers(document):
        if number["points"] is None:
            continue
        assert number["low"] <= number["points"] <= number["high"]
        if number["worst"] is not None:
            assert number["worst"] - 1e-9 <= number["points"] <= number["best"] + 1e-9
        assert number["clusters"] <= number["items"]


def test_tables_have_the_columns_of_the_paper(report):
    titles = {table.key: [(column.group, column.title) for column in table.columns] for table in report.tables}
    assert [title for _, title in titles["table2"]] == ["Audio", "Visual", "Omni-MC", "Omni-MO"]
    assert titles["table3"] == [
        ("Perception", "Alignment"), ("Perception", "Recognition"), ("Perception", "Overall"),
        ("Reasoning", "General"), ("Reasoning", "Temporal"), ("Reasoning", "Spatial"), ("Reasoning", "Overall"),
        (None, "Overall"),
    ]  # fmt: skip
    views = ["Audio", "+ caption", "+ visual"]
    assert titles["table4"] == [(group, view) for group in ("Perception", "Reasoning", "Overall") for view in views]
    views = ["Visual", "+ words", "+ audio"]
    groups = ["Environment", "Speech", "Not stated", "Overall"]
    assert titles["table5"] == [(group, view) for group in groups for view in views]
    steps = ["Q1", "Q2", "Q3+", "Total"]
    assert titles["table6"] == [(group, step) for group in ("Perception", "Reasoning", "Overall") for step in steps]


def test_rows_stand_in_the_order_of_the_leaderboard_and_persons_first(report):
    board = report.table("leaderboard")
    assert report.people == ("human",)
    assert board.rows[0].label == "human"
    assert board.rows[0].cells[0].text == "person"
    points = [row.cells[1].points for row in board.rows[1:]]
    assert points == sorted(points, reverse=True)
    assert [row.cells[0].value for row in board.rows[1:]] == [1, 2, 3, 4, 5, 6]
    for key in ("table2", "table3", "table4", "table5", "table6", "drops"):
        assert [row.label for row in report.table(key).rows] == [row.label for row in board.rows]


def test_the_columns_of_one_table_agree_with_those_of_another(report):
    for place in range(7):
        overall = report.table("table3").rows[place].cells[-1]
        assert overall.points == report.table("table2").rows[place].cells[2].points
        assert overall.points == report.table("table4").rows[place].cells[-1].points
        assert overall.points == report.table("table5").rows[place].cells[-1].points
        assert report.table("table6").rows[place].cells[-1].points == report.table("table2").rows[place].cells[3].points


def test_a_total_is_the_sum_of_its_steps_each_times_the_share_that_has_it(report):
    for row in report.table("table6").rows:
        for start in (0, 4, 8):
            *steps, total = row.cells[start : start + 4]
            weighed = sum(step.points * step.graded / total.graded for step in steps if step.points is not None)
            assert total.points == pytest.approx(weighed)


def test_sounds_make_up_the_whole(report):
    for row in report.table("table5").rows:
        parts = [row.cells[place] for place in (2, 5, 8)]
        assert sum(part.answered for part in parts) == row.cells[11].answered
        held = sum(part.points * part.graded for part in parts)
        assert held / sum(part.graded for part in parts) == pytest.approx(row.cells[11].points)


def test_losses_are_paired_and_corrected_over_the_table(report, document):
    table = report.table("drops")
    assert [column.title for column in table.columns] == [
        "full", "without audio", "without image", "without video", "without visual", "text only", "options only",
    ]  # fmt: skip
    cells = [cell for row in table.rows for cell in row.cells[1:] if cell.p is not None]
    assert [cell.p_holm for cell in cells] == pytest.approx(holm([cell.p for cell in cells]))
    best = next(row for row in table.rows if row.label == "model-f")
    assert all(cell.p_holm < 0.05 and cell.low > 0 for cell in best.cells[4:])
    recount, cell = Recount(document), best.cells[1]
    full, without = (
        {one["revision_id"]: one for one in recount.chosen(dict(side))} for side in (cell.selection, cell.against)
    )
    both = [
        one for one in full if one in without and None not in (full[one]["points"], without[one]["points"])
    ]  # fmt: skip
    clusters = np.unique([full[one]["cluster"] for one in both], return_inverse=True)[1]
    points = [np.array([side[one]["points"] for one in both]) for side in (full, without)]
    by_hand = compare(*points, clusters, np.random.default_rng(0))
    assert (cell.low, cell.high) == pytest.approx((100 * by_hand.low, 100 * by_hand.high))
    assert (cell.p, cell.clusters) == (pytest.approx(by_hand.p, abs=0.01), by_hand.clusters)


def test_neighbours_say_how_many_are_told_apart(report):
    table, board = report.table("neighbours"), report.table("leaderboard")
    ranked = [row.label for row in board.rows[1:]]
    assert [row.label for row in table.rows] == [f"{a} over {b}" for a, b in pairwise(ranked)]
    told = sum(row.cells[-1].value for row in table.rows)
    assert f"{told} of 5 neighbouring pairs are told apart" in table.note
    assert 0 < told < 5
    for row in table.rows:
        assert row.cells[-1].value == (row.cells[2].value <= 0.05)


def test_twins_stand_beside_what_needs_no_media(report):
    table = report.table("twins")
    by_label = {row.label: row.cells[0] for row in table.rows}
    assert by_label["at most, without any media"].value == 0.0
    assert by_label["guessing"].value == pytest.approx(100 / 16)
    assert by_label["human"].points > by_label["model-f"].points > by_label["model-a"].points
    assert by_label["model-f"].answered == 51  # twelve items in six pairs, of which the first three are twins


def test_the_benchmark_and_what_an_audit_found(release):
    bare = benchmark_table([describe("synthetic", release.values())])
    assert [cell.text for cell in bare.rows[0].cells[-2:]] == ["not measured", "not measured"]
    assert bare.rows[0].cells[0].value == 200
    assert bare.rows[0].cells[4].value == 68.0
    audit = Audit(answers_checked=149, answers_right=149, needs_checked=149, needs_all=147)
    right, needs = benchmark_table([describe("synthetic", release.values(), audit)]).rows[0].cells[-2:]
    # Clopper and Pearson: all of n is at least (alpha / 2)^(1 / n), 0.9755 for 149.
    assert right.text == "100.0% [97.6, 100.0] (149/149)"
    assert needs.value == pytest.approx(100 * 147 / 149)


def test_the_order_of_the_items_changes_nothing(release, facts, report):
    again = build_report(facts, "synthetic 1.0.0", dict(reversed(release.items())))
    assert again.cells == report.cells
    assert again.tables == report.tables


def test_without_tables_the_cells_are_the_same(facts, release, report):
    assert build_report(facts, "t", release, with_tables=False, with_answers=False).cells == report.cells


def test_every_table_cell_is_a_number_or_words(report):
    kinds = {type(cell).__name__ for table in report.tables for row in table.rows for cell in row.cells}
    assert kinds == {"Number", "Plain"}
    assert all(isinstance(cell, Number) for row in report.table("table3").rows for cell in row.cells)
