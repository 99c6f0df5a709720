"""Any table of questions, by a mapping file in YAML that says which field holds what."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

from core.content import Frozen
from core.errors import UnknownName, first_problem
from core.question import AnswerKey, QuestionKind
from core.taxonomy import load_taxonomy
from curation.questions.importers.answers import by_index, by_letter, by_text, checked_choices
from curation.questions.importers.base import BadQuestionFile, BadRecord, ByWhat, Draft, Given, Label, Layout
from curation.questions.importers.fields import choices_of, first_of, labels_of, needed, text_of, texts_of
from curation.questions.importers.prompts import task_type, woven
from curation.questions.media import from_base64, from_value
from evaluation.graders import GRADERS

_Name = Annotated[str, Field(min_length=1)]
_Placeholder = Annotated[str, Field(pattern=r"^(image|audio|video)_[1-9][0-9]*$")]
_Ours = Literal["category", "ability", "difficulty", "subset", "source", "split"]


class TypeOf(Frozen):
    """Task types by a field's values; `default` for values that are not in `map` and are no task type themselves."""

    field: _Name | None = None
    map: dict[str, str] = Field(default_factory=dict)
    default: str

    @model_validator(mode="after")
    def _known(self) -> "TypeOf":
        for name in (self.default, *self.map.values()):
            _checked_type(name)
        return self


class LanguageOf(Frozen):
    """Languages by a field's values, which are codes already where `map` has none for them."""

    field: _Name | None = None
    map: dict[str, str] = Field(default_factory=dict)
    default: str | None = None


class QuestionMapping(Frozen):
    """Which field of a table holds what.

    Attributes:
        id: Field of the question's id.
        prompt: Field of its text, which may name media as `<image_1>`.
        media: Placeholder to the field that holds the medium: a file name, base64, or bytes.
        base64: Fields of media that hold nothing but base64: a text in them is never a file name.
        sound: Whether a film's sound belongs to its question.
        choices: Fields of the choices in order, or one field that holds a list; none for open questions.
        answer: Field of the answer; of an open question it may hold a list of all that count.
        answer_is: What names the right choice: its letter, its text, or its number from 0 or 1.
        grader: Rule that grades open answers.
        tolerance: Absolute, for the rule `number`.
        task_type: A task type for all, or a field and how its values map.
        language: A language for all, or a field; left out, it is told by the text.
        labels: Fields that are kept as labels; left out, all that are not the question.
        rename: Our name of a label (category, ability, difficulty, subset, source, split) to the field's.
    """

    id: _Name
    prompt: _Name
    media: dict[_Placeholder, _Name] = Field(default_factory=dict)
    base64: tuple[_Name, ...] = ()
    sound: bool = True
    choices: tuple[_Name, ...] | _Name | None = None
    answer: _Name
    answer_is: Literal["letter", "text", "number_from_0", "number_from_1"] = "letter"
    grader: str | None = None
    tolerance: float | None = Field(default=None, ge=0)
    task_type: TypeOf
    language: LanguageOf = LanguageOf()
    labels: tuple[_Name, ...] | None = None
    rename: dict[_Ours, _Name] = Field(default_factory=dict)

    @field_validator("task_type", "language", mode="before")
    @classmethod
    def _one_for_all(cls, value: Any) -> Any:
        return {"default": value} if isinstance(value, str) else value

    @field_validator("grader")
    @classmethod
    def _known_grader(cls, value: str | None) -> str | None:
        try:
            return None if value is None else GRADERS[value].name
        except UnknownName as error:
            raise ValueError(str(error)) from error


def _checked_type(name: str) -> str:
    try:
        return load_taxonomy().get(name).id
    except UnknownName as error:
        raise ValueError(str(error)) from error


class Generic(Layout):
    """A record for each question, read as a mapping says."""

    endings = (".jsonl", ".csv", ".tsv", ".parquet", ".json")

    needs: tuple[str, ...] = ()

    def __init__(self, mapping: QuestionMapping | None = None) -> None:
        self._told = mapping
        if mapping is not None:
            listed = mapping.choices if isinstance(mapping.choices, tuple) else ()
            self.needs = (mapping.id, mapping.prompt, *listed[:2])

    def with_mapping(self, mapping: Path | None) -> "Generic":
        """See `QuestionFormat.with_mapping`."""
        if mapping is None:
            raise BadQuestionFile("the format 'generic' needs --mapping FILE, which says which field holds what")
        return Generic(read_mapping(mapping))

    @property
    def _mapping(self) -> QuestionMapping:
        assert self._told is not None, "with_mapping comes first"
        return self._told

    def draft(self, where: str, data: Mapping[str, Any]) -> Draft:
        """See `QuestionFormat.draft`."""
        mapping = self._mapping
        choices = self._choices(data)
        key = self._choice_key(data, choices) if choices else self._open_key(data)
        prompt, choices = woven(needed(data, mapping.prompt), self._media(data), choices)
        labels = self._labels(data)
        kind_of_task, by_what = self._task_type(data)
        return Draft(
            where,
            needed(data, mapping.id),
            prompt,
            QuestionKind.CHOICE if choices else QuestionKind.OPEN,
            kind_of_task,
            by_what,
            choices=choices,
            answer=key,
            language=self._language(data),
            labels=labels,
        )

    def _choices(self, data: Mapping[str, Any]) -> tuple[str, ...]:
        match self._mapping.choices:
            case None:
                return ()
            case str() as name:
                written = texts_of(data.get(name), name)
            case names:
                written = choices_of(data, names)
        # A table may hold open questions beside those with choices.
        return checked_choices(written) if written else ()

    def _choice_key(self, data: Mapping[str, Any], choices: tuple[str, ...]) -> AnswerKey:
        answer = first_of(data, self._mapping.answer)
        match self._mapping.answer_is:
            case "letter":
                return by_letter(answer, choices)
            case "text":
                return by_text(answer, choices)
            case "number_from_0":
                return by_index(answer, choices, 0)
            case _:
                return by_index(answer, choices, 1)

    def _open_key(self, data: Mapping[str, Any]) -> AnswerKey:
        held, name = data.get(self._mapping.answer), self._mapping.answer
        accepted = texts_of(held, name) if isinstance(held, list) else (text_of(held, name),)
        if not accepted or accepted[0] is None:
            raise BadRecord("no_answer", "there is no answer, as in test splits whose answers are withheld")
        words = tuple(one for one in accepted if one is not None)
        return AnswerKey(accepted=words, grader=self._mapping.grader, tolerance=self._mapping.tolerance)

    def _media(self, data: Mapping[str, Any]) -> list[Given]:
        media: list[Given] = []
        for name, column in self._mapping.media.items():
            held = data.get(column)
            if held is None or held == "" or isinstance(held, float):  # NaN is what tables with holes hold
                continue
            if isinstance(held, str) and column in self._mapping.base64:
                media.append(Given(name, data=from_base64(held), sound=self._mapping.sound))
            else:
                media.append(replace(from_value(name, held), sound=self._mapping.sound))
        return media

    def _task_type(self, data: Mapping[str, Any]) -> tuple[str, ByWhat]:
        told = self._mapping.task_type
        default = _checked_type(told.default)
        if told.field is None:
            return default, "category"
        table = {_folded(value): _checked_type(name) for value, name in told.map.items()}
        return task_type(first_of(data, told.field), table, default)

    def _language(self, data: Mapping[str, Any]) -> str | None:
        told = self._mapping.language
        value = first_of(data, told.field) if told.field is not None else None
        return told.default if value is None else told.map.get(value, value)

    def _labels(self, data: Mapping[str, Any]) -> dict[str, Label]:
        mapping = self._mapping
        common: dict[str, str] = dict(mapping.rename.items())
        if mapping.labels is not None:
            return labels_of({name: data.get(name) for name in mapping.labels}, (), common)
        listed = mapping.choices if isinstance(mapping.choices, tuple) else (mapping.choices or "",)
        hidden = (mapping.id, mapping.prompt, mapping.answer, *listed, *mapping.media.values())
        return labels_of(data, hidden, common)


def _folded(value: str) -> str:
    return " ".join(value.casefold().replace("_", " ").split())


def read_mapping(file: Path) -> QuestionMapping:
    """A mapping file.

    Raises:
        BadQuestionFile: It cannot be read, or says something impossible.
    """
    try:
        written = yaml.safe_load(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadQuestionFile(f"{file} cannot be read as YAML ({' '.join(str(error).split())[:200]})") from error
    if not isinstance(written, dict):
        raise BadQuestionFile(f"{file} holds no mapping of our fields to a table's, as 'id: qid'")
    try:
        return QuestionMapping.model_validate(written)
    except ValidationError as error:
        raise BadQuestionFile(f"{file}: {first_problem(error, QuestionMapping.model_fields)}") from error


GENERIC = Generic()
