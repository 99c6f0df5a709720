"""A subset looked at beside its pool: which questions are kept, which are not, and of which labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from compression.labels import read_labels
from compression.matrix import Missing, MissingRule, ScoreMatrix
from compression.subset import Manifest, SubsetSample
from core.content import Frozen
from warehouse.analytics import connected, load_sql


class QuestionRow(Frozen):
    """A question; `weight` and `stratum` are None where it is not kept, the rest where nothing is known of the pool."""

    benchmark: str
    question_id: str
    weight: float | None
    stratum: int | None
    mean: float | None
    answers: int | None


@dataclass(frozen=True)
class QuestionQuery:
    """Which questions are asked for; `kept` None: all of the pool. `page` counts from 1."""

    text: str = ""
    benchmark: str | None = None
    kept: bool | None = True
    page: int = 1
    page_size: int = 50


class LabelCount(Frozen):
    """A label: its questions in the pool, those kept, and the share of the pool that these stand for."""

    label: str
    questions: int
    kept: int
    share: float


def subset_questions(
    manifest: Manifest, sample: SubsetSample, pool: Path | None, query: QuestionQuery
) -> tuple[list[QuestionRow], int]:
    """One page of questions in the order of benchmarks and ids, and how many there are; the first for one beyond all.

    Args:
        manifest: Of the subset.
        sample: Its questions.
        pool: Parquet of the pool's questions (see `picture_of`); without it only those kept are known.
        query: Which.
    """
    kept = pa.table(
        {
            "benchmark": [benchmark for benchmark, _ in sample.questions(manifest)],
            "question_id": list(sample.question_ids),
            "weight": sample.weights,
            "stratum": sample.stratum_of,
        }
    )
    with connected() as connection:
        connection.register("kept", kept)
        connection.register("pool", _nothing() if pool is None else pq.ParquetFile(pool).read(use_threads=False))
        values = {
            "benchmark": query.benchmark,
            "kept": query.kept,
            "text": query.text,
            "most": query.page_size,
            "skipped": (max(query.page, 1) - 1) * query.page_size,
        }
        found = connection.execute(load_sql("compression.sql", "subset_questions.sql"), values).fetchall()
    if not found and query.page > 1:
        return subset_questions(manifest, sample, pool, replace(query, page=1))
    rows = [
        QuestionRow(benchmark=row[0], question_id=row[1], weight=row[2], stratum=row[3], mean=row[4], answers=row[5])
        for row in found
    ]
    return rows, found[0][6] if found else 0


def by_labels(manifest: Manifest, sample: SubsetSample, pool: Path, labels: Path) -> dict[str, list[LabelCount]]:
    """What is kept of each label, by column of a file of labels (`read_labels`).

    Raises:
        BadPool: The file cannot be read so.
    """
    matrix = _bare(manifest.pool, pq.ParquetFile(pool).read(use_threads=False))
    told = read_labels(labels, matrix)
    weights = dict(zip(sample.questions(manifest), sample.weights.tolist(), strict=True))
    names = [matrix.benchmarks[code] for code in matrix.benchmark_of]
    keys = list(zip(names, matrix.question_ids.tolist(), strict=True))
    return {column: _counted(labelled, keys, weights) for column, labelled in told.columns.items()}


def _counted(
    labelled: Sequence[str | None], keys: Sequence[tuple[str, str]], weights: Mapping[tuple[str, str], float]
) -> list[LabelCount]:
    counts: dict[str, tuple[int, int, float]] = {}
    for label, key in zip(labelled, keys, strict=True):
        if label is not None:
            questions, kept, share = counts.get(label, (0, 0, 0.0))
            weight = weights.get(key)
            counts[label] = questions + 1, kept + (weight is not None), share + (weight or 0.0)
    return [
        LabelCount(label=label, questions=questions, kept=kept, share=share)
        for label, (questions, kept, share) in sorted(counts.items(), key=lambda one: (-one[1][0], one[0]))
    ]


def _nothing() -> pa.Table:
    columns = {"benchmark": pa.string(), "question_id": pa.string(), "answers": pa.int32(), "mean": pa.float32()}
    return pa.schema(columns.items()).empty_table()


def _bare(pool: str, questions: pa.Table) -> ScoreMatrix:
    """The questions as a matrix without models, which is all that labels need."""
    names, codes = np.unique(np.array(questions["benchmark"].to_pylist(), dtype=object), return_inverse=True)
    return ScoreMatrix(
        pool=pool,
        benchmarks=tuple(names),
        benchmark_of=codes.astype(np.int64),
        question_ids=np.array(questions["question_id"].to_pylist(), dtype=object),
        models=(),
        families=(),
        scores=np.zeros((questions.num_rows, 0), dtype=np.float32),
        patterns=np.arange(questions.num_rows, dtype=np.int64),
        missing=Missing(rule=MissingRule.DROP),
    )
