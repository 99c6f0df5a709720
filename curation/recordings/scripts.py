"""Scripts: what is to be said, in which language, dialect and role, by how many."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from pydantic import Field as Bounded
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, func, select

from core.errors import InterplayError, UnknownName, first_problem
from core.ids import Clock, utc_now
from core.separated import SAVE_AS_UTF8, decoded, delimiter_of
from warehouse import events
from warehouse.tables import Recording, Script

SPEAKERS_MAX = 20
_Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=128)]
_Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]


class BadScripts(InterplayError):
    """A file of scripts that cannot be read: says file, line, and the mend."""


class ScriptChanged(InterplayError):
    """A script of that name has other words; takes of it were made, or will be, so it never changes."""


class ScriptClosed(InterplayError):
    """A script for which no more takes are wanted."""


class NewScript(BaseModel):
    """One script of a file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: _Name
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, pattern=r"^[^\x00]*$")]
    language: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*$", max_length=16)]
    dialect: _Words | None = None
    role: _Words | None = None
    speakers: Annotated[int, Bounded(ge=1, le=SPEAKERS_MAX)] = 1


@dataclass(frozen=True)
class Listed:
    """A script, and how many takes of it are accepted, refused and undecided."""

    script: Script
    accepted: int
    refused: int
    open: int


@dataclass
class ScriptsAdded:
    """Names of the scripts that are new, and of those that were there already with the same words."""

    added: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)


def read_scripts(file: Path) -> list[NewScript]:
    """Scripts of a CSV or JSONL file: name, text, language, and as wanted dialect, role, speakers.

    Raises:
        BadScripts: It cannot be read, a line is no script, or a name stands there twice.
    """
    readers = {".csv": _csv_rows, ".tsv": _csv_rows, ".jsonl": _jsonl_rows}
    if file.suffix.lower() not in readers:
        raise BadScripts(f"{file}: scripts are a .csv or a .jsonl file; rename or convert it")
    try:
        text = decoded(file.read_bytes())
    except OSError as error:
        raise BadScripts(f"{file}: cannot be read ({error.strerror}); check the path") from error
    except UnicodeDecodeError as error:
        raise BadScripts(f"{file}: not UTF-8 text; {SAVE_AS_UTF8}") from error
    found: dict[str, NewScript] = {}
    for line, row in readers[file.suffix.lower()](file, text):
        try:
            script = NewScript.model_validate(row)
        except ValidationError as error:
            problem = first_problem(error, NewScript.model_fields, "column")
            raise BadScripts(f"{file}, line {line}: {problem}; correct it") from error
        if script.name in found:
            raise BadScripts(f"{file}, line {line}: {script.name!r} stands there a second time; keep one")
        found[script.name] = script
    if not found:
        raise BadScripts(f"{file}: there is no script in it; write one line for each")
    return list(found.values())


def add_scripts(session: Session, scripts: Sequence[NewScript], actor: str, clock: Clock = utc_now) -> ScriptsAdded:
    """Store scripts, in the caller's transaction; those that are there already are left alone.

    Raises:
        ScriptChanged: One of that name says something else; nothing is stored then.
    """
    done = ScriptsAdded()
    for new in scripts:
        of_that_name = select(Script).where(Script.name == new.name)
        held = session.exec(of_that_name).first()
        if held is None:
            script = Script(**new.model_dump(), created_by=actor, created_at=clock())
            try:
                with session.begin_nested():
                    session.add(script)
            except IntegrityError:
                held = session.exec(of_that_name).first()
                if held is None:  # nobody else stored it at this moment: it was something else
                    raise
            else:
                events.record(session, actor, "script", script.id, "create", clock, name=script.name)
        if held is None:
            done.added.append(new.name)
        elif NewScript.model_validate(held.model_dump(include=set(NewScript.model_fields))) == new:
            done.known.append(new.name)
        else:
            raise ScriptChanged(
                f"a script named {new.name!r} is there with other words; give the new one a name of its own"
            )
    return done


def close_script(session: Session, name: str, actor: str, clock: Clock = utc_now) -> Script:
    """Want no more takes of a script; closing it again changes nothing.

    Raises:
        UnknownName: There is none of that name.
    """
    script = get_script(session, name)
    if script.active:
        script.active = False
        session.add(script)
        events.record(session, actor, "script", script.id, "close", clock, name=script.name)
    return script


def get_script(session: Session, name: str) -> Script:
    """The script of that name or id.

    Raises:
        UnknownName: There is none.
    """
    found = session.exec(select(Script).where((col(Script.name) == name) | (col(Script.id) == name))).first()
    if found is None:
        raise UnknownName("script", name, session.exec(select(Script.name)))
    return found


def open_script(session: Session, name: str) -> Script:
    """The script of that name, of which takes are still wanted.

    Raises:
        UnknownName: There is none.
        ScriptClosed: Takes are no longer wanted.
    """
    script = get_script(session, name)
    if not script.active:
        raise ScriptClosed(f"script {script.name!r} is closed; 'interplay script list' shows those that are open")
    return script


def list_scripts(session: Session, only_open: bool = False) -> list[Listed]:
    """Scripts by name, with what became of their takes."""
    query = select(Script).order_by(col(Script.name))
    counted = select(Recording.script_id, Recording.accepted, func.count()).group_by(
        col(Recording.script_id), col(Recording.accepted)
    )
    counts = {(script_id, accepted): count for script_id, accepted, count in session.exec(counted)}
    scripts = session.exec(query.where(col(Script.active)) if only_open else query)
    return [
        Listed(one, counts.get((one.id, True), 0), counts.get((one.id, False), 0), counts.get((one.id, None), 0))
        for one in scripts
    ]


def _csv_rows(file: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(
        io.StringIO(text, newline=""), strict=True, restkey="(further cells)", delimiter=delimiter_of(text)
    )
    try:
        for row in reader:
            # An empty cell says nothing, as a column that is not there.
            yield reader.line_num, {name: value for name, value in row.items() if value not in ("", None)}
    except csv.Error as error:
        raise BadScripts(f"{file}, line {reader.line_num}: not readable as CSV ({error}); check the quotes") from error


def _jsonl_rows(file: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except json.JSONDecodeError as error:
            raise BadScripts(f"{file}, line {number}: not readable as JSON ({error.msg}); correct it") from error
