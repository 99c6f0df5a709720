"""Drafts over HTTP, as the editor in the browser saves them."""

import json
import threading

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from annotation_ui.drafting.drafts import discard_draft, get_draft, open_draft
from annotation_ui.drafting.handing_in import NotReady, hand_in
from annotation_ui.drafting.routes import MOST_BYTES, DraftRoutes
from annotation_ui.forms import new_form_key
from annotation_ui.server import Door
from annotation_ui.words import words_in
from warehouse.people import Role


@pytest.fixture
def app(studio, auth):
    return Starlette(
        routes=DraftRoutes(studio, auth).routes(),
        middleware=[Middleware(Door, auth=auth, cookie_name=studio.cookie_name)],
    )


@pytest.fixture
def browser(app, studio, people, sign_in):
    """A browser of one person: its HTTP client."""

    def open_browser(name="annotator"):
        client = TestClient(app, base_url="http://studio.test")
        if name is not None:
            client.cookies.set(studio.cookie_name, sign_in(name)[0])
        return client

    return open_browser


@pytest.fixture
def draft(database, principal_of, clock):
    with database.session() as session:
        return open_draft(session, principal_of(Role.ANNOTATOR), None, clock).id


def put(client, draft, version, content, **more):
    headers = more.pop("headers", {})
    body = {"expected_version": version, "content": content, "editor": "tab", "stroke": 1, **more}
    return client.put(f"/drafts/{draft}", json=body, headers=headers)


def test_a_save_answers_with_version_moment_and_notes(browser, draft, clock):
    client = browser()
    answer = put(client, draft, 1, {"prompt": "钟声响了几次？"})
    told = answer.json()
    assert (answer.status_code, told["version"], told["saved_at"]) == (200, 2, clock().isoformat())
    assert not told["is_ready"]
    assert {"field": "task_type", "severity": "missing", "text": "Choose a task type.", "code": ""} in told["notes"]
    assert "no-store" in answer.headers["cache-control"]
    read = client.get(f"/drafts/{draft}").json()
    assert (read["version"], read["content"]) == (2, {"prompt": "钟声响了几次？"})


def test_a_conflict_shows_the_other_version(browser, draft):
    put(browser("annotator"), draft, 1, {"prompt": "first"})
    answer = put(browser("maintainer"), draft, 1, {"prompt": "second"}, editor="another tab")
    told = answer.json()
    assert (answer.status_code, told["theirs"], told["version"]) == (409, {"prompt": "first"}, 2)
    assert told["saved_by"] == "Annotator" and "Annotator" in told["error"]


def test_nobody_and_others_save_nothing(browser, draft, database, principal_of):
    assert put(browser(None), draft, 1, {"prompt": "x"}).status_code == 401
    assert put(browser("reviewer"), draft, 1, {"prompt": "x"}).status_code == 403
    assert put(browser(), "another-id", 1, {"prompt": "x"}).status_code == 404
    foreign = put(browser(), draft, 1, {"prompt": "x"}, headers={"origin": "https://evil.test"})
    assert (foreign.status_code, "error" in foreign.json()) == (403, True)
    with database.reading() as session:
        assert get_draft(session, principal_of(Role.ANNOTATOR), draft).version == 1


def test_refusals_are_in_the_readers_language(browser, draft):
    client = browser(None)
    client.headers["accept-language"] = "zh-CN,zh;q=0.9"
    assert "重新登录" in put(client, draft, 1, {}).json()["error"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"[]", 422),
        (b"[" * 100_000, 422),
        (b'{"content": {}}', 422),
        (b'{"expected_version": "1", "content": {}}', 422),
        (b'{"expected_version": 1, "content": {"prompt": 3}}', 422),
        (b'{"expected_version": 1, "content": {"constructor": "x"}}', 422),
        (b"x" * (MOST_BYTES + 1), 413),
    ],
    ids=["empty", "cut", "list", "deep", "no-version", "text-version", "number-prompt", "unknown-field", "huge"],
)
def test_what_no_editor_sends_is_refused_in_words(browser, draft, body, status):
    answer = browser().put(f"/drafts/{draft}", content=body)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_a_closed_draft_is_gone(browser, draft, database, principal_of, clock):
    with database.session() as session:
        discard_draft(session, principal_of(Role.ANNOTATOR), draft, 1, clock)
    assert put(browser(), draft, 1, {"prompt": "x"}).status_code == 410
    assert browser().get(f"/drafts/{draft}").status_code == 410


def test_twenty_tabs_at_once_lose_no_word(browser, draft, database, principal_of):
    """All start from the same version: one saves, nineteen are told of a conflict, and all words are kept."""
    from annotation_ui.drafting.drafts import draft_versions

    clients = [browser() for _ in range(20)]
    answers: list[int] = [0] * 20
    together = threading.Barrier(20)

    def save(number):
        together.wait()
        answers[number] = put(
            clients[number], draft, 1, {"prompt": f"tab {number}"}, editor=f"tab-{number}"
        ).status_code

    threads = [threading.Thread(target=save, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200] + [409] * 19
    with database.reading() as session:
        found = get_draft(session, principal_of(Role.ANNOTATOR), draft)
        words = {found.content["prompt"], *(one.content["prompt"] for one in draft_versions(session, found))}
    assert words == {f"tab {number}" for number in range(20)}


def test_saved_words_are_json(browser, draft):
    text = '</script><img src=x onerror=alert(1)> "\\ \u2028'
    put(browser(), draft, 1, {"prompt": text})
    answer = browser().get(f"/drafts/{draft}")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert json.loads(answer.text)["content"]["prompt"] == text


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        ({"audio_1": {"start_s": 1.0, "end_s": 99.5}}, "goes beyond its end at 2 s"),
        ({"audio_1": {"start_s": 1.5, "end_s": 0.5}}, "ends before it begins"),
        ({"image_1": {"left_px": 1_000_000, "top_px": 0, "width_px": 5, "height_px": 5}}, "does not lie within"),
        ({"image_1": {"left_px": 1, "top_px": 1}}, "a side is missing"),
        ({"image_1": {"start_s": 1.0}}, "a picture has none"),
    ],
)
def test_a_forged_mark_outside_of_its_medium_is_kept_and_blocks(
    browser, draft, seeder, evidence, told, database, principal_of
):
    media = {"image_1": seeder.picture(1)[0].id, "audio_1": seeder.sound(1)[0].id}
    written = {
        "task_type": "counting", "language": "en", "prompt": "<image_1> <audio_1> Which shape is struck?",
        "media": media, "choices": ["the red one", "the blue one"], "correct": [0], "required": ["image", "audio"],
    }  # fmt: skip
    good = put(browser(), draft, 1, written)
    assert good.json()["is_ready"]
    answer = put(browser(), draft, 2, {**written, "evidence": evidence}, stroke=2)
    assert (answer.status_code, answer.json()["version"], answer.json()["is_ready"]) == (200, 3, False)
    (note,) = [note for note in answer.json()["notes"] if note["code"] == "evidence_outside"]
    assert (note["field"], note["severity"]) == ("evidence", "error") and told in note["text"]
    assert browser().get(f"/drafts/{draft}").json()["content"]["evidence"] == evidence
    with pytest.raises(NotReady), database.session() as session:
        hand_in(session, principal_of(Role.ANNOTATOR), draft, 3, new_form_key(), words_in("en"))
    # Beside what is missing still it is told as well.
    half = put(browser(), draft, 3, {"media": media, "evidence": evidence}, stroke=3)
    assert "evidence_outside" in {note["code"] for note in half.json()["notes"]}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1", "1e999", '"1"', "[1]"])
def test_a_forged_mark_that_is_no_number_is_refused(browser, draft, number):
    body = (
        '{"expected_version": 1, "editor": "tab", "stroke": 1, "content": {"evidence": {"audio_1": {"start_s": %s}}}}'
    )
    answer = browser().put(f"/drafts/{draft}", content=(body % number).encode())
    # What reads as a number is taken as one.
    assert answer.status_code == (200 if number == '"1"' else 422)
    assert number == '"1"' or answer.json()["error"]
