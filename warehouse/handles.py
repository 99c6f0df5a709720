"""Rows by what people type of their ids: all of it, or how it begins."""

from collections.abc import Sequence
from typing import Any

from sqlmodel import Session, col, or_, select

from core.errors import InterplayError, UnknownName

_OFFERED = 5


class UnknownId(UnknownName):
    """No row of that kind has an id that begins so; ids are too many to be offered."""

    def __init__(self, kind: str, written: str, shown_by: str) -> None:
        InterplayError.__init__(self, f"no {kind} has an id that begins with {written!r}; '{shown_by}' shows them")


class AmbiguousId(UnknownName):
    """Several rows' ids begin so."""

    def __init__(self, kind: str, written: str, found: Sequence[str]) -> None:
        near = ", ".join(found[:_OFFERED]) + (" and more" if len(found) > _OFFERED else "")
        InterplayError.__init__(self, f"{written!r} begins the ids of several {kind}s ({near}); write more of one")


def whole_id(session: Session, columns: Sequence[Any], written: str, kind: str, shown_by: str) -> str:
    """The id of the only row that has one which is or begins with what was written.

    Args:
        session: Where to look.
        columns: The id, and what stands for it too, as a sha256.
        written: By the user.
        kind: Of the rows, for messages.
        shown_by: The command that lists them.

    Raises:
        UnknownId: There is none.
        AmbiguousId: There are several.
    """
    begins = or_(*(col(column).startswith(written, autoescape=True) for column in columns))
    query = select(columns[0]).where(begins).order_by(columns[0]).limit(_OFFERED + 1)
    found: list[str] = list(session.exec(query)) if written else []
    if not found:
        raise UnknownId(kind, written, shown_by)
    if len(found) > 1:
        raise AmbiguousId(kind, written, found)
    return found[0]
