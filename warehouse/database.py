"""The tables' home: SQLite in WAL mode by default, PostgreSQL by URL, one migration history for both."""

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError
from sqlalchemy.orm import ORMExecuteState
from sqlmodel import Session

from core.errors import InterplayError, MissingExtra
from warehouse.guards import guard_session

BUSY_TIMEOUT_MS = 30_000
# As many as the studio's server has threads for requests (anyio's 40), so that none waits for one that waits itself.
POOL_SIZE, POOL_OVERFLOW = 10, 30
# Stays below the number of parameters that SQLite takes in one statement.
_IDS_A_QUERY = 5_000
_READING = "interplay_reading"
_UPGRADE_LOCK = 0x1A7E8F1A9


class BadDatabaseUrl(InterplayError):
    """A database URL that SQLAlchemy cannot use."""


class DatabaseUnreachable(InterplayError):
    """A database that does not answer or cannot be opened."""


class DatabaseOutdated(InterplayError):
    """Tables older or newer than this version of Interplay."""


class Database:
    """Sessions over one database; each is one transaction, committed at its end and rolled back by an exception."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = _make_engine(url)
        self._writing = threading.RLock()

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A write transaction. On SQLite it begins IMMEDIATE, so that two writers queue and never deadlock."""
        with self._turn(), Session(self.engine, expire_on_commit=False) as session:
            guard_session(session)
            yield session
            session.commit()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A transaction that only reads: it sees one moment of the data and, in SQLite's WAL, waits for no writer."""
        with Session(self._reading_engine(), expire_on_commit=False) as session:
            event.listen(session, "before_flush", _refuse_flush)
            event.listen(session, "do_orm_execute", _refuse_statement)
            yield session

    def upgrade(self) -> None:
        """Bring the tables to this version's shape, in one transaction.

        Raises:
            DatabaseUnreachable: It cannot be opened.
            DatabaseOutdated: A newer Interplay made its tables.
        """
        with self._connected(self.engine) as connection:
            if connection.dialect.name == "postgresql":
                # The studio and a command may start together; SQLite's BEGIN IMMEDIATE makes the second wait too.
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_UPGRADE_LOCK})")
            config = _alembic_config()
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError as error:
                raise DatabaseOutdated(f"this Interplay is older than the database ({error}); update it") from error
            connection.commit()

    def check_version(self) -> None:
        """Make sure that the tables have the shape this code knows.

        Raises:
            DatabaseOutdated: They do not.
        """
        wanted = ScriptDirectory.from_config(_alembic_config()).get_current_head()
        with self._connected(self._reading_engine()) as connection:
            found = MigrationContext.configure(connection).get_current_revision()
        if found != wanted:
            raise DatabaseOutdated(
                f"the database is at version {found or 'none'}, this Interplay needs {wanted}; "
                "run 'interplay warehouse upgrade' (or update Interplay if the database is newer)"
            )

    def scrub(self) -> str | None:
        """Write SQLite's file anew, so that no deleted word can be read in it or in its log; None, or why not.

        It waits for those who are at work in it, and needs space for a second copy. PostgreSQL has no such step: there
        it is the server's VACUUM FULL.
        """
        if self.engine.dialect.name != "sqlite":
            return None
        with self._connected(self.engine) as connection:
            raw = connection.connection.driver_connection
            assert raw is not None
            connection.rollback()  # neither works within a transaction
            try:
                raw.execute("VACUUM")
                busy, *_ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.OperationalError as error:
                return f"the database could not be written anew ({error})"
        return "somebody reads the database" if busy else None

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Writers of this process come one by one where the database lets in one only.

        SQLite's own waiting is sleep and another look, up to 100 ms apart: with many writers it leaves the file idle in
        between, and anybody may be overtaken for seconds. It still keeps other processes apart.
        """
        is_mine = self.engine.dialect.name == "sqlite" and self._writing.acquire(timeout=BUSY_TIMEOUT_MS / 1000)
        try:
            yield
        finally:
            if is_mine:
                self._writing.release()

    def _reading_engine(self) -> Engine:
        if self.engine.dialect.name == "sqlite":
            return self.engine.execution_options(**{_READING: True})
        return self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @contextmanager
    def _connected(self, engine: Engine) -> Iterator[Connection]:
        try:
            connection = engine.connect()
        except OperationalError as error:
            place = self.engine.url.render_as_string(hide_password=True)
            is_file = self.engine.dialect.name == "sqlite"
            file_mend = "even to read, its folder must take new files: check its rights and the space left"
            mend = file_mend if is_file else "check the server and the URL"
            raise DatabaseUnreachable(f"cannot open the database {place}: {_first_line(error.orig)}; {mend}") from error
        with connection:
            yield connection


def _make_engine(url: str) -> Engine:
    try:
        if make_url(url).get_backend_name() not in {"sqlite", "postgresql"}:
            raise NoSuchModuleError("only SQLite and PostgreSQL hold the tables")
        # PostgreSQL's JSON has no NaN: refused on both, and before it is stored.
        as_json = partial(json.dumps, allow_nan=False)
        is_server = not url.startswith("sqlite")
        engine = create_engine(url, pool_pre_ping=is_server, json_serializer=as_json, **_pool_size(url))
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise BadDatabaseUrl(
            f"database_url {url.rsplit('@', maxsplit=1)[-1]!r} is not usable ({_first_line(error)}); "
            "write sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME"
        ) from error
    except ImportError as error:
        raise MissingExtra("A PostgreSQL database", "postgres") from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_sqlite_pragmas)
        event.listen(engine, "begin", _begin_immediate)
    return engine


def _pool_size(url: str) -> dict[str, Any]:
    # One in memory has a connection for each thread.
    in_memory = url.startswith("sqlite") and make_url(url).database in {None, "", ":memory:"}
    return {} if in_memory else {"pool_size": POOL_SIZE, "max_overflow": POOL_OVERFLOW}


def _set_sqlite_pragmas(connection: Any, _record: Any) -> None:
    # The driver must not open transactions of its own: _begin_immediate does.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    _switch_to_wal(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _switch_to_wal(connection: Any) -> None:
    # The first connection of all changes the mode, and for that SQLite does not wait for another's lock.
    give_up_s = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up_s:
                raise
            time.sleep(0.01)
        else:
            return


def _begin_immediate(connection: Connection) -> None:
    reading = connection.get_execution_options().get(_READING)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _refuse_flush(session: Session, _context: Any, _instances: Any) -> None:
    if session.new or session.dirty or session.deleted:
        raise RuntimeError("a reading session was asked to write; use Database.session")


def _refuse_statement(state: ORMExecuteState) -> None:
    if not state.is_select:
        raise RuntimeError("a reading session was asked to write; use Database.session")
    # SQLite, which has no row locks, would say nothing.
    if getattr(state.statement, "_for_update_arg", None) is not None:
        raise RuntimeError("a reading session was asked to lock rows; use Database.session")


def _alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    return config


def _first_line(error: BaseException | None) -> str:
    return str(error).strip().splitlines()[0] if error and str(error).strip() else type(error).__name__


def portions(ids: Sequence[str]) -> Iterable[Sequence[str]]:
    """The ids in lists short enough for one statement."""
    return (ids[start : start + _IDS_A_QUERY] for start in range(0, len(ids), _IDS_A_QUERY))
