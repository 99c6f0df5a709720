"""What a check of a take found, and what to do about it, in both languages."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from curation.recordings.limits import Band, Outcome

_FINE = ("nothing to do", "无需处理")
# What to do where the measure is too low, and where it is too high.
_ADVICE: Mapping[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "sample_rate": (
        ("set the recorder to 48 kHz and record again", "请将录音设备设为 48 kHz 后重新录制"),
        _FINE,
    ),
    "duration": (
        ("read all of the script, and slower", "请完整朗读台词，并放慢语速"),
        ("read only the script, without long pauses", "请只朗读台词，避免长时间停顿"),
    ),
    "clipping": (_FINE, ("turn the microphone down or move away from it", "请调低麦克风音量或离麦克风远一些")),
    "loudness": (
        ("move closer to the microphone or turn it up", "请靠近麦克风或调高音量"),
        ("move away from the microphone or turn it down", "请离麦克风远一些或调低音量"),
    ),
    "snr": (
        ("go to a quieter room, and closer to the microphone", "请到更安静的房间，并靠近麦克风"),
        _FINE,
    ),
    "leading_silence": (
        ("wait a moment before you speak: the beginning may be cut off", "开口前请稍等片刻：开头可能被截断"),
        ("begin to speak sooner after the start", "开始录音后请尽快开口"),
    ),
    "trailing_silence": (
        ("wait a moment before you stop: the end may be cut off", "停止前请稍等片刻：结尾可能被截断"),
        ("stop the recording sooner after the last word", "说完最后一个字后请尽快停止录音"),
    ),
    "speakers": (
        ("all speakers of the script must be heard", "台词要求的所有说话人都须出声"),
        ("only the speakers of the script may be heard", "录音中只能有台词要求的说话人"),
    ),
    "transcript": (_FINE, ("read the words of the script as they stand", "请按台词原文朗读")),
}


@dataclass(frozen=True)
class Finding:
    """One check: `measure` in `unit` against `limit`; `en` and `zh` say what to do, or why nothing is known.

    `evidence` is what the measure comes from where a number does not tell it, as the words that were heard.
    """

    name: str
    outcome: Outcome
    measure: float | None
    unit: str
    limit: str | None
    en: str
    zh: str
    evidence: str | None = None

    def text(self, language: str) -> str:
        """What to do, in that language (Chinese, or English for all others)."""
        return self.zh if language.partition("-")[0] == "zh" else self.en


def judged(name: str, measure: float, unit: str, band: Band, evidence: str | None = None) -> Finding:
    """A measure held against its bounds."""
    outcome, limit, is_low = band.judge(measure)
    en, zh = _FINE if outcome is Outcome.PASS else _ADVICE[name][0 if is_low else 1]
    return Finding(name, outcome, measure, unit, limit, en, zh, evidence)


def not_done(name: str, unit: str, why_en: str, why_zh: str) -> Finding:
    """A check that could not be made, and why."""
    return Finding(name, Outcome.NOT_DONE, None, unit, None, why_en, why_zh)


def as_document(version: str, findings: list[Finding], made_by: Mapping[str, str]) -> dict[str, Any]:
    """What `Recording.checks` holds: the limits' version, the findings, and the models that were asked."""
    return {"limits": version, "findings": [asdict(one) for one in findings], "made_by": dict(made_by)}


def findings_of(checks: Mapping[str, Any]) -> list[Finding]:
    """The findings in `Recording.checks`; none where the take was withdrawn."""
    return [Finding(**one | {"outcome": Outcome(one["outcome"])}) for one in checks.get("findings", ())]
