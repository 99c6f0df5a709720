"""How much of one media file is taken: bounds against bombs, hangs and mistakes."""

from dataclasses import dataclass

GIBIBYTE = 1 << 30


@dataclass(frozen=True)
class MediaLimits:
    """Bounds for one file.

    `max_pixels` counts width times height of one picture or frame; the default is the size from which on Pillow warns
    of a decompression bomb. `max_animation_pixels` counts over all frames of an animation or pages of a TIFF file; the
    default is some 960 frames in full HD. `memory_bytes` and `timeout_s` bound the worker process that decodes,
    interpreter included.
    """

    max_bytes: int = GIBIBYTE
    max_pixels: int = 89_478_485
    max_animation_pixels: int = 2_000_000_000
    max_duration_s: float = 3600.0
    max_streams: int = 16
    memory_bytes: int = 4 * GIBIBYTE
    timeout_s: float = 600.0


DEFAULT_LIMITS = MediaLimits()
