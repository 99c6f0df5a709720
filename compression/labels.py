"""What users tell of a pool's questions in a file: abilities, groups, or which must be in the subset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from compression.importers.base import BadPool
from compression.importers.long import read_table
from compression.matrix import ScoreMatrix
from warehouse.analytics import connected

_KEYS = ("benchmark", "question_id")


@dataclass(frozen=True)
class Labels:
    """Columns of a file, in the order of a matrix's questions.

    Attributes:
        columns: By name, (questions,) text; None for a question without.
        listed: (questions,) whether the file names the question.
        digest: sha256 of the file.
        unknown: Rows of the file that name no question of the matrix.
    """

    columns: Mapping[str, Sequence[str | None]]
    listed: NDArray[np.bool_]
    digest: str
    unknown: tuple[str, ...]


def read_labels(file: Path, matrix: ScoreMatrix) -> Labels:
    """Labels from Parquet, CSV or TSV with a column question_id, and benchmark where ids repeat between benchmarks.

    Raises:
        BadPool: The file cannot be read so, names a question twice or ambiguously, or names none of the matrix.
    """
    rows = _rows(file)
    names = [name for name in rows[0] if name not in _KEYS]
    places = _places(matrix, with_benchmark="benchmark" in rows[0])
    columns: dict[str, list[str | None]] = {name: [None] * len(matrix) for name in names}
    listed = np.zeros(len(matrix), dtype=bool)
    unknown = []
    for row in rows:
        key = (row.get("benchmark"), row["question_id"])
        place = places.get(key)
        if place is None:
            unknown.append(row["question_id"] or "")
            continue
        if place < 0:
            raise BadPool(f"{file}: {row['question_id']} is in several benchmarks; add a column benchmark")
        if listed[place]:
            raise BadPool(f"{file} names {row['question_id']} twice; keep one row")
        listed[place] = True
        for name in names:
            columns[name][place] = row[name] or None
    if not listed.any():
        raise BadPool(f"{file} names no question of {matrix.pool}; its ids look like {matrix.question_ids[0]!r}")
    return Labels(columns, listed, sha256(file.read_bytes()).hexdigest(), tuple(unknown))


def _rows(file: Path) -> list[dict[str, Any]]:
    try:
        with connected() as connection:
            found = read_table(connection, file)
            names = ('"' + name.replace('"', '""') + '"' for name in found.columns)
            text = ", ".join(f"{name}::VARCHAR AS {name}" for name in names)
            rows: list[dict[str, Any]] = found.project(text).to_arrow_table().to_pylist()
    except (duckdb.Error, OSError) as error:
        first_lines = " ".join(str(error).splitlines()[:2])
        raise BadPool(f"{file} cannot be read as Parquet or CSV, write it again ({first_lines})") from error
    if not rows:
        raise BadPool(f"{file} has no rows; write one for each question")
    if "question_id" not in rows[0]:
        raise BadPool(f"{file} has no column question_id, only {', '.join(rows[0])}; name one so")
    return rows


def _places(matrix: ScoreMatrix, with_benchmark: bool) -> dict[tuple[str | None, str], int]:
    """Where each question stands; -1 where an id without its benchmark is not enough."""
    places: dict[tuple[str | None, str], int] = {}
    names = [matrix.benchmarks[code] if with_benchmark else None for code in matrix.benchmark_of]
    for place, key in enumerate(zip(names, matrix.question_ids.tolist(), strict=True)):
        places[key] = -1 if key in places else place
    return places
