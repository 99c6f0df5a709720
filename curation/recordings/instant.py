"""What can be said of a take at once, without any model."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.content import Modality
from core.media.errors import UnsupportedMedia
from core.media.limits import MediaLimits
from core.media.probe import probe
from curation.filters.audio import BLOCK_S, block_levels_db, clipping, loudness, snr
from curation.filters.thresholds import DEFAULT_THRESHOLDS
from curation.filters.views import Sound, hear
from curation.recordings.findings import Finding, judged, not_done
from curation.recordings.limits import TakeLimits
from curation.recordings.wording import is_spaceless, length_of
from warehouse.tables import Script


@dataclass(frozen=True)
class TakeMeasures:
    """What is measured in a take's sound; `snr_db` is None where it cannot be told."""

    sample_rate_hz: int
    duration_s: float
    clipped_share: float
    loudness_lufs: float
    snr_db: float | None
    leading_s: float
    trailing_s: float

    @property
    def speech_s(self) -> float:
        """From the first sound to the last."""
        return self.duration_s - self.leading_s - self.trailing_s


def measure_take(file: Path, media_limits: MediaLimits, limits: TakeLimits) -> TakeMeasures:
    """Decode a take and measure it; for untrusted files, so call it in a `Guard`.

    Raises:
        MediaError: It is no sound, or cannot be decoded.
    """
    found = probe(file, media_limits)
    if found.modality is not Modality.AUDIO:
        raise UnsupportedMedia(
            f"{file}: a take is a sound, and this is of kind {found.modality.value}; record sound alone"
        )
    sound = hear(file.read_bytes(), found.media_ref(), media_limits)
    leading_s, trailing_s = quiet_ends_s(sound, limits)
    measures = _measured(sound)
    return TakeMeasures(
        sample_rate_hz=found.media_ref().sample_rate_hz or sound.sample_rate_hz,
        duration_s=sound.duration_s,
        clipped_share=measures["clipped_share"] or 0.0,
        loudness_lufs=measures["loudness_lufs"] or 0.0,
        snr_db=measures["snr_db"],
        leading_s=leading_s,
        trailing_s=trailing_s,
    )


def instant_findings(measures: TakeMeasures, script: Script, limits: TakeLimits) -> list[Finding]:
    """Sample rate, duration, clipping, loudness, noise, and the quiet at both ends; in that order."""
    spaceless = is_spaceless(script.language)
    length = max(1, length_of(script.text, script.language))
    pace = limits.character_s if spaceless else limits.word_s
    # A few words have no pace: a breath more or less would decide.
    told = f"{measures.speech_s:.1f} s of speech for {length} {'characters' if spaceless else 'words'}"
    unit = "s a character" if spaceless else "s a word"
    return [
        judged("sample_rate", measures.sample_rate_hz, "Hz", limits.sample_rate_hz),
        judged("duration", measures.speech_s / length, unit, pace, told),
        judged("clipping", measures.clipped_share, "of the samples", limits.clipped_share),
        judged("loudness", measures.loudness_lufs, "LUFS", limits.loudness_lufs),
        _snr(measures.snr_db, limits),
        judged("leading_silence", measures.leading_s, "s", limits.leading_s),
        judged("trailing_silence", measures.trailing_s, "s", limits.trailing_s),
    ]


def quiet_ends_s(sound: Sound, limits: TakeLimits) -> tuple[float, float]:
    """How long it is quiet before the first sound and after the last one, to 20 ms; all of it is before in silence.

    A block is quiet that lies far below the take's loud parts, or hardly over its quietest ones; so it is told in a
    noisy room as in a still one.
    """
    levels_db = block_levels_db(sound)
    floor_db, loud_db = np.percentile(levels_db, (5, 95))
    edge_db = max(
        loud_db - limits.quiet_db,
        min(floor_db + limits.noise_margin_db, loud_db - 3.0),
        DEFAULT_THRESHOLDS.audio_block_silent_db,
    )
    (loud,) = np.nonzero(levels_db > edge_db)
    if not len(loud):
        return sound.duration_s, 0.0
    return float(loud[0] * BLOCK_S), max(0.0, sound.duration_s - float((loud[-1] + 1) * BLOCK_S))


def _measured(sound: Sound) -> dict[str, float | None]:
    """What the library's filters measure: a take is judged by the same numbers, under narrower limits."""
    found: dict[str, float | None] = {}
    for measure in (clipping, loudness, snr):
        for name, value in measure(sound, DEFAULT_THRESHOLDS).measures.items():
            found[name] = value if isinstance(value, float) else None
    return found


def _snr(snr_db: float | None, limits: TakeLimits) -> Finding:
    if snr_db is None:
        return not_done(
            "snr", "dB", "too short or too quiet to tell speech from noise", "录音过短或过轻，无法区分语音与噪声"
        )
    return judged("snr", snr_db, "dB", limits.snr_db)
