"""The pages Releases and Release in Streamlit's own test runner."""

import threading
from types import SimpleNamespace

import pytest
from sqlmodel import select
from streamlit.testing.v1 import AppTest

from annotation_ui import accounts, background
from annotation_ui.releases import desk
from annotation_ui.releases.desk import NewRelease
from warehouse.lifecycle import Action
from warehouse.people import Role
from warehouse.release.build import Recipe
from warehouse.tables import Release, ReleaseState

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>[x](javascript:alert(3)) :red[**b**] $x$ {0} {name}"


def shown(app: AppTest):
    return "\n".join(element.proto.body for element in app.get("html"))


def button(app, label):
    return next(found for found in app.button if found.label == label)


@pytest.fixture
def at_once(monkeypatch):
    """Long work is done before the click is answered: what is tested here is what the page says of it."""

    class AtOnce(threading.Thread):
        start = threading.Thread.run

    monkeypatch.setattr(background, "threading", SimpleNamespace(Thread=AtOnce, Lock=threading.Lock))


@pytest.fixture
def accepted(seeder, seed):
    def make(name, number, **more):
        media = {"image_1": seeder.picture(number, **more)}
        rounds = [seed.passed(1), seed.passed(2), seed.passed(3)]
        return seeder.item(name, seeder.draft(f"See <image_1>: {name}", media, "mei"), Action.SUBMIT, *rounds)

    return make


def the_release(database, name="zoo"):
    with database.reading() as session:
        return session.exec(select(Release).where(Release.name == name)).first()


def test_a_draft_is_built_mended_and_sealed(visit, token, accepted, database, at_once, studio):
    accepted("a", 1)
    accepted("b", 2, licence=ATTACK)
    entry = token()
    app = visit("releases", entry)
    app.session_state["build-form"] = True
    app.run()
    assert "2 questions fit" in shown(app)
    app.text_input(key="build-name").input("Zoo!")
    button(app, "Build the draft").click().run()
    assert "small letters" in shown(app) and the_release(database, "Zoo!") is None
    app.text_input(key="build-name").input("zoo")
    button(app, "Build the draft").click().run()
    release = the_release(database)

    app = visit("release", entry, id=release.id)
    text = shown(app)
    assert "1 finding blocks sealing" in text and "item?name=b" in text and "<script" not in text
    assert not [one for one in app.button if one.label == "Seal for good"]
    app.multiselect[0].set_value([ATTACK])
    button(app, "Check what blocks it").click().run()
    assert "Nothing blocks it" in shown(app)
    app.text_input(key="seal-confirmation").input("zoo 1.0")
    button(app, "Seal for good").click().run()
    assert "exactly as it stands" in shown(app) and the_release(database).state == ReleaseState.BUILT
    app.text_input(key="seal-confirmation").input("zoo 1.0.0")
    button(app, "Seal for good").click().run()
    assert not app.exception and the_release(database).state == ReleaseState.SEALED
    app = visit("release", entry, id=release.id)
    assert the_release(database).manifest_sha256 in shown(app)
    app.button(key="make-jsonl").click().run()
    assert "exports/zoo/1.0.0/jsonl" in shown(app)
    (studio.workspace.project.root / "exports/zoo/1.0.0/jsonl/README.md").write_text("x")
    app.button(key="verify-jsonl").click().run()
    assert "Damaged, as of" in shown(app)
    app.button(key="remove-jsonl").click().run()
    assert "exports/zoo/1.0.0/jsonl" not in shown(app)


def test_what_somebody_did_meanwhile_is_told_and_no_dead_end(
    visit, token, accepted, database, at_once, studio, sign_in
):
    accepted("a", 1)
    entry, who = token(), sign_in("maintainer")[1]
    build = NewRelease("zoo", "1.0.0", Recipe())
    first = desk.build(studio.workspace, who, build, studio.clock)
    app = visit("release", entry, id=first)
    desk.seal(studio.workspace, who, first, "zoo 1.0.0", (), studio.clock)
    button(app, "Discard this draft").click().run()
    assert "sealed by now" in shown(app) and the_release(database).state == ReleaseState.SEALED
    app = visit("release", entry, id=first)
    assert "Export and push" in {tab.label for tab in app.tabs}
    for nothing in ("x", ""):
        app = visit("release", entry, id=nothing)
        assert "somebody discarded it" in shown(app)
        assert "releases" in {link.proto.page for link in app.main.get("page_link")}


def test_others_look_and_are_offered_nothing_to_change(visit, token, accepted, studio, sign_in, people, database):
    accepted("a", 1, licence=None)
    who = sign_in("maintainer")[1]
    built = desk.build(studio.workspace, who, NewRelease("zoo", "1.0.0", Recipe()), studio.clock)
    app = visit("release", token(Role.ANNOTATOR), id=built)
    assert "1 finding blocks sealing" in shown(app)
    assert not {"Check what blocks it", "Discard this draft", "Seal for good"} & {one.label for one in app.button}
    app = visit("releases", token(Role.REVIEWER))
    assert "zoo 1.0.0" in shown(app) and not app.expander
    with database.session() as session:
        accounts.set_language(session, people[Role.MAINTAINER].id, "zh")
    text = shown(visit("release", token(), id=built))
    assert "有 1 个问题阻止封存" in text and "blocks" not in text


def test_a_token_is_asked_for_once_and_kept_nowhere(
    visit, token, accepted, studio, sign_in, monkeypatch, tmp_path, at_once
):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    accepted("a", 1)
    who = sign_in("maintainer")[1]
    built = desk.build(studio.workspace, who, NewRelease("zoo", "1.0.0", Recipe()), studio.clock)
    desk.seal(studio.workspace, who, built, "zoo 1.0.0", (), studio.clock)
    app = visit("release", token(), id=built)
    field = next(one for one in app.text_input if one.label == "The hub's token")
    assert field.proto.type == field.proto.PASSWORD
    app.text_input(key="push-repository").input("no owner")
    field.input("hf_very_secret")
    button(app, "Push").click().run()
    assert "OWNER/NAME" in shown(app)
    assert next(one for one in app.text_input if one.label == "The hub's token").value == ""
    assert "hf_very_secret" not in repr(app.session_state) + shown(app)
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_settings")
    app.run()
    assert "The hub's token" not in {one.label for one in app.text_input}
    monkeypatch.setattr("annotation_ui.pages.release_out.has_hub", lambda: False)
    app.run()
    assert "interplay[hub]" in shown(app) and "Push" not in {one.label for one in app.button}
