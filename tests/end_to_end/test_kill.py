"""Killed outright at many moments and called again, a project ends as if nothing had happened.

One project goes all the way undisturbed. Another goes the same way, and every long command is killed with its journal,
tables and blobs half written, again and again, before it may end.
"""

import hashlib
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlmodel import select

from qc.review.verdicts import give_verdict
from warehouse.inspection import inspect_blobs
from warehouse.items import revisions_in
from warehouse.people import Role, add_user
from warehouse.release.export import sealed_manifest
from warehouse.release.records import get_release
from warehouse.tables import Decision, ItemState, Run, RunStatus
from warehouse.workspace import open_workspace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

WAIT_S = 60.0
CONDITIONS = [word for name in ("full", "without_audio", "text_only") for word in ("--condition", name)]
MODELS = ["--model", "keen", "--model", "hasty"]


class Watched:
    """A project's progress as it can be seen from outside, since the command at work began."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._connection = sqlite3.connect(f"file:{project / 'interplay.db'}?mode=ro", uri=True)
        self.begin()

    def begin(self) -> None:
        self._old_journals = set(self._journals())
        self._old_runs = self.count("run")

    def count(self, table: str, where: str = "true") -> int:
        return self._connection.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()[0]

    def begun(self) -> bool:
        return self.count("run") > self._old_runs

    def journaled(self, kind: str) -> int:
        fresh = [path for path in self._journals() if path not in self._old_journals and path.name.startswith(kind)]
        return sum(path.read_bytes().count(b"\n") for path in fresh if path.exists())

    def published(self, kind: str) -> int:
        return len(list((self.project / "facts" / kind).glob("[!.]*.parquet")))

    def blobs(self) -> int:
        return len(stored_in(self.project / "blobs"))

    def _journals(self) -> list[Path]:
        return sorted((self.project / "journal").glob("*.jsonl"))


Moment = Callable[[Watched], bool]


@dataclass(frozen=True)
class Stand:
    """How a project stands after a stage, and whether each of the kills before came while the command was at work."""

    killed: list[bool]
    contents: dict[str, list[str]]
    blobs: dict[str, str]
    journals: list[str]


def stored_in(folder: Path) -> dict[str, str]:
    """Files by relative path with the sha256 of their bytes; what a killed writer left aside under a hidden name is none."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def processes_of(session_id: int) -> set[int]:
    """Processes of one session that are alive."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(session) == session_id and state not in "ZX":
            found.add(int(stat.parent.name))
    return found


class Way:
    """A project's way from files to answers; each stage of `moments` is killed at each of its moments first."""

    def __init__(self, interplay, source: Path, project: Path, contents_of, moments: dict[str, list[Moment]]) -> None:
        self.interplay, self.source, self.project = interplay, source, project
        self.contents_of, self.moments = contents_of, moments
        self.stands: dict[str, Stand] = {}

    def go(self) -> "Way":
        self._stage("ingest", "material", "ingest", "--manifest", self.source / "manifest.csv")
        self._run("item", "import", self.source / "items.yaml", "--author", "ann")
        self._stage("qc", "qc", "run")
        review(self.project)
        self._run("release", "build", "small", "1.0.0", "--by", "rob")
        self._run("release", "seal", "small", "1.0.0", "--by", "rob")
        self._stage("evaluation", "evaluation", "run", "small", "1.0.0", *MODELS, *CONDITIONS)
        return self

    def _stage(self, name: str, *command: object) -> None:
        watched = Watched(self.project)
        arguments = (*command, "--project", self.project)
        killed = [kill_at(self.interplay, watched, moment, arguments) for moment in self.moments.get(name, [])]
        self._run(*command)
        journals = [path.name for path in (self.project / "journal").glob("*.jsonl")]
        self.stands[name] = Stand(killed, self.contents_of(self.project), stored_in(self.project / "blobs"), journals)

    def _run(self, *command: object) -> None:
        self.interplay.run(*command, "--project", self.project)


def kill_at(interplay, watched: Watched, moment: Moment, arguments: tuple[object, ...]) -> bool:
    """Begin a command, kill it outright when the moment has come, and wait until its workers are gone, too."""
    watched.begin()
    process = interplay.start(*arguments)
    while process.poll() is None and not moment(watched):
        time.sleep(0.003)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + WAIT_S
    while left := processes_of(process.pid):
        assert time.monotonic() < deadline, f"workers {left} outlive their killed parent"
        time.sleep(0.01)
    return process.returncode == -signal.SIGKILL


def review(project: Path) -> None:
    with open_workspace(project) as workspace, workspace.database.session() as session:
        for reviewer in ("rob", "rie"):
            add_user(session, reviewer, frozenset({Role.REVIEWER}), actor="tests")
            for item, _ in revisions_in(session, ItemState.ROUND2_PASSED):
                give_verdict(session, item.name, 3, reviewer, Decision.PASS)


def manifest_of(project: Path) -> bytes:
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        return sealed_manifest(workspace.blobs, get_release(session, "small", "1.0.0"))[1]


MOMENTS: dict[str, list[Moment]] = {
    "ingest": [
        lambda seen: seen.begun(),
        lambda seen: seen.blobs() > 0,
        lambda seen: seen.count("material") >= 4,
        lambda seen: seen.count("material") >= 9,
    ],
    "qc": [
        lambda seen: seen.journaled("response") > 0,
        lambda seen: seen.count("verdict") >= 2,
        lambda seen: seen.count("run", "command = 'qc round 2'") > 0 and seen.journaled("response") >= 10,
        lambda seen: seen.count("verdict", "round = 2") > 0,
    ],
    "evaluation": [
        lambda seen: seen.journaled("response") > 0,
        lambda seen: seen.journaled("response") >= 8,
        lambda seen: seen.journaled("grade") > 0,
        lambda seen: seen.published("grade") > 0,
    ],
}
STAGES = tuple(MOMENTS)


@pytest.fixture(scope="module")
def ways(interplay, small_source, small_project, contents_of, tmp_path_factory) -> tuple[Way, Way]:
    """The undisturbed way and the disturbed one, side by side: most of the time is that of processes that start."""
    folder = tmp_path_factory.mktemp("kill")
    undisturbed = small_project(folder / "undisturbed")
    disturbed = shutil.copytree(undisturbed, folder / "disturbed")
    taken = [
        Way(interplay, small_source, project, contents_of, moments)
        for project, moments in ((undisturbed, {}), (disturbed, MOMENTS))
    ]
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(Way.go, taken)
    return first, second


@pytest.fixture(scope="module")
def undisturbed(ways) -> dict[str, Stand]:
    return ways[0].stands


@pytest.fixture(scope="module")
def disturbed(ways) -> dict[str, Stand]:
    return ways[1].stands


def test_the_undisturbed_way_is_worth_comparing_with(undisturbed):
    counts = {table: len(rows) for table, rows in undisturbed["evaluation"].contents.items()}
    # The media of four items, two sounds out of their films, a photo and a chime; an empty file and one cut off.
    assert (counts["material"], counts["material_source"], counts["ingest_failure"]) == (12, 12, 2)
    # Every item is judged in rounds 1 and 2; the three that are sound by two people in round 3.
    assert (counts["verdict"], counts["release_item"]) == (4 + 4 + 3 * 2, 3)
    asked = counts["fact response"] - len(undisturbed["qc"].contents["fact response"])
    assert asked == len(MODELS) // 2 * 3 * len(CONDITIONS) // 2
    assert counts["fact grade"] >= asked


@pytest.mark.parametrize("stage", STAGES)
def test_it_was_killed_while_it_worked(disturbed, stage):
    assert sum(disturbed[stage].killed) >= 4


@pytest.mark.parametrize("stage", STAGES)
def test_called_again_it_ends_with_the_same_rows_and_facts(undisturbed, disturbed, stage):
    for table, rows in undisturbed[stage].contents.items():
        assert disturbed[stage].contents[table] == rows, table


@pytest.mark.parametrize("stage", STAGES)
def test_called_again_it_ends_with_the_same_bytes(undisturbed, disturbed, stage):
    assert disturbed[stage].blobs == undisturbed[stage].blobs
    assert all(Path(place).name == sha256 for place, sha256 in disturbed[stage].blobs.items())


@pytest.mark.parametrize("stage", STAGES)
def test_every_orphaned_journal_became_facts(disturbed, stage):
    assert disturbed[stage].journals == []


def test_the_sealed_manifests_are_the_same_to_the_byte(ways):
    first, second = (manifest_of(way.project) for way in ways)
    assert first == second


def test_every_killed_run_is_told_of_as_interrupted(ways, disturbed):
    with open_workspace(ways[1].project) as workspace, workspace.database.reading() as session:
        runs = session.exec(select(Run)).all()
    killed = sum(sum(disturbed[stage].killed) for stage in STAGES)
    assert killed >= 12
    assert {run.status for run in runs} == {RunStatus.FINISHED, RunStatus.INTERRUPTED}
    # A command may be killed between two of its runs, or after the last.
    assert killed - 4 <= sum(run.status is RunStatus.INTERRUPTED for run in runs) <= killed


def test_what_killed_writers_left_aside_is_no_data(interplay, ways, tmp_path):
    project = shutil.copytree(ways[1].project, tmp_path / "littered")
    blob = next(path for path in (project / "blobs").rglob("*") if path.is_file() and not path.name.startswith("."))
    facts = next((project / "facts" / "response").glob("[!.]*.parquet"))
    for file in (blob, facts):
        # As `write_atomically` names what it has not finished.
        (file.parent / f".{file.name}.0123456789abcdef.tmp").write_bytes(file.read_bytes()[:100])
    (project / "journal" / ".response-run-part.new").write_bytes(b'{"key": "half')
    with open_workspace(ways[1].project) as workspace:
        before = inspect_blobs(workspace.database, workspace.blobs, workspace.originals)
    with open_workspace(project) as workspace:
        assert inspect_blobs(workspace.database, workspace.blobs, workspace.originals) == before
    assert before.problems == []
    again = interplay.run("evaluation", "run", "small", "1.0.0", *MODELS, *CONDITIONS, "--project", project).stdout
    assert again.startswith("asked 0, reused 0, known before ")
    assert [path.name for path in (project / "journal").iterdir()] == [".response-run-part.new"]
