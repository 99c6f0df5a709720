"""Whether a question is written in the language that it is said to be in: Chinese and English, by their scripts."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from core.content import TextPart
from core.question import choice_label
from qc.checks import Finding, Subject, error, warning

# In Chinese characters. An English word is worth about two of them; in less text a name or two would decide.
_WORD_WEIGHT = 2
_SHORT = 6
_OTHER, _MIXED, _OWN = 0.3, 0.5, 0.7
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
# Single letters are labels, variables and units.
_WORD = re.compile(r"[^\W\d_]{2,}")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
# What may be in any language: placeholders, tags, code, formulas, addresses, and whatever is quoted.
_ASIDE = re.compile(
    r"<[^<>\n]{1,60}>|```.*?```|`[^`\n]*`|\$[^$\n]*\$|\\[A-Za-z]+|https?://\S+|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)"
    r"|“[^”]*”|‘[^’]*’|「[^」]*」|『[^』]*』|《[^》]*》",
    re.DOTALL,
)
_SENTENCE_END = re.compile(r"[\n.?!;:。？！；：]+")


def language_matches(subject: Subject) -> Iterable[Finding]:
    """Prompt and steps must be in the stated language, and the choices in one.

    Names, options and quotations in the other language are no mistake, nor is a passage beside a question that is in
    the stated one. Languages other than Chinese and English are not looked at.
    """
    question = subject.question
    language = question.language.partition("-")[0]
    if language not in {"en", "zh"}:
        return
    prompt = "\n".join(part.text for part in question.prompt if isinstance(part, TextPart))
    asked = "\n".join([prompt, *(step.ask for step in question.steps)])
    share = _share(asked, language)
    choices = [_share(choice.text, language) for choice in question.choices]
    if share is None:
        told = [one for one in choices if one is not None]
        if not _weights(asked, language)[0]:
            yield from _if_other(max(told, default=1.0), "the text of the choices is", "选项文字", question.language)
    elif share <= _OTHER and not _has_sentence(asked, language):
        yield error(
            "wrong_language",
            f"the question is not in the stated language {question.language!r}",
            f"题目所用语言与标注的语言（{question.language}）不符",
        )
    elif share < _MIXED:
        yield warning(
            "wrong_language",
            f"less than half of the text is in the stated language {question.language!r}",
            f"不到一半的文字使用标注的语言（{question.language}）",
        )
    else:
        for number, step in enumerate(question.steps, start=1):
            if (of_step := _share(step.ask, language)) is not None:
                yield from _if_other(of_step, f"step {number} is", f"第 {number} 步", question.language)
    yield from _if_in_two(choices)


def _if_other(share: float, what: str, what_zh: str, language: str) -> Iterable[Finding]:
    if share <= _OTHER:
        yield warning(
            "wrong_language",
            f"{what} not in the stated language {language!r}",
            f"{what_zh}未使用标注的语言（{language}）",
        )


def _if_in_two(shares: Sequence[float | None]) -> Iterable[Finding]:
    own = [choice_label(place) for place, share in enumerate(shares) if share is not None and share >= _OWN]
    other = [choice_label(place) for place, share in enumerate(shares) if share is not None and share <= _OTHER]
    if own and other:
        yield warning(
            "wrong_language",
            f"choice {own[0]} is in one language and choice {other[0]} in another",
            f"选项 {own[0]} 与选项 {other[0]} 使用的语言不同",
        )


def _has_sentence(text: str, language: str) -> bool:
    """Whether a sentence of some length is in the language."""
    shares = (_share(sentence, language) for sentence in _SENTENCE_END.split(_prose(text)))
    return any(share is not None and share >= _OWN for share in shares)


def _share(text: str, language: str) -> float | None:
    """Which share of a text is in the language; None for a short one."""
    own, total = _weights(text, language)
    return own / total if total >= _SHORT else None


def _weights(text: str, language: str) -> tuple[int, int]:
    """How much of a text is in the language, and how much there is."""
    prose = _prose(text)
    han = len(_HAN.findall(prose))
    words = _WORD.findall(_HAN.sub(" ", prose))
    latin = sum(_LATIN.match(word) is not None for word in words) * _WORD_WEIGHT
    return (han if language == "zh" else latin), han + len(words) * _WORD_WEIGHT


def _prose(text: str) -> str:
    return _ASIDE.sub(" ", unicodedata.normalize("NFKC", text))
