import itertools
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import joblib.parallel
import pytest

from core.errors import InterplayError, MissingExtra
from core.executor import map_units
from core.grading import FailedOutcome, Failure, FailureKind

UNITS = list(range(7))


def make_work():
    """A function inside a function: the workers of every kind get it by value."""

    def work(unit: int) -> int:
        if unit == 3:
            raise ValueError("three is odd \udcff")
        if unit == 4:
            raise InterplayError("four is not allowed; take five")
        if unit == 5:
            raise FailedOutcome(Failure(kind="timeout", message="five took too long"))
        return unit * unit

    return work


def check_outcomes(results) -> None:
    """Every unit once, whatever happened to the others."""
    found = dict(results)
    assert sorted(found) == UNITS
    assert {unit: found[unit].unwrap() for unit in (0, 1, 2, 6)} == {0: 0, 1: 1, 2: 4, 6: 36}
    assert found[3].failure.kind is FailureKind.BUG
    assert "in work" in found[3].failure.message
    assert found[3].failure.message.endswith("ValueError: three is odd \udcff\n")
    assert found[4].failure == Failure(kind=FailureKind.BAD_INPUT, message="four is not allowed; take five")
    assert found[5].failure == Failure(kind=FailureKind.TIMEOUT, message="five took too long")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("backend", ["local", "threads"])
def test_every_unit_has_an_outcome(backend, workers):
    check_outcomes(map_units(make_work(), iter(UNITS), backend=backend, workers=workers))


@pytest.mark.cluster
def test_a_dask_cluster_gives_the_same_outcomes():
    check_outcomes(map_units(make_work(), iter(UNITS), backend="dask", workers=2))


@pytest.mark.cluster
def test_ray_gives_the_same_outcomes_on_the_cluster_that_ray_address_names(monkeypatch, tmp_path):
    import ray

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    head = start_ray(port, tmp_path / "head.log")
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
    try:
        check_outcomes(map_units(make_work(), iter(UNITS), backend="ray", workers=2))
        assert ray.get_runtime_context().gcs_address.endswith(f":{port}")
        crashed = dict(map_units(make_crash(), [0, 1], backend="ray", workers=2))
        assert crashed[0].unwrap() == "fine"
        assert crashed[1].failure.kind is FailureKind.CRASHED
    finally:
        ray.shutdown()
        head.send_signal(signal.SIGTERM)
        head.wait(timeout=30)


def start_ray(port: int, log: Path) -> subprocess.Popen:
    """A head node in the foreground, which ends its children when it ends."""
    ray = str(Path(sys.executable).parent / "ray")
    line = [ray, "start", "--head", "--block", f"--port={port}", "--num-cpus=2", "--include-dashboard=false"]
    line += ["--node-ip-address=127.0.0.1", "--disable-usage-stats", "--object-store-memory=80000000"]
    with log.open("wb") as told:
        head = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=told)
    for line in head.stdout:
        if b"Ray runtime started" in line:
            return head
    raise AssertionError(f"Ray did not start:\n{log.read_text()}")


def make_crash():
    def crash(unit: int) -> str:
        if unit == 1:
            os._exit(1)
        return "fine"

    return crash


@pytest.mark.filterwarnings("error:.*tasks")
@pytest.mark.parametrize("backend", ["local", "threads"])
def test_units_are_taken_as_they_are_needed_and_the_work_can_be_stopped(backend):
    endless = map_units(make_work(), itertools.count(10), backend=backend, workers=2)
    assert all(outcome.unwrap() == unit**2 for unit, outcome in itertools.islice(endless, 5))
    endless.close()


def test_the_choice_of_backend_does_not_leak_between_two_outcomes():
    default = type(joblib.parallel.get_active_backend()[0])
    for _ in map_units(make_work(), UNITS, backend="threads", workers=2):
        assert type(joblib.parallel.get_active_backend()[0]) is default


def test_local_workers_are_other_processes_with_one_thread_each(monkeypatch):
    # Left to itself, joblib gives two workers on eight cores four threads each.
    monkeypatch.setattr("joblib._parallel_backends.cpu_count", lambda *_, **__: 8)

    def look(_unit: int) -> tuple[int, str | None]:
        return os.getpid(), os.environ.get("OMP_NUM_THREADS")

    for _, outcome in map_units(look, UNITS, backend="local", workers=2):
        process, threads = outcome.unwrap()
        assert process != os.getpid()
        assert threads == "1"


def test_threads_are_of_this_process():
    results = map_units(lambda _unit: os.getpid(), UNITS, backend="threads", workers=2)
    assert {outcome.unwrap() for _, outcome in results} == {os.getpid()}


def test_a_function_must_return_something():
    ((_, outcome),) = map_units(lambda _unit: None, [1])
    assert outcome.failure.kind is FailureKind.BUG
    assert "an outcome holds a value or a failure" in outcome.failure.message


@pytest.mark.parametrize(("backend", "package"), [("ray", "ray"), ("dask", "distributed")])
def test_a_missing_cluster_package_is_named(monkeypatch, backend, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'interplay\[{backend}\]'"):
        list(map_units(make_work(), UNITS, backend=backend, workers=2))
