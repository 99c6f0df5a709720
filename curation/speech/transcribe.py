"""Speech to words through faster-whisper."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from core.media.audio import Samples
from curation.models import UnusableModel, identity, load_model, package_version
from curation.speech.features import RATE_HZ
from curation.speech.heard import Span, Word

JOIN_S = 2.0
"""Pauses shorter than this do not end a clip: the model hears what goes before."""
MODEL_FILE = "model.bin"
"""What CTranslate2 keeps a model in."""
MARGIN_S = 0.3
"""How much is heard before and after speech, so that no consonant is cut."""


@dataclass(frozen=True)
class FasterWhisper:
    """Whisper on CTranslate2; `model` is its name (fetched from the hub) or a folder."""

    model: str

    def __post_init__(self) -> None:
        # Loading would say so too, but a dry run loads nothing.
        place = Path(self.model)
        if place.is_dir() and not (place / MODEL_FILE).is_file():
            raise UnusableModel(
                f"asr_model in interplay.toml names the folder {self.model}, which holds no {MODEL_FILE}; name one "
                "that holds a model of faster-whisper"
            )

    @property
    def fingerprint(self) -> str:
        """Name, version and model."""
        return f"faster-whisper@{_version()}/{identity(self.model)}"

    def load(self) -> None:
        """Load the model.

        Raises:
            MissingExtra: faster-whisper is not installed.
            UnusableModel: There is no such model to be had.
        """
        _model(self.model)

    def languages(self) -> frozenset[str]:
        """All of Whisper's, or English alone."""
        return frozenset(_model(self.model).supported_languages)

    def transcribe(self, samples: Samples, speech: Sequence[Span]) -> list[Word]:
        """The words in those stretches; the language is that of the first half minute of speech."""
        import ctranslate2

        # What it tries after a doubtful answer is drawn by chance.
        ctranslate2.set_random_seed(0)
        clips = _clips(speech, len(samples) / RATE_HZ)
        segments, about = _model(self.model).transcribe(
            samples,
            word_timestamps=True,
            # A mistake would be carried on from one half minute into the next.
            condition_on_previous_text=False,
            clip_timestamps=[edge for clip in clips for edge in (clip.start_s, clip.end_s)],
        )
        return [
            Word(word.word, word.start, word.end, round(word.probability, 4), about.language)
            for segment in segments
            for word in segment.words or ()
            if word.word.strip()
        ]


def _clips(speech: Sequence[Span], duration_s: float) -> list[Span]:
    """Speech with its margins, joined over short pauses."""
    clips: list[Span] = []
    for span in speech:
        start_s, end_s = max(0.0, span.start_s - MARGIN_S), min(duration_s, span.end_s + MARGIN_S)
        if clips and start_s - clips[-1].end_s < JOIN_S:
            clips[-1] = Span(clips[-1].start_s, end_s)
        else:
            clips.append(Span(start_s, end_s))
    return clips


def _version() -> str:
    return package_version("faster-whisper", "Transcription", "speech")


@cache
def _model(model: str) -> Any:
    _version()
    from faster_whisper import WhisperModel

    # 'auto' is what is quickest on this machine: 8-bit integers without a GPU.
    make = lambda: WhisperModel(model, device="auto", compute_type="auto")  # noqa: E731
    return load_model(make, model, "asr_model in interplay.toml", not Path(model).exists())
