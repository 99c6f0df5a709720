"""What is to be imported, and what became of it: files, identity, the set's row, the report."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlmodel import Session, select

from core.errors import InterplayError
from core.ids import Clock
from core.provenance import content_hash
from curation.entries import origin_of, printable
from curation.questions.importers.base import BadQuestionFile, BadRecord, QuestionFormat
from curation.questions.sets import forget_set
from warehouse.tables import QuestionSet, Run

EXAMPLES = 5
BLOCK_BYTES = 1 << 20
ARCHIVES = {".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar"}


class ChangedSet(InterplayError):
    """A set of that name was imported from other files, in another format, or with another mapping."""


@dataclass(frozen=True)
class Identity:
    """What names the content of a set: its format, mapping and tables (as digests), but not the media beside them."""

    format: str
    mapping: str | None
    tables: tuple[tuple[str, str], ...]

    @property
    def sha256(self) -> str:
        """All of it in one."""
        return content_hash([self.format, self.mapping, self.tables])

    @property
    def parts(self) -> dict[str, Any]:
        """What a run keeps of it, so that a later one can say what is another."""
        return {"mapping_sha256": self.mapping, "tables_sha256": content_hash([self.format, self.tables])}


@dataclass(frozen=True)
class Wanted:
    """What is to be imported: file or folder, its format, the set's name, and how.

    `media` is the folder that media are named from, else the source's own. `splits` are those to take, () all. `limit`
    is how many questions at most.
    """

    source: Path
    format: str
    name: str
    licence: str | None = None
    media: Path | None = None
    mapping: Path | None = None
    splits: tuple[str, ...] = ()
    limit: int | None = None
    replace: bool = False
    actor: str = "nobody"


@dataclass
class ImportReport:
    """What became of the records. `defaults` are new questions whose task type is only their format's default.

    `copies` repeat a question with turned choices; `bad` counts by reason, `examples` are the first of each.
    """

    name: str
    new: int = 0
    known: int = 0
    copies: int = 0
    other_splits: int = 0
    media: int = 0
    defaults: int = 0
    bad: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    run_id: str | None = None

    def reject(self, where: str, error: BadRecord) -> None:
        """Note a record that is no question."""
        self.bad[error.reason] += 1
        listed = self.examples.setdefault(error.reason, [])
        if len(listed) < EXAMPLES:
            listed.append(printable(f"{where}: {error}"))

    @property
    def summary(self) -> dict[str, Any]:
        """All of it as JSON values."""
        counts = ("new", "known", "copies", "other_splits", "media", "defaults")
        return {
            **{name: getattr(self, name) for name in counts},
            "failed": sum(self.bad.values()),
            "reasons": dict(sorted(self.bad.items())),
            "examples": dict(sorted(self.examples.items())),
        }


def tables_of(source: Path, layout: QuestionFormat) -> tuple[Path, ...]:
    """The tables of a set: the file itself, or all files with the format's first ending that a folder has (or `data/`).

    Raises:
        BadQuestionFile: There is none.
    """
    if source.suffix.lower() in ARCHIVES:
        raise BadQuestionFile(f"{source} is an archive; unpack it, and name the table or the folder in it")
    if source.is_file():
        return (source,)
    if not source.is_dir():
        raise BadQuestionFile(f"{source} does not exist; check the spelling, or the folder you are in")
    for ending in layout.endings:
        for folder in (source, source / "data"):
            found = sorted(one for one in folder.glob("*") if one.suffix.lower() == ending and one.is_file())
            if found:
                return tuple(found)
    raise BadQuestionFile(f"{source} holds no {', '.join(layout.endings)} file; name the table itself")


def identity_of(wanted: Wanted, files: Sequence[Path]) -> Identity:
    """The identity of what is to be imported."""
    tables = tuple((file.name, _digest(file)) for file in files)
    return Identity(wanted.format, _digest(wanted.mapping) if wanted.mapping else None, tables)


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    try:
        with file.open("rb") as stream:
            while block := stream.read(BLOCK_BYTES):
                digest.update(block)
    except OSError as error:
        raise BadQuestionFile(f"{file} cannot be read ({error.strerror}); check the path") from error
    return digest.hexdigest()


def known_set(session: Session, name: str, identity: Identity) -> str | None:
    """The id of the set of that name and content; None where there is none of that name.

    Raises:
        ChangedSet: There is one of that name with another content.
    """
    known = session.exec(select(QuestionSet).where(QuestionSet.name == name)).first()
    if known is not None and known.sha256 != identity.sha256:
        run = session.get(Run, known.run_id)
        before = run.settings.get("tables_sha256") if run else None
        if before == identity.parts["tables_sha256"]:
            raise ChangedSet(
                f"the mapping of the set {known.name!r} has changed since it was imported, and its questions are still "
                "as they were: --replace imports them anew, with the mapping as it is now; or choose another --set"
            )
        raise ChangedSet(
            f"the set {known.name!r} was imported from other files ({known.origin}) or in another format "
            f"({known.format}); choose another --set, or --replace it"
        )
    return known.id if known else None


def open_set(session: Session, wanted: Wanted, identity: Identity, run_id: str, clock: Clock) -> str:
    """The id of the set, which is made where there is none, and made anew where it is to be replaced.

    Raises:
        ChangedSet: As `known_set`.
        SetInUse: It is to be replaced, and something rests on it.
    """
    if wanted.replace and session.exec(select(QuestionSet).where(QuestionSet.name == wanted.name)).first():
        forget_set(session, wanted.name, wanted.actor, clock)
        session.flush()
    if (set_id := known_set(session, wanted.name, identity)) is not None:
        return set_id
    opened = QuestionSet(
        name=wanted.name,
        format=wanted.format,
        origin=origin_of(wanted.source),
        sha256=identity.sha256,
        licence=wanted.licence,
        run_id=run_id,
        created_at=clock(),
    )
    session.add(opened)
    session.flush()
    return opened.id
