"""Which language a text is in, by py3langid: offline, on the CPU, a model of 4 MB that comes with the package."""

from collections.abc import Collection
from functools import cache
from typing import Any

# The members of the macrolanguage Chinese (ISO 639-3 `zho`) that models tell apart: whoever takes Chinese takes them.
_CHINESE = frozenset({"cdo", "cjy", "cmn", "gan", "hak", "hsn", "lzh", "nan", "wuu", "yue"})

SURE = 0.8


def is_wanted(language: str, wanted: Collection[str]) -> bool:
    """Whether a language tag ('zh', 'yue', 'en-GB') is one of the primary subtags."""
    subtag = language.partition("-")[0].lower()
    return subtag in wanted or (subtag in _CHINESE and "zh" in wanted)


def wanted_share(text: str, wanted: Collection[str]) -> float:
    """How probable it is that a text is in one of the languages, in [0, 1]."""
    return sum(float(share) for language, share in _identifier().rank(text) if is_wanted(language, wanted))


def language_of(text: str) -> str | None:
    """The language that a text is in (its primary subtag), None where that is less than `SURE` probable.

    A few Chinese words are Chinese, however unsure it is of which kind.
    """
    language, share = _identifier().rank(text)[0]
    if share >= SURE:
        return str(language)
    return "zh" if wanted_share(text, {"zh"}) >= SURE else None


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
