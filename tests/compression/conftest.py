"""Small pools with known laws: makers, given as fixtures, for no test file imports another."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from compression.frame import Frame, make_frame
from compression.matrix import Missing, MissingRule, ScoreMatrix
from core.provenance import describe_environment


def _latent_scores(
    questions: int, models: int, seed: int, levels: int = 1, benchmark_of: Sequence[int] | None = None
) -> np.ndarray:
    """Scores by a two-parameter latent trait; each benchmark has its difficulty, scores are means of `levels` tries."""
    rng = np.random.default_rng(seed)
    ability = np.linspace(-1.2, 1.2, models) + rng.normal(0, 0.2, models)
    difficulty = rng.normal(0, 1.3, (questions, 1))
    if benchmark_of is not None:
        difficulty += np.asarray(benchmark_of)[:, None] * 0.8 - 0.8
    slope = np.exp(rng.normal(0.2, 0.3, (questions, 1)))
    chance = 1 / (1 + np.exp(-slope * (ability - difficulty)))
    return rng.binomial(levels, chance) / levels


def _matrix_of(scores, benchmark_of=None, benchmarks=None, families=None) -> ScoreMatrix:
    scores = np.asarray(scores, dtype=np.float32)
    questions, models = scores.shape
    benchmark_of = np.zeros(questions, int) if benchmark_of is None else np.asarray(benchmark_of)
    keys = np.column_stack([benchmark_of, scores])
    return ScoreMatrix(
        pool="made",
        benchmarks=tuple(benchmarks or [f"b{code}" for code in range(benchmark_of.max() + 1)]),
        benchmark_of=benchmark_of.astype(np.int64),
        question_ids=np.array([f"q{place:05}" for place in range(questions)], dtype=object),
        models=tuple(f"m{place:03}" for place in range(models)),
        families=tuple(families or [None] * models),
        scores=scores,
        patterns=np.unique(keys, axis=0, return_inverse=True)[1].astype(np.int64),
        missing=Missing(rule=MissingRule.DROP),
    )


@pytest.fixture(scope="session")
def latent_scores() -> Callable[..., np.ndarray]:
    return _latent_scores


@pytest.fixture(scope="session")
def matrix_of() -> Callable[..., ScoreMatrix]:
    return _matrix_of


@pytest.fixture(scope="session")
def frame_of() -> Callable[..., Frame]:
    """A frame of scores where each model is a family; further words are for `make_frame`."""

    def make(scores, benchmark_of=None, families=None, **more) -> Frame:
        matrix = _matrix_of(scores, benchmark_of)
        codes = np.arange(len(matrix.models)) if families is None else np.asarray(families)
        return make_frame(matrix, codes, **more)

    return make


@pytest.fixture
def write_pool(tmp_path: Path) -> Callable[..., str]:
    """Rows (benchmark, question_id, model, score[, family]) to a Parquet file, whose path it gives."""

    def write(rows, name="pool.parquet", score_type=None) -> str:
        columns = ("benchmark", "question_id", "model", "score", "family")
        width = len(rows[0]) if rows else 4
        table = {columns[place]: [row[place] for row in rows] for place in range(width)}
        kinds = {name: pa.string() for name in columns} | {"score": score_type or pa.float64()}
        arrays = {name: pa.array(values, kinds[name]) for name, values in table.items()}
        pq.write_table(pa.table(arrays), tmp_path / name)
        return str(tmp_path / name)

    return write


class Chosen:
    """In place of a generator: the random numbers that make a draw choose these units."""

    def __init__(self, units, count: int) -> None:
        self.numbers = np.full(count, 0.5)
        self.numbers[list(units)] = 0.0

    def random(self, count: int) -> np.ndarray:
        assert count == len(self.numbers)
        return self.numbers


@pytest.fixture(scope="session")
def all_samples() -> Callable[..., list]:
    """Every sample that a design can draw, each as likely as the others."""
    from itertools import combinations, product

    def every(design) -> list:
        strata = [np.flatnonzero(design.labels == place) for place in range(len(design.draws))]
        choices = [combinations(units, int(draws)) for units, draws in zip(strata, design.draws, strict=True)]
        return [design.draw(Chosen(sum(parts, ()), len(design.labels))) for parts in product(*choices)]

    return every


@pytest.fixture(scope="module")
def environment_once():
    """What is installed does not change: asking for it takes longer than a selection."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("compression.select.describe_environment", functools.cache(describe_environment))
        yield
