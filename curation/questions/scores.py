"""Scores of models on questions, as a table: of public questions from a pool, of our items from graded answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlmodel import col, select

from core.condition import FULL
from core.errors import InterplayError, UnknownName
from curation.materials import chunked
from evaluation.report.build import build_report
from evaluation.report.items import item_facts
from warehouse.analytics import analysis
from warehouse.facts import FactStore
from warehouse.tables import Item
from warehouse.workspace import Workspace

_POOLS = "SELECT DISTINCT pool FROM pool_score ORDER BY pool"
_BENCHMARKS = "SELECT DISTINCT benchmark FROM pool_score WHERE pool = ? ORDER BY benchmark"
_SCORES = """
SELECT model, question_id, any_value(score) AS score
FROM pool_score SEMI JOIN wanted USING (question_id)
WHERE pool = ? AND benchmark = ?
GROUP BY model, question_id
"""


class NoScores(InterplayError):
    """No model's scores on the questions that were asked about."""


@dataclass(frozen=True)
class Scores:
    """Points in [0, 1]: a row for each model, a column for each question; NaN where there is none. Names in order."""

    models: tuple[str, ...]
    questions: tuple[str, ...]
    points: npt.NDArray[np.float64]

    def of(self, models: Sequence[str]) -> npt.NDArray[np.float64]:
        """The rows of some models, in their order."""
        return self.points[[self.models.index(model) for model in models]]

    def scored(self, models: Sequence[str]) -> set[str]:
        """The questions on which at least one of the models has a score."""
        held = (~np.isnan(self.of(models))).sum(axis=0).tolist()
        return {name for name, count in zip(self.questions, held, strict=True) if count}

    def asking(self, questions: Sequence[str]) -> "Scores":
        """The columns of some questions, in their order."""
        places = [self.questions.index(name) for name in questions]
        return Scores(self.models, tuple(questions), self.points[:, places])


@dataclass(frozen=True)
class Paired:
    """Scores on public questions and on the private ones made after them, of the pairs that have both.

    `before` and `after` have the same pairs as columns, in one order; `one_sided` are the other public questions.
    """

    before: Scores
    after: Scores
    one_sided: tuple[str, ...]


def paired(before: Scores, after: Scores, made: Mapping[str, str]) -> Paired:
    """Leave out the pairs of which one side was not scored for any model that both sides have.

    Args:
        before: On public questions.
        after: On items.
        made: Public question to the item that was made after it.

    Raises:
        NoScores: No pair is left, though both sides have models in common.
    """
    shared = sorted(set(before.models) & set(after.models))
    left, right = before.scored(shared), after.scored(shared)
    kept = [qid for qid, name in sorted(made.items()) if qid in left and name in right]
    if shared and not kept:
        raise NoScores(
            f"of none of the {len(made)} pairs both questions were scored for {', '.join(shared)}; release the private "
            "ones, and ask those models with 'interplay evaluation run'"
        )
    names = [made[qid] for qid in kept]
    return Paired(before.asking(kept), after.asking(names), tuple(sorted(set(made) - set(kept))))


def pool_scores(facts: FactStore, pool: str, benchmark: str, question_ids: Sequence[str]) -> Scores:
    """Scores of a pool (see `interplay pool import`) on questions of one of its benchmarks.

    Raises:
        UnknownName: There is no such pool, or no such benchmark in it.
        NoScores: No model was scored on any of the questions.
    """
    with analysis(facts, ["pool_score"]) as connection:
        pools = [row[0] for row in connection.execute(_POOLS).fetchall()]
        if pool not in pools:
            raise UnknownName("pool", pool, pools)
        benchmarks = [row[0] for row in connection.execute(_BENCHMARKS, [pool]).fetchall()]
        if benchmark not in benchmarks:
            raise UnknownName(f"benchmark of pool {pool!r}", benchmark, benchmarks)
        connection.register("wanted", pa.table({"question_id": pa.array(sorted(set(question_ids)), pa.string())}))
        rows = connection.execute(_SCORES, [pool, benchmark]).fetchall()
    if not rows:
        raise NoScores(
            f"pool {pool!r} has no scores on these {len(set(question_ids))} questions of {benchmark!r}; "
            "its question ids must be those of the set ('interplay question list')"
        )
    return _table({(model, question): float(score) for model, question, score in rows if score is not None})


def item_scores(workspace: Workspace, names: Sequence[str]) -> Scores:
    """Points of all models on the current revisions of our items, asked with everything in view.

    Raises:
        NoScores: No model's answer to any of them was graded.
    """
    with workspace.database.reading() as session:
        items = {
            item.name: item
            for some in chunked(names)
            for item in session.exec(select(Item).where(col(Item.name).in_(some)))
        }
        revisions = [item.current_revision_id for item in items.values() if item.current_revision_id]
        asked = item_facts(session, revisions)
    report = build_report(workspace.facts, "scores", asked, with_tables=False)
    found: dict[tuple[str, str], list[float]] = {}
    for answer in report.answers:
        if answer.condition == FULL.name and answer.points is not None:
            found.setdefault((answer.model, answer.item_name), []).append(answer.points)
    if not found:
        raise NoScores(
            f"no model's answers to these {len(items)} items are graded; 'interplay evaluation run' asks and grades"
        )
    return _table({key: float(np.mean(points)) for key, points in found.items()})


def _table(found: Mapping[tuple[str, str], float]) -> Scores:
    models = sorted({model for model, _ in found})
    questions = sorted({question for _, question in found})
    points = np.full((len(models), len(questions)), np.nan)
    places: dict[str, Any] = {name: place for place, name in enumerate(models)}
    columns = {name: place for place, name in enumerate(questions)}
    for (model, question), value in found.items():
        points[places[model], columns[question]] = value
    return Scores(tuple(models), tuple(questions), points)
