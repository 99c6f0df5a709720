"""A real Chromium, and a studio that `interplay up` serves."""

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from annotation_ui.accounts import create_user
from annotation_ui.auth import Auth

PASSWORD = "correct horse battery"
SLOW_MS = 60_000
expect.set_options(timeout=SLOW_MS)
START = "from interplay.cli import main; main()"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def chromium():
    """The browser that the system has."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "these tests drive a real browser: install the system's chromium package"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


class Tabs:
    """Opens tabs, each in a browser of its own that shares nothing with others.

    What goes wrong in the scripts of a tab, or would have, is noted in its `crashes`, and what it asks other hosts for
    than the one that it was led to in its `strangers`. `settle` waits until Streamlit has drawn the page to its end, for
    a click before may meet what is about to go.
    """

    password = PASSWORD

    def __init__(self, browser):
        self._browser, self._contexts = browser, []

    def __call__(self, browser=None, *, width=1280, height=900, **more):
        size = {"width": width, "height": height}
        context = (browser or self._browser).new_context(viewport=size, locale="en-GB", **more)
        self._contexts.append(context)
        context.set_default_timeout(SLOW_MS)
        context.on("page", self._watch)
        return context.new_page()

    def by_link(self, link, name=None, display_name=None, *given, **more):
        """A tab in which a link that sets a password is followed, until the studio greets."""
        tab = self(*given, **more)
        self.follow(tab, link, name, display_name)
        return tab

    def follow(self, tab, link, name=None, display_name=None):
        """The same in a tab that is there; without a name it is the account that the link was made for."""
        self._lead(tab, link)
        filled = {"name": name, "display_name": display_name, "password": PASSWORD, "repeated": PASSWORD}
        for field, text in filled.items():
            if text is not None:
                tab.fill(f"[name={field}]", text)
        tab.click("button[type=submit]")
        expect(tab.get_by_role("heading", name=re.compile("^Hello"))).to_be_visible()

    def sign_in(self, address, name, **more):
        """A tab in which somebody signs in at a page of the studio, and is led to it."""
        tab = self(**more)
        self.enter(tab, address, name)
        return tab

    def enter(self, tab, address, name):
        """The same in a tab that is there."""
        self._lead(tab, address)
        tab.fill("[name=name]", name)
        tab.fill("[name=password]", PASSWORD)
        tab.click("button[type=submit]")

    def close(self):
        for context in self._contexts:
            context.close()

    def _lead(self, tab, address):
        own = (re.match(r"\w+://[^/]+", address)[0], "data:", "blob:")
        tab.on("request", lambda request: request.url.startswith(own) or tab.strangers.append(request.url))
        tab.goto(address)

    def _watch(self, tab):
        tab.crashes, tab.strangers = [], []
        tab.on("pageerror", lambda error: tab.crashes.append(str(error)))
        tab.on("dialog", lambda dialog: (tab.crashes.append(dialog.message), dialog.dismiss()))
        drawn = tab.locator("[data-testid=stApp][data-test-script-state=notRunning]")
        tab.settle = partial(expect(drawn).to_be_visible)


@pytest.fixture(scope="session")
def enrol():
    """Gives people accounts in an opened studio, by name and role; they can sign in."""

    def make(opened, **roles):
        auth = Auth(opened.workspace.database, opened.key)
        with opened.workspace.database.session() as session:
            for name, role in roles.items():
                secret = auth.hash_password(name, PASSWORD)
                create_user(session, name, [role], display_name=name.title(), password_hash=secret)

    return make


@pytest.fixture
def tabs(chromium):
    """See `Tabs`."""
    opened = Tabs(chromium)
    yield opened
    opened.close()


class RunningStudio:
    """A studio process with its first words."""

    def __init__(self, project, home, *options):
        self.project, self.home = project, home
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, "up", "--no-browser", "--project", str(project), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"HOME": str(home), "PYTHONUNBUFFERED": "1"},
        )
        self.address = self._read(r"the studio is at (http://\S+)")

    def first_link(self):
        """The one-time link of the first start."""
        return self._read(r"(http://\S+/auth/link/\S+)")

    def stop(self):
        """Ctrl-C; returns the exit code and the last words."""
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=60)
        return self.process.returncode, rest

    def _read(self, pattern):
        said = []
        for line in self.process.stdout:
            said.append(line)
            if found := re.search(pattern, line):
                return found.group(1)
        raise AssertionError(f"the studio ended without saying {pattern!r}: {''.join(said)}")


@pytest.fixture
def running_studio(tmp_path):
    """Starts a studio on the sample project of the studio's own tests, with more lines of settings and options."""
    started = []

    def start(*more, settings=""):
        place = Path(__file__).parents[1] / "annotation_ui" / "seed.py"
        spec = importlib.util.spec_from_file_location("studio_seed", place)
        seed = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(seed)
        seed.make(tmp_path / "project")
        file = tmp_path / "project" / "interplay.toml"
        file.write_text(f"{file.read_text()}\n{settings}")
        home = tmp_path / "home"
        home.mkdir()
        started.append(RunningStudio(tmp_path / "project", home, *more))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.process.kill()
            running.process.communicate()


@pytest.fixture
def port():
    """One that the system gives to nobody else soon: a studio that is started again must find it free."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.fixture
def studio(running_studio, port):
    """A studio on the sample project of the studio's own tests."""
    return running_studio("--port", str(port))
