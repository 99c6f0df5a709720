"""What a draft holds: the fields of an item file's record, as far as somebody has come with them."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from annotation_ui.told import Told
from annotation_ui.words import N_
from core.content import Modality
from core.question import POINTS_TOTAL, AnswerKey, Question, QuestionKind, choice_label
from warehouse.tables import ItemRevision

MOST_CHARACTERS = 20_000
MOST_ENTRIES = 40

_Line = Annotated[str, StringConstraints(max_length=2_000)]
_Long = Annotated[str, StringConstraints(max_length=MOST_CHARACTERS)]
_PLACEHOLDER = r"^(image|audio|video)_[1-9][0-9]{0,2}$"
_Placeholder = Annotated[str, StringConstraints(pattern=_PLACEHOLDER)]


class BadContent(Told):
    """A draft that is no draft: a field of another kind, an unknown field, or far too much text."""

    text = N_("The field {field} cannot be saved: {reason}")


class _Loose(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_nul(cls, value: Any) -> Any:
        # PostgreSQL keeps no NUL in texts.
        return value.replace("\x00", "") if isinstance(value, str) else value


class DraftStep(_Loose):
    """A step that is being written; the first of `accepted` is the answer."""

    ask: _Long = ""
    points: int | None = Field(default=None, ge=0, le=POINTS_TOTAL)
    accepted: list[_Line] = Field(default=[], max_length=MOST_ENTRIES)
    grader: _Line | None = None
    tolerance: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    rubric: _Long = ""


class Evidence(_Loose):
    """Where a medium shows what it contributes: a span of its time, a box in its picture, or words."""

    start_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    end_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    left_px: int | None = Field(default=None, ge=0)
    top_px: int | None = Field(default=None, ge=0)
    width_px: int | None = Field(default=None, ge=1)
    height_px: int | None = Field(default=None, ge=1)
    note: _Line = ""


class DraftContent(_Loose):
    """A question as far as it has come.

    `media` names a material's id for each placeholder; `correct` are places of choices, from 0.
    """

    name: Annotated[str, StringConstraints(max_length=128)] = ""
    task_type: _Line = ""
    language: _Line = ""
    kind: QuestionKind = QuestionKind.CHOICE
    prompt: _Long = ""
    media: dict[_Placeholder, Annotated[str, StringConstraints(max_length=36)]] = Field(
        default={}, max_length=MOST_ENTRIES
    )
    choices: list[_Line] = Field(default=[], max_length=MOST_ENTRIES)
    correct: list[Annotated[int, Field(ge=0, lt=MOST_ENTRIES)]] = Field(default=[], max_length=MOST_ENTRIES)
    accepted: list[_Line] = Field(default=[], max_length=MOST_ENTRIES)
    grader: _Line | None = None
    tolerance: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    steps: list[DraftStep] = Field(default=[], max_length=MOST_ENTRIES)
    required: list[Modality] = []
    asked_in: Literal["text", "audio"] = "text"
    twin_group: Annotated[str, StringConstraints(max_length=64)] = ""
    evidence: dict[_Placeholder, Evidence] = Field(default={}, max_length=MOST_ENTRIES)

    @classmethod
    def parse(cls, data: object) -> Self:
        """Content as a browser or the database gives it.

        Raises:
            BadContent: It is none.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(step) for step in first["loc"]) or "draft"
            raise BadContent(field=field, reason=first["msg"]) from error

    def as_json(self) -> dict[str, Any]:
        """For the database and the browser: what is empty is left out."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def as_record(self, name: str) -> dict[str, Any]:
        """The record of an item file that says the same, its media named by material ids."""
        is_choice, is_open = self.kind is QuestionKind.CHOICE, self.kind is QuestionKind.OPEN
        record: dict[str, Any] = {
            "name": name,
            "task_type": self.task_type,
            "language": self.language,
            "kind": self.kind.value,
            "prompt": self.prompt,
            "media": dict(self.media),
            "required": [modality.value for modality in self.required],
            "asked_in": self.asked_in,
            "twin_group": self.twin_group or None,
            "evidence": {name: one.model_dump(exclude_defaults=True) for name, one in self.evidence.items()},
        }
        if is_choice:
            record["choices"] = list(self.choices)
            # By letter and text: a choice may read like another one's letter.
            record["answer"] = [f"{choice_label(place)}. {self.choices[place]}" for place in self.correct]
        if is_open:
            record |= _answer(self)
        if self.kind is QuestionKind.MULTI_STEP:
            record["steps"] = [
                {"ask": step.ask, "points": step.points, "rubric": step.rubric or None, **_answer(step)}
                for step in self.steps
            ]
        return {key: value for key, value in record.items() if value is not None}


def content_of(name: str, revision: ItemRevision, media: Mapping[str, str], twin_group: str | None) -> DraftContent:
    """A draft that begins from a revision; `media` are its placeholders with their materials' ids."""
    question = revision.as_question()
    evidence = revision.notes.get("evidence", {})
    return DraftContent(
        name=name,
        task_type=question.task_type,
        language=question.language,
        kind=question.kind,
        prompt=question.prompt_text,
        media=dict(media),
        choices=[choice.text for choice in question.choices],
        correct=list(question.answer.correct),
        required=sorted(question.required),
        asked_in=question.asked_in,
        twin_group=twin_group or "",
        steps=_steps(question),
        evidence={place: Evidence.model_validate(told) for place, told in evidence.items() if _is_evidence(told)},
        **_given(question.answer),
    )


def _answer(given: DraftContent | DraftStep) -> dict[str, Any]:
    first, *more = given.accepted or [""]
    found = {"answer": first, "accepted": more, "grader": given.grader, "tolerance": given.tolerance}
    return {key: value for key, value in found.items() if value is not None}


def _given(answer: AnswerKey) -> dict[str, Any]:
    return {"accepted": list(answer.accepted), "grader": answer.grader, "tolerance": answer.tolerance}


def _steps(question: Question) -> list[DraftStep]:
    return [
        DraftStep(ask=step.ask, points=step.points, rubric=step.rubric or "", **_given(step.answer))
        for step in question.steps
    ]


def _is_evidence(told: object) -> bool:
    """Item files may hold evidence in a form of their own, which this editor would not keep."""
    try:
        Evidence.model_validate(told)
    except ValidationError:
        return False
    return True
