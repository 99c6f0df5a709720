"""Mistakes that a user can make and mend: one class a mistake, one line of text each."""

import difflib
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError


class InterplayError(Exception):
    """Base of every mistake that a user can mend: the CLI prints its text as one line and exits with code 2.

    The text says what is wrong, where, and how to mend it. Anything that is not an `InterplayError` is a bug and shows
    its traceback.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses build their text from other arguments; a worker's error must arrive whole all the same.
        return _restore, (type(self), self.args, self.__dict__)


class UnknownName(InterplayError):
    """A name that no registry, taxonomy or project knows; the text offers the nearest known names."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(repr(match) for match in near)}?" if near else f"known: {_shorten(names)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")


class MissingExtra(InterplayError):
    """A feature whose optional dependencies are not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the {extra!r} extra: pip install 'interplay[{extra}]'")


def first_problem(error: ValidationError, known: Iterable[str] = (), kind: str = "field") -> str:
    """What pydantic found first, on one line: where, and what; `known` are offered for an unknown field of the top."""
    first = error.errors()[0]
    where = ".".join(str(step) for step in first["loc"])
    if first["type"] == "extra_forbidden" and known and len(first["loc"]) == 1:
        return f"unknown {kind} {where!r}; known: {', '.join(sorted(known))}"
    message = " ".join(first["msg"].removeprefix("Value error, ").split())
    return f"{where}: {message}" if where else message


def _restore(kind: type[InterplayError], arguments: tuple[Any, ...], state: dict[str, Any]) -> InterplayError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(state)
    return error


def _shorten(names: list[str], most: int = 12) -> str:
    if not names:
        return "none"
    tail = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + tail
