"""Numbers: the same value in canonical form, a unit where the key states one, a tolerance only where it is stated."""

import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice

from core.question import AnswerKey
from evaluation.graders.base import RuleGrader, nothing_found
from evaluation.graders.cleaning import clean_fragment
from evaluation.graders.expressions import evaluate
from evaluation.graders.numerals import with_digits
from evaluation.graders.quantities import Quantity, is_expression, quantities, same
from evaluation.graders.reading import sentences, statements, without_declining
from evaluation.graders.verdicts import Mark, Why, not_graded, right, shown, wrong

# How far is looked: characters of one statement, statements from the last back, sentences from the last back.
_MOST_READ, _MOST_STATEMENTS, _MOST_SENTENCES = 600, 12, 200
_CHAIN = re.compile(r"=|⇒|→|\bequals\b|(?<!不)等于|得到|即")
# A second solution: x = 5 or x = -5.
_OR_EQUALS = re.compile(r"(?:\bor|或者?)\s?[a-zA-Z]\s?=\s?")
_ABOUT = re.compile(r"≈|约等于|\bor (?:about|approximately|roughly)\b")
# Where an explanation begins that is no longer the stated answer.
_EXPLANATION = re.compile(
    r";|,(?= ?(?!\d|or\b|and\b|-|\$|to\b)\D)|\b(?:because|since|as|where|which|given|so|for)\b|因为|由于|其中|所以"
)
_BRACKETS = re.compile(r"(?<!\^)(?<!\^ )\([^()]{0,200}\)")
_LIST_MARK = re.compile(r"^\(?\d{1,2}[.)、](?: (?=\S)|(?=[^\W\d_]))", re.MULTILINE)
_ANSWER_LINE = re.compile(r"^A(?:ns)?: ?(?=.*\d)", re.MULTILINE)
_BETWEEN_LISTED = re.compile(
    r"\W{0,3}(?:,|and|or|to|&|、|和|或|或者|到|至|与|-|~|±|/|plus)\W{0,3}(?:an? |about |maybe )?(?:[$€£-] ?)?", re.I
)
_NO_NUMBER = re.compile(r"[<>≤≥\[\]{}_∈]|\d ?, \d|\d.*=|[-+*/^] ?[a-z].*=|\(.*,.*\)")
_LAST_EXCLAIMED = re.compile(r"(?<=\d)!+$")


@dataclass(frozen=True)
class _Part:
    """A piece of text and its quantities."""

    text: str
    found: list[Quantity]


@dataclass(frozen=True)
class _Stated:
    """What counts: parts said to be equal (1 - 1/e ≈ 0.632), which quantity of each, and all others near it."""

    parts: list[_Part]
    place: int
    around: list[Quantity]

    @property
    def chosen(self) -> list[Quantity]:
        return [part.found[self.place] for part in self.parts]


class NumberGrader(RuleGrader):
    """The number that is stated after the last answer mark, or last."""

    def mark(self, key: AnswerKey, answer: str, language: str, ask: str) -> Mark:
        """Compare with each accepted number; an expression (1 - 1/e) counts by its value."""
        accepted = [clean_fragment(text) for text in key.accepted]
        wanted = [one for one in (_key_quantity(text, language) for text in accepted) if one is not None]
        if not wanted:
            return _by_spelling(accepted, answer)
        factorials = any("!" in text for text in accepted)
        stated = _stated(_ANSWER_LINE.sub("Answer: ", without_declining(answer)), language, factorials)
        if stated is None:
            return nothing_found(answer, "number")
        return _compare(stated, wanted, key.tolerance)


def _key_quantity(text: str, language: str) -> Quantity | None:
    """The one number that a key is; None for intervals, pairs, inequalities and equations."""
    if _NO_NUMBER.search(text):
        return None
    found = [one for part in _parts(text, language, factorials=True) for one in part.found]
    if len(found) != 1 or found[0].partial or found[0].bounded or found[0].value is None:
        return None
    return found[0]


def _by_spelling(accepted: list[str], answer: str) -> Mark:
    squeezed = [_squeezed(text) for text in accepted]
    if not any(squeezed):
        return not_graded(Why.BAD_KEY, "the key accepts no visible text")
    if _squeezed(next(statements(answer), answer)) in squeezed:
        return right("is spelled as the key")
    return not_graded(Why.BAD_KEY, f"the key {shown(accepted[0])} is not one number")


def _squeezed(text: str) -> str:
    return re.sub(r"[\s.。]", "", text)


def _stated(answer: str, language: str, factorials: bool) -> _Stated | None:
    for statement in islice(statements(answer), _MOST_STATEMENTS):
        line = statement[:_MOST_READ]
        sentence = next(iter(sentences(line)), "")
        core = _EXPLANATION.split(sentence, maxsplit=1)[0]
        for text in (core, sentence, line):
            parts = _parts(text, language, factorials)
            if parts:
                alone = sum(len(part.found) for part in parts) == 1
                around = [] if alone else [one for part in _parts(sentence, language, factorials) for one in part.found]
                return _Stated(parts, 0, around)
    said = sentences(_LIST_MARK.sub("", answer))[-_MOST_SENTENCES:]
    for sentence in reversed([one for one in said if not one.endswith("?")] if len(said) > 1 else said):
        parts = _parts(sentence, language, factorials)
        if parts:
            return _Stated(parts, -1, [one for part in parts for one in part.found])
    return None


def _parts(text: str, language: str, factorials: bool) -> list[_Part]:
    """The quantities of a statement, of the last part of its chain of equations when there is one."""
    text = _OR_EQUALS.sub("or ", text[-_MOST_READ:].strip(" 。,").rstrip("."))
    exclaimed = None if factorials else _LAST_EXCLAIMED.search(text)
    text = text[: exclaimed.start()] if exclaimed else text
    for lone in (False, True):
        for segment in reversed(_CHAIN.split(with_digits(text, language, lone=lone))):
            parts = [part for part in (_part(piece, language) for piece in _ABOUT.split(segment)) if part.found]
            if parts and exclaimed:
                parts[-1].found[-1] = _or_factorial(parts[-1].found[-1])
            if parts:
                return parts
    return []


def _part(segment: str, language: str) -> _Part:
    segment = segment.strip(" 。,:").rstrip(".")
    if is_expression(segment) or segment in ("e", "π", "pi"):
        value = evaluate(segment)
        if value is not None:
            return _Part(segment, [Quantity(value=value, end=len(segment))])
        return _Part(segment, quantities(segment, language))
    without_brackets = _BRACKETS.sub(lambda found: " " * len(found.group()), segment)
    found = quantities(without_brackets, language) or quantities(segment, language)
    return _Part(segment, [one for one in found if not one.ordinal] or found)


def _or_factorial(one: Quantity) -> Quantity:
    """A number before "!", which may have been meant as a factorial."""
    if not isinstance(one.value, Fraction) or one.value.denominator != 1 or not 0 <= one.value <= 20 or one.other:
        return one
    return replace(one, other=Fraction(math.factorial(int(one.value))))


def _compare(stated: _Stated, wanted: list[Quantity], tolerance: float | None) -> Mark:
    chosen = [_matches(one, wanted, tolerance) for one in stated.chosen]
    says = shown(" ≈ ".join(part.text for part in stated.parts))
    if True in chosen:
        part = stated.parts[chosen.index(True)]
        if _is_listed(part, stated.place):
            return not_graded(Why.HEDGED, f"{says} states several numbers")
        return right(f"{says} states the number")
    if None in chosen:
        return not_graded(Why.AMBIGUOUS, f"{says} can be read in two ways")
    if any(_matches(one, wanted, tolerance) is not False for one in stated.around):
        return not_graded(Why.HEDGED, f"{says} states several numbers, the key's among them")
    return wrong(f"{says} states another number")


def _matches(one: Quantity, wanted: list[Quantity], tolerance: float | None) -> bool | None:
    if one.partial:
        return None
    results = [same(key, one, tolerance) for key in wanted]
    if True in results:
        return True
    return None if None in results else False


def _is_listed(part: _Part, place: int) -> bool:
    at = place % len(part.found)
    pairs = zip(part.found[max(0, at - 1) : at + 2], part.found[max(0, at - 1) + 1 : at + 2], strict=False)
    return any(
        _BETWEEN_LISTED.fullmatch(part.text[left.end : right_one.start])
        or (part.text[left.end : right_one.start].isspace() and left.value != right_one.value)
        for left, right_one in pairs
    )


NUMBER = NumberGrader("number@3")
