"""The page of a report in a real browser: a number shows the responses behind it."""

import importlib.util
import json
from pathlib import Path

import pytest

from evaluation.report.build import build_report
from evaluation.report.document import Report
from evaluation.report.page import write_report

pytestmark = pytest.mark.browser


@pytest.fixture
def report(tmp_path):
    place = Path(__file__).parents[2] / "benchmarks" / "report.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_reports", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    release = module.release(36)
    facts, _ = module.store(tmp_path / "facts", release, 2)
    found = build_report(facts, "synthetic 1.0.0", release)
    write_report(found, tmp_path / "report")
    return found


@pytest.fixture
def page(chromium, report, tmp_path):
    """The page, with the mistakes of its script and all that it asked for."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.mistakes, page.fetched = [], []
    page.on("pageerror", lambda error: page.mistakes.append(str(error)))
    page.on("request", lambda request: page.fetched.append(request.url))
    page.goto((tmp_path / "report" / "report.html").as_uri())
    yield page
    assert page.mistakes == []
    assert all(url.startswith("file:") for url in page.fetched)
    context.close()


def shown(page):
    """The rows of the responses' table, all of them."""
    while page.locator("#more").is_visible():
        page.locator("#more").click()
    return page.locator("#answers tbody tr").all_inner_texts()


def test_a_number_shows_the_responses_behind_it(page, report):
    assert f"{len(report.answers)} responses" in page.inner_text("#told")
    number = report.table("table2").rows[0].cells[2]
    page.locator("#table2 tbody tr").nth(0).locator("td a").nth(2).click()
    assert page.inner_text("#told").startswith(f"{number.answered} responses behind this number: model human")
    rows = shown(page)
    scopes = {item.item_name: (item.scope, item.kind) for item in report.items}
    assert len(rows) == number.answered
    assert {scopes[row.split("\t")[0]] for row in rows} == {("omni", "choice")}
    page.locator("#all").click()
    assert page.inner_text("#told") == f"{len(report.answers)} responses"


def test_a_difference_shows_the_items_that_both_sides_answered(page, report):
    table = report.table("drops")
    place = next(place for place, row in enumerate(table.rows) if row.label == "model-b")
    number = table.rows[place].cells[2]  # without image: not all questions have one
    page.locator("#drops tbody tr").nth(place).locator("td a").nth(2).click()
    assert "against model model-b, condition without image" in page.inner_text("#told")
    assert len(shown(page)) == 2 * number.answered


def test_words_narrow_what_is_shown(page, report):
    name = report.items[3].item_name
    page.fill("#search", name.upper())
    assert {row.split("\t")[0] for row in shown(page)} == {name}


def test_nobody_s_text_is_run_or_breaks_the_page(page, report, tmp_path):
    hostile = (
        "</script><img src=x onerror='window.hit = 1'><script>window.hit = 1</script>--><!-- \n\u2028 通义 " + "x" * 400
    )
    text = report.model_dump_json()
    for name in ("model-a", report.items[0].item_name, report.title, "It is heard twice and seen once."):
        text = text.replace(json.dumps(name)[1:-1], json.dumps(name + hostile)[1:-1])
    write_report(Report.model_validate_json(text), tmp_path / "hostile")
    page.goto((tmp_path / "hostile" / "report.html").as_uri())
    page.locator("#conditions td a").last.click()
    read = page.inner_text("body")
    assert read.count("<img src=x onerror='window.hit = 1'>") > 10
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert page.evaluate("window.hit") is None
    assert page.evaluate("document.documentElement.scrollWidth") == 1440


@pytest.mark.parametrize("width", [1440, 1024])
def test_nothing_is_wider_than_the_page(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == width
    wide = page.locator(".scroll").evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth).length")
    assert wide == 0
