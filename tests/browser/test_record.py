"""The recording desk in a real browser, whose microphone plays a file: a take is told as saved when it is on disk."""

import hashlib
import importlib.util
import re
import shutil
import wave
from io import BytesIO
from pathlib import Path

import pytest
from playwright.sync_api import expect
from sqlmodel import select

from annotation_ui.studio import open_studio
from warehouse.tables import Material, Recording

pytestmark = pytest.mark.browser
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
ATTACK = "<img src=x onerror=alert(1)><script>alert(2)</script>"
SCRIPTS = [
    ("ferry", "The ferry leaves from pier three.", "en", {}),
    ("渡轮", "渡轮三点从码头出发。", "zh", {"dialect": "Sichuan"}),
    (ATTACK, f"Read {ATTACK} **aloud**.", "en", {}),
]


@pytest.fixture(scope="module")
def seed():
    place = Path(__file__).parents[1] / "annotation_ui" / "seed.py"
    spec = importlib.util.spec_from_file_location("studio_seed", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def launch(chromium, tmp_path_factory, seed):
    """Starts another browser, whose microphone plays a file, with further flags."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    sound = tmp_path_factory.mktemp("microphone") / "voice.wav"
    sound.write_bytes(seed.voice(3, seconds=3.0))
    fake = ["--use-fake-device-for-media-stream", f"--use-file-for-fake-audio-capture={sound}"]
    return lambda *more: chromium.browser_type.launch(executable_path=program, args=[*FLAGS, *fake, *more])


@pytest.fixture(scope="module")
def listening(launch):
    browser = launch("--use-fake-ui-for-media-stream")
    yield browser
    browser.close()


@pytest.fixture
def desk(monkeypatch, request, tmp_path, seed):
    """A studio with scripts and words of consent, and no speech model."""
    monkeypatch.setenv("INTERPLAY_ASR_MODEL", str(tmp_path / "no-model-here"))
    studio = request.getfixturevalue("studio")
    with open_studio(studio.project) as opened:
        seed.fill_desk(opened.workspace, *SCRIPTS)
    return studio


def enter(tabs, browser, studio):
    """A tab that is signed in by the setup link."""
    return tabs.by_link(studio.first_link(), "ada", "Ada Lind", browser, height=1000)


def agree(tab, studio):
    """To the desk, as a speaker who has signed."""
    tab.goto(f"{studio.address}/record")
    tab.get_by_role("button", name="Add this speaker").click()
    expect(tab.locator(".ip-consent")).to_have_text("We record <b>voices</b> for a benchmark.")
    pseudonym = tab.locator("label", has_text="To sign, type").inner_text().split(": ")[1].strip()
    tab.get_by_text("My voice is recorded").click()
    tab.get_by_label("To sign, type").fill(pseudonym)
    tab.get_by_role("button", name="I agree").click()
    expect(tab.get_by_text("3 scripts to read")).to_be_visible()


def choose(tab, name):
    tab.settle()
    tab.locator("[class*=st-key-row-]").filter(has_text=name).first.get_by_role("button").click()
    expect(tab.locator(".ip-script")).to_be_visible()
    tab.settle()


def begin(tab, key, until):
    expect(tab.locator(".ip-rec-main")).to_be_enabled()
    tab.keyboard.press(key)
    expect(tab.locator(".ip-rec-clock")).to_contain_text(until)


def take(tab, key):
    """A take of three seconds; the hash that the page tells."""
    begin(tab, key, "0:03")
    tab.keyboard.press(key)
    expect(tab.locator(".ip-rec-good")).to_be_visible()
    return tab.locator(".ip-rec-told .ip-mono").inner_text()


def stored(studio):
    """What the project holds: the takes and their bytes."""
    with open_studio(studio.project) as opened, opened.workspace.database.reading() as session:
        found = session.exec(select(Recording).order_by(Recording.id)).all()
        return found, {one.sha256: opened.workspace.originals.get(one.sha256) for one in found}


def test_from_the_microphone_to_the_library(listening, tabs, desk):
    tab = enter(tabs, listening, desk)
    agree(tab, desk)
    choose(tab, "ferry")
    tab.get_by_role("button", name="Test the microphone").click()
    expect(tab.locator(".ip-rec-voice")).to_have_text("Good")
    expect(tab.get_by_label("Microphone")).to_contain_text("Fake")
    expect(tab.locator(".ip-rec-rate")).to_have_text("48 kHz")

    first = take(tab, "r")
    found, held = stored(desk)
    assert [one.sha256 for one in found] == [first] == [hashlib.sha256(held[first]).hexdigest()]
    with wave.open(BytesIO(held[first])) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (48000, 1, 2)
        assert 2.9 < sound.getnframes() / 48000 < 6
    assert "Fake" in found[0].device

    checks = tab.locator(".ip-checks")
    expect(checks).to_contain_text("48 kHz")
    expect(checks).to_contain_text("LUFS")
    expect(checks.locator("tr", has_text="Words read otherwise")).to_contain_text("Not done")
    # Why it was not done: there is no model, or nothing installed that could read one.
    expect(checks).to_contain_text(re.compile("no-model-here|interplay\\[speech\\]"))
    tab.wait_for_function("document.querySelector('.ip-take img').naturalWidth === 1440")
    assert tab.locator(".ip-take audio").evaluate("player => player.readyState >= 1 || new Promise("
                                                  "done => player.onloadedmetadata = () => done(true))")  # fmt: skip
    tab.reload()  # the take stays where it was, with its hash
    expect(tab.locator(".ip-take .ip-mono")).to_have_text(first)
    tab.get_by_role("button", name="Hand it in").click()
    expect(tab.get_by_text("Handed in.")).to_be_visible()

    tab.get_by_test_id("stSidebarNavLink").filter(has_text="Takes").click()
    expect(tab.get_by_text("1 take to decide")).to_be_visible()
    choose(tab, "ferry")
    tab.get_by_label("Reason").fill("Clear; a r x")  # keys are letters while somebody types
    tab.get_by_role("button", name="Accept", exact=True).click()
    expect(tab.get_by_text("ferry is accepted.")).to_be_visible()
    with open_studio(desk.project) as opened, opened.workspace.database.reading() as session:
        accepted = session.exec(select(Recording)).one()
        assert session.get(Material, accepted.material_id).audio_content == SCRIPTS[0][1]
    assert tab.crashes == [] and tab.strangers == []


def test_what_was_told_as_saved_outlives_a_kill_and_what_was_not_is_not_told(listening, tabs, desk):
    tab = enter(tabs, listening, desk)
    agree(tab, desk)
    choose(tab, ATTACK)
    expect(tab.locator(".ip-script")).to_have_text(SCRIPTS[2][1])

    tab.route("**/recordings?*", lambda route: route.abort())
    begin(tab, "r", "0:03")
    tab.keyboard.press("r")
    expect(tab.locator(".ip-rec-bad")).to_contain_text("Not saved yet")
    expect(tab.locator(".ip-rec-good")).to_have_count(0)
    assert stored(desk)[0] == []
    tab.get_by_role("button", name="All scripts").click()  # it is still there at the next desk
    choose(tab, "ferry")
    expect(tab.locator(".ip-rec-bad")).to_contain_text("Not saved yet")
    tab.unroute("**/recordings?*")
    tab.get_by_role("button", name="Send it again").click()
    expect(tab.locator(".ip-rec-good")).to_be_visible()
    told = tab.locator(".ip-rec-told .ip-mono").inner_text()
    desk.process.kill()
    desk.process.communicate()
    found, held = stored(desk)
    assert [one.sha256 for one in found] == [told] == [hashlib.sha256(held[told]).hexdigest()]
    assert found[0].script == SCRIPTS[2][1], "it is of the script that was read"
    assert tab.crashes == [] and tab.locator("img[src=x]").count() == 0


def test_a_chinese_script_in_chinese(listening, tabs, desk):
    tab = enter(tabs, listening, desk)
    agree(tab, desk)
    tab.get_by_test_id("stSidebar").get_by_text("中文", exact=True).click()
    expect(tab.get_by_text("3 条台词待朗读")).to_be_visible()
    choose(tab, "渡轮")
    expect(tab.locator(".ip-script[lang=zh]")).to_have_text(SCRIPTS[1][1])
    tab.locator(".ip-script").click()  # the space bar would press what has the focus
    told = take(tab, "Space")
    assert [one.sha256 for one in stored(desk)[0]] == [told]
    expect(tab.locator(".ip-checks")).to_contain_text("每字")
    tab.get_by_role("button", name="重录").click()
    expect(tab.get_by_text("已弃用")).to_be_visible()
    assert stored(desk)[0][0].accepted is False

    begin(tab, "r", "0:01")
    with tab.expect_response("**/recordings?*") as answer:  # who leaves while recording loses nothing
        tab.get_by_test_id("stSidebarNavLink").filter(has_text="录音条目").click()
    left = answer.value.json()["sha256"]
    assert {one.sha256 for one in stored(desk)[0]} == {told, left}


def test_a_refused_microphone_says_what_to_do(launch, tabs, desk):
    browser = launch("--deny-permission-prompts")
    tab = enter(tabs, browser, desk)
    agree(tab, desk)
    choose(tab, "ferry")
    tab.get_by_role("button", name="Record", exact=True).click()
    problem = tab.locator(".ip-rec-problem")
    expect(problem).to_contain_text("does not let this page use the microphone")
    expect(problem).to_contain_text("address bar")
    tab.evaluate("Object.defineProperty(window, 'isSecureContext', { value: false })")
    tab.get_by_role("button", name="Record", exact=True).click()
    expect(problem).to_contain_text("only to secure pages")
    expect(tab.locator(".ip-recorder")).to_have_attribute("data-state", "idle")
    assert stored(desk)[0] == [] and tab.crashes == []
    browser.close()
