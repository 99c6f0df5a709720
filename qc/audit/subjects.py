"""What is audited: a release of the project, the folder of an exported one, or a file of any benchmark's questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlmodel import col, select

from core.errors import InterplayError
from core.provenance import content_hash
from core.question import Question, QuestionKind, choice_label
from qc.audit.question_files import read_questions
from warehouse.audits import content_sha256
from warehouse.database import portions
from warehouse.release.manifest import ManifestRow
from warehouse.release.opened import open_export
from warehouse.release.records import get_release, members_of
from warehouse.tables import Item, ItemRevision
from warehouse.workspace import Workspace


class NoSubject(InterplayError):
    """A name that is neither a release nor a place on the disk."""


@dataclass(frozen=True)
class Member:
    """A question of a subject: a revision of this project, or what it shows.

    `shown` holds `question`, `choices`, `answer` and `media` for people to read; nothing where there is a revision.
    """

    qid: str
    shown: dict[str, Any] = field(default_factory=dict)
    revision_id: str | None = None


@dataclass(frozen=True)
class Subject:
    """A set of questions; `sha256` names its content, whatever the set is called and in whatever order it stands."""

    name: str
    sha256: str
    members: Sequence[Member] = field(repr=False)
    release_id: str | None = None


def open_subject(
    workspace: Workspace, name: str, version: str | None = None, columns: Mapping[str, str] | None = None
) -> Subject:
    """Open what is called so: `NAME` and a version, `NAME@VERSION`, a folder that was exported, or a file of questions.

    Raises:
        UnknownName: No such release.
        NoSubject: It is none of these.
        NoExport, DamagedExport: The folder holds no export, or a damaged one.
        UnreadableQuestions, MissingColumns, DoubleId: As `read_questions`.
    """
    place = Path(name)
    if version is not None:
        return _release(workspace, name, version)
    if place.is_dir():
        return _export(workspace, place)
    if place.is_file():
        questions = read_questions(place, columns)
        members = [Member(qid, shown) for qid, shown in sorted(questions.items())]
        return Subject(place.name, content_hash([[one.qid, one.shown] for one in members]), members)
    release, at, version = name.rpartition("@")
    if not at:
        raise NoSubject(
            f"{name!r} is no file and no folder; write a release as NAME VERSION, or the path of a file or an export"
        )
    return _release(workspace, release, version)


def shown_of(question: Question) -> dict[str, Any]:
    """A question as people read it; media by placeholder and sha256."""
    asks = [f"{place}. {step.ask} ({step.points})" for place, step in enumerate(question.steps, start=1)]
    return {
        "question": "\n".join([question.prompt_text, *asks]),
        "choices": [choice.text for choice in question.choices],
        "answer": _answer(question),
        "media": [f"{part.name} sha256 {part.media.sha256}" for part in question.media],
    }


def _answer(question: Question) -> str:
    match question.kind:
        case QuestionKind.CHOICE:
            return "; ".join(
                f"{choice_label(index)}: {question.choices[index].text}" for index in question.answer.correct
            )
        case QuestionKind.OPEN:
            return " / ".join(question.answer.accepted)
        case QuestionKind.MULTI_STEP:
            keys = [" / ".join(step.answer.accepted) for step in question.steps]
            return "\n".join(f"{place}. {key}" for place, key in enumerate(keys, start=1))


def _release(workspace: Workspace, name: str, version: str) -> Subject:
    with workspace.database.reading() as session:
        release = get_release(session, name, version)
        held = members_of(session, release)
    members = [Member(one.item.name, revision_id=one.revision.id) for one in held]
    sha256 = content_sha256(one.revision.content_hash for one in held)
    return Subject(f"{name} {version}", sha256, members, release.id)


def _export(workspace: Workspace, folder: Path) -> Subject:
    manifest = open_export(folder).manifest
    known = _known_revisions(workspace, manifest.rows)
    members = [
        Member(row.qid, revision_id=known[row.qid, row.revision])
        if (row.qid, row.revision) in known
        else Member(row.qid, shown_of(row.question))
        for row in manifest.rows
    ]
    return Subject(manifest.title, content_sha256(row.revision for row in manifest.rows), members)


def _known_revisions(workspace: Workspace, rows: Sequence[ManifestRow]) -> dict[tuple[str, str], str]:
    """Revisions that this project wrote itself, by qid and content: their authors must not audit them here either."""
    found: dict[tuple[str, str], str] = {}
    query = select(Item.name, ItemRevision.content_hash, ItemRevision.id).join(
        ItemRevision, col(ItemRevision.item_id) == col(Item.id)
    )
    with workspace.database.reading() as session:
        for names in portions([row.qid for row in rows]):
            for name, sha256, revision_id in session.exec(query.where(col(Item.name).in_(names))):
                found[name, sha256] = revision_id
    return found
