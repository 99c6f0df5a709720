"""Marking in a real browser what each medium contributes: by mouse and keyboard, kept, and shown to who reviews it."""

import re

import pytest
from playwright.sync_api import expect
from sqlmodel import select

from annotation_ui.components import DOM
from annotation_ui.components.question_editor import _text
from annotation_ui.drafting.content import DraftContent
from annotation_ui.drafting.drafts import Save, open_draft, save_draft
from annotation_ui.drafting.handing_in import hand_in
from annotation_ui.forms import new_form_key
from annotation_ui.permissions import as_principal
from annotation_ui.studio import open_studio
from annotation_ui.words import words_in
from warehouse.items import get_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.people import Role, get_user
from warehouse.tables import ItemDraft, MaterialSource

pytestmark = pytest.mark.browser
ATTACK = "<img src=x onerror=alert(1)><script>alert(2)</script>"
MEDIA = {"image_1": "photos/street-09.png", "audio_1": "sounds/bell-08.wav", "video_1": "films/walk-03.mp4"}


@pytest.fixture
def desk(studio, enrol):
    """An author, a reviewer, and the author's draft with a picture (320 × 210), a sound (2 s) and a film (1 s)."""
    with open_studio(studio.project) as opened:
        enrol(opened, hal=Role.ANNOTATOR, rita=Role.REVIEWER)
        yield Desk(opened.workspace.database)


class Desk:
    """What is stored, and what happens elsewhere."""

    def __init__(self, database):
        self.database = database
        with database.session() as session:
            hal = as_principal(get_user(session, "hal"))
            by_origin = {one.origin: one.material_id for one in session.exec(select(MaterialSource))}
            content = DraftContent(
                task_type="counting",
                language="en",
                prompt="Look at <image_1>, hear <audio_1>, watch <video_1>. How many of the shapes are struck twice?",
                media={place: by_origin[origin] for place, origin in MEDIA.items()},
                choices=["one", "two", "six", "ten"],
                correct=[1],
                required=["image", "audio", "video"],
            )
            draft = open_draft(session, hal)
            save_draft(session, hal, draft.id, Save(draft.version, content, "begin", 1))
            self.draft = draft.id

    def evidence(self):
        with self.database.reading() as session:
            return session.get_one(ItemDraft, self.draft).content.get("evidence", {})

    def hand_in(self):
        """The draft waits for reviewers, and nothing else does."""
        with self.database.session() as session:
            hal = as_principal(get_user(session, "hal"))
            version = session.get_one(ItemDraft, self.draft).version
            handed = hand_in(session, hal, self.draft, version, new_form_key(), words_in("en"))
            item = get_item(session, handed.name)
            for action in (Action.PASS_ROUND1, Action.PASS_ROUND2):
                item = advance(session, item.id, item.version, Advance(action, "test"))
            waiting = get_item(session, "bells-005")
            advance(session, waiting.id, waiting.version, Advance(Action.ACCEPT, "test"))


@pytest.fixture
def page(tabs, desk, studio):
    page = tabs.sign_in(f"{studio.address}/author", "hal")
    page.settle()
    open_draft_page(page, studio, desk)
    return page


def open_draft_page(page, studio, desk):
    page.goto(f"{studio.address}/author?draft={desk.draft}")
    expect(page.locator(".ev-medium")).to_have_count(3)
    page.settle()


def panel(page, place):
    return page.locator(f".ev-medium[data-place={place}]")


def drag(page, node, start, end):
    """With the mouse, from and to places in shares of a node."""
    node.scroll_into_view_if_needed()
    node.evaluate("node => node.scrollIntoView({block: 'center'})")
    box = node.bounding_box()
    points = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in (start, end)]
    page.mouse.move(*points[0])
    page.mouse.down()
    page.mouse.move(*points[1], steps=4)
    page.mouse.up()


def expect_saved(page):
    expect(page.locator(".qe-status")).to_have_text(re.compile("^Saved at"))


def shown_span(page, place):
    one = panel(page, place)
    return [float(one.get_by_label(label).input_value()) for label in ("From (s)", "To (s)")]


def shown_box(page, place):
    one = panel(page, place)
    return [int(one.get_by_label(f"{label} (px)").input_value()) for label in ("Left", "Top", "Width", "Height")]


def test_a_span_by_mouse_and_by_keyboard(page, desk, studio):
    sound = panel(page, "audio_1")
    drag(page, sound.locator(".ev-line"), (0.25, 0.5), (0.75, 0.5))
    assert shown_span(page, "audio_1") == pytest.approx([0.5, 1.5], abs=0.02)
    for label, number in (("From (s)", "0.5"), ("To (s)", "1.5")):
        sound.get_by_label(label).fill(number)

    end = sound.get_by_role("slider", name="End of the span of audio_1")
    end.press("ArrowRight")
    expect(end).to_have_attribute("aria-valuenow", "1.6")
    end.press("Shift+ArrowLeft")
    expect(end).to_have_attribute("aria-valuenow", "0.6")
    end.press("Shift+ArrowLeft")  # no further than the start
    expect(end).to_have_attribute("aria-valuenow", "0.6")
    end.press("Shift+ArrowRight")
    start = sound.get_by_role("slider", name="Start of the span of audio_1")
    start.press("ArrowLeft")
    expect(start).to_have_attribute("aria-valuenow", "0.4")
    whole = sound.get_by_role("slider", name="Marked span of audio_1")
    whole.press("Shift+ArrowRight")  # stops where the sound does
    assert shown_span(page, "audio_1") == [0.8, 2.0]
    expect(whole).to_be_focused()

    # The whole is taken along with the mouse; an end alone
    drag(page, sound.locator(".ev-span"), (0.5, 0.5), (0.25, 0.5))
    assert shown_span(page, "audio_1") == pytest.approx([0.5, 1.7], abs=0.02)
    drag(page, sound.locator(".ev-line"), (0.852, 0.5), (0.752, 0.5))
    assert shown_span(page, "audio_1") == pytest.approx([0.5, 1.5], abs=0.02)

    # What cannot be is told, and given up when it is left
    sound.get_by_label("To (s)").fill("0.2")
    expect(sound.get_by_text("The span has to end after it starts.")).to_be_visible()
    sound.get_by_label("To (s)").fill("7")
    expect(sound.get_by_text("That is outside of it: it lasts 0:02.0.")).to_be_visible()
    sound.get_by_label("From (s)").fill("1")
    expect(sound.get_by_label("To (s)")).not_to_have_value("7")
    sound.get_by_label("To (s)").fill("1.5")
    expect_saved(page)
    assert desk.evidence() == {"audio_1": {"start_s": 1.0, "end_s": 1.5}}

    # It is played to its end; where the player stands can become an end of it
    sound.get_by_role("button", name="Play the span").click()
    expect(sound.locator(".ev-time")).to_have_text(re.compile(r"^0:01\.[5-7] / 0:02\.0"))
    expect(sound.get_by_role("button", name="Play", exact=True)).to_be_visible()
    sound.locator(".ev-line").click(position={"x": 1, "y": 5})
    expect(sound.locator(".ev-time")).to_have_text(re.compile(r"^0:00\.0"))
    play = sound.get_by_role("button", name="Play", exact=True)
    play.press("ArrowRight")
    play.press("ArrowRight")
    expect(sound.locator(".ev-time")).to_have_text(re.compile(r"^0:00\.2"))
    sound.get_by_role("button", name="Start here").click()
    expect(sound.get_by_label("From (s)")).to_have_value(re.compile(r"0\.2"))

    expect_saved(page)
    page.reload()
    expect(panel(page, "audio_1").get_by_label("To (s)")).to_have_value("1.5")
    panel(page, "audio_1").get_by_role("button", name="Clear the span").click()
    expect(panel(page, "audio_1").locator(".ev-span")).to_be_hidden()
    expect_saved(page)
    assert desk.evidence() == {}
    assert page.crashes == []


def test_a_box_and_words_outlive_a_reload_and_are_dropped_with_their_material(page, desk, studio):
    picture = panel(page, "image_1")
    drag(page, picture.locator(".ev-stage"), (0.1, 0.1), (0.6, 0.3))
    assert shown_box(page, "image_1") == pytest.approx([32, 21, 160, 42], abs=1)
    for label, number in (("Left", 32), ("Top", 21), ("Width", 160), ("Height", 42)):
        picture.get_by_label(f"{label} (px)").fill(str(number))
    box = picture.get_by_role("button", name=re.compile("^Box of image_1"))
    box.press("ArrowRight")
    box.press("Shift+ArrowDown")
    assert shown_box(page, "image_1") == [34, 31, 160, 42]
    expect(box).to_be_focused()
    corner = picture.get_by_role("button", name=re.compile("^Corner of the box of image_1"))
    corner.press("ArrowLeft")
    assert shown_box(page, "image_1") == [34, 31, 158, 42]
    drag(page, picture.locator(".ev-box"), (0.5, 0.5), (5, 5))  # no further than the picture
    assert shown_box(page, "image_1") == [162, 168, 158, 42]
    picture.get_by_label("Width (px)").fill("999")
    expect(picture.get_by_label("Width (px)")).to_have_attribute("aria-invalid", "true")
    picture.get_by_label("Left (px)").fill("0")
    expect(picture.get_by_label("Width (px)")).to_have_value("158")

    # Of a film the time and the picture; words with an input method
    film = panel(page, "video_1")
    film.get_by_role("button", name="Mark a part of the picture").press("Enter")
    assert shown_box(page, "video_1") == [40, 24, 80, 48]
    film.get_by_label("From (s)").fill("0.25")
    note = picture.get_by_label("What image_1 contributes")
    note.fill(ATTACK)
    note.press("End")
    keyboard = page.context.new_cdp_session(page)
    keyboard.send("Input.imeSetComposition", {"text": "zhong", "selectionStart": 5, "selectionEnd": 5})
    enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229}
    keyboard.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", "modifiers": 2, **enter})
    keyboard.send("Input.insertText", {"text": "钟"})
    expect(note).to_have_value(f"{ATTACK}钟")
    expect_saved(page)
    page.settle()
    expect(note).to_be_focused()
    expect(page.locator(".qe-asking")).to_be_hidden()
    wanted = {
        "image_1": {"left_px": 0, "top_px": 168, "width_px": 158, "height_px": 42, "note": f"{ATTACK}钟"},
        "video_1": {"start_s": 0.25, "left_px": 40, "top_px": 24, "width_px": 80, "height_px": 48},
    }
    assert desk.evidence() == wanted
    page.reload()
    expect(panel(page, "image_1").get_by_label("What image_1 contributes")).to_have_value(f"{ATTACK}钟")
    assert shown_box(page, "image_1") == [0, 168, 158, 42]

    # Another material comes in the place of the picture
    page.settle()
    page.get_by_role("button", name="Swap image_1").click()
    page.get_by_label("Search", exact=True).fill("street-10.png")
    page.get_by_label("Search", exact=True).press("Enter")
    expect(page.locator("[class*=st-key-use-]")).to_have_count(1)
    page.settle()
    page.locator("[class*=st-key-use-]").get_by_role("button", name="Use").click()
    expect(panel(page, "image_1").get_by_role("status")).to_contain_text("<image_1> is another material now.")
    expect(page.locator(".qe-swap")).to_contain_text("<image_1> is another material now.")
    expect(panel(page, "image_1").locator(".ev-box")).to_be_hidden()
    expect(panel(page, "image_1").get_by_label("What image_1 contributes")).to_have_value("")
    expect_saved(page)
    assert desk.evidence() == {"video_1": wanted["video_1"]}
    assert page.crashes == []


def test_a_reviewer_sees_what_is_marked_with_the_answer(page, desk, studio, tabs):
    drag(page, panel(page, "image_1").locator(".ev-stage"), (0.25, 0.5), (0.75, 0.75))
    panel(page, "audio_1").get_by_label("From (s)").fill("0.5")
    panel(page, "audio_1").get_by_label("To (s)").fill("1.5")
    panel(page, "audio_1").get_by_label("What audio_1 contributes").fill(ATTACK)
    expect_saved(page)
    desk.hand_in()
    rita = tabs.sign_in(f"{studio.address}/review", "rita")
    rita.get_by_role("button", name="Take the next one").click()
    for now in ("With everything", "Your verdict"):
        rita.settle()
        assert rita.locator(".ip-box, .ip-span").count() == 0
        rita.get_by_role("button", name="I cannot tell from this").click()
        expect(rita.locator(".ip-choice.on")).to_have_count(1)
        rita.settle()
        rita.get_by_role("button", name="Hand in the answer").click()
        expect(rita.locator(".ip-stages li.now")).to_have_text(now)
    expect(rita.get_by_text("from 0.5 s to 1.5 s")).to_contain_text(ATTACK)
    expect(rita.locator("audio[src$='#t=0.5,1.5']")).to_have_count(1)
    framed = rita.locator(".ip-framed")
    expect(framed.locator("img")).to_have_js_property("naturalWidth", 320)
    whole, box = framed.bounding_box(), framed.locator(".ip-box").bounding_box()
    assert (box["x"] - whole["x"]) / whole["width"] == pytest.approx(0.25, abs=0.02)
    assert box["height"] / whole["height"] == pytest.approx(0.25, abs=0.02)
    assert rita.crashes == page.crashes == []


@pytest.mark.parametrize(
    ("taken", "kept"),
    [
        ([], {"image_1": {"note": "mine"}, "audio_1": {"note": "mine"}}),
        (["prompt"], {"audio_1": {"note": "mine"}}),
        (["evidence"], {"audio_1": {"note": "theirs"}}),
        (["prompt", "evidence"], {"image_1": {"note": "theirs"}, "audio_1": {"note": "theirs"}}),
    ],
    ids=["mine", "their media", "their marks", "theirs"],
)
def test_of_two_versions_no_mark_comes_to_another_material(chromium, taken, kept):
    tab = chromium.new_page()
    tab.add_script_tag(content=DOM + _text("content.js"))
    mine, theirs = (
        {
            "prompt": "",
            "media": {"image_1": f"{who} picture", "audio_1": "one sound"},
            "evidence": {place: {"note": who} for place in ("image_1", "audio_1")},
        }
        for who in ("mine", "theirs")
    )
    assert (
        tab.evaluate("([mine, theirs, taken]) => merged(mine, theirs, taken).evidence", [mine, theirs, taken]) == kept
    )
    tab.close()
