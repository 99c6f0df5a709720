"""What people and checks noted about a question, as lines of name and words."""

from collections.abc import Mapping

from annotation_ui.views.formats import duration
from annotation_ui.words import Words

# Of the panel's votes: what programs read.
_UNTOLD = frozenset({"solved_range", "share_ranges", "planned", "families_open", "responses"})


def told_lines(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """What a check or an author noted, in words; what is empty says nothing."""
    told = [(name.replace("_", " "), _told(value)) for name, value in values.items() if name not in _UNTOLD]
    return [(name, text) for name, text in told if text]


def note_lines(notes: Mapping[str, object], t: Words) -> list[tuple[str, str]]:
    """What the author noted; evidence by medium, its times and boxes in words."""
    lines: list[tuple[str, str]] = []
    for name, value in notes.items():
        if name == "evidence" and isinstance(value, Mapping):
            lines += [(str(part), evidence_words(one, t)) for part, one in value.items()]
        else:
            lines += told_lines({name: value})
    return [(name, text) for name, text in lines if text]


def evidence_words(told_of: object, t: Words) -> str:
    """Where a medium shows what it contributes: a span of time, a box, and words."""
    if not isinstance(told_of, Mapping):
        return "; ".join(text for _, text in told_lines({"": told_of}))
    left = dict(told_of)
    start, end = left.pop("start_s", None), left.pop("end_s", None)
    box = [left.pop(name, None) for name in ("left_px", "top_px", "width_px", "height_px")]
    note = left.pop("note", None)
    found: list[str] = []
    if isinstance(start, int | float) and isinstance(end, int | float):
        found.append(t("from {start} to {end}", start=duration(start), end=duration(end)))
    elif isinstance(start, int | float):
        found.append(t("from {start} on", start=duration(start)))
    elif isinstance(end, int | float):
        found.append(t("up to {end}", end=duration(end)))
    if all(isinstance(one, int | float) for one in box):
        found.append(
            t("the box {width} × {height} px at {left}, {top} px", left=box[0], top=box[1], width=box[2], height=box[3])
        )
    found += [f"{name}: {text}" for name, text in told_lines(left)]
    found += [str(note)] if note else []
    return t("; ").join(found)


def _told(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() | float():
            return f"{value:.4g}"
        case dict():
            return "; ".join(f"{name}: {text}" for name, text in told_lines(value))
        case list():
            between = "\n" if any(isinstance(one, dict) for one in value) else ", "
            return between.join(text for one in value if (text := _told(one)))
    return str(value)
