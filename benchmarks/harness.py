"""What a harness adds to every sample: ours beside Inspect AI alone, lmms-eval and VLMEvalKit, on one instant server.

Run: python benchmarks/harness.py [--quick] [--lmms-eval PYTHON] [--vlmevalkit PYTHON] [--samples 1000] [--repeats 3]

PYTHON is the interpreter of an environment in which the peer is installed (docs/benchmarks.md says how). One server
process answers every request at once; each subject is a process of its own that puts the same questions to it, 64 at a
time. The subjects take turns, and the whole round is repeated; printed are medians and the spread between repeats.
"""

import argparse
import io
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import IO, Any

import numpy as np
from PIL import Image

FOLDER = Path(__file__).resolve().parent
AT_ONCE = 64
WORKLOADS = {"text": (), "picture": ("image",), "picture and sound": ("image", "audio")}
OURS = "interplay"


@dataclass(frozen=True)
class Subject:
    """Something that is timed: a script of `harness_subjects`, and the interpreter that runs it."""

    name: str
    script: str
    options: dict[str, Any] = field(default_factory=dict)
    python: str = sys.executable
    without: str | None = None  # a kind of media that it does not take


@dataclass(frozen=True)
class Timing:
    """One go of one subject, for one sample where not said otherwise.

    Attributes:
        window_s: From the first request to the last answer stored.
        work_s: From when everything is loaded to the last answer stored.
        cpu_s: Of processors, over `work_s`.
        command_s: The whole process, for all samples.
        most_mb: Its peak memory.
        connections: That the server saw, for all samples.
        sent_kb: That the server got.
    """

    window_s: float
    work_s: float
    cpu_s: float
    command_s: float
    most_mb: float
    connections: float
    sent_kb: float


class Server:
    """The instant server's process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._asked: IO[str] = process.stdin
        self._told: IO[str] = process.stdout
        self.base_url = f"http://127.0.0.1:{int(self._told.readline())}/v1"

    def counts(self) -> dict[str, Any]:
        """What came since the last look."""
        self._asked.write("count\n")
        self._asked.flush()
        return dict(json.loads(self._told.readline()))


@contextmanager
def served() -> Iterator[Server]:
    """A server for as long as the body runs."""
    command = [sys.executable, str(FOLDER / "harness_server.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Server(process)
        assert process.stdin is not None
        process.stdin.close()


def subjects(lmms_eval: str | None, vlmevalkit: str | None) -> list[Subject]:
    """All that can be timed here, the floor first."""
    found = [
        Subject("aiohttp alone", "floor", {"client": "aiohttp"}),
        Subject("httpx alone", "floor", {"client": "httpx"}),
        Subject(OURS, "ours", {"graded": False}),
        Subject("interplay, graded", "ours", {"graded": True}),
        Subject("Inspect AI, Model.generate", "inspect_raw", {"way": "generate"}),
        Subject("Inspect AI, eval", "inspect_raw", {"way": "eval"}),
    ]
    if lmms_eval:
        threads = {"model": "openai", "at_once": "num_concurrent"}
        tasks = {"model": "async_openai", "at_once": "num_cpus"}
        found += [
            Subject("lmms-eval, async_openai", "lmms_eval_peer", tasks, lmms_eval),
            Subject("lmms-eval, openai", "lmms_eval_peer", threads, lmms_eval),
        ]
    if vlmevalkit:
        found += [
            Subject("VLMEvalKit", "vlmevalkit_peer", {"paused": True}, vlmevalkit, "audio"),
            Subject("VLMEvalKit without its pause", "vlmevalkit_peer", {"paused": False}, vlmevalkit, "audio"),
        ]
    return found


def version_of(distribution: str, python: str) -> str:
    """What is installed in an environment."""
    code = f"from importlib.metadata import version; print(version({distribution!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "of unknown version"


def write_samples(folder: Path, count: int, workload: str) -> Path:
    """Questions, each with media of its own: a picture (PNG, about 8 kB), a sound (WAV, 2 s, 64 kB)."""
    rng = np.random.default_rng(7)
    makers = {"image": ("png", _png), "audio": ("wav", _wav)}
    lines = []
    for number in range(count):
        files: dict[str, str | None] = {"image": None, "audio": None}
        for kind in WORKLOADS[workload]:
            ending, make = makers[kind]
            file = folder / f"{workload} {number}.{ending}"
            file.write_bytes(make(rng))
            files[kind] = str(file)
        question = f"Question {number}: which of these is both seen and heard at second {number} of the recording?"
        lines.append(json.dumps({"id": number, "question": question, "choices": ["cat", "bee", "cow", "dog"], **files}))
    told = folder / f"{workload}.jsonl"
    told.write_text("\n".join(lines), encoding="utf-8")
    return told


def _png(rng: np.random.Generator) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (52, 52, 3), dtype=np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def _wav(rng: np.random.Generator) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(16_000)
        out.writeframes(rng.integers(-9000, 9000, 32_000, dtype=np.int16).tobytes())
    return buffer.getvalue()


def timed(subject: Subject, server: Server, samples: Path, count: int) -> Timing:
    """Run a subject once.

    Raises:
        RuntimeError: It failed, or has not stored every answer: such a go has no time.
    """
    server.counts()
    with tempfile.TemporaryDirectory() as folder:
        job = {
            "base_url": server.base_url, "samples": str(samples), "folder": folder, "count": count,
            "concurrency": AT_ONCE, "options": subject.options,
        }  # fmt: skip
        file = Path(folder) / "job.json"
        file.write_text(json.dumps(job), encoding="utf-8")
        log = Path(folder) / "log.txt"
        begun_s = time.monotonic()
        with log.open("wb") as out:
            script = str(FOLDER / "harness_subjects" / f"{subject.script}.py")
            command = [subject.python, script, str(file)]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=_environment())
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        command_s = time.monotonic() - begun_s
        result = Path(folder) / "told.json"
        told = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {"stored": 0}
        counts = server.counts()
        if process.returncode or told["stored"] != count:
            said = log.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
            raise RuntimeError(f"it stored {told['stored']} of {count} answers; its last line: {said}")
    return Timing(
        window_s=(told["ended_s"] - counts["first_s"]) / count,
        work_s=(told["ended_s"] - told["begun_s"]) / count,
        cpu_s=told["cpu_s"] / count,
        command_s=command_s,
        most_mb=used.ru_maxrss / (1024 if sys.platform == "linux" else 1 << 20),
        connections=counts["connections"],
        sent_kb=counts["bytes"] / count / 1024,
    )


def _environment() -> dict[str, str]:
    one_thread = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONPATH": str(FOLDER.parent)}
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | one_thread


def in_turns(
    chosen: list[Subject], server: Server, samples: Path, count: int, repeats: int
) -> tuple[dict[str, list[Timing]], list[str]]:
    """The timings of each subject by name, and what failed and why; every round in another order."""
    goes: dict[str, list[Timing]] = {subject.name: [] for subject in chosen}
    failed: dict[str, str] = {}
    order = random.Random(1)  # peers take turns so that a busy spell of the machine meets all of them
    for number in range(repeats):
        for subject in order.sample(chosen, len(chosen)):
            if subject.name in failed:
                continue
            try:
                timing = timed(subject, server, samples, count)
            except (RuntimeError, OSError) as error:
                failed[subject.name] = str(error)
                continue
            goes[subject.name].append(timing)
            print(f"round {number + 1}: {subject.name}: {timing.window_s * 1e3:.2f} ms a sample", file=sys.stderr)
    return {name: done for name, done in goes.items() if name not in failed}, [
        f"{name}: {reason}" for name, reason in failed.items()
    ]


def median(goes: list[Timing], column: str) -> float:
    """Over the repeats."""
    return float(statistics.median(getattr(go, column) for go in goes))


def ratio(goes: dict[str, list[Timing]], done: list[Timing], column: str) -> str:
    """Of a subject's median to ours, where ours could be timed."""
    return f"{median(done, column) / median(goes[OURS], column):.2f}" if OURS in goes else "-"


def spread(goes: list[Timing], column: str) -> str:
    """The least and the most of the repeats, in ms."""
    values = sorted(getattr(go, column) for go in goes)
    return f"{values[0] * 1e3:.2f}-{values[-1] * 1e3:.2f}"


def print_table(
    workload: str, count: int, chosen: list[Subject], goes: dict[str, list[Timing]], missing: list[str]
) -> None:
    """One workload's table, in Markdown."""
    floors = [goes[one.name] for one in chosen if one.script == "floor" and one.name in goes]
    floor = min((median(done, "window_s") for done in floors), default=float("nan"))
    repeats = max(map(len, goes.values()), default=0)
    print(f"\n### {workload}, {count} samples, {AT_ONCE} at once, {repeats} repeats\n")
    titles = (
        "subject", "ms a sample", "spread", "beyond the floor", "ratio to ours", "with preparing", "ratio to ours",
        "CPU ms a sample", "whole command s", "peak MB", "kB sent a sample", "connections",
    )  # fmt: skip
    print("| " + " | ".join(titles) + " |")
    print("|" + " --- |" * len(titles))
    for name, done in goes.items():
        window, work = median(done, "window_s"), median(done, "work_s")
        cells = (
            name,
            f"{window * 1e3:.2f}",
            spread(done, "window_s"),
            f"{(window - floor) * 1e3:.2f}",
            ratio(goes, done, "window_s"),
            f"{work * 1e3:.2f}",
            ratio(goes, done, "work_s"),
            f"{median(done, 'cpu_s') * 1e3:.2f}",
            f"{median(done, 'command_s'):.1f}",
            f"{median(done, 'most_mb'):.0f}",
            f"{median(done, 'sent_kb'):.1f}",
            f"{median(done, 'connections'):.0f}",
        )
        print("| " + " | ".join(cells) + " |")
    for reason in missing:
        print(f"\nnot measured: {reason}")


def main() -> None:
    """Time all subjects in turns, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lmms-eval", metavar="PYTHON", help="interpreter of an environment with lmms-eval")
    parser.add_argument("--vlmevalkit", metavar="PYTHON", help="interpreter of an environment with VLMEvalKit")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workload", choices=list(WORKLOADS), action="append", help="one workload alone")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="subjects whose name holds it")
    parser.add_argument("--quick", action="store_true", help="200 samples of text, once: about 20 s without peers")
    options = parser.parse_args()
    count, repeats = (200, 1) if options.quick else (options.samples, options.repeats)
    workloads = ("text",) if options.quick else tuple(options.workload or WORKLOADS)
    peers = {"lmms-eval": options.lmms_eval, "ms-vlmeval": options.vlmevalkit}
    flags = {"lmms-eval": "--lmms-eval", "ms-vlmeval": "--vlmevalkit"}
    missing = [
        f"{name}: no environment was named ({flags[name]} PYTHON)" for name, python in peers.items() if not python
    ]
    chosen = [
        subject
        for subject in subjects(options.lmms_eval, options.vlmevalkit)
        if subject.script == "floor"
        or subject.name == OURS
        or any(text in subject.name for text in options.only or [""])
    ]
    print(f"{date.today()}, {os.cpu_count()} cores, CPython {platform.python_version()}")
    for distribution, python in (("inspect-ai", sys.executable), *peers.items()):
        if python:
            print(f"{distribution} {version_of(distribution, python)}")
    with tempfile.TemporaryDirectory() as folder, served() as server:
        for workload in workloads:
            samples = write_samples(Path(folder), count, workload)
            able = [subject for subject in chosen if subject.without not in WORKLOADS[workload]]
            unable = [f"{one.name}: it takes no {one.without}" for one in chosen if one not in able]
            goes, failed = in_turns(able, server, samples, count, repeats)
            print_table(workload, count, able, goes, [*missing, *unable, *failed])


if __name__ == "__main__":
    main()
