import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.exc import IntegrityError, StatementError
from sqlmodel import Session, SQLModel, select, update

import warehouse
from core.errors import MissingExtra
from warehouse.database import BadDatabaseUrl, Database, DatabaseOutdated, DatabaseUnreachable
from warehouse.tables import Assignment, DuplicateLink, Run, User


@pytest.fixture
def empty(empty_database_url):
    database = Database(empty_database_url)
    yield database
    database.close()


def new_run(**changes) -> Run:
    return Run(**{"command": "test", "fingerprint": "0" * 64, "host": "h", "process_id": 1} | changes)


def differences(database: Database) -> list:
    """What `alembic revision --autogenerate` would write."""
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return compare_metadata(context, SQLModel.metadata)


def tables(database: Database) -> set[str]:
    with database.engine.connect() as connection:
        return set(inspect(connection).get_table_names())


def execute(database: Database, statement: str) -> None:
    with database.engine.begin() as connection:
        connection.execute(text(statement))


def test_the_migrations_make_the_tables_that_the_code_declares(empty):
    empty.upgrade()
    assert differences(empty) == []
    execute(empty, "ALTER TABLE item ADD COLUMN forgotten INTEGER")
    assert [step[0] for step in differences(empty)] == ["remove_column"]


def test_down_to_nothing_and_up_again(empty):
    empty.upgrade()
    config = Config()
    config.set_main_option("script_location", str(Path(warehouse.__file__).parent / "migrations"))
    with empty.engine.connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        connection.commit()
    assert tables(empty) == {"alembic_version"}
    with pytest.raises(DatabaseOutdated):
        empty.check_version()
    empty.upgrade()
    empty.check_version()
    assert differences(empty) == []


def test_links_of_an_earlier_version_are_ordered_by_content(empty):
    config = Config()
    config.set_main_option("script_location", str(Path(warehouse.__file__).parent / "migrations"))
    with empty.engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0003")
        connection.commit()
    with Session(empty.engine) as session:
        session.add(new_run(id="r"))
        session.commit()
    for id_, sha256 in (("1", "b"), ("2", "a"), ("3", "c")):
        execute(
            empty,
            "INSERT INTO material (id, sha256, state, version, media, modality, original_kept, tags, measures, looks, "
            f"run_id, created_at) VALUES ('{id_}', '{sha256}', 'kept', 1, '{{}}', 'image', false, '[]', '{{}}', '{{}}', "
            "'r', '2026-01-01 00:00:00')",
        )
    for first, second in ("12", "13", "23"):
        values = f"'{first}{second}', '{first}', '{second}', 'same_bytes@1', 0, 'r'"
        execute(
            empty, f"INSERT INTO duplicate_link (id, first_id, second_id, method, distance, run_id) VALUES ({values})"
        )
    empty.upgrade()
    with Session(empty.engine) as session:
        found = session.exec(select(DuplicateLink.first_id, DuplicateLink.second_id)).all()
    assert sorted(found) == [("1", "3"), ("2", "1"), ("2", "3")]


def test_upgrading_again_is_nothing(database):
    with database.session() as session:
        session.add(new_run(id="kept"))
    database.upgrade()
    with database.reading() as session:
        assert session.get(Run, "kept") is not None


UPGRADE = """
import sys
from warehouse.database import Database
print("ready", flush=True)
url = input()
Database(url).upgrade()
Database(url).check_version()
print("done")
"""


def test_two_processes_can_upgrade_at_once(empty_database_url):
    line = [sys.executable, "-c", UPGRADE]
    both = [subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.stdout.readline() for process in both] == ["ready\n", "ready\n"]
    for process in both:
        process.stdin.write(empty_database_url + "\n")
        process.stdin.flush()
    assert [process.communicate(timeout=60)[0] for process in both] == ["done\n", "done\n"]


def test_an_upgrade_that_fails_leaves_nothing(empty):
    execute(empty, "CREATE TABLE verdict (mine INTEGER)")
    with pytest.raises(Exception, match="verdict"):
        empty.upgrade()
    assert tables(empty) == {"verdict"}


def test_tables_of_another_version_are_told(empty):
    with pytest.raises(DatabaseOutdated, match=r"at version none, .*'interplay warehouse upgrade'"):
        empty.check_version()
    empty.upgrade()
    empty.check_version()
    execute(empty, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DatabaseOutdated, match=r"at version 9999.*update Interplay if the database is newer"):
        empty.check_version()
    with pytest.raises(DatabaseOutdated, match="9999"):
        empty.upgrade()


@pytest.mark.parametrize("call", ["check_version", "upgrade"])
@pytest.mark.parametrize(
    "url", ["sqlite:////no/such/folder/x.db", "postgresql+psycopg://ann:secret@127.0.0.1:1/name?connect_timeout=2"]
)
def test_a_database_that_is_not_there_is_told_without_its_password(url, call):
    database = Database(url)
    with pytest.raises(DatabaseUnreachable, match=r"cannot open the database (sqlite|postgresql)") as caught:
        getattr(database, call)()
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "interplay.db",
        "",
        "nosuch://ann:secret@h/n",
        "mysql://ann:secret@h/n",
        "postgres://ann:secret@h/n",
        "postgresql://ann:secret@h:port/n",
        "postgresql+nosuch://ann:secret@h/n",
    ],
)
def test_a_url_that_names_no_usable_database_is_told_without_its_password(url):
    with pytest.raises(BadDatabaseUrl, match="write sqlite:///FILE or postgresql") as caught:
        Database(url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_driver_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'interplay\[postgres\]'"):
        Database("postgresql+psycopg://ann@h/n")


def test_a_session_commits_at_its_end_and_an_exception_takes_all_back(database):
    with database.session() as session:
        session.add(new_run(id="kept"))
    with pytest.raises(ZeroDivisionError), database.session() as session:
        write_and_fail(session)
    with database.reading() as session:
        assert session.exec(select(Run.id)).all() == ["kept"]


def test_rows_can_be_used_after_their_session(database):
    with database.session() as session:
        run = new_run(summary={"a": 1})
        session.add(run)
    assert (run.command, run.summary) == ("test", {"a": 1})


def test_foreign_keys_hold(database):
    with pytest.raises(IntegrityError), database.session() as session:
        session.add(Assignment(task_kind="review", task_id="1", user_id="nobody"))


def test_moments_come_back_in_utc_whatever_zone_they_came_in(database):
    noon = datetime(2026, 7, 1, 14, 30, 15, 123456, tzinfo=timezone(timedelta(hours=2)))
    with database.session() as session:
        session.add(new_run(id="r", started_at=noon))
    with database.reading() as session:
        found = session.get(Run, "r").started_at
        assert found == datetime(2026, 7, 1, 12, 30, 15, 123456, tzinfo=UTC)
        assert found.utcoffset() == timedelta(0)
        assert session.exec(select(Run.id).where(Run.started_at < noon + timedelta(microseconds=1))).all() == ["r"]
        assert session.exec(select(Run.id).where(Run.started_at < noon)).all() == []


def test_a_moment_without_a_zone_is_refused(database):
    with pytest.raises(StatementError, match="has no time zone"), database.session() as session:
        session.add(new_run(started_at=datetime(2026, 7, 1)))


def test_json_keeps_every_text_and_refuses_what_is_no_number(database):
    odd = {"text": "看\u2028 \x00 \udcff", "deep": [{"a": None}]}
    with database.session() as session:
        session.add(new_run(id="r", summary=odd))
    with database.reading() as session:
        assert session.get(Run, "r").summary == odd
    with pytest.raises((StatementError, ValueError), match="JSON"), database.session() as session:
        session.add(new_run(summary={"x": float("nan")}))


def test_writers_queue_on_sqlite(project):
    """Every transaction begins by taking the write lock: read, then write, and nothing is lost or locked."""
    database = Database(project.database_url)
    with database.session() as session:
        session.add(User(id="u", name="ann", display_name="Ann"))

    def count(_: int) -> None:
        for _ in range(10):
            with database.session() as session:
                session.get(User, "u").failed_sign_ins += 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(4)))
    with database.reading() as session:
        assert session.get(User, "u").failed_sign_ins == 40
    database.close()


def test_a_reader_sees_one_moment_and_holds_no_writer_up(database):
    with database.session() as session:
        session.add(new_run(id="first"))
    with database.reading() as reader:
        assert len(reader.exec(select(Run.id)).all()) == 1
        with database.session() as writer:
            writer.add(new_run(id="second"))
        assert len(reader.exec(select(Run.id)).all()) == 1
    with database.reading() as reader:
        assert len(reader.exec(select(Run.id)).all()) == 2


def write_and_fail(session: Session) -> float:
    session.add(new_run(id="lost"))
    session.flush()
    return 1 / 0


def write_new(session: Session) -> None:
    session.add(new_run())
    session.flush()


def write_changed(session: Session) -> None:
    session.get(Run, "r").command = "other"
    session.flush()


def write_in_bulk(session: Session) -> None:
    session.exec(update(Run).values(command="other"))


@pytest.mark.parametrize("write", [write_new, write_changed, write_in_bulk])
def test_a_reader_cannot_write(database, write):
    with database.session() as session:
        session.add(new_run(id="r"))
    with pytest.raises(RuntimeError, match=r"use Database\.session"), database.reading() as session:
        write(session)
    with database.reading() as session:
        assert [(run.id, run.command) for run in session.exec(select(Run))] == [("r", "test")]


def test_a_reader_locks_no_row(database):
    """PostgreSQL would refuse it, and SQLite would say nothing."""
    for look in (lambda session: session.get(Run, "r", with_for_update=True), lock_in_bulk):
        with pytest.raises(RuntimeError, match="lock rows"), database.reading() as session:
            look(session)


def lock_in_bulk(session: Session) -> None:
    session.exec(select(Run).with_for_update()).all()


def test_after_reading_the_same_connections_can_write(database):
    with database.reading() as session:
        session.exec(select(Run)).all()
    with database.session() as session:
        session.add(new_run())
    with database.reading() as session:
        assert len(session.exec(select(Run)).all()) == 1
