"""Facts: append-only Parquet that DuckDB reads, one file a run and part.

A row is written to a journal first, a line each, so that a process that dies loses nothing it finished; the journal
becomes a Parquet file when the part is full, when the writer closes, or when the next writer finds it orphaned.
"""

import fcntl
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import duckdb
import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.errors import InterplayError
from core.ids import Clock, new_id, utc_now
from core.provenance import content_hash
from warehouse.blobs import put_whole
from warehouse.fact_kinds import MOMENT, FactKind, fact_kind

_ADDED_BY_US = ("run_id", "recorded_at")
_ROW_GROUP_ROWS = 1 << 20


class BadFact(InterplayError):
    """A row that does not fit its kind of fact."""


class DamagedJournal(InterplayError):
    """A journal line that is no row: the disk, or somebody's editor, changed it."""


class FactStore:
    """All facts of a project under one fsspec URL; journals lie in a local folder."""

    def __init__(self, url: str, journal_folder: Path) -> None:
        self.url = url
        self.journal_folder = journal_folder
        self._fs, self._root = fsspec.core.url_to_fs(url)

    @contextmanager
    def writer(self, kind: str, run_id: str, part_rows: int = 10_000) -> Iterator["FactWriter"]:
        """Write facts of one kind in one run. Rows that were added stay, also when the body raises or is killed."""
        self.recover(kind)
        writer = FactWriter(self, fact_kind(kind), run_id, part_rows)
        try:
            yield writer
        finally:
            writer.close()

    def add_table(self, kind: str, run_id: str, rows: pa.Table | pa.RecordBatchReader, clock: Clock = utc_now) -> int:
        """Store many facts of one kind at once, all of them or none; returns how many.

        For what can be read again where it came from: nothing goes through a journal. They become one file.

        Args:
            kind: Of the facts.
            run_id: Of the run that brings them.
            rows: The kind's columns, in any order, without `run_id` and `recorded_at`.
            clock: Tells the one moment.

        Raises:
            BadFact: A column is unknown, missing or of another type, one of the key has gaps, or a number is none.
        """
        _check_columns(fact := fact_kind(kind), rows.schema)
        batches = rows.to_batches(_ROW_GROUP_ROWS) if isinstance(rows, pa.Table) else rows
        moment = pa.scalar(clock(), MOMENT)
        return self._write(fact, f"{run_id}-{new_id()}", (_completed(fact, one, run_id, moment) for one in batches))

    def recover(self, kind: str) -> int:
        """Turn journals that a dead process left into Parquet; returns how many there were."""
        recovered = 0
        for journal in sorted(self.journal_folder.glob(f"{kind}-*.jsonl")):
            try:
                stream = journal.open("rb+")
            except FileNotFoundError:
                continue  # another process has just published it
            with stream:
                if _lock(stream) and journal.exists():
                    self._publish(fact_kind(kind), journal, stream)
                    recovered += 1
        return recovered

    def files(self, kind: str) -> list[str]:
        """Parquet files of one kind, in the order of their names."""
        folder = f"{self._root}/{fact_kind(kind).name}"
        self._fs.invalidate_cache(folder)  # other processes add files too
        if not self._fs.exists(folder):
            return []
        return sorted(path for path in self._fs.ls(folder, detail=False) if path.endswith(".parquet"))

    def read(self, kind: str, path: str) -> pa.Table:
        """All rows of one of the `files`, in this version's columns."""
        # A thread of pyarrow's that holds a Python object when the process ends aborts it: none is started.
        table = pq.ParquetFile(path, filesystem=self._fs).read(use_threads=False)
        return pa.concat_tables([fact_kind(kind).schema.empty_table(), table], promote_options="default")

    def register(
        self, connection: duckdb.DuckDBPyConnection, kind: str, among: str | None = None, latest: bool = True
    ) -> None:
        """Make `kind` a view in DuckDB: one row for each key, the latest, a settled response before a failed one.

        With `among`, a column that all rows of one key share, only rows whose value is in that column of the relation
        `wanted`: sorting out the latest of all rows takes far longer than to find a few. Without `latest` all rows that
        were ever stored, which is quick.
        """
        self.recover(kind)
        fact = fact_kind(kind)
        files = self.files(kind)
        connection.register(f"{kind}_empty", fact.schema.empty_table())
        if not files:
            connection.table(f"{kind}_empty").create_view(kind)
            return
        names = ", ".join("'" + self._for_duckdb(connection, path).replace("'", "''") + "'" for path in files)
        order = "(state IN ('api_error', 'unparsed')), " if kind == "response" else ""
        place = f"row_number() OVER (PARTITION BY {', '.join(fact.key)} ORDER BY {order}recorded_at DESC, run_id DESC)"
        chosen = f"QUALIFY {place} = 1" if latest else ""
        few = f"SEMI JOIN wanted USING ({among})" if among else ""
        # Names come from our own schema and our own folder listing. The empty table brings the columns that files of an
        # earlier version lack.
        connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {kind} AS SELECT * FROM ("  # noqa: S608
            f"FROM read_parquet([{names}], union_by_name = true, hive_partitioning = false) "
            f"UNION ALL BY NAME FROM {kind}_empty) {few} {chosen}"
        )

    def compact(self, kind: str) -> int:
        """Merge all files of one kind into one, rows kept as they are; returns how many files went into it.

        The merged file is in place before the small ones go: a crash between leaves rows twice, which `register` hides.
        """
        with self.rewriting(kind):
            files = self.files(kind)
            if len(files) < 2:
                return 0
            fact = fact_kind(kind)
            read = [self.read(kind, path) for path in files]
            merged = pa.concat_tables(read)
            self._write(fact, f"compacted-{content_hash(files)[:16]}", [merged])
            for path in files:
                self._fs.rm_file(path)
            return len(files)

    @contextmanager
    def rewriting(self, kind: str) -> Iterator[None]:
        """Hold the files of one kind as they are for who writes them anew; another process of this machine waits.

        Else rows that one has taken out come back with what the other had read before.
        """
        self.journal_folder.mkdir(parents=True, exist_ok=True)
        with (self.journal_folder / f".{fact_kind(kind).name}.rewriting").open("wb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield

    def is_written(self, kind: str) -> bool:
        """Whether a process of this machine adds facts of one kind at this moment, which no file holds yet."""
        self.recover(kind)
        return any(self.journal_folder.glob(f"{kind}-*.jsonl"))

    def _publish(self, fact: FactKind, journal: Path, stream: IO[bytes]) -> None:
        stream.seek(0)
        # A process killed in the middle of a line leaves a tail without its newline: that row was never reported done.
        rows = [_row(line, journal, number) for number, line in enumerate(stream.read().split(b"\n")[:-1], start=1)]
        if rows:
            table = pa.Table.from_pylist(rows, schema=fact.schema)
            self._write(fact, journal.stem.removeprefix(f"{fact.name}-"), [table])
        journal.unlink()

    def _write(self, fact: FactKind, name: str, tables: Iterable[pa.Table]) -> int:
        buffer = BytesIO()
        rows = 0
        with pq.ParquetWriter(buffer, fact.schema, compression="zstd") as writer:
            for table in tables:
                writer.write_table(table)
                rows += table.num_rows
        put_whole(self._fs, f"{self._root}/{fact.name}/{name}.parquet", buffer.getvalue())
        return rows

    def _for_duckdb(self, connection: duckdb.DuckDBPyConnection, path: str) -> str:
        protocol = self._fs.protocol if isinstance(self._fs.protocol, str) else self._fs.protocol[0]
        if protocol in {"file", "local"}:
            return path
        if protocol not in connection.list_filesystems():
            connection.register_filesystem(self._fs)
        return f"{protocol}://{path}"


class FactWriter:
    """Appends rows of one kind; use it through `FactStore.writer`."""

    def __init__(self, store: FactStore, fact: FactKind, run_id: str, part_rows: int) -> None:
        self._store, self._fact, self._run_id, self._part_rows = store, fact, run_id, part_rows
        self._columns = {field.name: field.type for field in fact.schema if field.name != "run_id"}
        self._rows = 0
        self._journal = Path()
        self._stream: IO[bytes] | None = None

    def add(self, row: Mapping[str, Any]) -> None:
        """Append one row (without `run_id`); it is safe from a kill when this returns. Times as ISO 8601 text.

        Raises:
            BadFact: A column is unknown or missing, or holds what does not fit it.
        """
        if row.keys() != self._columns.keys():
            odd = ", ".join(sorted(row.keys() ^ self._columns.keys()))
            raise BadFact(f"{self._fact.name} row: columns missing or unknown: {odd}")
        for name, kind in self._columns.items():
            if not _fits(kind, row[name]):
                raise BadFact(f"{self._fact.name} row: {name} is {row[name]!r:.80}, which is no {kind}")
        line = json.dumps({**row, "run_id": self._run_id}, ensure_ascii=False, allow_nan=False)
        stream = self._stream or self._open()
        # UTF-8 has no lone surrogates; a model's answer that holds one must not cost the row.
        stream.write(line.encode("utf-8", "replace") + b"\n")
        stream.flush()
        self._rows += 1
        if self._rows >= self._part_rows:
            self.close()

    def close(self) -> None:
        """Publish what was added since the last part."""
        if self._stream is None:
            return
        with self._stream as stream:
            self._stream, self._rows = None, 0
            self._store._publish(self._fact, self._journal, stream)

    def _open(self) -> IO[bytes]:
        folder = self._store.journal_folder
        folder.mkdir(parents=True, exist_ok=True)
        # A name of its own each time: a second writer of this run must not write over what the first published.
        name = f"{self._fact.name}-{self._run_id}-{new_id()}"
        # Locked before it has the name that `recover` looks for, so that nobody takes it for an orphan.
        hidden = folder / f".{name}.new"
        self._stream = hidden.open("xb+")
        _lock(self._stream)
        self._journal = hidden.rename(folder / f"{name}.jsonl")
        return self._stream


def _check_columns(fact: FactKind, schema: pa.Schema) -> None:
    wanted = {field.name: field.type for field in fact.schema if field.name not in _ADDED_BY_US}
    if sorted(schema.names) != sorted(wanted):
        odd = ", ".join(sorted({*schema.names} ^ wanted.keys())) or "one is there twice"
        raise BadFact(f"{fact.name} table: columns missing or unknown: {odd}")
    for name, kind in wanted.items():
        if schema.field(name).type != kind:
            raise BadFact(f"{fact.name} table: {name} is {schema.field(name).type}, not {kind}; cast it")


def _completed(fact: FactKind, batch: pa.RecordBatch, run_id: str, moment: pa.Scalar) -> pa.Table:
    for name in fact.key:
        if batch.column(name).null_count:
            raise BadFact(f"{fact.name} table: {name}, which tells rows apart, is empty in some; fill it")
    for field in batch.schema:
        # Of nothing but gaps, "all" says neither.
        if pa.types.is_floating(field.type) and pc.all(pc.is_finite(batch.column(field.name))).as_py() is False:
            raise BadFact(f"{fact.name} table: {field.name} is no finite number in some rows; leave it empty there")
    given = {"run_id": pa.repeat(run_id, len(batch)), "recorded_at": pa.repeat(moment, len(batch))}
    columns = [given[name] if name in given else batch.column(name) for name in fact.schema.names]
    return pa.Table.from_arrays(columns, schema=fact.schema)


def _row(line: bytes, journal: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
        return {**row, "recorded_at": datetime.fromisoformat(row["recorded_at"])}
    except (ValueError, TypeError, KeyError) as error:
        raise DamagedJournal(
            f"{journal}, line {number}, is no row ({error}); mend or delete that line, then run the command again"
        ) from error


def _fits(kind: pa.DataType, value: Any) -> bool:
    """Whether a column takes the value as it is, so that publishing what was accepted cannot fail."""
    if kind == MOMENT:
        return isinstance(value, str) and _is_moment(value)
    if value is None:
        return True
    if kind == pa.string():
        return isinstance(value, str)
    if kind == pa.int64():
        return type(value) is int and -(2**63) <= value < 2**63
    if isinstance(kind, pa.ListType):
        inner = kind.value_type
        return isinstance(value, list | tuple) and all(_fits(inner, part) for part in value)
    # A float, of either width; integers beyond 2^53 have none that equals them.
    largest = sys.float_info.max if isinstance(value, float) else 2**53
    return isinstance(value, float | int) and not isinstance(value, bool) and -largest <= value <= largest


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _lock(stream: IO[bytes]) -> bool:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
