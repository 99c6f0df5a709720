"""Words of a text in normal form, and where a phrase stands in it: affirmed, negated, asked, or one of several."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate

from evaluation.graders.dates import with_plain_dates

# Scripts without spaces (or with particles glued on): each character is a word, so that a phrase is a substring.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3007\u3041-\u3096\u30a1-\u30fc\u3400-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(
    rf"(?P<number>(?<![^\W_])-?\d+(?:[.,]\d+)+(?![^\W_{UNSPACED}])|(?<![^\W_{UNSPACED}])-\d+(?![^\W_{UNSPACED}]))"
    rf"|(?P<word>[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W_])+(?:\+\+|\#)?|[\u2190-\u2bff\U0001f000-\U0001faff])"
    r"|(?P<slash>/)|(?P<stop>[.!?;,:。、()\n—])"
)
_ACRONYM = re.compile(r"\b(?:[A-Za-z]\.){1,8}[A-Za-z]\b\.?(?!\w)")
_POSSESSIVE = re.compile(r"'s\b")
_ACCENT = re.compile("[\u0300-\u036f]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_UNSPACED_WORD = re.compile(f"[{UNSPACED}]")

_NEGATIONS = frozenset((
    "not", "no", "never", "neither", "nor", "without", "cannot", "cant", "isnt", "arent", "wasnt", "werent",
    "dont", "doesnt", "didnt", "couldnt", "wont", "wouldnt", "shouldnt", "hasnt", "havent", "hadnt", "aint",
    "mustnt", "unlike", "except", "excluding", "hardly", "scarcely", "unlikely", "doubt", "doubtful",
))  # fmt: skip
_TURNS = frozenset(("but", "rather", "instead", "however"))
_REPLACED = ("rather than", "instead of", "other than", "opposed to", "anything but", "far from", "opposite of")
# What somebody believed or confused is not what is stated.
_BELIEVED = re.compile(
    r"\b(?:(?:false|untrue|not true|wrong|incorrect) that|(?:i|we) (?:had )?(?:first |initially |originally |also )?"
    r"(?:thought|considered|guessed|assumed|suspected|believed)"
    r"|(?:at first|initially|originally) \w+ (?:thought|considered|guessed|assumed|suspected|believed)"
    r"|(?:first|initially|originally) (?:said|wrote|answered|picked|read)"
    r"|(?:once|formerly|previously|wrongly|mistakenly) (?:thought|believed|assumed|considered)"
    r"|(?:some|many|people) (?:say|think|believe)"
    r"|(?:wrong|incorrect|false) (?:answers?|options?|choices?|one|guess)"
    r"|(?:mistaken|mistook) (?:\w+ )?for|confused with)\b(?: \w+){0,4}$"
)
_BELIEVED_UNSPACED = re.compile("(?<![可所足])以为|误认为|曾认为|除[了开]$")
# Idioms that hold a negation and negate nothing.
_EMPTY_NEGATION = re.compile(
    r"\b(?:no doubt|without (?:a )?doubt|beyond (?:a |any |all )?doubt|not only|not just|not merely"
    r"|nothing but|none other than|no other than"
    r"|not to mention|no wonder)\b|毫无疑问|无疑|不仅仅|不仅|不但|不只|不光|不过|不错|不愧|没错|莫非|无论|不管|不同"
)
_NEGATION_UNSPACED = re.compile("不是|并非|而非|没有|不叫|不像|不会是|不可能|不属于|排除|[不没非无未别]")
_TURN_UNSPACED = re.compile("而是|却是|但")
_NEGATED_AFTER = re.compile(
    r"(?:is|was|are|were|does|did|do|can|could|has|have|had|would|will) (?:not|no)\b|\w{2,6}nt\b"
    r"|(?:(?:is|was|are|were|be) )?(?:also )?(?:wrong|incorrect|false|mistaken)\b"
)
_NEGATED_AFTER_UNSPACED = re.compile("并?不|没|并非|是?错|是?不")
_MOST_PLACES = 50
_NEAR_WORDS, _NEAR_CHARACTERS = 3, 4
_BEFORE_ONE = frozenset(
    "是的只条头匹个一两三四五六七八九十几了有为叫和与在到着于选当成作即就位名辆架艘座张块把本台件朵棵株颗根支片群"
)
_AFTER_ONE = frozenset("的了在和与吧呢啊吗呀正也都就是色")


class Standing(IntEnum):
    """How a phrase stands in a text."""

    ABSENT = 0
    NEGATED = 1
    UNSURE = 2
    AFFIRMED = 3


@dataclass(frozen=True)
class Words:
    """A text as words.

    Attributes:
        words: In normal form.
        clauses: The number of the clause of each word.
        sentences: The number of its sentence; semicolons and line breaks end one.
        asked: Whether that sentence is a question.
    """

    words: tuple[str, ...]
    clauses: tuple[int, ...]
    sentences: tuple[int, ...]
    asked: tuple[bool, ...]

    @property
    def content(self) -> tuple[str, ...]:
        """The words without a leading article, and without "the" anywhere."""
        words = tuple(word for word in self.words if word != "the")
        return words[1:] if len(words) > 1 and words[0] in ("a", "an") else words


def read_words(text: str) -> Words:
    """Case, accents of letters, punctuation and thousands separators go; numbers and words stay whole; "/" is "or"."""
    plain = _ACRONYM.sub(lambda found: found.group().replace(".", ""), text)
    plain = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFKD", plain.casefold())))
    plain = with_plain_dates(_POSSESSIVE.sub("", plain).replace("'", ""))
    words: list[str] = []
    clauses: list[int] = []
    ends: list[tuple[int, bool]] = []
    clause = 0
    for found in _WORD.finditer(plain):
        if found["stop"]:
            clause += 1
            if found["stop"] in "?.!。;\n":
                ends.append((len(words), found["stop"] == "?"))
            continue
        words.append("or" if found["slash"] else _THOUSANDS.sub("", found.group()))
        clauses.append(clause)
    return Words(tuple(words), tuple(clauses), _sentence_numbers(len(words), ends), _asked(len(words), ends))


def _sentence_numbers(count: int, ends: list[tuple[int, bool]]) -> tuple[int, ...]:
    stops = sorted({end for end, _ in ends})
    return tuple(bisect_right(stops, place) for place in range(count))


def _asked(count: int, ends: list[tuple[int, bool]]) -> tuple[bool, ...]:
    asked = [False] * count
    start = 0
    for end, question in ends:
        if question:
            asked[start:end] = [True] * (end - start)
        start = end
    return tuple(asked)


def negation_count(text: str) -> int:
    """How many words of a text negate, idioms such as "no doubt" left out."""
    plain = _EMPTY_NEGATION.sub(" ", " ".join(read_words(text).words))
    unspaced = _NEGATION_UNSPACED.findall(_EMPTY_NEGATION.sub("", "".join(_UNSPACED_WORD.findall(text))))
    return sum(word in _NEGATIONS for word in plain.split()) + len(unspaced)


def find_phrase(phrase: tuple[str, ...], text: Words) -> list[int]:
    """The places of the words where the phrase begins; "the" is skipped in the text."""
    if not phrase:
        return []
    kept = [place for place, word in enumerate(text.words) if word != "the"]
    joined = "\x1f" + "\x1f".join(text.words[place] for place in kept) + "\x1f"
    sought = "\x1f" + "\x1f".join(phrase) + "\x1f"
    starts = [0, *accumulate(len(text.words[place]) + 1 for place in kept)]
    found: list[int] = []
    at = joined.find(sought)
    while at >= 0:
        found.append(kept[bisect_left(starts, at)])
        at = joined.find(sought, at + 1)
    return found


def standing(phrase: tuple[str, ...], text: Words) -> Standing:
    """How the phrase stands in the text; its last place outside questions decides, but may not deny an earlier one."""
    places = find_phrase(phrase, text)
    if not places:
        return Standing.ABSENT
    stands = [_standing_at(place, phrase, text) for place in places[-_MOST_PLACES:] if not text.asked[place]]
    if not stands:
        return Standing.UNSURE
    if stands[-1] is Standing.NEGATED and Standing.AFFIRMED in stands:
        return Standing.UNSURE
    return stands[-1]


def _standing_at(place: int, phrase: tuple[str, ...], text: Words) -> Standing:
    clause, end = text.clauses[place], min(place + len(phrase), len(text.words))
    before = [text.words[at] for at in range(max(0, place - 12), place) if text.clauses[at] == clause]
    after = [text.words[at] for at in range(end, min(end + 4, len(text.words))) if text.clauses[at] == clause]
    if _is_believed(before) or (not after and text.words[end : end + 1] in (("wrong",), ("incorrect",))):
        return Standing.UNSURE
    negated = max(_negated_before(before), _negated_before_unspaced(before), key=_severity)
    if negated is not Standing.AFFIRMED:
        return negated
    if _NEGATED_AFTER.match(" ".join(after)) or _NEGATED_AFTER_UNSPACED.match("".join(after)):
        return Standing.UNSURE
    if _is_alternative(before, after) or (len(phrase) == 1 and _is_glued(phrase[0], before, after)):
        return Standing.UNSURE
    return Standing.AFFIRMED


def _severity(found: Standing) -> int:
    return (Standing.AFFIRMED, Standing.UNSURE, Standing.NEGATED).index(found)


def _negated_before(before: list[str]) -> Standing:
    words = _EMPTY_NEGATION.sub(" ", " ".join(before)).split()
    if " ".join([word for word in words if word not in ("a", "an", "the")][-2:]) in _REPLACED:
        return Standing.NEGATED
    at = max((place for place, word in enumerate(words) if word in _NEGATIONS), default=None)
    if at is None or _TURNS.intersection(words[at + 1 :]):
        return Standing.AFFIRMED
    return Standing.NEGATED if len(words) - at - 1 <= _NEAR_WORDS else Standing.UNSURE


def _negated_before_unspaced(before: list[str]) -> Standing:
    joined = _EMPTY_NEGATION.sub("", "".join(word for word in before if _UNSPACED_WORD.match(word)))
    found = None
    for found in _NEGATION_UNSPACED.finditer(joined):  # noqa: B007 - the last one counts
        pass
    between = joined[found.end() :] if found else ""
    if found is None or _TURN_UNSPACED.search(between):
        return Standing.AFFIRMED
    return Standing.NEGATED if len(between) <= _NEAR_CHARACTERS and "是" not in between else Standing.UNSURE


def _is_believed(before: list[str]) -> bool:
    words = " ".join(before)
    return _BELIEVED.search(words) is not None or _BELIEVED_UNSPACED.search("".join(before)) is not None


def _is_alternative(before: list[str], after: list[str]) -> bool:
    left = [word for word in before[-3:] if word not in ("a", "an", "the", "maybe", "perhaps", "possibly")]
    return (
        (bool(left) and left[-1] == "or")
        or after[:1] == ["or"]
        or "".join(before).endswith(("或", "或者", "或是", "还是"))
        or "".join(after).startswith(("或", "还是"))
    )


def _is_glued(word: str, before: list[str], after: list[str]) -> bool:
    """Whether a phrase of one unspaced character may be part of a longer word there (猫 in 熊猫)."""
    if not _UNSPACED_WORD.fullmatch(word):
        return False
    left, right = before[-1:], after[:1]
    return bool(left and _UNSPACED_WORD.match(left[0]) and left[0] not in _BEFORE_ONE) or bool(
        right and _UNSPACED_WORD.match(right[0]) and right[0] not in _AFTER_ONE
    )
