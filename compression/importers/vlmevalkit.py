"""VLMEvalKit: `MODEL_BENCHMARK_..._result.xlsx` of an evaluation, or all of a folder `OUTPUTS/MODEL/`."""

import re
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile

import duckdb

from compression.importers.base import BadPool, Reading
from compression.importers.rows import Row, choose_metric, files_of, fill, is_number, number_of, tell_left_out

_PATTERN = "*.xlsx"
_USUAL = ("hit", "score")
# Written in place of an answer when the model's server gave none; its hit is that of a guess.
_FAILED = "Failed to obtain answer"
# What evaluation adds to the name of the file with the answers: the judge, and what it made.
_ADDED = re.compile(r"(?:_(?:openai|gpt4|exact_matching|(?:chat)?gpt-[\w.-]*?))?(?:_result|_score|_auxmatch)?$")

# What the reader raises of a broken workbook: errors of zip, of XML, and its own.
_BROKEN = (BadZipFile, ParseError, zlib.error, LookupError, ValueError, EOFError, OSError, RuntimeError)


class VlmEvalKit:
    """Sheets with a line for each question: `index`, `prediction`, and `hit` or `score` (0 or 1).

    The model is the folder that the file's name begins with, and the benchmark what follows in the name, without the
    judge's. Of a folder, files without these columns are left out; the log tells those that no evaluation lies beside.
    A prediction that says the model could not be reached has no score.
    """

    def knows(self, path: Path) -> bool:
        """By the ending."""
        return path.suffix.lower() == ".xlsx" or (path.is_dir() and next(path.rglob(_PATTERN), None) is not None)

    def load(self, connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> None:
        """See `Importer.load`."""
        # Excel keeps a hidden file beside each that is open.
        files = [file for file in files_of(path, _PATTERN) if not file.name.startswith("~$")]
        if path.is_dir():
            scored = [file for file in files if _is_scored(file, reading)]
            # The answers alone lie beside their evaluation.
            begun = [file for file in files if not any(one.stem.startswith(file.stem) for one in scored)]
            tell_left_out(path, begun, "a column hit or score (--metric names another)")
            files = scored
        if not files:
            raise BadPool(f"{path} holds no .xlsx with columns index and hit or score; evaluate with VLMEvalKit first")
        fill(connection, path, (row for file in files for row in _rows(file, reading)), reading)


def _rows(file: Path, reading: Reading) -> Iterator[Row]:
    lines = _lines(file)
    header = [str(cell) for cell in next(lines, ())]
    if "index" not in header:
        raise BadPool(f"{file} has no column index, only {', '.join(header) or 'none'}; name a file of VLMEvalKit")
    model, benchmark = _named(file, reading)
    metric: str | None = None
    for number, line in enumerate(lines, start=2):
        record = dict(zip(header, line, strict=False))
        if record["index"] is None:
            continue  # a sheet may end with empty lines
        if metric is None:
            there = [name for name, value in record.items() if is_number(value) and name != "index"]
            metric = choose_metric({*there, *(set(header) & set(_USUAL))}, _USUAL, reading, str(file))
        failed = _FAILED in str(record.get("prediction"))
        score = None if failed else number_of(record[metric], f"{file}, line {number}")
        yield Row(benchmark, _text(record["index"]), model, score)


def _lines(file: Path) -> Iterator[tuple[Any, ...]]:
    from openpyxl import load_workbook

    try:
        with file.open("rb") as stream, closing(load_workbook(stream, read_only=True, data_only=True)) as book:
            yield from book.worksheets[0].iter_rows(values_only=True)
    except _BROKEN as error:
        raise BadPool(f"{file} cannot be read as an .xlsx workbook ({error})") from error


def _is_scored(file: Path, reading: Reading) -> bool:
    wanted = {reading.metric} if reading.metric else set(_USUAL)
    return bool(wanted & {str(cell) for cell in next(_lines(file), ())})


def _named(file: Path, reading: Reading) -> tuple[str, str]:
    """Model and benchmark; both names may hold underscores, and only the folders tell where one ends."""
    folders = [folder.name for folder in file.absolute().parents if folder.name]
    model = reading.model or next((name for name in folders if file.stem.startswith(f"{name}_")), None)
    benchmark = reading.benchmark
    if model is None and benchmark is not None:
        model = file.stem.partition(f"_{benchmark}")[0]
    if model is None and file.stem.count("_") == 1:
        model = file.stem.partition("_")[0]
    if model is None:
        raise BadPool(f"{file}: its folder does not tell where the model's name ends; name it with --model")
    rest = file.stem.removeprefix(f"{model}_")
    return model, benchmark or _ADDED.sub("", rest, count=1)


def _text(index: Any) -> str:
    # Numbers come back as floats from some writers.
    return str(int(index)) if isinstance(index, float) and index.is_integer() else str(index)


VLMEVALKIT = VlmEvalKit()
