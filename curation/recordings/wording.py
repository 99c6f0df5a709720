"""A script and what was heard of it, brought into one form, and how far they differ."""

import re
import unicodedata

from core.errors import MissingExtra
from evaluation.graders.numerals import chinese_value, with_digits

WRITTEN_WITHOUT_SPACES = frozenset(("zh", "yue", "ja"))
_APOSTROPHES = re.compile(r"(?<=\w)['\u2019\u02bc](?=\w)")
_NUMERALS = re.compile("[零〇一二三四五六七八九十百千万亿两]+")


def is_spaceless(language: str) -> bool:
    """Whether a language is counted in characters, for it writes no spaces."""
    return language.partition("-")[0].lower() in WRITTEN_WITHOUT_SPACES


def normalised(text: str, language: str) -> str:
    """A text without what is not heard: punctuation, case, full width; number words become digits.

    Words are left with one space between them; languages that write none have none at all. Digits and number words are
    the same only where one number was said in one of the usual ways.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaceless = is_spaceless(language)
    digits = _NUMERALS.sub(_digits, folded) if spaceless else with_digits(folded, language, lone=True)
    joined = _APOSTROPHES.sub("", digits)
    words = "".join(one if _is_heard(one) else " " for one in joined).split()
    return ("" if spaceless else " ").join(words)


def length_of(text: str, language: str) -> int:
    """How many words (characters) a text has, number words as they are spoken."""
    folded = unicodedata.normalize("NFKC", text)
    if is_spaceless(language):
        return sum(map(_is_heard, folded))
    return sum(any(map(_is_heard, word)) for word in folded.split())


def error_rate(script: str, heard: str, language: str) -> float | None:
    """Edits that make the script into what was heard, over the script's length; None when the script has no words.

    Of words (WER), or of characters (CER) in languages that write no spaces; it can be over 1.

    Raises:
        MissingExtra: jiwer is not installed.
    """
    try:
        import jiwer
    except ImportError as error:
        raise MissingExtra("Comparing a take with its script", "speech") from error
    wanted, said = normalised(script, language), normalised(heard, language)
    if not wanted:
        return None
    rate = jiwer.cer if is_spaceless(language) else jiwer.wer
    return float(rate(wanted, said))


def _is_heard(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNM"


def _digits(found: re.Match[str]) -> str:
    value = chinese_value(found.group())
    return found.group() if value is None or value.denominator != 1 else str(value.numerator)
