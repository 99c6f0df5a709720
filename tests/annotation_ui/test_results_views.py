"""The numbers of Results in words: whatever they are, the responses behind each are exactly those it was made from."""

import re
from dataclasses import replace
from functools import partial
from urllib.parse import parse_qs
from xml.etree import ElementTree

import numpy as np
import pytest

from annotation_ui.lately import Lately
from annotation_ui.media_links import MediaLinks
from annotation_ui.permissions import NotAllowed
from annotation_ui.results.kept import KeptResults, make_results
from annotation_ui.results.responses import Chosen, chosen_places
from annotation_ui.results.scopes import basis, hidden_revisions, scopes
from annotation_ui.views import law as law_view
from annotation_ui.views import responses as responses_view
from annotation_ui.views import results as view
from annotation_ui.views import results_words
from annotation_ui.views.preview import prompt_blocks
from annotation_ui.words import words_in
from core.question import AnswerKey, Step
from evaluation.graders.verdicts import Verdict, Why
from evaluation.law.figure import law_picture
from evaluation.law.fit import fit_law
from evaluation.law.of_report import points_of
from evaluation.report.document import Number
from evaluation.report.figures import drops_figure, leaderboard_figure, people_figure, radar_figure
from warehouse.lifecycle import Action
from warehouse.people import Role
from warehouse.runs import open_run

EN, ZH = words_in("en"), words_in("zh")
LINKS = view.Links("all")
MODELS = ("able", "better", "close", "dull", "even")
SITTER = "human/expert"
TYPES = ("spot_the_difference", "event_ordering", "puzzle", "relative_position", "timing_alignment")


@pytest.fixture
def passed(seed):
    return seed.passed


@pytest.fixture
def media(seeder):
    return {"image_1": seeder.picture(1), "audio_1": seeder.sound(1)}


@pytest.fixture
def settled(passed):
    return (Action.SUBMIT, passed(1), passed(2), passed(3), Action.RELEASE)


@pytest.fixture
def who(principal_of):
    return principal_of(Role.REVIEWER)


@pytest.fixture
def results_of(studio, database):
    """The numbers that a person sees of the scope at a place in their list."""

    def make(who, place=0):
        with database.reading() as session:
            now = basis(session, who, scopes(session, who, EN)[place], studio.workspace.facts)
        kept = KeptResults()
        make_results(studio.workspace, now, kept)
        return kept.results.get(now.key)

    return make


@pytest.fixture
def benchmark(seeder, media, settled):
    """Questions of every scope and kind, answered by models and a person with every outcome."""
    texts = {"omni": "See <image_1>, hear <audio_1>.", "audio": "Hear <audio_1>.", "visual": "See <image_1>."}
    steps = [
        Step(ask="Which?", points=4, answer=AnswerKey(accepted=("red",))),
        Step(ask="How many?", points=6, answer=AnswerKey(accepted=("3",))),
    ]
    revisions = {}
    for place in range(12):
        kind = ("omni", "omni", "audio", "visual")[place % 4]
        shown = {name: one for name, one in media.items() if name in texts[kind]}
        draft = seeder.draft(
            texts[kind] + str(place), shown, "mei", task_type=TYPES[place % 5], steps=steps if place == 5 else ()
        )
        revisions[f"q{place:02}"] = seeder.item(f"q{place:02}", draft, *settled)[1]
    seeder.release("zoo", "1.0.0", list(revisions.values()))
    told = []
    for number, model in enumerate((*MODELS, SITTER)):
        for place, (name, revision) in enumerate(revisions.items()):
            if model == SITTER and place > 8:
                continue
            for condition in ("full", "without_audio", "text_only"):
                right = (place * 7 + number * 3 + len(condition)) % 5 > number % 3
                points = None if (place, number) == (3, 1) else float(right)
                told.append((revision, name, model, condition, points, "B" if right else "A"))
    seeder.responses(told, latency_s=0.5, cost_usd=0.25)
    return revisions


def numbers(found):
    for table in (*found.report.tables, *found.boards.values()):
        for row in table.rows:
            yield from ((table.key, cell) for cell in row.cells if isinstance(cell, Number))
    yield from (("cells", cell) for cell in found.report.cells)


def test_behind_each_number_stand_exactly_its_responses(results_of, benchmark, who, studio):
    """Over all tables: as many as the cell says, whichever way the address is read back; their mean is the number."""
    found = results_of(who)
    frame = found.answered.frame
    seen = set()
    for key, number in numbers(found):
        plain = Number(**{name: getattr(number, name) for name in Number.model_fields})
        address = view.cell_view(plain, LINKS, EN).href
        assert bool(address) == bool(number.answered)
        if not address:
            continue
        query = parse_qs(address.partition("?")[2])
        chosen = responses_view.chosen_in(lambda name, query=query: query.get(name, ()))
        assert chosen == Chosen.behind(number), (key, address)
        places = chosen_places(frame, chosen)
        if number.against is not None:
            sides = [set(frame.item[frame.mask(one)]) for one in (number.selection, number.against)]
            assert set(frame.item[places]) == sides[0] & sides[1] and number.answered == len(sides[0] & sides[1])
        elif number.measure == "all_right":
            continue
        else:
            assert len(places) == number.answered, (key, address)
            if number.measure == "points" and number.points is not None:
                assert np.nanmean(frame.points[places]) * 100 == pytest.approx(number.points)
        seen.add(key)
    assert {"leaderboard", "neighbours", "table2", "table3", "table5", "drops", "people", "cells"} <= seen
    listed = responses_view.response_list(
        found, studio.workspace.facts, Chosen({"model": ("able",), "condition": ("full",)}), lambda _: set(), LINKS, EN
    )
    assert listed.total == 12 and {row.model for row in listed.rows} == {"able"}


def test_the_leaderboard_counts_what_is_missing_and_gives_people_no_rank(results_of, benchmark, who, seeder):
    late = [(benchmark["q00"], "q00", "late", "full", None, None), (benchmark["q01"], "q01", "late", "full", 0.0, None)]
    seeder.responses(late[:1], state="api_error", error="down")
    seeder.responses(late[1:], state="refusal")
    found = results_of(who)
    board = view.board(found, None, LINKS, EN)
    rows = {row.label: row for row in board.rows}
    assert board.rows[0].label == SITTER and rows[SITTER].is_person and rows[SITTER].place == "–"
    assert (rows[SITTER].answered.text, rows[SITTER].unasked.text) == ("9", "3")
    assert (rows["better"].answered.text, rows["better"].ungraded.text, rows["better"].cell.graded) == (
        "12",
        "1",
        "11/12",
    )
    assert "of.outcome=ungraded" in rows["better"].ungraded.href
    ranked = [int(row.place) for row in board.rows if row.label in MODELS]
    assert ranked == sorted(ranked) and ranked[0] == 1
    fates = (rows["late"].failed.text, rows["late"].invalid.text, rows["late"].unasked.text)
    assert (rows["late"].cell.text, rows["late"].cell.bounds, *fates) == ("0.0", "0.0–50.0", "1", "1", "10")
    assert board.notes and board.has_small and not board.chance
    choice = view.board(found, "choice", LINKS, EN)
    assert choice.chance == "25.0" and {row.label: row.answered.text for row in choice.rows}["able"] == "11"
    assert SITTER not in {point.model for point in points_of(found.report)}
    assert not [row for row in view.grid(found.report, "neighbours", LINKS, EN).rows if SITTER in row.label]


def test_every_word_of_every_table_is_known_in_both_languages(results_of, benchmark, who):
    found = results_of(who)
    drawn = [
        view.grid(found.report, table.key, LINKS, ZH)
        for table in found.report.tables
        if table.key not in {"leaderboard", "conditions", "costs"}
    ]
    drawn.append(view.conditions_grid(found.report, LINKS, ZH))
    known = {*MODELS, SITTER, "zoo 1.0.0", "p", "AICc"}
    for grid in drawn:
        texts = [grid.title, grid.note, grid.head, *grid.columns, *(name for name, _ in grid.groups)]
        texts += [row.label for row in grid.rows if row.label not in known]
        texts += [cell.text for row in grid.rows for cell in row.cells]
        left = [text for text in texts if text.isascii() and any(map(str.isalpha, text)) and text not in known]
        assert left == [], grid.key
    frame = found.answered.frame
    for attribute in results_words.ATTRIBUTES:
        for value in frame.names(attribute):
            told = results_words.value_label(ZH, attribute, value)
            assert not told.isascii() or attribute in {"model", "steps", "person"}, (attribute, value)


def test_one_response_in_full_with_its_neighbours(results_of, benchmark, who, studio, clock):
    found, facts = results_of(who), studio.workspace.facts
    chosen = Chosen({"model": ("able",), "condition": ("full",), "kind": ("choice",)})
    links = MediaLinks(studio.key, clock)

    def blocks(question):
        return prompt_blocks(question, links, who.user_id, studio.workspace.blobs, EN)

    def detail(key, hidden=frozenset()):
        return responses_view.response_detail(found, facts, key, chosen, lambda _: set(hidden), LINKS, blocks, EN)

    one = detail("able/q01/full")
    assert one.place == "2 of 11" and "able%2Fq00%2Ffull" in one.previous and "able%2Fq02%2Ffull" in one.next
    assert (one.parsed, one.item_href, one.grader) == (one.answer, "item?name=q01", "choice@2")
    assert [option.correct for option in one.options] == [False, True, False, False]
    assert detail("able/q05/full").place == "" and len(detail("able/q05/full").steps) == 2
    assert detail("nothing") is None
    unseen = detail("able/q01/full", {benchmark["q01"].id})
    assert unseen.hidden and not (unseen.answer or unseen.options or unseen.reason or unseen.outcome or unseen.parsed)
    saved = list(responses_view.saved_rows(found, facts, chosen, lambda _: {benchmark["q01"].id}, EN))
    assert len(saved) == 10 and "q01" not in {row[0] for row in saved}
    assert len(saved[0]) == len(responses_view.saved_columns(EN))


def test_items_under_review_show_to_maintainers_only(
    results_of, benchmark, seeder, media, who, principal_of, database, clock
):
    hidden = seeder.item("three", seeder.draft("See <image_1>, hear <audio_1>.", media, "mei"), Action.SUBMIT)[1]
    seeder.response(hidden, "three", "able", "full", 0.0)
    names = {
        role: {item.item_name for item in results_of(principal_of(role), -1).answered.frame.items}
        for role in (Role.REVIEWER, Role.MAINTAINER)
    }
    assert names[Role.MAINTAINER] - names[Role.REVIEWER] == {"three"}
    with pytest.raises(NotAllowed):
        results_of(principal_of(Role.PARTICIPANT))
    with database.reading() as session:
        both = [hidden.id, benchmark["q00"].id]
        assert hidden_revisions(session, who, both, clock()) == {hidden.id}
        assert hidden_revisions(session, principal_of(Role.MAINTAINER), both, clock()) == set()


def test_numbers_are_made_anew_when_what_they_rest_on_changes(benchmark, who, studio, database, seeder):
    def now():
        with database.reading() as session:
            return basis(session, who, scopes(session, who, EN)[0], studio.workspace.facts)

    first = now()
    assert now() == first
    kept = KeptResults()
    make_results(studio.workspace, first, kept)
    seeder.response(benchmark["q00"], "q00", "late", "full", 1.0)
    second = now()
    assert second.key != first.key and second.questions == first.questions
    assert kept.results.get(second.key) is None and kept.older(second).basis == first
    assert kept.older(replace(second, questions="others")) is None
    with open_run(database, "evaluation run", {"release": "zoo 1.0.0", "models": [{"name": "able"}]}):
        pass
    third = now()
    assert third.models == ("able",) and third.key != second.key
    make_results(studio.workspace, third, kept)
    assert {cell.model for cell in kept.results.get(third.key).report.cells} == {"able"}


def test_only_the_last_results_are_kept():
    lately = Lately(most=2)
    for key in "ab":
        lately.put(key, key)
    assert lately.get("a") == "a"
    lately.put("c", "c")
    assert (lately.get("a"), lately.get("b"), lately.get("c")) == ("a", None, "c")


def test_the_law_is_fitted_or_says_why_not(results_of, benchmark, who, seeder):
    found = results_of(who)
    assert law_view.why_not(found.report, EN) == ""
    assert [row.model for row in law_view.point_rows(found.report, LINKS, EN)] != []
    law = fit_law(
        [point.model_copy(update={"omni": 0.2 + 0.7 * (point.audio * point.visual) ** 2}) for point in _spread()],
        resamples=20,
    )
    seen = law_view.law_view(law, found.report, LINKS, EN)
    assert (seen.scale, seen.exponent, seen.offset) == ("0.700", "2.000", "+ 0.200")
    assert len(seen.forms) == len(law.fits) + len(law.not_fitted) and seen.models == "6 models"
    empty = found.report.model_copy(update={"tables": ()})
    assert "only heard, only seen" in law_view.why_not(empty, EN)
    table = found.report.table("table2")
    few = found.report.model_copy(update={"tables": (table.model_copy(update={"rows": table.rows[:3]}),)})
    assert "2 models have all three scores" in law_view.why_not(few, EN)


def _spread():
    from evaluation.law.points import LawPoint

    return [LawPoint(model=f"m{n}", audio=0.3 + 0.1 * n, visual=0.35 + 0.09 * n, omni=0.5) for n in range(6)]


def test_the_radar_draws_the_chosen_alone_and_hollow_where_there_is_little(results_of, benchmark, who):
    found = results_of(who)
    drawn = radar_figure(found.report, ["able", SITTER], lambda text: f"~{text}")
    text = drawn.decode()
    assert "able" in text and SITTER in text and "dull" not in text and "~Recognition" in text
    assert "fill: #ffffff; stroke: #0072b2" in text
    assert drawn == radar_figure(found.report, ["able", SITTER], lambda text: f"~{text}")
    assert radar_figure(found.report, []) is None


def _english_in(picture, names):
    """What a picture says in Latin letters, beside names, symbols and numbers."""
    texts = [
        "".join(one.itertext()) for one in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert len(texts) > 4
    told = [text for text in texts if text not in names and "\U0001d443" not in text]
    return [text for text in told if re.search("[A-Za-z]{2}", text.replace("RMSE", ""))]


def test_no_picture_says_anything_in_english_to_who_reads_chinese(results_of, benchmark, who, seeder):
    """Titles, legends, axes and ticks: what is left are names of models, symbols and numbers."""
    crowd = [f"m{number}" for number in range(4)]
    seeder.responses(
        [(benchmark["q00"], "q00", model, shown, 1.0, "B") for model in crowd for shown in ("full", "without_audio")]
    )
    report, words = results_of(who).report, partial(results_words.in_figure, ZH)
    law = fit_law(
        [point.model_copy(update={"omni": 0.2 + 0.7 * (point.audio * point.visual) ** 2}) for point in _spread()],
        resamples=20,
    )
    names = {*MODELS, *crowd, SITTER, *(point.model for point in law.points)}
    pictures = {
        "leaderboard": leaderboard_figure(report, words),
        "drops": drops_figure(report, words),
        "people": people_figure(report, words),
        "radar": radar_figure(report, None, words),
        "law": law_picture(law, words=words),
    }
    assert {key: _english_in(picture, names) for key, picture in pictures.items()} == {key: [] for key in pictures}
    assert "前 8 个模型（共 10 个）" in pictures["drops"].decode() and "6 个模型" in pictures["law"].decode()
    assert _english_in(leaderboard_figure(report), names) == ["points, percent"]


def test_codes_of_graders_have_words_and_the_rest_stands_as_a_quotation():
    for why in Why:
        told, quoted = results_words.reason_words(ZH, f"{Verdict.WRONG}: {why}: holds 'a: b'")
        assert told and not re.search("[a-z]", told) and quoted == "holds 'a: b'"
    assert results_words.reason_words(ZH, "right: chooses B: 'red'") == ("", "chooses B: 'red'")
    assert results_words.reason_words(ZH, "somebody's own words: odd") == ("", "somebody's own words: odd")
