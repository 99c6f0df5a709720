"""Pools in a real browser: scores come in by a file, a mistake leaves the form as it was, a subset is chosen and saved."""

import csv
import io

import numpy as np
import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
ATTACK = "<img src=x onerror=alert(1)>"


def scores(full):
    drawn = np.random.default_rng(8).random((40, 5))
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(["question_id", "model", "score"])
    for question, row in enumerate(drawn):
        writer.writerows(
            [f"{ATTACK}{question:02}", f"m{model}", full * int(draw < 0.5)] for model, draw in enumerate(row)
        )
    return {"name": "scores.csv", "mimeType": "text/csv", "buffer": stream.getvalue().encode()}


def test_from_a_file_of_scores_to_a_subset_that_is_saved(tabs, studio):
    tab = tabs.by_link(studio.first_link(), "ada", width=1024, height=768)
    tab.get_by_test_id("stSidebarNavLink").filter(has_text="Pools").click()
    expect(tab.get_by_role("heading", name="No pool yet")).to_be_visible()
    tab.get_by_text("Bring in scores", exact=True).click()
    tab.locator("input[type=file]").first.set_input_files(scores(100))
    tab.get_by_role("textbox", name="Name of the pool").fill("small")
    tab.get_by_role("button", name="Bring them in").click()
    expect(tab.get_by_role("alert")).to_contain_text("“A full score is”")
    full = tab.get_by_role("spinbutton", name="A full score is")
    full.fill("100")
    full.press("Tab")
    tab.get_by_role("button", name="Bring them in").click()
    expect(tab.locator(".ip-notice.good")).to_contain_text("200 scores came in")
    tab.locator(".st-key-row-pool-small").get_by_role("button", name="Open").click()
    expect(tab.get_by_role("img", name="Scores of 5 models")).to_be_visible()
    tab.get_by_role("tab", name="Choose questions").click()
    tab.get_by_role("textbox", name="Name of the subset").fill("half")
    size = tab.get_by_role("spinbutton", name="Questions to keep")
    size.fill("20")
    size.press("Tab")
    tab.get_by_role("button", name="Choose and seal the subset").click()
    tab.locator(".st-key-row-subset-half").get_by_role("button", name="Open").click()
    tab.get_by_role("tab", name="List of questions").click()
    expect(tab.get_by_role("cell", name=ATTACK)).to_have_count(20)
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Save as CSV").click()
    rows = list(csv.reader(download.value.path().read_text("utf-8-sig").splitlines()))
    assert rows[0] == ["benchmark", "question_id", "weight", "stratum"] and len(rows) == 21
    assert sum(float(row[2]) for row in rows[1:]) == pytest.approx(1)
    tab.get_by_role("tab", name="Make it larger").click()
    tab.get_by_role("textbox", name="Name of the larger subset").fill("most")
    tab.get_by_role("button", name="Extend and seal the subset").click()
    expect(tab.locator(".st-key-row-subset-most")).to_contain_text("40 of 40 questions")
    assert tab.crashes == []
