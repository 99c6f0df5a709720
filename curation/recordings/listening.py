"""What only models can say of a take: how many speak, and whether they say what is written."""

from collections.abc import Callable
from dataclasses import dataclass

from core.errors import InterplayError
from core.media.audio import Samples
from curation.recordings.findings import Finding, judged, not_done
from curation.recordings.limits import Band, Outcome, TakeLimits
from curation.recordings.wording import error_rate, is_spaceless
from warehouse.tables import Script

RATE_HZ = 16_000
"""Of the samples that models get."""


@dataclass(frozen=True)
class Ear:
    """A model as the checks use it, and its fingerprint."""

    fingerprint: str


@dataclass(frozen=True)
class Transcribes(Ear):
    """Writes down what is said in mono samples at 16 kHz, in a language."""

    transcribe: Callable[[Samples, str], str]


@dataclass(frozen=True)
class Counts(Ear):
    """Says how many people speak in mono samples at 16 kHz; one that is `lighter` is never sure enough to fail one."""

    count: Callable[[Samples], int]
    lighter: bool = False


@dataclass(frozen=True)
class Ears:
    """The models that are asked; None where there is none, and then `why` says why not (English, Chinese)."""

    transcribes: Transcribes | None = None
    counts: Counts | None = None
    why: tuple[str, str] = (
        "no model was asked; run 'interplay recording check'",
        "尚未调用模型；请运行 interplay recording check",
    )

    @property
    def made_by(self) -> dict[str, str]:
        """Fingerprints of the models by check."""
        asked = {"transcript": self.transcribes, "speakers": self.counts}
        return {name: ear.fingerprint for name, ear in asked.items() if ear is not None}


NO_EARS = Ears()
_DIALECT_ADVICE = (
    "models read dialects badly: listen, and compare with the script", "模型对方言识别较差：请人工对照台词试听"
)  # fmt: skip


def listening_findings(samples: Samples, script: Script, ears: Ears, limits: TakeLimits) -> list[Finding]:
    """The checks `speakers` and `transcript`; a model that cannot be asked makes a check that is not done.

    Args:
        samples: Of the take: mono, at 16 kHz.
        script: What was to be said.
        ears: The models.
        limits: Of the checks.
    """
    return [_speakers(samples, script, ears), _transcript(samples, script, ears, limits)]


def _speakers(samples: Samples, script: Script, ears: Ears) -> Finding:
    if ears.counts is None:
        return not_done("speakers", "speakers", *ears.why)
    try:
        found = ears.counts.count(samples)
    except InterplayError as error:
        return _failed("speakers", "speakers", error)
    wanted = float(script.speakers)
    band = Band(warn_below=wanted, warn_above=wanted) if ears.counts.lighter else Band(wanted, None, None, wanted)
    return judged("speakers", float(found), "speakers", band)


def _transcript(samples: Samples, script: Script, ears: Ears, limits: TakeLimits) -> Finding:
    unit = "CER" if is_spaceless(script.language) else "WER"
    if ears.transcribes is None:
        return not_done("transcript", unit, *ears.why)
    try:
        heard = ears.transcribes.transcribe(samples, script.language)
        rate = error_rate(script.text, heard, script.language)
    except InterplayError as error:
        return _failed("transcript", unit, error)
    if rate is None:
        return not_done("transcript", unit, "the script has no words to compare", "台词没有可比较的文字")
    found = judged("transcript", rate, unit, limits.error_rate, heard)
    if script.dialect and found.outcome is Outcome.FAIL:
        # Models know the standard languages: what they make of a dialect is a hint, and no more.
        en, zh = _DIALECT_ADVICE
        return Finding("transcript", Outcome.WARN, rate, unit, found.limit, en, zh, heard)
    return found


def _failed(name: str, unit: str, error: InterplayError) -> Finding:
    return not_done(name, unit, str(error), f"无法完成该检查：{error}")
