"""Texts as tokens and grams: what two questions share when one was taken from the other.

A token is a word, a number, or one character of a script that writes no words apart. A gram is 5 following tokens, or 8
where most of the first 5 are characters. A shared 13-gram of words (Brown et al. 2020, appendix C) is a run of 9 shared
grams, so these find all that 13-grams find, and near copies beside.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

GRAM_METHOD = "grams@1"
WORDS_SPAN, CHARACTERS_SPAN = 5, 8
CHARACTER_WEIGHT = 0.625
"""A Chinese character carries as much as this many words: 8 characters stand where 5 words do."""
COMMON_FROM = 11
"""What stands in so many questions of one benchmark is its manner of asking; GPT-3's authors ignored 13-grams that were
found in more than ten documents (Brown et al. 2020, appendix C)."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_CACHED_TOKENS = 1 << 18

_CHARACTERS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff\U00020000-\U0003ffff"
_TOKEN = re.compile(
    rf"[{_CHARACTERS}]|\d+(?:[.,]\d+)*(?![^\W\d_{_CHARACTERS}])"
    rf"|[^\W_{_CHARACTERS}]+(?:['’][^\W_{_CHARACTERS}]+)*"
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_IS_CHARACTER = re.compile(f"[{_CHARACTERS}]")
_PLACEHOLDER = re.compile(r"<\s*(?:image|audio|video|图片|图像|音频|视频)?[\s_-]*\d*\s*>", re.IGNORECASE)
_LABEL = re.compile(r"\s*(?:[(（]\s*[A-Za-z]\s*[)）]|[A-Za-z]\s*[.)）:：、．])\s*(?=\S)")
# 'One' and 一 are left out: they mostly count nothing.
_NUMERALS = {
    word: str(value)
    for value, words in enumerate(
        ("two 二 两", "three 三", "four 四", "five 五", "six 六", "seven 七", "eight 八", "nine 九", "ten 十"), start=2
    )
    for word in words.split()
}

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Field:
    """One text under the name that people know it by: prompt, choice B, step 2, transcript."""

    label: str
    text: str

    @classmethod
    def clean(cls, label: str, text: str) -> "Field":
        """In Unicode's compatibility form, without placeholders of media."""
        return cls(label, _PLACEHOLDER.sub(" ", unicodedata.normalize("NFKC", text)).strip())


@dataclass(frozen=True)
class Document:
    """What is compared as one: fields in order, and the options among which an answer is chosen."""

    fields: tuple[Field, ...]
    options: tuple[Field, ...] = ()

    @classmethod
    def of(cls, fields: Iterable[tuple[str, str]], options: Iterable[tuple[str, str]] = ()) -> "Document":
        """From labels and texts as they come; empty ones are left out, and options lose their `A.` or `(B)`."""
        bare = ((label, _LABEL.sub("", text, count=1)) for label, text in options)
        kept = [[one for one in (Field.clean(*pair) for pair in pairs) if one.text] for pairs in (fields, bare)]
        return cls(tuple(kept[0]), tuple(kept[1]))

    @cached_property
    def all_fields(self) -> tuple[Field, ...]:
        """Fields and options."""
        return (*self.fields, *self.options)

    @cached_property
    def tokens(self) -> tuple["Token", ...]:
        """All tokens in order; between two fields one position stays empty, so that no gram reaches over it."""
        found: list[Token] = []
        for place, one in enumerate(self.all_fields):
            for match in _TOKEN.finditer(one.text):
                position = len(found) + place
                found.append(Token(position, place, match.start(), match.end(), _normal(match[0])))
        return tuple(found)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The numbers that it holds, in digits, in order of their text."""
        return tuple(sorted(number for token in self.tokens if (number := number_of(token.text)) is not None))

    @property
    def whole(self) -> int | None:
        """Hash of everything, whatever the order of the options; None without tokens."""
        if not self.tokens:
            return None
        texts, options = self._joined
        return _hash_of("\n".join([*texts, *sorted(options)]))

    @property
    def option_set(self) -> int | None:
        """Hash of the set of options, whatever their order; None for fewer than two."""
        texts = sorted(set(self._joined[1]))
        return _hash_of("\n".join(texts)) if len(texts) > 1 else None

    def weight(self, positions: Iterable[int]) -> float:
        """How much the tokens at these positions say: different words that are neither common nor numbers.

        In words; a character counts for `CHARACTER_WEIGHT` of one.
        """
        silent = self._silent
        chosen = set(positions)
        told = {token.text for token in self.tokens if token.position in chosen and token.position not in silent}
        return sum(CHARACTER_WEIGHT if _IS_CHARACTER.match(text) else 1.0 for text in told)

    @property
    def _joined(self) -> tuple[list[str], list[str]]:
        """The normal form of every field, and of every option."""
        told: list[list[str]] = [[] for _ in self.all_fields]
        for token in self.tokens:
            told[token.field].append(token.text)
        joined = [" ".join(words) for words in told]
        return joined[: len(self.fields)], joined[len(self.fields) :]

    @cached_property
    def _silent(self) -> frozenset[int]:
        """Positions of common words and of numbers."""
        words, phrases = _common()
        silent = {one.position for one in self.tokens if one.text in words or number_of(one.text) is not None}
        at = {(one.field, one.start): one.position for one in self.tokens}
        for place, field in enumerate(self.all_fields):
            for found in phrases.finditer(field.text):
                silent |= {at[place, start] for start in range(*found.span()) if (place, start) in at}
        return frozenset(silent)


class Token(NamedTuple):
    """A token: its position in the document, its field, its characters there, and its normal form."""

    position: int
    field: int
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Grams:
    """Grams of many documents, in the order of documents and positions; all arrays have shape (grams,)."""

    row: Rows
    position: Rows
    span: Rows
    hash: Hashes


def grams_of(documents: Sequence[Document]) -> Grams:
    """All grams of documents; one that lies in two fields is none."""
    tokens = [(row, token) for row, document in enumerate(documents) for token in document.tokens]
    rows = np.array([row for row, _ in tokens], dtype=np.int64)
    positions = np.array([token.position for _, token in tokens], dtype=np.int64)
    hashes = np.array([_hash(token.text) for _, token in tokens], dtype=np.uint64)
    wide = np.array([_IS_CHARACTER.match(token.text) is not None for _, token in tokens], dtype=bool)
    if len(tokens) < WORDS_SPAN:
        return Grams(rows[:0], positions[:0], positions[:0], hashes[:0])
    first_wide = np.lib.stride_tricks.sliding_window_view(wide, WORDS_SPAN).sum(axis=1) * 2 > WORDS_SPAN
    parts = [_spans(rows, positions, hashes, WORDS_SPAN, ~first_wide)]
    parts.append(_spans(rows, positions, hashes, CHARACTERS_SPAN, first_wide))
    joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    order = np.lexsort((joined[1], joined[0]))
    return Grams(*(column[order] for column in joined))


def covered(positions: Iterable[int], spans: Iterable[int]) -> set[int]:
    """Positions of tokens that lie in a gram, of which the first positions and the lengths are given."""
    return {position + step for position, span in zip(positions, spans, strict=True) for step in range(span)}


@lru_cache(_CACHED_TOKENS)
def number_of(token: str) -> str | None:
    """The number that a token is, in digits; None where it is none."""
    if _NUMBER.fullmatch(token):
        return token.replace(",", "").lstrip("0") or "0"
    return _NUMERALS.get(token)


def is_character(token: str) -> bool:
    """Whether a token is a character of a script that writes no words apart."""
    return _IS_CHARACTER.match(token) is not None


def numbers_agree(first: Sequence[str], second: Sequence[str], at_least: float) -> bool:
    """Whether the numbers of the one that has fewer are found in the other, to this share; no numbers always agree."""
    fewer = min(len(first), len(second))
    return fewer == 0 or (Counter(first) & Counter(second)).total() >= at_least * fewer


def _spans(
    rows: Rows, positions: Rows, hashes: Hashes, span: int, chosen: npt.NDArray[np.bool_]
) -> list[npt.NDArray[Any]]:
    if len(rows) < span:
        empty = np.zeros(0, dtype=np.int64)
        return [empty, empty, empty, np.zeros(0, dtype=np.uint64)]
    starts = np.arange(len(rows) - span + 1)
    ends = starts + span - 1
    whole = (rows[starts] == rows[ends]) & (positions[ends] - positions[starts] == span - 1)
    starts = starts[whole & chosen[: len(starts)]]
    hashed = np.full(len(starts), span, dtype=np.uint64)
    for step in range(span):
        hashed = (hashed + hashes[starts + step]) * _FACTOR  # wraps at 64 bits
    return [rows[starts], positions[starts], np.full(len(starts), span, dtype=np.int64), hashed ^ (hashed >> 32)]


def _normal(token: str) -> str:
    return token.casefold().replace("’", "'")


def _hash_of(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


_hash = lru_cache(_CACHED_TOKENS)(_hash_of)
"""Of tokens, which come again and again."""


@cache
def _common() -> tuple[frozenset[str], re.Pattern[str]]:
    """Common words, and a pattern of common phrases in characters, longest first."""
    text = files("curation.contamination").joinpath("common_words.txt").read_text(encoding="utf-8")
    told = {word for line in text.splitlines() if not line.startswith("#") for word in line.split()}
    phrases = sorted((one for one in told if _IS_CHARACTER.match(one)), key=lambda one: (-len(one), one))
    return frozenset(told), re.compile("|".join(map(re.escape, phrases)))
