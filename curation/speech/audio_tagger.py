"""Speech, music or environment by a model of Hugging Face's transformers that knows AudioSet's labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from core.errors import InterplayError
from core.media.audio import Samples
from curation.models import UnusableModel, identity, load_model, package_version
from curation.speech.audioset import CLASS_OF_LABEL
from curation.speech.features import RATE_HZ
from curation.speech.heard import SoundClass, Span
from curation.speech.sound_class import CLASSES, ENVIRONMENT, MUSIC, SPEECH

CLIP_S = 10.0
"""Length of AudioSet's clips, which the models were trained on."""
CLIPS_MAX = 6
_OPTION = "--model"


class NoSoundModel(InterplayError):
    """The model's way was asked for without naming a model."""


@dataclass(frozen=True)
class AudioTagger:
    """An audio-classification model by its name on the hub, or a folder."""

    model: str

    @property
    def fingerprint(self) -> str:
        """Name, version and model."""
        return f"transformers@{_version()}/{identity(self.model)}"

    def load(self) -> None:
        """Load the model.

        Raises:
            MissingExtra: transformers is not installed.
            UnusableModel: There is no such model to be had, or its labels are not AudioSet's.
        """
        _classifier(self.model)

    def classify(self, samples: Samples, speech: Sequence[Span]) -> SoundClass:
        """Classify a sound: of each class its highest label, as the mean over clips spread over the sound."""
        del speech
        classify = _classifier(self.model)
        totals = dict.fromkeys(CLASSES, 0.0)
        clips = _clips(samples)
        for clip in clips:
            labels = classify({"raw": clip, "sampling_rate": RATE_HZ}, top_k=None)
            for name, score in by_class({one["label"]: one["score"] for one in labels}).items():
                totals[name] += score / len(clips)
        # Of equal scores the first of the three counts.
        return SoundClass(max(CLASSES, key=totals.__getitem__), {name: round(totals[name], 4) for name in CLASSES})


def by_class(scores: Mapping[str, float]) -> dict[str, float]:
    """The highest score of each class's labels; what is neither speech nor music in AudioSet is environment."""
    found = dict.fromkeys(CLASSES, 0.0)
    for label, score in scores.items():
        name = CLASS_OF_LABEL.get(label.strip().lower(), ENVIRONMENT)
        found[name] = max(found[name], score)
    return found


def audio_tagger(model: str | None) -> AudioTagger:
    """The classifier of that model.

    Raises:
        NoSoundModel: None is named.
    """
    if model is None:
        raise NoSoundModel(
            f"name a model: {_OPTION} MIT/ast-finetuned-audioset-10-10-0.4593, or a folder that holds one"
        )
    return AudioTagger(model)


def _clips(samples: Samples) -> list[Samples]:
    size = round(CLIP_S * RATE_HZ)
    count = max(1, min(CLIPS_MAX, len(samples) // size))
    starts = [round(place * max(0, len(samples) - size) / max(1, count - 1)) for place in range(count)]
    return [samples[start : start + size] for start in starts]


def _version() -> str:
    return package_version("transformers", "Classifying sounds with a model", "text")


@cache
def _classifier(model: str) -> Any:
    _version()
    from transformers import pipeline

    make = lambda: pipeline("audio-classification", model=model)  # noqa: E731
    classifier = load_model(make, model, _OPTION, not Path(model).exists())
    labels = {str(label).strip().lower() for label in (classifier.model.config.id2label or {}).values()}
    known = {CLASS_OF_LABEL[label] for label in labels & CLASS_OF_LABEL.keys()}
    if known != {SPEECH, MUSIC}:
        raise UnusableModel(
            f"the labels of {model!r} are not AudioSet's ({', '.join(sorted(labels)[:3])} ...): it cannot tell speech, "
            f"music and environment apart; name another with {_OPTION}"
        )
    return classifier
