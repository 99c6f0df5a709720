"""An audit as a sheet for people who work in a spreadsheet, and what they filled in."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlmodel import Session

from core.content import Modality
from core.errors import InterplayError
from core.ids import Clock, utc_now
from core.separated import SAVE_AS_UTF8, delimiter_of
from qc.audit.findings import BadFinding, Desk, Said, open_items, shown_items
from warehouse.people import get_user
from warehouse.spreadsheets import neutral, plain
from warehouse.tables import AuditAnswer, AuditFinding, AuditSample

SHOWN = ("id", "question", "choices", "answer", "media")
FILLED = ("answer_right", "needs_all", "solvable_without", "comment")
# Words that people may write, in both languages.
ANSWERS: Mapping[str, AuditAnswer] = {
    **{answer.value: answer for answer in AuditAnswer},
    "是": AuditAnswer.YES,
    "否": AuditAnswer.NO,
    "不确定": AuditAnswer.UNSURE,
}
MODALITIES: Mapping[str, Modality] = {
    **{modality.value: modality for modality in Modality},
    "文字": Modality.TEXT,
    "图片": Modality.IMAGE,
    "音频": Modality.AUDIO,
    "视频": Modality.VIDEO,
}
_BETWEEN = re.compile(r"[\s,;、，；+]+")
_MOST_TOLD = 10
# A sheet with more of them is another one's.
_MOST_PROBLEMS = 100
_T = TypeVar("_T")


class BadSheet(InterplayError):
    """A sheet that cannot be read or taken; nothing of it is. `problems` holds what is wrong, line by line."""

    def __init__(self, file: Path, problems: Sequence[str]) -> None:
        told = "; ".join(problems[:_MOST_TOLD])
        more = f"; and {len(problems) - _MOST_TOLD} more" if len(problems) > _MOST_TOLD else ""
        super().__init__(f"{file}: {told}{more}; nothing was stored")
        self.problems = list(problems)


class SheetExists(InterplayError):
    """A sheet would be written over a file, which somebody may have filled in."""


def write_sheet(session: Session, sample: AuditSample, file: Path, auditor: str | None = None) -> int:
    """Write what is open (to an auditor) as CSV in UTF-8 with a byte order mark, by which Excel knows it.

    Returns how many items stand in it.

    Raises:
        UnknownName, NotAllowed: The auditor is no user, or may not audit.
        SheetExists: The file is there already.
    """
    user = None if auditor is None else get_user(session, auditor)
    shown = shown_items(session, sample)
    rows = [_cells(item.qid, shown[item.qid]) for item in open_items(session, sample, user)]
    try:
        with file.open("x", encoding="utf-8-sig", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([*SHOWN, *FILLED])
            writer.writerows([*map(neutral, row), *("" for _ in FILLED)] for row in rows)
    except FileExistsError as error:
        raise SheetExists(f"{file} is there already; move it away, or choose another name") from error
    return len(rows)


def read_sheet(
    session: Session, sample: AuditSample, file: Path, auditor: str, clock: Clock = utc_now
) -> list[AuditFinding]:
    """Store what an auditor filled in, all lines or none; a line with nothing filled in stays open.

    Reading it again stores nothing new. Lines are numbered as a spreadsheet numbers its rows.

    Raises:
        UnknownName, NotAllowed: The auditor is no user, or may not audit.
        BadSheet: With each line that cannot be taken, its column, and what is allowed there.
    """
    desk = Desk(session, sample, get_user(session, auditor), clock)
    problems: list[str] = []
    findings: list[AuditFinding] = []
    seen: dict[str, int] = {}
    for number, row in _lines(file):
        try:
            said = _said(row)
            if said is None:
                continue
            before = seen.setdefault(row["id"], number)
            if before != number:
                raise BadFinding(f"column id: {row['id']!r} stands on line {before} already; keep one of the two")
            findings.append(desk.record(row["id"], said))
        except InterplayError as error:
            problems.append(f"line {number}: {error}")
            if len(problems) == _MOST_PROBLEMS:
                problems.append(f"the lines after line {number} were not read")
                break
    if problems:
        raise BadSheet(file, problems)
    return findings


def _cells(qid: str, shown: Mapping[str, Any]) -> list[str]:
    return [qid, shown["question"], "\n".join(shown["choices"]), shown["answer"], "\n".join(shown["media"])]


def _lines(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            head = stream.readline()
            delimiter = delimiter_of(head)
            names = [cell.strip() for cell in next(csv.reader([head], delimiter=delimiter), [])]
            missing = [name for name in ("id", *FILLED) if name not in names]
            if missing:
                raise BadSheet(file, [f"line 1: there is no column {', '.join(missing)}; keep the head as it was"])
            for number, cells in enumerate(csv.reader(stream, delimiter=delimiter), start=2):
                padded = [*cells, *("" for _ in names)]
                yield number, {name: plain(cell) for name, cell in zip(names, padded, strict=False)}
    except UnicodeDecodeError as error:
        raise BadSheet(file, [f"it is not in UTF-8 ({error.reason}); {SAVE_AS_UTF8}"]) from error
    except (OSError, csv.Error) as error:
        raise BadSheet(file, [f"it cannot be read ({error})"]) from error


def _said(row: Mapping[str, str]) -> Said | None:
    filled = {name: row[name].strip() for name in FILLED}
    if not any(filled.values()):
        return None
    without = [one for one in _BETWEEN.split(filled["solvable_without"]) if one]
    return Said(
        _one_of("answer_right", filled["answer_right"], ANSWERS),
        _one_of("needs_all", filled["needs_all"], ANSWERS),
        frozenset(_one_of("solvable_without", one, MODALITIES) for one in without),
        filled["comment"] or None,
    )


def _one_of(column: str, text: str, known: Mapping[str, _T]) -> _T:
    try:
        return known[text.lower()]
    except KeyError:
        raise BadFinding(
            f"column {column}: {text!r} is none of {', '.join(known)}" if text else f"column {column}: is empty"
        ) from None
