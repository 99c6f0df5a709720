"""A question as it is asked and graded."""

import math
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, field_serializer, field_validator, model_validator

from core.content import Frozen, MediaPart, Modality, Part, TextPart
from core.provenance import content_hash

POINTS_TOTAL = 10


class QuestionKind(StrEnum):
    """How an answer is given."""

    CHOICE = "choice"
    OPEN = "open"
    MULTI_STEP = "multi_step"


class Choice(Frozen):
    """One option; its label (A, B, ...) follows from its place."""

    text: str = Field(min_length=1)


class AnswerKey(Frozen):
    """What counts as right.

    For `choice`: `correct`, the indexes of the right choices. For `open` and for steps: `accepted`, the answers that
    count, the first one canonical. `grader` names the rule (`number`, `short_text`, ...); `tolerance` is absolute and
    used by `number` only.
    """

    correct: tuple[int, ...] = ()
    accepted: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    grader: str | None = None
    tolerance: float | None = Field(default=None, ge=0)

    @field_validator("correct")
    @classmethod
    def _in_order_each_once(cls, correct: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(correct)))


class Step(Frozen):
    """One part of a multi-step question, worth whole points of ten."""

    ask: str = Field(min_length=1)
    points: int = Field(ge=1, le=POINTS_TOTAL)
    answer: AnswerKey
    rubric: str | None = None


class Question(Frozen):
    """A question as a model is asked it, with the key that it is graded by.

    `prompt` holds text and media in order. `required` are the modalities without which it must not be answerable.
    `asked_in` says whether the question itself is written or spoken.
    """

    prompt: tuple[Part, ...]
    kind: QuestionKind
    choices: tuple[Choice, ...] = ()
    answer: AnswerKey = AnswerKey()
    steps: tuple[Step, ...] = ()
    required: frozenset[Modality] = frozenset()
    task_type: str
    language: str = Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$")
    asked_in: Literal["text", "audio"] = "text"

    @field_serializer("required")
    def _required_in_order(self, required: frozenset[Modality]) -> list[str]:
        return sorted(required)

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        problem = _prompt_problem(self) or _kind_problem(self)
        if problem:
            raise ValueError(problem)
        return self

    @property
    def media(self) -> tuple[MediaPart, ...]:
        """Media parts in prompt order, each placeholder once."""
        return tuple(part for part in self.prompt if isinstance(part, MediaPart))

    @property
    def modalities(self) -> frozenset[Modality]:
        """Modalities of the media that the prompt really holds."""
        return frozenset(part.media.modality for part in self.media)

    @property
    def prompt_text(self) -> str:
        """The prompt as authors write it, media as `<image_1>`."""
        return "".join(p.text if isinstance(p, TextPart) else f"<{p.name}>" for p in self.prompt)

    @property
    def content_hash(self) -> str:
        """sha256 over everything that the question says, the same on every machine.

        Defaults are left out, so that a field that a later version adds changes no hash of today's questions.
        """
        return content_hash(self.model_dump(mode="json", exclude_defaults=True))

    def rotated(self, by: int) -> Self:
        """The same question with its choices turned by `by` places (choice i moves to place i + by), key included.

        Asking every rotation cancels a model's preference for a place.
        """
        count = len(self.choices)
        if count == 0 or by % count == 0:
            return self
        turned = tuple(self.choices[(place - by) % count] for place in range(count))
        correct = tuple(sorted((index + by) % count for index in self.answer.correct))
        return self.model_copy(
            update={"choices": turned, "answer": self.answer.model_copy(update={"correct": correct})}
        )

    def as_open(self) -> Self:
        """A choice question without its options: the text of the right choice counts, or those of all right ones."""
        if self.kind is not QuestionKind.CHOICE:
            return self
        texts = [self.choices[index].text for index in self.answer.correct]
        if len(texts) > 1:
            key = AnswerKey(accepted=("; ".join(texts),), grader="enumeration")
        else:
            key = AnswerKey(accepted=tuple(texts), grader="number" if _is_number(texts[0]) else "short_text")
        return self.model_copy(update={"kind": QuestionKind.OPEN, "choices": (), "answer": key})


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text.replace(",", "")))
    except ValueError:
        return False


def _prompt_problem(question: Question) -> str | None:
    names = [part.name for part in question.media]
    twice = sorted({name for name in names if names.count(name) > 1})
    return f"the prompt places <{twice[0]}> twice; a later mention must be text" if twice else None


def _kind_problem(question: Question) -> str | None:
    match question.kind:
        case QuestionKind.CHOICE:
            if len(question.choices) < 2:
                return f"a choice question needs at least 2 choices, this one has {len(question.choices)}"
            if not question.answer.correct:
                return "a choice question needs at least one correct choice"
            outside = [index for index in question.answer.correct if not 0 <= index < len(question.choices)]
            if outside:
                return f"the key names choice {outside[0] + 1}, but there are {len(question.choices)} choices"
        case QuestionKind.OPEN:
            if not question.answer.accepted:
                return "an open question needs at least one accepted answer"
        case QuestionKind.MULTI_STEP:
            total = sum(step.points for step in question.steps)
            if total != POINTS_TOTAL:
                return f"the points of the steps must sum to {POINTS_TOTAL}, these sum to {total}"
            for place, step in enumerate(question.steps, start=1):
                if not step.answer.accepted:
                    return f"step {place} needs at least one accepted answer"
    if question.kind is not QuestionKind.CHOICE and question.choices:
        return f"only choice questions have choices, this one is {question.kind.value}"
    if question.kind is not QuestionKind.MULTI_STEP and question.steps:
        return f"only multi-step questions have steps, this one is {question.kind.value}"
    return None


def choice_label(index: int) -> str:
    """A for 0, B for 1, ... Z for 25."""
    return chr(ord("A") + index)
