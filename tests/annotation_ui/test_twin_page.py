"""Making a twin on the page of an item, in Streamlit's own test runner."""

import pytest
from sqlmodel import select

from annotation_ui.drafting.content import DraftContent
from annotation_ui.media_links import MediaLinks
from annotation_ui.pages import writing as writing_page
from annotation_ui.views.item import item_detail
from annotation_ui.views.twins import swappable
from annotation_ui.words import words_in
from warehouse.items import get_item
from warehouse.people import Role
from warehouse.tables import ItemDraft, MaterialState

PROMPT = "Look at <image_1> and listen to <audio_1>. How many shapes are struck?"


@pytest.fixture
def mei(people, sign_in):
    return sign_in("annotator")[1]


@pytest.fixture
def library(seeder):
    """Materials by name; two of them can stand in the place of the picture."""
    return {
        "picture": seeder.picture(1),
        "other": seeder.picture(2),
        "dropped": seeder.picture(3, state=MaterialState.DROPPED, drop_reason="blurred"),
        "sound": seeder.sound(1),
    }


@pytest.fixture
def item(seeder, library, mei):
    """An item of the annotator's, with evidence in both media."""
    notes = {"evidence": {"audio_1": {"start_s": 0.5}, "image_1": {"note": "three bells"}}}
    media = {"image_1": library["picture"], "audio_1": library["sound"]}
    seeder.item("bells-001", seeder.draft(PROMPT, media, mei.user_id, notes=notes))
    return "bells-001"


@pytest.fixture
def editor(monkeypatch):
    """The editor in the browser, which is not here."""
    monkeypatch.setattr(writing_page, "question_editor", lambda data, key: {})


def button_of(app, key):
    return next((button for button in app.button if button.key == key), None)


def begin(visit, token, role=Role.ANNOTATOR, **query):
    app = visit("item", token(role), name="bells-001", **query)
    button_of(app, "twin").click().run()
    assert not app.exception, app.exception
    return app


def offered(app):
    return {button.key.removeprefix("take-") for button in app.button if (button.key or "").startswith("take-")}


def drafts(database):
    with database.reading() as session:
        return session.exec(select(ItemDraft)).all()


def test_one_click_opens_the_twins_draft(visit, token, item, library, database, editor):
    app = begin(visit, token)
    app.radio(key="twin-place-bells-001").set_value("image_1").run()
    other = library["other"][0].id
    assert offered(app) == {other}
    button_of(app, f"take-{other}").click().run()
    assert not app.exception, app.exception
    (draft,) = drafts(database)
    content = DraftContent.parse(draft.content)
    assert content.media == {"image_1": other, "audio_1": library["sound"][0].id}
    assert (content.correct, set(content.evidence), content.twin_group) == ([], {"audio_1"}, "bells-001")
    assert app.query_params["draft"] == draft.id


def test_a_second_click_on_the_same_drawing_makes_no_second_draft(visit, token, item, library, database, editor, mei):
    app = begin(visit, token)
    app.radio(key="twin-place-bells-001").set_value("image_1").run()
    form_key = app.session_state["twin-form-bells-001"]
    button_of(app, f"take-{library['other'][0].id}").click().run()
    (draft,) = drafts(database)
    again = visit("item", token(Role.ANNOTATOR), name="bells-001")
    again.session_state["twin-chosen-bells-001"] = ("image_1", library["other"][0].id, form_key)
    button_of(again, "twin").click().run()
    assert [one.id for one in drafts(database)] == [draft.id]


def test_what_became_unfit_meanwhile_is_told_and_can_be_chosen_anew(visit, token, item, library, database, editor):
    app = begin(visit, token)
    app.radio(key="twin-place-bells-001").set_value("image_1").run()
    with database.session() as session:
        session.merge(library["other"][0]).state = MaterialState.WITHDRAWN
    button_of(app, f"take-{library['other'][0].id}").click().run()
    assert "Choose a kept image other than the one that stands there now." in text_of(app)
    assert drafts(database) == []
    button_of(app, "twin-cancel").click().run()
    assert "What is swapped" not in str([radio.label for radio in app.radio])


def test_an_item_of_somebody_else_shows_no_button(visit, token, item, add_person, sign_in, database, studio, clock):
    add_person("other", Role.ANNOTATOR)
    entry, who = sign_in("other")
    app = visit("item", entry, name=item)
    assert button_of(app, "twin") is None
    app.session_state["twin-open-bells-001"] = True
    app.run()
    assert not app.exception and not app.radio
    with database.reading() as session:
        links = MediaLinks(studio.key, clock)
        assert swappable(session, who, get_item(session, item), links, words_in("en")) == []
    assert button_of(visit("item", token(Role.REVIEWER), name=item), "twin") is None
    assert button_of(visit("item", token(), name=item), "twin") is not None


def test_twins_are_listed_and_lead_to_one_another(visit, token, seeder, library, database, studio, clock, mei):
    media = {"image_1": library["picture"]}
    for name in ("b", "a", "c"):
        seeder.item(name, seeder.draft("See <image_1>.", media, mei.user_id), twin_group="pair")
    seeder.item("alone", seeder.draft("See <image_1>.", media, mei.user_id))
    with database.reading() as session:
        links = MediaLinks(studio.key, clock)
        told = [
            [one.name for one in item_detail(session, mei, name, links, studio.workspace.blobs, clock(), words_in("en")).twins]
            for name in ("a", "b", "alone")
        ]  # fmt: skip
    assert told == [["b", "c"], ["a", "c"], []]
    app = visit("item", token(), name="a")
    button_of(app, "open-twin-1").click().run()
    assert app.query_params["name"] == "c"


def test_the_librarys_page_is_not_that_of_the_list_behind(visit, token, item, seeder, editor):
    for number in range(10, 36):
        seeder.picture(number)
    app = begin(visit, token, page="2")
    app.radio(key="twin-place-bells-001").set_value("image_1").run()
    first = offered(app)
    assert len(first) == 24
    assert app.query_params["page"] == "2"


def test_the_form_of_the_maker_is_kept_over_reruns(visit, token, item):
    app = begin(visit, token)
    key = app.session_state["twin-form-bells-001"]
    app.run()
    assert app.session_state["twin-form-bells-001"] == key


def text_of(app):
    return "\n".join(element.proto.body for element in app.get("html"))
