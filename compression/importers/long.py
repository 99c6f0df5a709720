"""Long-form Parquet or CSV: a row for each score, with columns benchmark, question_id, model, score."""

from glob import escape
from pathlib import Path

import duckdb

from compression.importers.base import RAW_TABLE, BadPool, NoColumn, NotNumbers, Reading
from compression.importers.rows import rename

PARQUET = {".parquet", ".pq"}
DELIMITED = {".csv", ".tsv"}
_NEEDED = ("question_id", "model", "score")
_FILL = """
INSERT INTO raw
SELECT {benchmark}::VARCHAR, {question_id}::VARCHAR, {model}::VARCHAR, {family}::VARCHAR, {score}::DOUBLE / ?
FROM source
"""
_NOT_A_NUMBER = """
SELECT {score}::VARCHAR, count(*) OVER () FROM source
WHERE {score} IS NOT NULL AND TRY_CAST({score} AS DOUBLE) IS NULL LIMIT 1
"""


class LongForm:
    """Columns `question_id`, `model`, `score`, and if there are any `benchmark` and `family` (of the model)."""

    def knows(self, path: Path) -> bool:
        """By its ending."""
        return path.suffix.lower() in PARQUET | DELIMITED

    def load(self, connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> None:
        """See `Importer.load`."""
        if path.is_dir() and path.suffix.lower() not in PARQUET:
            raise BadPool(f"{path} is a folder; name the Parquet and CSV files in it, one by one")
        try:
            source = read_table(connection, path)
            names = self._names(path, source.columns, reading)
            source.create_view("source", replace=True)
            connection.execute(RAW_TABLE)
            bad = connection.execute(_NOT_A_NUMBER.format(score=names["score"])).fetchall()
            for example, count in bad:
                raise NotNumbers(
                    f"{path}: {count} scores are no numbers, {example!r} for one; write numbers in [0, 1]",
                    count=count, example=example,
                )  # fmt: skip
            connection.execute(_FILL.format(**names), [reading.scale])
            rename(connection, path, reading)
        except (duckdb.Error, OSError) as error:
            first_lines = " ".join(str(error).splitlines()[:2])
            kind = "Parquet" if path.suffix.lower() in PARQUET else "CSV"
            raise BadPool(f"{path} cannot be read as {kind}, write it again ({first_lines})") from error

    def _names(self, path: Path, columns: list[str], reading: Reading) -> dict[str, str]:
        wanted = {name: reading.columns.get(name, name) for name in (*_NEEDED, "benchmark", "family")}
        wanted["score"] = reading.columns.get("score", reading.metric or "score")
        # DuckDB's names ignore case, so do these.
        there = {column.casefold() for column in columns}
        needed = [name for name in _NEEDED if name != "model" or reading.model is None]
        missing = [wanted[name] for name in needed if wanted[name].casefold() not in there]
        missing += [wanted[name] for name in reading.columns if wanted.get(name, name).casefold() not in there]
        if missing:
            raise NoColumn(
                f"{path} has no column {missing[0]!r}, only {', '.join(columns)}; "
                "name another with --column question_id=NAME (or model, score, benchmark, family), or --model NAME",
                column=missing[0], there=", ".join(columns),
            )  # fmt: skip
        quoted = {name: '"' + column.replace('"', '""') + '"' for name, column in wanted.items()}
        fallback = {"benchmark": reading.benchmark or path.stem, "model": reading.model, "family": None}
        for name, value in fallback.items():
            if wanted[name].casefold() not in there:
                quoted[name] = "NULL" if value is None else "'" + value.replace("'", "''") + "'"
        return quoted


def read_table(connection: duckdb.DuckDBPyConnection, path: Path) -> duckdb.DuckDBPyRelation:
    """A Parquet file by its ending, else a CSV or TSV file (`read_csv`)."""
    if path.suffix.lower() in PARQUET:
        return connection.read_parquet(escape(str(path)), hive_partitioning=False)
    return read_csv(connection, path)


def read_csv(connection: duckdb.DuckDBPyConnection, path: Path) -> duckdb.DuckDBPyRelation:
    """A CSV or TSV file with a header, all columns text; what separates them is told by the header."""
    with path.open("rb") as stream:
        header = stream.readline()
    # Left to guess, DuckDB takes lines that begin with # for comments, and skips what does not fit. Ids and names are
    # text however they look: 007 is not 7.
    return connection.read_csv(
        escape(str(path)),
        header=True,
        all_varchar=True,
        sep=max(",;\t", key=lambda sign: header.count(sign.encode())),
        quotechar='"',
        escapechar='"',
        comment="",
        skiprows=0,
    )


LONG = LongForm()
