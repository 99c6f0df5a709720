import contextlib
import importlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from core.media.errors import DecoderCrashed, DecoderHung, TooLarge, TruncatedMedia
from core.media.guard import Guard
from core.media.limits import MediaLimits
from core.media.probe import probe

# Workers import functions by name, and test modules have none that they could import.
FUNCTIONS = """
import os


def double(number):
    return 2 * number


def spin(path):
    path.touch()
    while True:
        pass


def spin_in_c(path):
    path.touch()
    return max(range(10**18))


def leave(path):
    os._exit(3)


def abort(path):
    os.abort()


def hoard(path):
    return len(bytearray(2 << 30))


def hoard_in_pieces(path):
    kept = []
    while True:
        kept.append(bytearray(1 << 26))


def meet(path):
    (path / str(os.getpid())).touch()
    while len(list(path.iterdir())) < 2:
        pass
    return os.getpid()
"""


@pytest.fixture(scope="module")
def untrusted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("functions")
    (folder / "untrusted_functions.py").write_text(FUNCTIONS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield importlib.import_module("untrusted_functions")


@pytest.fixture(scope="module")
def guard(untrusted: ModuleType) -> Iterator[Guard]:
    with Guard(workers=1, limits=MediaLimits(timeout_s=60, memory_bytes=1 << 30)) as opened:
        yield opened


@pytest.fixture(scope="module")
def impatient(untrusted: ModuleType) -> Iterator[Guard]:
    with Guard(workers=1, limits=MediaLimits(timeout_s=1)) as opened:
        yield opened


def test_result_comes_back(guard, untrusted):
    assert guard.run(untrusted.double, 21) == 42
    assert guard.submit(untrusted.double, number=4).result() == 8
    assert guard.run(os.getpid) != os.getpid()


def test_exceptions_of_the_function_come_out_as_they_are(guard, make_film):
    with pytest.raises(ValueError, match="invalid literal"):
        guard.run(int, "x")
    with pytest.raises(TruncatedMedia, match="copy"):
        guard.run(probe, make_film()[:4000])
    with pytest.raises(TooLarge):
        guard.run(probe, make_film(), MediaLimits(max_pixels=10))


@pytest.mark.parametrize(
    ("where", "name", "error", "said"),
    [
        ("impatient", "spin", DecoderHung, "did not end within 1 s"),
        ("impatient", "spin_in_c", DecoderHung, "did not end within 1 s"),
        ("guard", "leave", DecoderCrashed, "crashed"),
        ("guard", "abort", DecoderCrashed, "crashed"),
        ("guard", "hoard", DecoderCrashed, "more than 1024 MiB"),
        ("guard", "hoard_in_pieces", DecoderCrashed, "more than 1024 MiB"),
    ],
)
def test_what_goes_wrong_costs_one_file_and_the_workers_go_on(request, tmp_path, untrusted, where, name, error, said):
    guard = request.getfixturevalue(where)
    before = guard.submit(untrusted.double, 1)
    path = tmp_path / "clip.mp4"
    wrong = guard.submit(getattr(untrusted, name), path)
    after = guard.submit(untrusted.double, 2)
    assert before.result() == 2
    with pytest.raises(error, match=said) as caught:
        wrong.result()
    assert str(caught.value).startswith(f"{path}: ")
    assert caught.value.reason in ("decoder_hung", "decoder_crashed")
    assert after.result() == 4


def test_probe_in_a_worker_is_the_same_probe(guard, tmp_path, make_film):
    path = tmp_path / "clip.mp4"
    path.write_bytes(make_film())
    assert guard.run(probe, path) == probe(path)


def test_workers_work_at_the_same_time(untrusted, tmp_path):
    with Guard(workers=2, limits=MediaLimits(timeout_s=60)) as two:
        # Each waits for the other's mark, so one worker alone would never end.
        pids = [two.submit(untrusted.meet, tmp_path) for _ in range(2)]
        assert len({pid.result() for pid in pids}) == 2


def test_leaving_on_an_error_ends_what_runs(untrusted, tmp_path):
    stopped = Guard(workers=1, limits=MediaLimits(timeout_s=600))
    pid = stopped.run(os.getpid)
    running, waiting = stopped.submit(untrusted.spin, tmp_path), stopped.submit(untrusted.double, 1)
    with pytest.raises(KeyboardInterrupt), stopped:
        raise KeyboardInterrupt
    assert running.done()
    assert waiting.cancelled()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


# Spinning in Python leaves it to the worker to see that its parent is gone; spinning in C holds the interpreter lock
# for good, so that only the kernel's alarm can end it.
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux to watch a process that is no child")
@pytest.mark.parametrize(("function", "timeout_s"), [("spin", 600.0), ("spin_in_c", 3.0)])
def test_workers_die_with_their_parent(untrusted, tmp_path, function, timeout_s):
    mark = tmp_path / "started"
    script = (
        "import os, pathlib, signal, untrusted_functions\n"
        "import core.media.guard as module\n"
        "module.ALARM_GRACE_S = 0.2\n"
        f"guard = module.Guard(1, module.MediaLimits(timeout_s={timeout_s}))\n"
        "print(guard.run(os.getpid), flush=True)\n"
        f"mark = pathlib.Path({str(mark)!r})\n"
        f"guard.submit(untrusted_functions.{function}, mark)\n"
        "while not mark.exists():\n"
        "    pass\n"
        "print('started', flush=True)\n"
        "signal.pause()\n"
    )
    folder = Path(untrusted.__file__).parent
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
    )
    assert parent.stdout is not None
    with parent:
        pid = int(parent.stdout.readline())
        worker = os.pidfd_open(pid)
        try:
            assert parent.stdout.readline() == "started\n"
            parent.kill()
            ended, _, _ = select.select([worker], [], [], 30)
            assert ended
        finally:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(worker, signal.SIGKILL)
            os.close(worker)
