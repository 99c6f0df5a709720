"""A pool in so few numbers that it can be drawn at once, however large it is."""

import math
from typing import Any

import pyarrow as pa

from compression.matrix import MissingRule
from compression.pool import Pool
from compression.pool_view import PoolView, look_at
from core.content import Frozen
from core.progress import progress
from core.provenance import content_hash
from warehouse.analytics import connected, load_sql
from warehouse.workspace import Workspace

# More parts of the questions than this no reader tells apart in a picture.
MOST_BINS = 100
_DIGITS = 4
_STEPS = 4


class PoolState(Frozen):
    """A pool at a moment: another state has another hash. `rows` were ever stored for it, with those replaced since."""

    pool: str
    rows: int
    sha256: str


class PoolPicture(Frozen):
    """What is drawn of a pool.

    Attributes:
        view: Counts, benchmarks, models (the best first), gaps and families.
        mean: Of all scores.
        margins: Half the 95% interval of each model's mean, in the order of `view.models`, as if its questions were
            drawn from all that there could be; None for a single score.
        by_benchmark: (benchmarks, models) means, in the orders of `view`; None where a model has no score.
        by_difficulty: (parts, models) means in parts of equally many questions, those that few models solve first.
    """

    view: PoolView
    mean: float
    margins: tuple[float | None, ...]
    by_benchmark: tuple[tuple[float | None, ...], ...]
    by_difficulty: tuple[tuple[float | None, ...], ...]

    @property
    def questions(self) -> int:
        """Of all benchmarks."""
        return sum(one.questions for one in self.view.benchmarks)


def pool_states(workspace: Workspace) -> list[PoolState]:
    """The state of each of the project's pools by name, told without looking at the scores."""
    found: dict[str, list[tuple[str, int]]] = {}
    with connected() as connection:
        workspace.facts.register(connection, "pool_score", latest=False)
        for pool, run, rows in connection.execute(load_sql("compression.sql", "pool_states.sql")).fetchall():
            found.setdefault(pool, []).append((run, rows))
    return [
        PoolState(pool=pool, rows=sum(rows for _, rows in runs), sha256=content_hash([pool, runs]))
        for pool, runs in found.items()
    ]


def picture_of(pool: Pool, rule: MissingRule = MissingRule.DROP) -> tuple[PoolPicture, pa.Table]:
    """The picture, and the questions (benchmark, question_id, answers, mean) in the order of benchmarks and ids."""
    with progress("looking at the pool", _STEPS) as ticker:
        view = look_at(pool, rule)
        ticker.advance()
        names = [one.model for one in view.models]
        spreads = {row["model"]: row for row in _rows(pool, load_sql("compression.sql", "pool_spreads.sql"))}
        answered = sum(one.answered for one in view.models)
        ticker.advance()
        benchmarks = _grid(pool, load_sql("compression.sql", "pool_by_benchmark.sql"), "benchmark", names)
        ticker.advance()
        questions = pool.connection.sql(load_sql("compression.sql", "pool_questions.sql")).to_arrow_table()
        bins = min(MOST_BINS, questions.num_rows)
        parts = _grid(pool, load_sql("compression.sql", "pool_bins.sql").format(bins=bins), "bin", names)
        ticker.advance()
    picture = PoolPicture(
        view=view,
        mean=sum(one.mean * one.answered for one in view.models) / answered,
        margins=tuple(_margin(spreads[name]["spread"], spreads[name]["answered"]) for name in names),
        by_benchmark=benchmarks,
        by_difficulty=parts,
    )
    return picture, questions


def _rows(pool: Pool, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pool.connection.sql(query).to_arrow_table().to_pylist()
    return found


def _grid(pool: Pool, query: str, along: str, models: list[str]) -> tuple[tuple[float | None, ...], ...]:
    """(rows, models) means of a query's rows (`along`, model, mean), which come in the order of `along`."""
    rows: dict[Any, dict[str, float]] = {}
    for row in _rows(pool, query):
        rows.setdefault(row[along], {})[row["model"]] = round(row["mean"], _DIGITS)
    return tuple(tuple(row.get(model) for model in models) for row in rows.values())


def _margin(spread: float, count: int) -> float | None:
    from scipy import stats

    return float(stats.t.ppf(0.975, count - 1)) * spread / math.sqrt(count) if count > 1 else None
