"""Enumerations: all items, none missing, none wrong, in any order or (`ordered_enumeration`) in the key's.

In a key, each accepted variant is a whole list. Its items are parted by semicolons or line breaks where it has any,
else by commas, 、 and "and" (和, 与, 及). "/" parts the alternatives of an item, but not the digits of a fraction.
"""

import re
from dataclasses import dataclass, field

from core.question import AnswerKey
from evaluation.graders.base import RuleGrader, nothing_found
from evaluation.graders.cleaning import clean, clean_fragment
from evaluation.graders.numerals import with_digits
from evaluation.graders.phrases import Standing, Words, read_words, standing
from evaluation.graders.quantities import Quantity, quantities, same
from evaluation.graders.reading import MARK, final_region, sentences, without_declining
from evaluation.graders.verdicts import Mark, Verdict, Why, not_graded, right, shown, wrong

_HARD_SEPARATOR = re.compile(r"[;\n]")
_SEPARATOR = re.compile(r";|\n|, |,(?!\d{3}(?!\d))|(?<!\d),|、|→|⇒|->|>|\bthen\b|然后|接着|其次|最后")
_EVERY_COMMA = re.compile(r"[;\n,、]")
_AND = re.compile(r"\s(?:and|&|as well as|plus)\s|^(?:and|&) |\s*(?:和|与|及|以及|还有)\s*")
_ALTERNATIVE = re.compile(r"(?<!\d)/|/(?!\d)")
_LEAD_IN = re.compile(
    r"^.{0,200}(?:\b(?:are|is|were|was|includes?|including|namely|of|first|finally)\b|:|是|有|包括|为|即|分别|首先|先|再)",
    re.I,
)
_LIST_MARK = re.compile(r"^\(?(?:\d{1,2}[.)、:](?!\d)|[a-z][.)])\s*", re.MULTILINE)
_BRACKETS = re.compile(r"\s*\([^()]{0,200}\)")
_NUMERIC = re.compile(r"[-+$€£]{0,2}\d[\d., /^×()%-]*")
# What leaves a list open: which items it does not name, nobody knows.
_OPEN_END = re.compile(r"[,;、\s]\.{3,6}\s*$")
_RANGE = re.compile(r"\d ?(?:-|~|\.{2,3}|to|through|到|至) ?\d", re.I)
_MOST_EXTRA_WORDS = 4
_MOST_ITEMS, _LONGEST_NUMBER, _MOST_READ = 300, 60, 4000


@dataclass(frozen=True)
class _Name:
    """One way to say an item: its words, and its number when it is nothing else."""

    text: str
    words: Words
    number: Quantity | None

    @classmethod
    def of(cls, text: str, language: str) -> "_Name":
        return cls(text, read_words(text), _number(text, language))

    def is_said_by(self, other: "_Name") -> bool:
        """Whether both are the same words or the same number."""
        if other.words.words and self.words.content == other.words.content:
            return True
        return self.number is not None and other.number is not None and same(self.number, other.number, None) is True


_Items = list[list[_Name]]


@dataclass
class _Sorted:
    """Segments of an answer by what they are to the key: items in order, items inside other words, something else."""

    found: list[int] = field(default_factory=list)
    loose: set[int] = field(default_factory=set)
    extra: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class EnumerationGrader(RuleGrader):
    """The items of an accepted list, all of them and no other."""

    ordered: bool = False

    def mark(self, key: AnswerKey, answer: str, language: str, ask: str) -> Mark:
        """The best mark that the answer gets against any of the accepted lists."""
        lists = [_named(items, language) for items in map(key_items, key.accepted) if items]
        if not lists:
            return not_graded(Why.BAD_KEY, "the key lists no items")
        region = without_declining(_region(answer)[:_MOST_READ])
        if not region:
            return nothing_found(answer, "list")
        firsts: list[Mark] = []
        for separator in (_SEPARATOR, _EVERY_COMMA):
            marks = [self._compare(items, _sort(region, items, language, separator), answer) for items in lists]
            if any(mark.verdict is Verdict.RIGHT for mark in marks):
                if _OPEN_END.search(region):
                    return not_graded(Why.HEDGED, f"{shown(region[-200:])} leaves the list open")
                return next(mark for mark in marks if mark.verdict is Verdict.RIGHT)
            firsts = firsts or marks  # where no reading is right, the plain one tells why
        if _RANGE.search(region) and any(all(item[0].number for item in items) for items in lists):
            return not_graded(Why.AMBIGUOUS, f"{shown(region[-200:])} gives a range, which may stand for its numbers")
        return next((mark for mark in firsts if mark.verdict is Verdict.NOT_GRADED), firsts[0])

    def _compare(self, items: _Items, said: _Sorted, answer: str) -> Mark:
        missing = [
            items[place][0].text for place in range(len(items)) if place not in said.found and place not in said.loose
        ]
        if len(missing) == len(items):
            nothing = nothing_found(answer, "list")
            return nothing if nothing.why is not Why.UNREAD else wrong("lists none of the items", Why.NO_MATCH)
        if missing:
            return wrong(f"{shown(missing[0])} is missing", Why.NO_MATCH if said.extra else None)
        short = [extra for extra in said.extra if len(read_words(extra).words) <= _MOST_EXTRA_WORDS]
        if short:
            return wrong(f"{shown(short[0])} is not among the items")
        if said.extra or said.loose:
            return not_graded(Why.UNREAD, f"the items stand among other words in {shown(answer[-200:])}")
        order = list(dict.fromkeys(said.found))
        if self.ordered and order != sorted(order):
            return wrong("the items are in another order")
        return right(f"lists all {len(items)} items and no other")


def key_items(accepted: str) -> list[list[str]]:
    """The items of an accepted list, each with its alternatives: the item as written first."""
    text = clean(accepted) or ""
    if _HARD_SEPARATOR.search(text):
        parts = _HARD_SEPARATOR.split(text)
    else:
        parts = [piece for part in _SEPARATOR.split(text) for piece in _AND.split(part)]
    items = [[clean_fragment(part), *map(str.strip, _ALTERNATIVE.split(part))] for part in parts if part.strip()]
    return [list(dict.fromkeys(alternative for alternative in item if alternative)) for item in items]


def _region(answer: str) -> str:
    """The lines that list: after the last mark its line and the short lines below, else everything."""
    region = final_region(answer) if MARK.search(answer) else answer
    lines = [line for line in region.split("\n") if line.strip(" :")]
    if not MARK.search(answer) or not lines:
        return "\n".join(lines)
    first = sentences(lines[0])[:1]
    below = [line for line in lines[1:] if len(read_words(line).words) <= _MOST_EXTRA_WORDS * 2]
    return "\n".join(first + (below if len(below) == len(lines) - 1 else []))


def _named(items: list[list[str]], language: str) -> _Items:
    return [[_Name.of(alternative, language) for alternative in item] for item in items]


def _number(text: str, language: str) -> Quantity | None:
    if len(text) > _LONGEST_NUMBER:
        return None
    digits = with_digits(text, language, lone=True)
    found = quantities(digits, language) if _NUMERIC.fullmatch(digits) else []
    return found[0] if len(found) == 1 else None


def _sort(region: str, items: _Items, language: str, separator: re.Pattern[str]) -> _Sorted:
    said = _Sorted()
    lines = [line for line in _LIST_MARK.sub("", region).split("\n") if not line.endswith(":")]
    sections = [section for line in lines for section in sentences(line)]
    for segment in [part for section in sections for part in separator.split(section)][:_MOST_ITEMS]:
        place = _place(segment, items, language)
        if place is not None:
            said.found.append(place)
            continue
        for part in _AND.split(segment):
            place = _place(part, items, language)
            if place is not None:
                said.found.append(place)
            elif read_words(part).words:
                _sort_rest(part.strip(), items, said)
    return said


def _place(segment: str, items: _Items, language: str) -> int | None:
    """The item that a segment is, without brackets after it or an opening such as "they are" before it."""
    text = segment.strip(" .。!:\"'")
    plain = _BRACKETS.sub("", text)
    opening = _LEAD_IN.match(plain)
    after = plain[opening.end() :] if opening and not _AND.search(opening.group()) else plain
    for candidate in dict.fromkeys((text, plain, after.strip())):
        name = _Name.of(candidate, language)
        for place, alternatives in enumerate(items):
            if any(alternative.is_said_by(name) for alternative in alternatives):
                return place
    return None


def _sort_rest(text: str, items: _Items, said: _Sorted) -> None:
    words = read_words(text)
    loose = {
        place
        for place, alternatives in enumerate(items)
        if any(standing(one.words.content, words) is Standing.AFFIRMED for one in alternatives)
    }
    said.loose |= loose
    if not loose:
        said.extra.append(text)


ENUMERATION = EnumerationGrader("enumeration@2")
ORDERED_ENUMERATION = EnumerationGrader("ordered_enumeration@2", ordered=True)
