import json
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from sqlmodel import SQLModel

from warehouse.analytics import analysis, load_sql, snapshot
from warehouse.database import Database
from warehouse.facts import FactStore
from warehouse.lifecycle import Action, Advance, advance
from warehouse.tables import Event, Item, ItemState, Material, MaterialState, Run, User

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def fill(database: Database) -> None:
    with database.session() as session:
        session.add(
            Run(
                id="r",
                command="test",
                settings={"b": [1, None], "a": "é"},
                fingerprint="0" * 64,
                host="h",
                process_id=1,
                started_at=NOON,
            )
        )
        session.add(User(id="u", name="ann", display_name="Ann", password_hash="secret", created_at=NOON))
        session.add(Event(at=NOON, actor="ann", subject_kind="item", subject_id="2", action="look"))
        session.flush()
        for number in (2, 1):
            session.add(Item(id=f"{number}", name=f"item {number}", created_by="ann", created_at=NOON))
        session.add(
            Material(
                id="m",
                sha256="a" * 64,
                state=MaterialState.DROPPED,
                modality="audio",
                measures={"loudness": -23.5},
                parent_offset_s=0.04,
                original_kept=True,
                run_id="r",
                created_at=NOON,
            )
        )


def test_every_table_becomes_a_file_but_the_people_stay(database, tmp_path):
    fill(database)
    counts = snapshot(database, tmp_path / "tables")
    expected = dict.fromkeys(SQLModel.metadata.tables.keys() - {"user"}, 0)
    assert counts == expected | {"run": 1, "event": 1, "item": 2, "material": 1}
    files = list((tmp_path / "tables").iterdir())
    assert {file.stem for file in files} == expected.keys()
    assert all(b"secret" not in file.read_bytes() for file in files)


def test_values_keep_their_types_and_rows_their_order(database, tmp_path):
    fill(database)
    snapshot(database, tmp_path)
    (run,) = pq.read_table(tmp_path / "run.parquet").to_pylist()
    assert run["settings"] == '{"a":"é","b":[1,null]}'
    assert (run["started_at"], run["ended_at"], run["seed"], run["process_id"]) == (NOON, None, None, 1)
    items = pq.read_table(tmp_path / "item.parquet").to_pylist()
    assert [(item["id"], item["state"]) for item in items] == [("1", "draft"), ("2", "draft")]
    (material,) = pq.read_table(tmp_path / "material.parquet").to_pylist()
    assert (material["state"], material["parent_offset_s"], material["original_kept"]) == ("dropped", 0.04, True)
    assert json.loads(material["measures"]) == {"loudness": -23.5}
    assert pq.read_schema(tmp_path / "verdict.parquet").names[:2] == ["id", "revision_id"]


def test_a_name_that_is_not_utf8_costs_no_snapshot(database, tmp_path):
    with database.session() as session:
        session.add(Run(command="c", settings={"file": "caf\udce9"}, fingerprint="0" * 64, host="h", process_id=1))
    snapshot(database, tmp_path)
    assert pq.read_table(tmp_path / "run.parquet")["settings"].to_pylist() == ['{"file":"caf?"}']


@pytest.mark.postgres
def test_both_databases_give_the_same_bytes(project, postgres_url, tmp_path):
    for name, url in (("sqlite", project.database_url), ("postgresql", postgres_url)):
        database = Database(url)
        fill(database)
        snapshot(database, tmp_path / name)
        database.close()
    for file in (tmp_path / "sqlite").iterdir():
        assert file.read_bytes() == (tmp_path / "postgresql" / file.name).read_bytes(), file.name


def test_a_snapshot_replaces_the_one_before(database, tmp_path):
    snapshot(database, tmp_path)
    fill(database)
    assert snapshot(database, tmp_path)["item"] == 2
    assert pq.read_metadata(tmp_path / "item.parquet").num_rows == 2


def test_sql_joins_tables_and_facts(project, tmp_path):
    database = Database(project.database_url)
    fill(database)
    snapshot(database, tmp_path / "tables")
    database.close()
    facts = FactStore(project.facts_url, tmp_path / "journal")
    with facts.writer("grade", "r") as writer:
        for key, points in (("1", 0.25), ("2", 0.75)):
            writer.add(
                {
                    "response_key": key,
                    "grader": "g@1",
                    "points": points,
                    "step_points": [],
                    "reason": "",
                    "recorded_at": NOON.isoformat(),
                }
            )
    with analysis(facts, ["grade"], tmp_path / "tables") as connection:
        rows = connection.sql(
            "SELECT name, points, recorded_at FROM grade JOIN item ON item.id = response_key ORDER BY name"
        ).fetchall()
    assert rows == [("item 1", 0.25, NOON), ("item 2", 0.75, NOON)]


def test_the_connection_ends_with_its_block(project, tmp_path):
    with analysis(FactStore(project.facts_url, tmp_path), []) as connection:
        pass
    with pytest.raises(duckdb.ConnectionException):
        connection.execute("SELECT 1")


def test_queries_lie_beside_their_module(tmp_path: Path, monkeypatch):
    (tmp_path / "some_queries").mkdir()
    (tmp_path / "some_queries" / "one.sql").write_text("SELECT '看'", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_sql("some_queries", "one.sql") == "SELECT '看'"


def test_an_item_that_moved_on_is_seen_in_the_next_snapshot(database, tmp_path):
    fill(database)
    with database.session() as session:
        advance(session, "1", 1, Advance(Action.SUBMIT, "ann"))
    snapshot(database, tmp_path)
    states = {row["id"]: row["state"] for row in pq.read_table(tmp_path / "item.parquet").to_pylist()}
    assert states == {"1": ItemState.SUBMITTED, "2": ItemState.DRAFT}
