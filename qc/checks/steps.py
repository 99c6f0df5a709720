"""Checks of the steps of a multi-step question: what they refer to, and what their rubrics say of points."""

import re
from collections.abc import Iterable, Iterator

from core.question import POINTS_TOTAL
from qc.checks import Finding, Subject, error, warning

_ENGLISH_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_CHINESE_NUMBERS = "一二三四五六七八九十"
_NUMBERS = {word: number for words in (_ENGLISH_NUMBERS, _CHINESE_NUMBERS) for number, word in enumerate(words, 1)}
_NUMBERS["两"] = 2
_STEP_NUMBER = re.compile(r"(?:\bstep\s*|步骤\s*)(\d{1,4})|第\s*(\d{1,4}|[一二三四五六七八九十])\s*步", re.IGNORECASE)
# What only a step of the question itself has: an answer, a result.
_BEFORE_OWN = re.compile(
    r"(?:\b(?:answers?|results?|outputs?|values?|outcomes?)\s+(?:of|from|in|to|for)|\bfrom"
    r"|\byou\s+(?:found|got|gave|named|identified|computed|calculated|obtained)\s+in)"
    r"\s+(?:steps?\s*\d+\s*(?:,|and|or|&)\s*)*$",
    re.IGNORECASE,
)
_AFTER_OWN = re.compile(
    r"\s*(?:['’]s\s+)?(?:answers?|results?|outputs?)\b|\s*(?:中|里)?(?:所?[得算求]出?到?)?的?(?:结果|答案|得数|结论)",
    re.IGNORECASE,
)
# The steps of a recipe, an experiment, a film: "step 3 of the recipe", "from step 3 to step 5".
_AFTER_OTHERS = re.compile(
    r"\s*(?:(?:of|until|through)\b|(?:in|on)\s+(?:the|this|that|an?)\b|(?:to|-|–)\s*(?:step\s*)?\d)", re.IGNORECASE
)
_BEFORE_OTHERS = re.compile(r"(?:菜谱|食谱|配方|实验|教程|流程|说明书?|视频|影片|录音|音频|图片?)(?:上|中|里)?的?\s*$")

# Minutes, thirds, categories: these characters after 分 make it another word.
_POINTS = re.compile(
    rf"(?<![\w.])(?:\d+\s*(?:-|–|to)\s*)?(\d+(?:\.\d+)?|{'|'.join(_ENGLISH_NUMBERS)})\s*"
    r"(?:points?|pts?)\b(?!\s+(?:of|on|in|at)\b)"
    r"|(?<![\d.十])(?:\d+\s*[-–~至到]\s*)?(\d+(?:\.\d+)?|[一二两三四五六七八九])\s*分(?![钟之别布为辨析贝米秒成区类组离子解数音球线法])",
    re.IGNORECASE,
)
_OF_ALL = re.compile(r"(?:\bof(?:\s+the|\s+a\s+total\s+of)?|/|总分为?|总共|全题|本题)\s*$", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[\n,;，；。]|\.(?!\d)")
_TAKEN_OFF = re.compile(r"\b(?:deduct|minus|lose|loses|subtract|take)|[扣减]", re.IGNORECASE)
_PARTIAL = re.compile(r"\b(?:only|partial|partly|half|otherwise|at least)\b|仅|只|部分|一半|否则|至少", re.IGNORECASE)
_EACH = re.compile(r"\b(?:each|every|per|apiece)\b|[每各]", re.IGNORECASE)


def step_references(subject: Subject) -> Iterable[Finding]:
    """A step may refer only to steps before it.

    A number that may be that of a step in the world (of a recipe, an experiment) is a warning.
    """
    for number, step in enumerate(subject.question.steps, start=1):
        for found in _STEP_NUMBER.finditer(step.ask):
            named = int(_number(found[1] or found[2]))
            if 1 <= named < number:
                continue
            if _is_own(step.ask, found):
                yield error(
                    "bad_step_reference", f"step {number} refers to step {named}", f"第 {number} 步引用了第 {named} 步"
                )
            else:
                yield warning(
                    "bad_step_reference",
                    f"step {number} names step {named}, which is no earlier step of the question",
                    f"第 {number} 步提到第 {named} 步，而它不是本题之前的步骤",
                )


def points_match_rubric(subject: Subject) -> Iterable[Finding]:
    """A rubric may not give other points than its step has."""
    for number, step in enumerate(subject.question.steps, start=1):
        if step.rubric is None:
            continue
        given, partial = _points(step.rubric)
        most = max([*given, *partial], default=0.0)
        makes_up = not given or step.points in given or sum(given) == step.points or _EACH.search(step.rubric)
        if most > step.points or not makes_up:
            told = " and ".join(f"{points:g}" for points in given or partial)
            yield warning(
                "points_contradict_rubric",
                f"step {number} has {step.points} points, and its rubric speaks of {told}",
                f"第 {number} 步为 {step.points} 分，而其评分标准写的是 {told} 分",
            )


def _is_own(ask: str, found: re.Match[str]) -> bool:
    before, after = ask[: found.start()], ask[found.end() :]
    if _AFTER_OTHERS.match(after) or _BEFORE_OTHERS.search(before):
        return False
    return bool(_BEFORE_OWN.search(before) or _AFTER_OWN.match(after))


def _points(rubric: str) -> tuple[list[float], list[float]]:
    """Points that a rubric gives, and those that it gives for a part; not what it takes off, nor the total of ten."""
    given: list[float] = []
    partial: list[float] = []
    for clause in _CLAUSE_END.split(rubric):
        if not _TAKEN_OFF.search(clause):
            (partial if _PARTIAL.search(clause) else given).extend(_named_points(clause))
    return given, partial


def _named_points(clause: str) -> Iterator[float]:
    for found in _POINTS.finditer(clause):
        points = _number(found[1] or found[2])
        if points != POINTS_TOTAL or not _OF_ALL.search(clause[: found.start()]):
            yield points


def _number(written: str) -> float:
    return float(_NUMBERS.get(written.lower(), written))
