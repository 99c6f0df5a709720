"""Every page in Streamlit's own test runner: signed in or not, in each role, in both languages, with hostile text."""

import re

import pytest
from sqlmodel import select

from annotation_ui import accounts
from annotation_ui.permissions import GRANTS
from annotation_ui.shell import PAGES
from warehouse.people import Role, get_user
from warehouse.tables import Material, MaterialState

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>[x](javascript:alert(3)) :red[**b**] $x$ `c` {0} {name}"


def shown(app):
    """All HTML that the page drew."""
    return "\n".join(element.proto.body for element in app.get("html"))


def pick(app, label, code):
    """A choice by its label: its key changes with its words."""
    return next(widget for widget in app.selectbox if widget.label == label).select(code)


@pytest.mark.parametrize("page", list(PAGES))
def test_nobody_sees_nothing_but_the_way_in(visit, seeder, page):
    seeder.picture(1, origin="secret-name.png")
    app = visit("home", None)
    text = shown(app)
    assert "/auth/sign-in" in text and "secret-name" not in text
    assert not app.button and not app.selectbox


@pytest.mark.parametrize(
    ("role", "page"),
    [
        (role, name)
        for role in (Role.ANNOTATOR, Role.REVIEWER, Role.MAINTAINER)
        for name, entry in PAGES.items()
        # "People" is never empty: whoever looks at it is there.
        if entry.section is not None and name != "people" and (entry.needs is None or entry.needs in GRANTS[role])
    ],
)
def test_an_empty_project_teaches_what_to_do(visit, token, page, role):
    text = shown(visit(page, token(role)))
    assert "interplay " in text and "<code>" in text


@pytest.mark.parametrize(
    "page",
    [page for page, entry in PAGES.items() if entry.needs is not None and entry.needs not in GRANTS[Role.PARTICIPANT]],
)
def test_a_participant_is_refused_by_each_page_even_by_its_address(visit, token, seeder, page):
    seeder.picture(1, origin="secret-name.png")
    text = shown(visit(page, token(Role.PARTICIPANT)))
    assert "Your roles do not allow this" in text and "secret-name" not in text


def test_a_participant_finds_only_the_start_page(visit, token):
    assert "invite you to an exam" in shown(visit("home", token(Role.PARTICIPANT)))


def test_every_page_in_chinese_holds_no_english_label(visit, token, database, seed, studio, people):
    seed.fill(studio.workspace.project.root, "annotator", people[Role.REVIEWER].id)
    with database.session() as session:
        accounts.set_language(session, people[Role.MAINTAINER].id, "zh")
    from annotation_ui.words import words_in

    english = {
        message
        for message, text in words_in("zh").catalogue._catalog.items()
        if isinstance(message, str) and re.search("[a-z] [a-z]", message) and "{" not in message
    }
    entry = token()
    for page, query in (
        ("home", {}),
        ("materials", {}),
        ("items", {}),
        ("results", {}),
        ("item", {"name": "bells-001"}),
    ):
        app = visit(page, entry, **query)
        labels = [widget.label for kind in ("button", "selectbox", "text_input", "toggle") for widget in app.get(kind)]
        told = shown(app)
        assert [text for text in english if text in told or text in labels] == []
        assert any("一" <= letter <= "鿿" for letter in told)


def test_the_language_switch_is_remembered(visit, token, database, people):
    entry = token()
    app = visit("home", entry)
    app.session_state["language"] = "zh"
    app.run()
    assert "您好" in shown(app)
    assert "您好" in shown(visit("home", entry))


def test_signing_out_elsewhere_ends_the_page_at_its_next_rerun(visit, token, auth):
    entry = token()
    app = visit("home", entry)
    auth.sign_out(entry)
    app.run()
    assert "/auth/sign-in" in shown(app)


def test_the_library_narrows_by_what_is_chosen(visit, token, seeder):
    seeder.picture(1, origin="red.png")
    seeder.sound(1, origin="bell.wav")
    entry = token()
    app = visit("materials", entry)
    assert "red.png" in shown(app) and "bell.wav" in shown(app)
    pick(app, "Modality", "audio").run()
    assert "red.png" not in shown(app) and "bell.wav" in shown(app)
    app.text_input(key="material-search").input("nothing like it").run()
    assert "No material fits" in shown(app)


def test_what_a_list_is_narrowed_to_stands_in_the_address(visit, token, seeder):
    seeder.picture(1, origin="red.png")
    seeder.sound(1, origin="bell.wav")
    entry = token()
    app = visit("materials", entry, modality="audio", **{"material-search": "bell"})
    assert "red.png" not in shown(app) and "bell.wav" in shown(app)
    app.text_input(key="material-search").input("").run()
    assert dict(app.query_params) == {"modality": "audio"}
    for nonsense in ({"modality": "smell"}, {"page": "x"}, {"page": "-3"}, {"page": "999"}, {"page": "٣"}):
        assert "red.png" in shown(visit("materials", entry, **nonsense))


def test_long_lists_come_in_pages(visit, token, seeder):
    media = {"image_1": seeder.picture(1)}
    for number in range(25):
        seeder.item(f"item-{number:02}", seeder.draft("See <image_1>.", media, "mei"))
    entry = token()
    first, second = shown(visit("items", entry)), shown(visit("items", entry, page="2"))
    assert "item-24" in first and "item-04" not in first
    assert "item-04" in second and "item-24" not in second


def test_a_material_is_dropped_with_a_reason(visit, token, seeder, database):
    row, _ = seeder.picture(1)
    app = visit("material", token(Role.ANNOTATOR), id=row.id)
    form_button = next(button for button in app.button if button.label == "Drop")
    form_button.click().run()
    assert "Say why" in shown(app)
    app.text_input[0].input("too dark")
    next(button for button in app.button if button.label == "Drop").click().run()
    with database.reading() as session:
        assert session.get(Material, row.id).state == MaterialState.DROPPED
    assert "too dark" in shown(app) and "Keep" in {button.label for button in app.button}


def test_a_decision_on_a_page_that_is_out_of_date_is_told_and_loses_no_words(
    visit, token, seeder, database, principal_of
):
    from annotation_ui.library import decide_material

    row, _ = seeder.picture(1)
    app = visit("material", token(Role.ANNOTATOR), id=row.id)
    reviewer = principal_of(Role.REVIEWER)
    with database.session() as session:
        for version, keep in ((1, False), (2, True)):
            decide_material(session, reviewer, row.id, version, keep, "meanwhile")
    app.text_input[0].input("too dark")
    next(button for button in app.button if button.label == "Drop").click().run()
    assert "Somebody changed this material meanwhile" in shown(app)
    assert app.text_input[0].value == "too dark"
    with database.reading() as session:
        assert session.get(Material, row.id).version == 3
    next(button for button in app.button if button.label == "Drop").click().run()
    with database.reading() as session:
        assert session.get(Material, row.id).version == 4


def test_uploaded_files_go_through_the_checks(visit, token, seed, database):
    app = visit("materials", token(Role.ANNOTATOR))
    uploader = app.file_uploader(key="upload-files")
    uploader.set_value([("tone.wav", seed.wav(3), "audio/wav"), ("empty.png", b"", "image/png")])
    next(button for button in app.button if button.label == "Add to the library").click().run()
    assert not app.exception
    text = shown(app)
    assert "1 new material." in text and "empty.png could not be taken" in text
    with database.reading() as session:
        assert [row.modality for row in session.exec(select(Material))] == ["audio"]


def test_a_withdrawn_material_can_only_be_looked_at(visit, token, seeder):
    row, _ = seeder.picture(1, state=MaterialState.WITHDRAWN)
    app = visit("material", token(), id=row.id)
    assert not {"Keep", "Drop"} & {button.label for button in app.button}
    assert "was withdrawn" in shown(app) and "/files/" not in shown(app)


@pytest.mark.parametrize(
    ("page", "query", "told"),
    [
        ("material", {"id": "x"}, "not in the library"),
        ("material", {}, "not in the library"),
        ("item", {"name": "x"}, "no item of this name"),
    ],
)
def test_an_address_of_nothing_says_so_and_leads_back(visit, token, page, query, told):
    app = visit(page, token(), **query)
    assert told in shown(app)
    (back,) = app.main.get("page_link")
    assert back.proto.page in {"materials", "items"}


def test_an_item_with_key_history_and_preview(visit, token, seeder):
    media = {"image_1": seeder.picture(1), "audio_1": seeder.sound(1)}
    seeder.item("bells", seeder.draft("See <image_1>, hear <audio_1>.", media, "mei"))
    app = visit("item", token(), name="bells")
    assert '<li class="right">' not in shown(app)
    app.toggle(key="key-bells").set_value(True).run()
    assert shown(app).count('<li class="right">') == 1
    assert "<audio controls" in shown(app) and "<img src" in shown(app)
    app.session_state["tab"] = "As a model sees it"
    app.run()
    app.toggle(key="give-audio-bells").set_value(False).run()
    text = shown(app)
    assert "<audio" not in text and "[audio not provided]" in text and "<img" in text
    assert '<li class="right">' not in text
    app.toggle(key="options-only-bells").set_value(True).run()
    assert "The prompt is left out" in shown(app)


def test_a_reviewer_is_not_offered_the_key_before_judging(visit, token, seeder):
    media = {"image_1": seeder.picture(1)}
    seeder.item("bells", seeder.draft("See <image_1>.", media, "mei"))
    app = visit("item", token(Role.REVIEWER), name="bells")
    assert not [toggle for toggle in app.toggle if toggle.key == "key-bells"]
    assert "once you have judged this item" in shown(app)


def test_hostile_text_stays_text_on_every_page(visit, token, seeder, database, people):
    """The text may come back only in the escaped form, and never in anything that Streamlit reads as Markdown."""
    from html import escape

    from annotation_ui.library import decide_material
    from warehouse.lifecycle import Action
    from warehouse.tables import Decision
    from warehouse.verdicts import Judgement

    media = {"image_1": seeder.picture(1, origin=ATTACK, licence=ATTACK, author=ATTACK, tags=[ATTACK])}
    row = media["image_1"][0]
    entry = token()
    with database.session() as session:
        user = get_user(session, "maintainer")
        user.display_name = ATTACK
        session.add(user)
    judged = Judgement(1, "checks@1", False, Decision.RETURN, (ATTACK,), {ATTACK: ATTACK}, ATTACK)
    draft = seeder.draft(
        "See <image_1>. " + ATTACK,
        media,
        user.id,
        choices=(ATTACK, "b"),
        language="en",
        task_type=ATTACK,
        notes={ATTACK: ATTACK},
    )
    _, revision = seeder.item(ATTACK, draft, Action.SUBMIT, judged)
    seeder.release("r", "1.0.0", [revision])
    seeder.response(revision, ATTACK, ATTACK, "full", 1.0, ATTACK)
    with database.session() as session:
        from annotation_ui.permissions import as_principal

        decide_material(session, as_principal(user), row.id, 1, False, ATTACK)
    visits = [
        ("home", {}),
        ("materials", {}),
        ("material", {"id": row.id}),
        ("items", {}),
        ("item", {"name": ATTACK}),
        ("results", {}),
    ]
    for page, query in visits:
        app = visit(page, entry, **query)
        text = shown(app)
        assert escape(ATTACK, quote=False)[:30] in text, page
        assert "<script" not in text and "<img src=x" not in text
        marked_down = [
            element.value
            for kind in ("markdown", "caption", "title", "header", "error", "info")
            for element in app.get(kind)
        ]
        marked_down += [
            widget.label
            for kind in ("button", "toggle", "text_input", "selectbox", "expander")
            for widget in app.get(kind)
        ]
        assert not [one for one in marked_down if "alert" in one], page
        if page == "item":
            for tab in ("As a model sees it", "Review and history"):
                app.session_state["tab"] = tab
                app.run()
                assert not app.exception
                assert "<script" not in shown(app) and "alert" in shown(app)
