"""What stands side by side for a reviewer: our texts and theirs, with the stretches that they share."""

from collections.abc import Iterable, Sequence
from typing import Any

from core.provenance import content_hash
from curation.contamination.compare import Overlap
from curation.contamination.texts import Document, Field

MATCHED = "matched"
"""Where evidence says what of ours matched: a hash, equal as long as it is the same."""
LONGEST = 2_000
"""Characters of a field that are kept; of a longer one, those around what is shared."""
_AROUND = 200


def side_by_side(overlap: Overlap, ours: Document, theirs: Document | None) -> dict[str, Any]:
    """Evidence of a match, as JSON: `ours` and `theirs` are fields with a label, a text and its shared stretches.

    `theirs` is None where the index holds no texts. Stretches are [first, end) in characters. `matched` is a hash of
    our stretches; of all our text where a match has none, as neighbours in meaning.
    """
    their_positions = overlap.theirs
    if theirs is not None and overlap.kind == "options":
        their_positions = frozenset(one.position for one in theirs.tokens if one.field >= len(theirs.fields))
    return {
        "measures": dict(overlap.measures),
        "ours": fields_with(ours, overlap.ours),
        "theirs": None if theirs is None else fields_with(theirs, their_positions),
        MATCHED: _matched(ours, overlap.ours or {token.position for token in ours.tokens}),
    }


def fields_with(document: Document, positions: Iterable[int]) -> list[dict[str, Any]]:
    """The fields of a document, with the stretches of the tokens at these positions."""
    return [_field(one, shared) for one, shared in zip(document.all_fields, _spans(document, positions), strict=True)]


def _matched(document: Document, positions: Iterable[int]) -> str:
    """Hash of the stretches as they are written, whatever stands around them and however options are ordered."""
    told = [
        [" ".join(field.text[first:end].split()) for first, end in shared]
        for field, shared in zip(document.all_fields, _spans(document, positions), strict=True)
    ]
    texts, options = told[: len(document.fields)], told[len(document.fields) :]
    return content_hash([[one for one in texts if one], sorted(one for one in options if one)])


def _spans(document: Document, positions: Iterable[int]) -> list[list[tuple[int, int]]]:
    chosen = set(positions)
    spans: list[list[tuple[int, int]]] = [[] for _ in document.all_fields]
    before = None
    for token in document.tokens:
        if token.position in chosen:
            held = spans[token.field]
            if held and before == token.position - 1:
                held[-1] = (held[-1][0], token.end)
            else:
                held.append((token.start, token.end))
            before = token.position
    return spans


def _field(field: Field, shared: Sequence[tuple[int, int]]) -> dict[str, Any]:
    text, start = field.text, 0
    if len(text) > LONGEST:
        start = max(0, shared[0][0] - _AROUND) if shared else 0
        text = text[start : start + LONGEST]
    inside = [[max(0, first - start), min(len(text), end - start)] for first, end in shared]
    told = f"{'… ' if start else ''}{text}{' …' if start + len(text) < len(field.text) else ''}"
    shift = 2 if start else 0
    return {
        "label": field.label,
        "text": told,
        "shared": [[first + shift, end + shift] for first, end in inside if first < end],
    }
