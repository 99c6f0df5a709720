"""Where somebody speaks: Silero VAD, which faster-whisper brings, over windows of bounded length."""

from collections.abc import Iterator, Sequence

import numpy as np

from core.errors import MissingExtra
from core.media.audio import Samples
from curation.speech.features import RATE_HZ
from curation.speech.heard import Span

FINGERPRINT = "silero-vad@6"
WINDOW_S = 600.0
# A window may end this much earlier, where it is quietest, so that no word is cut.
_LEEWAY_S = 30.0
_QUIET_S = 0.2
_OPTIONS = {"threshold": 0.5, "min_speech_duration_ms": 250, "min_silence_duration_ms": 250, "speech_pad_ms": 100}


def windows(samples: Samples) -> Iterator[slice]:
    """Cut long sound into stretches of at most ten minutes, between words where there is a pause.

    Args:
        samples: Mono, at 16 kHz.
    """
    start = 0
    while start < len(samples):
        end = min(len(samples), start + round(WINDOW_S * RATE_HZ))
        if end < len(samples):
            end = _quietest(samples, end - round(_LEEWAY_S * RATE_HZ), end)
        yield slice(start, end)
        start = end


def find_speech(samples: Samples) -> list[Span]:
    """Stretches in which somebody speaks, in order, none overlapping.

    Args:
        samples: Mono, at 16 kHz.

    Raises:
        MissingExtra: faster-whisper is not installed.
    """
    try:
        from faster_whisper.vad import VadOptions, get_speech_timestamps
    except ImportError as error:
        raise MissingExtra("Finding speech", "speech") from error
    found: list[Span] = []
    for window in windows(samples):
        for stretch in get_speech_timestamps(samples[window], VadOptions(**_OPTIONS)):
            start, end = window.start + stretch["start"], window.start + stretch["end"]
            found.append(Span(start / RATE_HZ, end / RATE_HZ))
    return found


def within(spans: Sequence[Span], window: slice) -> list[Span]:
    """The parts of spans that lie in a window of samples, in seconds from its start."""
    first_s, last_s = window.start / RATE_HZ, window.stop / RATE_HZ
    cut = [(max(span.start_s, first_s), min(span.end_s, last_s)) for span in spans]
    return [Span(start_s - first_s, end_s - first_s) for start_s, end_s in cut if end_s > start_s]


def _quietest(samples: Samples, first: int, last: int) -> int:
    """Where in [first, last) the sound is quietest: the middle of its quietest fifth of a second."""
    size = round(_QUIET_S * RATE_HZ)
    blocks = samples[first : first + (last - first) // size * size].reshape(-1, size)
    power = np.square(blocks, dtype=np.float64).mean(axis=1)
    return first + int(power.argmin()) * size + size // 2
