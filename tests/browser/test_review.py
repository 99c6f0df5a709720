"""Reviewing in a real browser: blind first, keys, an input method, a lease that ran out, two people at once."""

import hashlib
import re
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect
from sqlmodel import select

from annotation_ui.studio import open_studio
from core.question import AnswerKey, Choice
from warehouse.items import Draft, create_item, current_revision, get_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.people import Role
from warehouse.tables import Assignment, Review, Verdict

pytestmark = pytest.mark.browser
SECRET = "SECRETIVE"
ATTACK = "<img src=x onerror=alert(1)><script>alert(2)</script> :red[no] **no**"


@pytest.fixture
def desk(studio, enrol):
    """The project behind the studio, with reviewers who can sign in."""
    with open_studio(studio.project) as opened:
        enrol(opened, rita=Role.REVIEWER, rob=Role.REVIEWER, ron=Role.REVIEWER)
        yield Desk(opened.workspace)


class Desk:
    """What happens elsewhere while somebody reviews."""

    def __init__(self, workspace):
        self.database = workspace.database

    def ask(self, name, **changes):
        """An item with a picture and a sound that waits for reviewers; other items do no more."""
        with self.database.session() as session:
            question = current_revision(session, get_item(session, "bells-001")).as_question()
            draft = Draft(question.model_validate(question.model_dump() | changes), {}, "hal")
            item, _ = create_item(session, name, draft)
            for action in (Action.SUBMIT, Action.PASS_ROUND1, Action.PASS_ROUND2):
                item = advance(session, item.id, item.version, Advance(action, "test"))
            waiting = get_item(session, "bells-005")
            if waiting.state == "round2_passed":
                advance(session, waiting.id, waiting.version, Advance(Action.ACCEPT, "test"))
        return question

    def rows(self, table):
        with self.database.reading() as session:
            return session.exec(select(table)).all()

    def expire(self):
        """All leases run out now."""
        with self.database.session() as session:
            for lease in session.exec(select(Assignment)):
                lease.expires_at = datetime(2026, 1, 1, tzinfo=UTC)

    def state(self, name):
        with self.database.reading() as session:
            return get_item(session, name).state.value


@contextmanager
def tab_of(tabs, studio, name):
    """A tab in which somebody has the review page; what came over the wire is in `frames` and `files`."""
    page = tabs()
    page.frames_got, page.files = [], []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: page.frames_got.append(_bytes(data))))
    page.on("request", lambda request: "/files/" in request.url and page.files.append(request.url))
    tabs.enter(page, f"{studio.address}/review", name)
    expect(page.get_by_role("heading", name="Review", exact=True)).to_be_visible()
    page.settle()
    yield page
    assert page.crashes == []


@pytest.fixture
def rita(tabs, studio, desk):
    with tab_of(tabs, studio, "rita") as page:
        yield page


def _bytes(data):
    return data.encode() if isinstance(data, str) else data


def take(page):
    page.reload()
    page.get_by_role("button", name="Take the next one").click()
    expect(stage(page)).to_have_text("One kind of material hidden")
    page.settle()


def stage(page):
    return page.locator(".ip-stages li.now")


def listening(page):
    """The keys of this stage are heard."""
    names = {"One kind of material hidden": "keys-partial", "With everything": "keys-full"}
    name = names.get(stage(page).inner_text(), "verdict-keys")
    expect(page.locator(f"[class*=st-key-{name}]").get_by_role("button")).to_be_visible()


def choose(page, key):
    listening(page)
    page.keyboard.press(key)
    expect(page.locator(".ip-choice.on")).to_have_count(1)
    page.settle()


def through(page):
    """Both blind stages of a choice question, by keys."""
    for key, now in (("a", "With everything"), ("b", "Your verdict")):
        choose(page, key)
        page.keyboard.press("Control+Enter")
        expect(stage(page)).to_have_text(now)
        page.settle()
    expect(page.get_by_role("heading", name="Your verdict")).to_be_visible()
    listening(page)


def media_behind(page):
    """Hashes of all media that any address loads which the page has been given so far."""
    found = "".join(frame.decode("latin-1") for frame in page.frames_got) + page.content() + "\n".join(page.files)
    hashes = set()
    for path in set(re.findall(r"/files/[\w.\-]+", found)):
        answer = page.request.get(re.match(r"https?://[^/]+", page.url)[0] + path)
        assert answer.ok
        hashes.add(hashlib.sha256(answer.body()).hexdigest())
    return hashes


def test_a_blind_review_in_full(rita, desk, studio, tabs):
    accepted = {"kind": "open", "choices": (), "answer": AnswerKey(accepted=(SECRET,), grader="short_text")}
    question = desk.ask("zoo", **accepted)
    take(rita)
    (review,) = desk.rows(Review)
    hidden = next(part.media for part in question.media if part.media.modality == review.hidden)
    other = next(part.media for part in question.media if part.media.modality != review.hidden)
    tags = {"audio": "audio", "image": ".ip-prompt img"}
    expect(rita.locator(tags[hidden.modality])).to_have_count(0)
    expect(rita.locator(tags[other.modality])).to_have_count(1)
    assert media_behind(rita) == {other.sha256}
    assert not [frame for frame in rita.frames_got if SECRET.encode() in frame]

    rita.get_by_text("I cannot tell from this").click()
    rita.get_by_role("button", name="Hand in the answer").click()
    expect(stage(rita)).to_have_text("With everything")
    rita.settle()
    expect(rita.locator(tags[hidden.modality])).to_have_count(1)
    assert hidden.sha256 in media_behind(rita)
    assert not [frame for frame in rita.frames_got if SECRET.encode() in frame]

    rita.get_by_label("Your answer").fill("no idea")
    rita.get_by_label("Your answer").press("Control+Enter")
    expect(rita.get_by_role("heading", name="Your verdict")).to_be_visible()
    rita.settle()
    expect(rita.get_by_text(SECRET)).to_be_visible()
    expect(rita.locator(".ip-given")).to_contain_text("no idea")

    rita.get_by_role("radio", name="Return to the author").click()
    rita.get_by_label("Why? Type to search").fill("read in two")
    rita.get_by_role("option", name=re.compile("^ambiguous")).click()
    rita.keyboard.press("Escape")
    rita.get_by_role("button", name="Comment on a part").click()
    rita.get_by_label("Comment", exact=True).fill(ATTACK)
    rita.get_by_role("button", name="Hand in", exact=True).dblclick()
    expect(rita.get_by_text("Your verdict on zoo is stored")).to_be_visible()
    (review,), (verdict,) = desk.rows(Review), [one for one in desk.rows(Verdict) if one.decider == "rita"]
    assert (review.partial_answer, review.full_answer, review.decision) == (None, "no idea", "return")
    assert (verdict.reason_codes, verdict.comment) == (["ambiguous"], f"prompt: {ATTACK}")

    with tab_of(tabs, studio, "rob") as rob:
        take(rob)
        for now in ("With everything", "Your verdict"):
            rob.get_by_text("I cannot tell from this").click()
            rob.get_by_role("button", name="Hand in the answer").dblclick()
            expect(stage(rob)).to_have_text(now)
            rob.settle()
        rob.get_by_role("radio", name="Return to the author").click()
        rob.get_by_label("Why? Type to search").fill("read in two")
        rob.get_by_role("option", name=re.compile("^ambiguous")).click()
        rob.keyboard.press("Escape")
        rob.get_by_role("button", name="Hand in", exact=True).click()
        expect(rob.get_by_text("Your verdict on zoo is stored")).to_be_visible()
        assert rob.get_by_text("no idea").count() == 0
    assert desk.state("zoo") == "returned"


def test_keys_press_what_is_seen_and_rest_while_somebody_types(rita, desk):
    desk.ask("zoo")
    take(rita)
    choose(rita, "c")
    expect(rita.locator(".ip-choice.on b")).to_have_text(["C"])
    expect(rita.get_by_test_id("stDialog")).to_have_count(0)
    for key, wanted in (("j", "D"), ("k", "C"), ("1", "A"), ("0", "–")):
        rita.keyboard.press(key)
        expect(rita.locator(".ip-choice.on b")).to_have_text([wanted])
        rita.settle()
    # Faster than the page is drawn: A, B, C, B, C, D, C, and back to B.
    for key in "1jjkjjkk":
        rita.keyboard.press(key)
    expect(rita.locator(".ip-choice.on b")).to_have_text(["B"])
    rita.settle()
    for label in "DACA":
        rita.get_by_role("button", name=f"Choose {label}").click()
    expect(rita.locator(".ip-choice.on b")).to_have_text(["A"])
    rita.settle()
    expect(rita.locator(".ip-choice.on b")).to_have_text(["A"])
    rita.keyboard.press("0")
    expect(rita.locator(".ip-choice.on b")).to_have_text(["–"])
    rita.settle()
    expect(rita.get_by_text("They rest while you type.")).to_have_count(1)
    rita.keyboard.press("Control+b")
    rita.keyboard.press("?")
    expect(rita.get_by_text("They rest while you type.")).to_be_visible()
    rita.keyboard.press("Escape")
    expect(rita.get_by_text("They rest while you type.")).to_be_hidden()
    expect(rita.locator(".ip-choice.on b")).to_have_text(["–"])
    through(rita)
    rita.keyboard.press("1")
    expect(rita.get_by_role("radio", name="Pass")).to_be_checked()
    rita.get_by_role("button", name="Comment on a part").click()
    comment = rita.get_by_label("Comment", exact=True)
    comment.click()
    rita.keyboard.type("2 3 j k a?")
    rita.keyboard.press("Control+Enter")
    rita.settle()
    expect(comment).to_have_value("2 3 j k a?")
    expect(rita.get_by_role("radio", name="Pass")).to_be_checked()
    expect(rita.get_by_text("They rest while you type.")).to_be_hidden()
    assert [review.finished_at for review in desk.rows(Review)] == [None]


def test_enter_that_commits_chinese_hands_nothing_in(rita, desk):
    desk.ask("zoo")
    take(rita)
    through(rita)
    rita.keyboard.press("1")
    expect(rita.get_by_role("radio", name="Pass")).to_be_checked()
    rita.settle()
    # An input method may compose while the focus is nowhere: its keys are marked, and are not ours.
    for mark in ("isComposing: true", "keyCode: 229"):
        rita.evaluate(
            f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: 'Enter', ctrlKey: true, bubbles: true, {mark}}}))"
        )
        rita.evaluate(f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: '3', bubbles: true, {mark}}}))")
    expect(rita.get_by_role("radio", name="Pass")).to_be_checked()
    rita.get_by_role("button", name="Comment on a part").click()
    comment = rita.get_by_label("Comment", exact=True)
    comment.click()
    typing = rita.context.new_cdp_session(rita)
    typing.send("Input.imeSetComposition", {"text": "tigan", "selectionStart": 5, "selectionEnd": 5})
    for kind in ("rawKeyDown", "keyUp"):
        typing.send("Input.dispatchKeyEvent", {"type": kind, "key": "Enter", "windowsVirtualKeyCode": 229})
    typing.send("Input.insertText", {"text": "题干有歧义"})
    expect(comment).to_have_value("题干有歧义")
    assert [review.finished_at for review in desk.rows(Review)] == [None]
    rita.get_by_role("button", name="Hand in", exact=True).click()
    expect(rita.get_by_text("Your verdict on zoo is stored")).to_be_visible()
    assert desk.rows(Review)[0].comments == [{"part": "prompt", "text": "题干有歧义"}]


def test_what_plays_goes_on_playing_and_a_reload_keeps_the_place(rita, desk):
    desk.ask("zoo")
    take(rita)
    choose(rita, "a")
    rita.keyboard.press("Control+Enter")
    expect(stage(rita)).to_have_text("With everything")
    rita.settle()
    rita.locator("audio").evaluate(
        "player => { window.player = player; player.muted = true; player.loop = true; return player.play(); }"
    )
    choose(rita, "b")
    assert rita.evaluate("!window.player.paused && window.player === document.querySelector('audio')")
    rita.reload()
    expect(stage(rita)).to_have_text("With everything")


def test_a_lease_that_ran_out_is_told_and_loses_no_words(rita, desk):
    desk.ask("zoo", choices=(), kind="open", answer=AnswerKey(accepted=(SECRET,), grader="short_text"))
    take(rita)
    rita.get_by_label("Your answer").fill("八只 birds")
    desk.expire()
    rita.get_by_role("button", name="Hand in the answer").click()
    expect(rita.get_by_text("Your time for zoo has run out")).to_be_visible()
    expect(rita.locator(".ip-prompt", has_text="八只 birds")).to_be_visible()
    assert desk.rows(Review)[0].partial_at is None
    rita.get_by_role("button", name="Take it again").click()
    expect(rita.get_by_label("Your answer")).to_have_value("八只 birds")
    rita.settle()
    rita.get_by_role("button", name="Hand in the answer").click()
    expect(stage(rita)).to_have_text("With everything")
    assert desk.rows(Review)[0].partial_answer == "八只 birds"


def test_two_at_most_and_two_tabs_are_one(rita, desk, studio, tabs):
    desk.ask("zoo", choices=(Choice(text=ATTACK), Choice(text="b")), answer=AnswerKey(correct=(0,)))
    take(rita)
    expect(rita.locator(".ip-choice").first).to_contain_text(ATTACK)
    second = rita.context.new_page()
    second.goto(f"{studio.address}/review")
    expect(stage(second)).to_have_text("One kind of material hidden")
    second.settle()
    choose(rita, "a")
    choose(second, "b")
    rita.keyboard.press("Control+Enter")
    expect(stage(rita)).to_have_text("With everything")
    second.keyboard.press("Control+Enter")
    expect(second.get_by_text("You answered this stage before")).to_be_visible()
    expect(stage(second)).to_have_text("With everything")
    assert [review.partial_answer for review in desk.rows(Review)] == ["A"]
    with tab_of(tabs, studio, "rob") as rob:
        take(rob)
    with tab_of(tabs, studio, "ron") as ron:
        expect(ron.get_by_text("Nothing waits for you")).to_be_visible()


def test_what_is_typed_outlasts_a_reload_and_a_lost_connection_until_it_is_handed_in(rita, desk):
    desk.ask("zoo", choices=(), kind="open", answer=AnswerKey(accepted=(SECRET,), grader="short_text"))
    take(rita)
    rita.get_by_label("Your answer").click()
    rita.keyboard.type("八只 <b>birds</b>")
    # Nothing was sent: the words are the browser's alone, as when the connection is gone.
    expect(rita.get_by_label("Your answer")).to_be_focused()
    rita.wait_for_function("Object.values(localStorage).some((one) => one.includes('birds'))")
    rita.reload()
    expect(rita.get_by_label("Your answer")).to_have_value("八只 <b>birds</b>")
    rita.settle()
    rita.get_by_role("button", name="Hand in the answer").click()
    expect(stage(rita)).to_have_text("With everything")
    rita.settle()
    assert desk.rows(Review)[0].partial_answer == "八只 <b>birds</b>"
    expect(rita.get_by_label("Your answer")).to_have_value("")
    rita.get_by_label("Your answer").fill("nine")
    rita.get_by_label("Your answer").press("Control+Enter")
    expect(rita.get_by_role("heading", name="Your verdict")).to_be_visible()
    rita.settle()
    rita.get_by_role("radio", name="Return to the author").click()
    rita.get_by_label("Why? Type to search").fill("read in two")
    rita.get_by_role("option", name=re.compile("^ambiguous")).click()
    rita.keyboard.press("Escape")
    rita.get_by_role("button", name="Comment on a part").click()
    rita.get_by_label("Comment", exact=True).fill("题干有歧义")
    rita.get_by_text("Suggest another text").click()
    expect(rita.get_by_label("Suggested text")).to_be_visible()
    rita.get_by_label("Suggested text").fill("How many birds sing?")
    rita.wait_for_function("Object.values(localStorage).some((one) => one.includes('birds sing'))")
    rita.reload()
    expect(rita.get_by_label("Suggested text")).to_have_value("How many birds sing?")
    expect(rita.get_by_label("Comment", exact=True)).to_have_value("题干有歧义")
    expect(rita.get_by_role("radio", name="Return to the author")).to_be_checked()
    rita.settle()
    rita.get_by_role("button", name="Hand in", exact=True).click()
    expect(rita.get_by_text("Your verdict on zoo is stored")).to_be_visible()
    (review,) = desk.rows(Review)
    assert (review.reason_codes, review.comments) == (["ambiguous"], [{"part": "prompt", "text": "题干有歧义"}])
    assert review.suggested_edit == {"prompt": "How many birds sing?"}
    expect(rita.get_by_text("Nothing waits for you")).to_be_visible()
    rita.wait_for_function("!Object.keys(localStorage).some((one) => one.startsWith('interplay-typed-'))")
