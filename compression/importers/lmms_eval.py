"""lmms-eval: `DATE_samples_TASK.jsonl` of a task, or all of a folder."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from compression.importers.base import BadPool, Reading
from compression.importers.rows import Row, choose_metric, files_of, fill, is_number, listed, number_of

_NAME = re.compile(r"(?:.*_)?samples_(?P<task>.+)\.jsonl")
# What lmms-eval writes of a sample beside its metrics (evaluator.evaluate, EvaluationTracker.save_results_samples).
_NO_METRICS = {"doc_id", "doc", "doc_hash", "prompt_hash", "target", "target_hash", "input", "arguments"}
_NO_METRICS |= {"resps", "filtered_resps", "submission"}
_USUAL = ("exact_match", "acc", "accuracy", "score")
# Under which a metric that is a record has its score.
_IN_RECORDS = ("score", "correct", "is_correct", "acc", "accuracy")


class LmmsEval:
    """A line for each question: `doc_id`, and each metric under its name, a number or a record with a `score`.

    The task is the benchmark and the folder the model. A metric may be there for some questions only, as the two of
    MME: without `--metric` a line's score is that of its one metric with a number, else of a usual name.
    """

    def knows(self, path: Path) -> bool:
        """By the file's name."""
        if path.is_dir():
            return any(_NAME.fullmatch(file.name) for file in path.rglob("*.jsonl"))
        return _NAME.fullmatch(path.name) is not None

    def load(self, connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> None:
        """See `Importer.load`."""
        files = [file for file in files_of(path, "*.jsonl") if path.is_file() or self.knows(file)]
        if not files:
            raise BadPool(f"{path} holds no file named ..._samples_TASK.jsonl; run lmms_eval with --log_samples")
        fill(connection, path, (row for file in files for row in _rows(file, reading)), reading)


def _rows(file: Path, reading: Reading) -> Iterator[Row]:
    named = _NAME.fullmatch(file.name)
    benchmark = named["task"] if named else file.stem
    model = file.absolute().parent.name
    seen: set[str] = set()
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                where = f"{file}, line {number}"
                sample = _sample(line, where)
                metrics = {key: _in_record(value) for key, value in sample.items() if key not in _NO_METRICS}
                seen.update(metrics)
                yield Row(benchmark, str(sample["doc_id"]), model, _score(metrics, reading, where))
    if seen and reading.metric is not None:
        choose_metric(seen, (), reading, str(file))


def _sample(line: bytes, where: str) -> Mapping[str, Any]:
    try:
        sample = json.loads(line)
    except ValueError as error:
        raise BadPool(f"{where} is no JSON ({error}); write the file again") from error
    if not isinstance(sample, dict) or "doc_id" not in sample:
        raise BadPool(f"{where} is no sample of lmms-eval: it lacks doc_id")
    return sample


def _score(metrics: Mapping[str, Any], reading: Reading, where: str) -> float | None:
    if reading.metric is not None:
        return number_of(metrics.get(reading.metric), where)
    names = [name for name, value in metrics.items() if is_number(value)]
    if not names and None in metrics.values():
        return None
    if not names:
        there = listed(sorted(metrics))
        raise BadPool(f"{where}: none of {there} is a number or a record with a score; write the scores as CSV")
    return number_of(metrics[choose_metric(names, _USUAL, reading, where)], where)


def _in_record(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return next((value[name] for name in _IN_RECORDS if name in value), value)


LMMS_EVAL = LmmsEval()
