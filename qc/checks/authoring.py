"""The checks that authors see while they write, and that round 1 runs again."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from core.content import Modality, TextPart
from core.errors import UnknownName
from core.question import Question, QuestionKind, Step, choice_label
from core.taxonomy import load_taxonomy
from qc.checks import Finding, Subject, error, warning

MODALITIES_ZH = {Modality.TEXT: "文字", Modality.IMAGE: "图片", Modality.AUDIO: "音频", Modality.VIDEO: "视频"}
SAME_QUESTION_RATIO = 0.97
STANDS_OUT_RATIO = 2.0
STANDS_OUT_CHARACTERS = 20
# An answer this short (a digit, a letter) occurs in any text by chance; only an announced one is a leak.
LEAK_MIN_CHARACTERS = 3
LEAK_MIN_CHARACTERS_HAN = 2
_SAID_ANYWHERE = frozenset({"yes", "true", "false"})
# In "A dog", not in "A and B".
_ARTICLE = re.compile(r"\b(?:[Aa]n?(?!\s+(?:and|or)\b)|[Tt]he)\s+(?=[a-z])")
# Signs and decimal points stand beside digits, and a hyphen without letters on both sides may be a minus.
_SENSELESS = re.compile(r"(?<!\d)[\s'’\".,;:()?。，；：、（）？“”‘’]+(?!\d)|(?<=[^\W\d]{2})[-–](?=[^\W\d]{2})")
_ANNOUNCED = re.compile(
    r"\b(?:answer|solution|hint|key)\b\W{0,3}(?:\w+\s){0,4}?(?:is\b\s?:?|:|=)\s*"
    r"|(?:答案|正确选项|提示)[^。\n]{0,8}?(?:是:?|为:?|:)\s*",
    re.IGNORECASE,
)
# A capital that stands alone; "A dog" begins with an article.
_LABEL = re.compile(r"[\s\"'(\[]*([A-Z])(?!\w|'\w)(?! [a-z])")
# "Answer: yes or no" tells what can be answered, and not which is right.
_ALTERNATIVES = re.compile(
    r"[\"'\])]*\s*(?:/|(?:[,，、][^.。?？!！\n]{1,200}?)?(?:\bor\b|还是|或(?!许)))", re.IGNORECASE
)
_SHA256 = re.compile(r"\b[0-9a-f]{64}\b")
# `<image_1>` as authors also write it: `<Image 1>`, `＜image1＞`.
_PLACEHOLDER_LIKE = re.compile(r"[<＜]\s*(image|audio|video)[\s_-]*0*(\d{1,4})\s*[>＞]", re.IGNORECASE)
_MEDIA_FILE = re.compile(
    r"[\w-][\w.-]*\.(?:jpe?g|png|gif|bmp|webp|tiff?|wav|mp3|flac|ogg|opus|m4a|aac|mp4|mov|mkv|webm|avi)(?![\w.-]*\w)",
    re.IGNORECASE | re.ASCII,
)


def required_media(subject: Subject) -> Iterable[Finding]:
    """Each required modality must really be in the prompt (in a spoken question, audio is)."""
    question = subject.question
    for modality in sorted(question.required - question.modalities - {Modality.TEXT}):
        yield error(
            "missing_modality",
            f"{modality.value} is required, but the prompt holds no {modality.value}",
            f"题目要求{MODALITIES_ZH[modality]}，但题干中没有{MODALITIES_ZH[modality]}",
        )
    if len(question.required - {Modality.TEXT}) < 2:
        yield error(
            "missing_modality",
            "an omni-modal question requires at least two of image, audio and video",
            "全模态题目须至少需要图片、音频、视频中的两种",
        )


def known_task_type(subject: Subject) -> Iterable[Finding]:
    """The task type must be in the taxonomy."""
    try:
        load_taxonomy().get(subject.question.task_type)
    except UnknownName as unknown:
        yield error("unknown_task_type", str(unknown), f"任务类型“{subject.question.task_type}”不在分类体系中")


def placeholders(subject: Subject) -> Iterable[Finding]:
    """What the text calls like media must be there, and media must not be called by file name or content."""
    question = subject.question
    carried = {part.name for part in question.media}
    texts = [part.text for part in question.prompt if isinstance(part, TextPart)]
    text = "\n".join([*texts, *(choice.text for choice in question.choices), *(step.ask for step in question.steps)])
    named = {f"{found[1].lower()}_{int(found[2])}": found[0] for found in _PLACEHOLDER_LIKE.finditer(text)}
    for name in sorted(named.keys() - carried):
        yield error(
            "bad_placeholder",
            f"the text names {named[name]}, but there is no {name}; add it or remove it",
            f"文字中提到 {named[name]}，但没有 {name}；请补上素材或删去",
        )
    for told in sorted({found[0] for pattern in (_MEDIA_FILE, _SHA256) for found in pattern.finditer(text)}):
        yield warning(
            "media_named",
            f"the text holds {told!r}, which looks like the name of a media file",
            f"文字中的“{told}”像是素材文件名",
        )


def distinct_choices(subject: Subject) -> Iterable[Finding]:
    """No two choices may say the same; nearly the same (but for articles, spaces and punctuation) is a warning."""
    same: dict[str, int] = {}
    alike: dict[str, int] = {}
    for place, choice in enumerate(subject.question.choices):
        first = same.setdefault(normalise(choice.text), place)
        like = alike.setdefault(_bare(choice.text), place)
        if first != place:
            one, two = choice_label(first), choice_label(place)
            yield error(
                "duplicate_choices",
                f"choices {one} and {two} both say {choice.text!r}",
                f"选项 {one} 与 {two} 内容相同：“{choice.text}”",
            )
        elif like != place:
            one, two, other = choice_label(like), choice_label(place), subject.question.choices[like].text
            yield warning(
                "duplicate_choices",
                f"choices {one} and {two} say nearly the same: {other!r} and {choice.text!r}",
                f"选项 {one} 与 {two} 几乎相同：“{other}”与“{choice.text}”",
            )


def answer_not_in_text(subject: Subject) -> Iterable[Finding]:
    """The prompt must not announce the answer, nor hold it as a phrase while it holds no other choice.

    Nor may one step hold the answer of another: all of them are asked at once.
    """
    question = subject.question
    yield from _steps_that_tell(question.steps)
    text = _one_line(" ".join(part.text for part in question.prompt if isinstance(part, TextPart)))
    labels = {choice_label(index) for index in question.answer.correct}
    answers = _answers(question)
    for found in _ANNOUNCED.finditer(text):
        rest = text[found.end() :]
        label = _LABEL.match(rest)
        if label and _ALTERNATIVES.match(rest[label.end() :]):
            continue
        said = sorted(answer for answer in answers if _begins(rest.casefold(), answer))
        if said or (label and label[1] in labels):
            told = said[-1] if said else rest[:1]
            yield error("answer_leaked", f"the prompt announces the answer {told!r}", f"题干直接给出了答案“{told}”")
            return
    prompt = text.casefold()
    held = {answer for answer in answers if _is_telling(answer) and _holds(prompt, answer)}
    others = {normalise(choice.text) for choice in question.choices} - answers
    if held and not any(_holds(prompt, other) for other in others):
        told = sorted(held)[0]
        yield warning(
            "answer_leaked",
            f"the prompt holds the answer {told!r} and no other choice",
            f"题干中出现了答案“{told}”，而没有出现其他选项",
        )


def key_does_not_stand_out(subject: Subject) -> Iterable[Finding]:
    """The right choice should not be told by its length."""
    question = subject.question
    key = [len(question.choices[index].text) for index in question.answer.correct if question.choices]
    rest = [len(c.text) for place, c in enumerate(question.choices) if place not in question.answer.correct]
    if key and rest and min(key) > STANDS_OUT_RATIO * max(rest) and min(key) > STANDS_OUT_CHARACTERS:
        yield warning(
            "key_stands_out",
            "the key is more than twice as long as every other choice",
            "正确选项的长度超过其他任一选项的两倍",
        )


def not_asked_before(subject: Subject) -> Iterable[Finding]:
    """No other item may ask the same about the same media (a template asked of other media is another question).

    About near-duplicates of the media it is a warning: a counterfactual twin may show just that.
    """
    own = fingerprint_text(subject.question)
    for name, other in sorted(subject.others.items()):
        if other == own:
            yield error(
                "duplicate_question",
                f"item {name!r} asks the same about the same media",
                f"题目“{name}”针对相同素材问了同样的问题",
            )
        elif _alike(_SHA256.sub("", own), _SHA256.sub("", other)):
            yield warning(
                "duplicate_question",
                f"item {name!r} asks nearly the same about media that show the same",
                f"题目“{name}”针对内容相同的素材问了几乎同样的问题",
            )


def usable_media(subject: Subject) -> Iterable[Finding]:
    """Every material must be there, whole and usable."""
    return [error("media_unusable", problem.en, problem.zh) for problem in subject.media_problems]


def normalise(text: str) -> str:
    """One form for what reads the same: NFKC, lower case, single spaces."""
    return _one_line(text).casefold()


def fingerprint_text(question: Question) -> str:
    """The prompt with its media by content, its choices in alphabetical order, its steps, normalised.

    This is what `not_asked_before` compares.
    """
    parts = [part.text if isinstance(part, TextPart) else f" {part.media.sha256} " for part in question.prompt]
    asked = sorted(choice.text for choice in question.choices) + [step.ask for step in question.steps]
    return normalise(" ".join([*parts, *asked]))


def _one_line(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())


def _bare(text: str) -> str:
    """A choice without what seldom changes its sense; as it is where nothing else is left."""
    return _SENSELESS.sub("", _ARTICLE.sub("", _one_line(text)).casefold()) or normalise(text)


def _alike(first: str, second: str) -> bool:
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return matcher.quick_ratio() >= SAME_QUESTION_RATIO <= matcher.ratio()


def _answers(question: Question) -> set[str]:
    if question.kind is QuestionKind.CHOICE:
        return {normalise(question.choices[index].text) for index in question.answer.correct}
    keys = [question.answer, *(step.answer for step in question.steps)]
    return {normalise(text) for key in keys for text in key.accepted}


def _is_telling(answer: str) -> bool:
    if answer in _SAID_ANYWHERE:
        return False
    return len(answer) >= (LEAK_MIN_CHARACTERS if answer.isascii() else LEAK_MIN_CHARACTERS_HAN)


def _steps_that_tell(steps: Sequence[Step]) -> Iterable[Finding]:
    asks = [normalise(step.ask) for step in steps]
    for number, step in enumerate(steps):
        answers = sorted(filter(_is_telling, map(normalise, step.answer.accepted)))
        for place, ask in enumerate(asks):
            held = next((answer for answer in answers if place != number and _holds(ask, answer)), None)
            if held is not None:
                yield warning(
                    "answer_leaked",
                    f"step {place + 1} holds the answer of step {number + 1}, {held!r}",
                    f"第 {place + 1} 步中出现了第 {number + 1} 步的答案“{held}”",
                )


def _begins(text: str, answer: str) -> bool:
    """Whether a text begins with an answer as a whole (not 2 in 2.5, nor bee in beer) that is not one of several."""
    rest = text.lstrip(" \"'([")
    if not rest.startswith(answer) or not answer or _ALTERNATIVES.match(rest[len(answer) :]):
        return False
    return not answer[-1].isascii() or re.match(r"\w|[.,:]\d", rest[len(answer) :]) is None


def _holds(text: str, phrase: str) -> bool:
    boundary = r"\b" if phrase.isascii() else ""
    return re.search(f"{boundary}{re.escape(phrase)}{boundary}", text) is not None
