"""Mistakes that a user can make and mend: one class a mistake, one line of text each."""

import difflib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails


class InterplayError(Exception):
    """Base of every mistake that a user can mend: the CLI prints its text as one line and exits with code 2.

    The text says what is wrong, where, and how to mend it. Anything that is not an `InterplayError` is a bug and shows
    its traceback.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses build their text from other arguments; a worker's error must arrive whole all the same.
        return _restore, (type(self), self.args, self.__dict__)


class UnknownName(InterplayError):
    """A name that no registry, taxonomy or project knows; the text offers the nearest known names.

    `listed_by` is the command that lists all of them, where there may be more than fit the text.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], listed_by: str | None = None) -> None:
        listed = f"; '{listed_by}' lists them" if listed_by else ""
        super().__init__(f"unknown {kind} {name!r}; {nearest(name, known)}{listed}")


class MissingExtra(InterplayError):
    """A feature whose optional dependencies are not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the {extra!r} extra: pip install 'interplay[{extra}]'")


def nearest(name: str, known: Iterable[str], otherwise: str = "known") -> str:
    """The names that a misspelt one is likely to mean, as a question; else some of all, after `otherwise`."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else f"{otherwise}: {_shorten(names)}"


def first_problem(error: ValidationError, known: Iterable[str] = (), kind: str = "field") -> str:
    """What is wrong first, on one line: where, and what; unknown fields before all, for the others may follow from one.

    `known` are offered for an unknown field of the top.
    """
    problems = error.errors()
    first = next((one for one in problems if one["type"] == "extra_forbidden"), problems[0])
    where = ".".join(str(step) for step in first["loc"])
    if first["type"] == "extra_forbidden" and known and len(first["loc"]) == 1:
        return f"unknown {kind} {where!r}; {nearest(where, known)}"
    message = in_words(first)
    return f"{where}: {message}" if where else message


def in_words(problem: ErrorDetails) -> str:
    """What pydantic found, for people who know no Python."""
    kind, message = problem["type"], " ".join(problem["msg"].removeprefix("Value error, ").split())
    if kind in _MISTAKES:
        return _MISTAKES[kind]
    if kind.startswith("string_too_short"):
        return "must not be empty"
    wanted = next((words for start, words in _WANTED.items() if kind.startswith(start)), None)
    if wanted is None:
        wanted = message.removeprefix("Input should be ") if message.startswith("Input should be ") else None
    return message if wanted is None else f"must be {wanted}, and is {_shown(problem['input'])}"


_MISTAKES = {"missing": "is missing", "extra_forbidden": "no such field is known"}
_WANTED = {
    "int_": "a whole number",
    "float_": "a number",
    "finite_number": "a number",
    "bool_": "true or false",
    "string_type": "text",
    "string_unicode": "text",
    "string_sub_type": "text",
    "list_type": 'a list, as ["one", "two"]',
    "tuple_type": 'a list, as ["one", "two"]',
    "set_type": 'a list, as ["one", "two"]',
    "frozen_set_type": 'a list, as ["one", "two"]',
    "dict_type": "names with their values",
    "mapping_type": "names with their values",
    "model_type": "names with their values",
    "dataclass_type": "names with their values",
}
"""By how pydantic's types of mistakes begin."""
_SHOWN_CHARACTERS = 60


def _shown(value: Any) -> str:
    """Not what tables hold, which may be keys of services."""
    if isinstance(value, str) or not isinstance(value, Collection):
        text = json.dumps(value, ensure_ascii=False, default=str)
        return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
    return "a table" if isinstance(value, Mapping) else "a list"


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
