"""A real Chromium, and a studio that `interplay up` serves."""

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

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
