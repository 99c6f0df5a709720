"""The real command line in processes of its own, a small project's files, and what a project holds, put into words."""

import csv
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlmodel import Session, SQLModel, select

from annotation_ui.authoring import import_items
from core.provenance import canonical_json
from curation.ingest import ingest
from curation.manifest import read_manifest
from interplay import demo_media
from interplay.demo_source import GALLERY, SETTINGS
from qc.ground_truth import Family, TruthClass, generate, write_items
from qc.review.verdicts import give_verdict
from warehouse.fact_kinds import FACT_KINDS
from warehouse.items import current_revision, get_item
from warehouse.people import Role, add_user
from warehouse.release.build import Recipe, build_release
from warehouse.release.seal import SealOrder, seal_release
from warehouse.tables import Decision, Item, ItemRevision, Material, Release, Run, User
from warehouse.verdicts import Judgement, record_verdict
from warehouse.workspace import Workspace, init_project, open_workspace

SCRIPT = Path(sys.executable).with_name("interplay")
TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
# What differs between two runs that do the same: identities, moments, how long it took.
_OF_THE_RUN = {
    "id", "run_id", "sequence", "idempotency_key", "key", "recorded_at", "latency_s",
    "at", "created_at", "sealed_at", "given_at", "taken_at", "ended_at",
}  # fmt: skip


class CommandLine:
    """`interplay` as a user calls it."""

    def start(self, *arguments: object, prefix: Sequence[str] = (), **options: Any) -> subprocess.Popen[str]:
        """Begin a command in a session of its own, so that all its processes can be found."""
        outside = {name: value for name, value in os.environ.items() if not name.startswith("INTERPLAY_")}
        environment = outside | {"OMP_NUM_THREADS": "1"} | options.pop("env", {})
        return subprocess.Popen(
            [*prefix, str(SCRIPT), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
            **options,
        )

    def run(self, *arguments: object, expect: int | None = 0, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; fails the test when the exit code is not the expected one."""
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=300)
        told = f"interplay {' '.join(map(str, arguments))}\n{out}\n{err}"
        assert expect is None or process.returncode == expect, f"exit code {process.returncode}: {told}"
        return subprocess.CompletedProcess(list(map(str, arguments)), process.returncode, out, err)


@pytest.fixture(scope="session")
def interplay() -> CommandLine:
    return CommandLine()


@pytest.fixture(scope="session")
def small_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A manifest, media and items.yaml: three sound items, one whose film is not needed, two broken files, a photo twice.

    Films carry their recording as a track, so that they have sounds to take out.
    """
    source = tmp_path_factory.mktemp("small") / "source"
    media = demo_media.collect(source / "real")
    materials = demo_media.materials(media)
    sound = generate(3, 5, materials, mix={TruthClass.SOUND: 1.0}, languages=("en", "zh"), soundtrack=True)
    partial = generate(1, 6, materials, mix={TruthClass.PARTIAL: 1.0}, families=(Family.SUM,))
    write_items([*sound, *partial], source)
    (source / "media" / "empty.wav").write_bytes(b"")
    (source / "media" / "cut-off.jpg").write_bytes((source / "real" / "coffee.png").read_bytes()[:20_000])
    demo_media.gallery(media).save(source / GALLERY)
    files = [*sorted((source / "media").iterdir()), source / "real" / "china.jpg", source / "real" / "chime-info.wav"]
    with (source / "manifest.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["path", "licence", "author"])
        writer.writerows([file.relative_to(source).as_posix(), "CC0-1.0", "the tests"] for file in files)
    return source


@pytest.fixture(scope="session")
def small_project(small_source: Path) -> Callable[[Path], Path]:
    """Makes a project without materials whose models can answer the small source's items."""

    def make(folder: Path) -> Path:
        root = init_project(folder, SETTINGS).root
        (root / GALLERY).write_bytes((small_source / GALLERY).read_bytes())
        return root

    return make


@pytest.fixture(scope="session")
def contents_of() -> Callable[[Path], dict[str, list[str]]]:
    """All rows of all tables (runs apart) and facts of a project, one JSON text each, in order.

    Ids are replaced by names that mean the same in every project; moments and durations are left out.
    """
    return _contents


def _contents(project: Path) -> dict[str, list[str]]:
    with open_workspace(project) as workspace:
        names = _names(workspace)
        facts = {kind: _facts(workspace, kind) for kind in FACT_KINDS}
        # Verdicts name the responses that they rest on.
        names |= {row["key"]: f"answer {_asked(row, names)}" for row in facts["response"]}
        found: dict[str, list[str]] = {}
        for table in SQLModel.metadata.sorted_tables:
            if table.name != "run":
                found[table.name] = _texts(_rows(workspace, table), names)
        for kind, rows in facts.items():
            found[f"fact {kind}"] = _texts(rows, names)
    return found


def _rows(workspace: Workspace, table: Any) -> list[dict[str, Any]]:
    with workspace.database.reading() as session:
        return [dict(row._mapping) for row in session.connection().execute(table.select())]


def _facts(workspace: Workspace, kind: str) -> list[dict[str, Any]]:
    """Every stored row, also those that a view would hide behind a later one."""
    workspace.facts.recover(kind)
    tables = [pq.read_table(file) for file in workspace.facts.files(kind)]
    return pa.concat_tables(tables).to_pylist() if tables else []


def _asked(row: dict[str, Any], names: dict[str, str]) -> str:
    return f"{row['model']} {names.get(row['revision_id'], row['revision_id'])} {row['condition']} {row['rotation']} {row['replicate']}"


def _names(workspace: Workspace) -> dict[str, str]:
    with workspace.database.reading() as session:
        names = {one.id: f"material {one.sha256[:16]}" for one in session.exec(select(Material))}
        names |= {one.id: f"item {one.name}" for one in session.exec(select(Item))}
        names |= {one.id: f"user {one.name}" for one in session.exec(select(User))}
        names |= {f"run:{one.id}": f"run of {one.command}" for one in session.exec(select(Run))}
        names |= {one.id: f"release {one.name} {one.version}" for one in session.exec(select(Release))}
        for revision in session.exec(select(ItemRevision)):
            names[revision.id] = f"revision {names[revision.item_id]} {revision.number}"
    return names


def _texts(rows: list[dict[str, Any]], names: dict[str, str]) -> list[str]:
    def named(value: Any) -> Any:
        match value:
            case str():
                return names.get(value, value)
            case dict():
                return {key: named(one) for key, one in value.items()}
            case list() | tuple():
                return [named(one) for one in value]
        return value

    kept = ({key: value for key, value in row.items() if key not in _OF_THE_RUN} for row in rows)
    return sorted(canonical_json(json.loads(json.dumps(named(row), default=str))) for row in kept)


@pytest.fixture(scope="session")
def leave_open() -> Callable[[Session, str, int], None]:
    """Say for the check of a round that it cannot decide on an item, so that a person may."""

    def leave(session: Session, name: str, number: int) -> None:
        revision = current_revision(session, get_item(session, name))
        record_verdict(session, revision, Judgement(number, "tests@1", False, Decision.UNKNOWN))

    return leave


@pytest.fixture(scope="session")
def _furnished(
    small_source: Path,
    small_project: Callable[[Path], Path],
    tmp_path_factory: pytest.TempPathFactory,
    leave_open: Callable[[Session, str, int], None],
) -> Path:
    """A project with a sealed release of two items, one item submitted and one returned, made without any model."""
    root = small_project(tmp_path_factory.mktemp("furnished") / "project")
    with open_workspace(root) as workspace:
        ingest(workspace, *read_manifest(small_source / "manifest.csv"))
        import_items(workspace, small_source / "items.yaml", "ann")
        with workspace.database.session() as session:
            for name in ("rob", "rie"):
                add_user(session, name, frozenset({Role.REVIEWER}), actor="tests")
        for item, rounds in (("gt5-0000", "1233"), ("gt5-0001", "1233")):
            for number, reviewer in zip(map(int, rounds), ("rob", "rob", "rob", "rie"), strict=True):
                with workspace.database.session() as session:
                    if number < 3:
                        leave_open(session, item, number)
                    give_verdict(session, item, number, reviewer, Decision.PASS)
        with workspace.database.session() as session:
            give_verdict(session, "gt6-0000", 1, "rob", Decision.RETURN, ["ambiguous"])
        build_release(workspace.database, "small", "1.0.0", Recipe(), "tests")
        seal_release(workspace.database, workspace.blobs, SealOrder("small", "1.0.0", "tests"))
    return root


@pytest.fixture
def furnished(_furnished: Path, tmp_path: Path) -> Path:
    """A copy of it for one test."""
    return shutil.copytree(_furnished, tmp_path / "project")


@pytest.fixture(scope="session")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which all of docs/tutorial.md was done: bash blocks run, blocks that name a file written there.

    It begins with a whole `interplay demo`, in `demo-project`.
    """
    folder = tmp_path_factory.mktemp("newcomer")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", TUTORIAL.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    script = ["set -euo pipefail"]
    for place, (kind, text) in enumerate(blocks):
        marked = re.match(r"# (save as|append to) (\S+)\n", text)
        if kind == "bash":
            script.append(text)
        elif marked:
            # Written when its turn comes: the commands before make its folder.
            (folder / f".block-{place}").write_text(text[marked.end() :], encoding="utf-8")
            script.append(f"cat .block-{place} {'>' if marked[1] == 'save as' else '>>'} {marked[2]}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INTERPLAY_")}
    environment |= {"PATH": f"{SCRIPT.parent}:{environment['PATH']}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return folder


@pytest.fixture
def running(load_helper, project, tmp_path):
    """A studio on the project, to be filled first: `start()` gives it."""
    browser = load_helper("browser/conftest.py")
    started = []

    def start(*options):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        started.append(browser.RunningStudio(project.root, home, "--port", str(port), *options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()
