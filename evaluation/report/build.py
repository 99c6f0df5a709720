"""From stored responses and grades to a report: one query, then means over columns in memory."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from core.grading import Grade
from core.provenance import content_hash
from core.question import QuestionKind
from evaluation.grade import graders_of, register_showings
from evaluation.judge import counting_judgements
from evaluation.models.catalogue import ModelSpec
from evaluation.report.comparisons import (
    condition_order,
    conditions_table,
    costs,
    drops,
    leaderboard,
    neighbours,
    ranking,
    twins,
)
from evaluation.report.document import ANSWER_KEPT_CHARACTERS, AnswerRow, Cell, Report, Table
from evaluation.report.frame import Frame, build_frame
from evaluation.report.items import ItemFacts
from evaluation.report.people import people_tables
from evaluation.report.tables import Benchmark, benchmark_table, paper_tables
from warehouse.analytics import analysis, load_sql
from warehouse.facts import FactStore

HUMAN = "human"
_NUMBERS = "key, revision_id, model, parameters, condition, replicate, state, points, step_points"
_TEXTS = "key, item_name, revision_id, condition, state, answer, error, points, reason, step_points"


@dataclass(frozen=True)
class Answered:
    """The graded responses to some items: what a report is made of, and what leads from its numbers back to them.

    Attributes:
        items: By revision id.
        keys: Of the responses, one each, in the order of the frame.
        frame: The responses.
        labels: What a report calls each model with its parameters.
        told: The texts of the responses in the same order, where they were wanted.
        spent: What the calls cost, where that was wanted; rows as `costs.sql` gives them.
        notes: What the grades rest on.
    """

    items: Mapping[str, ItemFacts]
    keys: pa.ChunkedArray
    frame: Frame
    labels: Mapping[tuple[str, str], str]
    told: pa.Table | None = None
    spent: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """How each model was asked, by its label."""
        return {label: json.loads(parameters) for (_, parameters), label in sorted(self.labels.items())}

    @property
    def people(self) -> list[str]:
        """The labels of those that are persons."""
        return _people(self.labels)


def build_report(
    facts: FactStore,
    title: str,
    items: Mapping[str, ItemFacts],
    models: Sequence[str] | None = None,
    *,
    with_tables: bool = True,
    with_answers: bool = True,
    benchmarks: Sequence[Benchmark] = (),
    judge: ModelSpec | None = None,
    notes: Sequence[str] = (),
) -> Report:
    """Read the responses to these items with the grades of their present graders (`read_answers`), and report them.

    Args:
        facts: Where responses and grades are.
        title: Of the report.
        items: By revision id.
        models: Only models of these names.
        with_tables: Whether to make the tables too, and not only the cells by model, condition and kind.
        with_answers: Whether to load the items and responses too, and not the numbers alone.
        benchmarks: What Table 1 shows; without any, there is none.
        judge: Whose stored grades count where the rules settle nothing; nothing is asked.
        notes: What else the numbers rest on.
    """
    found = read_answers(facts, items, models, with_costs=with_tables, with_texts=with_answers, judge=judge)
    if found is None:
        return Report(title=title, cells=())
    return report_of(found, title, with_tables=with_tables, benchmarks=benchmarks, notes=notes)


def read_answers(
    facts: FactStore,
    items: Mapping[str, ItemFacts],
    models: Sequence[str] | None = None,
    *,
    with_costs: bool = False,
    with_texts: bool = False,
    judge: ModelSpec | None = None,
) -> Answered | None:
    """The responses to these items (by revision id) with the grades of their present graders; None without any.

    Only the unrotated asking counts: rotations belong to quality control. Where an item was put to a model twice under
    the same settings and condition (in other words since, or with another caption), the latest asking counts. A model
    called `human` or `human/...`, or whose answers were imported as those of people, is a person.
    """
    items = dict(sorted(items.items()))  # sums of the same numbers in another order differ in their last digits
    questions = {revision_id: item.question for revision_id, item in items.items()}
    judged = counting_judgements(facts, judge, questions) if judge else {}
    with analysis(facts, ["response", "grade"]) as connection:
        register_showings(connection, graders_of(questions))
        connection.register("judged", _as_table(judged))
        connection.execute("SET VARIABLE models = ?", [None if models is None else list(models)])
        connection.execute("SET VARIABLE kept = ?", [ANSWER_KEPT_CHARACTERS if with_texts else 0])
        connection.execute(load_sql("evaluation.queries", "graded_answers.sql"))
        order = "ORDER BY model, parameters, condition, item_name, key"
        table = connection.sql(f"SELECT {_NUMBERS} FROM graded_answers {order}").to_arrow_table()  # noqa: S608
        costs_query = connection.sql(load_sql("evaluation.queries", "costs.sql")) if with_costs else None
        spent = costs_query.to_arrow_table().to_pylist() if costs_query else []
        told = connection.sql(f"SELECT {_TEXTS} FROM graded_answers {order}").to_arrow_table() if with_texts else None  # noqa: S608
    if not table.num_rows:
        return None
    asked = list(zip(table["model"].to_pylist(), table["parameters"].to_pylist(), strict=True))
    labels = _labels(asked)
    rows = [item.row(revision_id) for revision_id, item in items.items()]
    frame = build_frame(table, [labels[one] for one in asked], rows, _people(labels))
    return Answered(items, table["key"], frame, labels, told, spent, [_told_of(judge, judged)] if judge else ())


def report_of(
    found: Answered,
    title: str,
    *,
    with_tables: bool = True,
    benchmarks: Sequence[Benchmark] = (),
    notes: Sequence[str] = (),
) -> Report:
    """The numbers of some responses, and with their texts, where these were read, the responses too."""
    frame, people = found.frame, found.people
    cells = _cells(frame, [item.chance for item in found.items.values()])
    tables: list[Table] = []
    if with_tables:
        shown = [benchmark_table(benchmarks)] if benchmarks else []
        tables = _tables(frame, cells, people, found.items, shown, costs(found.spent, found.labels))
    return Report(
        title=title,
        cells=cells,
        tables=tuple(tables),
        people=tuple(people),
        notes=(*notes, *found.notes),
        settings=found.settings,
        items=frame.items if found.told is not None else (),
        answers=_answers(found.told, frame) if found.told is not None else (),
    )


def _tables(
    frame: Frame,
    cells: Sequence[Cell],
    people: Sequence[str],
    items: Mapping[str, ItemFacts],
    first: Sequence[Table],
    last: Table | None,
) -> list[Table]:
    """All tables that have data, in reading order."""
    models = ranking(frame, people)
    found = (
        *first,
        leaderboard(frame, models, people),
        neighbours(frame, models, people),
        *people_tables(frame, models, people),
        *paper_tables(frame, models),
        conditions_table(cells, models),
        drops(frame, models),
        twins(frame, models, items.values()),
        last,
    )
    return [table for table in found if table is not None]


def _cells(frame: Frame, chances: Sequence[float | None]) -> tuple[Cell, ...]:
    chance = np.array([np.nan if one is None else one for one in chances])
    found = []
    for model in frame.names("model"):
        of_model = {"model": (model,)}
        for kind in frame.names("kind", of_model):
            of_kind = {**of_model, "kind": (kind,)}
            for condition in frame.names("condition", of_kind):
                selection = {**of_kind, "condition": (condition,)}
                guessed = chance[frame.item[frame.mask(selection)]]
                guessed = guessed[~np.isnan(guessed)]
                found.append(
                    Cell(
                        **dict(frame.number(selection)),
                        model=model,
                        condition=condition,
                        kind=kind,
                        chance=100 * float(guessed.mean()) if len(guessed) else None,
                    )
                )
    return tuple(sorted(found, key=_reading_order))


def _reading_order(cell: Cell) -> tuple[Any, ...]:
    return cell.kind != QuestionKind.CHOICE.value, cell.kind, cell.model, condition_order(cell.condition)


def _people(labels: Mapping[tuple[str, str], str]) -> list[str]:
    found = sorted(labels.items())
    return [label for (model, parameters), label in found if _is_person(model, json.loads(parameters))]


def _is_person(model: str, settings: Mapping[str, Any]) -> bool:
    return model == HUMAN or model.startswith(f"{HUMAN}/") or settings.get("is_human") is True


def _as_table(judged: Mapping[str, Grade]) -> pa.Table:
    signed = [grade.grader for grade in judged.values()]
    return pa.table({"response_key": pa.array(judged, pa.string()), "grader": pa.array(signed, pa.string())})


def _told_of(judge: ModelSpec, judged: Mapping[str, Grade]) -> str:
    graded = sum(grade.points is not None for grade in judged.values())
    rest = len(judged) - graded
    return f"{judge.name} graded {graded} answers that no rule settles" + (
        f", and could not grade {rest}" if rest else ""
    )


def _labels(asked: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What a report calls each model with its settings."""
    settings: dict[str, set[str]] = {}
    for model, parameters in dict.fromkeys(asked):
        settings.setdefault(model, set()).add(parameters)
    return {
        (model, parameters): model if len(several) == 1 else f"{model} #{content_hash(parameters)[:6]}"
        for model, several in settings.items()
        for parameters in several
    }


def _answers(table: pa.Table, frame: Frame) -> tuple[AnswerRow, ...]:
    """The rows, in the order of the frame."""
    names = [field.name for field in fields(AnswerRow)][2:-1]
    model, view, person = (frame.of_responses[name] for name in ("model", "view", "person"))
    columns = [
        [model.names[code] for code in model.codes],
        [view.names[code] for code in view.codes],
        *(table[name].to_pylist() for name in names),
        [person.names[code] for code in person.codes],
    ]
    return tuple(AnswerRow(*values) for values in zip(*columns, strict=True))
