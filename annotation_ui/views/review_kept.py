"""What a browser gives back of a review that was being written: only what the page's own fields can hold."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotation_ui.reviewing.desk import MOST_CHARACTERS, MOST_REMARKS
from qc.reasons import REASONS
from warehouse.tables import Decision

_TEXT = re.compile(r"text-(comment-\d+|edit-\d+-.{1,40}|(partial|full)-[0-9a-f-]{36}-\d+)")
_PART, _SUGGEST = re.compile(r"part-\d+"), re.compile(r"suggest-\d+")
_MOST_NAMES = 4 * MOST_REMARKS


def taken_back(given: object, parts: Sequence[str]) -> dict[str, Any]:
    """The values that fields of a review of a question with these parts can take; all else is left out."""
    if not isinstance(given, Mapping) or len(given) > _MOST_NAMES:
        return {}
    return dict(_good(given, parts))


def _good(given: Mapping[Any, Any], parts: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        if not isinstance(name, str):
            continue
        if name == "decision" and value in {one.value for one in Decision}:
            yield name, value
        elif name == "reasons" and isinstance(value, list):
            yield name, [code for code in value if isinstance(code, str) and code in REASONS]
        elif name == "remarks" and isinstance(value, list):
            yield name, [number for number in value if type(number) is int and number > 0][:MOST_REMARKS]
        elif _TEXT.fullmatch(name) and isinstance(value, str):
            yield name, value[:MOST_CHARACTERS]
        elif (_PART.fullmatch(name) and value in parts) or (_SUGGEST.fullmatch(name) and isinstance(value, bool)):
            yield name, value
