"""The judge's prompt and what counts as its judgement: one module for grading and for training a judge.

An answer is data: it stands between two lines that it cannot forge, for their marker is a hash over the question, its
key and the answer itself. A judgement must repeat a nonce made the same way, so a reply that only echoes JSON of the
answer is no judgement.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from core.content import PLACEHOLDER, Frozen, Message, TextPart
from core.errors import InterplayError, first_problem
from core.provenance import content_hash
from core.question import POINTS_TOTAL, AnswerKey, Question, QuestionKind, choice_label
from evaluation.graders import DEFAULT_GRADER
from evaluation.graders.cleaning import clean, without_thinking
from evaluation.graders.judge_words import ESSAY, KIND_OF_GRADER, LONG_TEXT, Words, words_of
from evaluation.graders.verdicts import Why, shown

# Enters the fingerprint of every judge: raise it with any change of what a judge is told or of what is read back.
PROMPT_VERSION = "2"
# Of a cleaned answer the judge sees so many characters at the beginning and at the end.
HEAD_CHARACTERS, TAIL_CHARACTERS = 3_000, 6_000
REPLY_READ_CHARACTERS = 20_000

# Control tokens of chat templates, which some servers honour inside a text too: one blank makes plain text of them.
_CONTROL = re.compile(r"(?<=<)(?=[A-Za-z/|])|(?<=\[)(?=/?[A-Z_]{2,30}\])")


class NothingToJudge(InterplayError):
    """An answer that says nothing outside its thinking."""


@dataclass(frozen=True)
class Part:
    """What a judge gives points for: a step, or the whole of a question that has none (all ten points)."""

    number: int
    points: int
    kind: str
    key: AnswerKey
    ask: str | None = None
    rubric: str | None = None

    @property
    def is_divided(self) -> bool:
        """Whether any share of the points can be given: by a rubric, or as the rule of long texts gives it."""
        return bool(self.rubric) or self.kind == LONG_TEXT

    def allows(self, points: int) -> bool:
        """Whether the points can be given: all or none, or where they are divided any share."""
        return 0 <= points <= self.points if self.is_divided else points in (0, self.points)


@dataclass(frozen=True)
class StepJudgement:
    """Whole points for one step, numbered from 1."""

    step: int
    points: int
    reason: str


@dataclass(frozen=True)
class Judgement:
    """What a judge gave each step, in order."""

    steps: tuple[StepJudgement, ...]

    @property
    def total(self) -> int:
        """Points of ten."""
        return sum(step.points for step in self.steps)

    def as_reply(self, nonce: str) -> str:
        """The reply that says this, as a judge is asked to write it."""
        steps = [{"step": one.step, "reason": one.reason, "points": one.points} for one in self.steps]
        return json.dumps({"nonce": nonce, "steps": steps, "total": self.total}, ensure_ascii=False)


@dataclass(frozen=True)
class ParseProblem:
    """Why a reply is no judgement."""

    why: Why
    words: str


def parts_of(question: Question) -> tuple[Part, ...]:
    """What is judged in a question, in order; the points sum to ten."""
    if question.kind is QuestionKind.MULTI_STEP:
        return tuple(
            Part(number, step.points, _kind(step.answer), step.answer, step.ask, step.rubric)
            for number, step in enumerate(question.steps, start=1)
        )
    kind = "choice" if question.kind is QuestionKind.CHOICE else _kind(question.answer)
    return (Part(1, POINTS_TOTAL, kind, question.answer),)


def judge_messages(question: Question, answer_text: str) -> tuple[Message, ...]:
    """One user turn in the question's language: question, references, criteria, and the answer set apart as data.

    The answer comes without its thinking; beyond `HEAD_CHARACTERS` + `TAIL_CHARACTERS` its middle is left out, with a
    note. Media are named, not sent.

    Raises:
        NothingToJudge: Nothing stands outside the answer's thinking.
    """
    answer = clean(answer_text)
    if not answer:
        raise NothingToJudge("the answer says nothing outside its thinking; grade it as invalid by rule")
    words = words_of(question.language)
    marker = f"ANSWER-{_derived('fence', question, answer_text)}"
    sections = [
        words["task"],
        *_asked(question, words),
        *_graded(question, words),
        words["answer"],
        words["before"].format(marker=marker),
        words["begin"].format(marker=marker),
        _as_data(answer, words["cut"].format(marker=marker)),
        words["end"].format(marker=marker),
        words["after"],
        words["reply"],
        words["form"],
        _form(question, nonce_of(question, answer_text), words),
    ]
    return (Message(role="user", parts=(TextPart(text="\n".join(sections)),)),)


def nonce_of(question: Question, answer_text: str) -> str:
    """What a judgement of this answer must repeat; it depends on the key and on the answer, so no answer holds it."""
    return _derived("nonce", question, answer_text)


def judge_schema() -> dict[str, Any]:
    """JSON schema of a judgement, for servers that can be held to one.

    It is the same for every question: points beyond a step's worth are found when the judgement is read.
    """
    step = _object({"step": {"type": "integer"}, "reason": {"type": "string"}, "points": {"type": "integer"}})
    return _object(
        {"nonce": {"type": "string"}, "steps": {"type": "array", "items": step}, "total": {"type": "integer"}}
    )


def parse_judgement(question: Question, reply: str, nonce: str) -> Judgement | ParseProblem:
    """The judgement in a judge's reply: its last JSON object, which must fit in every respect."""
    said = without_thinking(reply)
    found = None if said is None else last_object(said[-REPLY_READ_CHARACTERS:])
    if found is None:
        return ParseProblem(Why.JUDGE_UNREADABLE, f"no JSON object in {shown(reply[-200:])}")
    try:
        read = _Reply.model_validate_json(found.encode("utf-8", "replace"), strict=True)
    except ValidationError as error:
        return ParseProblem(Why.JUDGE_UNREADABLE, f"{first_problem(error)} in {shown(found)}")
    if read.nonce != nonce:
        return ParseProblem(Why.JUDGE_NONCE, f"the nonce is {shown(read.nonce)}, which was not asked for")
    return _checked(read, parts_of(question))


def last_object(text: str) -> str | None:
    """The last JSON object that stands in no other one; what opens and never closes is skipped."""
    decoder = json.JSONDecoder(object_pairs_hook=_each_name_once)
    found, place = None, text.find("{")
    while place >= 0:
        end = place + 1
        try:
            end = decoder.raw_decode(text, place)[1]
            found = text[place:end]
        except (ValueError, RecursionError):
            pass
        place = text.find("{", end)
    return found


def without_control_tokens(text: str) -> str:
    """A text in which no server takes anything for a control token of a chat template."""
    return _CONTROL.sub(" ", text)


class _StepReply(Frozen):
    step: int
    reason: str
    points: int


class _Reply(Frozen):
    nonce: str = ""
    steps: tuple[_StepReply, ...]
    total: int


def _checked(read: _Reply, parts: tuple[Part, ...]) -> Judgement | ParseProblem:
    numbers = [one.step for one in read.steps]
    if sorted(numbers) != [part.number for part in parts]:
        return ParseProblem(Why.JUDGE_STEPS, f"judges the steps {numbers} of a question that has {len(parts)}")
    judged = {one.step: one for one in read.steps}
    for part in parts:
        points = judged[part.number].points
        if not 0 <= points <= part.points:
            return ParseProblem(Why.JUDGE_RANGE, f"gives step {part.number} {points} of {part.points} points")
        if not part.allows(points):
            words = f"gives step {part.number} {points} of {part.points} points, which nothing divides"
            return ParseProblem(Why.JUDGE_PART, words)
    steps = tuple(StepJudgement(part.number, judged[part.number].points, judged[part.number].reason) for part in parts)
    judgement = Judgement(steps)
    if judgement.total != read.total:
        return ParseProblem(Why.JUDGE_SUM, f"says {read.total} in total, but the steps sum to {judgement.total}")
    return judgement


def _kind(key: AnswerKey) -> str:
    return KIND_OF_GRADER.get(key.grader or DEFAULT_GRADER, ESSAY)


def _derived(use: str, question: Question, answer_text: str) -> str:
    return content_hash(["judge", PROMPT_VERSION, use, question.content_hash, answer_text])[:16]


def _asked(question: Question, words: Words) -> Iterator[str]:
    yield words["question"]
    yield _in_words(question.prompt_text, words) or words["withheld"]
    if question.asked_in == "audio":
        yield words["spoken"]
    if question.choices:
        yield words["options"]
        yield from (
            f"{choice_label(place)}. {_in_words(one.text, words)}" for place, one in enumerate(question.choices)
        )


def _graded(question: Question, words: Words) -> Iterator[str]:
    parts = parts_of(question)
    yield words["graded"]
    for part in parts:
        head = words["step" if question.steps else "whole"]
        head = head.format(number=part.number, points=part.points, kind=words[part.kind])
        yield f"{head}: {_in_words(part.ask, words)}" if part.ask else head
        yield from _references(part, words)
    yield words["criteria"]
    yield from (words[f"about_{kind}"] for kind in dict.fromkeys(part.kind for part in parts))
    yield words["rules"]


def _references(part: Part, words: Words) -> Iterator[str]:
    if part.key.correct:
        letters = ", ".join(choice_label(index) for index in part.key.correct)
        yield words["right_options" if len(part.key.correct) > 1 else "right_option"].format(letters=letters)
    else:
        texts = "; ".join(json.dumps(_in_words(text, words), ensure_ascii=False) for text in part.key.accepted)
        yield words["references" if len(part.key.accepted) > 1 else "reference"].format(texts=texts)
    if part.key.tolerance:
        yield words["tolerance"].format(tolerance=part.key.tolerance)
    if part.rubric:
        yield words["rubric"].format(rubric=_in_words(part.rubric, words))


def _in_words(text: str, words: Words) -> str:
    def named(found: re.Match[str]) -> str:
        kind, _, number = found[1].partition("_")
        return words[kind].format(number=number)

    return PLACEHOLDER.sub(named, text).strip()


def _as_data(answer: str, note: str) -> str:
    if len(answer) > HEAD_CHARACTERS + TAIL_CHARACTERS:
        answer = f"{answer[:HEAD_CHARACTERS]}\n{note}\n{answer[-TAIL_CHARACTERS:]}"
    return without_control_tokens(answer)


def _form(question: Question, nonce: str, words: Words) -> str:
    """The object as it is to be filled in; it is no JSON, so that a reply that repeats it is no judgement."""
    steps = ", ".join(
        f'{{"step": {part.number}, "reason": "...", "points": <'
        + words["any_part" if part.is_divided else "full_or_none"].format(points=part.points)
        + ">}"
        for part in parts_of(question)
    )
    return f'{{"nonce": "{nonce}", "steps": [{steps}], "total": <0 to {POINTS_TOTAL}>}}'


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)
