"""Writing a question in a real browser: nothing that was shown as saved is lost, and nothing else either."""

import re

import pytest
from playwright.sync_api import expect
from sqlmodel import col, select

from warehouse.tables import DraftVersion, Item, ItemDraft, ItemState
from warehouse.workspace import open_workspace

pytestmark = pytest.mark.browser
ATTACK = "</textarea><img src=x onerror=alert(1)><script>alert(2)</script>\"'`${7*7} <image_9> [x](javascript:alert(3))"
PROMPT = "Look at  and listen. How many of the coloured shapes are struck before the sound ends?"


@pytest.fixture
def page(tabs, studio):
    """The one author there is."""
    return tabs.by_link(studio.first_link(), "mei", "Mei <b>梅</b>")


def new_question(page, studio):
    page.goto(f"{studio.address}/author")
    page.get_by_role("button", name="New question").click()
    expect(page.locator(".qe")).to_be_visible()
    page.settle()


def field(page, name):
    return page.locator(f'[data-control="{name}"]')


def expect_saved(page):
    expect(page.locator(".qe-status")).to_have_text(re.compile("^(Saved at|已保存)"))


def choose_type(page, typed):
    field(page, "task_type").fill(typed)
    field(page, "task_type").press("Enter")


def use(page, title):
    """Take a material from the library beside the editor."""
    page.settle()
    page.get_by_label("Search", exact=True).fill(title)
    page.get_by_label("Search", exact=True).press("Enter")
    expect(page.locator("[class*=st-key-use-]")).to_have_count(1)
    expect(page.locator("[class*=st-key-use-]")).to_contain_text(title)
    page.settle()
    page.locator("[class*=st-key-use-]").get_by_role("button", name="Use").click()


def drafts(studio):
    with open_workspace(studio.project) as workspace, workspace.database.reading() as session:
        return session.exec(select(ItemDraft).order_by(col(ItemDraft.created_at))).all()


def stored(studio):
    """The content of the only draft."""
    return drafts(studio)[0].content


def kept_versions(studio):
    with open_workspace(studio.project) as workspace, workspace.database.reading() as session:
        return [one.content for one in session.exec(select(DraftVersion))]


def test_a_question_with_picture_and_sound_is_written_and_handed_in(page, studio):
    new_question(page, studio)
    # What is open is listed, and leads to its field
    field(page, "prompt").press("Control+Enter")
    expect(page.locator(".qe-jump").first).to_be_focused()
    page.locator(".qe-jump").filter(has_text="Write the question.").click()
    expect(field(page, "prompt")).to_be_focused()

    choose_type(page, "counting")
    expect(page.locator(".qe-about")).to_contain_text("The answer is how many things")
    expect(field(page, "language")).to_have_value("en")
    field(page, "prompt").fill(PROMPT)
    field(page, "prompt").press("Control+Home")
    for _ in "Look at ":
        field(page, "prompt").press("ArrowRight")
    use(page, "street-10.png")
    expect(field(page, "prompt")).to_have_value(PROMPT.replace("at  and", "at <image_1> and"))
    use(page, "bell-08.wav")
    expect(field(page, "prompt")).to_have_value(PROMPT.replace("at  and", "at <image_1><audio_1> and"))
    expect(page.locator(".qe-figure img")).to_have_js_property("complete", True)
    assert page.locator(".qe-figure audio").count() == 1

    # Lines that are pasted become choices; they move by keyboard; plain Enter hands nothing in
    field(page, "choices.0").evaluate(
        """(node, text) => {
            const data = new DataTransfer();
            data.setData('text/plain', text);
            node.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
        }""",
        "A. two\nB. three\nC. four\nD. five",
    )
    expect(field(page, "choices.3")).to_have_value("five")
    field(page, "choices.3").press("Alt+ArrowUp")
    expect(field(page, "choices.2")).to_have_value("five")
    expect(field(page, "choices.2")).to_be_focused()
    field(page, "choices.2").press("Enter")
    expect(field(page, "choices.3")).to_be_focused()
    page.get_by_label("Choice B is right").check()
    expect_saved(page)
    expect(page.locator(".qe-open")).to_have_text("Nothing open")
    assert set(stored(studio)["required"]) == {"image", "audio"}

    # The preview follows without taking the caret
    field(page, "choices.3").fill("four hundred and four")
    page.get_by_role("tab", name="As a model sees it").click()
    expect(page.locator(".ip-options")).to_contain_text("four hundred and four")
    field(page, "choices.3").fill("four")
    expect(page.locator(".ip-options")).not_to_contain_text("hundred")
    expect(field(page, "choices.3")).to_be_focused()
    page.locator(".st-key-author-desk").get_by_text("Audio", exact=True).last.click()
    expect(page.get_by_text("Condition: Without audio")).to_be_visible()

    # What the studio refuses is told where it was asked for, and can be tried again
    field(page, "name").fill("bells-001")
    field(page, "name").press("Control+Enter")
    page.get_by_role("button", name="Yes, hand in").click()
    expect(page.locator(".qe-notice")).to_have_text(re.compile("There is an item named bells-001 already"))
    field(page, "name").fill("")
    field(page, "choices.3").press("Control+Enter")
    expect(page.get_by_role("button", name="Yes, hand in")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Handed in")).to_be_visible()
    expect(page.get_by_text("counting-001 is on its way")).to_be_visible()
    with open_workspace(studio.project) as workspace, workspace.database.reading() as session:
        assert session.exec(select(Item).where(Item.name == "counting-001")).one().state is ItemState.SUBMITTED
    page.get_by_role("button", name="Write another").click()
    expect(field(page, "prompt")).to_have_value("")
    expect(field(page, "choices.0")).to_have_value("")
    assert page.crashes == []


def test_an_input_method_keeps_its_enter(page, studio):
    new_question(page, studio)
    keyboard = page.context.new_cdp_session(page)

    def compose(control, typed, committed):
        control.focus()
        keyboard.send(
            "Input.imeSetComposition", {"text": typed, "selectionStart": len(typed), "selectionEnd": len(typed)}
        )
        enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229}
        keyboard.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **enter})
        keyboard.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", "modifiers": 2, **enter})
        keyboard.send("Input.insertText", {"text": committed})
        keyboard.send("Input.dispatchKeyEvent", {"type": "keyUp", "key": "Enter", "code": "Enter"})

    compose(field(page, "prompt"), "zhongsheng", "钟声响了几次？")
    expect(field(page, "prompt")).to_have_value("钟声响了几次？")
    compose(field(page, "choices.0"), "liangci", "两次")
    expect(field(page, "choices.0")).to_be_focused()  # Enter alone would have gone on to the next
    field(page, "choices.0").press("Enter")
    expect(field(page, "choices.1")).to_be_focused()
    compose(field(page, "choices.1"), "sanci", "三次")
    field(page, "task_type").fill("count")
    compose(field(page, "task_type"), "jishu", "ing")
    expect(page.get_by_role("listbox", name="Task type")).to_be_visible()  # nothing was picked yet
    field(page, "task_type").press("Enter")
    expect(field(page, "task_type")).to_have_value("Counting")
    expect(page.locator(".qe-asking")).to_be_hidden()
    expect_saved(page)
    found = stored(studio)
    assert (found["prompt"], found["choices"][:2], found["task_type"]) == (
        "钟声响了几次？",
        ["两次", "三次"],
        "counting",
    )
    assert "zhong" not in str(found)
    assert page.crashes == []


def test_two_editors_see_both_versions_and_lose_neither(page, tabs, studio):
    first = page
    new_question(first, studio)
    second = tabs.sign_in(first.url, "mei")
    expect(second.locator(".qe")).to_be_visible()
    second.settle()
    field(first, "prompt").fill("The first one's words")
    field(first, "choices.0").fill("first")
    expect_saved(first)
    field(second, "prompt").fill("The second one's words")
    field(second, "name").fill("second-name")
    panel = second.locator(".qe-compare")
    expect(panel.locator("[data-group=prompt]")).to_contain_text("The first one's words")
    expect(panel.locator("[data-group=prompt]")).to_contain_text("The second one's words")
    expect(panel).to_contain_text("Mei <b>梅</b>")
    assert stored(studio)["prompt"] == "The first one's words"
    panel.locator("[data-group=choices]").get_by_role("radio").last.check()
    panel.get_by_role("button", name="Go on with what is marked").click()
    expect_saved(second)
    found = stored(studio)
    assert (found["prompt"], found["choices"][0], found["name"]) == ("The second one's words", "first", "second-name")
    assert "The first one's words" in [one.get("prompt") for one in kept_versions(studio)]

    # What was replaced comes back through the editor
    second.get_by_role("tab", name="Versions").click()
    version = second.locator("[class*=st-key-version-]").filter(has_text="Version 2")
    version.get_by_role("button", name="Bring back into the editor").click()
    expect(field(second, "prompt")).to_have_value("The first one's words")
    expect_saved(second)
    assert stored(studio)["prompt"] == "The first one's words"
    assert "The second one's words" in [one.get("prompt") for one in kept_versions(studio)]
    assert first.crashes == second.crashes == []


def test_a_reload_and_a_lost_connection_keep_everything(page, studio):
    new_question(page, studio)
    choose_type(page, "counting")
    field(page, "prompt").fill("How many?")
    page.get_by_label("Multi-step").check()
    for place, points in enumerate((4, 6)):
        page.get_by_role("button", name="Add a step").click()
        field(page, f"steps.{place}.ask").fill(f"Step {place}")
        field(page, f"steps.{place}.points").fill(str(points))
        field(page, f"steps.{place}.accepted").fill(f"answer {place}")
    expect(page.locator(".qe-sum")).to_have_text("10 of 10 points")
    field(page, "steps.0.rubric").fill("Four points for the colour.")
    field(page, "steps.1.grader").select_option("number")
    field(page, "steps.1.tolerance").fill("0.5")
    field(page, "steps.1.ask").press("Alt+ArrowUp")
    expect(field(page, "steps.0.ask")).to_have_value("Step 1")
    field(page, "name").fill("my-steps")
    expect_saved(page)
    before = stored(studio)
    page.reload()
    expect(field(page, "steps.0.ask")).to_have_value("Step 1")
    expect(field(page, "steps.0.tolerance")).to_have_value("0.5")
    expect(field(page, "steps.1.rubric")).to_have_value("Four points for the colour.")
    expect(field(page, "name")).to_have_value("my-steps")
    expect(field(page, "task_type")).to_have_value("Counting")
    assert page.locator(".qe-compare").count() == 0
    assert stored(studio) == before

    page.context.set_offline(True)
    field(page, "prompt").fill("Written without a connection")
    expect(page.locator(".qe-status")).to_contain_text("kept in this browser, trying again")
    assert stored(studio) == before
    page.context.set_offline(False)
    expect_saved(page)
    assert stored(studio)["prompt"] == "Written without a connection"

    # Signed out meanwhile: the words wait for the next sign-in, in whichever tab that is
    cookies = page.context.cookies()
    page.context.clear_cookies()
    field(page, "prompt").fill("Written while signed out")
    expect(page.locator(".qe-status")).to_contain_text("You are signed out")
    expect(page.locator(".qe-status a")).to_have_attribute("href", "/auth/sign-in")
    page.context.add_cookies(cookies)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect_saved(page)
    assert stored(studio)["prompt"] == "Written while signed out"
    assert page.crashes == []


def test_what_was_saved_survives_a_killed_server_and_the_rest_is_offered_back(page, studio, request):
    new_question(page, studio)
    address = page.url
    field(page, "prompt").press_sequentially("These words are saved. ")
    expect_saved(page)
    field(page, "prompt").press_sequentially("These are written before the server is killed. ", delay=15)
    studio.process.kill()  # with these words on their way, or not
    studio.process.communicate()
    field(page, "prompt").press_sequentially("These are written after it.", delay=15)
    expect(page.locator(".qe-status")).to_contain_text("kept in this browser, trying again")
    words = field(page, "prompt").input_value()
    saved = stored(studio)["prompt"]
    assert saved.startswith("These words are saved.") and saved != words
    # At the old address: the tab, which goes on trying, may save the rest as soon as it is there.
    again = type(studio)(studio.project, studio.home, "--port", studio.address.rpartition(":")[2])
    request.addfinalizer(lambda: (again.process.kill(), again.process.communicate()))
    page.goto(address)
    expect(field(page, "prompt")).to_have_value(re.compile("^These words are saved"))
    panel = page.locator(".qe-compare")
    if field(page, "prompt").input_value() != words:  # else the tab had saved them before it went
        expect(panel).to_contain_text(words.strip())
        panel.get_by_role("button", name="Bring them back").click()
    expect(field(page, "prompt")).to_have_value(words)
    expect_saved(page)
    assert stored(again)["prompt"] == words


def test_script_in_each_field_runs_nothing(page, studio):
    new_question(page, studio)
    fields = ["prompt", "name", "choices.0", "choices.1"]
    for name in fields:
        field(page, name).fill(ATTACK)
    for kind, more in (
        ("Multi-step", ("steps.0.ask", "steps.0.accepted", "steps.0.rubric")),
        ("Open answer", ("accepted",)),
    ):
        page.get_by_label(kind).check()
        if kind == "Multi-step":
            page.get_by_role("button", name="Add a step").click()
        for name in more:
            field(page, name).fill(ATTACK)
    field(page, "task_type").fill(ATTACK)
    page.get_by_label("Multiple choice").check()
    expect_saved(page)
    assert stored(studio)["steps"][0]["rubric"] == ATTACK
    page.get_by_role("tab", name="As a model sees it").click()
    expect(page.locator(".ip-options")).to_contain_text("<script>alert(2)</script>")

    # Side by side with other words, as a version, and as a draft that was thrown away
    field(page, "prompt").focus()  # who writes is not shown other words in the place of theirs
    draft = drafts(studio)[0]
    page.evaluate(
        """([id, version, prompt]) => fetch(`/drafts/${id}`, {
            method: 'PUT', headers: {'Content-Type': 'application/json'},
            body: JSON.stringify({expected_version: version, editor: 'another', stroke: 1, content: {prompt}}),
        })""",
        [draft.id, draft.version, ATTACK * 2],
    )
    field(page, "prompt").fill(ATTACK * 3)
    expect(page.locator(".qe-compare [data-group=prompt]")).to_contain_text(ATTACK * 2)
    page.get_by_role("button", name="Keep mine").click()
    expect_saved(page)
    page.get_by_role("tab", name="Versions").click()
    page.get_by_text("Show", exact=True).first.click()
    expect(page.locator(".ip-facts").first).to_contain_text("<script>alert(2)</script>")
    page.get_by_role("button", name="Throw this draft away").click()
    page.get_by_role("button", name="Throw away", exact=True).click()
    expect(page.get_by_role("heading", name="Thrown away")).to_be_visible()
    page.get_by_role("link", name="All my drafts").click()
    # The heading of the page before says the same, and stays until this one is drawn.
    expect(page.get_by_role("heading", name="Thrown away")).to_have_count(0)
    page.locator("summary").filter(has_text="Thrown away").click()
    expect(page.locator(".ip-row").filter(has_text="alert(1)")).to_be_visible()
    page.get_by_role("button", name="Bring back").click()
    expect(field(page, "choices.0")).to_have_value(ATTACK)
    assert page.locator("img[src=x]").count() == 0
    assert page.crashes == []
