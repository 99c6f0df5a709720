import os
import socket
import subprocess
import sys

import pytest
from sqlmodel import select

from warehouse.runs import open_run
from warehouse.tables import Run, RunStatus


def stored(database, run_id: str) -> Run:
    with database.reading() as session:
        return session.get(Run, run_id)


def test_a_run_tells_what_was_executed_on_what(database, clock):
    began = clock()
    with open_run(database, "qc run", {"rounds": [1, 2]}, seed=7, clock=clock) as run:
        open_one = stored(database, run.id)
        run.summary["passed"] = 3
        ended = clock.advance(minutes=5)
    assert (open_one.status, open_one.ended_at) == (RunStatus.RUNNING, None)
    done = stored(database, run.id)
    assert (done.command, done.settings, done.seed, done.summary) == ("qc run", {"rounds": [1, 2]}, 7, {"passed": 3})
    assert (done.status, done.started_at, done.ended_at) == (RunStatus.FINISHED, began, ended)
    assert (done.host, done.process_id) == (socket.gethostname(), os.getpid())
    assert done.environment["python"] == ".".join(map(str, sys.version_info[:3]))


@pytest.mark.parametrize(
    ("error", "status"),
    [(ValueError, RunStatus.FAILED), (KeyboardInterrupt, RunStatus.INTERRUPTED), (SystemExit, RunStatus.FAILED)],
)
def test_how_a_run_ends_is_stored_and_the_error_goes_on(database, error, status):
    runs = []

    def work() -> None:
        with open_run(database, "test", {}) as run:
            runs.append(run.id)
            run.summary = {"done": 1}
            raise error

    with pytest.raises(error):
        work()
    found = stored(database, runs[0])
    assert (found.status, found.summary) == (status, {"done": 1})
    assert found.ended_at is not None


def test_the_fingerprint_is_of_command_settings_and_seed(database):
    prints = []
    for command, settings, seed in [
        ("a", {"x": 1, "y": 2}, 0),
        ("a", {"y": 2, "x": 1}, 0),
        ("b", {"x": 1, "y": 2}, 0),
        ("a", {"x": 1, "y": 3}, 0),
        ("a", {"x": 1, "y": 2}, 1),
    ]:
        with open_run(database, command, settings, seed) as run:
            prints.append(run.fingerprint)
    assert prints[0] == prints[1]
    assert len(set(prints)) == 4


def test_a_run_whose_process_is_gone_is_interrupted_when_the_next_one_opens(database, clock):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    alive = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    here = socket.gethostname()
    with database.session() as session:
        for name, host, process in [("gone", here, ended.pid), ("alive", here, alive.pid), ("far", "other", ended.pid)]:
            run = Run(id=name, command="test", fingerprint="0" * 64, host=host, process_id=process)
            session.add(run)
        session.add(
            Run(
                id="finished",
                command="test",
                fingerprint="0" * 64,
                host=here,
                process_id=ended.pid,
                status=RunStatus.FINISHED,
            )
        )
    with open_run(database, "next", {}, clock=clock):
        pass
    alive.communicate(b"\n")
    with database.reading() as session:
        found = {run.id: run.status.value for run in session.exec(select(Run)) if run.command == "test"}
    assert found == {"gone": "interrupted", "alive": "running", "far": "running", "finished": "finished"}


def test_runs_may_nest(database):
    with open_run(database, "outer", {}) as outer, open_run(database, "inner", {}) as inner:
        pass
    assert stored(database, outer.id).status is stored(database, inner.id).status is RunStatus.FINISHED
