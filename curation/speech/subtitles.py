"""A transcript as subtitles: SubRip (.srt) and WebVTT (.vtt)."""

import re
from collections.abc import Sequence
from typing import Literal, get_args

from warehouse.tables import Segment

Kind = Literal["srt", "vtt"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def subtitles(segments: Sequence[Segment], kind: Kind) -> str:
    """The segments that have a text, one cue each, in order of time.

    Args:
        segments: In order.
        kind: `srt`, where the speaker stands before the text, or `vtt` (W3C WebVTT), where a voice tag names them.
    """
    cues = [_cue(number, one, kind) for number, one in enumerate((one for one in segments if one.text), start=1)]
    return "\n".join(["WEBVTT\n", *cues] if kind == "vtt" else cues)


def _cue(number: int, segment: Segment, kind: Kind) -> str:
    times = f"{_clock(segment.start_s, kind)} --> {_clock(segment.end_s, kind)}"
    # An empty line would end the cue, and an arrow would be read as times.
    text = re.sub(r"\s*\n\s*", "\n", segment.text or "").replace("-->", "→").strip()
    if kind == "vtt":
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        said = f"<v {segment.speaker}>{text}" if segment.speaker else text
        return f"{times}\n{said}\n"
    said = f"{segment.speaker}: {text}" if segment.speaker else text
    return f"{number}\n{times}\n{said}\n"


def _clock(moment_s: float, kind: Kind) -> str:
    minutes, milliseconds = divmod(round(moment_s * 1000), 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds, milliseconds = divmod(milliseconds, 1000)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}{',' if kind == 'srt' else '.'}{milliseconds:03d}"
