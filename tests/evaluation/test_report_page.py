"""A report as people see it: the page, its figures, and what stands on a terminal."""

import json
import re
from xml.etree import ElementTree

import pytest

from evaluation.report.document import AnswerRow, Cell, Column, ItemRow, Number, Plain, Report, Row, Table
from evaluation.report.figures import FIGURES, drops_figure, leaderboard_figure, points_figure, radar_figure
from evaluation.report.page import page, write_report
from evaluation.report.terminal import table_as_text, table_of_cells

PAYLOAD = "</script><script>alert('answer')</script><img src=x onerror=alert(1)>"


def number(points=50.0, **fields) -> Number:
    usual = {"low": 24.0, "high": 76.0, "worst": 50.0, "best": 50.0, "answered": 40, "graded": 40, "items": 40}
    missing = {"points": None, "reason": "not asked", "selection": {"model": ("m",)}}
    return Number(
        **(missing if points is None else {"points": points, "selection": {"model": ("m",)}} | usual) | fields
    )


def cell(model: str = "m", condition: str = "full", **fields) -> Cell:
    usual = {
        "kind": "choice", "answered": 10, "graded": 10, "items": 10, "points": 50.0, "low": 24.0, "high": 76.0,
        "worst": 50.0, "best": 50.0, "chance": 25.0,
        "selection": {"model": (model,), "condition": (condition,), "kind": ("choice",)},
    }  # fmt: skip
    return Cell(**{"model": model, "condition": condition} | usual | fields)


def table(key: str, columns, *rows, **fields) -> Table:
    made = tuple(Row(label=label, cells=tuple(cells)) for label, *cells in rows)
    heads = tuple(Column(title=one) if isinstance(one, str) else Column(group=one[0], title=one[1]) for one in columns)
    return Table(
        **{"key": key, "title": f"About {key}", "note": "", "head": "model", "columns": heads, "rows": made} | fields
    )


def report(*cells: Cell, **fields) -> Report:
    return Report(**{"title": "zoo 1.0.0", "cells": cells} | fields)


def words(markup: str) -> str:
    """What is read on a page."""
    body = re.sub(r"<(style|script)\b.*?</\1>", " ", markup, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def data(markup: str) -> dict:
    """What the page's script reads."""
    return json.loads(re.search(r'id="data">(.*?)</script>', markup, re.DOTALL).group(1))


@pytest.fixture
def found():
    item = ItemRow(
        revision_id="r", item_name="i", kind="choice", scope="omni", modalities="audio+image", task_type="counting",
        branch="perception", ability="alignment", sound=PAYLOAD, steps="0", twin="no", twin_group=None, cluster="r",
    )  # fmt: skip
    row = {
        "key": "k1", "item_name": f"i{PAYLOAD}", "revision_id": "r", "model": f"m{PAYLOAD}", "condition": "full",
        "view": "full", "state": "ok", "answer": PAYLOAD, "error": None, "points": 1.0, "reason": f"because {PAYLOAD}",
    }  # fmt: skip
    failed = row | {"key": "k2", "state": "api_error", "answer": None, "error": "down", "points": None, "reason": None}
    return report(
        cell(f"m{PAYLOAD}", answered=12, worst=41.7, best=58.3, reason=None),
        title=f"zoo {PAYLOAD}",
        tables=(table("conditions", [f"full {PAYLOAD}"], [f"m{PAYLOAD}", number()], note=PAYLOAD),),
        people=(f"m{PAYLOAD}",),
        settings={f"m{PAYLOAD}": {"note": PAYLOAD}},
        items=(item,),
        answers=(AnswerRow(**row), AnswerRow(**failed)),
    )


class TestPage:
    def test_nobody_s_text_becomes_markup(self, found):
        shown = page(found)
        assert shown.count("<script") == 2  # the data and ours
        assert "<img" not in shown
        assert shown.count("&lt;script&gt;") >= 8

    def test_the_responses_come_through_unchanged(self, found):
        held = data(page(found))
        first, second = held["rows"]
        assert first == [
            0,
            f"i{PAYLOAD}",
            f"m{PAYLOAD}",
            "full",
            "full",
            "ok",
            1.0,
            PAYLOAD,
            f"because {PAYLOAD}",
            "k1",
            "none",
        ]
        assert second[5:10] == ["api_error", None, "down", "", "k2"]
        assert held["items"][0]["sound"] == PAYLOAD

    def test_it_opens_offline(self):
        shown = page(report(cell(), cell("b", "text_only"), tables=(table("leaderboard", ["Rank", "Points"],
                                                                           ["m", Plain(text="1"), number()]),)))  # fmt: skip
        fetched = re.findall(r"""(?:src|href|action|data)\s*=\s*["']?([^"'\s>]+)|url\(([^)]+)\)|@import""", shown)
        assert all(target.startswith("#") for pair in fetched for target in pair if target)
        without_names = re.sub(r'xmlns(?::\w+)?="[^"]*"', "", shown)
        assert "http" not in without_names

    def test_a_number_says_how_many_are_graded_and_how_far_the_others_could_move_it(self):
        partly = number(graded=38, worst=47.5, best=52.5, invalid=2)
        read = words(page(report(cell(), tables=(table("table2", ["Audio", "Visual"], ["m", number(), partly]),))))
        assert "50.0 24–76 n=40 50.0 24–76 n=38/40 (47.5–52.5) 2 invalid" in read

    def test_few_items_are_grey_and_a_missing_number_tells_why(self):
        shown = page(report(cell(), tables=(table("table2", ["a", "b"], ["m", number(items=29), number(None)]),)))
        assert re.search(r'<td class="number few"[^>]*>\s*<a[^>]*>50\.0', shown)
        assert re.search(r'<td class="none" title="not asked">-</td>', shown)
        ungraded = number(None, answered=7, reason="no answer is graded")
        assert "not graded 0 of 7" in words(page(report(cell(), tables=(table("table2", ["a"], ["m", ungraded]),))))

    def test_a_number_links_to_its_responses(self):
        one = number(
            selection={"model": ("a'\"b",), "scope": ("omni",)}, against={"model": ("c",)}, p=0.01, p_holm=0.03
        )
        shown = page(report(cell(), tables=(table("drops", ["full", "x"], ["m", number(), one]),)))
        links = re.findall(r'data-of="([^"]*)"', shown)
        told = json.loads(links[1].replace("&#34;", '"').replace("&#39;", "'"))
        assert told == [{"model": ["a'\"b"], "scope": ["omni"]}, {"model": ["c"]}]
        assert "50.0*" in "".join(words(shown).split(" "))

    def test_columns_stand_under_their_groups(self):
        grouped = table("table4", [("Perception", "Audio"), ("Perception", "+ visual"), "Overall"],
                        ["m", number(), number(), number()])  # fmt: skip
        shown = page(report(cell(), tables=(grouped,)))
        assert re.search(r'<th colspan="2">Perception</th><th colspan="1"></th>', shown)

    def test_the_contents_name_what_is_there_and_nothing_else(self, found):
        shown = page(found)
        nav = re.search(r"<nav.*?</nav>", shown, re.DOTALL).group()
        assert re.findall(r'href="#(\w+)"', nav) == ["conditions", "settings", "responses"]
        assert all(f'id="{name}"' in shown for name in ("conditions", "settings", "responses"))
        assert 'id="responses"' not in page(report(cell()))

    def test_of_very_many_responses_it_shows_the_same_random_part(self, found, monkeypatch):
        monkeypatch.setattr("evaluation.report.page.ANSWERS_ON_PAGE", 1)
        shown = page(found)
        assert "holds a random 1 of the 2 responses; report.json holds all of them." in words(shown)
        assert len(data(shown)["rows"]) == 1
        assert page(found) == shown

    def test_of_a_long_answer_it_shows_the_beginning(self, found):
        long = AnswerRow(
            **{name: getattr(found.answers[0], name) for name in AnswerRow.__slots__} | {"answer": "a" * 5_000}
        )
        (row,) = data(page(found.model_copy(update={"answers": (long,)})))["rows"]
        assert row[7] == "a" * 600 + " …"

    def test_all_of_it_is_written(self, found, tmp_path):
        write_report(found, tmp_path / "a" / "b")
        written = json.loads((tmp_path / "a" / "b" / "report.json").read_text(encoding="utf-8"))
        assert written == found.model_dump(mode="json")
        assert (tmp_path / "a" / "b" / "report.html").read_text(encoding="utf-8") == page(found)
        assert (tmp_path / "a" / "b" / "report.svg").read_bytes() == points_figure(found)


@pytest.fixture
def drawable():
    """A report with all figures; model `b$x$` has a name that looks like a formula."""
    models = ["human", "a", "b$x$"]
    abilities = [("P", "Alignment"), ("P", "Recognition"), ("R", "Spatial"), "Overall"]
    return report(
        *(cell(model, condition) for model in models for condition in ("full", "text_only")),
        people=("human",),
        tables=(
            table("leaderboard", ["Rank", "Points"], *([m, Plain(text="1"), number(60.0)] for m in models)),
            table("table3", abilities, *([m, *(number(40.0 + n) for n in range(4))] for m in models)),
            table(
                "people",
                ["Alignment", "Overall", "Ahead"],
                *([m, number(30.0), number(40.0), Plain(text="")] for m in models),
            ),
            table("drops", ["full", "text only"], *([m, number(), number(20.0, low=-5.0)] for m in models)),
        ),
    )


class TestFigures:
    @pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
    def test_the_same_report_gives_the_same_picture(self, draw, drawable):
        drawn = draw(drawable)
        assert drawn == draw(drawable)
        assert ElementTree.fromstring(drawn).tag.endswith("svg")
        text = drawn.decode()
        assert all(model in text for model in ("human", "b$x$"))

    @pytest.mark.filterwarnings("error")
    def test_names_of_any_length_and_script_fit_in(self, drawable):
        names = {
            "a": "vllm/Qwen/Qwen3-Omni-30B-A3B-Instruct\n" + "c" * 400,
            "b$x$": "通义千问-全模态 <b>&amp;</b>",
            "human": "_person",
        }
        text = drawable.model_dump_json()
        for name, other in names.items():
            text = text.replace(json.dumps(name), json.dumps(other))
        named = Report.model_validate_json(text)
        for draw in FIGURES.values():
            shown = {one.text.lstrip("\u200b") for one in ElementTree.fromstring(draw(named)).iter() if one.text}
            assert {"vllm/Qwen/Qwen3-Omni-…ccccccccccccccccccccc", names["b$x$"], "_person"} <= shown

    def test_the_order_of_cells_changes_nothing(self, drawable):
        turned = drawable.model_copy(update={"cells": tuple(reversed(drawable.cells))})
        assert points_figure(turned) == points_figure(drawable)

    def test_they_name_what_they_show(self, drawable):
        assert all(word in points_figure(drawable).decode() for word in ("text only", "chance", "accuracy, percent"))
        assert all(word in radar_figure(drawable).decode() for word in ("Alignment", "Recognition", "Spatial"))
        assert "points lost, percent" in drops_figure(drawable).decode()

    def test_pictures_of_one_page_share_no_names(self, drawable):
        names = [set(re.findall(r' id="([^"]+)"', draw(drawable).decode())) for draw in FIGURES.values()]
        made = [{name for name in one if re.search(r"[0-9a-f]{8}", name)} for one in names]
        assert sum(map(len, made)) == len(set().union(*made))

    def test_a_model_without_a_grade_has_no_point(self):
        ungraded = cell("a", points=None, low=None, high=None, graded=0, reason="no answer is graded")
        assert points_figure(report(ungraded)) is None
        assert points_figure(report(ungraded, cell("b")))
        unsettled = cell("a", kind="open", points=None, low=None, high=None, graded=0, answered=99, chance=None)
        assert "accuracy, percent" in points_figure(report(unsettled, cell("a"))).decode()
        lost = table("drops", ["full", "text only"], ["a", number(None), number(None, answered=3)])
        assert drops_figure(report(ungraded, tables=(lost,))) is None

    def test_without_data_there_is_no_figure(self):
        for draw in (leaderboard_figure, radar_figure, drops_figure):
            assert draw(report(cell())) is None
        two = table("table3", ["Alignment", "Recognition", "Spatial"], ["m", number(), number(), number(None)])
        assert radar_figure(report(cell(), tables=(two,))) is None


class TestTerminal:
    def test_a_row_for_each_cell(self):
        ungraded = cell(points=None, low=None, high=None, graded=0, chance=None, worst=0.0, best=100.0)
        header, found = table_of_cells(report(cell(invalid=1), ungraded))
        assert header == ["kind", "model", "condition", "points", "95%", "graded", "invalid", "chance"]
        assert found == [
            ["choice", "m", "full", "50.0", "24 to 76", "10 of 10", "1", "25"],
            ["choice", "m", "full", "not graded", "", "0 of 10 (0 to 100)", "", ""],
        ]

    def test_any_table_of_a_report(self):
        cells = [
            number(),
            number(graded=30, worst=37.5, best=62.5),
            number(None),
            number(None, answered=3),
            Plain(text="x"),
        ]
        header, found = table_as_text(table("t", [("G", "a"), "b", "c", "d", "e"], ["m", *cells]))
        assert header == ["model", "G, a", "b", "c", "d", "e"]
        assert found == [
            ["m", "50.0 [24, 76] n=40", "50.0 [24, 76] 30/40 graded, 37.5 to 62.5", "-", "not graded (0/3)", "x"],
        ]
