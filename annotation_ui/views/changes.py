"""What a revision changed, word by word, for people to read."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from annotation_ui import labels
from annotation_ui.words import N_, Words
from core.content import Modality
from core.question import QuestionKind
from qc.review.revision_diff import Change

# The comparison takes the square of this.
MOST_WORDS = 1_500
# Words of alphabets, and every other character alone, as Chinese is read; each with the blanks behind it.
_WORD = re.compile(r"(?:[^\W\d_\u2e80-\u9fff]+|\d+|\S)\s*|\s+")
_HOW = {"added": N_("added"), "removed": N_("removed"), "moved": N_("moved"), "changed": N_("changed")}


@dataclass(frozen=True)
class Stretch:
    """A stretch of text: kept, or only in the old or the new wording."""

    kind: Literal["kept", "old", "new"]
    text: str


@dataclass(frozen=True)
class ChangeLine:
    """One changed part."""

    part: str
    how: str
    stretches: Sequence[Stretch]


def change_lines(changes: Sequence[Change], t: Words) -> list[ChangeLine]:
    """The changes in reading order."""
    return [ChangeLine(part_label(t, one.part), t(_HOW[one.how]), list(_stretches(one, t))) for one in changes]


def part_label(t: Words, part: str) -> str:
    """A part of a question as comments and changes name it: `prompt`, `choice B`, `rubric of step 2`, `image_1`."""
    fixed = {
        "prompt": t("The question"),
        "answer": t("The answer"),
        "kind": t("Kind of question"),
        "required": t("Needed modalities"),
        "task type": t("Task type"),
        "language": t("Language"),
        "asked in": t("Asked in"),
    }
    if part in fixed:
        return fixed[part]
    whole, _, inner = part.partition(" of ")
    if inner:
        of = part_label(t, inner)
        return {
            "grader": t("Grader: {part}", part=of),
            "tolerance": t("Tolerance: {part}", part=of),
            "points": t("Points: {part}", part=of),
            "answer": t("Answer: {part}", part=of),
            "rubric": t("Rubric: {part}", part=of),
        }.get(whole, part)
    kind, _, name = part.partition(" ")
    if kind == "choice" and name:
        return t("Choice {label}", label=name)
    if kind == "step" and name:
        return t("Step {number}", number=name)
    return part


def _stretches(change: Change, t: Words) -> Iterator[Stretch]:
    before, after = (_worded(change.part, text, t) for text in (change.before, change.after))
    if before is None or after is None or change.how == "moved":
        if before is not None:
            yield Stretch("old", before)
        if after is not None:
            yield Stretch("new", after)
        return
    old, new = _WORD.findall(before), _WORD.findall(after)
    if len(old) + len(new) > MOST_WORDS:
        yield Stretch("old", before)
        yield Stretch("new", after)
        return
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield Stretch("kept", "".join(old[start:end]))
            continue
        if end > start:
            yield Stretch("old", "".join(old[start:end]))
        if new_end > new_start:
            yield Stretch("new", "".join(new[new_start:new_end]))


def _worded(part: str, text: str | None, t: Words) -> str | None:
    """A code as its label; texts of authors stay as they are."""
    if text is None:
        return None
    match part:
        case "kind":
            return t(labels.KINDS[QuestionKind(text)])
        case "task type":
            return labels.task_type(t, text)
        case "language":
            return labels.question_language(t, text)
        case "asked in":
            return t(labels.MODALITIES[Modality(text)])
        case "required":
            known = {modality.value: modality for modality in Modality}
            return labels.modality_set(t, [known[name] for name in text.split(", ") if name in known])
    return text
