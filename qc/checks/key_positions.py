"""Whether an author's right answers stand in all places equally often."""

from collections.abc import Iterable, Sequence

from core.question import Question, choice_label
from qc.checks import Finding, warning
from qc.key_bias import key_positions

ITEMS_AT_LEAST = 20
_SIGNIFICANCE = 0.01


def key_position_balance(questions: Sequence[Question]) -> Finding | None:
    """A warning where the places of the keys are too uneven for chance, at a significance of .01.

    Over questions with one right choice; of fewer than `ITEMS_AT_LEAST`, and where no test is defined, nothing is said.
    """
    return balance_of([(question.answer.correct, len(question.choices)) for question in questions])


def balance_of(keys: Iterable[tuple[Sequence[int], int]]) -> Finding | None:
    """The same from the places of each question's right choices and the number of its choices."""
    keyed = [(correct[0], choices) for correct, choices in keys if len(correct) == 1]
    if len(keyed) < ITEMS_AT_LEAST:
        return None
    found = key_positions([place for place, _ in keyed], [choices for _, choices in keyed])
    if found.p.value is None or found.p.value >= _SIGNIFICANCE:
        return None
    places = list(enumerate(zip(found.counts, found.expected, strict=True)))
    en = ", ".join(
        f"{choice_label(place)} {count} times where {expected:.1f} are expected" for place, (count, expected) in places
    )
    zh = "，".join(
        f"{choice_label(place)} 出现 {count} 次（期望 {expected:.1f} 次）" for place, (count, expected) in places
    )
    p = f"p = {found.p.value:.2g}"
    return warning(
        "key_positions",
        f"of {len(keyed)} right choices {en} ({found.test}, {p})",
        f"{len(keyed)} 道题的正确选项中，{zh}（{found.test}，{p}）",
    )
