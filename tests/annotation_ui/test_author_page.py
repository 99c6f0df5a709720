"""The author's desk and the page where a draft is written, without a browser: the editor is a stand-in here."""

import json
import re
from html import escape

import pytest
from streamlit.components.v2.bidi_component.state import ComponentResult

from annotation_ui.components.question_editor import _SCRIPTS, _text
from annotation_ui.drafting.content import DraftContent
from annotation_ui.drafting.drafts import (
    Save,
    discard_draft,
    draft_versions,
    get_draft,
    is_revisable,
    new_question,
    open_draft,
    save_draft,
)
from annotation_ui.drafting.handing_in import hand_in
from annotation_ui.forms import new_form_key
from annotation_ui.item_files import _usable_graders
from annotation_ui.media_links import MediaLinks
from annotation_ui.pages import writing as writing_page
from annotation_ui.permissions import NotAllowed
from annotation_ui.views.author import as_far_as_it_goes, desk, recent_cards, writing
from annotation_ui.views.author_words import content_pairs
from annotation_ui.views.editor_words import GRADERS, TEXTS
from annotation_ui.views.preview import condition_for
from annotation_ui.words import words_in
from core.content import Modality
from core.taxonomy import load_taxonomy
from warehouse.items import find_item, get_item
from warehouse.lifecycle import Action
from warehouse.people import Role
from warehouse.tables import Decision, ItemState, Material, MaterialState
from warehouse.verdicts import Judgement

EN, ZH = words_in("en"), words_in("zh")
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)> :red[**b**] $x$ {0} {name}"
PROMPT = "Look at <image_1> and listen to <audio_1>. How many shapes are struck?"


@pytest.fixture
def mei(people, sign_in):
    return sign_in("annotator")[1]


@pytest.fixture
def links(studio):
    return MediaLinks(studio.key, studio.clock)


@pytest.fixture
def shown(seeder):
    return {"image_1": seeder.picture(1), "audio_1": seeder.sound(1)}


@pytest.fixture
def content(shown):
    return DraftContent(
        task_type="counting",
        language="en",
        prompt=PROMPT,
        media={place: row.id for place, (row, _) in shown.items()},
        choices=["one", "two", "three", "four"],
        correct=[2],
        required=["image", "audio"],
    )


@pytest.fixture
def begin(database, clock, mei):
    """A draft of the author's with this content; returns its id."""

    def begin(content=None, item=None, who=None):
        with database.session() as session:
            draft = open_draft(session, who or mei, item, clock)
            if content is not None:
                save_draft(session, who or mei, draft.id, Save(draft.version, content, "begin", 1), clock)
            return draft.id

    return begin


@pytest.fixture
def returned(seeder, shown):
    """An item that a reviewer sent back."""
    judgement = Judgement(2, "omar", True, Decision.RETURN, ("ambiguous",), comment=f"Say which. {ATTACK}")
    passed = Judgement(1, "checks@1", False, Decision.PASS)
    draft = seeder.draft(PROMPT, shown, "annotator")
    seeder.item("bells-007", draft, Action.SUBMIT, passed, judgement)
    return "bells-007"


class TestNewQuestion:
    def test_an_unused_draft_is_used_before_another_is_opened(self, database, mei, clock):
        with database.session() as session:
            first = new_question(session, mei, "zh", clock)
            assert first.content == {"language": "zh"}
            assert new_question(session, mei, "zh", clock).id == first.id
            save_draft(session, mei, first.id, Save(1, DraftContent(prompt="x", language="en"), "tab", 1), clock)
            clock.turn(minutes=1)
            second = new_question(session, mei, "zh", clock)
            assert (second.id != first.id, second.content) == (True, {"language": "en"})

    def test_what_a_draft_began_with_is_no_version_of_it(self, database, mei, clock):
        with database.session() as session:
            draft = new_question(session, mei, "en", clock)
            save_draft(session, mei, draft.id, Save(1, DraftContent(prompt="x"), "tab", 1), clock)
            assert draft_versions(session, draft) == []

    def test_a_reviewer_may_not(self, database, principal_of, clock):
        with pytest.raises(NotAllowed), database.session() as session:
            new_question(session, principal_of(Role.REVIEWER), "en", clock)


class TestDesk:
    def test_drafts_with_what_is_open_and_items_that_came_back(self, database, mei, begin, content, returned, clock):
        begin(content)
        clock.turn(minutes=3)
        begin(DraftContent(prompt="x " * 100))
        with database.reading() as session:
            found = desk(session, mei, clock(), EN)
        assert [row.open_points for row in found.drafts] == [6, 0]
        assert found.drafts[1].title.startswith("Look at [image_1] and listen to [audio_1].")
        assert len(found.drafts[0].title) <= 80
        assert [(one.name, one.state) for one in found.returned] == [("bells-007", ItemState.RETURNED)]
        assert found.returned[0].reasons == ["the question can be read in two ways"]
        assert found.returned[0].comments == [("omar", f"Say which. {ATTACK}")]

    def test_an_item_whose_revision_is_begun_stands_among_the_drafts(self, database, mei, begin, returned, clock):
        begin(item=returned)
        with database.reading() as session:
            found = desk(session, mei, clock(), EN)
        assert ([row.revises for row in found.drafts], found.returned) == (["bells-007"], [])

    def test_thrown_away_drafts_stand_apart_unless_empty(self, database, mei, begin, clock):
        kept, empty = begin(DraftContent(prompt="kept words")), begin()
        with database.session() as session:
            discard_draft(session, mei, kept, 2, clock)
            discard_draft(session, mei, empty, 1, clock)
            found = desk(session, mei, clock(), EN)
        assert [row.title for row in found.discarded] == ["kept words"]
        assert found.drafts == []

    def test_nobody_sees_anothers(self, database, people, sign_in, begin, returned, clock):
        begin(DraftContent(prompt="mine"))
        with database.reading() as session:
            found = desk(session, sign_in("maintainer")[1], clock(), EN)
            with pytest.raises(NotAllowed):
                desk(session, sign_in("participant")[1], clock(), EN)
        assert (found.drafts, found.returned) == ([], [])


class TestWriting:
    def test_the_editor_gets_everything_in_the_readers_language(self, database, mei, begin, content, links, clock):
        draft_id = begin(content)
        with database.reading() as session:
            data = writing(session, mei, draft_id, links, clock(), ZH).editor
        assert json.loads(json.dumps(data)) == data
        assert (data["draft"], data["version"], data["is_ready"]) == (draft_id, 2, True)
        assert set(data["materials"]) == {"image_1", "audio_1"}
        sound = data["materials"]["audio_1"]
        assert (sound["modality"], sound["duration_s"], sound["label"]) == ("audio", 2.0, "bell-01.wav")
        assert sound["media_url"].startswith("/files/") and sound["picture_url"] != sound["media_url"]
        assert data["words"]["hand_in_now"] == "确认提交"
        types = {one["id"]: one for one in data["task_types"]}
        assert len(types) == len(load_taxonomy().task_types)
        assert types["counting"]["name"] == load_taxonomy().get("counting").name("zh")

    def test_versions_are_told_but_not_what_the_draft_says_now(self, database, mei, begin, links, clock):
        draft_id = begin(DraftContent(prompt="first"))
        with database.session() as session:
            save_draft(session, mei, draft_id, Save(2, DraftContent(prompt="second"), "tab-2", 1), clock)
            save_draft(session, mei, draft_id, Save(2, DraftContent(prompt="late"), "tab-3", 1), clock)
        with database.reading() as session:
            found = writing(session, mei, draft_id, links, clock(), EN)
        told = {(one.content.prompt, one.is_aside) for one in found.versions}
        assert told == {("first", False), ("late", True)}
        with database.session() as session:
            save_draft(session, mei, draft_id, Save(3, DraftContent(prompt="late"), "tab-3", 2), clock)
            told = {one.content.prompt for one in writing(session, mei, draft_id, links, clock(), EN).versions}
        assert told == {"first", "second"}

    def test_a_withdrawn_material_has_no_address(self, database, mei, begin, content, links, clock):
        draft_id = begin(content)
        with database.session() as session:
            session.get_one(Material, content.media["audio_1"]).state = MaterialState.WITHDRAWN
        with database.reading() as session:
            found = writing(session, mei, draft_id, links, clock(), EN)
        assert found.editor["materials"]["audio_1"]["media_url"] == ""
        assert found.question.modalities == {Modality.IMAGE}

    def test_materials_of_the_last_drafts_come_first(self, database, mei, begin, content, links, seeder):
        seeder.picture(9)
        begin(content)
        with database.reading() as session:
            cards = recent_cards(session, mei, links, EN)
        assert {card.id for card in cards} == set(content.media.values())


class TestPreview:
    @pytest.mark.parametrize(
        "draft",
        [
            DraftContent(),
            DraftContent(prompt="<image_1> <image_1> <audio_2>"),
            DraftContent(kind="multi_step", steps=[{"ask": "x"}, {}]),
            DraftContent(kind="open", accepted=[""]),
            DraftContent(choices=[""], correct=[3], prompt=ATTACK),
        ],
        ids=["empty", "placeholders", "steps", "open", "choices"],
    )
    def test_every_unfinished_draft_can_be_shown_under_every_condition(self, draft, shown):
        question = as_far_as_it_goes(draft, {"image_1": shown["image_1"][0]})
        for hidden in ([], [Modality.IMAGE], [Modality.IMAGE, Modality.AUDIO]):
            for options_only in (False, True):
                condition_for(question, hidden, options_only).apply(question)
        assert len(question.media) == ("<image_1>" in draft.prompt)

    def test_a_placeholder_with_nothing_behind_it_stays_in_sight(self):
        question = as_far_as_it_goes(DraftContent(prompt="Look: <image_1>!"), {})
        assert question.prompt_text == "Look: [image_1]!"


def test_a_version_is_told_in_words(content):
    told = dict(content_pairs(content, EN))
    assert told["Choices"].splitlines()[2] == "C. three ✓"
    assert told["Task type"] == "Counting"
    steps = DraftContent.parse({"kind": "multi_step", "steps": [{"ask": "x", "points": 4}]})
    assert dict(content_pairs(steps, EN))["Steps"] == "1. x (4 points)"
    assert content_pairs(DraftContent(), EN) == [("Question", "(nothing)")]


def test_graders_on_offer_are_those_that_can_grade():
    assert set(GRADERS) - {""} == _usable_graders() - {"choice", "short_text"}


def test_the_editor_has_words_for_all_it_says():
    scripts = "\n".join(map(_text, _SCRIPTS))
    said = set(re.findall(r'say\("(\w+)"', scripts))
    assert said
    assert said <= set(TEXTS)
    fields = re.search(r"const GROUPS = \{(.*?)\};", scripts, re.DOTALL)[1]
    assert {f"field_{name}" for name in re.findall(r"(\w+): \[", fields)} == {
        key for key in TEXTS if key.startswith("field_")
    }
    assert "innerHTML" not in scripts and "http" not in scripts


def test_a_revision_is_offered_to_its_author_only_and_only_where_it_can_be(database, mei, returned, sign_in):
    with database.reading() as session:
        item = get_item(session, returned)
        assert is_revisable(session, mei, item)
        assert not is_revisable(session, sign_in("reviewer")[1], item)
        item.state = ItemState.REJECTED
        assert not is_revisable(session, mei, item)
        session.rollback()


# The pages


def text_of(app):
    return "\n".join(element.proto.body for element in app.get("html"))


def press(app, label):
    next(button for button in app.button if button.label == label).click()
    app.run()
    assert not app.exception, app.exception
    return app


@pytest.fixture
def editor(monkeypatch):
    """What the editor in the browser would tell, and what it was told last."""

    class Editor:
        told, data = None, None

        def __call__(self, data, key):
            self.data = data
            told, self.told = self.told, None
            return ComponentResult({"settled": None}, {"hand_in": told})

    stand_in = Editor()
    monkeypatch.setattr(writing_page, "question_editor", stand_in)
    return stand_in


def test_an_empty_desk_teaches(visit, token):
    app = visit("author", token(Role.ANNOTATOR))
    assert "You have no drafts yet" in text_of(app)
    assert "Your roles do not allow this" in text_of(visit("author", token(Role.REVIEWER)))


def test_a_new_question_opens_in_the_editor(visit, token, editor, database, mei):
    app = press(visit("author", token(Role.ANNOTATOR)), "New question")
    with database.reading() as session:
        draft = get_draft(session, mei, editor.data["draft"])
    assert (draft.author, draft.content) == (mei.user_id, {"language": "en"})
    assert "The library is empty" in text_of(app)


def test_handing_in_leads_to_what_happens_next(visit, token, editor, begin, content, database, clock):
    draft_id = begin(content)
    app = visit("author", token(Role.ANNOTATOR), draft=draft_id)
    sent = {"draft": draft_id, "version": editor.data["version"], "form_key": editor.data["form_key"]}
    editor.told = sent
    app.run()
    assert "counting-001 is on its way" in text_of(app)
    with database.reading() as session:
        assert get_item(session, "counting-001").state is ItemState.SUBMITTED
    press(app, "Write another")
    assert editor.data["draft"] != draft_id


def test_a_stale_or_unfinished_hand_in_is_told_to_the_editor(visit, token, editor, begin, content, database):
    draft_id = begin(content)
    app = visit("author", token(Role.ANNOTATOR), draft=draft_id)
    editor.told = {"draft": draft_id, "version": 1, "form_key": editor.data["form_key"]}
    app.run()
    assert "changed elsewhere since you saw it" in editor.data["command"]["problem"]
    unfinished = begin(DraftContent(prompt="x"))
    app = visit("author", token(Role.ANNOTATOR), draft=unfinished)
    editor.told = {"draft": unfinished, "version": 2, "form_key": editor.data["form_key"]}
    app.run()
    assert editor.data["command"]["focus"] == "task_type"
    with database.reading() as session:
        assert find_item(session, "counting-001") is None


def test_a_material_goes_to_the_editor_as_a_command(visit, token, editor, begin, content):
    app = visit("author", token(Role.ANNOTATOR), draft=begin())
    next(button for button in app.button if button.key == f"take-{content.media['audio_1']}").click()
    app.run()
    put = editor.data["command"]["put"]
    assert (put["material_id"], put["modality"]) == (content.media["audio_1"], "audio")
    nonce = editor.data["command"]["nonce"]
    app.run()
    assert editor.data["command"]["nonce"] == nonce, "told again, and known by its number"


def test_anothers_draft_and_a_closed_one_show_nothing(
    visit, token, editor, begin, content, database, mei, clock, add_person, sign_in
):
    draft_id = begin(DraftContent(prompt="secret words"))
    add_person("zoe", Role.ANNOTATOR)
    app = visit("author", sign_in("zoe")[0], draft=draft_id)
    assert "There is no such draft among yours" in text_of(app) and editor.data is None
    done = begin(content)
    with database.session() as session:
        hand_in(session, mei, done, 2, new_form_key(), EN, clock)
    app = visit("author", token(Role.ANNOTATOR), draft=done)
    assert "counting-001 is on its way" in text_of(app) and editor.data is None


def test_an_item_that_came_back_is_revised_with_its_reason_in_sight(visit, token, editor, returned):
    entry = token(Role.ANNOTATOR)
    app = visit("author", entry)
    assert ATTACK not in text_of(app)
    app = press(app, "Revise")
    assert editor.data["item_name"] == "bells-007"
    assert "Why it came back" in text_of(app) and "Say which." in text_of(app)
    draft_id = editor.data["draft"]
    press(visit("item", entry, name="bells-007"), "Revise")
    assert editor.data["draft"] == draft_id


def test_a_draft_is_thrown_away_and_brought_back(visit, token, editor, begin):
    draft_id = begin(DraftContent(prompt=ATTACK))
    app = visit("author", token(Role.ANNOTATOR), draft=draft_id)
    app.session_state["author-tab"] = "Versions"
    app.run()
    press(app, "Throw away")
    assert escape(ATTACK) in text_of(app) and "<script>" not in text_of(app)
    press(app, "Bring back")
    assert editor.data["content"]["prompt"] == ATTACK
    app.session_state["author-tab"] = "Versions"
    app.run()
    press(app, "Throw away")
    desk_page = visit("author", token(Role.ANNOTATOR))
    assert "You have no drafts yet" in text_of(desk_page) and "<script>" not in text_of(desk_page)
    editor.data = None
    press(desk_page, "Bring back")
    assert editor.data["content"]["prompt"] == ATTACK
