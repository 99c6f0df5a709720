"""Yes or no: the polarity of an answer, said as a word or as a sentence that states or denies what was asked."""

import re

from core.question import AnswerKey
from evaluation.graders.base import RuleGrader, nothing_found
from evaluation.graders.cleaning import clean_fragment
from evaluation.graders.phrases import negation_count, read_words
from evaluation.graders.reading import sentences, statements, without_declining
from evaluation.graders.verdicts import Mark, Why, not_graded, right, shown, wrong

_YES = (
    "yes", "yeah", "yep", "yup", "true", "correct", "affirmative", "certainly",
    "absolutely", "indeed", "是的", "是", "对的", "对", "没错", "正确", "有的", "有", "能", "会的", "会",
    "可以", "成立", "真",
)  # fmt: skip
_NO = (
    "no", "nope", "false", "incorrect", "negative", "否", "不是的", "不是", "不对",
    "不正确", "当然不是", "当然不", "当然没有", "错误",
    "错的", "错", "没有", "不能", "不会", "不可以", "不成立", "并非如此", "并非",
    "并不是", "并不", "假", "不", "无",
)  # fmt: skip
_WORD = re.compile(
    rf"[\s\"'(「“]{{0,3}}(?:(?P<no>not (?:true|correct|really|at all)"
    r"|(?:absolutely|certainly|definitely|of course|surely) not"
    rf"|{'|'.join(sorted(_NO, key=len, reverse=True))})"
    rf"|(?P<yes>{'|'.join(sorted(_YES, key=len, reverse=True))}))"
    r"(?=[\s,.!;:。、)\"'—」-]|$)",
    re.IGNORECASE,
)
# The word that a sentence opens with stands beside what the sentence states.
_OPENING_WORD = re.compile(r"^[\s\"'(]{0,3}(?:yes|no|是的|不是的?|没有|不对|没错|对)[,.;:!。—-]{1,2}", re.I)
# "No other animals are visible" opens with a determiner, not with an answer.
_NO_DETERMINER = re.compile(
    r"[\s\"'(]{0,3}(?:no|true|correct|negative|false)\s+(?!it\b|there\b|the\b|this\b|that\b|they\b|he\b|she\b|we\b|i\b|you\b)\w",
    re.I,
)
_LAST_WORD = re.compile(
    r"(?:\b(?:is|be|say|answer|definitely|clearly)|[:,]) ?[\"']?(?P<word>yes|no)[\"']?[.!\s]{0,3}$", re.I
)
_BOTH = re.compile(
    r"\byes(?: and|,? but also|[ ,-]{0,3}or(?: (?:maybe|perhaps|possibly))?)? no\b|\bboth yes\b"
    r"|既是.{0,4}也不是|是也不是"
    r"|\bno[ ,-]{0,3}or(?: (?:maybe|perhaps|possibly))? yes\b",
    re.I,
)
# These say yes or no only where nothing else is said: "Sure, let me look" does not.
_WHOLE_YES = frozenset(("y", "t", "sure", "of course", "ok", "okay", "当然", "当然是", "嗯", "是啊", "确实", "不错"))
_WHOLE_NO = frozenset(("n", "f", "nah", "of course not", "no way", "nope", "not at all"))
_CHOICE_OFFERED = re.compile(r"\(?\byes ?(?:or|/) ?no\b\)?|是或否|是/否|对或错", re.I)

_ASKS = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must)\b", re.I)
_ASKS_ZH = re.compile("吗|是否|是不是|有没有|能否|能不能|会不会|可否|对不对")
_FUNCTION_ZH = re.compile(
    r"吗|呢|啊|是否|是不是|有没有|能否|能不能|会不会|可否|对不对|请问|请|图中|图片|画面|视频|音频|录音|中|里|这|那|个|在|的|了|是|有|能|会|可以|\W"
)
_PLACEHOLDER = re.compile(r"<(?:image|audio|video)_\d+>")
_FUNCTION = frozenset((
    "is", "are", "was", "were", "be", "been", "being", "do", "does", "did", "has", "have", "had", "can",
    "could", "will", "would", "should", "may", "might", "must", "a", "an", "the", "this", "that", "these",
    "those", "there", "it", "its", "he", "she", "they", "them", "his", "her", "their", "you", "your", "we",
    "our", "i", "my", "in", "on", "at", "of", "to", "for", "from", "by", "with", "and", "or", "as", "any",
    "some", "image", "picture", "video", "audio", "clip", "shown", "please", "answer", "yes", "no",
))  # fmt: skip
_HEDGES = re.compile(
    r"\b(?:hardly|barely|scarcely|rarely|seldom|maybe|perhaps|possibly|might|may|could|unclear|unsure|whether|if|unless|almost"
    r"|nearly|unlikely)\b|可能|也许|或许|大概|几乎|不一定|不确定|是否|如果|除非|很少",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"(?:ing|ed|es|s)$")


class YesNoGrader(RuleGrader):
    """The same polarity as the key's; the last statement counts."""

    def mark(self, key: AnswerKey, answer: str, language: str, ask: str) -> Mark:
        """Find the polarity in a word, or else in a sentence that uses all content words of the question."""
        accepted = [clean_fragment(text) for text in key.accepted]
        wanted = {polarity for polarity in map(_whole_polarity, accepted) if polarity is not None}
        if len(wanted) != 1:
            return not_graded(Why.BAD_KEY, "the key must say yes or no, and only one of them")
        if answer.casefold() in {text.casefold() for text in accepted}:
            return right(f"{shown(answer)} is an accepted answer")
        said = without_declining(_CHOICE_OFFERED.sub(" ", answer))
        if _BOTH.search(said):
            return not_graded(Why.HEDGED, f"{shown(answer)} says yes and no")
        polarity, stated = _stated_polarity(said), _sentence_polarity(said, ask)
        if polarity is None:
            polarity = stated
        elif stated is not None and stated is not polarity:
            return not_graded(Why.CONTRADICTION, f"{shown(answer)} says {_word(polarity)} and states the opposite")
        if polarity is None:
            return nothing_found(answer, "yes or no")
        words = f"says {_word(polarity)}"
        return right(words) if {polarity} == wanted else wrong(words)


def _word(polarity: bool) -> str:
    return "yes" if polarity else "no"


def _whole_polarity(text: str) -> bool | None:
    found = _WORD.match(text)
    if not found or text[found.end() :].strip(" .!。"):
        return None
    return found["yes"] is not None


def _stated_polarity(text: str) -> bool | None:
    whole = text.strip(" .!,。'\"").casefold()
    if whole in _WHOLE_YES or whole in _WHOLE_NO:
        return whole in _WHOLE_YES
    for statement in statements(text):
        found = _WORD.match(statement)
        if found and not _NO_DETERMINER.match(statement):
            return found["yes"] is not None
    polarity = None
    for sentence in sentences(text):
        found = _WORD.match(sentence)
        end = sentence[-40:]
        last = _LAST_WORD.search(end)
        if found and not sentence.endswith("?") and not _NO_DETERMINER.match(sentence):
            polarity = found["yes"] is not None
        elif last and not negation_count(end[: last.start("word")]):  # "I would not say no"
            polarity = last["word"].lower() == "yes"
    return polarity


def _sentence_polarity(text: str, ask: str) -> bool | None:
    """The polarity of the last sentence that holds all content words of what was asked, and plainly."""
    asked = _PLACEHOLDER.sub(" ", clean_fragment(ask))
    questions = [part for part in sentences(asked) if _ASKS.match(part) or _ASKS_ZH.search(part)]
    if not questions or negation_count(_ASKS_ZH.sub("", questions[-1])):
        return None
    for sentence in reversed(sentences(text)[-20:]):
        if sentence.endswith("?") or _HEDGES.search(sentence) or not _states(sentence, questions[-1]):
            continue
        return {0: True, 1: False}.get(negation_count(_OPENING_WORD.sub("", sentence)))
    return None


def _states(sentence: str, question: str) -> bool:
    if _ASKS_ZH.search(question):
        content = set(_FUNCTION_ZH.sub("", question))
        return bool(content) and content <= set(sentence)
    wanted = [word for word in read_words(question).words if word not in _FUNCTION]
    said = read_words(sentence).words
    return bool(wanted) and all(any(_same_word(word, other) for other in said) for word in wanted)


def _same_word(left: str, right_word: str) -> bool:
    if left == right_word:
        return True
    stems = sorted((_SUFFIX.sub("", left), _SUFFIX.sub("", right_word)), key=len)
    return len(stems[0]) >= 3 and stems[1].startswith(stems[0]) and len(stems[1]) - len(stems[0]) <= 1


YES_NO = YesNoGrader("yes_no@2")
