import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from evaluation.report import (
    Cell,
    Report,
    build_report,
    conditions_in_order,
    interval,
    page,
    picture,
    table_by_condition,
    table_of_cells,
    wilson,
    write_report,
)

PAYLOAD = "<script>alert('answer')</script><img src=x onerror=alert(1)>"


def cell(model: str = "m", condition: str = "full", **fields) -> Cell:
    usual = {
        "kind": "choice", "answered": 10, "graded": 10, "invalid": 0, "points": 50.0, "low": 24.0, "high": 76.0,
        "worst": 50.0, "best": 50.0, "chance": 25.0,
    }  # fmt: skip
    return Cell(**{"model": model, "condition": condition} | usual | fields)


def report(*cells: Cell, **fields) -> Report:
    return Report(**{"title": "zoo 1.0.0", "cells": cells} | fields)


class TestIntervals:
    @pytest.mark.parametrize(
        ("successes", "count", "low", "high"),
        [
            # Newcombe (1998), Statistics in Medicine 17:857-872, table I, method 3 (score, no continuity correction).
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0000, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ],
    )
    def test_wilson_s_is_the_published_one(self, successes, count, low, high):
        assert wilson(successes, count) == pytest.approx((low, high), abs=5e-5)

    @given(st.integers(1, 500).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count))))
    def test_and_that_of_scipy(self, shares):
        theirs = binomtest(*shares).proportion_ci(0.95, method="wilson")
        assert wilson(*shares) == pytest.approx((theirs.low, theirs.high), abs=1e-12)

    def test_of_right_or_wrong_points_it_is_wilson_s(self):
        assert interval(np.array([1.0] * 81 + [0.0] * 182)) == pytest.approx((25.53, 36.62), abs=5e-3)

    def test_nothing_graded_has_none(self):
        assert interval(np.array([])) == (None, None)

    def test_equal_points_say_nothing_about_their_spread(self):
        low, high = interval(np.full(12, 0.4))
        assert (low, high) == pytest.approx(tuple(100 * end for end in wilson(4.8, 12)))
        low, high = interval(np.array([0.7]))
        assert low < 25
        assert high > 95

    def test_of_parts_of_points_it_is_a_bootstrap_near_the_normal_one(self):
        points = np.random.default_rng(3).beta(2, 3, 400)
        spread = 1.96 * points.std(ddof=1) / np.sqrt(len(points))
        assert interval(points) == pytest.approx(
            (100 * (points.mean() - spread), 100 * (points.mean() + spread)), abs=0.4
        )
        assert interval(points) == interval(points)

    @given(st.lists(st.sampled_from([0.0, 0.3, 0.5, 1.0]), min_size=1, max_size=30))
    def test_it_holds_the_mean(self, points):
        low, high = interval(np.array(points))
        assert 0 <= low <= 100 * np.mean(points) + 1e-9
        assert 100 * np.mean(points) - 1e-9 <= high <= 100


@pytest.fixture
def build(facts, respond):
    """A report of responses given as (key, revision, model, condition, points, ...), each graded as said."""

    def make(asked, rows, **options):
        responses, grades = [], []
        for key, (revision, model, condition, points, more) in enumerate(rows):
            kind = asked[revision].kind.value
            row = {"key": f"{key:03}", "request_key": f"{key:03}", "item_name": f"item {revision}"}
            responses.append(
                row
                | {"revision_id": revision, "model": model, "condition": condition, "answer": "x", "kind": kind}
                | more
            )
            if points != "none":
                grader = {"choice": "choice@1", "open": "number@1", "multi_step": "multi_step@1"}[kind]
                grades.append({"response_key": f"{key:03}", "grader": grader, "points": points, "reason": "because"})
        respond(*responses)
        respond(*grades, kind="grade")
        return build_report(facts, "zoo 1.0.0", asked, **options)

    return make


def rows(*points, revision="c", model="m", condition="full", **more):
    return [(f"{revision}{place}", model, condition, point, more) for place, point in enumerate(points)]


class TestCells:
    def test_points_of_each_model_condition_and_kind(self, questions, build):
        asked = {f"c{n}": questions.choice() for n in range(4)} | {"s0": questions.steps(), "s1": questions.steps()}
        found = build(
            asked,
            [
                *rows(1.0, 1.0, 1.0, 0.0, model="b"),
                *rows(0.0, 1.0, 0.0, 0.0, model="b", condition="text_only"),
                *rows(1.0, 0.0, model="a"),
                *rows(0.4, 1.0, revision="s", model="a"),
            ],
        )
        said = {(one.kind, one.model, one.condition): (one.points, one.graded, one.chance) for one in found.cells}
        assert said == {
            ("choice", "a", "full"): (50.0, 2, 25.0),
            ("choice", "b", "full"): (75.0, 4, 25.0),
            ("choice", "b", "text_only"): (25.0, 4, 25.0),
            ("multi_step", "a", "full"): (70.0, 2, None),
        }
        assert [one.kind for one in found.cells] == ["choice", "choice", "choice", "multi_step"]

    def test_what_is_not_graded_counts_neither_as_right_nor_as_wrong(self, questions, build):
        asked = {f"c{n}": questions.choice() for n in range(6)}
        found = build(
            asked,
            [
                *rows(1.0, 1.0, 0.0, None),
                ("c4", "m", "full", "none", {"state": "api_error", "answer": None, "error": "down"}),
                ("c5", "m", "full", 0.0, {"state": "refusal"}),
            ],
        )
        (one,) = found.cells
        assert (one.answered, one.graded, one.invalid) == (6, 4, 1)
        assert one.points == pytest.approx(50.0)
        assert (one.worst, one.best) == pytest.approx((100 * 2 / 6, 100 * 4 / 6))
        assert (one.low, one.high) == pytest.approx(tuple(100 * end for end in wilson(2, 4)))

    def test_nothing_graded_has_no_points_and_the_widest_bounds(self, questions, build):
        (one,) = build({"c0": questions.choice()}, rows(None)).cells
        assert (one.points, one.low, one.high, one.worst, one.best) == (None, None, None, 0.0, 100.0)

    def test_chance_is_known_where_one_option_is_right(self, questions, build):
        two = questions.choice(choices=questions.choice().choices[:2])
        several = questions.choice(correct=(0, 1))
        (one,) = build({"c0": questions.choice(), "c1": two, "c2": several}, rows(1.0, 1.0, 1.0)).cells
        assert one.chance == pytest.approx(100 * (1 / 4 + 1 / 2) / 2)

    def test_rotations_and_probes_are_no_part_of_it(self, questions, build):
        asked = {"c0": questions.choice()}
        found = build(asked, [*rows(1.0), *rows(0.0, rotation=1), *rows(0.0, condition="text_only_open", kind="open")])
        assert [(one.condition, one.answered) for one in found.cells] == [("full", 1)]

    def test_grades_of_an_older_grader_are_no_part_of_it(self, questions, facts, respond):
        row = {"key": "1", "request_key": "1", "item_name": "i", "revision_id": "c", "answer": "Answer: B"}
        respond(row)
        respond({"response_key": "1", "grader": "choice@0", "points": 1.0}, kind="grade")
        (one,) = build_report(facts, "t", {"c": questions.choice()}).cells
        assert (one.answered, one.graded) == (1, 0)

    def test_of_two_askings_of_one_thing_the_later_counts(self, questions, build):
        asked = {"c0": questions.choice()}
        (one,) = build(asked, [*rows(0.0), *rows(1.0)]).cells
        assert (one.answered, one.points) == (1, 100.0)

    def test_numbers_of_different_settings_are_never_mixed(self, questions, build):
        asked = {f"c{n}": questions.choice() for n in range(2)}
        hot, cold = (json.dumps({"generate": {"temperature": degrees}}) for degrees in (1, 0))
        found = build(
            asked, [*rows(1.0, 1.0, parameters=hot), *rows(0.0, 0.0, parameters=cold), *rows(1.0, model="other")]
        )
        by_model = {one.model: one.points for one in found.cells}
        labels = [model for model in by_model if model != "other"]
        assert all(re.fullmatch(r"m #[0-9a-f]{6}", label) for label in labels)
        assert sorted(by_model.values()) == [0.0, 100.0, 100.0]
        for label in labels:
            degrees = found.settings[label]["generate"]["temperature"]
            assert by_model[label] == 100.0 * degrees
        assert {row.model for row in found.answers} == set(by_model)

    def test_only_the_wanted_models_and_questions(self, questions, build):
        asked = {"c0": questions.choice()}
        found = build(asked, [*rows(1.0, model="a"), *rows(0.0, model="b")], models=["b"])
        assert [(one.model, one.points) for one in found.cells] == [("b", 0.0)]
        assert [row.model for row in found.answers] == ["b"]

    def test_nothing_asked_is_an_empty_report(self, questions, facts):
        found = build_report(facts, "t", {"c": questions.choice()})
        assert (found.cells, found.answers) == ((), ())
        assert "<h1>t</h1>" in page(found)

    def test_every_number_names_its_responses(self, questions, build):
        asked = {f"c{n}": questions.choice() for n in range(3)}
        found = build(asked, rows(1.0, 0.0, None))
        assert [(row.key, row.points, row.reason) for row in found.answers] == [
            ("000", 1.0, "because"),
            ("001", 0.0, "because"),
            ("002", None, "because"),
        ]

    def test_the_numbers_alone_load_no_responses(self, questions, build):
        found = build({"c0": questions.choice()}, rows(1.0), with_answers=False)
        assert (len(found.cells), found.answers) == (1, ())


class TestTables:
    def test_full_comes_first_and_then_what_leaves_out_least(self):
        names = ["options_only", "zzz", "text_only", "without_image", "full", "caption_for_audio", "without_audio"]
        assert conditions_in_order(cell(condition=name) for name in names) == [
            "full", "without_audio", "without_image", "caption_for_audio", "text_only", "options_only", "zzz",
        ]  # fmt: skip

    def test_a_row_for_each_model_with_what_was_not_asked_as_a_dash(self):
        ungraded = cell("b", points=None, low=None, high=None, graded=0, worst=0.0, best=100.0)
        partly = cell("a", "text_only", graded=8)
        header, found = table_by_condition(report(cell("a"), partly, ungraded))
        assert header == ["model", "kind", "full", "text_only"]
        assert found == [
            ["a", "choice", "50.0 [24, 76] n=10", "50.0 [24, 76] 8/10 graded"],
            ["b", "choice", "not graded (0/10)", "-"],
        ]

    def test_a_row_for_each_cell(self):
        header, found = table_of_cells(report(cell(), cell(points=None, low=None, high=None, graded=0, chance=None)))
        assert header == ["kind", "model", "condition", "points", "95%", "graded", "chance"]
        assert found == [
            ["choice", "m", "full", "50.0", "24 to 76", "10 of 10", "25"],
            ["choice", "m", "full", "not graded", "", "0 of 10", ""],
        ]


class TestPicture:
    def test_the_same_report_gives_the_same_picture(self):
        cells = [cell(model, condition) for model in ("a", "b") for condition in ("full", "text_only")]
        assert picture(report(*cells)) == picture(report(*reversed(cells)))

    def test_it_names_models_and_conditions_and_draws_a_bar_for_each(self):
        drawn = picture(report(cell("ada"), cell("ada", "text_only"), cell("bo"))).decode()
        assert all(word in drawn for word in ("ada", "bo", "text only", "chance", "accuracy, percent"))
        root = ElementTree.fromstring(drawn)
        assert root.tag.endswith("svg")

    def test_names_that_look_like_formulas_or_markup_are_text(self):
        drawn = picture(report(cell("a$b$c"), cell("<b>&\"'"))).decode()
        assert ElementTree.fromstring(drawn) is not None
        assert "a$b$c" in drawn

    def test_a_model_without_a_grade_has_no_bar(self):
        ungraded = cell("a", points=None, low=None, high=None, graded=0)
        assert picture(report(ungraded))
        assert picture(report(ungraded, cell("b")))


class TestPage:
    @pytest.fixture
    def found(self):
        from evaluation.report import AnswerRow

        row = {
            "key": "k1", "item_name": f"i{PAYLOAD}", "revision_id": "r", "model": f"m{PAYLOAD}", "condition": "full",
            "state": "ok", "answer": PAYLOAD, "error": None, "points": 1.0, "reason": f"because {PAYLOAD}",
        }  # fmt: skip
        failed = row | {"key": "k2", "state": "api_error", "answer": None, "error": PAYLOAD, "points": None}
        return report(
            cell(f"m{PAYLOAD}", answered=12, worst=41.7, best=58.3),
            title=f"zoo {PAYLOAD}",
            answers=(AnswerRow(**row), AnswerRow(**failed | {"reason": None})),
            settings={f"m{PAYLOAD}": {"note": PAYLOAD}},
        )

    def test_nobody_s_text_becomes_markup(self, found):
        shown = page(found)
        assert "<script" not in shown
        assert "<img" not in shown
        assert shown.count("&lt;script&gt;") >= 8

    def test_it_opens_offline(self):
        shown = page(report(cell(), cell("b", "text_only")))
        fetched = re.findall(r"""(?:src|href|action|data)\s*=\s*["']?([^"'\s>]+)|url\(([^)]+)\)|@import""", shown)
        assert all(target.startswith("#") for pair in fetched for target in pair if target)
        without_names = re.sub(r'xmlns(?::\w+)?="[^"]*"', "", shown)
        assert "http" not in without_names

    def test_it_says_how_far_missing_grades_could_move_the_points(self, found):
        shown = " ".join(page(found).split())
        assert "2 of 12 answers have no grade; the points lie between 41.7 and 58.3" in shown

    def test_of_very_many_responses_it_shows_the_first(self, found, monkeypatch):
        monkeypatch.setattr("evaluation.report.ANSWERS_ON_PAGE", 1)
        shown = " ".join(page(found).split())
        assert "The first 1 of 2; report.json holds all of them." in shown
        assert 'id="k1"' in shown
        assert 'id="k2"' not in shown

    def test_all_of_it_is_written(self, found, tmp_path):
        write_report(found, tmp_path / "a" / "b")
        written = json.loads((tmp_path / "a" / "b" / "report.json").read_text(encoding="utf-8"))
        assert Report.model_validate(written) == found
        assert (tmp_path / "a" / "b" / "report.html").read_text(encoding="utf-8") == page(found)
        assert (tmp_path / "a" / "b" / "report.svg").read_bytes() == picture(found)
