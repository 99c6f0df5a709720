"""A pool as a matrix of questions by models, complete by a stated rule."""

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from compression.importers.base import NothingLeft
from compression.pool import Pool
from core.content import Frozen
from warehouse.analytics import load_sql

Floats = NDArray[np.float64]
Scores = NDArray[np.float32]
Codes = NDArray[np.int64]

# A model that lacks more than this share of the questions is left out before questions are.
TOLERATED = 0.05


class MissingRule(StrEnum):
    """What is done about questions that some model has no score for.

    `drop`: models that lack more than 5% of the questions are left out, then questions that a model still lacks.
    `drop-questions`, `drop-models`: only the one or the other. `impute`: a missing score becomes the mean of the
    model's scores in the same stratum (of benchmark and difficulty); such a model is never held out to validate with.
    Questions that no model, and models that no question has a score of are left out by every rule.
    """

    DROP = "drop"
    DROP_QUESTIONS = "drop-questions"
    DROP_MODELS = "drop-models"
    IMPUTE = "impute"


class Missing(Frozen):
    """What was missing in a pool, and what became of it.

    Attributes:
        rule: That was followed.
        cells: Of questions by models without a score.
        lacking: Models that lack some, with how many, most first.
        dropped_models: Left out.
        dropped_questions: How many were left out.
        imputed_cells: Filled.
    """

    rule: MissingRule
    cells: int = 0
    lacking: tuple[tuple[str, int], ...] = ()
    dropped_models: tuple[str, ...] = ()
    dropped_questions: int = 0
    imputed_cells: int = 0


@dataclass(frozen=True)
class ScoreMatrix:
    """Scores of models on questions, in the order of benchmarks, question ids and model names.

    Attributes:
        pool: Its name.
        benchmarks: Names, sorted.
        benchmark_of: (questions,) number of each question's benchmark.
        question_ids: (questions,) text.
        models: Names, sorted.
        families: Of each model; None where nobody told.
        scores: (questions, models) in [0, 1], no gaps.
        patterns: (questions,) equal numbers for questions of one benchmark on which each model has one score.
        missing: What was missing.
        gaps: (questions, models) which scores are filled in; None where none is.
        merged: Rows that repeated another.
    """

    pool: str
    benchmarks: tuple[str, ...]
    benchmark_of: Codes
    question_ids: NDArray[np.object_]
    models: tuple[str, ...]
    families: tuple[str | None, ...]
    scores: Scores
    patterns: Codes
    missing: Missing
    gaps: NDArray[np.bool_] | None = None
    merged: int = 0

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over names and scores."""
        digest = sha256()
        for names in (self.benchmarks, self.models, self.question_ids):
            digest.update("\0".join(names).encode("utf-8", "surrogatepass") + b"\1")
        digest.update(np.ascontiguousarray(self.benchmark_of, "<i8").tobytes())
        digest.update(np.ascontiguousarray(self.scores, "<f4").tobytes())
        return digest.hexdigest()

    @property
    def imputed(self) -> NDArray[np.bool_]:
        """(models,) whether some of its scores are filled in."""
        return np.zeros(len(self.models), dtype=bool) if self.gaps is None else np.any(self.gaps, axis=0)

    def of_questions(self, chosen: Codes | NDArray[np.bool_]) -> "ScoreMatrix":
        """Only those questions."""
        return replace(
            self,
            benchmark_of=self.benchmark_of[chosen],
            question_ids=self.question_ids[chosen],
            scores=self.scores[chosen],
            patterns=self.patterns[chosen],
            gaps=None if self.gaps is None else self.gaps[chosen],
        )

    def of_models(self, chosen: Codes | NDArray[np.bool_]) -> "ScoreMatrix":
        """Only those models. Patterns stay those of all models: equal ones are equal in the fewer columns too."""
        places = np.arange(len(self.models))[chosen]
        return replace(
            self,
            models=tuple(self.models[place] for place in places),
            families=tuple(self.families[place] for place in places),
            scores=self.scores[:, places],
            gaps=None if self.gaps is None else self.gaps[:, places],
        )


def read_matrix(pool: Pool, rule: MissingRule = MissingRule.DROP) -> ScoreMatrix:
    """The pool's matrix without gaps, by the rule.

    Raises:
        NothingLeft: By the rule.
    """
    matrix = pivot(pool, rule)
    return _complete(matrix) if matrix.missing.cells else matrix


def pivot(pool: Pool, rule: MissingRule = MissingRule.DROP) -> ScoreMatrix:
    """The pool's matrix as it is, pivoted in DuckDB; a missing score is NaN, whatever the rule says."""
    connection = pool.connection
    named = connection.execute("SELECT name, family FROM model ORDER BY model").fetchall()
    lacking = connection.execute(load_sql("compression.sql", "missing.sql")).fetchall()
    codes = range(len(named))
    query = load_sql("compression.sql", "wide.sql").format(
        codes=", ".join(str(code) for code in codes), names=", ".join(f'"{code}"' for code in codes)
    )
    columns = connection.sql(query).fetchnumpy()
    benchmarks, benchmark_of = np.unique(np.asarray(columns["benchmark"], dtype=object), return_inverse=True)
    # A column with gaps comes masked.
    scores = np.column_stack([np.ma.filled(columns[str(code)], np.nan) for code in codes]).astype(np.float32)
    return ScoreMatrix(
        pool=pool.name,
        benchmarks=tuple(benchmarks),
        benchmark_of=benchmark_of.astype(np.int64),
        question_ids=np.asarray(columns["question_id"], dtype=object),
        models=tuple(name for name, _ in named),
        families=tuple(family for _, family in named),
        scores=scores,
        patterns=np.asarray(columns["pattern"], dtype=np.int64),
        missing=Missing(rule=rule, cells=sum(count for _, count in lacking), lacking=tuple(lacking)),
        merged=pool.merged,
    )


def _complete(matrix: ScoreMatrix) -> ScoreMatrix:
    rule = matrix.missing.rule
    given = np.logical_not(np.isnan(matrix.scores))
    # Whatever the rule: of a question that nobody answered, and of a model that answered none, nothing is known.
    matrix = _without(matrix, given.any(axis=1), given.any(axis=0))
    gaps: NDArray[np.bool_] = np.isnan(matrix.scores)
    if rule is MissingRule.IMPUTE:
        filled = impute(matrix.scores, matrix.benchmark_of)
        missing = matrix.missing.model_copy(update={"imputed_cells": int(gaps.sum())})
        patterns = np.unique(np.column_stack([matrix.benchmark_of, filled]), axis=0, return_inverse=True)[1]
        return replace(matrix, scores=filled, patterns=patterns.astype(np.int64), missing=missing, gaps=gaps)
    most = {MissingRule.DROP: TOLERATED, MissingRule.DROP_MODELS: 0.0, MissingRule.DROP_QUESTIONS: 1.0}[rule]
    keep_models: NDArray[np.bool_] = np.mean(gaps, axis=0) <= most
    keep_questions = np.logical_not(gaps[:, keep_models].any(axis=1))
    if not keep_models.any() or not keep_questions.any():
        raise NothingLeft(
            f"{matrix.pool}: of {len(matrix)} questions by {len(matrix.models)} models {int(gaps.sum())} scores are "
            f"missing, and by the rule {rule.value!r} nothing is left; try --missing impute or another rule",
            cells=int(gaps.sum()),
        )
    return _without(matrix, keep_questions, keep_models)


def _without(matrix: ScoreMatrix, keep_questions: NDArray[np.bool_], keep_models: NDArray[np.bool_]) -> ScoreMatrix:
    """Only the questions and models that are kept; the others are told as left out."""
    before = matrix.missing
    dropped = (name for name, keep in zip(matrix.models, keep_models.tolist(), strict=True) if not keep)
    missing = before.model_copy(
        update={
            "dropped_models": (*before.dropped_models, *dropped),
            "dropped_questions": before.dropped_questions + int((~keep_questions).sum()),
        }
    )
    kept = replace(matrix, missing=missing).of_models(keep_models).of_questions(keep_questions)
    return _without_empty_benchmarks(kept)


def _without_empty_benchmarks(matrix: ScoreMatrix) -> ScoreMatrix:
    there, codes = np.unique(matrix.benchmark_of, return_inverse=True)
    return replace(
        matrix, benchmarks=tuple(matrix.benchmarks[place] for place in there), benchmark_of=codes.astype(np.int64)
    )


def impute(scores: Scores, benchmark_of: Codes) -> Scores:
    """(questions, models) scores whose gaps (NaN) are filled.

    With the model's mean in the stratum, else in the benchmark, else with the question's mean, else with the model's. A
    stratum is a fifth of difficulty in a benchmark; questions that nobody answered are one of their own.
    """
    given = np.logical_not(np.isnan(scores))
    answers = given.sum(axis=1)
    difficulty = np.where(given, scores, 0).sum(axis=1) / np.maximum(answers, 1)
    fifth = np.where(answers > 0, np.minimum((difficulty * 5).astype(np.int64), 4), 5)
    filled = scores.copy()
    for strata in (benchmark_of * 6 + fifth, benchmark_of):
        codes = np.unique(strata, return_inverse=True)[1]
        for model in np.flatnonzero(np.isnan(filled).any(axis=0)):
            known = given[:, model]
            counts = np.bincount(codes[known], minlength=codes.max() + 1)
            sums = np.bincount(codes[known], scores[known, model], minlength=codes.max() + 1)
            means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
            open_cells = np.isnan(filled[:, model])
            filled[open_cells, model] = means[codes[open_cells]]
    own = np.where(given, scores, 0).sum(axis=0) / np.maximum(given.sum(axis=0), 1)
    last = np.where(answers[:, None] > 0, difficulty[:, None], own[None, :])
    return np.where(np.isnan(filled), last, filled).astype(np.float32)
