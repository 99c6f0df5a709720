"""The questions that simulated panel members understand, in English and Chinese.

The same templates write questions (`ask_text`) and read them (`read`), so that writer and reader cannot drift apart.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import Literal, TypeVar

from core.content import Frozen

Language = Literal["en", "zh"]


class Sight(StrEnum):
    """What can be counted by eye."""

    DOTS = "dots"
    FLASHES = "flashes"


class Hearing(StrEnum):
    """What can be counted or read by ear."""

    BEEPS = "beeps"
    NUMBER = "number"


T = TypeVar("T", Sight, Hearing)


class AskKind(StrEnum):
    """What a question asks for."""

    SUM = "sum"
    POINTED = "pointed"
    SAME = "same"
    SEEN = "seen"
    HEARD = "heard"
    PLACED = "placed"
    PICTURE = "picture"
    PRINTED = "printed"
    SHOWN = "shown"
    SPOKEN = "spoken"
    REPORT = "report"
    DESCRIBE = "describe"
    REVIEW = "review"


class Ask(Frozen):
    """One question with its terms filled in; which terms are set follows from the kind.

    `about` is what the question under review asks for: nothing where any part of it asks for something unknown.
    """

    kind: AskKind
    sight: Sight | None = None
    hearing: Hearing | None = None
    modulus: int | None = None
    place: int | None = None
    nonce: str | None = None
    about: tuple["Ask", ...] = ()


TERMS: Mapping[Sight | Hearing, Mapping[Language, str]] = {
    Sight.DOTS: {"en": "bright dots in the picture", "zh": "图中亮点"},
    Sight.FLASHES: {"en": "white flashes in the video", "zh": "视频中白色闪光"},
    Hearing.BEEPS: {"en": "the number of beeps in the recording", "zh": "录音中提示音的次数"},
    Hearing.NUMBER: {"en": "the number spoken in the recording", "zh": "录音中说出的数字"},
}

# A question under review stands between these lines, which it cannot forge: the marker is a hash over it.
QUOTE_BEGINS, QUOTE_ENDS = "===== QUESTION {marker} BEGINS =====", "===== QUESTION {marker} ENDS ====="
# What a review says of a question, as true or false.
REVIEW_ASPECTS = ("unambiguous", "one_answer", "fits_task_type", "answerable")

# Every template is tried from top to bottom; a later one may be part of an earlier one, never the reverse.
ASKS: Mapping[AskKind, Mapping[Language, str]] = {
    AskKind.REVIEW: {
        "en": "Say of the question between the marked lines whether it meets these requirements, and repeat the nonce "
        "{nonce} in your reply.",
        "zh": "请判断标记行之间的题目是否符合以下要求，并在回复中原样写出校验码{nonce}。",
    },
    AskKind.REPORT: {
        "en": "For each image, video or recording, in the order in which you received them, write one entry: the "
        "number printed in an image, the digits shown one after another in a video, the digits spoken in a recording. "
        "Separate the entries with commas. If you received nothing, write none.",
        "zh": "请按收到的顺序，为每个图片、视频或录音写一项：图片上印着的数字、视频中依次出现的数字、录音中说出的数字。"
        "各项用逗号分开。如果什么也没有收到，请写“无”。",
    },
    AskKind.SUM: {
        "en": "Add the number of {sight} to {hearing}. What is the remainder when the sum is divided by {modulus}?",
        "zh": "把{sight}的个数与{hearing}相加，所得的和除以{modulus}，余数是多少？",
    },
    AskKind.POINTED: {
        "en": "What does photo N show, where N is {hearing}?",
        "zh": "第N张照片里是什么？其中N是{hearing}。",
    },
    AskKind.SAME: {
        "en": "The number of {sight} is the same as {hearing}. Which number do both give?",
        "zh": "{sight}的个数与{hearing}相同。两者给出的是哪个数？",
    },
    AskKind.SEEN: {"en": "What is the number of {sight}?", "zh": "{sight}的个数是多少？"},
    AskKind.HEARD: {"en": "What is {hearing}?", "zh": "{hearing}是多少？"},
    AskKind.PLACED: {"en": "What does photo {place} show?", "zh": "第{place}张照片里是什么？"},
    AskKind.PICTURE: {"en": "What does the picture show?", "zh": "图片里是什么？"},
    AskKind.PRINTED: {"en": "What number is printed in the image?", "zh": "图片上印着的数字是什么？"},
    AskKind.SHOWN: {"en": "Which digits does the video show?", "zh": "视频中依次出现了哪些数字？"},
    AskKind.SPOKEN: {"en": "Which digits are spoken?", "zh": "录音中说了哪些数字？"},
}
HINT: Mapping[Language, str] = {"en": "Hint: the answer is {answer}.", "zh": "提示：答案是{answer}。"}
CAPTIONS: Mapping[Sight | Hearing, Mapping[Language, str]] = {
    Sight.DOTS: {"en": "Bright dots in the picture: {count}.", "zh": "图中亮点：{count}个。"},
    Sight.FLASHES: {"en": "White flashes in the video: {count}.", "zh": "视频中白色闪光：{count}次。"},
    Hearing.BEEPS: {"en": "Beeps in the recording: {count}.", "zh": "录音中的提示音：{count}次。"},
    Hearing.NUMBER: {"en": "A voice says: {count}.", "zh": "有人说：{count}。"},
}
PHOTO_CAPTION: Mapping[Language, str] = {"en": "Photo {place} shows {label}.", "zh": "照片{place}：{label}。"}
STEP: Mapping[Language, str] = {"en": "Step {place}: {text}", "zh": "步骤{place}：{text}"}

# Looser wordings of single questions, as delivery canaries use them; several in one text are answered in text order.
# Those for digits take in the wording of their templates.
_LOOSE: tuple[tuple[str, Ask], ...] = (
    (r"\bdots\b|\bdiscs\b|亮点|圆点", Ask(kind=AskKind.SEEN, sight=Sight.DOTS)),
    (r"\bflashes\b|闪光", Ask(kind=AskKind.SEEN, sight=Sight.FLASHES)),
    (r"\bbeeps\b|\btones\b|提示音", Ask(kind=AskKind.HEARD, hearing=Hearing.BEEPS)),
    (
        r"\b(?:numbers?|digits?)\b[^.?!,]{0,20}\b(?:printed|written)\b|(?:印|写)[^。？！，]{0,6}数字",
        Ask(kind=AskKind.PRINTED),
    ),
    (r"\b(?:numbers?|digits?)\b[^.?!,]{0,30}\b(?:video|shown?)\b|视频[^。？！，]{0,12}数字", Ask(kind=AskKind.SHOWN)),
    (
        r"\b(?:digits?|numbers?|code(?: ?words?)?)\b[^.?!,]{0,40}\b(?:spoken|says?|said|hear|heard)\b"
        r"|\b(?:spoken|hear|heard|repeat)\b[^.?!]{0,40}\b(?:digits?|numbers?|code(?: ?words?)?)\b"
        r"|(?:听|说|念|读|复述)[^。？！]{0,20}(?:数字|口令|暗号)|(?:数字|口令|暗号)[^。？！]{0,20}(?:听|说)",
        Ask(kind=AskKind.SPOKEN),
    ),
)
# How somebody is asked for a caption or a transcript.
_DESCRIBE = re.compile(r"\bin(?:to)? words for somebody who cannot (?:see|hear)\b|请为(?:看|听)不到", re.IGNORECASE)
# What stands before pictures that are frames of a video.
_FRAMES = re.compile(r"\[The next (\d+) pictures are frames of |\[以下 ?(\d+) ?张图片是 ", re.IGNORECASE)
_READ_LOOSELY = frozenset({AskKind.PRINTED, AskKind.SHOWN, AskKind.SPOKEN})
_NONE = re.compile(r"\bnone\b|[“「\"']无[”」\"']", re.IGNORECASE)
_PREFIX = re.compile(r"\banswer\s*:|答案[:：]", re.IGNORECASE)
_CHOICE = re.compile(r"^\s*(?:[(（]([A-Z])[)）]|([A-Z])\s*[.．:：、)）])\s*(\S.*?)\s*$", re.MULTILINE)
_STEP = re.compile(
    r"^\s*(?:step\s*|步骤\s*|第)?([1-9]\d?)\s*步?\s*(?:[(（][^)）\n]*[)）])?\s*[.:：、)）]\s*(\S.*?)\s*$",
    re.MULTILINE | re.IGNORECASE,
)
_BRACKETED = re.compile(r"\[[^\]]*\]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_SLOTS: Mapping[str, str] = {
    "modulus": r"\d+",
    "place": r"\d+",
    "count": r"\d+",
    "label": r"[^.。\n]+?",
    "answer": r"[^.。\n]+?",
    "nonce": r"[0-9a-f]{16}",
    "marker": r"[0-9a-f]{16}",
}


class Understood(Frozen):
    """What a text says and asks.

    Attributes:
        language: Of the text.
        asks: One for a plain question, several for a canary, none if the text asks for something unknown.
        choices: Label and text of each option.
        steps: For each step of a multi-step question, its asks.
        hint: The answer, where the text gives it away.
        counts: What captions say.
        photos: Place to label, from captions.
        may_say_none: Whether the text asks to say so when nothing is there.
        asks_for_prefix: Whether the text asks for 'Answer: ...'.
        subject: The text without options and without notes in brackets: what a prior is keyed by.
    """

    language: Language
    asks: tuple[Ask, ...]
    choices: tuple[tuple[str, str], ...]
    steps: tuple[tuple[Ask, ...], ...]
    hint: str | None
    counts: Mapping[Sight | Hearing, int]
    photos: Mapping[int, str]
    may_say_none: bool
    asks_for_prefix: bool
    subject: str


def ask_text(ask: Ask, language: Language) -> str:
    """The question in words."""
    terms = {
        "sight": TERMS[ask.sight][language] if ask.sight else "",
        "hearing": TERMS[ask.hearing][language] if ask.hearing else "",
    }
    return ASKS[ask.kind][language].format(**terms, modulus=ask.modulus, place=ask.place, nonce=ask.nonce)


def read(text: str) -> Understood:
    """Understand all text that a member received, joined in order."""
    language: Language = "zh" if _HAN.search(text) else "en"
    if begins := _pattern(QUOTE_BEGINS).search(text):
        quoted, _, after = text[begins.end() :].partition(QUOTE_ENDS.format(marker=begins["marker"]))
        return _about(read(quoted), text[: begins.start()] + after)
    choices = _choices(text)
    question = _CHOICE.sub("", text) if choices else text
    steps = [] if choices else [found.group(2) for found in _STEP.finditer(question)]
    return Understood(
        language=language,
        asks=_asks(question),
        choices=choices,
        steps=tuple(_asks(step) for step in steps) if len(steps) > 1 else (),
        hint=next((found["answer"] for found in _found(HINT.values(), text)), None),
        counts={
            term: int(found["count"]) for term, forms in CAPTIONS.items() for found in _found(forms.values(), text)
        },
        photos={int(found["place"]): found["label"] for found in _found(PHOTO_CAPTION.values(), text)},
        may_say_none=bool(_NONE.search(text)),
        asks_for_prefix=bool(_PREFIX.search(text)),
        subject=" ".join(_BRACKETED.sub("", question).split()),
    )


def _about(quoted: Understood, around: str) -> Understood:
    """What the text around a quoted question asks of it; what the question itself asks is not to be answered."""
    parts = quoted.steps or (quoted.asks,)
    about = tuple(ask for asks in parts for ask in asks) if all(parts) else ()
    asks = tuple(ask.model_copy(update={"about": about}) for ask in _asks(around))
    unasked = {"choices": (), "steps": (), "hint": None, "may_say_none": False, "asks_for_prefix": False}
    return quoted.model_copy(update={"asks": asks, **unasked})


def _choices(text: str) -> tuple[tuple[str, str], ...]:
    found = [(bracketed or plain, option) for bracketed, plain, option in _CHOICE.findall(text)]
    return tuple(found) if len(found) > 1 else ()


def frames_announced(text: str) -> int:
    """How many of the pictures that follow a text are frames of one video; 0 when it announces none."""
    found = list(_FRAMES.finditer(text))
    return int(found[-1][1] or found[-1][2]) if found else 0


def _asks(text: str) -> tuple[Ask, ...]:
    if _DESCRIBE.search(text):
        return (Ask(kind=AskKind.DESCRIBE),)
    for kind, forms in ASKS.items():
        if kind in _READ_LOOSELY:
            continue
        for found in _found(forms.values(), text):
            return (_ask(kind, found),)
    loose = [(hit.start(), ask) for pattern, ask in _LOOSE if (hit := re.search(pattern, text, re.IGNORECASE))]
    return tuple(ask for _, ask in sorted(loose, key=lambda placed: placed[0]))


def _ask(kind: AskKind, found: Mapping[str, str]) -> Ask:
    return Ask(
        kind=kind,
        sight=_term(Sight, found.get("sight")),
        hearing=_term(Hearing, found.get("hearing")),
        modulus=int(found["modulus"]) if "modulus" in found else None,
        place=int(found["place"]) if "place" in found else None,
        nonce=found.get("nonce"),
    )


def _term(terms: type[T], said: str | None) -> T | None:
    return next((term for term in terms if said is not None and _squeezed(said) in _spoken(term)), None)


def _found(templates: Iterable[str], text: str) -> Iterable[Mapping[str, str]]:
    for template in templates:
        for found in _pattern(template).finditer(text):
            yield found.groupdict()


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """The template as a pattern: spaces match any white space, slots match their terms."""
    pieces = re.split(r"\{(\w+)\}", template)
    slots = {"sight": _any_of(Sight), "hearing": _any_of(Hearing), **_SLOTS}
    written = [
        f"(?P<{piece}>{slots[piece]})" if place % 2 else r"\s+".join(map(re.escape, piece.split(" ")))
        for place, piece in enumerate(pieces)
    ]
    return re.compile("".join(written), re.IGNORECASE)


def _any_of(terms: Iterable[Sight | Hearing]) -> str:
    words = [word for term in terms for word in TERMS[term].values()]
    return "|".join(r"\s+".join(map(re.escape, word.split(" "))) for word in words)


def _spoken(term: Sight | Hearing) -> set[str]:
    return {_squeezed(word) for word in TERMS[term].values()}


def _squeezed(words: str) -> str:
    return " ".join(words.split()).casefold()
