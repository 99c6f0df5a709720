import fcntl
import os
import shutil
import signal
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from fsspec.implementations.local import LocalFileSystem
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import UnknownName
from warehouse.fact_kinds import FACT_KINDS
from warehouse.facts import BadFact, DamagedJournal, FactStore

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(params=["folder", "memory"])
def store(request, tmp_path: Path) -> FactStore:
    url = str(tmp_path / "facts") if request.param == "folder" else f"memory://{uuid.uuid4().hex}/facts"
    return FactStore(url, tmp_path / "journal")


@pytest.fixture
def local(tmp_path: Path) -> FactStore:
    return FactStore(str(tmp_path / "facts"), tmp_path / "journal")


def step(number: int, minute: int = 0, **changes) -> dict:
    row = {"episode_key": "e", "number": number, "state_hash": "h", "shown": None, "reply": "左", "action": "left"}
    return row | {"reward": 0.5, "recorded_at": (NOON + timedelta(minutes=minute)).isoformat()} | changes


def response(key: str, state: str, minute: int = 0, **changes) -> dict:
    row = dict.fromkeys(name for name in FACT_KINDS["response"].schema.names if name != "run_id")
    moment = (NOON + timedelta(minutes=minute)).isoformat()
    return row | {"key": key, "state": state, "recorded_at": moment} | changes


def write(store: FactStore, rows: list[dict], run_id: str = "run", kind: str = "step", part_rows: int = 10_000) -> None:
    with store.writer(kind, run_id, part_rows) as writer:
        for row in rows:
            writer.add(row)


def view(store: FactStore, kind: str = "step") -> list[tuple]:
    with duckdb.connect() as connection:
        store.register(connection, kind)
        return sorted(connection.sql(f"SELECT * FROM {kind}").fetchall(), key=repr)


def numbers(store: FactStore) -> list[int]:
    return sorted(row[1] for row in view(store))


def test_what_was_added_is_in_the_view_with_its_types(store):
    write(store, [step(1), step(2, reward=None)], run_id="r")
    assert view(store) == [
        ("e", 1, "h", None, "左", "left", 0.5, "r", NOON),
        ("e", 2, "h", None, "左", "left", None, "r", NOON),
    ]


@pytest.mark.parametrize("kind", FACT_KINDS)
def test_without_facts_the_view_is_empty_and_has_its_columns(store, kind):
    with duckdb.connect() as connection:
        store.register(connection, kind)
        found = connection.sql(f"SELECT * FROM {kind}")
        assert found.columns == FACT_KINDS[kind].schema.names
        assert found.fetchall() == []


def test_an_unknown_kind_is_told(local):
    with pytest.raises(UnknownName, match="did you mean 'grade'"), local.writer("grades", "r"):
        pass


def test_vectors_and_lists_keep_their_numbers(store):
    moment = NOON.isoformat()
    grade = {"response_key": "k", "grader": "g@1", "points": 0.25, "step_points": [0.5, None], "reason": ""}
    write(store, [grade | {"recorded_at": moment}], kind="grade")
    write(store, [{"subject": "s", "embedder": "e", "vector": [0.5, -1], "recorded_at": moment}], kind="embedding")
    assert view(store, "grade")[0][2:4] == (0.25, [0.5, None])
    assert view(store, "embedding")[0][2] == [0.5, -1.0]


def test_parts_roll_over_and_lose_nothing(store):
    write(store, [step(number) for number in range(2_050)], part_rows=1_000)
    assert len(store.files("step")) == 3
    assert numbers(store) == list(range(2_050))


def test_two_writers_of_one_run_never_write_over_one_another(store):
    write(store, [step(1)])
    write(store, [step(2)])
    with store.writer("step", "run") as one, store.writer("step", "run") as other:
        one.add(step(3))
        other.add(step(4))
        one.add(step(5))
    assert numbers(store) == [1, 2, 3, 4, 5]


def test_rows_stay_when_the_work_fails(store):
    def fail() -> float:
        with store.writer("step", "run") as writer:
            writer.add(step(1))
            return 1 / 0

    with pytest.raises(ZeroDivisionError):
        fail()
    assert numbers(store) == [1]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"colour": "red"}, "step row: columns missing or unknown: colour"),
        ({"run_id": "r"}, "step row: columns missing or unknown: run_id"),
        ({"number": "1"}, "number is '1', which is no int64"),
        ({"number": 1.5}, "number is 1.5, which is no int64"),
        ({"number": True}, "number is True, which is no int64"),
        ({"number": 2**63}, "which is no int64"),
        ({"reward": "high"}, "reward is 'high', which is no double"),
        ({"reward": float("nan")}, "reward is nan, which is no double"),
        ({"reward": float("inf")}, "reward is inf, which is no double"),
        ({"reward": 10**400}, "which is no double"),
        ({"reply": b"left"}, "reply is b'left', which is no string"),
        ({"recorded_at": NOON}, "which is no timestamp"),
        ({"recorded_at": "2026-01-01T12:00:00"}, "which is no timestamp"),
        ({"recorded_at": None}, "which is no timestamp"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_and_spoils_nothing(local, wrong, told):
    with local.writer("step", "run") as writer:
        writer.add(step(1))
        with pytest.raises(BadFact) as caught:
            writer.add(step(2) | wrong)
        writer.add(step(3))
    assert told in str(caught.value)
    assert len(str(caught.value)) < 200
    assert numbers(local) == [1, 3]


def test_a_missing_column_is_named(local):
    row = step(1)
    del row["reward"]
    with local.writer("step", "run") as writer, pytest.raises(BadFact, match="missing or unknown: reward"):
        writer.add(row)
    assert local.files("step") == []


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(
    text=st.none() | st.text(st.characters(exclude_categories=[])),
    number=st.integers(-(2**63), 2**63 - 1),
    reward=st.none() | FINITE | st.integers(-(2**53), 2**53),
)
def test_every_text_and_number_comes_back(tmp_path, text, number, reward):
    store = FactStore(f"memory://{uuid.uuid4().hex}", tmp_path / "journal")
    write(store, [step(number, reply=text, reward=reward)])
    ((_, found_number, _, _, found_text, _, found_reward, _, _),) = view(store)
    assert found_number == number
    assert found_reward == reward
    # A lone surrogate has no UTF-8: it becomes a question mark, and the row stays.
    assert found_text == (text and "".join("?" if "\ud800" <= c <= "\udfff" else c for c in text))


def test_an_answer_with_half_a_character_does_not_cost_the_row(store):
    write(store, [step(1, reply="a\ud83d b\u2028\n\x00")])
    assert view(store)[0][4] == "a? b\u2028\n\x00"


def test_of_rows_with_one_key_the_latest_counts(store):
    write(store, [step(1, 5, action="late"), step(1, 3, action="early"), step(2, 1, action="only")], run_id="a")
    write(store, [step(1, 4, action="between")], run_id="b")
    assert [row[5] for row in view(store)] == ["late", "only"]


def test_rows_of_one_moment_are_told_apart_by_their_run_whatever_the_file_order(tmp_path):
    for order in (("a", "b"), ("b", "a")):
        store = FactStore(str(tmp_path / "".join(order)), tmp_path / "journal")
        for run_id in order:
            write(store, [step(1, action=f"of {run_id}")], run_id=run_id)
        assert [row[5] for row in view(store)] == ["of b"]


def test_a_settled_response_counts_more_than_a_later_error(store):
    write(
        store, [response("k", "ok", 1), response("l", "api_error", 1), response("m", "api_error", 1)], "a", "response"
    )
    write(store, [response("k", "api_error", 2), response("l", "refusal", 0)], "b", "response")
    write(store, [response("m", "api_error", 3, error="again")], "c", "response")
    names = FACT_KINDS["response"].schema.names
    found = [dict(zip(names, row, strict=True)) for row in view(store, "response")]
    assert {(row["key"], row["state"], row["error"]) for row in found} == {
        ("k", "ok", None),
        ("l", "refusal", None),
        ("m", "api_error", "again"),
    }


WRITING = """
import itertools, sys
from pathlib import Path
from warehouse.facts import FactStore
with FactStore(sys.argv[1], Path(sys.argv[2])).writer("step", sys.argv[3], part_rows=10) as writer:
    for number in itertools.count():
        writer.add({"episode_key": sys.argv[3], "number": number, "state_hash": "h", "shown": None, "reply": "x" * 500,
                    "action": "a", "reward": 1.0, "recorded_at": "2026-01-01T12:00:00+00:00"})
        print(number, flush=True)
"""


def test_what_a_killed_process_reported_is_there_once(local, tmp_path):
    """kill -9 after the first row, inside a part, and after parts were published."""
    counts = {"first": 1, "inside": 7, "later": 34}
    line = [sys.executable, "-c", WRITING, local.url, str(local.journal_folder)]
    writing = {name: subprocess.Popen([*line, name], stdout=subprocess.PIPE) for name in counts}
    reported = {}
    for name, process in writing.items():
        for _ in range(counts[name]):
            reported[name] = int(process.stdout.readline())
        process.send_signal(signal.SIGSTOP)
        published = local.files("step")
        assert local.recover("step") == 0, "a stopped process is alive: its journal is its own"
        assert local.files("step") == published
    for process in writing.values():
        process.kill()
        process.communicate()
    assert local.recover("step") == 3
    assert list(local.journal_folder.glob("*.jsonl")) == []
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT episode_key, list(number ORDER BY number) FROM read_parquet(?) GROUP BY ALL", [local.files("step")]
        ).fetchall()
    found = dict(rows)
    for name, last in reported.items():
        assert found[name] == list(range(len(found[name])))
        assert len(found[name]) > last


def left_behind(store: FactStore, rows: list[dict], folder: Path, tail: bytes = b"") -> FactStore:
    """A store whose journal folder looks as if its process had been killed after these rows."""
    folder.mkdir()
    with store.writer("step", "dead") as writer:
        for row in rows:
            writer.add(row)
        (journal,) = store.journal_folder.glob("*.jsonl")
        shutil.copy(journal, folder)
        with (folder / journal.name).open("ab") as stream:
            stream.write(tail)
    return FactStore(f"{store.url}-after", folder)


def test_a_line_that_was_cut_short_was_never_reported_and_is_left_out(store, tmp_path):
    after = left_behind(store, [step(1), step(2)], tmp_path / "dead", b'{"episode_key": "e", "num')
    assert numbers(after) == [1, 2]
    assert numbers(after) == [1, 2]


def test_a_journal_without_a_whole_line_goes_away(store, tmp_path):
    after = left_behind(store, [step(1)], tmp_path / "dead")
    (journal,) = after.journal_folder.iterdir()
    journal.write_bytes(b'{"episode')
    assert after.recover("step") == 1
    assert (after.files("step"), list(after.journal_folder.iterdir())) == ([], [])


@pytest.mark.parametrize("damage", [b"\x00\x01\n", b'{"number": 1}\n', b"[]\n", b'{"recorded_at": 5}\n', b"\xff\n"])
def test_a_damaged_line_is_told_and_nothing_is_lost(local, tmp_path, damage):
    after = left_behind(local, [step(1)], tmp_path / "dead", damage)
    for _ in range(2):
        with pytest.raises(DamagedJournal, match=r"\.jsonl, line 2, is no row .*; mend or delete that line"):
            after.recover("step")
    (journal,) = after.journal_folder.iterdir()
    journal.write_bytes(journal.read_bytes().removesuffix(damage))
    assert numbers(after) == [1]


def test_the_journals_of_other_kinds_are_left_alone(local, tmp_path):
    after = left_behind(local, [step(1)], tmp_path / "dead")
    assert after.recover("episode") == 0
    assert after.recover("step") == 1


def test_a_journal_that_was_published_but_not_removed_is_not_counted_twice(store, tmp_path):
    """Killed between the two: the same file is written again under the same name."""
    after = left_behind(store, [step(1)], tmp_path / "dead")
    (journal,) = after.journal_folder.iterdir()
    text = journal.read_bytes()
    after.recover("step")
    journal.write_bytes(text)
    after.recover("step")
    assert len(after.files("step")) == 1
    assert numbers(after) == [1]


def test_nobody_takes_a_journal_that_is_just_being_opened(local, monkeypatch):
    """Another process recovers at the very moment between the making of the file and its lock."""
    real, other = fcntl.flock, FactStore(local.url, local.journal_folder)

    def flock(stream, how) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        other.recover("step")
        real(stream, how)

    with local.writer("step", "run") as writer:
        monkeypatch.setattr(fcntl, "flock", flock)
        writer.add(step(1))
        writer.add(step(2))
        assert len(list(local.journal_folder.glob("*.jsonl"))) == 1
    assert numbers(local) == [1, 2]


def test_two_processes_may_recover_at_once(local, tmp_path, monkeypatch):
    """The other one is through between our look at the folder and our lock."""
    after = left_behind(local, [step(1)], tmp_path / "dead")
    real, other = fcntl.flock, FactStore(after.url, after.journal_folder)

    def flock(stream, how) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        assert other.recover("step") == 1
        other.compact("step")
        real(stream, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    assert after.recover("step") == 0
    assert numbers(after) == [1]


def test_a_full_disk_keeps_the_journal_for_later(local, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def write_until_full() -> None:
        with local.writer("step", "run") as writer:
            writer.add(step(1))
            monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(OSError, match="No space left"):
        write_until_full()
    assert local.files("step") == []
    monkeypatch.undo()
    assert numbers(local) == [1]


def test_names_that_mean_something_to_the_engine_mean_nothing_in_a_path(tmp_path):
    store = FactStore(str(tmp_path / "action=wrong" / "it's [1] * ?"), tmp_path / "journal")
    write(store, [step(1)])
    write(store, [step(2)])
    before = view(store)
    assert [row[5] for row in before] == ["left", "left"]
    assert store.compact("step") == 2
    assert view(store) == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15)
@given(runs=st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=6), max_size=4), data=st.data())
def test_compaction_keeps_the_view(tmp_path, runs, data):
    store = FactStore(f"memory://{uuid.uuid4().hex}", tmp_path / "journal")
    for place, rows in enumerate(runs):
        write(store, [step(number, minute, action=f"{minute}") for number, minute in rows], run_id=f"run{place}")
    before, files = view(store), store.files("step")
    assert store.compact("step") == (len(files) if len(files) > 1 else 0)
    assert len(store.files("step")) == min(1, len(files))
    assert view(store) == before
    assert len(stored_in_memory(store)) == sum(len(rows) for rows in runs)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15)
@given(
    runs=st.lists(st.lists(st.tuples(st.sampled_from("klm"), st.integers(0, 9), st.booleans()), max_size=6), max_size=4)
)
def test_a_view_of_few_rows_holds_what_the_whole_view_holds_of_them(tmp_path, runs):
    store = FactStore(f"memory://{uuid.uuid4().hex}", tmp_path / "journal")
    for place, rows in enumerate(runs):
        made = [response(key, "ok" if fine else "api_error", minute) for key, minute, fine in rows]
        write(store, made, f"run{place}", "response")
    with duckdb.connect() as connection:
        connection.register("wanted", pa.table({"key": ["k", "m", "none"]}))
        store.register(connection, "response", among="key")
        few = connection.execute("SELECT key, state, recorded_at FROM response ORDER BY key").fetchall()
    with duckdb.connect() as connection:
        store.register(connection, "response")
        whole = connection.execute("SELECT key, state, recorded_at FROM response ORDER BY key").fetchall()
    assert few == [row for row in whole if row[0] in ("k", "m")]


def stored_in_memory(store: FactStore) -> list:
    with duckdb.connect() as connection:
        store.register(connection, "step")
        if not store.files("step"):
            return []
        urls = [f"memory://{path}" for path in store.files("step")]
        return connection.execute("SELECT * FROM read_parquet(?)", [urls]).fetchall()


def test_compaction_that_is_cut_short_changes_nothing_and_can_be_done_again(local, monkeypatch):
    for number in range(4):
        write(local, [step(number)])
    before, small = view(local), local.files("step")

    def stop(_self, path) -> None:
        if path == small[2]:
            raise KeyboardInterrupt
        Path(path).unlink()

    with monkeypatch.context() as broken:
        broken.setattr(LocalFileSystem, "rm_file", stop)
        with pytest.raises(KeyboardInterrupt):
            local.compact("step")
    assert len(local.files("step")) == 3
    assert view(local) == before
    assert local.compact("step") == 3
    assert len(local.files("step")) == 1
    assert view(local) == before


def test_compaction_leaves_the_journal_of_a_living_writer_alone(local):
    with local.writer("step", "run") as writer:
        writer.add(step(9))
        for number in range(3):
            write(local, [step(number)], run_id="other")
        assert local.compact("step") == 3
        assert numbers(local) == [0, 1, 2]
    assert numbers(local) == [0, 1, 2, 9]


def test_files_of_an_older_version_without_a_column_still_count(local):
    write(local, [step(1)])
    (file,) = local.files("step")
    older = duckdb.connect()
    older.execute(f"COPY (SELECT * EXCLUDE (shown) FROM read_parquet('{file}')) TO '{file}.new' (FORMAT parquet)")
    Path(f"{file}.new").replace(file)
    write(local, [step(2, shown="s")])
    before = view(local)
    assert [row[1] for row in before] == [1, 2]
    local.compact("step")
    assert sorted(numbers(local)) == [1, 2]


def test_a_store_sees_what_another_process_wrote_since(tmp_path):
    url = f"memory://{uuid.uuid4().hex}"
    one, other = FactStore(url, tmp_path / "one"), FactStore(url, tmp_path / "other")
    write(one, [step(1)])
    assert numbers(other) == [1]
    write(one, [step(2)])
    assert numbers(other) == [1, 2]


SCORES = pa.schema([field for field in FACT_KINDS["pool_score"].schema if field.name not in {"run_id", "recorded_at"}])


def scores(count: int, score: float | None = 0.5) -> pa.Table:
    names = {"pool": "p", "benchmark": "b", "model": "m", "family": None, "score": score}
    return pa.Table.from_pylist([names | {"question_id": f"q{number}"} for number in range(count)], schema=SCORES)


@pytest.mark.parametrize("form", ["table", "reader", "other order"])
def test_a_table_is_stored_at_once_with_its_run_and_moment(store, clock, form):
    table = scores(3)
    given = {"table": table, "reader": table.to_reader(2), "other order": table.select(table.schema.names[::-1])}[form]
    assert store.add_table("pool_score", "r", given, clock) == 3
    assert view(store, "pool_score") == [
        ("p", "b", f"q{number}", "m", None, 0.5, "r", clock.now) for number in range(3)
    ]
    assert len(store.files("pool_score")) == 1
    assert not store.journal_folder.exists()


def test_of_two_tables_of_one_run_the_later_counts(store, clock):
    store.add_table("pool_score", "r", scores(2, 0.25), clock)
    clock.advance(seconds=1)
    store.add_table("pool_score", "r", scores(1, 1.0), clock)
    assert [row[5] for row in view(store, "pool_score")] == [1.0, 0.25]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda table: table.drop_columns(["family"]), "columns missing or unknown: family"),
        (lambda table: table.append_column("run_id", pa.array(["r", "r"])), "columns missing or unknown: run_id"),
        (lambda table: table.append_column("model", table["model"]), "is there twice"),
        (lambda table: table.set_column(5, "score", pa.array([1.0, 0.0])), "score is double, not float"),
        (lambda table: table.set_column(2, "question_id", pa.array([1, 2])), "question_id is int64, not string"),
        (
            lambda table: table.set_column(2, "question_id", pa.array(["q", None])),
            "question_id, which tells rows apart",
        ),
        (lambda table: table.set_column(5, "score", pa.array([1, float("nan")], pa.float32())), "no finite number"),
        (lambda table: table.set_column(5, "score", pa.array([1, float("inf")], pa.float32())), "no finite number"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_whole(store, clock, change, told):
    with pytest.raises(BadFact, match=told):
        store.add_table("pool_score", "r", change(scores(2)), clock)
    assert store.files("pool_score") == []


def test_an_absent_score_is_stored_as_absent(store, clock):
    store.add_table("pool_score", "r", scores(1, None), clock)
    assert view(store, "pool_score")[0][5] is None


def test_all_rows_that_were_ever_stored_can_be_asked_for(store, clock):
    store.add_table("pool_score", "r", scores(1, 0.25), clock)
    clock.advance(seconds=1)
    store.add_table("pool_score", "s", scores(1, 1.0), clock)
    with duckdb.connect() as connection:
        store.register(connection, "pool_score", latest=False)
        assert connection.sql("SELECT run_id, score FROM pool_score ORDER BY 1").fetchall() == [("r", 0.25), ("s", 1.0)]
