"""UNO-Bench's scoring contract, to compare with its published scores: score types, references and score replies.

As its evaluation code has it (github.com/meituan-longcat/UNO-Bench, uno-eval, 2025): every item has a `score_type`.
0 (one right answer), 1 (several sub-questions with points) and 4 (spoken) go to a scoring model, which is given a
reference in words and ends its reply with `<score>N</score>`, N of 10 points; 2 (short OCR) counts when one of the
answers, a Python list in text, is a substring of the response; 3 (long OCR) is BLEU-1. Two things differ here on
purpose: a reply without a score is not graded (there it is 0), and so is one with scores that contradict each other
(there the last one counts).
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from core.errors import InterplayError
from core.question import POINTS_TOTAL, AnswerKey, Question, QuestionKind, Step, choice_label
from evaluation.graders.cleaning import without_thinking


class UnoScoreType(IntEnum):
    """How UNO-Bench scores an item."""

    SINGLE = 0
    MULTI_STEP = 1
    OCR_SHORT = 2
    OCR_LONG = 3
    SPOKEN = 4


class BadUnoReference(InterplayError):
    """A reference that is not in UNO-Bench's format."""


@dataclass(frozen=True)
class UnoKey:
    """A reference read back: one key, or the steps of a multi-step question; `asked` is what a spoken item asks."""

    answer: AnswerKey
    steps: tuple[Step, ...] = ()
    asked: str | None = None


_TYPES = {"ocr_substring": UnoScoreType.OCR_SHORT, "bleu_1": UnoScoreType.OCR_LONG, "spoken_qa": UnoScoreType.SPOKEN}
_SINGLE = "小问1：{answer}，总分10分，无需关注推理过程，最终答案正确即可"
_SINGLE_LINE = re.compile(r"\s*小问 ?1 ?[:：](?P<answer>.+?)[,，] ?总分 ?10 ?分.*", re.DOTALL)
_PART = re.compile(
    r"(?:^|(?<=[\n;；。.)）]))\s*(?:小问|步骤|第)?\s?[(（]?(?P<number>\d{1,2})[)）]?\s?(?:小?[问题])?\s?(?:[.．](?!\d)|[、:：)])\s*"
    r"(?P<answer>\S[^\n]{0,2000}?)\s*(?:[(（]|[,，])\s?(?P<points>\d{1,2})\s?(?:points?|pts?\.?|分)\s?[)）]?(?=\s*(?:[;；.。\n]|$))",
    re.IGNORECASE,
)
_ASK = re.compile(
    r"^\s*(?:小问|第)?\s?[(（]?(\d{1,2})[)）]?\s?(?:小?[问题])?\s?(?:[.．](?!\d)|[、:：)])\s*(\S.{0,2000})$",
    re.MULTILINE,
)
_SPOKEN = re.compile(r"\[\[\[(.*?)\]\]\]", re.DOTALL)
_LETTERS = re.compile(r"[A-Z](?:(?:\s{0,2}|\s?[,、，]\s?)[A-Z])*")
_YES_NO = re.compile(r"(?:yes|no|true|false|是|否|对|错|正确|错误)[.。]?", re.IGNORECASE)
_NUMBER = re.compile(r"[-+$€£¥]?\d[\d,]*(?:\.\d+)?(?:/\d+)?\s?(?:%|°?[A-Za-z]{1,12}|[\u3400-\u9fff]{1,3})?[.。]?")
_ALTERNATIVES = re.compile(r"(?<!\d)\s?/\s?|\s?/\s?(?!\d)")

_SCORE = re.compile(r"<score>\s*(\d{1,2}(?:\.\d{1,4})?)\s*</score>", re.IGNORECASE)
# What a scoring model quotes of the answer that it scores.
_QUOTED = re.compile(
    r"^[ \t]*>[^\n]*$|```.*?(?:```|\Z)|`[^`\n]*`|“[^“”]*”|「[^「」]*」|『[^『』]*』|‘[^‘’]*’|\"[^\"\n]*\"",
    re.DOTALL | re.MULTILINE,
)


def uno_score_type(question: Question) -> UnoScoreType:
    """The score type of a question: by its kind, and for open questions by the rule that its key names."""
    if question.kind is QuestionKind.MULTI_STEP:
        return UnoScoreType.MULTI_STEP
    if question.kind is QuestionKind.OPEN:
        return _TYPES.get(question.answer.grader or "", UnoScoreType.SINGLE)
    return UnoScoreType.SINGLE


def uno_reference(question: Question) -> str:
    """What UNO-Bench would hold the response against: words for its scoring model, or the text that it looks for."""
    match uno_score_type(question):
        case UnoScoreType.MULTI_STEP:
            return _steps_reference(question.steps)
        case UnoScoreType.OCR_SHORT:
            accepted = question.answer.accepted
            return accepted[0] if len(accepted) == 1 else str(list(accepted))
        case UnoScoreType.OCR_LONG:
            return question.answer.accepted[0]
        case UnoScoreType.SINGLE | UnoScoreType.SPOKEN:
            if question.kind is QuestionKind.CHOICE:
                return _SINGLE.format(answer="".join(map(choice_label, question.answer.correct)))
            return _SINGLE.format(answer="/".join(question.answer.accepted))


def _steps_reference(steps: Sequence[Step]) -> str:
    parts = (
        f"{number}. {'/'.join(step.answer.accepted)} ({step.points} points)"
        for number, step in enumerate(steps, start=1)
    )
    return ";\n".join(parts) + "."


def from_uno_reference(reference: str, score_type: int, question_text: str = "") -> UnoKey:
    """Our key for an item of UNO-Bench.

    Args:
        reference: The item's answer, or a reference that `uno_reference` wrote.
        score_type: 0 to 4.
        question_text: The item's question, from which the words of the sub-questions are taken.

    Raises:
        BadUnoReference: An unknown score type, no answer, or sub-questions whose points do not sum to 10.
    """
    if score_type not in set(UnoScoreType):
        raise BadUnoReference(f"score_type {score_type!r} is none of 0 to 4")
    if not reference.strip():
        raise BadUnoReference("the reference is empty")
    match UnoScoreType(score_type):
        case UnoScoreType.MULTI_STEP:
            return UnoKey(AnswerKey(), _steps(reference, question_text))
        case UnoScoreType.OCR_SHORT:
            return UnoKey(AnswerKey(accepted=_listed(reference), grader="ocr_substring"))
        case UnoScoreType.OCR_LONG:
            return UnoKey(AnswerKey(accepted=(reference,), grader="bleu_1"))
        case UnoScoreType.SPOKEN:
            said = _SPOKEN.findall(reference)
            answer = said[-1] if said else _single(reference)
            asked = said[0].strip() if len(said) > 1 else None
            return UnoKey(AnswerKey(accepted=_alternatives(answer), grader="spoken_qa"), asked=asked)
        case UnoScoreType.SINGLE:
            return UnoKey(_key(_single(reference), letters=True))


def _single(reference: str) -> str:
    line = _SINGLE_LINE.fullmatch(reference)
    return line["answer"] if line else reference


def _steps(reference: str, question_text: str) -> tuple[Step, ...]:
    parts = list(_PART.finditer(reference))
    numbers = [int(part["number"]) for part in parts]
    points = [int(part["points"]) for part in parts]
    if not parts or numbers != list(range(1, len(parts) + 1)):
        raise BadUnoReference(f"no sub-answers numbered from 1, each with its points, in {reference[:80]!r}")
    if sum(points) != POINTS_TOTAL or 0 in points:
        raise BadUnoReference(f"the points {points} do not sum to {POINTS_TOTAL} in {reference[:80]!r}")
    asks = {int(number): words.strip() for number, words in _ASK.findall(question_text)}
    return tuple(
        Step(ask=asks.get(number, f"Sub-question {number}"), points=worth, answer=_key(part["answer"], letters=False))
        for number, worth, part in zip(numbers, points, parts, strict=True)
    )


def _key(answer: str, *, letters: bool) -> AnswerKey:
    """The key of one answer, with the rule that its form calls for."""
    answer = answer.strip()
    if letters and _LETTERS.fullmatch(answer):
        return AnswerKey(accepted=(answer,), grader="choice")
    if _YES_NO.fullmatch(answer):
        return AnswerKey(accepted=(answer.rstrip(".。"),), grader="yes_no")
    if _NUMBER.fullmatch(answer):
        return AnswerKey(accepted=(answer.rstrip(".。"),), grader="number")
    return AnswerKey(accepted=_alternatives(answer), grader="short_text")


def _alternatives(answer: str) -> tuple[str, ...]:
    """In a reference, "/" parts what would do as well."""
    answer = answer.strip()
    parts = [part.strip() for part in _ALTERNATIVES.split(answer)]
    return tuple(dict.fromkeys(parts)) if all(parts) else (answer,)


def _listed(reference: str) -> tuple[str, ...]:
    """The texts of a Python list in text; any other reference is one text."""
    text = reference.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return (reference,)
    try:
        listed = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return (reference,)
    found = tuple(one for one in listed if isinstance(one, str) and one.strip()) if isinstance(listed, list) else ()
    return found or (reference,)


def parse_uno_score(reply: str, points: Sequence[int] = ()) -> float | None:
    """The share in [0, 1] that a scoring model's reply gives; None when it gives none that can be trusted.

    Only well-formed tags outside the thinking and outside quotations of the answer count. Several that differ, one
    above 10, or one that no choice of right sub-questions adds up to, is no score.

    Args:
        reply: The scoring model's words.
        points: What the sub-questions are worth; leave out where a part of one may count.
    """
    said = without_thinking(reply)
    if said is None:
        return None
    scores = {float(found) for found in _SCORE.findall(_QUOTED.sub(" ", said))}
    if len(scores) != 1:
        return None
    score = scores.pop()
    if score > POINTS_TOTAL or (points and score not in _sums(points)):
        return None
    return score / POINTS_TOTAL


def _sums(points: Sequence[int]) -> set[int]:
    sums = {0}
    for worth in points:
        sums |= {total + worth for total in sums}
    return sums
