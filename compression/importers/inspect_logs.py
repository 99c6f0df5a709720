"""Inspect AI: logs of evaluations, `.eval` or `.json`, read by its own reader."""

import math
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import duckdb

from compression.importers.base import BadPool, Reading
from compression.importers.rows import Row, files_of, fill, listed, number_of

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog
    from inspect_ai.scorer import Score

_SNIFFED_BYTES = 512
_BEGIN = re.compile(rb'\A\s*\{\s*"version"\s*:\s*\d+,\s*"status"\s*:')
# What the reader raises of a broken file: errors of zip, of JSON, of pydantic, and its own.
_BROKEN = (OSError, ValueError, LookupError, RuntimeError, EOFError, BadZipFile, zlib.error)
# Text that Inspect's value_to_float takes for a number; of any other it makes 0.
_LETTERS = {"C", "I", "P", "N"}
_WORDS = {"yes", "no", "true", "false"}


class InspectLogs:
    """Of each sample its `id` and the value of the log's first scorer, or of the scorer that `--metric` names.

    The task is the benchmark, the log's model the model; epochs are repeats. Values become numbers as by Inspect's
    `value_to_float`: C is 1, P 0.5, I and N 0. Of a scorer that gives several values `--metric scorer/value` names one.
    A sample that ended in an error, or that the scorer left unscored, has no score.
    """

    def knows(self, path: Path) -> bool:
        """By the ending, or by how a log in JSON begins."""
        if path.is_dir():
            return any(self.knows(file) for pattern in ("*.eval", "*.json") for file in path.rglob(pattern))
        if path.suffix.lower() != ".json":
            return path.suffix.lower() == ".eval"
        with path.open("rb") as stream:
            return _BEGIN.match(stream.read(_SNIFFED_BYTES)) is not None

    def load(self, connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> None:
        """See `Importer.load`."""
        files = files_of(path, "*.eval")
        if path.is_dir():
            files += [file for file in files_of(path, "*.json") if self.knows(file)]
        if not files:
            raise BadPool(f"{path} holds no logs of Inspect; name a folder with .eval or .json files")
        fill(connection, path, (row for file in files for row in _rows(file, reading)), reading)


def _rows(file: Path, reading: Reading) -> Iterator[Row]:
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries
    from zstandard import ZstdError  # Inspect packs its logs with it

    try:
        log = read_eval_log(file, header_only=True)
        samples = read_eval_log_sample_summaries(file)
    except (*_BROKEN, ZstdError) as error:
        first_line = str(error).strip().partition("\n")[0]
        raise BadPool(f"{file} cannot be read as a log of Inspect: {first_line or error!r}") from error
    scorer, key = _asked(log, reading, file)
    for sample in samples:
        score = None if sample.error else (sample.scores or {}).get(scorer)
        where = f"{file}, sample {sample.id}"
        yield Row(log.eval.task, str(sample.id), log.eval.model, _number(score, key, scorer, where))


def _asked(log: "EvalLog", reading: Reading, file: Path) -> tuple[str, str | None]:
    """The scorer, and which of its values."""
    scorers = [scorer.name for scorer in log.eval.scorers or ()]
    if reading.metric is None:
        if not scorers:
            raise BadPool(f"{file} was not scored; score it with: inspect score {file}")
        return scorers[0], None
    if reading.metric in scorers:
        return reading.metric, None
    scorer, _, key = reading.metric.rpartition("/")
    if scorer not in scorers:
        raise BadPool(f"{file} has no scorer {reading.metric!r}, only {listed(scorers)}; name one with --metric")
    return scorer, key


def _number(score: "Score | None", key: str | None, scorer: str, where: str) -> float | None:
    from inspect_ai.scorer import value_to_float

    value: Any = None if score is None else score.value
    if isinstance(value, Mapping):
        if key not in value:
            names = ", ".join(f"{scorer}/{name}" for name in value)
            raise BadPool(f"{where} has several values; name one with --metric: {names}")
        value = value[key]
    if isinstance(value, str) and (value in _LETTERS or value.lower() in _WORDS or _is_written_number(value)):
        return float(value_to_float()(value))
    return number_of(value, where)


def _is_written_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


INSPECT_LOGS = InspectLogs()
