"""A pool: the scores of many models on many questions, opened from a file or from the project, and checked."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from compression.importers import load_scores
from compression.importers.base import BadPool, Reading
from core.errors import UnknownName
from warehouse.analytics import analysis, load_sql
from warehouse.workspace import Workspace

_NAMES = "SELECT DISTINCT pool FROM pool_score ORDER BY pool"
_STORED = """
CREATE OR REPLACE TEMP TABLE raw AS
SELECT benchmark, question_id, model, family, score::DOUBLE AS score FROM pool_score
"""


@dataclass(frozen=True)
class Pool:
    """An opened pool.

    Attributes:
        name: Of the project's pool, or the file's.
        origin: `name@version` of the importer that read the file, or `pool`.
        connection: Holds the tables `question` (benchmark, question_id, question), `model` (name, family, model) and
            `cell` (question, model, score); `question` and `model` are numbers from 0 in the order of the names.
        rows: As they stood in the file or the facts.
        merged: Of these, repeated another of the same question, model and score.
    """

    name: str
    origin: str
    connection: duckdb.DuckDBPyConnection
    rows: int
    merged: int


@contextmanager
def open_pool(named: str, workspace: Workspace | None, reading: Reading | None = None) -> Iterator[Pool]:
    """Open the file of that path, else the project's pool of that name.

    Rows of one question and model with equal scores are merged; `merged` says how many were left out.

    Args:
        named: Path of a file in any format of `IMPORTERS`, or a pool of the project.
        workspace: Of the project, if there is one.
        reading: How the file is read.

    Raises:
        BadPool: It holds no scores, or some that are none: outside [0, 1], not a number, nameless, contradictory.
        UnknownName: Neither a file nor a pool is called so.
    """
    reading = reading or Reading()
    with duckdb.connect() as connection:
        path = Path(named)
        if path.exists():
            name, origin = path.stem, load_scores(connection, path, reading)
        elif workspace is not None:
            name, origin = named, "pool"
            _load_stored(connection, workspace, named)
        else:
            raise BadPool(f"{named}: no such file, and no project to look for a pool of that name (--project FOLDER)")
        rows = _check(connection, named)
        connection.execute("ALTER TABLE raw RENAME TO pool")
        for statement in duckdb.extract_statements(load_sql("compression.sql", "codes.sql")):
            connection.execute(statement)
        merged = _merge(connection, named, reading)
        yield Pool(name, origin, connection, rows, merged)


def pool_names(workspace: Workspace) -> list[str]:
    """Names of the project's pools."""
    with analysis(workspace.facts, ["pool_score"]) as connection:
        return [name for (name,) in connection.execute(_NAMES).fetchall()]


def _load_stored(connection: duckdb.DuckDBPyConnection, workspace: Workspace, name: str) -> None:
    connection.register("wanted", pa.table({"pool": [name]}))
    workspace.facts.register(connection, "pool_score", among="pool")
    connection.execute(_STORED)
    if not connection.execute("SELECT 1 FROM raw LIMIT 1").fetchone():
        raise UnknownName("file or pool", name, pool_names(workspace))


def _check(connection: duckdb.DuckDBPyConnection, named: str) -> int:
    columns = ("rows", "nameless", "empty", "outside", "example", "highest")
    found: dict[str, Any] = dict(
        zip(columns, connection.execute(load_sql("compression.sql", "problems.sql")).fetchone() or (), strict=True)
    )
    if not found["rows"]:
        raise BadPool(f"{named} holds no scores")
    if found["nameless"]:
        raise BadPool(f"{named}: {found['nameless']} rows lack a benchmark, question_id or model; fill or remove them")
    if found["empty"] == found["rows"]:
        raise BadPool(f"{named}: no row has a score")
    if found["outside"]:
        one = found["example"]
        mend = "divide by 100 (pool import --scale 100)" if 1 < (found["highest"] or 0) <= 100 else "mend them"
        raise BadPool(
            f"{named}: {found['outside']} scores lie outside [0, 1], for one {one['score']:g} of {one['model']} "
            f"on {one['question_id']} ({one['benchmark']}); {mend}"
        )
    if found["empty"]:
        # A row without a score says no more than no row.
        connection.execute("DELETE FROM raw WHERE score IS NULL OR isnan(score)")
    return int(found["rows"])


def _merge(connection: duckdb.DuckDBPyConnection, named: str, reading: Reading) -> int:
    surplus, conflicting, example = connection.execute(load_sql("compression.sql", "duplicates.sql")).fetchone() or ()
    if conflicting and reading.repeats == "refuse":
        (question, benchmark, model) = (
            connection.execute(
                "SELECT question_id, benchmark, name FROM question, model WHERE question = ? AND model = ?",
                [example["question"], example["model"]],
            ).fetchone()
            or ()
        )
        raise BadPool(
            f"{named}: {conflicting} cells have several, different scores, for one {model} on {question} ({benchmark}) "
            f"has {example['lowest']:g} and {example['highest']:g}; remove the wrong ones, "
            "or take the mean of repeated runs (pool import --repeats mean)"
        )
    if surplus:
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE cell AS "
            "SELECT question, model, avg(score)::FLOAT AS score FROM cell GROUP BY question, model"
        )
    return int(surplus)
