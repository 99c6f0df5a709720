"""Item files: YAML or JSONL records as authors write them, read into questions."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from sqlmodel import Session, col, select

from core.content import MediaRef, Modality, parse_prompt
from core.errors import InterplayError, UnknownName, in_words
from core.question import POINTS_TOTAL, AnswerKey, Choice, Question, QuestionKind, Step, choice_label
from core.taxonomy import load_taxonomy
from evaluation.graders import GRADERS
from evaluation.graders.base import KeyGrader
from evaluation.graders.choice import MOST_OPTIONS
from warehouse.items import Draft
from warehouse.tables import Material, MaterialState


class UnreadableItemFile(InterplayError):
    """A file that is not a list of records."""


class BadRecord(InterplayError):
    """A record that is no question; the text says which, where, and how to mend it."""


_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?")
_NAME = r"^[\w.-]{1,128}$"
# What the patterns above and those of a question mean.
_MENDS = {
    "name": "use letters, digits, '.', '_' and '-', at most 128",
    "twin_group": "use letters, digits, '.', '_' and '-', at most 64",
    "language": "write a language code, as 'en' or 'zh'",
}


_Text = Annotated[str, Field(min_length=1)]


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid")


class WrittenStep(_Written):
    """A step as authors write it; `accepted` are further answers that count."""

    ask: _Text
    points: int = Field(ge=1, le=POINTS_TOTAL)
    answer: _Text
    accepted: list[_Text] = []
    grader: str | None = None
    tolerance: float | None = Field(default=None, ge=0)
    rubric: _Text | None = None

    @field_validator("answer", mode="before")
    @classmethod
    def _numbers_are_text(cls, value: Any) -> Any:
        return _as_text(value)

    @field_validator("accepted", mode="before")
    @classmethod
    def _all_text(cls, value: Any) -> Any:
        return [_as_text(one) for one in value] if isinstance(value, list) else value


class WrittenItem(_Written):
    """A record of an item file.

    `media` maps a placeholder's name (`image_1`) to a file beside the item file, or to a sha256. For `audio_1`, a video
    file means its sound. `answer` is the letter (or letters) of the right choice, or the answer itself.
    """

    name: str = Field(pattern=_NAME)
    task_type: str
    language: str
    kind: QuestionKind
    prompt: _Text
    media: dict[str, str]
    choices: list[_Text] = []
    answer: str | list[str] = []
    accepted: list[_Text] = []
    grader: str | None = None
    tolerance: float | None = Field(default=None, ge=0)
    steps: list[WrittenStep] = []
    required: list[Modality]
    asked_in: Literal["text", "audio"] = "text"
    twin_group: str | None = Field(default=None, pattern=_NAME, max_length=64)
    evidence: dict[str, Any] = {}

    @field_validator("choices", "accepted", mode="before")
    @classmethod
    def _all_text(cls, value: Any) -> Any:
        return [_as_text(one) for one in value] if isinstance(value, list) else value

    @field_validator("evidence", mode="before")
    @classmethod
    def _numbers_in_evidence(cls, value: Any) -> Any:
        return _as_numbers(value)

    @field_validator("answer", mode="before")
    @classmethod
    def _answer_text(cls, value: Any) -> Any:
        return [_as_text(one) for one in value] if isinstance(value, list) else _as_text(value)


@dataclass(frozen=True)
class Record:
    """A record with its place in the file, for messages."""

    where: str
    data: Any


def read_records(file: Path) -> Iterator[Record]:
    """Records of a .yaml, .yml, .json or .jsonl file; a JSONL line that is not JSON becomes a record that fails alone.

    Raises:
        UnreadableItemFile: The file as a whole cannot be read.
    """
    suffix = file.suffix.lower()
    if suffix not in {".yaml", ".yml", ".json", ".jsonl"}:
        raise UnreadableItemFile(f"{file} is neither .yaml, .json nor .jsonl; rename it or convert it")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableItemFile(f"cannot read {file}: {error}; save it as UTF-8 text") from error
    if suffix == ".jsonl":
        # Not `splitlines`: texts may hold other line breaks of Unicode, which JSON leaves as they are.
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield Record(f"{file.name} line {number}", _json_or_error(line))
        return
    loaded = _json_or_error(text) if suffix == ".json" else _yaml_or_error(text)
    if isinstance(loaded, Exception):
        raise UnreadableItemFile(f"{file} is not valid {suffix[1:].upper()}: {' '.join(str(loaded).split())}")
    if not isinstance(loaded, list):
        raise UnreadableItemFile(f"{file} must hold a list of items ('- name: ...'), it holds {type(loaded).__name__}")
    for number, data in enumerate(loaded, start=1):
        name = data.get("name") if isinstance(data, dict) else None
        yield Record(f"{file.name} item {number}" + (f" ({name})" if name else ""), data)


def parse_record(record: Record) -> WrittenItem:
    """The record as written.

    Raises:
        BadRecord: A field is missing, unknown or of the wrong kind.
    """
    if isinstance(record.data, Exception):
        raise BadRecord(f"{record.where}: not JSON ({record.data}); correct that line")
    if not isinstance(record.data, dict):
        raise BadRecord(f"{record.where}: an item is a mapping of fields, this is {type(record.data).__name__}")
    try:
        return WrittenItem.model_validate(_without_blanks(record.data))
    except ValidationError as error:
        raise BadRecord(f"{record.where}: {_problem(error)}") from error


def as_draft(
    session: Session, record: Record, folder: Path, author: str, run_id: str | None
) -> tuple[WrittenItem, Draft]:
    """Put a record's media and text together.

    Raises:
        BadRecord: As `parse_record`; or media not in the library; or the parts contradict each other.
    """
    written = parse_record(record)
    materials = {name: _material(session, record, folder, name, value) for name, value in written.media.items()}
    try:
        question = question_of(written, {name: material.media_ref for name, material in materials.items()})
    except BadRecord as error:
        raise BadRecord(f"{record.where}: {error}") from error
    ids = {name: material.id for name, material in materials.items()}
    return written, Draft(question, ids, author, {"evidence": written.evidence} if written.evidence else {}, run_id)


def question_of(written: WrittenItem, media: Mapping[str, MediaRef]) -> Question:
    """The question that was written, with its media by placeholder.

    Raises:
        BadRecord: Its parts contradict each other.
    """
    try:
        _check_graders(written)
        return _question(written, media)
    except ValidationError as error:
        raise BadRecord(_problem(error)) from error
    except InterplayError as error:
        raise BadRecord(str(error)) from error


def _question(written: WrittenItem, media: Mapping[str, MediaRef]) -> Question:
    return Question(
        prompt=parse_prompt(written.prompt, media),
        kind=written.kind,
        choices=tuple(Choice(text=text) for text in written.choices),
        answer=_answer_key(written),
        steps=tuple(
            Step(
                ask=step.ask,
                points=step.points,
                rubric=step.rubric,
                answer=AnswerKey(accepted=(step.answer, *step.accepted), grader=step.grader, tolerance=step.tolerance),
            )
            for step in written.steps
        ),
        required=frozenset(written.required),
        task_type=load_taxonomy().get(written.task_type).id,
        language=written.language,
        asked_in=written.asked_in,
    )


def _check_graders(written: WrittenItem) -> None:
    """An answer that no rule can read would be asked, paid for, and never graded."""
    if written.kind is QuestionKind.CHOICE and (written.accepted or written.grader or written.tolerance is not None):
        raise BadRecord("'accepted', 'grader' and 'tolerance' are for open answers and steps; remove them")
    named = {"grader": written.grader} | {f"steps.{place}.grader": s.grader for place, s in enumerate(written.steps)}
    for where, grader in named.items():
        if grader is not None and grader not in _usable_graders():
            raise BadRecord(f"{where}: {UnknownName('grader', grader, _usable_graders())}")


@cache
def _usable_graders() -> frozenset[str]:
    """Those that grade an answer by a key of its own."""
    return frozenset(entry.name for entry in GRADERS if isinstance(entry.load(), KeyGrader))


def _answer_key(written: WrittenItem) -> AnswerKey:
    given = [written.answer] if isinstance(written.answer, str) else written.answer
    if written.kind is not QuestionKind.CHOICE:
        return AnswerKey(accepted=(*given, *written.accepted), grader=written.grader, tolerance=written.tolerance)
    if len(written.choices) > MOST_OPTIONS:
        raise BadRecord(f"{len(written.choices)} choices are more than the {MOST_OPTIONS} letters; leave some out")
    return AnswerKey(correct=tuple(_place(one, written.choices) for one in given))


def _place(answer: str, choices: list[str]) -> int:
    """The choice that an answer names: by letter, by text, or by both ('B. a tiger')."""
    labels = [choice_label(place) for place in range(len(choices))]
    both = [f"{label}. {text}" for label, text in zip(labels, choices, strict=True)]
    if answer in both:
        return both.index(answer)
    places = {names.index(answer) for names in (labels, choices) if answer in names}
    if not places:
        raise BadRecord(f"answer {answer!r} is neither a letter ({', '.join(labels)}) nor the text of a choice")
    if len(places) > 1:
        meant = " or ".join(repr(both[place]) for place in sorted(places))
        raise BadRecord(f"answer {answer!r} is the letter of one choice and the text of another; write {meant}")
    return places.pop()


def _material(session: Session, record: Record, folder: Path, name: str, value: str) -> Material:
    sha256 = value.lower() if _is_sha256(value.lower()) else _hash_beside(record, folder, name, value)
    found = session.exec(select(Material).where(col(Material.sha256) == sha256)).first()
    if found is not None and found.modality == Modality.VIDEO and name.startswith("audio_"):
        sound = select(Material).where(col(Material.parent_id) == found.id, Material.modality == Modality.AUDIO)
        found = session.exec(sound).first()
        if found is None:
            raise BadRecord(f"{record.where}: {name}: the video {value} has no sound; name an audio file")
    if found is None:
        raise BadRecord(
            f"{record.where}: {name}: {value} is not in the material library; "
            "run 'interplay material ingest' on it first"
        )
    if found.state != MaterialState.KEPT:
        why = f" ({found.drop_reason})" if found.drop_reason else ""
        raise BadRecord(f"{record.where}: {name}: material {value} is {found.state.value}{why}; choose another one")
    return found


def _hash_beside(record: Record, folder: Path, name: str, value: str) -> str:
    try:
        file = (folder / value).resolve()
        if not file.is_relative_to(folder.resolve()):
            raise BadRecord(
                f"{record.where}: {name}: {value} lies outside the item file's folder; "
                "copy it there, or give its sha256"
            )
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, RuntimeError, ValueError) as error:  # of a file; of links in a circle; of a NUL in its name
        why = getattr(error, "strerror", None) or error
        raise BadRecord(f"{record.where}: {name}: cannot read {value!r} ({why}); correct the path") from error


def _is_sha256(value: str) -> bool:
    return len(value) == 64 and all(letter in "0123456789abcdef" for letter in value)


def _json_or_error(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_each_key_once)
    except (ValueError, RecursionError) as error:
        return error


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(f"the field {key!r} is given twice")
    return dict(pairs)


class _AsWritten(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML in which plain values stay text: else `yes`, `on`, `010`, `1:30` and `4.50` become other things."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own way
        first: [(tag, pattern) for tag, pattern in resolvers if tag.endswith((":null", ":merge"))]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """A mapping, in which no key may stand twice."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for place, key in enumerate(keys):
            if key in keys[:place]:
                at = node.value[place][0].start_mark
                raise yaml.constructor.ConstructorError(None, None, f"the field {key!r} is given twice", at)
        return dict(super().construct_mapping(node, deep=deep))


def _yaml_or_error(text: str) -> Any:
    try:
        return yaml.load(text, _AsWritten)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return error


def _without_blanks(data: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that were left blank are as if they were not there."""
    kept = {key: value for key, value in data.items() if value is not None}
    if isinstance(kept.get("steps"), list):
        kept["steps"] = [_without_blanks(step) if isinstance(step, dict) else step for step in kept["steps"]]
    return kept


def _as_text(value: Any) -> Any:
    # JSON has numbers and truth values; authors mean the text.
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def _as_numbers(value: Any) -> Any:
    """Evidence holds times and places: in it, what reads as a number is one."""
    if isinstance(value, dict):
        return {key: _as_numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_numbers(one) for one in value]
    return json.loads(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def _problem(error: ValidationError) -> str:
    first = error.errors()[0]
    steps = [str(step) for step in first["loc"]]
    where = ".".join(steps)
    if first["type"] == "extra_forbidden":
        fields = WrittenStep.model_fields if steps[0] == "steps" else WrittenItem.model_fields
        inside = f"{'.'.join(steps[:-1])}: " if len(steps) > 1 else ""
        return f"{inside}{UnknownName('field', steps[-1], fields)}"
    if first["type"] == "missing":
        return f"field {where!r} is missing; add it"
    if first["type"] in {"string_pattern_mismatch", "string_too_long"} and where in _MENDS:
        return f"{where} {first['input']!r} cannot be used; {_MENDS[where]}"
    message = in_words(first)
    return f"{where}: {message}" if where else message
