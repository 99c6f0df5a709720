"""Spoken questions and answers: what was said aloud and transcribed, so with fillers, number words and no layout.

Fillers ("um", "well", 嗯) go, numbers become digits in both languages, and then the key tells which rule grades: yes
or no by polarity, a lone number by its value, all else as a phrase at word borders, with the guards of `short_text`
(negation, question, alternatives, lists, corrections). The last statement wins. Spelled letters and homophones are out
of scope.
"""

import re

from core.question import AnswerKey
from evaluation.graders.base import RuleGrader
from evaluation.graders.cleaning import clean_fragment
from evaluation.graders.number import NUMBER
from evaluation.graders.numerals import with_digits
from evaluation.graders.short_text import SHORT_TEXT
from evaluation.graders.verdicts import Mark, Verdict, Why, not_graded, shown
from evaluation.graders.yes_no import YES_NO

_FILLER = re.compile(
    r"(?<![\w'])(?:u+m+|u+h+m*|e+rm*|h+m+|a+h+|you know|let me see|let's see|let me think"
    r"|how do i say|i guess|so yeah|all ?right)"
    r"(?![\w'])[\s,.…]*"
    r"|(?:嗯+|呃+|额(?=[,，。…\s])|唔+|那个(?=[,，])|这个嘛?(?=[,，])|怎么说呢|让我想想|我想想|我想一下)[\s,，。…]*",
    re.I,
)
_OPENER = re.compile(
    r"^[\s,.]*(?:(?:well|so|okay|ok|oh|right|now|and|sure|i think(?: that)?|i believe(?: that)?|i would say|i'd say"
    r"|it's|that's"
    r"|that would be|it would be|it is|that is)\b[\s,.:]*|(?:我觉得|我认为|我想|应该是|好的|那么)[\s,]*)+",
    re.I,
)
_YEAR = re.compile(
    r"(?<![\d.,:-])(1[0-9]|20)[ -](?:(?:oh|o) ?(?=\d\b))?([1-9]\d|(?<=o )\d|(?<=oh )\d)(?![\d.,:%]|[ -]\d)"
)
_OH = re.compile(r"(?<=\d)[ -](?:oh|o)[ -](?=\d\b)", re.I)
_PRONOUN = re.compile(
    r"\b(?:the|this|that|which|no|every|any|each|some|another|only) one\b|\bone (?:of|another|day|who|that)\b", re.I
)
# "Red, no, blue": what speech corrects without "wait".
_NO = re.compile(r"[,.;…—-]\s*(?:oh |uh )?no[,.]\s*(?=\S)|(?<=[^\W_])[,。;]\s*不[,。]\s*(?=\S)", re.I)
_HAS_NO = re.compile(r"\bno\b|不", re.I)
_HELD = "\ue000"
_DIGIT = re.compile(r"\d")
_POINT = re.compile(r"(?<=\d) point (?=\d)", re.I)
_FEW_WORDS = 4
_NUMBER = re.compile(r"[-+$€£]?\d[\d,.]*(?: ?(?:%|percent|°|[a-z]{1,12}))?", re.I)


class SpokenQaGrader(RuleGrader):
    """An accepted answer, as people say it."""

    def mark(self, key: AnswerKey, answer: str, language: str, ask: str) -> Mark:
        """Bring both sides into one form and let the rule of the key's kind decide."""
        said = without_fillers(answer)
        accepted = [form for form in map(clean_fragment, key.accepted) if form]
        if not accepted:
            return not_graded(Why.BAD_KEY, "the key accepts no visible text")
        polarity = YES_NO.mark(key, said, language, ask)
        if polarity.why is not Why.BAD_KEY:
            return polarity
        mark = _marked(key, accepted, said, language, ask)
        *taken_back, last = _NO.split(said)
        if mark.verdict is not Verdict.RIGHT or not taken_back or any(map(_HAS_NO.search, accepted)):
            return mark
        if _marked(key, accepted, last, language, ask).verdict is Verdict.RIGHT:
            return mark
        return not_graded(Why.HEDGED, f"{shown(said[-200:])} takes back an accepted answer")


def _marked(key: AnswerKey, accepted: list[str], said: str, language: str, ask: str) -> Mark:
    spoken = in_digits(said, language)
    forms = tuple(dict.fromkeys([*accepted, *(in_digits(form, language, lone=True) for form in accepted)]))
    if all(_NUMBER.fullmatch(in_digits(form, language, lone=True)) for form in accepted):
        number = NUMBER.mark(key.model_copy(update={"accepted": forms}), _PRONOUN.sub("that", spoken), language, ask)
        if number.why is not Why.BAD_KEY:
            return number
    marks = [SHORT_TEXT.mark(AnswerKey(accepted=forms), text, language, ask) for text in (spoken, said)]
    return next((mark for mark in marks if mark.verdict is Verdict.RIGHT), marks[0])


def without_fillers(text: str) -> str:
    """What was said without hesitation; the text itself where nothing else was said."""
    lines = [_OPENER.sub("", _FILLER.sub("", line)) for line in text.split("\n")]
    return "\n".join(line for line in lines if line.strip()) or text


def in_digits(text: str, language: str, *, lone: bool = False) -> str:
    """The text with numbers as digits: "nineteen sixty-nine" is 1969, "three point five" 3.5, 二十三 23.

    Args:
        text: One or more sentences.
        language: The question's language; English and Chinese words are always read.
        lone: Read "one" and single Chinese numerals as numbers too, which short answers are anyway.
    """
    short = len(text.split()) <= _FEW_WORDS and len(text) <= 40
    kept = _PRONOUN.sub(lambda found: re.sub("one", _HELD, found.group(), flags=re.I), text)
    digits = _POINT.sub(".", with_digits(kept, language, lone=lone or short)).replace(_HELD, "one")
    # Two numbers that stood in digits already are no year: "rooms 19 20".
    return digits if _DIGIT.search(text) else _YEAR.sub(r"\1\2", _OH.sub("0", digits))


SPOKEN_QA = SpokenQaGrader("spoken_qa@2")
