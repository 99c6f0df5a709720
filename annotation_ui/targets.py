"""How many questions of which kind are wanted: maintainers say it row by row, or with a table that they bring."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from annotation_ui.forms import once
from annotation_ui.labels import MODALITIES, QUESTION_LANGUAGES
from annotation_ui.permissions import Permission, Principal, authorize
from annotation_ui.told import Told
from annotation_ui.words import LANGUAGES, N_, words_in
from core.content import Modality
from core.errors import UnknownName
from core.ids import Clock, utc_now
from core.separated import decoded, delimiter_of
from core.taxonomy import load_taxonomy
from warehouse import events
from warehouse.spreadsheets import plain
from warehouse.tables import CoverageTarget

MOST = 100_000
MOST_ROWS = 2_000
ANY = ""
TEXT_ONLY = Modality.TEXT.value
COLUMNS = ("task_type", "media", "language", "target")
"""Of the table that is saved and brought back; the same in every language of the studio."""

_JOINED = re.compile(r"[+,/&、，＋]|\s+")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_ANY = frozenset({ANY, "any", "all", "*", "任意", "全部"})
_SHOWN, _LONGEST_CODE = 40, 16
_Code = TypeVar("_Code", bound=str)


def _by_any_name(known: Mapping[_Code, str]) -> dict[str, _Code]:
    """Codes by themselves and by their words in every language of the studio."""
    names = {words_in(language)(words).casefold(): code for code, words in known.items() for language in LANGUAGES}
    return names | {str(code): code for code in known}


_MEDIA, _LANGUAGES = _by_any_name(MODALITIES), _by_any_name(QUESTION_LANGUAGES)


class BadTarget(Told):
    """A target that is no count."""

    text = N_("A target is a whole number from 0 to {most}.")


class NoSuchKind(Told):
    """A target for a kind of question that there cannot be."""

    text = N_("There is no such kind of question. Choose its task type, media and language from the lists.")


class BadCount(Told):
    """A row whose target is no count."""

    text = N_("Line {line}: “{value}” is no target. Write a whole number from 0 to {most}.")


class NoTaskType(Told):
    """A row whose task type the taxonomy does not know."""

    text = N_("Line {line}: the taxonomy knows no task type “{value}”.")


class NoMedia(Told):
    """A row whose media are none."""

    text = N_("Line {line}: “{value}” is none of image, audio, video and text. Join several as in “image+audio”.")


class NoLanguage(Told):
    """A row whose language is none."""

    text = N_("Line {line}: “{value}” is no code of a language, such as “zh”.")


class TargetTwice(Told):
    """Two rows that say how many of the same are wanted."""

    text = N_("Two rows set a target for the same kind of question. Keep one of them.")


class TargetChanged(Told):
    """A target that somebody else set since it was looked at."""

    text = N_("Somebody changed these targets meanwhile. Nothing was stored just now; look at them again.")


class NoTable(Told):
    """A file that is no table of targets."""

    text = N_("This file cannot be read as a table with the columns {columns}. Save it as “CSV UTF-8”.")


class TooManyTargets(Told):
    """More rows than anybody would look at."""

    text = N_("A table may have at most {count} rows.")


@dataclass(frozen=True, order=True)
class Shape:
    """A kind of question; what is empty may be any. `media` joins the names of modalities as `audio+image`."""

    task_type: str = ANY
    media: str = ANY
    language: str = ANY

    @property
    def modalities(self) -> frozenset[Modality] | None:
        """The media; None for any."""
        return None if self.media == ANY else frozenset(map(Modality, self.media.split("+"))) - {Modality.TEXT}

    def fits(self, task_type: str, media: str, language: str) -> bool:
        """Whether a question of that kind counts here; `zh` takes in `zh-CN`."""
        asked_in = (ANY, language, language.partition("-")[0])
        return self.task_type in (ANY, task_type) and self.media in (ANY, media) and self.language in asked_in


@dataclass(frozen=True)
class Target:
    """How many of a kind are wanted; 0 takes the target away.

    `seen` is the version that was looked at: 0 where there was none, None to set it whatever it was.
    """

    shape: Shape
    count: int
    seen: int | None = None


@dataclass(frozen=True)
class Stored:
    """How many targets were set or changed, taken away, and left as they were."""

    changed: int = 0
    removed: int = 0
    same: int = 0


def media_code(modalities: frozenset[Modality]) -> str:
    """How a combination of media is stored."""
    return "+".join(sorted(modality.value for modality in modalities - {Modality.TEXT})) or TEXT_ONLY


def read_table(data: bytes) -> list[Target]:
    """Targets of a CSV file, with the columns `COLUMNS`; an empty cell stands for any.

    Raises:
        NoTable, TooManyTargets, NoTaskType, NoMedia, NoLanguage, BadCount: As they say.
    """
    try:
        text = decoded(data)
    except UnicodeDecodeError:
        raise NoTable(columns=", ".join(COLUMNS)) from None
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, restkey="", delimiter=delimiter_of(text))
    try:
        if not {"task_type", "target"} <= set(reader.fieldnames or ()) or not set(reader.fieldnames or ()) <= {
            *COLUMNS
        }:
            raise NoTable(columns=", ".join(COLUMNS))
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error:
        raise NoTable(columns=", ".join(COLUMNS)) from None
    if len(rows) > MOST_ROWS:
        raise TooManyTargets(count=MOST_ROWS)
    return [_read_row(line, row) for line, row in rows if any(isinstance(cell, str) and cell for cell in row.values())]


def targets(session: Session) -> list[CoverageTarget]:
    """All of them, by kind."""
    column = CoverageTarget
    order = (col(column.task_type), col(column.modalities), col(column.language))
    return list(session.exec(select(CoverageTarget).order_by(*order)))


def shape_of(row: CoverageTarget) -> Shape:
    """The kind of question that a stored target is about."""
    return Shape(row.task_type, row.modalities, row.language)


def store_targets(
    session: Session, who: Principal, key: str, wanted: Sequence[Target], clock: Clock = utc_now
) -> Stored:
    """Set targets, all or none; the same form twice is handled once.

    Raises:
        NotAllowed, AccountInactive, BadTarget, NoSuchKind, TargetTwice, TargetChanged, TooManyTargets, FormMisused: As
            they say.
    """
    who = authorize(session, who, Permission.SET_TARGETS)
    if len(wanted) > MOST_ROWS:
        raise TooManyTargets(count=MOST_ROWS)
    if len({one.shape for one in wanted}) < len(wanted):
        raise TargetTwice
    if any(not 0 <= one.count <= MOST for one in wanted):
        raise BadTarget(most=MOST)
    done = Stored()

    def handle() -> str:
        nonlocal done
        done = _store(session, who, wanted, clock)
        return ""

    once(session, who, key, "set targets", handle, clock)
    return done


def _store(session: Session, who: Principal, wanted: Sequence[Target], clock: Clock) -> Stored:
    # In one order, so that two who store at once wait and never deadlock.
    held = select(CoverageTarget).order_by(col(CoverageTarget.id)).with_for_update()
    rows = {shape_of(row): row for row in session.exec(held.execution_options(populate_existing=True))}
    changed = removed = same = 0
    for one in wanted:
        row = rows.get(one.shape)
        before, version = (row.target, row.version) if row else (0, 0)
        if before == one.count:
            same += 1
            continue
        if one.seen not in (None, version):
            raise TargetChanged
        if row is not None and one.count == 0:
            removed += 1
            session.delete(row)
        else:
            changed += 1
            row = _put(session, who, one, row, clock)
        told = vars(one.shape) | {"before": before, "after": one.count}
        events.record(session, who.user_id, "target", row.id, "set", clock, **told)
    session.flush()
    return Stored(changed, removed, same)


def _put(session: Session, who: Principal, one: Target, row: CoverageTarget | None, clock: Clock) -> CoverageTarget:
    if row is None:
        shape = one.shape
        # What stands there already may be of an earlier taxonomy; what is new may not.
        if not _is_possible(shape):
            raise NoSuchKind
        row = CoverageTarget(
            task_type=shape.task_type, modalities=shape.media, language=shape.language, target=0, version=0,
            updated_by=who.user_id,
        )  # fmt: skip
    row.target, row.version, row.updated_by, row.updated_at = one.count, row.version + 1, who.user_id, clock()
    try:
        with session.begin_nested():
            session.add(row)
    except IntegrityError:
        raise TargetChanged from None  # somebody else set it at this moment
    return row


def _is_possible(shape: Shape) -> bool:
    media = [modality for modality in Modality if modality in shape.media.split("+")]
    return (
        shape.task_type in {ANY, *(one.id for one in load_taxonomy().task_types)}
        and shape.media in (ANY, media_code(frozenset(media)))
        and (shape.language == ANY or _is_language(shape.language))
    )


def _is_language(code: str) -> bool:
    return _LANGUAGE.fullmatch(code) is not None and len(code) <= _LONGEST_CODE


def _read_row(line: int, row: Mapping[str, str | None]) -> Target:
    task_type, media, language, count = (plain(row.get(name) or "").strip() for name in COLUMNS)
    shape = Shape(_task_type(line, task_type), _media(line, media), _language(line, language))
    if not (count.isascii() and count.isdecimal() and len(count) < 10 and int(count) <= MOST):
        raise BadCount(line=line, value=count[:_SHOWN], most=MOST)
    return Target(shape, int(count))


def _task_type(line: int, name: str) -> str:
    if name.casefold() in _ANY:
        return ANY
    try:
        return load_taxonomy().get(name).id
    except UnknownName:
        raise NoTaskType(line=line, value=name[:_SHOWN]) from None


def _media(line: int, text: str) -> str:
    if text.casefold() in _ANY:
        return ANY
    names = [name.casefold() for name in _JOINED.split(text) if name]
    if unknown := [name for name in names if name not in _MEDIA]:
        raise NoMedia(line=line, value=unknown[0][:_SHOWN])
    return media_code(frozenset(_MEDIA[name] for name in names))


def _language(line: int, code: str) -> str:
    if code.casefold() in _ANY:
        return ANY
    code = _LANGUAGES.get(code.casefold(), code)
    if not _is_language(code):
        raise NoLanguage(line=line, value=code[:_SHOWN])
    return code
