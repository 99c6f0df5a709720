"""The studio in a real browser: in through the setup link, through all pages, in both languages."""

import re
import shutil

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
# Seconds of a player's media, once the browser has read its head.
DURATION = """player => new Promise(done => player.readyState >= 1
    ? done(player.duration) : player.onloadedmetadata = () => done(player.duration))"""

# What a browser would run or load, had it taken a text for markup; also within components.
RUNNING = """() => { const found = []; const look = root => { for (const one of root.querySelectorAll("*")) {
    const texts = [...one.attributes].filter(({name, value}) => name.startsWith("on") || /^(javascript:|x$)/.test(value));
    if (texts.length && !["id", "class"].includes(texts[0].name)) found.push(one.outerHTML.slice(0, 200));
    if (one.shadowRoot) look(one.shadowRoot); } }; look(document); return found; }"""


@pytest.fixture
def page(tabs, studio):
    """A tab that is signed in by the setup link."""
    tab = tabs.by_link(studio.first_link(), "ada", "Ada <b>Lind</b>")
    expect(tab.get_by_role("heading", name="Hello, Ada <b>Lind</b>")).to_be_visible()
    return tab


def go(page, title):
    page.get_by_test_id("stSidebarNavLink").filter(has_text=title).click()
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()


def switch(page, language):
    page.get_by_test_id("stSidebar").get_by_text(language, exact=True).click()


def toggle(page, name):
    page.get_by_text(name, exact=True).locator("visible=true").last.click()


def open_card(page, title, label):
    page.settle()
    page.locator("[class*=st-key-card-], [class*=st-key-row-]").filter(has_text=title).get_by_role(
        "button", name=label
    ).click()


def is_loaded(locator):
    locator.scroll_into_view_if_needed()
    locator.page.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=locator.element_handle())
    return True


def test_all_pages_in_both_languages(page, studio, tmp_path):
    # Home, whose address has no name
    page.goto(f"{studio.address}/home")
    expect(page.get_by_text("From materials to the release")).to_be_visible()
    assert page.url == f"{studio.address}/"
    expect(page.get_by_text("42 of 44 task types have no item yet")).to_be_visible()

    # Materials: pictures of all kinds load, facets narrow, a decision is taken
    go(page, "Materials")
    expect(page.get_by_text("30 materials")).to_be_visible()
    for kind in ("image", "audio", "video"):
        if page.locator(f".ip-thumb.{kind} img").count():
            assert is_loaded(page.locator(f".ip-thumb.{kind} img").first)
    page.get_by_label("Search").fill("walk-02")
    page.get_by_label("Search").press("Enter")
    expect(page.get_by_text("1 material", exact=True)).to_be_visible()
    open_card(page, "walk-02.mp4", "Open")
    expect(page.get_by_role("heading", name="walk-02.mp4")).to_be_visible()
    assert page.locator("video").evaluate(DURATION) == pytest.approx(1.0, abs=0.2)
    page.get_by_label("Why drop it?").fill("too short to ask about")
    page.get_by_role("button", name="Drop").click()
    expect(page.get_by_role("button", name="Keep")).to_be_visible()
    expect(page.get_by_text("too short to ask about")).to_be_visible()

    # Items: the preview with a modality taken away
    go(page, "Items")
    expect(page.get_by_text("12 items")).to_be_visible()
    open_card(page, "bells-001", "Open")
    expect(page.get_by_role("heading", name="bells-001")).to_be_visible()
    assert is_loaded(page.locator(".ip-prompt img"))
    sound = page.locator(".ip-prompt audio")
    assert sound.evaluate(DURATION) == pytest.approx(2.0, abs=0.1)
    expect(page.locator(".ip-options li.right")).to_have_count(0)
    toggle(page, "Show the answer key")
    expect(page.locator(".ip-options li.right")).to_have_count(1)
    page.get_by_role("tab", name="As a model sees it").click()
    expect(page.get_by_text("Condition: Everything")).to_be_visible()
    expect(page.locator("audio:visible")).to_have_count(1)
    toggle(page, "Audio")
    expect(page.get_by_text("Condition: Without audio")).to_be_visible()
    expect(page.locator("audio:visible")).to_have_count(0)
    expect(page.locator(".ip-prompt:visible")).to_contain_text("[audio not provided]")
    expect(page.locator(".ip-prompt:visible img")).to_have_count(1)
    page.get_by_role("tab", name="Review and history").click()
    expect(page.get_by_text("Clear, and I needed the sound.")).to_be_visible()

    # A reload keeps the sign-in and the place
    page.reload()
    expect(page.get_by_role("heading", name="bells-001")).to_be_visible()

    # Results
    go(page, "Results")
    expect(page.locator(".ip-table").first).to_contain_text("hearing-model")
    expect(page.locator(".ip-table").first).to_contain_text("n = 2")

    # The same in Chinese, which is kept over a reload
    switch(page, "中文")
    for title in ("结果", "题目", "素材"):
        go(page, title)
    page.reload()
    go(page, "题目")
    page.get_by_label("搜索").fill("钟声-004")
    page.get_by_label("搜索").press("Enter")
    expect(page.get_by_text("1 道题", exact=True)).to_be_visible()
    open_card(page, "钟声-004", "打开")
    page.get_by_role("tab", name="模型所见").click()
    toggle(page, "音频")
    expect(page.locator("audio:visible")).to_have_count(0)
    expect(page.locator(".ip-prompt:visible")).to_contain_text("[未提供音频]")
    page.get_by_test_id("stSidebarNavLink").filter(has_text="首页").click()
    expect(page.get_by_text("从素材到发布")).to_be_visible()

    # Out, and the door is shut
    page.get_by_role("button", name="退出登录").click()
    expect(page.locator("[name=password]")).to_be_visible()
    page.goto(f"{studio.address}/items")
    expect(page.locator("[name=password]")).to_be_visible()

    assert page.strangers == [], "the studio asks nobody outside for anything"
    assert page.crashes == []
    assert not list(studio.home.rglob("*")), "the studio writes nothing into the home of its user"
    code, rest = studio.stop()
    assert (code, "the studio has stopped" in rest) == (0, True), rest


def test_text_of_others_runs_nothing(page, studio):
    """Hostile names and prompts, as another author would hand them in; on every page, also in what scripts of ours draw."""
    from annotation_ui.drafting.content import DraftContent
    from annotation_ui.drafting.drafts import Save, open_draft, save_draft
    from annotation_ui.permissions import as_principal
    from annotation_ui.shell import PAGES
    from annotation_ui.studio import open_studio
    from core.question import Choice
    from warehouse.items import Draft, current_revision, get_item, revise_item
    from warehouse.people import get_user

    attack = "<img src=x onerror=alert(1)><script>alert(2)</script>[x](javascript:alert(3)) :red[no] **no** $x^2$"
    with open_studio(studio.project) as opened, opened.workspace.database.session() as session:
        item = get_item(session, "bells-011")
        question = current_revision(session, item).as_question()
        hostile = question.model_copy(
            update={"choices": (Choice(text=attack), *question.choices[1:]), "task_type": attack}
        )
        revise_item(session, item, item.version, Draft(hostile, {}, attack))
        ada = as_principal(get_user(session, "ada"))
        draft = open_draft(session, ada)
        written = DraftContent(prompt=attack, choices=[attack, "b"], task_type=attack, name="zoo")
        save_draft(session, ada, draft.id, Save(1, written, "tab", 1))
    page.goto(f"{studio.address}/item?name=bells-011")
    expect(page.locator(".ip-options li").first).to_contain_text(attack)
    go(page, "Items")
    expect(page.locator(".st-key-row-bells-011")).to_contain_text(attack)
    page.get_by_role("combobox", name=re.compile("Task type")).click()
    expect(page.get_by_role("option", name=attack)).to_be_visible()
    for place in (f"author?draft={draft.id}", "item?name=bells-011", *PAGES):
        page.goto(f"{studio.address}/{place}")
        page.settle()
        assert page.evaluate(RUNNING) == [], place
    assert page.crashes == page.strangers == []


def test_uploads_reach_the_library(page, studio, tmp_path):
    go(page, "Materials")
    blob = next(
        path for path in (studio.project / "blobs").rglob("*") if path.is_file() and path.read_bytes()[:4] == b"RIFF"
    )
    tone = tmp_path / "new-tone.wav"
    data = bytearray(blob.read_bytes())
    data[-2000:] = bytes(2000)  # other bytes than those that are in the library
    tone.write_bytes(data)
    broken = tmp_path / "broken.png"
    shutil.copy(tone, broken)
    page.get_by_text("Add materials").click()
    page.set_input_files("input[type=file]", [str(tone), str(broken)])
    expect(page.get_by_text("new-tone.wav")).to_be_visible()
    page.get_by_role("button", name="Add to the library").click()
    expect(page.get_by_text("1 new material.")).to_be_visible()
    expect(page.get_by_text("broken.png could not be taken")).to_be_visible()
