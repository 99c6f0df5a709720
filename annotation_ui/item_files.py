"""Item files: YAML or JSONL records as authors write them, read into questions."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from sqlmodel import Session, col, select

from core.content import MisplacedMedia, Modality, parse_prompt
from core.errors import InterplayError
from core.question import AnswerKey, Choice, Question, QuestionKind, Step, choice_label
from core.taxonomy import load_taxonomy
from warehouse.items import Draft
from warehouse.tables import Material, MaterialState


class UnreadableItemFile(InterplayError):
    """A file that is not a list of records."""


class BadRecord(InterplayError):
    """A record that is no question; the text says which, where, and how to mend it."""


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid")


class WrittenStep(_Written):
    """A step as authors write it; `accepted` are further answers that count."""

    ask: str
    points: int
    answer: str
    accepted: list[str] = []
    grader: str | None = None
    tolerance: float | None = None
    rubric: str | None = None

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

    name: str = Field(pattern=r"^[\w.-]{1,128}$")
    task_type: str
    language: str
    kind: QuestionKind
    prompt: str = Field(min_length=1)
    media: dict[str, str]
    choices: list[str] = []
    answer: str | list[str] = []
    accepted: list[str] = []
    grader: str | None = None
    tolerance: float | None = None
    steps: list[WrittenStep] = []
    required: list[Modality]
    asked_in: Literal["text", "audio"] = "text"
    twin_group: str | None = None
    evidence: dict[str, Any] = {}

    @field_validator("choices", "accepted", mode="before")
    @classmethod
    def _all_text(cls, value: Any) -> Any:
        return [_as_text(one) for one in value] if isinstance(value, list) else value

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
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableItemFile(f"cannot read {file}: {error}; save it as UTF-8 text") from error
    if file.suffix == ".jsonl":
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield Record(f"{file.name} line {number}", _json_or_error(line))
        return
    if file.suffix not in {".yaml", ".yml", ".json"}:
        raise UnreadableItemFile(f"{file} is neither .yaml, .json nor .jsonl; rename it or convert it")
    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UnreadableItemFile(f"{file} is not valid YAML: {' '.join(str(error).split())}") from error
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
    if isinstance(record.data, json.JSONDecodeError):
        raise BadRecord(f"{record.where}: not JSON ({record.data}); correct that line")
    if not isinstance(record.data, dict):
        raise BadRecord(f"{record.where}: an item is a mapping of fields, this is {type(record.data).__name__}")
    try:
        return WrittenItem.model_validate(record.data)
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
        question = _question(written, materials)
    except MisplacedMedia as error:
        raise BadRecord(f"{record.where}: {error}") from error
    except ValidationError as error:
        raise BadRecord(f"{record.where}: {_problem(error)}") from error
    except InterplayError as error:
        raise BadRecord(f"{record.where}: {error}") from error
    ids = {name: material.id for name, material in materials.items()}
    return written, Draft(question, ids, author, {"evidence": written.evidence} if written.evidence else {}, run_id)


def _question(written: WrittenItem, materials: Mapping[str, Material]) -> Question:
    media = {name: material.media_ref for name, material in materials.items()}
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


def _answer_key(written: WrittenItem) -> AnswerKey:
    given = [written.answer] if isinstance(written.answer, str) else written.answer
    if written.kind is not QuestionKind.CHOICE:
        return AnswerKey(accepted=(*given, *written.accepted), grader=written.grader, tolerance=written.tolerance)
    labels = [choice_label(place) for place in range(len(written.choices))]
    correct: list[int] = []
    for one in given:
        if one in labels:
            correct.append(labels.index(one))
        elif one in written.choices:
            correct.append(written.choices.index(one))
        else:
            raise BadRecord(f"answer {one!r} is neither a letter ({', '.join(labels)}) nor the text of a choice")
    return AnswerKey(correct=tuple(sorted(set(correct))))


def _material(session: Session, record: Record, folder: Path, name: str, value: str) -> Material:
    sha256 = value if _is_sha256(value) else _hash_beside(record, folder, name, value)
    found = session.exec(select(Material).where(col(Material.sha256) == sha256)).first()
    if found is not None and found.modality == Modality.VIDEO and name.startswith("audio_"):
        found = session.exec(select(Material).where(col(Material.parent_id) == found.id)).first()
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
    file = (folder / value).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise BadRecord(
            f"{record.where}: {name}: {value} lies outside the item file's folder; copy it there, or give its sha256"
        )
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise BadRecord(f"{record.where}: {name}: cannot read {value} ({error.strerror}); correct the path") from error


def _is_sha256(value: str) -> bool:
    return len(value) == 64 and all(letter in "0123456789abcdef" for letter in value)


def _json_or_error(line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        return error


def _as_text(value: Any) -> Any:
    # YAML reads `answer: 4` and `answer: yes` as a number and a truth value; authors mean the text.
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int | float) else value


def _problem(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(step) for step in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        return f"unknown field {where!r}; known: {', '.join(WrittenItem.model_fields)}"
    if first["type"] == "missing":
        return f"field {where!r} is missing; add it"
    return f"{where}: {message}" if where else message
