"""Attacks on every page there is: pages that are added later are walked by themselves."""

import shutil

import pytest
from jinja2 import Environment, PackageLoader
from sqlmodel import select
from streamlit.elements.widgets.button import ButtonMixin
from streamlit.testing.v1 import AppTest

from annotation_ui import html as html_module
from annotation_ui.drafting.content import DraftContent
from annotation_ui.drafting.drafts import Save, discard_draft, open_draft, save_draft
from annotation_ui.forms import new_form_key
from annotation_ui.page import Page
from annotation_ui.recording import speakers, takes
from annotation_ui.reviewing import desk
from annotation_ui.shell import PAGES
from annotation_ui.studio import open_studio
from core.question import AnswerKey, Step
from qc.review.gold import add_gold, retire_gold
from qc.review.queue import take_review
from qc.review.waiting import REVIEW
from warehouse.consents import Scope
from warehouse.lifecycle import Action
from warehouse.people import Role, get_user
from warehouse.tables import Decision, DuplicateLink, ItemDraft, Recording, Review, Script
from warehouse.verdicts import Judgement

PASSED = (Action.SUBMIT, Action.PASS_ROUND1, Action.PASS_ROUND2)
# Where hostile text must turn up, or the walk would prove nothing.
SHOWN = {
    "home", "author", "review", "record", "takes", "materials", "items", "material", "look_alikes", "take", "item",
    "results", "people", "person", "account",
}  # fmt: skip
FILLED = {"materials", "items", "material", "record", "people", "person", "account"}


@pytest.fixture(scope="module")
def attacks(load_helper):
    return load_helper("annotation_ui/attacks.py")


@pytest.fixture
def studio(request, tmp_path, new_project, clock):
    """As everywhere, or with its tables in PostgreSQL: what is asked of the tables differs from page to page."""
    folder = shutil.copytree(new_project, tmp_path / "project")
    if getattr(request, "param", "sqlite") == "postgresql":
        settings = folder / "interplay.toml"
        url = request.getfixturevalue("postgres_url")
        settings.write_text(f'database_url = "{url}"\n{settings.read_text()}')
    with open_studio(folder, clock) as opened:
        yield opened


@pytest.fixture
def everybody(add_person, sign_in):
    """Somebody with every role: their token and themselves."""
    add_person("all", *Role)
    return sign_in("all")


@pytest.fixture
def soaked(studio, seed, attacks, everybody, people, database, clock):
    """A project in which people, materials, items, answers, drafts and takes are all called by hostile text."""
    hostile, (_, who) = attacks.ATTACK, everybody
    with database.session() as session:
        for name in ("all", "annotator"):
            get_user(session, name).display_name = hostile[:128]
    seeder = seed.Seeder(studio.workspace)
    told = {"origin": hostile, "licence": hostile, "author": hostile, "tags": [hostile[:60]]}
    media = {"image_1": seeder.picture(1, **told), "audio_1": seeder.sound(1, **told)}
    other = seeder.picture(2, origin=f"2{hostile}")
    first, second = sorted([media["image_1"][0].id, other[0].id])
    with database.session() as session:
        link = DuplicateLink(first_id=first, second_id=second, method="phash@1", distance=4.0, run_id=seeder.run_id)
        session.add(link)
    _items(seeder, hostile, media, who)
    _drafts(database, hostile, who, clock)
    _take(studio, seed, hostile, who, clock)


def _items(seeder, hostile, media, who):
    def draft(author, number):
        return seeder.draft(
            f"See <image_1>, hear <audio_1>. {number} {hostile}", media, author, choices=(hostile, f"{number}"),
            task_type=hostile[:64], notes={hostile: hostile, "evidence": {"audio_1": hostile}},
        )  # fmt: skip

    judged = Judgement(1, "checks@1", False, Decision.RETURN, (hostile,), {hostile: hostile}, hostile)
    _, revision = seeder.item(f"1{hostile}"[:128], draft(who.user_id, 1), Action.SUBMIT, judged)
    seeder.item(f"2{hostile}"[:128], draft("mei", 2), *PASSED)
    seeder.release(f"r{hostile}"[:64], "1.0.0", [revision])
    seeder.response(revision, f"1{hostile}"[:128], hostile, "full", 1.0, hostile)


def _drafts(database, hostile, who, clock):
    for is_thrown_away in (True, False):
        with database.session() as session:
            draft = open_draft(session, who, None, clock)
            content = DraftContent(prompt=hostile, choices=[hostile, "b"], name=hostile[:128])
            save_draft(session, who, draft.id, Save(1, content, hostile[:64], 1), clock)
        if is_thrown_away:
            with database.session() as session:
                discard_draft(session, who, draft.id, 2, clock)


def _take(studio, seed, hostile, who, clock):
    seed.fill_desk(studio.workspace, ("ferry", hostile, "en", {}))
    with studio.workspace.database.session() as session:
        own = speakers.add_speaker(session, who, new_form_key(), speakers.NewSpeaker(True), clock)
        text = speakers.latest_text(session)
        called = speakers.speaker(session, who, own, clock()).contributor.pseudonym
        scope = (Scope.VOICE, Scope.PUBLISH)
        signature = speakers.Signature(own, text.version, speakers.words_hash(text), scope, called, "en")
        speakers.sign(session, who, new_form_key(), signature, clock)
    with studio.workspace.database.reading() as session:
        script_id = session.exec(select(Script.id)).one()
    sent = takes.Sent(own, script_id, hostile, seed.voice(1, 1.0))
    takes.receive(studio.workspace, who, sent, clock)


@pytest.fixture
def walked(visit, attacks, monkeypatch):
    """Goes to every page with a token; gives the wanderer, and the tables that pages offer to save."""
    saved = []

    def note(self, label, data, file_name=None, *args, **kwargs):
        saved.append((str(file_name), data() if callable(data) else data))
        return original(self, label, data, file_name, *args, **kwargs)

    original = ButtonMixin._download_button
    monkeypatch.setattr(ButtonMixin, "_download_button", note)

    def walk(token, pages=tuple(PAGES), *, writes=False, places=()):
        wanderer = attacks.Wanderer(visit, token, list(pages))
        for place in places:
            wanderer.leads(place.page, **place.query)
        monkeypatch.setattr(Page, "open", lambda page, name, /, **query: wanderer.leads(name, **query))
        wanderer.walk(writes=writes)
        return wanderer, saved

    return walk


@pytest.mark.parametrize("studio", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True)
def test_text_in_each_field_of_every_page_stays_text(soaked, walked, attacks, everybody, sign_in):
    """Written, drawn again for everybody, and saved as a table, it is never run, loaded, formatted or calculated."""
    wanderer, saved = walked(everybody[0], writes=True)
    assert wanderer.problems == {}
    assert {place.page for place in wanderer.seen} == set(PAGES)
    assert wanderer.shown >= SHOWN
    assert {field.partition(":")[0] for field in wanderer.filled} >= FILLED
    for role in Role:
        drawn, _ = walked(sign_in(role.value)[0], pages=(), places=wanderer.seen)
        assert drawn.problems == {}, role
    counted = [attacks.formulas(name, data) for name, data in saved if name.endswith((".csv", ".xlsx"))]
    assert [begun for _, begun in counted if begun] == []
    assert sum(count > 0 for count, _ in counted) >= 6
    assert not [name for name, _ in saved if attacks.MARK in name or set(name) & set('/\\\r\n"<>;')]


def test_a_template_that_does_not_escape_is_found(soaked, walked, everybody, monkeypatch):
    broken = Environment(loader=PackageLoader("annotation_ui"), autoescape=False, trim_blocks=True)
    monkeypatch.setattr(html_module, "_environment", lambda: broken)
    wanderer, _ = walked(everybody[0], pages=("materials", "items"))
    assert {"materials", "items"} <= wanderer.problems.keys()


@pytest.mark.parametrize(
    ("shows", "is_found"),
    [
        ("st.html(text)", True),
        ("st.html('<a href=\"' + text + '\">x</a>')", True),
        ("st.markdown(text)", True),
        ("st.button(text)", True),
        ("st.radio('x', [text, 'b'])", True),
        ("st.tabs([text, 'b'])", True),
        ("st.expander(text)", True),
        ("st.text_input('x', help=text)", True),
        ("st.error(text)", True),
        ("st.text(text)", False),
        ("st.text_input('x', text)", False),
        ("st.selectbox('x', [text])", False),
        (
            "st.markdown(text.replace('[', '').replace('*', '').replace('$', '').replace(':', '').replace('<', ''))",
            False,
        ),
    ],
)
def test_what_the_walk_would_find(attacks, shows, is_found):
    app = AppTest.from_string(f"import streamlit as st\ntext = {attacks.ATTACK!r}\n{shows}").run()
    look = attacks.look_at(app)
    assert look.is_shown and bool(look.problems) == is_found


SECRET = "Quetzalcoatlus"


@pytest.fixture
def secrets(studio, seed, everybody, people, database, clock):
    """Ids of what is somebody's own: a draft, a take that lies at the desk, a review that is under way, an account."""
    _, who = everybody
    seeder = seed.Seeder(studio.workspace)
    media = {"image_1": seeder.picture(1), "audio_1": seeder.sound(1)}
    seeder.item("zoo", seeder.draft("See <image_1>, hear <audio_1>.", media, "mei"), *PASSED)
    _drafts(database, SECRET, who, clock)
    _take(studio, seed, SECRET, who, clock)
    with database.session() as session:
        get_user(session, "all").display_name = SECRET
        task = desk.take(session, who, REVIEW, clock)
    with database.session() as session:
        desk.answer(session, who, task.assignment_id, desk.Stage.PARTIAL, "A", clock)
    with database.reading() as session:
        drafts = session.exec(select(ItemDraft.id)).all()
        take = session.exec(select(Recording.id)).one()
        review = session.exec(select(Review.id)).one()
    return [*drafts, take, review, task.assignment_id, who.user_id]


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.MAINTAINER])
def test_what_is_anothers_is_shown_to_nobody_by_its_id(secrets, visit, attacks, sign_in, role):
    """On every page, under every name that a page could read an id by; maintainers alone see everything."""
    app = visit("home", sign_in(role.value)[0])
    for page in PAGES:
        for one in secrets:
            place = attacks.Place(page, dict.fromkeys(("id", "draft", "take", "assignment", "seat", "exam"), one))
            attacks.go(app, place)
            assert not [text for _, text in attacks.texts_of(app) if SECRET in text], (page, one)


def test_the_ids_lead_to_what_is_secret(secrets, visit, attacks, everybody):
    """Else the test above would prove nothing."""
    app = visit("home", everybody[0])
    for page, query in (("author", "draft"), ("take", "id"), ("person", "id")):
        places = [attacks.Place(page, {query: one}) for one in secrets]
        assert any(SECRET in text for place in places for _, text in attacks.texts_of(attacks.go(app, place))), page


@pytest.fixture
def keyed(studio, seed, attacks, people, database, clock):
    """Two accepted items that differ in name alone, of which "gilded" is gold; where a key tells, it holds the mark."""
    seeder, mark = seed.Seeder(studio.workspace), attacks.MARK
    media = {"image_1": seeder.picture(1), "audio_1": seeder.sound(1)}
    steps = (Step(ask="how many", points=10, answer=AnswerKey(accepted=(mark,))),)
    judged = [Judgement(number, "mei", True, Decision.PASS, comment=mark) for number in (1, 2, 3)]
    revisions = []
    for name in ("gilded", "simple"):
        draft = seeder.draft("See <image_1>, hear <audio_1>.", media, "lin", steps=steps, notes={"why": mark})
        revisions.append(seeder.item(name, draft, Action.SUBMIT, *judged)[1])
        seeder.response(revisions[-1], name, "ada", "full", 1.0, mark)
    release = seeder.release("zoo", "1.0.0", revisions)
    with database.session() as session:
        add_gold(session, "gilded", Decision.PASS, by="maintainer", clock=clock)
    items = [("item", {"name": name, "tab": tab}) for name in ("gilded", "simple") for tab in ("", "quality")]
    answers = {"show": "answers", "scope": "all"}
    return [attacks.Place(page, query) for page, query in [
        *items[:3], ("results", answers), ("results", answers | {"of.outcome": "right"}),
        ("results", answers | {"key": "ada/gilded/full"}), ("quality", {"part": "items"}),
        ("quality", {"part": "analysis"}), ("release", {"id": release.id}), ("material", {"id": media["image_1"][0].id}),
        ("items", {"item-state": "accepted"}), ("items", {}), ("home", {}), ("review", {}),
    ]]  # fmt: skip


def test_who_may_be_given_gold_reads_no_settled_key_anywhere(keyed, walked, attacks, sign_in, database, clock):
    def tells(role):
        """Pages that show the mark, and whether a table that is saved holds it."""
        wanderer, saved = walked(sign_in(role.value)[0], pages=(), places=keyed)
        files = [data for name, data in saved if name.endswith(".csv")]
        saved.clear()
        assert len(files) >= 4
        return wanderer.shown, any(attacks.MARK.encode() in data for data in files)

    assert tells(Role.REVIEWER) == (set(), False)
    assert tells(Role.ANNOTATOR) == ({"item", "results"}, True)
    with database.session() as session:
        task = take_review(session, "reviewer", clock, gold_every=1)
        session.get_one(Review, session.exec(select(Review.id)).one()).finished_at = clock()
        desk.queue.release_task(session, task.assignment_id, "reviewer", clock)
    assert tells(Role.REVIEWER) == ({"item", "results"}, True)
    with database.session() as session:
        session.delete(session.exec(select(Review)).one())
        retire_gold(session, "gilded", by="maintainer", clock=clock)
    assert tells(Role.REVIEWER) == ({"item", "results"}, True)


@pytest.mark.parametrize("studio", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True)
def test_gold_looks_like_any_other_settled_item(keyed, visit, attacks, sign_in):
    app = visit("home", sign_in("reviewer")[0])

    def told(name, tab):
        texts = attacks.texts_of(attacks.go(app, attacks.Place("item", {"name": name, "tab": tab})))
        return [text.replace(name, "NAME") for field, text in texts if field.endswith(("body", "label"))]

    for tab, sentence in (("", "once you have judged this item."), ("quality", "What models answered shows once")):
        gold = told("gilded", tab)
        assert gold == told("simple", tab) and any(sentence in text for text in gold)
        assert any("In review or decided" in text for text in gold)
    for query in ({}, {"item-state": "undisclosed"}):
        texts = [text for _, text in attacks.texts_of(attacks.go(app, attacks.Place("items", query)))]
        rows = [sum("ip-row-name" in text and name in text for text in texts) for name in ("gilded", "simple")]
        assert rows == [1, 1]
