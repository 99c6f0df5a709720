"""Tables of questions read record by record: JSON, JSON lines, CSV, TSV, Parquet; never a whole file in memory."""

import codecs
import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.separated import SAVE_AS_UTF8, delimiter_of
from curation.questions.importers.base import BadQuestionFile, BadRecord, Row
from curation.questions.media import INLINE_BYTES

BLOCK_CHARACTERS = 1 << 16
LONGEST_RECORD = 4 * INLINE_BYTES // 3 + BLOCK_CHARACTERS
"""Characters: what a record with the largest inline medium in base64 has, and some more."""
LONGEST_JSON = 64 << 20
BATCH_BYTES = 128 << 20
MOST_BATCH_ROWS = 256


def read_rows(file: Path) -> Iterator[Row]:
    """The records of a file, in its order; one that cannot be read alone is given with the reason.

    Raises:
        BadQuestionFile: Its ending is none of these, or it cannot be read (on): what was given before stands.
    """
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise BadQuestionFile(f"{file} is no table of questions; known endings: {', '.join(sorted(_READERS))}")
    try:
        yield from reader(file)
    except UnicodeDecodeError as error:
        raise BadQuestionFile(f"{file} is not UTF-8 text ({error.reason}); {SAVE_AS_UTF8}") from error
    except (pa.ArrowException, EOFError) as error:
        told = " ".join(str(error).split())[:200]
        raise BadQuestionFile(f"{file} cannot be read as Parquet ({told}); fetch it again") from error
    except OSError as error:
        raise BadQuestionFile(f"{file} cannot be read ({error.strerror or error}); check the file") from error


def _json_lines(file: Path) -> Iterator[Row]:
    read = 0
    with file.open("rb") as stream:
        for number, line in enumerate(iter(lambda: stream.readline(LONGEST_RECORD + 1), b""), start=1):
            where = f"{file.name} line {number}"
            if len(line) > LONGEST_RECORD:
                raise BadQuestionFile(f"{file}, line {number}: more than {LONGEST_RECORD} bytes; is it JSON lines?")
            read += len(line)
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            if text.strip():
                yield Row(where, _parsed(text), read)


def _parsed(text: str) -> Mapping[str, Any] | BadRecord:
    try:
        return _as_record(json.loads(text))
    except (ValueError, RecursionError) as error:
        return BadRecord("not_json", f"cannot be read as JSON ({' '.join(str(error).split())[:120]})")


def _as_record(value: Any) -> Mapping[str, Any] | BadRecord:
    if isinstance(value, dict):
        return value
    return BadRecord("not_a_record", f"a record is an object, this is {type(value).__name__}")


class _Characters:
    """A text file through a window that holds what is not parsed yet."""

    def __init__(self, file: Path) -> None:
        self.file, self.read_bytes, self.window, self._at = file, 0, "", 0
        self._stream = file.open("rb")
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._ended = False

    def close(self) -> None:
        self._stream.close()

    def more(self) -> bool:
        """Take in more text, as much again as there is; False at the end."""
        if self._ended:
            return False
        block = self._stream.read(max(BLOCK_CHARACTERS, len(self.window) - self._at))
        self._ended = not block
        self.read_bytes += len(block)
        self.window = self.window[self._at :] + self._decoder.decode(block, final=self._ended)
        self._at = 0
        return True

    def peek(self) -> str:
        """The next character that is no blank; '' at the end."""
        while True:
            while self._at < len(self.window) and self.window[self._at] in " \t\r\n":
                self._at += 1
            if self._at < len(self.window):
                return self.window[self._at]
            if not self.more():
                return ""

    def skip(self, expected: str) -> None:
        """Step over one character."""
        found = self.peek()
        if found != expected:
            place = f"{found!r}" if found else "the end"
            raise BadQuestionFile(f"{self.file} is no JSON: {place} where {expected!r} is needed; fetch it again")
        self._at += 1

    def value(self) -> Any:
        """The JSON value that begins here."""
        self.peek()
        while True:
            try:
                found, end = _DECODER.raw_decode(self.window, self._at)
            except RecursionError as error:
                raise BadQuestionFile(f"{self.file} is nested too deeply to be a set of questions") from error
            except json.JSONDecodeError as error:
                if not self._may_go_on(error) or not self.more():
                    raise BadQuestionFile(
                        f"{self.file} cannot be read on as JSON ({error.msg}); fetch it again"
                    ) from error
                continue
            # A number or a word at the end of the window may go on behind it.
            if end == len(self.window) and not isinstance(found, dict | list | str) and self.more():
                continue
            self._at = end
            return found

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        """Whether the text may only be cut off by the window."""
        if len(self.window) - self._at > LONGEST_JSON:
            return False
        return error.msg.startswith("Unterminated string") or error.pos > len(self.window) - _LONGEST_WORD


_DECODER = json.JSONDecoder()
_LONGEST_WORD = len("-Infinity") + 1


def _json(file: Path) -> Iterator[Row]:
    """The entries of an array, or of an object by their names; several arrays one behind the other are one."""
    characters = _Characters(file)
    number = 0
    try:
        while opening := characters.peek():
            if opening not in "[{":
                raise BadQuestionFile(f"{file} holds neither a JSON array nor an object of questions")
            characters.skip(opening)
            closing = "]" if opening == "[" else "}"
            while characters.peek() != closing:
                number += 1
                key = None
                if opening == "{":
                    key = str(characters.value())
                    characters.skip(":")
                value = characters.value()
                where = f"{file.name} record {number}" + (f" ({key[:80]})" if key else "")
                yield Row(where, _as_record(value), characters.read_bytes, key)
                if characters.peek() != closing:
                    characters.skip(",")
            characters.skip(closing)
    finally:
        characters.close()


def _separated(file: Path) -> Iterator[Row]:
    """CSV or TSV with a header; a field may have line breaks and as much base64 as a medium needs."""
    before = csv.field_size_limit(LONGEST_RECORD)
    try:
        yield from _separated_rows(file)
    finally:
        csv.field_size_limit(before)


def _separated_rows(file: Path) -> Iterator[Row]:
    with file.open("rb") as held, io.TextIOWrapper(held, encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=_delimiter(file))
        header: list[str] | None = None
        begun = 1
        try:
            for cells in reader:
                where, begun = f"{file.name} line {begun}", reader.line_num + 1
                if not any(cell.strip() for cell in cells):
                    continue
                if header is None:
                    header = [cell.strip() for cell in cells]
                    _check_header(file, header)
                    continue
                yield Row(where, _cells(header, cells), held.tell())
        except csv.Error as error:
            raise BadQuestionFile(f"{file}, line {begun}: cannot be read on ({error}); check its quotes") from error


def _delimiter(file: Path) -> str:
    if file.suffix.lower() == ".tsv":
        return "\t"
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return delimiter_of(stream.readline(BLOCK_CHARACTERS))


def _check_header(file: Path, header: Sequence[str]) -> None:
    twice = [name for name in header if name and header.count(name) > 1]
    if twice:
        raise BadQuestionFile(f"{file} has two columns {twice[0]!r}; keep one")


def _cells(header: Sequence[str], cells: Sequence[str]) -> Mapping[str, Any] | BadRecord:
    if len(cells) > len(header):
        return BadRecord("wrong_width", f"{len(cells)} cells under {len(header)} columns")
    return dict(zip(header, cells, strict=False))


def _parquet(file: Path) -> Iterator[Row]:
    number, read = 0, 0
    with pq.ParquetFile(file, memory_map=False, buffer_size=1 << 20, pre_buffer=False) as opened:
        _check_parquet(file, opened.schema_arrow)
        for group in range(opened.num_row_groups):
            about = opened.metadata.row_group(group)
            chunks = [about.column(column) for column in range(about.num_columns)]
            read += sum(chunk.total_compressed_size for chunk in chunks)
            # A dictionary holds a value once, and every row of a batch holds it again.
            rows = BATCH_BYTES // max(1, sum(chunk.total_uncompressed_size for chunk in chunks))
            for batch in opened.iter_batches(max(1, min(MOST_BATCH_ROWS, rows)), row_groups=[group], use_threads=False):
                for place in range(batch.num_rows):
                    number += 1
                    yield Row(f"{file.name} row {number}", _values(batch.slice(place, 1)), read)


def _values(row: pa.RecordBatch) -> Mapping[str, Any] | BadRecord:
    try:
        return dict(row.to_pylist()[0])
    except (ValueError, OverflowError, pa.ArrowException) as error:
        return BadRecord("broken_text", f"a value cannot be read ({' '.join(str(error).split())[:120]})")


def _check_parquet(file: Path, schema: pa.Schema) -> None:
    twice = [name for name in schema.names if schema.names.count(name) > 1]
    if twice:
        raise BadQuestionFile(f"{file} has two columns {twice[0]!r}; keep one")


_READERS: Mapping[str, Callable[[Path], Iterator[Row]]] = {
    ".csv": _separated,
    ".json": _json,
    ".jsonl": _json_lines,
    ".parquet": _parquet,
    ".tsv": _separated,
}
TABLE_ENDINGS = tuple(sorted(_READERS))
