"""A pool: the scores of many models on many questions, opened from a file or from the project, and checked."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from compression.importers import load_scores
from compression.importers.base import BadPool, NoScores, Reading, ScoresDiffer, ScoresOutside
from core.errors import UnknownName
from core.settings import NoProject
from warehouse.analytics import connected, load_sql
from warehouse.workspace import Workspace, open_workspace

# The origin of scores that the project holds.
STORED = "pool"
_NAMES = "SELECT DISTINCT pool FROM pool_score ORDER BY pool"
_FAMILIES = """
SELECT model, min(family) AS first, max(family) AS last FROM pool GROUP BY model HAVING first <> last ORDER BY model
"""
_CELL = "SELECT question_id, benchmark, name FROM question, model WHERE question = ? AND model = ?"
_STORED = """
CREATE OR REPLACE TEMP TABLE raw AS
SELECT benchmark, question_id, model, family, score::DOUBLE AS score FROM pool_score
"""


@dataclass(frozen=True)
class Pool:
    """An opened pool.

    Attributes:
        name: Of the project's pool, or the file's.
        origin: `name@version` of the importer that read the file, or `STORED`.
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


@dataclass(frozen=True)
class Loaded:
    """What files of scores held.

    Attributes:
        origins: `name@version` of the importer of each file.
        rows: As they stood in the files.
        empty: Of these, had no score.
        merged: Of these, repeated another of the same question, model and score.
    """

    origins: tuple[str, ...]
    rows: int
    empty: int
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
    with connected() as connection:
        path = Path(named)
        if path.exists():
            loaded = load_files(connection, [path], reading)
            yield Pool(path.stem, loaded.origins[0], connection, loaded.rows, loaded.merged)
        elif workspace is not None:
            yield _stored(connection, workspace, named, reading)
        else:
            raise BadPool(f"{named}: no such file, and no project to look for a pool of that name (--project FOLDER)")


@contextmanager
def open_stored_pool(name: str, workspace: Workspace) -> Iterator[Pool]:
    """As `open_pool`, for a pool of the project: a file of that name is none.

    Raises:
        UnknownName: No pool is called so.
    """
    with connected() as connection:
        yield _stored(connection, workspace, name, Reading())


@contextmanager
def find_pool(named: str, project: Path | None, reading: Reading | None = None) -> Iterator[Pool]:
    """As `open_pool`, for commands: a project is opened only where the name is no file's.

    Raises:
        BadPool, UnknownName: As `open_pool`.
        NoProject, BadSettings, DatabaseUnreachable, DatabaseOutdated: As `open_workspace`.
    """
    with ExitStack() as opened:
        workspace = None
        if not Path(named).exists():
            # Without any project, `open_pool` tells that there is no such file either.
            with suppress(NoProject) if project is None else nullcontext():
                workspace = opened.enter_context(open_workspace(project))
        yield opened.enter_context(open_pool(named, workspace, reading))


def load_files(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], reading: Reading) -> Loaded:
    """Make the tables of a `Pool` of one file or several.

    Raises:
        BadPool: As `open_pool`.
    """
    origins = []
    rows = empty = 0
    for path in paths:
        origins.append(load_scores(connection, path, reading))
        counts = _check(connection, str(path))
        rows, empty = rows + counts[0], empty + counts[1]
        more = "INSERT INTO loaded FROM raw" if len(origins) > 1 else "ALTER TABLE raw RENAME TO loaded"
        connection.execute(more)
    connection.execute("DROP TABLE IF EXISTS raw; ALTER TABLE loaded RENAME TO raw")
    named = str(paths[0]) if len(paths) == 1 else "these files together"
    return Loaded(tuple(origins), rows, empty, _number(connection, named, reading))


def pool_names(workspace: Workspace) -> list[str]:
    """Names of the project's pools."""
    with connected() as connection:
        workspace.facts.register(connection, "pool_score", latest=False)
        return [name for (name,) in connection.execute(_NAMES).fetchall()]


def _stored(connection: duckdb.DuckDBPyConnection, workspace: Workspace, name: str, reading: Reading) -> Pool:
    _load_stored(connection, workspace, name)
    rows, _ = _check(connection, name)
    return Pool(name, STORED, connection, rows, _number(connection, name, reading))


def _load_stored(connection: duckdb.DuckDBPyConnection, workspace: Workspace, name: str) -> None:
    connection.register("wanted", pa.table({"pool": [name]}))
    workspace.facts.register(connection, "pool_score", among="pool")
    connection.execute(_STORED)
    if not _one(connection, "SELECT 1 FROM raw LIMIT 1"):
        raise UnknownName("file or pool", name, pool_names(workspace))


def _number(connection: duckdb.DuckDBPyConnection, named: str, reading: Reading) -> int:
    connection.execute("ALTER TABLE raw RENAME TO pool")
    connection.execute(load_sql("compression.sql", "codes.sql"))
    _check_families(connection, named)
    connection.execute("DROP TABLE pool")
    return _merge(connection, named, reading)


def _check(connection: duckdb.DuckDBPyConnection, named: str) -> tuple[int, int]:
    columns = ("rows", "nameless", "empty", "outside", "example", "highest")
    counts = _one(connection, load_sql("compression.sql", "problems.sql"))
    found: dict[str, Any] = dict(zip(columns, counts, strict=True))
    if not found["rows"]:
        raise NoScores(f"{named} holds no scores; write a row for each")
    if found["nameless"]:
        raise BadPool(f"{named}: {found['nameless']} rows lack a benchmark, question_id or model; fill or remove them")
    if found["empty"] == found["rows"]:
        raise NoScores(f"{named}: no row has a score; fill some in")
    if found["outside"]:
        one = found["example"]
        mend = "divide by 100 (pool import --scale 100)" if 1 < (found["highest"] or 0) <= 100 else "mend them"
        raise ScoresOutside(
            f"{named}: {found['outside']} scores lie outside [0, 1], for one {one['score']:g} of {one['model']} "
            f"on {one['question_id']} ({one['benchmark']}); {mend}",
            count=found["outside"], score=one["score"], model=one["model"], question=one["question_id"],
        )  # fmt: skip
    return int(found["rows"]), int(found["empty"])


def _check_families(connection: duckdb.DuckDBPyConnection, named: str) -> None:
    if found := _one(connection, _FAMILIES):
        model, first, second = found
        raise BadPool(f"{named}: model {model} is of two families, {first!r} and {second!r}; keep one")


def _merge(connection: duckdb.DuckDBPyConnection, named: str, reading: Reading) -> int:
    surplus, conflicting, example = _one(connection, load_sql("compression.sql", "duplicates.sql"))
    if conflicting and reading.repeats == "refuse":
        question, benchmark, model = _one(connection, _CELL, example["question"], example["model"])
        raise ScoresDiffer(
            f"{named}: {conflicting} cells have several, different scores, for one {model} on {question} ({benchmark}) "
            f"has {example['lowest']:g} and {example['highest']:g}; remove the wrong ones, "
            "or take the mean of repeated runs (pool import --repeats mean)",
            count=conflicting, model=model, question=question, score=example["lowest"], other=example["highest"],
        )  # fmt: skip
    if surplus:
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE cell AS "
            "SELECT question, model, avg(score)::FLOAT AS score FROM cell GROUP BY question, model"
        )
    return int(surplus)


def _one(connection: duckdb.DuckDBPyConnection, query: str, *values: Any) -> tuple[Any, ...]:
    # An unfinished result would keep the connection from registering the next table.
    rows = connection.execute(query, values).fetchall()
    return rows[0] if rows else ()
