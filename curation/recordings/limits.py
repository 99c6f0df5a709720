"""Where the checks of takes draw their lines."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What a check says; `not_done` says nothing."""

    PASS = "pass"  # noqa: S105
    WARN = "warn"
    FAIL = "fail"
    NOT_DONE = "not_done"


@dataclass(frozen=True)
class Band:
    """Bounds of a measure, each itself allowed; None where there is none."""

    fail_below: float | None = None
    warn_below: float | None = None
    warn_above: float | None = None
    fail_above: float | None = None

    def judge(self, value: float) -> tuple[Outcome, str | None, bool]:
        """The outcome, the bound that decided in words, and whether the value is too low."""
        lows = ((Outcome.FAIL, self.fail_below), (Outcome.WARN, self.warn_below))
        highs = ((Outcome.FAIL, self.fail_above), (Outcome.WARN, self.warn_above))
        for (low, least), (high, most) in zip(lows, highs, strict=True):
            if least is not None and value < least:
                return low, f"at least {least:g}", True
            if most is not None and value > most:
                return high, f"at most {most:g}", False
        ends = [f"at least {least:g}" for _, least in lows[::-1] if least is not None][:1]
        ends += [f"at most {most:g}" for _, most in highs[::-1] if most is not None][:1]
        return Outcome.PASS, ", ".join(ends) or None, False


@dataclass(frozen=True)
class TakeLimits:
    """Limits of all checks of a take, under one version that is stored with what they found.

    Attributes:
        version: Changes with any of the others.
        sample_rate_hz: As recorded.
        word_s: Seconds of speech for a word of the script, pauses inside included.
        character_s: The same for a character, in languages that write no spaces.
        clipped_share: Share of samples at full scale.
        loudness_lufs: Integrated loudness (ITU-R BS.1770-4).
        snr_db: Speech over the room's noise.
        leading_s: Quiet before the first sound; less than the lower bound may have cut into it.
        trailing_s: Quiet after the last one.
        error_rate: Words (characters) heard otherwise than written, over those of the script.
        quiet_db: So far below the take's loud parts (their 95th percentile) a block of 20 ms is quiet.
        noise_margin_db: So far over the take's quietest parts (their 5th percentile) nothing is quiet.
    """

    version: str = "1"
    sample_rate_hz: Band = Band(fail_below=16_000)
    word_s: Band = Band(0.1, 0.18, 1.2, 2.5)
    character_s: Band = Band(0.06, 0.1, 0.7, 1.5)
    clipped_share: Band = Band(warn_above=0.0001, fail_above=0.001)
    loudness_lufs: Band = Band(-45.0, -35.0, -12.0, -6.0)
    snr_db: Band = Band(10.0, 20.0)
    leading_s: Band = Band(None, 0.05, 1.5, 5.0)
    trailing_s: Band = Band(None, 0.05, 1.5, 5.0)
    error_rate: Band = Band(warn_above=0.15, fail_above=0.5)
    quiet_db: float = 30.0
    noise_margin_db: float = 6.0


DEFAULT_TAKE_LIMITS = TakeLimits()
