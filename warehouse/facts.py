"""Facts: append-only Parquet that DuckDB reads, one file a run and part.

A row is written to a journal first, a line each, so that a process that dies loses nothing it finished; the journal
becomes a Parquet file when the part is full, when the writer closes, or when the next writer finds it orphaned.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import duckdb
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InterplayError, UnknownName
from core.provenance import content_hash

_MOMENT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class FactKind:
    """Columns of one kind of fact; `key` tells rows of the same thing apart from rows of different things."""

    name: str
    schema: pa.Schema
    key: tuple[str, ...]


def _kind(name: str, unique_by: tuple[str, ...], /, **columns: pa.DataType) -> FactKind:
    common = {"run_id": pa.string(), "recorded_at": _MOMENT}
    return FactKind(name, pa.schema(list((columns | common).items())), unique_by)


_TEXT, _INT, _FLOAT = pa.string(), pa.int64(), pa.float64()

FACT_KINDS: dict[str, FactKind] = {
    kind.name: kind
    for kind in (
        _kind(
            "response",
            ("key",),
            key=_TEXT,
            request_key=_TEXT,
            purpose=_TEXT,
            model=_TEXT,
            family=_TEXT,
            item_name=_TEXT,
            revision_id=_TEXT,
            condition=_TEXT,
            condition_fingerprint=_TEXT,
            kind=_TEXT,
            rotation=_INT,
            replicate=_INT,
            state=_TEXT,
            answer=_TEXT,
            error=_TEXT,
            sent=_TEXT,
            parameters=_TEXT,
            input_tokens=_INT,
            output_tokens=_INT,
            latency_s=_FLOAT,
            cost_usd=_FLOAT,
        ),
        _kind(
            "grade",
            ("response_key", "grader"),
            response_key=_TEXT,
            grader=_TEXT,
            points=_FLOAT,
            step_points=pa.list_(_FLOAT),
            reason=_TEXT,
        ),
        _kind(
            "embedding",
            ("subject", "embedder"),
            subject=_TEXT,
            embedder=_TEXT,
            vector=pa.list_(pa.float32()),
        ),
        _kind(
            "pool_score",
            ("benchmark", "question_id", "model"),
            benchmark=_TEXT,
            question_id=_TEXT,
            model=_TEXT,
            score=pa.float32(),
        ),
        _kind(
            "episode",
            ("key",),
            key=_TEXT,
            game=_TEXT,
            agent=_TEXT,
            seed=_INT,
            settings=_TEXT,
            outcome=_TEXT,
            metrics=_TEXT,
        ),
        _kind(
            "step",
            ("episode_key", "number"),
            episode_key=_TEXT,
            number=_INT,
            state_hash=_TEXT,
            shown=_TEXT,
            reply=_TEXT,
            action=_TEXT,
            reward=_FLOAT,
        ),
    )
}


class BadFact(InterplayError):
    """A row that does not fit its kind of fact."""


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

    def recover(self, kind: str) -> int:
        """Turn journals that a dead process left into Parquet; returns how many there were."""
        recovered = 0
        for journal in sorted(self.journal_folder.glob(f"{kind}-*.jsonl")):
            with journal.open("rb+") as stream:
                if _lock(stream):
                    self._publish(fact_kind(kind), journal, stream)
                    recovered += 1
        return recovered

    def files(self, kind: str) -> list[str]:
        """Parquet files of one kind, in the order of their names."""
        folder = f"{self._root}/{fact_kind(kind).name}"
        if not self._fs.exists(folder):
            return []
        return sorted(path for path in self._fs.ls(folder, detail=False) if path.endswith(".parquet"))

    def register(self, connection: duckdb.DuckDBPyConnection, kind: str) -> None:
        """Make `kind` a view in DuckDB: one row for each key, the latest, a settled response before a failed one."""
        self.recover(kind)
        fact = fact_kind(kind)
        files = self.files(kind)
        if not files:
            connection.register(f"{kind}_empty", fact.schema.empty_table())
            connection.table(f"{kind}_empty").create_view(kind)
            return
        names = ", ".join("'" + self._for_duckdb(connection, path).replace("'", "''") + "'" for path in files)
        order = "(state = 'api_error'), recorded_at DESC" if kind == "response" else "recorded_at DESC"
        # Names come from our own schema and our own folder listing.
        connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {kind} AS SELECT * FROM read_parquet([{names}], union_by_name = true) "  # noqa: S608
            f"QUALIFY row_number() OVER (PARTITION BY {', '.join(fact.key)} ORDER BY {order}) = 1"
        )

    def compact(self, kind: str) -> int:
        """Merge all files of one kind into one, rows kept as they are; returns how many files went into it.

        The merged file is in place before the small ones go: a crash between leaves rows twice, which `register` hides.
        """
        files = self.files(kind)
        if len(files) < 2:
            return 0
        fact = fact_kind(kind)
        tables = [pq.read_table(path, filesystem=self._fs, schema=fact.schema) for path in files]
        merged = pa.concat_tables(tables)
        self._write(fact, f"compacted-{content_hash(files)[:16]}", merged)
        for path in files:
            self._fs.rm_file(path)
        return len(files)

    def _publish(self, fact: FactKind, journal: Path, stream: IO[bytes]) -> None:
        stream.seek(0)
        # A process killed in the middle of a line leaves a tail without its newline: that row was never reported done.
        lines = [line for line in stream.read().split(b"\n")[:-1] if line]
        if lines:
            self._write(fact, journal.stem.removeprefix(f"{fact.name}-"), _table(fact, lines))
        journal.unlink()

    def _write(self, fact: FactKind, name: str, table: pa.Table) -> None:
        folder = f"{self._root}/{fact.name}"
        self._fs.makedirs(folder, exist_ok=True)
        temporary = f"{folder}/.{name}.tmp"
        with self._fs.open(temporary, "wb") as stream:
            pq.write_table(table, stream, compression="zstd")
        self._fs.mv(temporary, f"{folder}/{name}.parquet")

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
        self._part = 0
        self._rows = 0
        self._stream: IO[bytes] | None = None

    def add(self, row: Mapping[str, Any]) -> None:
        """Append one row (without `run_id`); it is safe from a kill when this returns. Times as ISO 8601 text.

        Raises:
            BadFact: A column is unknown or missing.
        """
        wanted = {name for name in self._fact.schema.names if name != "run_id"}
        if set(row) != wanted:
            odd = ", ".join(sorted(set(row) ^ wanted))
            raise BadFact(f"{self._fact.name} row: columns missing or unknown: {odd}")
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
        journal = Path(self._stream.name)
        os.fsync(self._stream.fileno())
        self._store._publish(self._fact, journal, self._stream)
        self._stream.close()
        self._stream, self._rows = None, 0
        self._part += 1

    def _open(self) -> IO[bytes]:
        self._store.journal_folder.mkdir(parents=True, exist_ok=True)
        name = f"{self._fact.name}-{self._run_id}-{os.getpid()}-{self._part:05d}.jsonl"
        self._stream = (self._store.journal_folder / name).open("wb+")
        if not _lock(self._stream):
            raise BadFact(f"journal {name} is held by another process; start the command again")
        return self._stream


def fact_kind(name: str) -> FactKind:
    """The kind of that name.

    Raises:
        UnknownName: There is none.
    """
    if name not in FACT_KINDS:
        raise UnknownName("kind of fact", name, FACT_KINDS)
    return FACT_KINDS[name]


def _table(fact: FactKind, lines: list[bytes]) -> pa.Table:
    rows = [json.loads(line) for line in lines]
    for row in rows:
        row["recorded_at"] = datetime.fromisoformat(row["recorded_at"])
    return pa.Table.from_pylist(rows, schema=fact.schema)


def _lock(stream: IO[bytes]) -> bool:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
