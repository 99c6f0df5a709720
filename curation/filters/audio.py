"""Filters of sounds."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from curation.filters.spectrum import band_of, noise_of
from curation.filters.thresholds import Thresholds
from curation.filters.verdict import DropReason, Keep, Verdict, judged
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
    levels_db = block_levels_db(sound)
    share, most = float((levels_db < thresholds.audio_block_silent_db).mean()), thresholds.audio_silent_share_max
    faults = [f"{share:.1%} is silence, at most {most:.1%}"] if share > most else []
    return judged(DropReason.SILENT, faults, {"silent_share": share, "loudest_block_db": float(levels_db.max())})


def snr(sound: Sound, thresholds: Thresholds) -> Verdict:
    """Drop what is nothing but hiss: little over its steady noise, and that noise white.

    A low ratio alone drops nothing, for rain, applause and engines are noise by nature; but theirs is not white.
    """
    found = noise_of(sound)
    if found is None:
        return Keep({"snr_db": None, "why": "silent, or shorter than half a second"})
    least_db, whitest = thresholds.audio_snr_min_db, thresholds.audio_whiteness_max
    is_hiss = found.snr_db < least_db and found.whiteness > whitest
    fault = (
        f"{found.snr_db:.1f} dB over white noise (whiteness {found.whiteness:.2f}), "
        f"at least {least_db:g} dB where it is over {whitest:g}"
    )
    return judged(DropReason.NOISY, [fault] if is_hiss else [], {"snr_db": found.snr_db, "whiteness": found.whiteness})


def bandwidth(sound: Sound, thresholds: Thresholds) -> Verdict:
    """Drop what is all below hearing's lower end, where loudspeakers are silent."""
    found, least_hz = band_of(sound), thresholds.audio_bandwidth_min_hz
    if found is None:
        return Keep({"bandwidth_hz": None, "why": "silent"})
    faults = [f"reaches up to {found.edge_hz:.0f} Hz, at least {least_hz:g} Hz"] if found.edge_hz < least_hz else []
    measures = {"bandwidth_hz": found.edge_hz, "energy_99_hz": found.energy_99_hz}
    return judged(DropReason.NARROW_BAND, faults, measures)


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


def block_levels_db(sound: Sound) -> npt.NDArray[np.float64]:
    """Root mean square of each 20 ms over all channels, in dB of full scale, not below -120."""
    size = min(max(1, round(BLOCK_S * sound.sample_rate_hz)), sound.samples.shape[1])
    count = sound.samples.shape[1] // size
    blocks = sound.samples[:, : count * size].reshape(len(sound.samples), count, size)
    power = np.square(blocks, dtype=np.float64).mean(axis=(0, 2))
    levels_db: npt.NDArray[np.float64] = 10 * np.log10(np.maximum(power, 10 ** (LEVEL_FLOOR_DB / 10)))
    return levels_db
