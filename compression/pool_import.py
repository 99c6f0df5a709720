"""Bringing files of scores into the project's pools."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from compression.importers.base import BadName, BadPool, OtherScores, Reading
from compression.pool import Loaded, load_files
from core.ids import Clock, utc_now
from warehouse.analytics import connected, load_sql
from warehouse.runs import open_run
from warehouse.workspace import Workspace

_NAME = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
_LONGEST = 64
_ROWS_A_BATCH = 1 << 20
_STORED = """
CREATE TEMP TABLE stored AS
SELECT benchmark, question_id, model, family, score FROM pool_score WHERE score IS NOT NULL
"""
_FRESH = "SELECT ?::VARCHAR AS pool, * FROM fresh ORDER BY benchmark, question_id, model"
_MOVED = "SELECT name, stored_family, family FROM kin WHERE stored_family <> family ORDER BY name LIMIT 1"


@dataclass(frozen=True)
class Imported:
    """What files brought to a pool.

    Attributes:
        pool: Its name.
        importers: `name@version` of what read each file, by path.
        rows: Scores in the files, as they stood.
        empty: Of these, without a number.
        merged: Of these, repeated another.
        benchmarks: In the files.
        questions: In the files.
        models: In the files.
        added: Cells of question and model that the pool had no score for.
        known: Cells that it had with this score.
        replaced: Cells that it had with another score.
        regrouped: Cells whose score it had, of models that are of another family now.
        run_id: The run that stored them; None where nothing was to be stored, or only asked for.
    """

    pool: str
    importers: dict[str, str]
    rows: int
    empty: int
    merged: int
    benchmarks: int
    questions: int
    models: int
    added: int
    known: int
    replaced: int
    regrouped: int
    run_id: str | None = None


def import_pool(
    workspace: Workspace,
    files: Sequence[Path],
    name: str,
    reading: Reading,
    families: Mapping[str, str] | None = None,
    *,
    replace: bool = False,
    dry_run: bool = False,
    clock: Clock = utc_now,
) -> Imported:
    """Store the scores of files and folders in the pool of that name: all of what is not in it yet, or nothing.

    Everything is read and checked first, in DuckDB. A score that the pool has as it is is not stored again; a second
    call stores nothing.

    Args:
        workspace: Of the project.
        files: In any format of `IMPORTERS`.
        name: Of the pool, which begins to be when it has a score.
        reading: How they are read.
        families: Of models, by model; before what the files tell.
        replace: Let scores and families that are others in the pool be replaced.
        dry_run: Only say what would be stored.
        clock: Tells when.

    Raises:
        BadPool: A file has no scores or bad ones (see `open_pool`), the name is none, or the pool tells otherwise.
    """
    if _NAME.fullmatch(name) is None or len(name) > _LONGEST:
        raise BadName(
            f"{name!r} is no name of a pool; write at most {_LONGEST} of a-z, 0-9 with single '-', '_' or '.' between"
        )
    with connected() as connection:
        loaded = load_files(connection, files, reading)
        _load_pool(connection, workspace, name)
        _tell_families(connection, families or {})
        connection.execute(load_sql("compression.sql", "pool_news.sql"))
        imported = _counted(connection, name, files, loaded)
        if not replace:
            _refuse_others(connection, imported)
        if dry_run or not imported.added + imported.replaced + imported.regrouped:
            return imported
        return _store(connection, workspace, imported, reading, clock)


def _load_pool(connection: duckdb.DuckDBPyConnection, workspace: Workspace, name: str) -> None:
    connection.register("wanted", pa.table({"pool": [name]}))
    workspace.facts.register(connection, "pool_score", among="pool")
    connection.execute(_STORED)


def _tell_families(connection: duckdb.DuckDBPyConnection, families: Mapping[str, str]) -> None:
    told = [pa.array(texts, pa.string()) for texts in (families.keys(), families.values())]
    connection.register("told", pa.table(told, names=["name", "family"]))


def _counted(connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path], loaded: Loaded) -> Imported:
    counts = connection.sql(load_sql("compression.sql", "pool_counts.sql")).to_arrow_table().to_pylist()[0]
    importers = {str(path): origin for path, origin in zip(files, loaded.origins, strict=True)}
    return Imported(name, importers, loaded.rows, loaded.empty, loaded.merged, **counts)


def _refuse_others(connection: duckdb.DuckDBPyConnection, imported: Imported) -> None:
    if imported.replaced:
        ((benchmark, question, model, score, was),) = connection.execute(
            load_sql("compression.sql", "pool_conflict.sql")
        ).fetchall()
        raise OtherScores(
            f"pool {imported.pool} has other scores for {imported.replaced} cells, for one {was:g} of {model} on "
            f"{question} ({benchmark}), which is {score:g} here; replace them with --replace, or choose another --name",
            count=imported.replaced, model=model, question=question, was=was, score=score,
        )  # fmt: skip
    for model, was, family in connection.execute(_MOVED).fetchall():
        raise BadPool(
            f"pool {imported.pool} has {model} in the family {was!r}, which is {family!r} here; "
            "replace it with --replace, or mend the family"
        )


def _store(
    connection: duckdb.DuckDBPyConnection, workspace: Workspace, imported: Imported, reading: Reading, clock: Clock
) -> Imported:
    settings = {"pool": imported.pool, "files": imported.importers, "reading": asdict(reading)}
    with open_run(workspace.database, "pool import", settings, clock=clock) as run:
        fresh = connection.sql(_FRESH, params=[imported.pool]).to_arrow_reader(_ROWS_A_BATCH)
        workspace.facts.add_table("pool_score", run.id, fresh, clock)
        stored = dataclasses.replace(imported, run_id=run.id)
        counts = asdict(stored)
        run.summary = {name: count for name, count in counts.items() if isinstance(count, int)}
    return stored
