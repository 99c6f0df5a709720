"""The page "Results": its parts by their addresses, answers behind numbers, numbers that are made beside the page."""

import re
import threading
from html import escape, unescape
from urllib.parse import parse_qsl

import pytest

from annotation_ui.results import kept
from warehouse.facts import DamagedJournal
from warehouse.lifecycle import Action
from warehouse.people import Role

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>[x](javascript:alert(3)) :red[**b**] {0} {name}"
PARTS = {
    "ranks": "People are shown for comparison",
    "tables": "By ability (Table 3)",
    "conditions": "What is lost without",
    "law": "No model has scores on questions that are only heard",
    "abilities": "A radar needs three abilities",
    "games": "The games are not part of this version",
    "answers": "14 answers",
}


def shown(app):
    """All HTML that the page drew."""
    return "\n".join(element.proto.body for element in app.get("html"))


def links(app):
    """Where the page's own links lead: names with all their values."""
    found = re.findall(r'href="results\?([^"]*)"', shown(app))
    return [parse_qsl(unescape(one)) for one in found]


@pytest.fixture
def asked(seeder, seed):
    """Two released questions that two models and a person answered; one text is hostile."""
    media = {"image_1": seeder.picture(1), "audio_1": seeder.sound(1)}
    full = (Action.SUBMIT, seed.passed(1), seed.passed(2), seed.passed(3), Action.RELEASE)
    made = {
        name: seeder.item(name, seeder.draft(f"See <image_1>, hear <audio_1>. {name}", media, "mei"), *full)[1]
        for name in ("one", "two")
    }
    seeder.release("zoo", "1.0.0", list(made.values()))
    seeder.responses(
        [
            (revision, name, model, condition, float(name == "one" or model == "b"), f"Answer: B. {ATTACK}")
            for name, revision in made.items()
            for model in ("a", "b", "human/expert")
            for condition in ("full", "without_audio")
        ]
    )
    seeder.responses([(made["one"], "one", "a", "text_only", None, None)], state="api_error", error=ATTACK)
    seeder.responses([(made["two"], "two", ATTACK, "full", 0.0, "A")])
    return made


def test_each_part_has_its_address_and_shows_hostile_text_as_text(visit, token, asked):
    entry = token(Role.ANNOTATOR)
    for part, told in PARTS.items():
        app = visit("results", entry, show=part)
        text = shown(app)
        assert told in text, part
        assert "<script" not in text and "<img src=x" not in text, part
        if part not in {"law", "games"}:
            assert escape(ATTACK, quote=False)[:30] in text, part
        written = [one.value for kind in ("markdown", "caption", "error", "info") for one in app.get(kind)]
        written += [one.label for kind in ("button", "selectbox", "multiselect", "text_input") for one in app.get(kind)]
        assert not [one for one in written if "alert" in one], part


def test_every_link_of_the_leaderboard_leads_to_as_many_answers_as_it_says(visit, token, asked):
    entry = token(Role.ANNOTATOR)
    app = visit("results", entry, show="nonsense")
    cells = re.findall(r'<td class="num"><a href="results\?([^"]*)" target="_self">(\d+)</a>', shown(app))
    assert len(cells) >= 4
    for address, count in cells:
        query = dict(parse_qsl(unescape(address)))
        assert f"{count} answer" in shown(visit("results", entry, **query))


def test_answers_are_narrowed_by_the_address_and_by_what_is_chosen(visit, token, asked):
    entry = token(Role.ANNOTATOR)
    app = visit("results", entry, **{"show": "answers", "of.model": "a", "of.ability": "recognition"})
    assert "5 answers" in shown(app) and "Ability:" in shown(app)
    model = next(one for one in app.multiselect if one.label == "Model")
    assert model.value == ["a"]
    next(one for one in app.multiselect if one.label == "Outcome").select("failed").run()
    assert ">1 answer<" in shown(app) and app.query_params["of.outcome"] == "failed"
    assert "No answer fits" in shown(visit("results", entry, **{"show": "answers", "of.model": "gone"}))
    sides = {"of.model": "a", "of.condition": "full", "than.model": "a", "than.condition": "without_audio"}
    app = visit("results", entry, show="answers", **sides)
    assert "4 answers" in shown(app) and "both sides" in shown(app) and not app.multiselect


def test_one_answer_has_its_question_its_grade_and_the_way_on(visit, token, asked):
    entry = token(Role.REVIEWER)
    query = {"show": "answers", "of.model": "a", "of.condition": "full", "key": "a/one/full"}
    app = visit("results", entry, **query)
    text = shown(app)
    assert "1 of 2" in text and '<li class="right">' in text and "item?name=one" in text and "choice@2" in text
    following = dict(next(one for one in links(app) if ("key", "a/two/full") in one))
    assert "2 of 2" in shown(visit("results", entry, **following))
    assert "no such answer" in shown(visit("results", entry, **query | {"key": "b/other/full"}))


def test_what_somebody_may_yet_judge_stays_hidden_in_a_release_too(visit, token, asked, seeder):
    media = {"image_1": seeder.picture(2), "audio_1": seeder.sound(2)}
    reopened = seeder.item("open", seeder.draft("See <image_1>, hear <audio_1>.", media, "mei"), Action.SUBMIT)[1]
    seeder.release("zoo", "2.0.0", [asked["one"], reopened])
    seeder.response(reopened, "open", "a", "full", 1.0, "Answer: B, for it rings")
    query = {"show": "answers", "of.model": "a", "of.condition": "full"}
    for role, is_hidden in ((Role.REVIEWER, True), (Role.MAINTAINER, False)):
        entry = token(role)
        listed, one = (
            shown(visit("results", entry, **query)),
            shown(visit("results", entry, **query, key="a/open/full")),
        )
        assert ("1 answer<" in listed, "2 answers<" in listed) == (is_hidden, not is_hidden)
        for text in (listed, one):
            assert ("stay hidden from you" in text) == is_hidden and ("it rings" in text) != is_hidden
        assert ('<li class="right">' in one) != is_hidden and ("choice@2" in one) != is_hidden


def join_work():
    for thread in [one for one in threading.enumerate() if one.name.startswith("work results")]:
        thread.join()


def test_many_answers_are_counted_beside_the_page_and_once(visit, token, asked, seeder, monkeypatch):
    entry = token(Role.ANNOTATOR)
    monkeypatch.setattr(kept, "QUICK_RESPONSES", 0)
    app = visit("results", entry)
    assert "takes some seconds" in shown(app) or "People are shown" in shown(app)
    join_work()
    assert "People are shown" in shown(visit("results", entry))

    def fail(*_, **__):
        raise DamagedJournal("line 7 is no row")

    read = kept.read_answers
    monkeypatch.setattr(kept, "read_answers", fail)  # whoever counts again fails
    assert "People are shown" in shown(visit("results", entry, show="ranks"))
    seeder.response(asked["one"], "one", "newcomer", "full", 1.0)
    app = visit("results", entry)
    assert "numbers from before" in shown(app) and "newcomer" not in shown(app) and "People are shown" in shown(app)
    join_work()
    app = visit("results", entry)
    assert "line 7 is no row" in shown(app) and "newcomer" not in shown(app)
    monkeypatch.setattr(kept, "read_answers", read)
    app.button(key="begin-again").click().run()
    join_work()
    assert "newcomer" in shown(visit("results", entry))


def test_without_answers_the_page_says_how_to_get_them(visit, token, seeder, asked):
    seeder.release("new", "1.0.0", [])
    app = visit("results", token(Role.ANNOTATOR))
    assert "No model has answered yet" in shown(app) and "choose above" in shown(app)
    next(one for one in app.selectbox if one.label == "Questions").select(app.selectbox[0].options[1]).run()
    assert "People are shown" in shown(app)
