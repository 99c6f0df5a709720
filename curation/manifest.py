"""Manifests: a CSV or JSONL file that says for each media file or URL where it is from and what is in it."""

import csv
import difflib
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from core.errors import InterplayError
from core.separated import SAVE_AS_UTF8, decoded, delimiter_of
from curation.addresses import MOST_URL_CHARACTERS, BadUrl
from curation.entries import RENAME, Claims, Entry, Link, Rejected, Wanted, leads_out, origin_of, printable

COLUMNS = (
    "path", "url", "source", "licence", "author", "tags", "consent", "caption", "audio_content", "audio_type",
    "sound_of", "offset_s",
)  # fmt: skip
AUDIO_TYPES = ("speech", "environment", "music")
TAG_SEPARATOR = ";"

Row = tuple[int, Mapping[str, Any]]

_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""What terminals obey or no database takes; the name of a file may hold it all the same."""


class BadManifest(InterplayError):
    """A manifest that cannot be read: says file, line, column, and the mend."""

    def __init__(self, file: Path, problem: str, line: int | None = None, column: str | None = None) -> None:
        where = "".join([f", line {line}" if line else "", f", column {column!r}" if column else ""])
        super().__init__(f"{file}{where}: {problem}")


def read_manifest(file: Path) -> tuple[list[Wanted], list[Rejected]]:
    """Entries and links in the manifest's order; files that are not there, or lead out of its folder, rejected.

    Columns: `path` (relative to the manifest, inside its folder) or `url` (to fetch), and as wanted `source`,
    `licence`, `author`, `tags` (separated by ';', in JSONL also a list), `consent` (id), `caption`, `audio_content`,
    `audio_type` (speech, environment or music); of a sound that belongs to a film of another line `sound_of` (the
    film's path) and `offset_s` (seconds).

    Raises:
        BadManifest: It cannot be read, has an unknown column or an impossible value, names a file twice or one
            outside its folder.
    """
    entries: dict[str, Wanted] = {}
    rejected: list[Rejected] = []
    root = file.parent.resolve()
    for line, row in _rows(file):
        entry = _entry(file, line, row)
        if isinstance(entry, Rejected):
            rejected.append(entry)
            continue
        if entry.origin in entries:
            column = "url" if isinstance(entry, Link) else "path"
            raise BadManifest(file, f"{row[column]!r} stands here a second time; keep one line of it", line, column)
        entries[entry.origin] = entry
        if isinstance(entry, Link):
            continue
        # Path.is_file raises for a name that is too long for any file.
        if not os.path.isfile(entry.path):  # noqa: PTH113
            told = f"{file}, line {line}: there is no such file{_misnamed(entry.path)}"
            rejected.append(Rejected(entry.origin, "missing", told))
        elif leads_out(entry.path, root):
            message = (
                f"{file}, line {line}: a symbolic link that leads out of the manifest's folder; copy the file there"
            )
            rejected.append(Rejected(entry.origin, "outside_folder", message))
    bad = {one.origin for one in rejected}
    return [entry for entry in entries.values() if entry.origin not in bad], rejected


def _rows(file: Path) -> Iterator[Row]:
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise BadManifest(file, "a manifest is a .csv, .tsv or .jsonl file; rename or convert it")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadManifest(file, f"cannot be read ({error.strerror}); check the path") from error
    try:
        text = decoded(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadManifest(file, f"not UTF-8 text; {SAVE_AS_UTF8}", line) from error
    rows = list(reader(file, text))
    if not rows:
        raise BadManifest(file, "there is no entry in it; write one line for each file")
    yield from rows


def _csv_rows(file: Path, text: str) -> Iterator[Row]:
    delimiter = delimiter_of(text)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    header: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            begun, line = line, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                _check_columns(file, begun, header)
                continue
            if len(cells) != len(header):
                told = f"{len(cells)} cells under {len(header)} columns"
                problem = f"{told}; put text with {delimiter!r} in it into double quotes"
                raise BadManifest(file, problem, begun)
            yield begun, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise BadManifest(file, f"not readable as CSV ({error}); check the double quotes from here on", line) from error


def _jsonl_rows(file: Path, text: str) -> Iterator[Row]:
    for line, written in enumerate(text.split("\n"), start=1):
        if not written.strip():
            continue
        try:
            row = json.loads(written)
        except json.JSONDecodeError as error:
            raise BadManifest(file, f"not readable as JSON ({error.msg} at character {error.colno})", line) from error
        except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets by the thousand
            raise BadManifest(file, f"not readable as JSON ({error}); write text in quotes", line) from error
        if not isinstance(row, dict):
            raise BadManifest(file, 'each line is one JSON object, as {"path": "a.jpg", "licence": "CC0-1.0"}', line)
        _check_columns(file, line, list(row))
        for name, value in row.items():
            texts = value if isinstance(value, list) and name == "tags" else [value]
            if value is not None and not all(isinstance(one, str) for one in texts):
                raise BadManifest(file, f"{json.dumps(value)} is not text; write it in quotes", line, name)
        yield line, {name: TAG_SEPARATOR.join(v) if isinstance(v, list) else v or "" for name, v in row.items()}


_READERS: Mapping[str, Callable[[Path, str], Iterator[Row]]] = {
    ".csv": _csv_rows,
    ".tsv": _csv_rows,
    ".jsonl": _jsonl_rows,
}
ENDINGS = tuple(_READERS)


def _check_columns(file: Path, line: int, names: list[str]) -> None:
    for name in names:
        if name not in COLUMNS:
            near = difflib.get_close_matches(name.lower(), COLUMNS, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(COLUMNS)}"
            raise BadManifest(file, f"unknown column; {hint}", line, name)
        if names.count(name) > 1:
            raise BadManifest(file, "this column stands here twice; keep one", line, name)
    if not {"path", "url"} & set(names):
        raise BadManifest(file, "the column 'path' is missing (or 'url'); it names the media file of each line", line)


def _entry(file: Path, line: int, row: Mapping[str, str]) -> Wanted | Rejected:
    for name, text in row.items():
        if name != "path" and (wrong := _NO_TEXT.search(text)):
            raise BadManifest(file, f"holds the control character {wrong.group()!r}; remove it", line, name)
    value = {name: text.strip() or None for name, text in row.items()}
    claims = _claims(file, line, value)
    path, url = value.get("path"), value.get("url")
    if url is None:
        place = _inside(file, line, path)
        return Entry(place, origin_of(place), claims)
    if path is not None:
        raise BadManifest(file, "stands beside a path; a line names one file, by path or by url", line, "url")
    try:
        return Link.parse(url, claims)
    except BadUrl as error:
        return Rejected(printable(url)[:MOST_URL_CHARACTERS], error.reason, f"{file}, line {line}: {error}")


def _claims(file: Path, line: int, value: Mapping[str, str | None]) -> Claims:
    audio_type = value.get("audio_type")
    if audio_type is not None and audio_type not in AUDIO_TYPES:
        raise BadManifest(file, f"{audio_type!r} is none of {', '.join(AUDIO_TYPES)}", line, "audio_type")
    tags = [tag.strip() for tag in (value.get("tags") or "").split(TAG_SEPARATOR)]
    return Claims(
        source=value.get("source"),
        licence=value.get("licence"),
        author=value.get("author"),
        consent_id=value.get("consent"),
        tags=tuple(tag for tag in tags if tag),
        caption=value.get("caption"),
        audio_content=value.get("audio_content"),
        audio_type=audio_type,
        sound_of=None if (film := value.get("sound_of")) is None else origin_of(_inside(file, line, film)),
        offset_s=_seconds(file, line, value.get("offset_s")),
    )


def _misnamed(path: Path) -> str:
    """A hint where the file is there under a name in GBK, as archives packed on Chinese Windows leave it."""
    try:
        other = os.path.join(os.fsencode(path.parent), path.name.encode("gb18030"))  # noqa: PTH118 - bytes
    except UnicodeEncodeError:
        return ""
    return f" under this name, but one whose name is in GBK; {RENAME}" if os.path.isfile(other) else ""  # noqa: PTH113


def _seconds(file: Path, line: int, written: str | None) -> float | None:
    if written is None:
        return None
    try:
        seconds = float(written)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise BadManifest(file, f"{written!r} is no number of seconds, as 0.48 or -1.5", line, "offset_s")
    return seconds


def _inside(file: Path, line: int, written: str | None) -> Path:
    """The path of a line, lexically inside the manifest's folder."""
    if written is None:
        raise BadManifest(file, "is empty; name the media file, relative to the manifest", line, "path")
    folder = Path(os.path.normpath(file.parent.absolute()))
    place = Path(os.path.normpath(folder / written))
    if "\\" in written and not os.path.isfile(place):  # noqa: PTH113 - as above; Windows writes paths so
        place = Path(os.path.normpath(folder / written.replace("\\", "/")))
    if not place.is_relative_to(folder):
        problem = f"{written!r} lies outside the manifest's folder; put the file, or the manifest, where it is inside"
        raise BadManifest(file, problem, line, "path")
    return file.parent / place.relative_to(folder)
