"""Killed outright at many moments and called again, a project ends as if nothing had happened.

One project goes all the way undisturbed. Another goes the same way, and every long command is killed with its journal,
tables and blobs half written, again and again, before it may end.
"""

import hashlib
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from qc.review import give_verdict
from warehouse.items import revisions_in
from warehouse.people import Role, add_user
from warehouse.release.export import sealed_manifest
from warehouse.release.records import get_release
from warehouse.tables import Decision, ItemState, Run, RunStatus
from warehouse.workspace import open_workspace

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


@pytest.fixture(scope="module")
def way(interplay, small_source, small_project, contents_of, tmp_path_factory):
    """Goes all the way with a project; `moments` are when each stage is killed. Returns what stood after each stage."""

    def take(name: str, moments: dict[str, list[Moment]]) -> dict[str, dict]:
        project = small_project(tmp_path_factory.mktemp("kill") / name)
        watched = Watched(project)
        stands: dict[str, dict] = {}

        def stage(name: str, *command: object) -> None:
            arguments = (*command, "--project", project)
            killed = [kill_at(interplay, watched, moment, arguments) for moment in moments.get(name, [])]
            interplay.run(*arguments)
            stands[name] = {
                "killed": killed,
                "contents": contents_of(project),
                "blobs": stored_in(project / "blobs"),
                "journals": [path.name for path in (project / "journal").glob("*.jsonl")],
            }

        stage("ingest", "material", "ingest", "--manifest", small_source / "manifest.csv")
        interplay.run("item", "import", small_source / "items.yaml", "--author", "ann", "--project", project)
        stage("qc", "qc", "run")
        review(project)
        interplay.run("release", "build", "small", "--version", "1.0.0", "--project", project)
        interplay.run("release", "seal", "small", "1.0.0", "--project", project)
        stage("evaluation", "evaluation", "run", "small", "1.0.0", *MODELS, *CONDITIONS)
        stands["end"] = {"project": project, "manifest": manifest_of(project)}
        return stands

    return take


def kill_at(interplay, watched: Watched, moment: Moment, arguments: tuple[object, ...]) -> bool:
    """Begin a command, kill it outright when the moment has come, and wait until its workers are gone, too."""
    watched.begin()
    process = interplay.start(*arguments)
    while process.poll() is None and not moment(watched):
        time.sleep(0.001)
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


@pytest.fixture(scope="module")
def undisturbed(way) -> dict[str, dict]:
    return way("undisturbed", {})


@pytest.fixture(scope="module")
def disturbed(way, undisturbed) -> Iterator[dict[str, dict]]:
    materials = len(undisturbed["ingest"]["contents"]["material"])
    asked = len(undisturbed["evaluation"]["contents"]["fact response"]) - len(
        undisturbed["qc"]["contents"]["fact response"]
    )
    moments: dict[str, list[Moment]] = {
        "ingest": [
            lambda seen: seen.begun(),
            lambda seen: seen.blobs() > 0,
            lambda seen: seen.count("material") >= materials // 3,
            lambda seen: seen.count("material") >= materials - 2,
        ],
        "qc": [
            lambda seen: seen.journaled("response") > 0,
            lambda seen: seen.journaled("response") >= 20,
            lambda seen: seen.count("verdict") >= 2,
            lambda seen: seen.count("run", "command = 'qc round 2'") > 0 and seen.journaled("response") >= 10,
            lambda seen: seen.count("verdict", "round = 2") > 0,
        ],
        "evaluation": [
            lambda seen: seen.begun(),
            lambda seen: seen.journaled("response") > 0,
            lambda seen: seen.journaled("response") >= asked // 2,
            lambda seen: seen.journaled("grade") > 0,
            lambda seen: seen.published("grade") > 0,
        ],
    }
    yield way("disturbed", moments)


STAGES = ("ingest", "qc", "evaluation")


def test_the_undisturbed_way_is_worth_comparing_with(undisturbed):
    contents = undisturbed["evaluation"]["contents"]
    # 10 files of items of which 3 or so are films with a sound, a photo, a chime; two broken ones.
    assert len(contents["ingest_failure"]) == 2
    assert len(contents["material"]) > 12
    assert len(contents["release_item"]) >= 3
    assert len(contents["fact grade"]) == len(contents["fact response"]) - len(undisturbed["qc"]["contents"]["fact response"])
    assert len(contents["verdict"]) >= 5 + 5 + 8


@pytest.mark.parametrize("stage", STAGES)
def test_it_was_killed_while_it_worked(disturbed, stage):
    assert sum(disturbed[stage]["killed"]) >= 4


@pytest.mark.parametrize("stage", STAGES)
def test_called_again_it_ends_with_the_same_rows_and_facts(undisturbed, disturbed, stage):
    for table, rows in undisturbed[stage]["contents"].items():
        assert disturbed[stage]["contents"][table] == rows, table


@pytest.mark.parametrize("stage", STAGES)
def test_called_again_it_ends_with_the_same_bytes(undisturbed, disturbed, stage):
    assert disturbed[stage]["blobs"] == undisturbed[stage]["blobs"]
    assert all(Path(place).name == sha256 for place, sha256 in disturbed[stage]["blobs"].items())


@pytest.mark.parametrize("stage", STAGES)
def test_every_orphaned_journal_became_facts(disturbed, stage):
    assert disturbed[stage]["journals"] == []


def test_the_sealed_manifests_are_the_same_to_the_byte(undisturbed, disturbed):
    assert disturbed["end"]["manifest"] == undisturbed["end"]["manifest"]


def test_every_killed_run_is_told_of_as_interrupted(disturbed):
    with open_workspace(disturbed["end"]["project"]) as workspace, workspace.database.reading() as session:
        runs = session.exec(select(Run)).all()
    killed = sum(sum(disturbed[stage]["killed"]) for stage in STAGES)
    assert killed >= 12
    assert {run.status for run in runs} == {RunStatus.FINISHED, RunStatus.INTERRUPTED}
    # A command may be killed between two of its runs.
    assert killed - 2 <= sum(run.status is RunStatus.INTERRUPTED for run in runs) <= killed


def test_what_killed_writers_left_aside_is_no_data(interplay, disturbed, tmp_path):
    project = shutil.copytree(disturbed["end"]["project"], tmp_path / "littered")
    blob = next(path for path in (project / "blobs").rglob("*") if path.is_file() and not path.name.startswith("."))
    facts = next((project / "facts" / "response").glob("[!.]*.parquet"))
    for file in (blob, facts):
        # As `write_atomically` names what it has not finished.
        (file.parent / f".{file.name}.0123456789abcdef.tmp").write_bytes(file.read_bytes()[:100])
    (project / "journal" / ".response-run-part.new").write_bytes(b'{"key": "half')
    before = interplay.run("warehouse", "verify", "--json", "--project", disturbed["end"]["project"]).stdout
    assert interplay.run("warehouse", "verify", "--json", "--project", project).stdout == before
    again = interplay.run("evaluation", "run", "small", "1.0.0", *MODELS, *CONDITIONS, "--project", project).stdout
    assert again.startswith("asked 0, reused 0, known before ")
    assert os.listdir(project / "journal") == [".response-run-part.new"]
