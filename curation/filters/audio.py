"""Filters of sounds."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from curation.filters.thresholds import Thresholds
from curation.filters.verdict import DropReason, Verdict, judged
from curation.filters.views import Sound

BLOCK_S = 0.02
LOUDNESS_BLOCK_S = 0.4
"""Gating block of ITU-R BS.1770-4."""
CHANNELS_MAX = 5
FULL_SCALE = 0.999
SQUARE_WAVE_SHARE = 0.98
"""From this share on a sound is a square wave, which is nowhere but at full scale; clipped sound passes between."""
LEVEL_FLOOR_DB = -120.0


def duration(sound: Sound, thresholds: Thresholds) -> Verdict:
    """Drop sounds that end before anything is heard."""
    least_s = thresholds.audio_duration_min_s
    faults = [f"lasts {sound.duration_s:.3f} s, at least {least_s:g} s"] if sound.duration_s < least_s else []
    return judged(DropReason.TOO_SHORT, faults, {"duration_s": sound.duration_s})


def loudness(sound: Sound, thresholds: Thresholds) -> Verdict:
    """Drop what is too quiet over all, by integrated loudness (ITU-R BS.1770-4)."""
    level_lufs, least_lufs = _loudness_lufs(sound), thresholds.audio_loudness_min_lufs
    faults = [f"loudness {level_lufs:.1f} LUFS, at least {least_lufs:g} LUFS"] if level_lufs < least_lufs else []
    return judged(DropReason.TOO_QUIET, faults, {"loudness_lufs": level_lufs})


def clipping(sound: Sound, thresholds: Thresholds) -> Verdict:
    """Drop what was recorded far over full scale."""
    share, most = float((np.abs(sound.samples) >= FULL_SCALE).mean()), thresholds.audio_clipped_share_max
    clipped = most < share < SQUARE_WAVE_SHARE
    faults = [f"{share:.0%} of the samples at full scale, at most {most:.0%}"] if clipped else []
    return judged(DropReason.CLIPPED, faults, {"clipped_share": share})


def silence(sound: Sound, thresholds: Thresholds) -> Verdict:
    """Drop silence, and what is silent but for a click."""
    levels_db = _block_levels_db(sound)
    share, most = float((levels_db < thresholds.audio_block_silent_db).mean()), thresholds.audio_silent_share_max
    faults = [f"{share:.1%} is silence, at most {most:.1%}"] if share > most else []
    return judged(DropReason.SILENT, faults, {"silent_share": share, "loudest_block_db": float(levels_db.max())})


def _loudness_lufs(sound: Sound) -> float:
    from pyloudnorm import Meter

    samples = sound.samples.T.astype(np.float64)
    if samples.shape[1] > CHANNELS_MAX:
        samples = samples.mean(axis=1, keepdims=True)
    # A sound shorter than one block is heard over and over, which leaves its loudness as it is.
    needed = math.ceil(LOUDNESS_BLOCK_S * sound.sample_rate_hz) + 1
    samples = np.tile(samples, (math.ceil(needed / len(samples)), 1))
    with np.errstate(divide="ignore"):
        found: Any = Meter(sound.sample_rate_hz).integrated_loudness(samples)
    return max(float(found), LEVEL_FLOOR_DB)


def _block_levels_db(sound: Sound) -> npt.NDArray[np.float64]:
    """Root mean square of each 20 ms over all channels, in dB of full scale, not below -120."""
    size = min(max(1, round(BLOCK_S * sound.sample_rate_hz)), sound.samples.shape[1])
    count = sound.samples.shape[1] // size
    blocks = sound.samples[:, : count * size].reshape(len(sound.samples), count, size)
    power = np.square(blocks, dtype=np.float64).mean(axis=(0, 2))
    levels_db: npt.NDArray[np.float64] = 10 * np.log10(np.maximum(power, 10 ** (LEVEL_FLOOR_DB / 10)))
    return levels_db
