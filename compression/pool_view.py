"""What a pool holds, looked at before anything is made of it."""

from typing import Any

import numpy as np

from compression.families import families_of, told_families
from compression.importers.base import BadPool
from compression.matrix import MissingRule, ScoreMatrix, read_matrix
from compression.pool import Pool, pool_names
from core.content import Frozen
from warehouse.analytics import connected, load_sql
from warehouse.workspace import Workspace


class PoolSummary(Frozen):
    """One of the project's pools; `missing` are cells of any question by any model, `runs` what brought it in."""

    pool: str
    benchmarks: int
    questions: int
    models: int
    scores: int
    missing: int
    runs: tuple[str, ...]


class BenchmarkView(Frozen):
    """A benchmark in a pool.

    `nobody` and `everybody` count questions whose scores are all 0 and all 1, `constant` those that are all the same.
    """

    benchmark: str
    questions: int
    models: int
    scores: int
    mean: float
    nobody: int
    everybody: int
    constant: int


class ModelView(Frozen):
    """A model in a pool; `family` is what was told."""

    model: str
    family: str | None
    answered: int
    lacking: int
    mean: float


class Remainder(Frozen):
    """What a rule for missing scores would leave; `reason` says why it would leave nothing."""

    rule: MissingRule
    questions: int
    models: int
    imputed: int
    reason: str | None = None


class PoolView(Frozen):
    """A pool.

    Attributes:
        pool: Its name.
        origin: What read the file, or `pool`.
        rows: As they stood in the file or the facts.
        merged: Of these, repeated another.
        missing: Cells without a score.
        rule: For missing scores, by which `patterns` and `families` were found.
        benchmarks: By name.
        models: The best first.
        remainders: What each rule would leave; empty where nothing is missing.
        patterns: How many questions differ by benchmark or scores; None where the rule leaves nothing.
        families: Models of one family, where there are several in it: the told ones, or near-duplicates by scores.
        reason: Why `patterns` and `families` are undefined.
    """

    pool: str
    origin: str
    rows: int
    merged: int
    missing: int
    rule: MissingRule
    benchmarks: tuple[BenchmarkView, ...]
    models: tuple[ModelView, ...]
    remainders: tuple[Remainder, ...]
    patterns: int | None
    families: tuple[tuple[str, ...], ...]
    reason: str | None = None


def list_pools(workspace: Workspace) -> list[PoolSummary]:
    """The project's pools by name."""
    query = load_sql("compression.sql", "pool_summary.sql")
    with connected() as connection:
        # A later row replaces a score, never a question, a model or a cell.
        workspace.facts.register(connection, "pool_score", latest=False)
        return [
            PoolSummary(pool=name, **connection.sql(query, params={"pool": name}).to_arrow_table().to_pylist()[0])
            for name in pool_names(workspace)
        ]


def look_at(pool: Pool, rule: MissingRule = MissingRule.DROP) -> PoolView:
    """Counts, benchmarks, models, gaps and repetitions of a pool."""
    benchmarks = [BenchmarkView(**row) for row in _rows(pool, "pool_benchmarks.sql")]
    models = [ModelView(**row) for row in _rows(pool, "pool_models.sql")]
    missing = sum(one.lacking for one in models)
    matrix, reason = _matrix(pool, rule)
    return PoolView(
        pool=pool.name,
        origin=pool.origin,
        rows=pool.rows,
        merged=pool.merged,
        missing=missing,
        rule=rule,
        benchmarks=tuple(benchmarks),
        models=tuple(models),
        remainders=tuple(_remainder(pool, one) for one in MissingRule) if missing else (),
        patterns=None if matrix is None else len(np.unique(matrix.patterns)),
        families=() if matrix is None else tuple(sorted(told_families(matrix, families_of(matrix)))),
        reason=reason,
    )


def _rows(pool: Pool, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pool.connection.sql(load_sql("compression.sql", query)).to_arrow_table().to_pylist()
    return found


def _matrix(pool: Pool, rule: MissingRule) -> tuple[ScoreMatrix | None, str | None]:
    try:
        return read_matrix(pool, rule), None
    except BadPool as error:
        return None, str(error)


def _remainder(pool: Pool, rule: MissingRule) -> Remainder:
    matrix, reason = _matrix(pool, rule)
    if matrix is None:
        return Remainder(rule=rule, questions=0, models=0, imputed=0, reason=reason)
    imputed = matrix.missing.imputed_cells
    return Remainder(rule=rule, questions=len(matrix), models=len(matrix.models), imputed=imputed)
