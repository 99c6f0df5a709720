"""What importers share that read files of other programs in Python: rows to the table `raw`, numbers, one metric."""

import json
import logging
import math
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from compression.importers.base import RAW_TABLE, BadPool, Reading

logger = logging.getLogger("interplay")

_BATCH_ROWS = 100_000
_SCHEMA = pa.schema([(name, pa.string()) for name in ("benchmark", "question_id", "model")] + [("score", pa.float64())])
_FILL = "INSERT INTO raw SELECT benchmark, question_id, model, NULL, score / ? FROM batch"
# HELM alone has thirty.
_SHOWN = 60


class Row(NamedTuple):
    """One score as a file has it; None is an absent one."""

    benchmark: str
    question_id: str
    model: str
    score: float | None


def fill(connection: duckdb.DuckDBPyConnection, path: Path, rows: Iterable[Row], reading: Reading) -> None:
    """Make the table `raw` of rows, some at a time; names that the reading gives stand in place of the rows' own.

    Raises:
        BadPool: A name was given for what are several benchmarks or models, or a column, which only tables have.
    """
    if reading.columns:
        raise BadPool(f"{path}: only columns of Parquet and CSV files can be named; leave --column away")
    connection.execute(RAW_TABLE)
    source = iter(rows)
    while batch := list(islice(source, _BATCH_ROWS)):
        columns = zip(zip(*batch, strict=True), _SCHEMA.types, strict=True)
        table = pa.Table.from_arrays([pa.array(column, kind) for column, kind in columns], schema=_SCHEMA)
        connection.register("batch", table)
        connection.execute(_FILL, [reading.scale])
        connection.unregister("batch")
    rename(connection, path, reading)


def rename(connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> None:
    """Put the benchmark and the model that the reading names in place of the table's own.

    Raises:
        BadPool: There are several of them.
    """
    for column, name in (("benchmark", reading.benchmark), ("model", reading.model)):
        if name is not None:
            _rename(connection, path, column, name)


def files_of(path: Path, pattern: str) -> list[Path]:
    """The file itself, or those of a folder and all below it that fit the pattern, each once, in order."""
    if path.is_file():
        return [path]
    # What is linked to is often below the folder, too.
    return list({file.resolve(): file for file in sorted(path.rglob(pattern)) if file.is_file()}.values())


def tell_left_out(path: Path, files: Sequence[Path], lack: str) -> None:
    """Say in the log which files of a folder have no scores although they seem to belong to an evaluation."""
    if files:
        logger.warning("%s: left out for lack of %s: %s", path, lack, listed(file.name for file in files))


def read_json(file: Path) -> Any:
    """A whole JSON document.

    Raises:
        BadPool: It is none.
    """
    try:
        return json.loads(file.read_bytes())
    except ValueError as error:
        raise BadPool(f"{file} is no JSON ({error}); write it again") from error


def number_of(value: Any, where: str) -> float | None:
    """A score as a number: of true and false 1 and 0; None where there is none.

    Raises:
        BadPool: It is something else.
    """
    if value is None:
        return None
    if is_number(value):
        return None if math.isnan(value) else float(value)
    raise BadPool(f"{where}: the score is {value!r:.60}, which is no number; name another with --metric, or mend it")


def choose_metric(there: Iterable[str], usual: Iterable[str], reading: Reading, where: str) -> str:
    """The one that the reading asks for, else the first of the usual ones, else the only one.

    Raises:
        BadPool: It is not there, or there are several and nothing tells which.
    """
    names = sorted(set(there))
    if reading.metric is not None and reading.metric not in names:
        raise BadPool(f"{where} has no metric {reading.metric!r}, only {listed(names)}; name one with --metric")
    found = reading.metric or next((name for name in usual if name in names), None)
    if found is None and len(names) == 1:
        found = names[0]
    if found is None:
        several = f"has several metrics, {listed(names)}; name one with --metric" if names else "tells no scores"
        raise BadPool(f"{where} {several}")
    return found


def listed(names: Iterable[str]) -> str:
    """Names in a sentence, not too many of them."""
    all_names = list(names)
    more = len(all_names) - _SHOWN
    return (", ".join(all_names[:_SHOWN]) or "none") + (f" and {more} more" if more > 0 else "")


def is_number(value: Any) -> bool:
    """Whether it is a number, or true or false."""
    return isinstance(value, bool | int | float)


def _rename(connection: duckdb.DuckDBPyConnection, path: Path, column: str, name: str) -> None:
    told = connection.execute(f"SELECT DISTINCT {column} FROM raw ORDER BY 1 LIMIT 3").fetchall()  # noqa: S608
    if len(told) > 1:
        raise BadPool(
            f"{path} holds scores of several {column}s, as {listed(one for (one,) in told)}, "
            f"which --{column} {name} would make one; leave it away, or import file by file"
        )
    connection.execute(f"UPDATE raw SET {column} = ?", [name])  # noqa: S608
