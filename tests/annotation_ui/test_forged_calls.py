"""Calls that no page makes: services asked with another's ids, routes asked from another site, files that are traps."""

import importlib
import inspect
import io
import pkgutil
import re
import struct
import zipfile
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import SQLModel, select
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.testclient import TestClient

import annotation_ui
from annotation_ui import server
from annotation_ui.auth_routes import local_path
from annotation_ui.drafting.content import DraftContent
from annotation_ui.drafting.drafts import Save, open_draft, save_draft
from annotation_ui.forms import new_form_key
from annotation_ui.library import Upload, bring_in
from annotation_ui.managing import Change
from annotation_ui.media_links import MediaLinks
from annotation_ui.media_routes import MediaRoutes
from annotation_ui.recording import speakers, takes
from annotation_ui.reviewing import desk
from annotation_ui.server import Door
from annotation_ui.words import words_in
from core.errors import InterplayError
from curation.entries import Claims
from curation.tagging.tags import Tag
from qc.review.waiting import REVIEW
from warehouse.consents import Scope
from warehouse.lifecycle import Action
from warehouse.people import Role, get_user
from warehouse.tables import Decision, Material, Script

# Pages ask services, and services ask the tables: these are the modules whose functions act for somebody.
NO_SERVICES = ("annotation_ui.pages", "annotation_ui.views", "annotation_ui.entry", "annotation_ui.label_studio")
# Found by themselves; these must be among them, or the walk would prove nothing.
KNOWN = {
    "drafting.drafts.save_draft", "drafting.drafts.discard_draft", "drafting.drafts.reopen_draft",
    "drafting.handing_in.hand_in", "recording.takes.hand_in", "recording.takes.set_aside", "recording.takes.refuse",
    "recording.takes.accept", "recording.speakers.take_back", "reviewing.desk.answer", "reviewing.desk.keep",
    "reviewing.desk.give_back", "library.decide_material", "library.say_tag", "managing.new_link", "managing.switch",
}  # fmt: skip


# By what else than an id a service is told whose thing it is about, and which version of it was seen.
ABOUT = {"change", "task", "typed"}
VERSIONED = {"expected_version", "version", "save", "change"}


@pytest.fixture
def owner(studio, database, add_person, sign_in, seed, clock):
    """Somebody who has a draft, a take and a task; the ids of all that, and of themselves."""
    add_person("owner", Role.ANNOTATOR, Role.REVIEWER)
    who = sign_in("owner")[1]
    seeder = seed.Seeder(studio.workspace)
    media = {"image_1": seeder.picture(1), "audio_1": seeder.sound(1)}
    passed = (Action.SUBMIT, Action.PASS_ROUND1, Action.PASS_ROUND2)
    seeder.item("zoo", seeder.draft("See <image_1>, hear <audio_1>.", media, "mei"), *passed)
    seed.fill_desk(studio.workspace, ("ferry", "The ferry leaves", "en", {}))
    with database.session() as session:
        draft = open_draft(session, who, None, clock)
        save_draft(session, who, draft.id, Save(1, DraftContent(prompt="mine"), "tab", 1), clock)
        contributor = speakers.add_speaker(session, who, new_form_key(), speakers.NewSpeaker(True), clock)
        text = speakers.latest_text(session)
        called = speakers.speaker(session, who, contributor, clock()).contributor.pseudonym
        signed = speakers.Signature(
            contributor, text.version, speakers.words_hash(text), (Scope.VOICE, Scope.PUBLISH), called, "en"
        )
        speakers.sign(session, who, new_form_key(), signed, clock)
        script_id = session.exec(select(Script.id)).one()
        task = desk.take(session, who, REVIEW, clock)
    take = takes.receive(studio.workspace, who, takes.Sent(contributor, script_id, "", seed.voice(1, 1.0)), clock)
    return {
        "draft": draft.id, "contributor": contributor, "recording": take.id, "assignment": task.assignment_id,
        "user": who.user_id, "pseudonym": called, "task": task,
    }  # fmt: skip


def services():
    """Every public function that acts for somebody, by its name; takes are asked before they are taken back."""
    for found in reversed(list(pkgutil.walk_packages(annotation_ui.__path__, "annotation_ui."))):
        if found.name.startswith(NO_SERVICES):
            continue
        module = importlib.import_module(found.name)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            acts = list(inspect.signature(function).parameters)[1:2] == ["who"]
            if acts and function.__module__ == found.name and not name.startswith("_"):
                yield f"{found.name.removeprefix('annotation_ui.')}.{name}", function


def arguments(function, owner, auth, clock, version):
    """What a forger would send, all of it about the owner's things; None where nobody knows how."""
    by_name = {
        "draft_id": owner["draft"], "contributor_id": owner["contributor"], "recording_id": owner["recording"],
        "assignment_id": owner["assignment"], "user_id": owner["user"], "typed": owner["pseudonym"], "task": owner["task"],
        "change": Change(new_form_key(), owner["user"], version), "key": new_form_key(), "form_key": new_form_key(),
        "expected_version": version, "version": version, "save": Save(version, DraftContent(prompt="forged"), "forger", 9),
        "clock": clock, "t": words_in("en"), "auth": auth, "stage": desk.Stage.PARTIAL, "text": "A", "kind": REVIEW,
        "judged": desk.Judged(Decision.PASS), "tag": Tag.parse("forged"), "reason": "forged", "why": "forged",
        "roles": [Role.MAINTAINER], "active": False, "keep": False, "holds": True, "guard": None, "lock": False,
        "is_open": False, "now": clock(),
    }  # fmt: skip
    wanted = list(inspect.signature(function).parameters.values())[2:]
    given = {one.name: by_name.get(one.name, "forged" if one.annotation is str else None) for one in wanted}
    return None if any(value is None and name != "guard" for name, value in given.items()) else given


@pytest.mark.parametrize("forger", ["annotator", "reviewer", "participant", "dismissed"])
def test_no_service_changes_anything_for_who_may_not(studio, database, owner, auth, people, sign_in, clock, forger):
    """A stranger in each role, and a maintainer whose page was drawn before they were dismissed."""
    who = sign_in("maintainer" if forger == "dismissed" else forger)[1]
    if forger == "dismissed":
        with database.session() as session:
            get_user(session, "maintainer").active = False
    before, asked = everything(database), set()
    for name in call_all(studio, who, owner, auth, clock, all_there_are=forger == "dismissed"):
        asked.add(name)
        assert everything(database) == before, name
    assert asked >= KNOWN


def test_the_same_calls_change_something_for_who_may(studio, database, owner, auth, sign_in, clock):
    """Else the test above would prove nothing."""
    who, before, changed = sign_in("owner")[1], everything(database), set()
    for name in call_all(studio, who, owner, auth, clock):
        if (now := everything(database)) != before:
            changed.add(name)
        before = now
    assert changed >= {
        "drafting.drafts.save_draft", "drafting.drafts.discard_draft", "recording.takes.hand_in", "recording.takes.set_aside",
        "recording.speakers.take_back", "reviewing.desk.answer", "reviewing.desk.give_back",
    }  # fmt: skip


def call_all(studio, who, owner, auth, clock, *, all_there_are=False):
    """Calls every service about the owner's things (or every one), and tells its name after each call."""
    for name, function in services():
        takes_in = set(inspect.signature(function).parameters)
        if not all_there_are and not any(one in ABOUT or one.endswith("_id") for one in takes_in):
            continue
        for version in (1, 2, 4) if takes_in & VERSIONED else (1,):
            given = arguments(function, owner, auth, clock, version)
            if given is None:
                continue
            with suppress(InterplayError):
                if "workspace" in takes_in:
                    function(studio.workspace, who, **given)
                else:
                    with studio.workspace.database.session() as session:
                        function(session, who, **given)
            yield name


def everything(database):
    """All rows of all tables."""
    with database.reading() as session:
        tables = SQLModel.metadata.sorted_tables
        return {table.name: sorted(map(repr, session.execute(table.select()).all())) for table in tables}


@pytest.fixture
def app(studio, auth, monkeypatch):
    """The studio's own routes behind its door, as `make_app` puts them together."""
    import streamlit

    made = {}
    monkeypatch.setattr(streamlit, "App", lambda _script, **given: made.update(given))
    server.make_app(studio, auth)
    return Starlette(routes=made["routes"], middleware=made["middleware"])


def address(route, one):
    """A route's path with an id in its place."""
    return re.sub(r"\{\w+(:\w+)?\}", one, route.path)


def test_no_route_that_writes_takes_anything_from_another_site(app, studio, database, owner, people, sign_in):
    client = TestClient(app, base_url="http://studio.test", follow_redirects=False)
    client.cookies.set(studio.cookie_name, sign_in("maintainer")[0])
    before, asked = everything(database), []
    for route in app.routes:
        assert isinstance(route, Route)
        for method in sorted((route.methods or set()) - {"GET", "HEAD", "OPTIONS"}):
            path = address(route, owner["draft"])
            for origin in ("https://evil.test", "http://studio.test:81", "null", ""):
                answer = client.request(method, path, headers={"Origin": origin}, content=b"{}")
                assert answer.status_code in {400, 403}, (method, path, origin, answer.status_code)
                assert "set-cookie" not in answer.headers
            asked.append(f"{method} {route.path}")
    assert everything(database) == before
    assert {"POST /auth/sign-in", "POST /auth/sign-out", "PUT /drafts/{id}", "POST /recordings"} <= set(asked)


def test_nothing_of_the_studio_is_given_to_nobody(app, owner):
    """Without a session each address answers with the way in or a refusal, and with no more than that."""
    client = TestClient(app, base_url="http://studio.test", follow_redirects=False)
    for route in app.routes:
        if "GET" in (route.methods or set()) and not route.path.startswith("/auth/"):
            path = address(route, owner["draft"])
            assert client.get(path).status_code in {303, 401, 403, 404}, route.path


# What `urlsplit` says of an address and what a browser makes of it differ: tabs and line ends fall out, a backslash is
# a slash.
@given(st.text(alphabet=st.sampled_from("/\\\t\r\n\x00 .:@?#%aé\u2028"), max_size=8) | st.text(max_size=12))
def test_no_address_to_go_on_to_leads_to_another_site(wanted):
    seen = local_path(wanted).strip("".join(map(chr, range(33))))
    seen = seen.replace("\t", "").replace("\r", "").replace("\n", "").replace("\\", "/")
    assert seen.startswith("/") and not seen.startswith("//")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(side=60_000):
    """A picture of some hundred bytes that would be 450 MB in memory."""
    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(10_000))) + chunk(b"IEND", b"")
    )


def packed(name, data):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


SCRIPT = b"<html><script>alert(1)</script></html>"
TRAPS = {
    "drawing.svg": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    "page.html": SCRIPT,
    "page.png": SCRIPT,
    "script.gif": b"GIF89a/*" + b"\x00" * 40 + b"*/=1;alert(1)",
    "bomb.png": bomb(),
    "archive.zip": packed("../../../../tmp/evil.png", b"x"),
    "archive.png": packed("a.png", b"x"),
    "list.m3u8": b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
    "list.mp4": b"#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:1/a.ts\n",
    "concat.wav": b"ffconcat version 1.0\nfile /etc/passwd\n",
}


def test_traps_are_refused_and_what_is_media_all_the_same_is_served_as_media(
    studio, database, seed, sign_in, people, auth
):
    """Pictures and sounds with a page behind them are taken, for they are pictures: and shown as nothing else."""
    token, who = sign_in("annotator")
    polyglots = {"../../../both.png": seed.png(1) + SCRIPT, 'a"\r\nX-Evil: 1.wav': seed.wav(1) + SCRIPT}
    uploads = [Upload(name, io.BytesIO(data)) for name, data in (TRAPS | polyglots).items()]
    outside = {path for path in studio.workspace.project.root.parent.rglob("*") if "project" not in path.parts}
    report = bring_in(studio.workspace, who, uploads, Claims())
    assert {path for path in studio.workspace.project.root.parent.rglob("*") if "project" not in path.parts} == outside
    with database.reading() as session:
        rows = session.exec(select(Material)).all()
    assert {row.modality for row in rows} <= {"image", "audio"} and len(rows) == len(polyglots)
    assert report.counts["failed"] == len(TRAPS)
    routes, door = MediaRoutes(studio, auth).routes(), Middleware(Door, auth=auth, cookie_name=studio.cookie_name)
    client = TestClient(Starlette(routes=routes, middleware=[door]), base_url="http://studio.test")
    client.cookies.set(studio.cookie_name, token)
    for row in rows:
        answer = client.get(MediaLinks(studio.key, studio.clock).url(row.media_ref, who.user_id))
        assert answer.status_code == 200
        assert answer.headers["content-type"] in {"image/png", "audio/wav", "audio/x-wav"}
        assert answer.headers["x-content-type-options"] == "nosniff" and "x-evil" not in answer.headers
        assert "sandbox" in answer.headers["content-security-policy"]
