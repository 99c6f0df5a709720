"""What the answers of evaluated models tell of each item of a release: how hard it is, and whether it tells them apart.

Points are the stored ones: nothing is graded here.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from core.condition import FULL
from core.content import Frozen
from core.errors import UnknownName
from core.question import Question, QuestionKind, choice_label
from evaluation.graders.choice import chosen
from evaluation.metrics import Values
from evaluation.report.build import build_report
from evaluation.report.document import AnswerRow
from evaluation.report.items import item_facts
from evaluation.run import evaluated_models
from qc.classical import DISCRIMINATION_MODELS, MODELS_AT_LEAST, Classical, classical, ratio
from qc.key_bias import KeyBias, key_bias
from qc.measure import Measure, undefined
from warehouse.facts import FactStore
from warehouse.ledger import stored_answers
from warehouse.release.records import get_release, members_of
from warehouse.workspace import Workspace

FUNCTIONAL = 0.05
# Of fewer answers a single one is more than 5%.
FUNCTIONAL_ANSWERS = 20


class OptionShare(Frozen):
    """A choice, and the share of valid answers that choose it; None where there are none.

    `is_functional`: of a distractor, whether at least 5% of the valid answers choose it; None for the key, and where
    there are too few answers to tell that one is not.
    """

    label: str
    share: float | None
    is_key: bool
    is_functional: bool | None = None


class ItemStatistics(Frozen):
    """One item, over models.

    Attributes:
        item: Its name.
        kind: `choice`, `open` or `multi_step`.
        models: Those with points for it.
        difficulty: Their mean points, in [0, 1]; the larger, the easier.
        item_rest: Pearson's correlation of the points with the rest score, each model's mean points over the other
            items that it has points for.
        discrimination: Mean points of the upper 27% of models by rest score, less those of the lower 27%.
        valid_answers: Answers that choose something.
        options: Of a choice item.
        flags: `negative_discrimination`, `non_functional_distractors`, `everybody_right`, `nobody_right`.
    """

    item: str
    kind: str
    models: int
    difficulty: Measure
    item_rest: Measure
    discrimination: Measure
    valid_answers: int = 0
    options: tuple[OptionShare, ...] = ()
    flags: tuple[str, ...] = ()


class ItemAnalysis(Frozen):
    """All items of a release in its order, and what the keys tell; `note` says of whose answers, where that matters."""

    title: str
    models: tuple[str, ...]
    note: str | None
    items: tuple[ItemStatistics, ...]
    keys: KeyBias


def analyse_release(workspace: Workspace, name: str, version: str, models: Sequence[str] | None = None) -> ItemAnalysis:
    """Analyse a release over the models evaluated on it, asked in full and without rotation.

    People are left out unless they are named. Where nobody was evaluated, the answers of whoever was asked count.

    Args:
        workspace: Of the project.
        name: Of the release.
        version: Of the release.
        models: Only models of these names.

    Raises:
        UnknownName: No such release, or a model that was not evaluated on it.
    """
    title = f"{name} {version}"
    with workspace.database.reading() as session:
        members = members_of(session, get_release(session, name, version))
        items = item_facts(session, [member.revision.id for member in members])
        evaluated = evaluated_models(session, title)
    for model in models or ():
        if evaluated is not None and model not in evaluated:
            raise UnknownName("model evaluated on that release", model, evaluated)
    report = build_report(workspace.facts, title, items, models or evaluated, with_tables=False)
    people = () if models else report.people
    answers = [one for one in report.answers if one.condition == FULL.name and one.model not in people]
    questions = {revision_id: one.question for revision_id, one in items.items()}
    note = "nobody was evaluated on this release: these are the answers of whoever was asked in quality control"
    return ItemAnalysis(
        title=title,
        models=tuple(sorted({one.model for one in answers})),
        note=note if answers and evaluated is None else None,
        items=_items(
            {revision_id: one.name for revision_id, one in items.items()},
            questions,
            answers,
            count_choices(workspace.facts, questions, answers),
        ),
        keys=key_bias([question for question in questions.values() if question.kind is QuestionKind.CHOICE]),
    )


def count_choices(
    facts: FactStore, questions: Mapping[str, Question], answers: Sequence[AnswerRow]
) -> dict[str, tuple[int, Counter[int]]]:
    """For each choice item how many of these answers choose something, and how often each choice is chosen."""
    wanted = {one.key: one.revision_id for one in answers if questions[one.revision_id].kind is QuestionKind.CHOICE}
    stored = stored_answers(facts, wanted)
    said = Counter((wanted[key], row["answer"]) for key, row in stored.items() if row["state"] == "ok")
    valid: dict[str, int] = defaultdict(int)
    places: dict[str, Counter[int]] = defaultdict(Counter)
    for (revision_id, text), count in said.items():
        picked = chosen(questions[revision_id], text)
        if picked is not None:
            valid[revision_id] += count
            places[revision_id].update(dict.fromkeys(picked, count))
    return {revision_id: (count, places[revision_id]) for revision_id, count in valid.items()}


def option_shares(question: Question, valid: int, places: Mapping[int, int]) -> tuple[OptionShare, ...]:
    """The share of each choice among `valid` answers; `places` counts them by place."""
    found = []
    for place in range(len(question.choices)):
        share = places.get(place, 0) / valid if valid else None
        is_key = place in question.answer.correct
        functional = share is not None and share >= FUNCTIONAL
        told = not is_key and (functional or valid >= FUNCTIONAL_ANSWERS)
        found.append(
            OptionShare(
                label=choice_label(place), share=share, is_key=is_key, is_functional=functional if told else None
            )
        )
    return tuple(found)


def _items(
    names: Mapping[str, str],
    questions: Mapping[str, Question],
    answers: Sequence[AnswerRow],
    choices: Mapping[str, tuple[int, Counter[int]]],
) -> tuple[ItemStatistics, ...]:
    """Statistics of items by revision id, in the order of `names`."""
    found = classical(_matrix(answers, list(names)))
    items = []
    for place, (revision_id, name) in enumerate(names.items()):
        question = questions[revision_id]
        valid, places = choices.get(revision_id, (0, Counter()))
        options = option_shares(question, valid, places) if question.kind is QuestionKind.CHOICE else ()
        measured = _measures(found, place)
        items.append(
            ItemStatistics(
                item=name,
                kind=question.kind.value,
                models=int(found.models[place]),
                **measured,
                valid_answers=valid,
                options=options,
                flags=_flags(int(found.models[place]), measured, options),
            )
        )
    return tuple(items)


def _matrix(answers: Sequence[AnswerRow], revision_ids: Sequence[str]) -> Values:
    """Mean points over repetitions: models x items, NaN where there are none."""
    graded = [one for one in answers if one.points is not None]
    models = {model: row for row, model in enumerate(sorted({one.model for one in graded}))}
    columns = {revision_id: column for column, revision_id in enumerate(revision_ids)}
    shape = len(models), len(columns)
    cells = np.array([models[one.model] * len(columns) + columns[one.revision_id] for one in graded], dtype=np.int64)
    counts = np.bincount(cells, minlength=shape[0] * shape[1])
    sums = np.bincount(cells, [one.points or 0.0 for one in graded], shape[0] * shape[1])
    return ratio(sums, counts, counts > 0).reshape(shape)


def _measures(found: Classical, place: int) -> dict[str, Measure]:
    models, rest_models = int(found.models[place]), int(found.rest_models[place])
    why_both = None
    if models and not rest_models:
        why_both = "no other item has points"
    elif rest_models >= MODELS_AT_LEAST and found.same_rest[place]:
        why_both = "all models have the same rest score"
    too_few = f"too few models: {rest_models} of the {MODELS_AT_LEAST} needed"
    return {
        "difficulty": _measure(found.difficulty[place], "no answer has points"),
        "item_rest": _measure(
            found.item_rest[place],
            why_both or (too_few if rest_models < MODELS_AT_LEAST else "all models have the same points"),
        ),
        "discrimination": _measure(
            found.discrimination[place],
            why_both or f"too few models: {rest_models} of the {DISCRIMINATION_MODELS} needed",
        ),
    }


def _flags(models: int, measured: Mapping[str, Measure], options: Sequence[OptionShare]) -> tuple[str, ...]:
    told = [measured[name].value for name in ("item_rest", "discrimination")]
    difficulty = measured["difficulty"].value
    flags = {
        "negative_discrimination": any(value is not None and round(value, 9) < 0 for value in told),
        "non_functional_distractors": any(option.is_functional is False for option in options),
        "everybody_right": models >= MODELS_AT_LEAST and difficulty == 1.0,
        "nobody_right": models >= MODELS_AT_LEAST and difficulty == 0.0,
    }
    return tuple(name for name, holds in flags.items() if holds)


def _measure(value: float, why_not: str) -> Measure:
    return undefined(why_not) if math.isnan(value) else Measure(value=float(value))
