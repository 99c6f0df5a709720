"""Questions of any benchmark, from a file of rows whose columns go by common names."""

import ast
import csv
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InterplayError, UnknownName
from core.question import choice_label

# What each part of a question is called, the likeliest name first; capitals, spaces and hyphens do not matter.
COLUMNS: Mapping[str, Sequence[str]] = {
    "id": ("qid", "question_id", "id", "item_id", "sample_id", "uid", "uuid", "index", "idx"),
    "question": ("question", "prompt", "query", "question_text", "problem", "instruction"),
    "choices": ("choices", "options", "candidates", "multi_choice"),
    "answer": ("answer", "answers", "correct_answer", "ground_truth", "gt", "gold", "target", "reference"),
    "image": ("image", "images", "image_path", "image_file", "img", "img_path"),
    "video": ("video", "videos", "video_path", "video_file"),
    "audio": ("audio", "audios", "audio_path", "audio_file"),
    "media": ("media", "media_path", "files"),
}
REQUIRED = ("id", "question", "answer")
_MEDIA = ("image", "video", "audio", "media")
# A longer text in a column of media is the file itself (base64).
_LONGEST_PATH = 1_000
_LONGEST_ID = 256
# Rows can hold whole films.
_ROWS_AT_ONCE = 64


class UnreadableQuestions(InterplayError):
    """A file that holds no rows of questions."""


class MissingColumns(InterplayError):
    """A file of questions in which no column goes by the name of what an audit needs."""


class DoubleId(InterplayError):
    """Two different questions of one id."""


def read_questions(file: Path, columns: Mapping[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """The questions of a JSONL, CSV, TSV or Parquet file by id: `question`, `choices`, `answer` and `media`, as texts.

    Rows that say the same (a row for each model that answered) count once.

    Args:
        file: The file.
        columns: What a part of a question is called in it, where that is none of the usual names.

    Raises:
        UnreadableQuestions: It cannot be read, or holds no rows.
        MissingColumns, DoubleId: As they say.
        UnknownName: `columns` speaks of a part or a column that there is not.
    """
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise UnreadableQuestions(f"{file} is none of {', '.join(_READERS)}; convert it to one of these")
    try:
        rows = [_without_files(row) for row in reader(file)]
    except (OSError, UnicodeDecodeError, csv.Error, ValueError, pa.ArrowException) as error:
        raise UnreadableQuestions(f"{file} cannot be read as {file.suffix[1:]}: {_first_line(error)}") from error
    if not rows:
        raise UnreadableQuestions(f"{file} holds no rows; name a file with questions")
    names = list(dict.fromkeys(name for row in rows for name in row))
    found = _columns(file, names, columns or {})
    letters = [] if "choices" in found else _letters(names)
    questions: dict[str, dict[str, Any]] = {}
    first: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        qid, shown = _text(row.get(found["id"])).strip(), _shown(row, found, letters)
        if not qid or len(qid) > _LONGEST_ID:
            raise UnreadableQuestions(
                f"{file}, row {number}: the id ({found['id']}) is {'empty' if not qid else 'too long'}; "
                "name another column with --column id=NAME"
            )
        if questions.setdefault(qid, shown) != shown:
            raise DoubleId(
                f"{file}: rows {first[qid]} and {number} have one id, {qid!r}, and differ; "
                "name the column that tells questions apart with --column id=NAME"
            )
        first.setdefault(qid, number)
    return questions


def _columns(file: Path, names: Sequence[str], said: Mapping[str, str]) -> dict[str, str]:
    for part, name in said.items():
        if part not in COLUMNS:
            raise UnknownName("part of a question", part, COLUMNS)
        if name not in names:
            raise UnknownName("column", name, names)
    by_usual = {_plain(name): name for name in reversed(names)}
    found = {part: next((by_usual[one] for one in usual if one in by_usual), None) for part, usual in COLUMNS.items()}
    known = {part: name for part, name in {**found, **said}.items() if name is not None}
    missing = [part for part in REQUIRED if part not in known]
    if missing:
        raise MissingColumns(
            f"{file} has no column for {' and '.join(missing)} among {', '.join(names)}; "
            f"say which it is with --column {missing[0]}=NAME, or add it"
        )
    return known


def _letters(names: Sequence[str]) -> list[str]:
    """Columns A, B, C, ... without a gap."""
    letters: list[str] = []
    while choice_label(len(letters)) in names:
        letters.append(choice_label(len(letters)))
    return letters


def _shown(row: Mapping[str, Any], found: Mapping[str, str], letters: Sequence[str]) -> dict[str, Any]:
    choices = _listed(row.get(found["choices"])) if "choices" in found else [row.get(one) for one in letters]
    return {
        "question": _text(row.get(found["question"])),
        "choices": [_text(one) for one in choices if one not in (None, "")],
        "answer": " / ".join(_text(one) for one in _listed(row.get(found["answer"]))),
        "media": [one for part in _MEDIA if part in found for one in _media(row.get(found[part]))],
    }


def _listed(value: Any) -> list[Any]:
    """What a cell lists: a list, a list as JSON or as Python writes it, or the cell alone."""
    if isinstance(value, Mapping):
        return [f"{name}: {_text(one)}" for name, one in value.items() if one is not None]
    if isinstance(value, list):
        return value
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        for parse in (json.loads, ast.literal_eval):
            try:
                parsed = parse(value)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
            return _listed(parsed) if isinstance(parsed, list | Mapping) else [value]
    return [] if value is None else [value]


def _media(value: Any) -> Iterator[str]:
    """Paths as they stand there; files that are in the row itself as text, by their sha256."""
    if isinstance(value, str) and len(value) > _LONGEST_PATH:
        yield f"sha256 {hashlib.sha256(value.encode()).hexdigest()}"
    elif isinstance(value, str) and value.lstrip().startswith(("[", "{")) and (listed := _listed(value)) != [value]:
        for one in listed:
            yield from _media(one)
    elif isinstance(value, Mapping):
        # {"bytes": ..., "path": ...}, as Hugging Face stores files; or a path for each placeholder.
        for name in sorted(value):
            yield from _media(value[name])
    elif isinstance(value, list):
        for one in value:
            yield from _media(one)
    elif value not in (None, ""):
        yield _text(value)


def _without_files(value: Any) -> Any:
    """A row that holds the sha256 of each file in it instead: all rows together must fit in memory."""
    if isinstance(value, bytes):
        return f"sha256 {hashlib.sha256(value).hexdigest()}"
    if isinstance(value, Mapping):
        return {name: _without_files(one) for name, one in value.items()}
    return [_without_files(one) for one in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    if value is None:
        return ""
    # PostgreSQL's text has no NUL.
    return (value if isinstance(value, str) else str(value)).replace("\x00", "\N{REPLACEMENT CHARACTER}")


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _jsonl(file: Path) -> Iterator[dict[str, Any]]:
    # Not splitlines: the separators U+2028 and U+0085 may stand inside a JSON text.
    for number, line in enumerate(file.read_text(encoding="utf-8-sig").split("\n"), start=1):
        if line.strip():
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError(f"line {number} is no object")
            yield row


def _separated(delimiter: str) -> Callable[[Path], Iterator[dict[str, Any]]]:
    def read(file: Path) -> Iterator[dict[str, Any]]:
        # Files may stand in the cells themselves.
        before = csv.field_size_limit(sys.maxsize)
        try:
            with file.open(encoding="utf-8-sig", newline="") as stream:
                rows = csv.DictReader(stream, delimiter=delimiter)
                yield from ({name: cell for name, cell in row.items() if name is not None} for row in rows)
        finally:
            csv.field_size_limit(before)

    return read


def _parquet(file: Path) -> Iterator[dict[str, Any]]:
    for batch in pq.ParquetFile(file).iter_batches(batch_size=_ROWS_AT_ONCE):
        yield from batch.to_pylist()


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


_READERS: Mapping[str, Callable[[Path], Iterator[dict[str, Any]]]] = {
    ".jsonl": _jsonl,
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".parquet": _parquet,
}
