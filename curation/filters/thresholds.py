"""Where the filters draw the line."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from core.errors import UnknownName
from core.provenance import content_hash
from core.settings import BadSettings

TABLE = "filter_thresholds"
"""The table of `interplay.toml` in which a project sets its own."""


@dataclass(frozen=True)
class Thresholds:
    """Limits of all filters, under one version that is stored with every judgement.

    They are lenient: what they drop cannot be used, what they keep may still be poor. Lengths in pixels, times in
    seconds, luma and its spread on the scale 0 to 255, loudness in LUFS, levels in dB of full scale, shares in [0, 1].
    Change one, and change the version: materials are judged again where theirs is another.
    """

    version: str = "2"

    image_side_min_px: int = 64
    image_aspect_max: float = 8.0
    image_laplacian_variance_min: float = 2.0
    image_bright_min: float = 30.0
    image_dark_max: float = 240.0
    image_spread_min: float = 1.0

    audio_duration_min_s: float = 0.05
    audio_loudness_min_lufs: float = -60.0
    audio_clipped_share_max: float = 0.25
    audio_block_silent_db: float = -60.0
    audio_silent_share_max: float = 0.995
    audio_snr_min_db: float = -5.0
    audio_whiteness_max: float = 0.9
    audio_bandwidth_min_hz: float = 100.0

    video_duration_min_s: float = 0.3
    video_bright_min: float = 32.0
    video_black_share_max: float = 0.98
    video_change_min: float = 8.0
    video_frozen_share_max: float = 0.998
    video_bits_per_change_min: float = 0.01
    video_cut_luma_min: float = 40.0
    video_cut_histogram_min: float = 0.2

    language_share_min: float = 0.1
    language_speech_min_s: float = 3.0
    language_letters_min: int = 20


DEFAULT_THRESHOLDS = Thresholds()


def thresholds_of(told: Mapping[str, float]) -> Thresholds:
    """The limits of a project that sets some of its own; these enter the version, so that materials are judged again.

    Raises:
        UnknownName: There is no limit of that name.
        BadSettings: A value is no possible one.
    """
    usual = {one.name: getattr(DEFAULT_THRESHOLDS, one.name) for one in fields(Thresholds) if one.name != "version"}
    own: dict[str, float | int] = {}
    for name, value in told.items():
        if name not in usual:
            raise UnknownName(f"limit in the table [{TABLE}] of interplay.toml:", name, usual)
        if value != usual[name]:
            own[name] = _possible(name, value, isinstance(usual[name], int))
    if not own:
        return DEFAULT_THRESHOLDS
    version = f"{DEFAULT_THRESHOLDS.version}+{content_hash(sorted(own.items()))[:8]}"
    # mypy takes the values for those of the version too.
    return replace(DEFAULT_THRESHOLDS, **own, version=version)  # type: ignore[arg-type]


def _possible(name: str, value: float, is_whole: bool) -> float | int:
    where = f"{name} in the table [{TABLE}] of interplay.toml"
    if not math.isfinite(value):
        raise BadSettings(f"{where} is {value}; write a number")
    if "_share_" in name and not 0 <= value <= 1:
        raise BadSettings(f"{where} is {value:g}; a share is from 0 to 1")
    if not name.endswith(("_db", "_lufs")) and value < 0:
        raise BadSettings(f"{where} is {value:g}; write a number that is not below 0")
    if is_whole and value != int(value):
        raise BadSettings(f"{where} is {value:g}; write a whole number")
    return int(value) if is_whole else float(value)
