"""The page of quality control and the tab of an item, in Streamlit's own test runner."""

import re
import threading

import pytest

from annotation_ui import accounts
from annotation_ui.pages import quality_analysis
from annotation_ui.quality import Freshness, Quality
from core.errors import InterplayError
from warehouse.lifecycle import Action
from warehouse.people import Role
from warehouse.tables import Decision
from warehouse.verdicts import Judgement

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>[x](javascript:alert(3)) :red[**b**] {0} {name}"


def shown(app):
    """All HTML that the page drew."""
    bodies = [element.proto.body for element in app.get("html")]
    return "\n".join(body for body in bodies if not body.startswith("<style>"))


def pick(app, label, code):
    """A choice by its label: its key changes with its words."""
    return next(widget for widget in app.selectbox if widget.label == label).select(code)


def press(app, key):
    return next(button for button in app.button if button.key == key).click()


def finish(app):
    """Wait until what the page started is done, and draw it again."""
    for thread in threading.enumerate():
        if thread.name.startswith("work quality"):
            thread.join()
    app.run()


@pytest.fixture
def filled(seed, studio, people):
    """The sample project, whose reviewer and annotator sign in here."""
    seed.fill(studio.workspace.project.root, people[Role.ANNOTATOR].id, people[Role.REVIEWER].id)


def test_a_reason_leads_to_its_items_and_an_item_to_why(visit, token, filled):
    app = visit("quality", token())
    text = shown(app)
    assert "Round 1: model check" in text and "No sample has been drawn yet" in text
    assert "interplay qc audit bells 1.0.0 --by maintainer" in text
    press(app, "open-reason-answerable_from_text").run()
    text = shown(app)
    assert "bells-012" in text and "bells-001" not in text
    assert dict(app.query_params) == {"part": "items", "reason": "answerable_from_text"}
    pick(app, "Reason", None).run()
    assert "bells-001" in shown(app)
    item = visit("item", token(), name="bells-012", tab="quality", part="items")
    assert "Round 1: model check" in shown(item) and "the text alone is enough" in shown(item)


def test_each_part_is_drawn_for_each_role_in_chinese(visit, token, database, people, filled):
    for role in (Role.ANNOTATOR, Role.REVIEWER, Role.MAINTAINER):
        with database.session() as session:
            accounts.set_language(session, people[role].id, "zh")
        entry = token(role)
        for part in ("benchmark", "items", "analysis", "people"):
            text = shown(visit("quality", entry, part=part))
            assert "质量控制" in text and len(text) > 500
            told = re.sub(r"<code>.*?</code>", "", text)
            assert not re.search(r">[^<]*\b(undefined|Everybody|Passed|Returned|Round \d)\b[^<]*<", told), (role, part)


def test_a_reviewer_finds_no_reason_of_what_they_may_judge(visit, token, filled):
    app = visit("quality", token(Role.REVIEWER), part="items")
    text = shown(app)
    assert "bells-012" in text and "bells-008" not in text and "walk-009" not in text
    assert "not listed" in text
    blind = shown(visit("item", token(Role.REVIEWER), name="walk-009", tab="quality"))
    assert "once you have judged this item" in blind and "Item analysis" not in blind


def test_hostile_text_stays_text(visit, token, seeder, filled, database, people):
    draft = seeder.draft(f"{ATTACK} <image_1>", {"image_1": seeder.picture(40)}, ATTACK[:60])
    said = Judgement(1, people[Role.REVIEWER].id, True, Decision.RETURN, ("ambiguous",), comment=ATTACK)
    seeder.item("hostile", draft, Action.SUBMIT, said)
    entry = token()
    for page, query in (
        ("quality", {"part": "items"}),
        ("quality", {"part": "people"}),
        ("quality", {"part": "items", "reason": ATTACK, "decision": ATTACK, "author": ATTACK, "page": ATTACK}),
        ("quality", {"part": ATTACK, "release": ATTACK}),
        ("item", {"name": "hostile", "tab": "quality", "answer-model": ATTACK}),
    ):
        text = shown(visit(page, entry, **query))
        assert "<script>" not in text and "<img src=x" not in text
        assert page == "quality" or "&lt;script&gt;" in text


def test_a_large_project_is_counted_beside_the_page_and_again_after_a_failure(visit, token, filled, monkeypatch):
    def fail(*arguments):
        raise InterplayError("the disk is full")

    count, entry = Quality.count, token()
    monkeypatch.setattr(Freshness, "is_quick", property(lambda self: False))
    monkeypatch.setattr(quality_analysis, "QUICK_ITEMS", 0)
    monkeypatch.setattr(Quality, "count", fail)
    app = visit("quality", entry)
    finish(app)
    assert "the disk is full" in shown(app)
    monkeypatch.setattr(Quality, "count", count)
    press(app, "count").run()
    finish(app)
    text = shown(app)
    assert "Round 1: model check" in text and "the disk is full" not in text and "You may leave this page" not in text
    app = visit("quality", entry, part="analysis")
    finish(app)
    assert "How hard, and for whom" in shown(app) and "You may leave this page" not in shown(app)
