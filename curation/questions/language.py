"""Which language a public question is written in, where its set does not say: Chinese, or else English."""

import re
from collections.abc import Iterable

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
# Single letters are labels, variables and units.
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]{2,}")
WORD_WEIGHT = 2
"""In Chinese characters: what an English word is worth."""


def language_of(prompt: str, choices: Iterable[str] = ()) -> str:
    """`zh` where Chinese characters outweigh words in Latin letters, else `en`; choices count where no prompt does."""
    for text in (prompt, "\n".join(choices)):
        han, latin = len(_HAN.findall(text)), WORD_WEIGHT * len(_WORD.findall(text))
        if han or latin:
            return "zh" if han > latin else "en"
    return "en"
