"""OCR: an accepted text stands in the answer, letter for letter but for case, width and white space.

Guards, so that nothing is right by luck:
- An accepted text that begins or ends with a letter or digit of a script with spaces must do so at a word border there:
  "5" is not in "15" or "3.5", "art" is not in "party". White space inside does not matter where the text is long
  (LONG_CHARACTERS), is written without spaces, or holds signs of a formula or of code.
- What denies or doubts it ("it does not say X", "X or Y", "is it X?") outside a quotation is no reading.
- The words of the question, copied into the answer, are left out.
- One of four or more short candidates, or a text of up to SHORT_CHARACTERS inside more than MOST_AROUND_SHORT words, is
  not graded: lists hold it by luck.
- After an answer mark ("Answer:") only what follows counts; what "no, wait" takes back does not.
"""

import re
from dataclasses import dataclass

from core.question import AnswerKey
from evaluation.graders.base import RuleGrader, nothing_found
from evaluation.graders.cleaning import clean, clean_fragment
from evaluation.graders.phrases import UNSPACED, Standing
from evaluation.graders.reading import declines, final_region, has_content, sentences, statements, without_declining
from evaluation.graders.verdicts import Mark, Why, not_graded, right, shown, wrong

LONG_CHARACTERS, SHORT_CHARACTERS, MOST_AROUND_SHORT = 12, 3, 60
_FEWEST_CANDIDATES, _LONGEST_CANDIDATE = 4, 3
_SHORTEST_COPY = 12
_FORMULA = re.compile(r"[\\^_{}=+<>*/()\[\];|×÷√≤≥≠]|\w-\w.*-|\d[a-z]|[a-z]\d", re.I)
_SPACED_WORD = re.compile(rf"(?![{UNSPACED}])[^\W]")
_INSIDE_NUMBER = ".,:/-"
_MOST_PLACES, _LOOK_AROUND = 50, 200
_ASKED_AFTER = re.compile(r"[^.!?。\n]{0,200}\?")
_LONE_SCRIPT = re.compile(r"([\^_])\((\w+)\)")
_CANDIDATE_END = re.compile(r"[,;\n、/|]|\bor\b|或者?|\band\b")
_QUOTED = re.compile(r"\"[^\"\n]{1,2000}\"|「[^「」\n]{1,2000}」|『[^『』\n]{1,2000}』|《[^《》\n]{1,2000}》")
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:is|was|are|were|do|does|did|can|could|would|should)(?: ?not|n't)\b(?: [^\s,;]+){0,4}"
    r"|\b(?:not|never|hardly|instead of|rather than|anything but|except|without)\b(?: [^\s,;]+){0,2}"
    r"|\b(?:no|without)(?: (?:text|word|letter|sign|mention))+(?: [^\s,;]+){0,2}"
    r"|(?:不是|并非|而非|没有写|没写|不写|未写|不叫|不含|没有(?:显示|出现|提到|包含)|并没有|并不)"
    r"[^,。;!?\n]{0,6})[ :\"'(「『《]{0,4}$",
    re.I,
)
_DOUBTED_BEFORE = re.compile(
    r"(?:\b(?:or|thought|either|whether|considered|misread|first (?:read|saw)|initially|at first)"
    r"(?: \S+){0,3}|或者?|还是|以为)[ :\"'(「『《]{0,4}$",
    re.I,
)
_DOUBTED_AFTER = re.compile(
    r"[\"')」』》?]{0,3}(?: or\b| ?\(?(?:(?:is|was) )?(?:wrong|incorrect|not)\b|或|还是|是错|不对)", re.I
)
_TURN = re.compile(r"\bbut\b|\brather\b|而是|但", re.I)


@dataclass(frozen=True)
class _Text:
    """A text folded, with and without its white space; `places` are those of the squeezed characters in `spaced`."""

    spaced: str
    squeezed: str
    places: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> "_Text":
        spaced = _LONE_SCRIPT.sub(r"\1\2", text.casefold())  # x^{2} is x^2
        places = tuple(at for at, character in enumerate(spaced) if not character.isspace())
        return cls(spaced, "".join(spaced[at] for at in places), places)


class OcrSubstringGrader(RuleGrader):
    """Holds an accepted text as a substring that is affirmed and not one of many."""

    def mark(self, key: AnswerKey, answer: str, language: str, ask: str) -> Mark:
        """Look for every accepted text in what is stated."""
        variants = list(dict.fromkeys(form for text in key.accepted for form in _forms(text)))
        if not variants:
            return not_graded(Why.BAD_KEY, "the key accepts no visible text")
        stated = next(statements(answer), answer)
        region = final_region(answer).strip(" \n:\"'")
        squeezed = {_Text.of(text.strip(" \n\"'.。")).squeezed for text in (answer, stated, region)}
        if any(_Text.of(variant.strip(" \"'.。")).squeezed in squeezed for variant in variants):
            return right(f"{shown(stated)} is an accepted text")
        if not any(declines(variant) for variant in variants):
            stated = without_declining(stated)
        stated = _without_copy(stated, ask)
        if not has_content(stated):
            return nothing_found(answer, "text")
        found = [_found(variant, stated) for variant in variants]
        best = max(found)
        variant = variants[found.index(best)]
        match best:
            case Standing.AFFIRMED if _is_one_of_many(variant, stated):
                return not_graded(Why.HEDGED, f"{shown(stated)} holds {shown(variant)} among other texts")
            case Standing.AFFIRMED:
                return right(f"holds {shown(variant)}")
            case Standing.UNSURE:
                return not_graded(Why.HEDGED, f"{shown(stated)} names {shown(variant)}, but does not plainly read it")
            case Standing.NEGATED:
                return wrong(f"{shown(stated)} denies {shown(variant)}")
            case Standing.ABSENT:
                return wrong(f"{shown(stated)} holds no accepted text", Why.NO_MATCH)


def _forms(text: str) -> list[str]:
    """An accepted text on one line, as the answers are cleaned and with what markup would take away."""
    lines = (clean(text) or "").replace("\n", " ")
    return [form for form in dict.fromkeys((clean_fragment(text), lines)) if form]


def _found(variant: str, stated: str) -> Standing:
    """How a text stands in an answer where it stands on its own: its last place decides, but may not deny another."""
    text, sought = _Text.of(stated), _Text.of(variant)
    loose = len(sought.squeezed) >= LONG_CHARACTERS or _FORMULA.search(variant) or not _SPACED_WORD.search(variant)
    spans: list[tuple[int, int]] = []
    at = text.squeezed.find(sought.squeezed)
    while at >= 0:
        start, end = text.places[at], text.places[at + len(sought.squeezed) - 1] + 1
        same = loose or text.spaced[start:end].split() == sought.spaced.split()
        if same and _is_bounded(text.spaced, start, end):
            spans.append((start, end))
        at = text.squeezed.find(sought.squeezed, at + 1)
    quotes = [quote.span() for quote in _QUOTED.finditer(text.spaced)]
    stands = [_standing(text.spaced, start, end, quotes) for start, end in spans[-_MOST_PLACES:]]
    if not stands:
        return Standing.ABSENT
    return Standing.UNSURE if stands[-1] is Standing.NEGATED and Standing.AFFIRMED in stands else stands[-1]


def _is_bounded(text: str, start: int, end: int) -> bool:
    first, last = text[start], text[end - 1]
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if _is_spaced(first) and (_is_spaced(before[-1:]) or (before[-1:] == "'" and _is_spaced(before[:1]))):
        return False
    if _is_spaced(last) and (_is_spaced(after[:1]) or (after[:1] == "'" and _is_spaced(after[1:]))):
        return False
    # Inside a longer number: 5 in 3.5, 1,500, 12:5 and 555-5, and -5 is another number than 5.
    if first.isdigit() and before and before[-1] in _INSIDE_NUMBER and not before[:-1].isalpha():
        return before[-1] not in "-." and not before[:-1].isdigit()
    return not (last.isdigit() and after[:1] in _INSIDE_NUMBER and after[1:].isdigit())


def _is_spaced(character: str) -> bool:
    return _SPACED_WORD.fullmatch(character) is not None


def _standing(text: str, start: int, end: int, quotes: list[tuple[int, int]]) -> Standing:
    near = max(0, start - _LOOK_AROUND)
    begins = max(text.rfind(stop, near, start) for stop in ("\n", ". ", "。", "? ", "! ", ";")) + 1
    before, after = text[max(begins, near) : start], text[end : end + _LOOK_AROUND]
    quoted = [opening for opening, closing in quotes if opening < start and end < closing]
    if quoted:  # the quotation's own words deny and ask nothing
        before = text[max(begins, near) : quoted[0] + 1]
    denied = _DENIED_BEFORE.search(before)
    if denied and not _TURN.search(denied.group()):
        return Standing.NEGATED
    lone_letter = end - start == 1 and text[start].isascii() and text[start].isalpha() and not quoted
    if lone_letter or _DOUBTED_BEFORE.search(before) or _DOUBTED_AFTER.match(after):
        return Standing.UNSURE
    asked = not quoted and text[end - 1] != "?" and _ASKED_AFTER.match(after)
    return Standing.UNSURE if asked else Standing.AFFIRMED


def _without_copy(stated: str, ask: str) -> str:
    """The statement without the sentences of the question that it copies."""
    for sentence in sentences(clean_fragment(ask)):
        if len(sentence) >= _SHORTEST_COPY:
            stated = re.sub(r"\s".join(map(re.escape, sentence.split())), " ", stated, flags=re.I)
    return stated


def _is_one_of_many(variant: str, stated: str) -> bool:
    words = len(stated.split())
    if len(_Text.of(variant).squeezed) <= SHORT_CHARACTERS and words > MOST_AROUND_SHORT:
        return True
    pieces = {" ".join(piece.split()).casefold() for piece in _CANDIDATE_END.split(stated)} - {""}
    longest = max(len(piece.split()) for piece in pieces)
    return len(pieces) >= _FEWEST_CANDIDATES and longest <= max(_LONGEST_CANDIDATE, len(variant.split()) + 1)


OCR_SUBSTRING = OcrSubstringGrader("ocr_substring@1")
