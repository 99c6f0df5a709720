"""How many writes a second the studio takes from 20 and 200 annotators, beside Label Studio with the same work.

    python benchmarks/studio.py [--label-studio PYTHON] [--annotators 20 200] [--seconds 20] [--rounds 3] [--json FILE]

PYTHON is the interpreter of an environment in which label-studio is installed (docs/benchmarks.md says how).

Every annotator signs in through the form and has a connection and cookies of their own. They take a task, save a draft
five times, hand it in, take the next, and pause before each request (`--think`, half as long to half as long again); a
slow server slows them down as it does people. Each go begins with a fresh copy of a template; programs take turns. At
its end the server is killed outright, and its database is read: what it accepted must be there.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Run as a script, this folder comes first, where `compression` is a benchmark and hides the package.
sys.path = [*(place for place in sys.path if Path(place or ".").resolve() != HERE), str(HERE)]

import psutil  # type: ignore[import-untyped]  # noqa: E402
from studio_subjects.counting import between, durations_ms, failures, given_twice, lost, percentile  # noqa: E402
from studio_subjects.houses import House, Ours, Running, Theirs  # noqa: E402
from studio_subjects.load import Record  # noqa: E402
from studio_subjects.postgres import Postgres, binaries, running  # noqa: E402

DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
LOOK_S = 0.25
OPS = ("save", "next task", "hand in", "answer", "open a question", "hand in a question", "sign in")


@dataclass(frozen=True)
class Go:
    """One program under one load, once. Times in ms; `latencies` are p50, p95, p99 of the accepted requests by kind.

    `work` is "load" where requests are writes, "pages" where they are pages that were opened.
    """

    work: str
    house: str
    annotators: int
    writes_a_second: float
    latencies: dict[str, tuple[float, float, float]]
    failed: dict[str, int]
    lost: int
    given_twice: int
    cpu_ms_a_write: float
    database_cpu_ms_a_write: float
    server_cpus: float
    peak_mb: float
    client_cpus: float


class Meter:
    """Processor time and memory of a process and what it started; looked at in a thread."""

    def __init__(self, process_id: int) -> None:
        self._process = psutil.Process(process_id)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.peak_mb = 0.0
        self._thread.start()

    def cpu_s(self) -> float:
        """Used until now, by those that have ended as well."""
        return sum(sum(one.cpu_times()[:4]) for one in self._alive())

    def close(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(LOOK_S):
            self.peak_mb = max(self.peak_mb, sum(one.memory_info().rss for one in self._alive()) / 2**20)

    def _alive(self) -> Iterator[psutil.Process]:
        try:
            found = [self._process, *self._process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for one in found:
            with one.oneshot():
                try:
                    one.cpu_times(), one.memory_info()
                except (psutil.NoSuchProcess, psutil.ZombieProcess):
                    continue
                yield one


def go(work: str, house: House, annotators: int, options: argparse.Namespace) -> Go:
    """Serve a copy, let the annotators in, kill the server, read what is left.

    Raises:
        NotReady: The server did not start.
    """
    with house.serving() as server:
        meters = [Meter(server.process_id)]
        if house.postgres:
            meters.append(Meter(house.postgres.process_id))
        told, used = _loaded(work, server, annotators, options, house.folder, meters)
        for meter in meters:
            meter.close()
    records = [Record(**_given(line)) for line in (house.folder / "log.jsonl").read_text("utf-8").splitlines()]
    counted = between(records, told["begin_s"], told["end_s"])
    accepted = [one for one in counted if one.failure is None]
    by_op: dict[str, list[Record]] = defaultdict(list)
    for one in counted:
        by_op[one.op].append(one)
    by_op |= {"all": counted, "sign in": [one for one in records if one.op == "sign in"]}
    return Go(
        work=work,
        house=house.name,
        annotators=annotators,
        writes_a_second=len(accepted) / options.seconds,
        latencies={op: _percentiles(durations_ms(found)) for op, found in by_op.items()},
        failed=dict(failures(records)),
        lost=len(lost(records, house.stored())),
        given_twice=given_twice(records),
        cpu_ms_a_write=1000 * used[0] / max(len(accepted), 1),
        database_cpu_ms_a_write=1000 * sum(used[1:]) / max(len(accepted), 1),
        server_cpus=used[0] / options.seconds,
        peak_mb=meters[0].peak_mb,
        client_cpus=told["cpu_share"],
    )


def _loaded(
    work: str, server: Running, annotators: int, options: argparse.Namespace, folder: Path, meters: Sequence[Meter]
) -> tuple[dict[str, float], list[float]]:
    """What the annotators' process told, and what each meter counted meanwhile."""
    job = server.job | {
        "address": server.address, "annotators": annotators, "think_s": options.think, "warm_s": options.warm,
        "look_s": options.look, "seconds": options.seconds, "log": str(folder / "log.jsonl"),
    }  # fmt: skip
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    command = [sys.executable, str(HERE / "studio_subjects" / f"{work}.py"), str(folder / "job.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        begin, end = (_at(process.stdout.readline(), word, meters) for word in ("begin", "end"))
        told = json.loads(process.stdout.readline())
    return told, [after - before for before, after in zip(begin, end, strict=True)]


def _at(line: str, word: str, meters: Sequence[Meter]) -> list[float]:
    if line.strip() != word:
        raise RuntimeError(f"the annotators' process said {line!r}")
    return [meter.cpu_s() for meter in meters]


def _given(line: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(line)
    return told | {"wrote": tuple(told["wrote"]) if told["wrote"] else None}


def _percentiles(values: Sequence[float]) -> tuple[float, float, float]:
    return percentile(values, 0.5), percentile(values, 0.95), percentile(values, 0.99)


def _median(goes: Sequence[Go], column: Callable[[Go], float]) -> float:
    return statistics.median(map(column, goes))


def print_tables(goes: Sequence[Go], annotators: Sequence[int], missing: Sequence[str]) -> None:
    """In Markdown: first what the load comes to, then each kind of request."""
    by_house: dict[tuple[int, str], list[Go]] = defaultdict(list)
    for one in goes:
        by_house[one.annotators, one.house].append(one)
    titles = (
        "annotators", "subject", "writes a second", "range", "ratio to ours", "p50 ms", "p95 ms", "p99 ms",
        "failures", "lost writes", "given twice", "CPU ms a write", "of the database", "CPUs", "peak MB", "client CPUs",
    )  # fmt: skip
    _print_row(titles)
    _print_row(["---"] * len(titles))
    for count in annotators:
        for (number, name), done in by_house.items():
            if number == count:
                _print_load(count, name, done, by_house)
        for name in missing:
            _print_row([str(count), name, "not installed", *["-"] * (len(titles) - 3)])
    print()
    _print_row(("annotators", "subject", *OPS))
    _print_row(["---"] * (len(OPS) + 2))
    for (count, name), done in by_house.items():
        _print_row([str(count), name, *(_three(done, op) for op in OPS)])
    for (count, name), done in by_house.items():
        if failed := sum((Counter(one.failed) for one in done), Counter()):
            told = ", ".join(f"{kind} x {number}" for kind, number in failed.most_common())
            print(f"\n{name}, {count} annotators, failures of {len(done)} goes: {told}")


def print_pages(goes: Sequence[Go]) -> None:
    """The studio's pages as visitors open them."""
    done_by: dict[tuple[int, str], list[Go]] = defaultdict(list)
    for one in goes:
        done_by[one.annotators, one.house].append(one)
    pages = sorted({op for one in goes for op in one.latencies} - {"all", "sign in"})
    titles = ["annotators", "subject", "pages a second", "range", "p50 / p95 / p99 ms", *pages]
    titles += ["failures", "CPU ms a page", "CPUs", "peak MB", "client CPUs"]
    print()
    _print_row(titles)
    _print_row(["---"] * len(titles))
    for (count, name), done in done_by.items():
        rates = sorted(one.writes_a_second for one in done)
        cells = [str(count), name, f"{statistics.median(rates):.1f}", f"{rates[0]:.1f}-{rates[-1]:.1f}"]
        cells += [_three(done, op) for op in ("all", *pages)]
        cells += [str(sum(sum(one.failed.values()) for one in done))]
        cells += [f"{_median(done, lambda one: one.cpu_ms_a_write):.0f}"]
        cells += [f"{_median(done, lambda one: one.server_cpus):.2f}", f"{_median(done, lambda one: one.peak_mb):.0f}"]
        _print_row([*cells, f"{_median(done, lambda one: one.client_cpus):.2f}"])


def _print_load(count: int, name: str, done: list[Go], by_house: dict[tuple[int, str], list[Go]]) -> None:
    ours = by_house.get((count, f"{Ours.program}, {name.rpartition(', ')[2]}"), [])
    rates = sorted(one.writes_a_second for one in done)
    middle = statistics.median(rates)
    base = _median(ours, lambda one: one.writes_a_second) if ours else 0.0
    ratio = f"{middle / base:.2f}" if base else "-"
    _print_row(
        [
            str(count),
            name,
            f"{middle:.1f}",
            f"{rates[0]:.1f}-{rates[-1]:.1f}",
            ratio,
            *_three(done, "all").split(" / "),
            str(sum(sum(one.failed.values()) for one in done)),
            str(sum(one.lost for one in done)),
            str(sum(one.given_twice for one in done)),
            f"{_median(done, lambda one: one.cpu_ms_a_write):.1f}",
            f"{_median(done, lambda one: one.database_cpu_ms_a_write):.1f}",
            f"{_median(done, lambda one: one.server_cpus):.2f}",
            f"{_median(done, lambda one: one.peak_mb):.0f}",
            f"{_median(done, lambda one: one.client_cpus):.2f}",
        ]
    )


def _three(done: Sequence[Go], op: str) -> str:
    measured = [one.latencies[op] for one in done if op in one.latencies]
    if not measured:
        return "-"
    return " / ".join(f"{statistics.median(values):.0f}" for values in zip(*measured, strict=True))


def _print_row(cells: Sequence[str]) -> None:
    print("| " + " | ".join(cells) + " |")


def main() -> None:
    """Make the templates, take turns, print."""
    options = _options()
    print(f"{date.today()}, {os.cpu_count()} cores, CPython {platform.python_version()}, load {os.getloadavg()[0]:.1f}")
    goes: list[Go] = []
    with tempfile.TemporaryDirectory(prefix="interplay-load-") as folder, ExitStack() as opened:
        houses = _houses(options, Path(folder), opened)
        for number in range(options.rounds):
            for count in options.annotators:
                for house in houses[number % len(houses) :] + houses[: number % len(houses)]:
                    for work in ("load", "pages") if isinstance(house, Ours) and options.look else ("load",):
                        goes.append(go(work, house, count, options))
                        _say(f"round {number + 1}", goes[-1])
    print(
        f"{options.rounds} rounds of {options.seconds:.0f} s after {options.warm:.0f} s, pauses of {options.think} s, "
        f"{options.tasks} tasks; p50 / p95 / p99 in ms\n"
    )
    is_there = options.label_studio is not None
    wanted = "label-studio" in options.subjects
    missing = [f"{Theirs.program}, {DATABASES[one]}" for one in options.databases if wanted and not is_there]
    print_tables([one for one in goes if one.work == "load"], options.annotators, missing)
    if options.look:
        print_pages([one for one in goes if one.work == "pages"])
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in goes], indent=1), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--label-studio", type=Path, metavar="PYTHON", help="of an environment that has label-studio")
    parser.add_argument("--annotators", type=int, nargs="+", default=[20, 200])
    parser.add_argument(
        "--subjects", nargs="+", choices=["interplay", "label-studio"], default=["interplay", "label-studio"]
    )
    parser.add_argument("--databases", nargs="+", choices=list(DATABASES), default=list(DATABASES))
    parser.add_argument("--seconds", type=float, default=20.0, help="that are counted, in each go")
    parser.add_argument("--warm", type=float, default=12.0, help="seconds before, in which people begin one by one")
    parser.add_argument("--think", type=float, default=1.0, help="seconds that people pause before a request")
    parser.add_argument("--look", type=float, default=20.0, help="seconds that people look at a page; 0: no pages")
    parser.add_argument("--tasks", type=int, default=2000, help="that wait at the start of a go")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="for all numbers of all goes")
    return parser.parse_args()


def _houses(options: argparse.Namespace, folder: Path, opened: ExitStack) -> list[House]:
    """All subjects with their templates; says what cannot be measured."""
    servers: list[Postgres | None] = [None] if "sqlite" in options.databases else []
    if "postgresql" in options.databases:
        programs = binaries()
        if programs is None:
            print("not measured: PostgreSQL (no initdb on this machine)")
        else:
            servers.append(opened.enter_context(running(programs)))
    found: list[House] = []
    for server in servers:
        common = (folder, server, max(options.annotators), options.tasks)
        if "interplay" in options.subjects:
            found.append(Ours(*common))
        if "label-studio" in options.subjects and options.label_studio:
            found.append(Theirs(options.label_studio, *common))
    for house in found:
        house.prepare()
        print(f"prepared: {house.name}", file=sys.stderr)
    return found


def _say(when: str, one: Go) -> None:
    print(
        f"{when}: {one.work}, {one.house}, {one.annotators}: {one.writes_a_second:.1f} a second, p95 "
        f"{one.latencies['all'][1]:.0f} ms, CPUs {one.server_cpus:.2f}, client {one.client_cpus:.2f}, "
        f"failed {one.failed}, lost {one.lost}, given twice {one.given_twice}, load {os.getloadavg()[0]:.1f}",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
