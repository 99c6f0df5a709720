"""Public questions as an item file with its media and a manifest, ready for `material ingest` and `item import`."""

import csv
import json
import mimetypes
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.content import MediaRef
from core.errors import InterplayError
from core.media.formats import EXTENSIONS
from core.question import AnswerKey, Question, QuestionKind, choice_label
from curation.questions.build import OFFSET_S, SOUND_OF
from warehouse.blobs import BlobStore, write_atomically

ITEMS, MANIFEST, MEDIA = "items.jsonl", "manifest.csv", "media"
_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")
_NAME_CHARACTERS_MAX = 128


class FolderInUse(InterplayError):
    """A folder that is to be written holds files already."""


@dataclass(frozen=True)
class Chosen:
    """A public question that is to be written: its set, its id there, itself, and its labels."""

    set_name: str
    qid: str
    question: Question
    labels: Mapping[str, Any] = field(default_factory=dict)


def item_name(set_name: str, qid: str) -> str:
    """A name that items may have, after the set and the question's id there."""
    return _UNUSUAL.sub("-", f"{set_name}.{qid}")[:_NAME_CHARACTERS_MAX].strip("-.")


def write_item_folder(
    folder: Path,
    questions: Iterable[Chosen],
    licences: Mapping[str, str | None],
    blobs: BlobStore,
) -> int:
    """Write the folder and return how many questions it holds.

    Args:
        folder: New or empty.
        questions: What it is to hold.
        licences: By set, for the manifest.
        blobs: Where the media are.

    Raises:
        FolderInUse: There are files in it.
        MissingBlob, DamagedBlob: A medium cannot be read.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FolderInUse(f"{folder} holds files already; name a new or an empty folder")
    (folder / MEDIA).mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    names: set[str] = set()
    sources: dict[str, list[str]] = {}
    for one in questions:
        question = one.question
        files = {part.name: f"{MEDIA}/{_file_name(part.media)}" for part in question.media}
        for part in question.media:
            if files[part.name] not in sources:
                write_atomically(folder / files[part.name], blobs.get(part.media.sha256))
            sources.setdefault(files[part.name], [one.set_name, licences.get(one.set_name) or "", "", ""])
        for name, film in _films(one):
            if not sources[files[name]][2]:
                sources[files[name]][2:] = [files[film], str(one.labels.get(f"{name}{OFFSET_S}", ""))]
        name = item_name(one.set_name, one.qid)
        if name in names:  # ids that differ in other characters than names may have, or at their ends
            name = f"{name[: _NAME_CHARACTERS_MAX - 13]}-{question.content_hash[:12]}"
        names.add(name)
        lines.append(json.dumps(_document(name, question, files), ensure_ascii=False))
    write_atomically(folder / ITEMS, "".join(f"{line}\n" for line in lines).encode())
    _write_manifest(folder / MANIFEST, sources)
    return len(lines)


def _document(name: str, question: Question, files: Mapping[str, str]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": name,
        "task_type": question.task_type,
        "language": question.language,
        "kind": question.kind.value,
        "prompt": question.prompt_text,
        "media": dict(files),
        "required": sorted(question.required),
    }
    if question.asked_in != "text":
        document["asked_in"] = question.asked_in
    if question.kind is QuestionKind.CHOICE:
        letters = [choice_label(place) for place in question.answer.correct]
        document |= {"choices": [choice.text for choice in question.choices]}
        document["answer"] = letters[0] if len(letters) == 1 else letters
    elif question.kind is QuestionKind.OPEN:
        document |= _key(question.answer)
    else:
        document["steps"] = [
            {"ask": step.ask, "points": step.points, **_key(step.answer)}
            | ({"rubric": step.rubric} if step.rubric else {})
            for step in question.steps
        ]
    return document


def _key(key: AnswerKey) -> dict[str, Any]:
    found: dict[str, Any] = {"answer": key.accepted[0]}
    if key.accepted[1:]:
        found["accepted"] = list(key.accepted[1:])
    if key.grader:
        found["grader"] = key.grader
    if key.tolerance is not None:
        found["tolerance"] = key.tolerance
    return found


def _file_name(ref: MediaRef) -> str:
    endings = [ending for ending, types in EXTENSIONS.items() if ref.media_type in types]
    return f"{ref.sha256[:24]}{endings[0] if endings else mimetypes.guess_extension(ref.media_type) or ''}"


def _films(chosen: Chosen) -> list[tuple[str, str]]:
    """Each sound of a question that was taken out of a film of it, with that film."""
    names = [part.name for part in chosen.question.media]
    return [(name, str(chosen.labels[place])) for name in names if (place := f"{name}{SOUND_OF}") in chosen.labels]


def _write_manifest(file: Path, sources: Mapping[str, Sequence[str]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["path", "source", "licence", "sound_of", "offset_s"])
        writer.writerows([path, *told] for path, told in sorted(sources.items()))
