"""Captions as JSON lines, for people who edit many of them in a program of their own."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError
from sqlmodel import Session

from core.errors import InterplayError, first_problem
from warehouse.caption_search import get_caption, get_material
from warehouse.captions import accept_caption, edit_caption, standing_caption, write_caption
from warehouse.people import NotAllowed
from warehouse.tables import Caption, CaptionKind, CaptionState, Material, User


class BadCaptionFile(InterplayError):
    """A file of captions that cannot be read or taken; nothing of it is."""


class CaptionLine(BaseModel):
    """One line. `text` is what people edit; without `id` it is new words for `material` in `language`.

    A line without `id` whose text is empty is one that nobody has filled in yet. The rest is told, and not read back.
    """

    model_config = ConfigDict(extra="forbid")

    id: str | None = None
    material: str | None = None
    language: str | None = None
    text: str
    kind: CaptionKind | None = None
    modality: str | None = None
    state: CaptionState | None = None
    author: str | None = None
    by_person: bool | None = None
    based_on: str | None = None
    items: list[str] = []


@dataclass
class Imported:
    """What became of the lines: edited or newly written, with the words that stood there already, still empty."""

    edited: int = 0
    written: int = 0
    unchanged: int = 0
    blank: int = 0
    accepted: int = 0


def line_of(caption: Caption, material: Material, items: Iterable[str]) -> CaptionLine:
    """A version, as a line."""
    return CaptionLine(
        id=caption.id,
        material=material.sha256,
        language=caption.language,
        text=caption.text,
        kind=caption.kind,
        modality=material.modality,
        state=caption.state,
        author=caption.author,
        by_person=caption.by_person,
        based_on=caption.based_on_id,
        items=list(items),
    )


def write_lines(file: Path, lines: Iterable[CaptionLine]) -> int:
    """Write a file of lines; returns how many.

    Raises:
        BadCaptionFile: It cannot be written, or is there already.
    """
    texts = [json.dumps(line.model_dump(mode="json"), ensure_ascii=False) + "\n" for line in lines]
    try:
        # Never over a file: somebody may have edited it.
        with file.open("x", encoding="utf-8") as stream:
            stream.writelines(texts)
    except FileExistsError as error:
        raise BadCaptionFile(f"{file} is there already; move it away, or choose another name") from error
    except OSError as error:
        raise BadCaptionFile(f"cannot write {file}: {error.strerror}; choose another place") from error
    return len(texts)


def read_lines(file: Path) -> list[tuple[int, CaptionLine]]:
    """The lines of a file with their numbers.

    Raises:
        BadCaptionFile: It cannot be read, or a line is none.
    """
    # Not splitlines: the separators U+2028 and U+0085 may stand inside a JSON text.
    numbered = [(number, one) for number, one in enumerate(read_text(file).split("\n"), start=1) if one.strip()]
    return [(number, _parsed(file, number, one)) for number, one in numbered]


def read_text(file: Path) -> str:
    """The text of a file.

    Raises:
        BadCaptionFile: It cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadCaptionFile(f"cannot read {file}: {error}; it must be text in UTF-8") from error


def import_lines(session: Session, file: Path, user: User, *, accept: bool = False) -> Imported:
    """Take all lines of a file, or none: changed texts become new versions by the user, new words proposals.

    A second import of the same file changes nothing.

    Args:
        session: The transaction.
        file: JSON lines as `write_lines` writes them.
        user: Whose words they are.
        accept: Accept what the lines say, but for versions that were rejected or replaced.

    Raises:
        BadCaptionFile: With the line that cannot be taken, and why.
        NotAllowed: The user's roles do not allow it.
    """
    done = Imported()
    for number, line in read_lines(file):
        try:
            if line.id is None and not line.text.strip():
                done.blank += 1
                continue
            caption = _take(session, line, user, done)
            if accept and caption.state == CaptionState.PROPOSED:
                accept_caption(session, caption.id, user)
                done.accepted += 1
        except NotAllowed:
            raise
        except InterplayError as error:
            raise BadCaptionFile(f"{file}, line {number}: {error}") from error
    return done


def _take(session: Session, line: CaptionLine, user: User, done: Imported) -> Caption:
    known = None if line.id is None else get_caption(session, line.id)
    if known is not None:
        material, language = get_material(session, known.material_id), known.language
    elif line.material is None or line.language is None:
        raise BadCaptionFile("a line without 'id' needs 'material' (its sha256) and 'language'")
    else:
        material, language = get_material(session, line.material), line.language
    standing = standing_caption(session, material, language, line.text)
    if standing is not None:
        done.unchanged += 1
        return standing
    if known is None:
        done.written += 1
        return write_caption(session, material, language, line.text, user)
    if known.text == line.text.strip():
        done.unchanged += 1
        return known
    done.edited += 1
    return edit_caption(session, known.id, line.text, user)


def _parsed(file: Path, number: int, text: str) -> CaptionLine:
    try:
        return CaptionLine.model_validate_json(text)
    except ValidationError as error:
        problem = first_problem(error, CaptionLine.model_fields)
        raise BadCaptionFile(f"{file}, line {number}: {problem}") from error
