"""Fields of a record as clean values: text, numbers, lists, labels; what is missing is None."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from curation.questions.importers.base import BadRecord, Label

LONGEST_TEXT = 100_000
LONGEST_LABEL = 500
"""Characters. What is longer is no label: captions, explanations, whole queries."""


def text_of(value: Any, name: str) -> str | None:
    """A value as text without blanks around it; None for what is missing, blank, or not a number (NaN).

    Raises:
        BadRecord: It is no text, too long, or has characters that no database keeps.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)  # tables with holes hold whole numbers as 3.0
    if not isinstance(value, str | int | float):
        raise BadRecord("wrong_type", f"{name} is {type(value).__name__}, where text is needed")
    text = str(value).strip()
    if len(text) > LONGEST_TEXT:
        raise BadRecord("too_long", f"{name} has {len(text)} characters, more than {LONGEST_TEXT}")
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise BadRecord("broken_text", f"{name} holds characters that are none (NUL, or half of a pair)")
    return text or None


def needed(data: Mapping[str, Any], name: str) -> str:
    """A field's text.

    Raises:
        BadRecord: It is missing, or as `text_of`.
    """
    text = text_of(data.get(name), name)
    if text is None:
        raise BadRecord("missing_field", f"{name} is missing")
    return text


def first_of(data: Mapping[str, Any], *names: str) -> str | None:
    """The text of the first field that is there."""
    return next((text for name in names if (text := text_of(data.get(name), name)) is not None), None)


def texts_of(value: Any, name: str) -> tuple[str, ...]:
    """A list's texts; a text that is a list in JSON is read. () for what is missing.

    Raises:
        BadRecord: It is no list, or an entry is empty or no text.
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise BadRecord("wrong_type", f"{name} begins like a list, but cannot be read as JSON") from error
    if value is None or (isinstance(value, float) and math.isnan(value)) or value == "":
        return ()
    if not isinstance(value, list | tuple):
        raise BadRecord("wrong_type", f"{name} is {type(value).__name__}, where a list is needed")
    texts = [text_of(one, name) for one in value]
    if None in texts:
        raise BadRecord("empty_choice", f"{name} has an empty entry at place {texts.index(None) + 1}")
    return tuple(text for text in texts if text is not None)


def choices_of(data: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """Choices that have a field each, of which the last ones may be empty; () where all are.

    Raises:
        BadRecord: One is empty before one that is not: letters and numbers would mean others. Or as `text_of`.
    """
    held = [text_of(data.get(name), name) for name in names]
    while held and held[-1] is None:
        held.pop()
    if None in held:
        raise BadRecord("empty_choice", f"{names[held.index(None)]} is empty, but {names[len(held) - 1]} is not")
    return tuple(choice for choice in held if choice is not None)


def labels_of(
    data: Mapping[str, Any], leave_out: Iterable[str] = (), common: Mapping[str, str] | None = None
) -> dict[str, Label]:
    """All of a record's short texts and numbers under the set's own names, lists as `a; b`.

    Args:
        data: The record.
        leave_out: Names that are the question itself.
        common: One of our names (category, ability, difficulty, subset, source, split) to the set's; it is added where
            the set has no field of that name.

    Raises:
        BadRecord: As `text_of`.
    """
    hidden = set(leave_out)
    labels: dict[str, Label] = {}
    for name, value in data.items():
        if name not in hidden and (label := _label(value, name)) is not None and text_of(name, "a field's name"):
            labels[name] = label
    for ours, theirs in (common or {}).items():
        if theirs in labels:
            labels.setdefault(ours, labels[theirs])
    return labels


def _label(value: Any, name: str) -> Label | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        value = "; ".join(value)
    if not isinstance(value, str) or len(value) > LONGEST_LABEL:
        return None
    return text_of(value, name)
