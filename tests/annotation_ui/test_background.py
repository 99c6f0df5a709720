"""Long work beside the pages: one piece a key, told as it goes, ended as it ended."""

import threading
from contextlib import nullcontext
from dataclasses import replace

import pytest

from annotation_ui import session as session_module
from annotation_ui import shell
from annotation_ui.background import AlreadyAtWork, Background
from core.errors import InterplayError
from core.progress import progress

WAIT_S = 10


class Held:
    """Work that waits to be let go on."""

    def __init__(self, ending):
        self.ending, self.begun, self.go_on = ending, threading.Event(), threading.Event()

    def __call__(self):
        with progress("counting", 4) as ticker:
            ticker.advance(3)
            self.begun.set()
            assert self.go_on.wait(WAIT_S)
        return self.ending()


@pytest.fixture
def ended():
    """Waits until the work of a key has ended: its thread is the last to know."""

    def wait(background, key):
        for thread in threading.enumerate():
            if thread.name == f"work {key}":
                thread.join(WAIT_S)
        return background.job(key)

    return wait


def test_work_is_told_as_it_goes_and_done_once(clock, ended):
    background, work = Background(), Held(lambda: 7)
    assert background.job("pool 1") is None
    background.start("pool 1", "ada", work, clock)
    assert work.begun.wait(WAIT_S)
    job = background.job("pool 1")
    assert (job.by, job.step, job.done, job.total, job.share, job.has_ended) == ("ada", "counting", 3, 4, 0.75, False)
    with pytest.raises(AlreadyAtWork, match="ada"):
        background.start("pool 1", "lin", work)
    background.start("pool 2", "lin", lambda: 1)  # another key is other work
    clock.turn(minutes=2)
    work.go_on.set()
    job = ended(background, "pool 1")
    assert job.outcome == 7
    assert (job.ended_at - job.started_at).total_seconds() == 120
    assert ended(background, "pool 2").outcome == 1
    background.start("pool 1", "lin", lambda: 8)
    assert ended(background, "pool 1").outcome == 8


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_mistake_and_an_error_end_it_and_the_next_may_start(ended):
    background, mistake = Background(), InterplayError("no such pool")

    def fail(error):
        raise error

    background.start("pool", "ada", lambda: fail(mistake))
    job = ended(background, "pool")
    assert (job.problem, job.crashed, job.outcome) == (mistake, False, None)
    background.start("pool", "ada", lambda: fail(ZeroDivisionError()))
    job = ended(background, "pool")
    assert (job.problem, job.crashed, job.outcome) == (None, True, None)
    background.start("pool", "ada", lambda: None)
    assert not ended(background, "pool").crashed


def test_a_page_tells_how_far_work_is_and_how_it_ended(studio, visit, token, monkeypatch, ended):
    told = []
    entry = shell.PAGES["results"]
    monkeypatch.setitem(shell.PAGES, "results", replace(entry, draw=lambda page: told.append(page.at_work("pool"))))
    opened = []
    monkeypatch.setattr(session_module, "open_studio", lambda _project: opened[0])
    opened.append(nullcontext(studio))
    work = Held(lambda: 7)
    studio.background.start("pool", "Ada <b>", work, studio.clock)
    assert work.begun.wait(WAIT_S)
    page = visit("results", token())
    shown = next(html.proto.body for html in page.get("html") if "ip-at-work" in html.proto.body)
    assert "Ada &lt;b&gt;" in shown
    assert "3 of 4" in shown
    assert told[-1] is None
    work.go_on.set()
    ended(studio.background, "pool")
    page.run()
    assert told[-1].outcome == 7
