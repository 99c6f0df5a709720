"""Words as the index holds and asks for them: Latin by word stem, Chinese and Japanese by character."""

import re
import unicodedata

from core.errors import InterplayError

# Ideographs, kana and their marks: scripts that put no spaces between words.
_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_WIDE_SIGNS = "\u2018-\u201d\u2026\u3001-\u303f\uff01-\uff65"
_EACH = re.compile(f"([{_UNSPACED}])")
_BETWEEN = re.compile(f"(?<=[{_UNSPACED}{_WIDE_SIGNS}]) +(?=[{_UNSPACED}{_WIDE_SIGNS}])")
# Full-width letters and digits; wide punctuation stays, for people read it.
_WIDE_WORD = re.compile(r"[^\W\x00-\x7f]+")
_QUERY_TERM = re.compile(r'"([^"]+)"|(\S+)')
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:[*](?!\w))?")


class NothingToSearchFor(InterplayError):
    """A query without a word in it."""


def spaced(text: str) -> str:
    """Text for the index, each ideograph a word of its own, so that any run of them is found as a phrase."""
    return _EACH.sub(r" \1 ", _WIDE_WORD.sub(lambda found: unicodedata.normalize("NFKC", found.group()), text))


def unspaced(text: str) -> str:
    """What `spaced` made, as people read it."""
    return " ".join(_BETWEEN.sub("", text).split())


def match_expression(query: str) -> str:
    """A query as people write it, as one of SQLite's full-text index (FTS5).

    All words must occur; words in double quotes, and characters of one run of Chinese, beside one another; a word that
    ends in `*` is the beginning of one.

    Raises:
        NothingToSearchFor: There is no word in it.
    """
    terms: list[str] = []
    for quoted, plain in _QUERY_TERM.findall(unicodedata.normalize("NFKC", query)):
        words = _WORD.findall(quoted or plain)
        if quoted:
            terms += [_phrase(" ".join(words))] if words else []
        else:
            terms += [_phrase(word.rstrip("*")) + ("*" if word.endswith("*") else "") for word in words]
    if not terms:
        raise NothingToSearchFor(f"{query!r} holds no word to search for; write letters, digits or characters")
    return " AND ".join(terms)


def _phrase(words: str) -> str:
    return '"' + " ".join(spaced(words).split()) + '"'
