"""OpenCompass: `results/MODEL/DATASET.json` with details of each question, or all of a folder."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from compression.importers.base import BadPool, Reading
from compression.importers.rows import (
    Row,
    choose_metric,
    files_of,
    fill,
    is_number,
    number_of,
    read_json,
    tell_left_out,
)

_SNIFFED_BYTES = 1 << 16
# A key of the whole document, as it is written with an indent of four.
_DETAILS = re.compile(rb'\A\s*\{\s*"details"\s*:|\n {4}"details": *[\[{]')
# In the order in which OpenCompass itself looks for them (BaseEvaluator.evaluate), then what judges give.
_USUAL = ("correct", "is_correct", "cascade_correct", "score")


class OpenCompass:
    """`details`, by index or a list: of each question `correct` (or `is_correct`, `cascade_correct`, `score`).

    The dataset is the benchmark and the folder the model. A question is called by its `example_abbr`, else by its
    index. Of several runs a value is a list: repeats. Details are only there after `opencompass --dump-eval-details`.
    """

    def knows(self, path: Path) -> bool:
        """By the key `details` at the file's beginning."""
        if path.is_dir():
            return any(self.knows(file) for file in path.rglob("*.json"))
        if path.suffix.lower() != ".json":
            return False
        with path.open("rb") as stream:
            return _DETAILS.search(stream.read(_SNIFFED_BYTES)) is not None

    def load(self, connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> None:
        """See `Importer.load`."""
        there = files_of(path, "*.json")
        files = [file for file in there if path.is_file() or self.knows(file)]
        results = [file for file in there if file.absolute().parent.parent.name == "results"]
        tell_left_out(path, sorted({*results} - {*files}), "details (opencompass --dump-eval-details)")
        if not files:
            raise BadPool(f"{path} holds no results with details; evaluate again with opencompass --dump-eval-details")
        fill(connection, path, (row for file in files for row in _rows(file, reading)), reading)


def _rows(file: Path, reading: Reading) -> Iterator[Row]:
    details = _details(file)
    kept = {key: value for _, one in details for key, value in one.items() if _is_score(value)}
    metric = choose_metric(kept, _USUAL, reading, str(file))
    model = file.absolute().parent.name
    for question, one in details:
        value = one.get(metric)
        for score in value if isinstance(value, list) else [value]:
            yield Row(file.stem, question, model, number_of(score, f"{file}, question {question}"))


def _details(file: Path) -> list[tuple[str, Mapping[str, Any]]]:
    document = read_json(file)
    details = document.get("details") if isinstance(document, dict) else None
    if isinstance(details, list):
        details = {str(index): one for index, one in enumerate(details)}
    if not isinstance(details, dict):
        raise BadPool(f"{file} has no details of each question; evaluate again with opencompass --dump-eval-details")
    # Among them stands the kind of inference, as text.
    found = [(index, one) for index, one in details.items() if isinstance(one, dict)]
    return [(str(one.get("example_abbr", index)), one) for index, one in found]


def _is_score(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return bool(values) and all(is_number(one) for one in values)


OPENCOMPASS = OpenCompass()
