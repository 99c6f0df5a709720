"""The responses behind the votes: one query for all of them, each read once as the gate read it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from core.condition import Condition
from core.question import Question, QuestionKind, choice_label
from evaluation.report.document import ANSWER_KEPT_CHARACTERS
from evaluation.solve import Showing
from qc.model_review import PURPOSE
from qc.panel import Vote, read_vote
from qc.report.document import Answer, ModelAnswers
from warehouse.analytics import analysis
from warehouse.facts import FactStore

# Responses to something else than the question: reviews of it.
_PROMPT = "prompt"
_NOTHING = "?"
_RIGHT, _WRONG = "✓", "✗"
# How the response was shown: as a choice question or not, and its rotation.
_Shown = tuple[str, bool, int]


def read_answers(
    facts: FactStore, wanted: Mapping[str, Sequence[str]], questions: Mapping[str, Question]
) -> dict[str, list[Answer]]:
    """The responses of these keys, by item, in the order of the keys; keys without a fact are left out.

    Args:
        facts: Where responses are.
        wanted: Keys by item.
        questions: By item.
    """
    keys = [key for of_item in wanted.values() for key in of_item]
    items = [item for item, of_item in wanted.items() for _ in of_item]
    found: dict[str, list[Answer]] = {item: [] for item in wanted}
    reader = _Reader(questions)
    with analysis(facts, ["response"]) as connection:
        columns = {
            "key": pa.array(keys, pa.string()),
            "item": pa.array(items, pa.string()),
            "place": pa.array(range(len(keys)), pa.int64()),
        }
        connection.register("wanted", pa.table(columns))
        query = connection.execute(
            "SELECT item, kind, key, model, family, condition, rotation, state, answer, error "
            "FROM response JOIN wanted USING (key) ORDER BY place"
        )
        while rows := query.fetchmany(10_000):
            for item, kind, *rest in rows:
                found[item].append(_answer(reader, item, kind, *rest))
    return found


def answer_table(answers: Iterable[Answer]) -> tuple[ModelAnswers, ...]:
    """Conditions x models, conditions in the order asked; reviews of the question itself are no answers to it."""
    conditions: dict[str, dict[str, list[Answer]]] = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        if answer.condition != PURPOSE:
            conditions[answer.condition][answer.model].append(answer)
    return tuple(
        _cell(condition, model, models[model]) for condition, models in conditions.items() for model in sorted(models)
    )


def _answer(
    reader: "_Reader",
    item: str,
    kind: str,
    key: str,
    model: str,
    family: str,
    condition: str,
    rotation: int,
    state: str,
    answer: str | None,
    error: str | None,
) -> Answer:
    is_read = state == "ok" and kind != _PROMPT
    vote = reader.read(item, kind, rotation, answer) if is_read and answer is not None else None
    return Answer(
        key=key,
        model=model,
        family=family,
        condition=condition,
        rotation=rotation,
        state=state,
        answer=answer and answer[:ANSWER_KEPT_CHARACTERS],
        error=error and error[:ANSWER_KEPT_CHARACTERS],
        picked=tuple(sorted(vote.choices)) if vote else (),
        right=vote.right == 1.0 if vote else None,
        steps=vote.steps if vote else (),
    )


def _cell(condition: str, model: str, answers: Sequence[Answer]) -> ModelAnswers:
    turned = sorted(answers, key=lambda answer: answer.rotation)
    return ModelAnswers(
        model=model,
        condition=condition,
        marks=tuple(map(mark_of, turned)),
        right=sum(answer.right is True for answer in turned),
        valid=sum(answer.right is not None for answer in turned),
    )


def mark_of(answer: Answer) -> str:
    """What an answer says, in as few letters as it takes."""
    if answer.right is None:
        return _NOTHING
    if answer.picked:
        return "+".join(choice_label(place) for place in answer.picked)
    if answer.steps:
        return "".join(_RIGHT if points == 1.0 else _WRONG for points in answer.steps)
    return _RIGHT if answer.right else _WRONG


class _Reader:
    """Reads answers, each different one to a question once."""

    def __init__(self, questions: Mapping[str, Question]) -> None:
        self._questions = questions
        self._showings: dict[_Shown, Showing] = {}
        self._votes: dict[tuple[_Shown, str], Vote | None] = {}

    def read(self, item: str, kind: str, rotation: int, answer: str) -> Vote | None:
        question = self._questions[item]
        # What else the condition took away does not matter to whoever reads the answer.
        is_open = question.kind is QuestionKind.CHOICE and kind == QuestionKind.OPEN.value
        shown = (item, is_open, rotation)
        if shown not in self._showings:
            self._showings[shown] = Showing(question, Condition(name="as_read", open_ended=is_open), rotation)
        if (shown, answer) not in self._votes:
            self._votes[shown, answer] = read_vote(self._showings[shown], answer)
        return self._votes[shown, answer]
