"""DuckDB as the engine over facts, and over snapshots of the tables when SQL must join both."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import JSON, select
from sqlmodel import SQLModel

from core.provenance import canonical_json
from warehouse.database import Database
from warehouse.facts import FactStore


def connected() -> duckdb.DuckDBPyConnection:
    """A DuckDB connection in memory. Its own progress bar would stand among what a command prints, and in a log."""
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    return connection


@contextmanager
def analysis(
    facts: FactStore, kinds: Iterable[str], snapshots: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB connection in memory with a view for each kind of fact, and for each table of a snapshot folder."""
    with connected() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for kind in kinds:
            facts.register(connection, kind)
        if snapshots is not None:
            for file in sorted(snapshots.glob("*.parquet")):
                connection.read_parquet(str(file), hive_partitioning=False).create_view(file.stem)
        yield connection


def load_sql(package: str, name: str) -> str:
    """The text of a query that lies beside the module that uses it."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def snapshot(database: Database, folder: Path) -> dict[str, int]:
    """Project every table to `<table>.parquet`, rows in key order, JSON as text; returns the rows of each table."""
    folder.mkdir(parents=True, exist_ok=True)
    counts: dict[str, int] = {}
    with database.reading() as session:
        for table in SQLModel.metadata.sorted_tables:
            if table.name == "user":
                continue  # password hashes never leave the database
            rows = session.connection().execute(select(table).order_by(*table.primary_key)).mappings().all()
            json_columns = {column.name for column in table.columns if isinstance(column.type, JSON)}
            plain = [
                {name: _as_text(_told(name, value)) if name in json_columns else value for name, value in row.items()}
                for row in rows
            ]
            schema = pa.schema([(column.name, _arrow_type(column.type.python_type)) for column in table.columns])
            pq.write_table(pa.Table.from_pylist(plain, schema=schema), folder / f"{table.name}.parquet")
            counts[table.name] = len(plain)
    return counts


def _told(column: str, value: Any) -> Any:
    # With the salt, the hold-out's hashes could be searched for their questions; it stays in the database.
    if column == "settings" and isinstance(value, dict):
        return {name: setting for name, setting in value.items() if name != "salt"}
    return value


def _as_text(value: Any) -> str:
    # Parquet's text is UTF-8, which has no lone surrogates; they come from file names that are not UTF-8.
    return canonical_json(value).encode("utf-8", "replace").decode()


def _arrow_type(python_type: type) -> pa.DataType:
    known: dict[type, pa.DataType] = {
        bool: pa.bool_(),
        int: pa.int64(),
        float: pa.float64(),
        datetime: pa.timestamp("us", tz="UTC"),
    }
    return known.get(python_type, pa.string())
