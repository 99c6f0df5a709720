"""Where the author marked what a medium contributes: the mark must lie inside the medium."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from core.content import MediaRef
from qc.checks import Finding, Subject, error

SLACK_S = 0.1
"""A browser and a decoder do not quite agree where a sound or a film ends."""

_TIMES = ("start_s", "end_s")
_BOX = ("left_px", "top_px", "width_px", "height_px")


def evidence_inside(subject: Subject) -> Iterable[Finding]:
    """Times run forward within the duration, boxes lie within the picture; all of them are numbers.

    What item files say of evidence in other forms is for people only, and is not looked at.
    """
    return marks_outside({part.name: part.media for part in subject.question.media}, subject.evidence)


def marks_outside(media: Mapping[str, MediaRef], evidence: Mapping[str, Any]) -> Iterator[Finding]:
    """The same, for media by placeholder that are no question yet."""
    for name, ref in media.items():
        told = evidence.get(name)
        if isinstance(told, Mapping):
            for en, zh in _problems(told, ref):
                yield error("evidence_outside", f"the evidence in {name} {en}", f"{name} 的依据标注{zh}")


def evidence_of(notes: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a revision's notes say as evidence, by placeholder; other forms of it are nothing to check."""
    told = notes.get("evidence")
    return told if isinstance(told, Mapping) else {}


def _problems(told: Mapping[str, Any], media: MediaRef) -> Iterator[tuple[str, str]]:
    given = {name: told[name] for name in (*_TIMES, *_BOX) if told.get(name) is not None}
    wrong = sorted(name for name, value in given.items() if not _is_number(value))
    if wrong:
        names = ", ".join(wrong)
        yield f"has no number as {names}", f"中 {names} 不是数字"
        return
    yield from _time_problems(given, media)
    yield from _box_problems(given, media)


def _time_problems(given: Mapping[str, float], media: MediaRef) -> Iterator[tuple[str, str]]:
    if not given.keys() & set(_TIMES):
        return
    start_s, end_s = given.get("start_s", 0), given.get("end_s")
    if media.width_px and media.duration_s is None:
        yield "is a time, but a picture has none", "是时间段，但图片没有时间"
    elif start_s < 0 or (end_s is not None and end_s <= start_s):
        yield "ends before it begins", "的结束时间不在开始时间之后"
    elif media.duration_s is not None and (start_s >= media.duration_s or (end_s or 0) > media.duration_s + SLACK_S):
        length = f"{media.duration_s:.10g}"
        yield f"goes beyond its end at {length} s", f"超出了素材的结尾（{length} 秒）"


def _box_problems(given: Mapping[str, float], media: MediaRef) -> Iterator[tuple[str, str]]:
    if not given.keys() & set(_BOX):
        return
    if not media.width_px or not media.height_px:
        yield "is a box, but there is no picture", "是画面区域，但该素材没有画面"
        return
    if not given.keys() >= set(_BOX):
        yield "is a box of which a side is missing", "的区域缺少一边"
        return
    left, top, width, height = (given[name] for name in _BOX)
    is_inside = left >= 0 and top >= 0 and left + width <= media.width_px and top + height <= media.height_px
    if not (is_inside and width > 0 and height > 0):
        size = f"{media.width_px} × {media.height_px}"
        yield f"does not lie within its picture of {size} px", f"不在画面范围（{size} 像素）之内"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
