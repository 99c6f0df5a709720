"""Files of training data: rows with numbers, read into DuckDB and checked; what is kept of them, written."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from compression.importers.long import DELIMITED, PARQUET, read_csv
from core.errors import InterplayError
from warehouse.analytics import connected, load_sql

Mask = NDArray[np.bool_]

JSON_LINES = {".jsonl", ".ndjson"}
_WRITTEN_AS = {
    **dict.fromkeys(PARQUET, "FORMAT parquet"),
    **dict.fromkeys(JSON_LINES, "FORMAT json"),
    ".csv": "FORMAT csv, HEADER",
    ".tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
}
_COLUMNS_FROM = 1000
_KEYS = "SELECT DISTINCT unnest(json_keys(json)) FROM (SELECT json FROM read_ndjson_objects(?) LIMIT ?)"


class BadTrainingFile(InterplayError):
    """A file of training data that cannot be read, used or written."""


class Field(NamedTuple):
    """A column of a file, and the SQL that makes ours of it, in which `{column}` stands for it."""

    column: str
    sql: str


@dataclass(frozen=True)
class Layout:
    """Which columns of a file are read as what.

    Attributes:
        sample_id, source, value: Names in the file. Where the file has no column `source`, there is none.
        source_needed: Refuse a file without that column.
        fields: More columns by their names in `given`, those that the file has.
    """

    sample_id: str
    source: str
    value: str
    source_needed: bool = False
    fields: Mapping[str, Field] = field(default_factory=dict)


@dataclass(frozen=True)
class Given:
    """A file that was read: its rows are the table `given` (line from 0, sample_id, source, value, further fields).

    Attributes:
        path: Of the file.
        layout: How it was read.
        has_source: Whether there is a column for sources; else `source` is '1' in each row.
        fields: Those of the layout that the file has.
        rows: How many.
        empty: Rows without a value.
    """

    path: Path
    layout: Layout
    has_source: bool
    fields: frozenset[str]
    rows: int
    empty: int


@dataclass(frozen=True)
class _Scan:
    """How DuckDB reads a file: SQL of its rows, of a row's number and of a column, and the names of its columns."""

    sql: str
    line: str
    columns: tuple[str, ...]
    is_json: bool = False

    def has(self, column: str) -> bool:
        # DuckDB's names ignore case, so do these; JSON's do not.
        if self.is_json:
            return column in self.columns
        return column.casefold() in {one.casefold() for one in self.columns}

    def column(self, name: str) -> str:
        quoted = '"' + name.replace('"', '""') + '"'
        return f"json->>{_text('$.' + json.dumps(name))}" if self.is_json else quoted


def read_given(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    layout: Layout,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Given:
    """Fill the table `given` from a Parquet, CSV or JSON lines file and check it.

    Args:
        connection: Gets the table.
        path: The file; its ending says what it is.
        layout: Which columns are what.
        within: Values must lie between these, ends included.

    Raises:
        BadTrainingFile: It is none of these files, lacks a column, has no rows, rows without an id, or values that are
            no finite numbers within the bounds.
    """
    scan = _scan(connection, path)
    needed = [layout.sample_id, layout.value, *([layout.source] if layout.source_needed else [])]
    missing = [name for name in needed if not scan.has(name)]
    if missing:
        raise BadTrainingFile(
            f"{path} has no column {missing[0]!r}, only {', '.join(scan.columns) or 'none'}; "
            "name another with --column OURS=THEIRS"
        )
    has_source = scan.has(layout.source)
    fields = {name: one for name, one in layout.fields.items() if scan.has(one.column)}
    more = "".join(f",\n    {sql.format(column=scan.column(name))} AS {ours}" for ours, (name, sql) in fields.items())
    query = load_sql("compression.sql", "training_given.sql").format(
        line=scan.line,
        sample_id=scan.column(layout.sample_id),
        source=scan.column(layout.source) if has_source else "'1'",
        value=scan.column(layout.value),
        fields=more,
        scan=scan.sql,
    )
    with _readable(path):
        connection.execute(query)
    rows, empty = _check(connection, path, layout, within)
    return Given(path, layout, has_source, frozenset(fields), rows, empty)


def refuse_existing(*files: Path | None) -> None:
    """See that files can be written, before work is done.

    Raises:
        BadTrainingFile: One is there already, or its folder is not.
    """
    for file in files:
        if file is not None and file.exists():
            raise BadTrainingFile(f"{file} is there already; move it away, or choose another name")
        if file is not None and not file.parent.is_dir():
            raise BadTrainingFile(f"{file} cannot be written: {file.parent} is no folder; make it, or choose another")


def check_table(file: Path) -> None:
    """See that a table can be written to such a file, before work is done.

    Raises:
        BadTrainingFile: Its ending is none of those of `write_table`.
    """
    if file.suffix.lower() not in _WRITTEN_AS:
        raise BadTrainingFile(f"{file} has the ending of no table; write {', '.join(sorted(_WRITTEN_AS))}")


def write_table(file: Path, table: pa.Table) -> None:
    """Write a table as Parquet, CSV or JSON lines, by the file's ending.

    Raises:
        BadTrainingFile: As `check_table`.
    """
    check_table(file)
    with replacing(file) as temporary, connected() as connection:
        connection.register("kept", table)
        connection.execute(f"COPY kept TO ? ({_WRITTEN_AS[file.suffix.lower()]})", [str(temporary)])


def check_kept(source: Path, to: Path) -> None:
    """See that rows of a file can be kept as they are in another, before work is done.

    Raises:
        BadTrainingFile: The file is neither JSON lines nor Parquet, or `to` does not end as it does.
    """
    kinds = [kind for kind in (JSON_LINES, PARQUET) if source.suffix.lower() in kind]
    if not kinds or to.suffix.lower() not in kinds[0]:
        raise BadTrainingFile(
            f"rows are kept as they are, in JSON lines or Parquet: {source.name} cannot go to {to.name}; choose one "
            "that ends as it does"
        )


def keep_rows(source: Path, keep: Mask, to: Path) -> None:
    """Write the rows of a JSON lines or Parquet file that a mask (one an unempty line, or row) keeps, unchanged.

    Raises:
        BadTrainingFile: As `check_kept`; or the file has another number of rows.
    """
    check_kept(source, to)
    with replacing(to) as temporary:
        if source.suffix.lower() in PARQUET:
            _keep_parquet(source, keep, temporary)
        else:
            _keep_lines(source, keep, temporary)


def lines_with(path: Path, id_field: str, wanted: Iterable[str]) -> Mask:
    """Which lines of a JSON lines file have an id among those wanted; all must be there, and each id names one line.

    Raises:
        BadTrainingFile: The file is no such, a line has no id, two lines have one, or a wanted one is missing.
    """
    if path.suffix.lower() not in JSON_LINES:
        raise BadTrainingFile(f"{path} is no JSON lines file by its ending; give one that ends in .jsonl")
    with connected() as connection:
        scan = _scan(connection, path)
        if not scan.has(id_field):
            raise BadTrainingFile(
                f"{path} has no field {id_field!r}, only {', '.join(scan.columns)}; name it (--id-field)"
            )
        connection.register("chosen", pa.table({"id": pa.array(wanted, pa.string())}))
        query = load_sql("compression.sql", "training_lines.sql")
        with _readable(path):
            connection.execute(query.format(line=scan.line, id=scan.column(id_field), scan=scan.sql))
        _check_lines(connection, path, id_field)
        found = connection.execute("SELECT id IN (SELECT id FROM chosen) AS keep FROM line_id ORDER BY line")
        return np.asarray(found.fetchnumpy()["keep"], dtype=bool)


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A temporary file beside the wanted one that takes its place when all went well: it is whole, or not there."""
    temporary = file.with_name(f".{file.name}.tmp")
    try:
        yield temporary
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _scan(connection: duckdb.DuckDBPyConnection, path: Path) -> _Scan:
    suffix = path.suffix.lower()
    if not path.is_file():
        raise BadTrainingFile(f"{path}: no such file")
    name, counted = escape(str(path)), "row_number() OVER () - 1"  # to DuckDB a name is a pattern
    with _readable(path):
        if suffix in JSON_LINES:
            columns = sorted(key for (key,) in connection.execute(_KEYS, [name, _COLUMNS_FROM]).fetchall())
            return _Scan(f"read_ndjson_objects({_text(name)})", counted, tuple(columns), is_json=True)
        if suffix in PARQUET:
            sql = f"read_parquet({_text(name)}, hive_partitioning = false, file_row_number = true)"
            columns = connection.read_parquet(name, hive_partitioning=False).columns
            return _Scan(sql, "file_row_number", tuple(columns))
        if suffix in DELIMITED:
            found = read_csv(connection, path)
            found.create_view("delimited", replace=True)
            return _Scan("delimited", counted, tuple(found.columns))
    raise BadTrainingFile(f"{path} is neither Parquet, CSV nor JSON lines by its ending; write it as one of these")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        if path.suffix.lower() in JSON_LINES:
            _refuse_bad_line(path)
        kind = "Parquet" if path.suffix.lower() in PARQUET else "CSV" if path.suffix.lower() in DELIMITED else "JSON"
        raise BadTrainingFile(f"{path} cannot be read as {kind}: {str(error).splitlines()[0]}") from error


def _refuse_bad_line(path: Path) -> None:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                json.loads(line.strip() or b"0")
            except ValueError as error:
                raise BadTrainingFile(
                    f"{path}, line {number} is no JSON ({error}); write one object a line, or mend it"
                ) from error


def _check(
    connection: duckdb.DuckDBPyConnection, path: Path, layout: Layout, within: tuple[float, float]
) -> tuple[int, int]:
    lowest, highest = (f"'{end}'::DOUBLE" for end in within)
    query = load_sql("compression.sql", "training_problems.sql").format(lowest=lowest, highest=highest)
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description or ()]
    found: dict[str, Any] = dict(zip(names, cursor.fetchone() or (), strict=True))
    if not found["rows"] or found["empty"] == found["rows"]:
        raise BadTrainingFile(f"{path} holds no {layout.value}: {'all are empty' if found['rows'] else 'no rows'}")
    if found["nameless"]:
        raise BadTrainingFile(
            f"{path}: {found['nameless']} rows lack {layout.sample_id} or {layout.source}, first row "
            f"{found['nameless_line'] + 1}; fill or remove them"
        )
    if found["no_number"]:
        raise BadTrainingFile(
            f"{path}: {found['no_number']} times {layout.value} is no number, {found['no_number_example']!r} for one; "
            "write numbers"
        )
    if found["endless"]:
        raise BadTrainingFile(
            f"{path}: {found['endless']} times {layout.value} is not finite, for one that of "
            f"{found['endless_sample']}; mend them, or leave empty what is not known"
        )
    if found["outside"]:
        one = found["outside_example"]
        bounds = f"[{within[0]:g}, {within[1]:g}]" if math.isfinite(within[1]) else f"{within[0]:g} and above"
        raise BadTrainingFile(
            f"{path}: {found['outside']} times {layout.value} lies outside {bounds}, for one {one['value']:g} of "
            f"{one['sample_id']}; mend them, or say what they are (--kind)"
        )
    return int(found["rows"]), int(found["empty"])


def _check_lines(connection: duckdb.DuckDBPyConnection, path: Path, id_field: str) -> None:
    nameless = connection.execute("SELECT min(line) FROM line_id WHERE coalesce(id, '') = ''").fetchone() or (None,)
    if nameless[0] is not None:
        raise BadTrainingFile(f"{path}: row {nameless[0] + 1} has no {id_field}; fill or remove it")
    twice = connection.execute("SELECT id FROM line_id GROUP BY id HAVING count(*) > 1 ORDER BY id LIMIT 1").fetchone()
    if twice:
        raise BadTrainingFile(f"{path}: several rows have the {id_field} {twice[0]!r}; an id must name one row")
    lost = connection.execute(
        "SELECT min(id), count(*) FROM chosen WHERE id NOT IN (SELECT id FROM line_id)"
    ).fetchone() or (None, 0)
    if lost[1]:
        raise BadTrainingFile(
            f"{path}: {lost[1]} selected samples are not in it, {lost[0]!r} for one; score the samples of this file"
        )


def _keep_lines(source: Path, keep: Mask, to: Path) -> None:
    row = 0
    with source.open("rb") as stream, to.open("wb") as out:
        for line in stream:
            if not line.strip():
                continue
            if row < len(keep) and keep[row]:
                out.write(line if line.endswith(b"\n") else line + b"\n")
            row += 1
    if row != len(keep):
        raise BadTrainingFile(f"{source} has {row} lines and {len(keep)} objects; write one object a line")


def _keep_parquet(source: Path, keep: Mask, to: Path) -> None:
    import pyarrow.parquet as pq

    place = 0
    with pq.ParquetFile(source) as file, pq.ParquetWriter(to, file.schema_arrow) as writer:
        for batch in file.iter_batches():
            writer.write_batch(batch.filter(pa.array(keep[place : place + len(batch)])))
            place += len(batch)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
