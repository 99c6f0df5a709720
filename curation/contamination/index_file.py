"""The file of an index: a ZIP whose members are not compressed, so that its Parquet tables are read where they lie.

For each benchmark it holds the tables of `TABLES`, and for all of them `manifest.json`. A benchmark's tables depend on
nothing but its own questions and media, so an index of several is the benchmarks side by side: to merge is to copy.
"""

import hashlib
import io
import json
import mmap
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from core.content import Frozen
from core.errors import InterplayError, first_problem
from core.provenance import canonical_json, content_hash
from curation.contamination.texts import GRAM_METHOD
from warehouse.blobs import write_atomically

FORMAT = "interplay-contamination-index@1"
MANIFEST = "manifest.json"
TABLES: Mapping[str, pa.Schema] = {
    # In order of their ids. `count` and `option_count`: how many questions of the benchmark have that hash too.
    "questions": pa.schema(
        [
            ("id", pa.string()),
            ("whole", pa.uint64()),
            ("count", pa.int32()),
            ("option_set", pa.uint64()),
            ("option_count", pa.int32()),
            ("length", pa.int32()),
            ("numbers", pa.list_(pa.string())),
            ("fields", pa.list_(pa.list_(pa.string()))),
            ("options", pa.list_(pa.list_(pa.string()))),
        ]
    ),
    # In order of their hashes; `row` is that of the question.
    "grams": pa.schema([("hash", pa.uint64()), ("row", pa.int32()), ("position", pa.int32())]),
    "common": pa.schema([("hash", pa.uint64())]),
    "media": pa.schema(
        [
            ("id", pa.string()),
            ("sha256", pa.string()),
            ("modality", pa.string()),
            ("method", pa.string()),
            ("looks", pa.string()),
            ("questions", pa.list_(pa.string())),
        ]
    ),
    "vectors": pa.schema([("row", pa.int32()), ("vector", pa.list_(pa.float16()))]),
}
_GROUP_ROWS = 1 << 18
_EPOCH = (1980, 1, 1, 0, 0, 0)


class BadIndex(InterplayError):
    """A file that is no index of this format, or is damaged."""


class SameBenchmark(InterplayError):
    """Two different benchmarks of one name in one index."""


class BenchmarkEntry(Frozen):
    """What an index says of one benchmark.

    `tables` are the sha256 of its tables, `methods` how each modality's media are described, `embedder` whose vectors
    it holds, `failed` the media that could not be read.
    """

    name: str
    version: str | None = None
    licence: str | None = None
    origin: str
    questions: int
    media: int
    failed: int = 0
    with_texts: bool
    grams: str = GRAM_METHOD
    methods: Mapping[str, str]
    embedder: str | None = None
    tables: Mapping[str, str]


class IndexManifest(Frozen):
    """What is in an index, benchmarks in the order of their names."""

    format: str = FORMAT
    benchmarks: tuple[BenchmarkEntry, ...]

    @property
    def sha256(self) -> str:
        """The identity of the index: over all that it holds."""
        return content_hash(self.model_dump(mode="json"))


@dataclass(frozen=True)
class Benchmark:
    """One benchmark with its tables as the bytes of Parquet files."""

    entry: BenchmarkEntry
    tables: Mapping[str, memoryview | bytes]


def parquet_bytes(name: str, columns: Mapping[str, object]) -> bytes:
    """A table of an index as Parquet; hashes are left as they are, for nothing makes them smaller."""
    schema = TABLES[name]
    table = pa.table({one.name: pa.array(columns[one.name], one.type) for one in schema}, schema=schema)
    buffer = io.BytesIO()
    hashed = [one.name for one in schema if one.type == pa.uint64()]
    codecs = {one.path: "none" if one.path in hashed else "zstd" for one in _columns(table)}
    pq.write_table(
        table, buffer, compression=codecs, use_dictionary=False, row_group_size=_GROUP_ROWS, write_statistics=True
    )
    return buffer.getvalue()


def write_index(file: Path, benchmarks: Iterable[Benchmark]) -> IndexManifest:
    """Write an index; the same benchmarks make the same bytes, in whatever order they come.

    Raises:
        SameBenchmark: Two of them have one name and differ.
    """
    by_name: dict[str, Benchmark] = {}
    for one in benchmarks:
        known = by_name.setdefault(one.entry.name, one)
        if known.entry.tables != one.entry.tables:
            raise SameBenchmark(
                f"two different benchmarks are named {one.entry.name!r}; index one of them under another --name"
            )
    held = [by_name[name] for name in sorted(by_name)]
    manifest = IndexManifest(benchmarks=tuple(one.entry for one in held))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as packed:
        packed.writestr(zipfile.ZipInfo(MANIFEST, _EPOCH), canonical_json(manifest.model_dump(mode="json")))
        for number, one in enumerate(held):
            for name in TABLES:
                packed.writestr(zipfile.ZipInfo(_member(number, name), _EPOCH), bytes(one.tables[name]))
    write_atomically(file, buffer.getvalue())
    return manifest


class Index:
    """An opened index: its manifest, and its tables, read where they lie."""

    def __init__(self, file: Path, manifest: IndexManifest, members: Mapping[str, memoryview]) -> None:
        self.file, self.manifest, self._members = file, manifest, members
        self.sha256 = manifest.sha256
        self.name = file.stem

    def benchmarks(self) -> list[Benchmark]:
        """All of them, with their tables."""
        return [
            Benchmark(entry, {name: self._members[_member(number, name)] for name in TABLES})
            for number, entry in enumerate(self.manifest.benchmarks)
        ]

    def verify(self) -> None:
        """Compare every table with its sha256.

        Raises:
            BadIndex: One is not what was written.
        """
        for one in self.benchmarks():
            for name, data in one.tables.items():
                if hashlib.sha256(data).hexdigest() != one.entry.tables[name]:
                    raise BadIndex(f"{self.file}: {name} of {one.entry.name} are damaged; get the index again")


def open_index(file: Path) -> Index:
    """Map an index into memory and read its manifest; it stays mapped as long as something reads it.

    Raises:
        BadIndex: It cannot be read, or is of another format.
    """
    try:
        with file.open("rb") as stream:
            mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        told = error.strerror if isinstance(error, OSError) else error
        raise BadIndex(f"{file} cannot be read as an index ({told}); check the path") from error
    return _read(file, memoryview(mapped))


def _read(file: Path, view: memoryview) -> Index:
    try:
        with zipfile.ZipFile(file) as packed:
            places = {one.filename: (one.header_offset, one.file_size) for one in packed.infolist()}
            manifest = IndexManifest.model_validate(json.loads(packed.read(MANIFEST)))
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError, ValidationError) as error:
        told = first_problem(error) if isinstance(error, ValidationError) else error
        raise BadIndex(
            f"{file} is no index of public benchmarks ({told}); make one with 'contamination index'"
        ) from error
    if manifest.format != FORMAT:
        raise BadIndex(f"{file} has the format {manifest.format}, this version reads {FORMAT}; build the index anew")
    return Index(file, manifest, {name: _slice(view, *place) for name, place in places.items()})


def _slice(view: memoryview, header: int, size: int) -> memoryview:
    """The bytes of a member that is not compressed (APPNOTE 4.3.7: 30 bytes, the name, what is extra, the data)."""
    name_length, extra_length = struct.unpack_from("<HH", view, header + 26)
    start = header + 30 + name_length + extra_length
    return view[start : start + size]


class Table:
    """One table of a benchmark: whole columns, or a few rows of it, without reading the others."""

    def __init__(self, data: memoryview | bytes) -> None:
        self._file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(data)))
        self.row_count: int = self._file.metadata.num_rows

    def columns(self, *names: str) -> pa.Table:
        """Whole columns."""
        # A thread of pyarrow's that holds a Python object when the process ends aborts it: none is started.
        return self._file.read(list(names), use_threads=False)

    def rows(self, rows: Sequence[int], *names: str) -> dict[int, dict[str, Any]]:
        """Some rows, by their number; with all columns, or those that are named."""
        columns = list(names) or None
        found: dict[int, dict[str, Any]] = {}
        for group, start, stop in self.groups():
            inside = [row for row in rows if start <= row < stop]
            if inside:
                taken = self._file.read_row_group(group, columns, use_threads=False).take(
                    [row - start for row in inside]
                )
                found |= dict(zip(inside, taken.to_pylist(), strict=True))
        return found

    def groups(self) -> Iterator[tuple[int, int, int]]:
        """Number of each row group that holds rows, with its first row and the one after its last."""
        start = 0
        for group in range(self._file.metadata.num_row_groups):
            stop = start + self._file.metadata.row_group(group).num_rows
            if start < stop:  # an empty table has one empty group
                yield group, start, stop
            start = stop

    def group(self, number: int, names: Sequence[str]) -> dict[str, Any]:
        """Columns of a row group as arrays; of lists of one length, shape (rows, length)."""
        read = self._file.read_row_group(number, list(names), use_threads=False)
        return {name: _as_array(read[name].combine_chunks()) for name in names}

    def bounds(self, number: int) -> tuple[int, int]:
        """Least and largest value of the first column in a row group."""
        told = self._file.metadata.row_group(number).column(0).statistics
        return told.min, told.max


def _member(number: int, table: str) -> str:
    return f"{number:04}/{table}.parquet"


def _columns(table: pa.Table) -> list[Any]:
    buffer = io.BytesIO()
    pq.write_table(table.schema.empty_table(), buffer)
    schema = pq.ParquetFile(buffer).schema
    return [schema.column(place) for place in range(len(schema))]


def _as_array(column: pa.Array) -> Any:
    if pa.types.is_list(column.type):
        return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
    return column.to_numpy(zero_copy_only=False)
