"""Transcribers, diarizers and sound classifiers, found by name; each target makes one of a model's name or folder."""

from collections.abc import Callable

from core.registry import Entry, Registry
from curation.speech.heard import Diarizer, SoundClassifier, Transcriber

TRANSCRIBER = "faster-whisper"
LIGHT_DIARIZER, MODEL_DIARIZER = "light", "pyannote"
SOUND_CLASSIFIER = "light"


def transcribers() -> Registry[Callable[[str], Transcriber]]:
    """Ours, and those that installed packages offer as entry points `interplay.transcribers`."""
    return Registry("transcribers", (Entry(TRANSCRIBER, "1", "curation.speech.transcribe:FasterWhisper"),))


def diarizers() -> Registry[Callable[[str | None], Diarizer]]:
    """Ours, and those that installed packages offer as entry points `interplay.diarizers`."""
    light = Entry[Callable[[str | None], Diarizer]](LIGHT_DIARIZER, "1", "curation.speech.light_diarize:light_diarizer")
    return Registry("diarizers", (light, Entry(MODEL_DIARIZER, "1", "curation.speech.diarize:pyannote_diarizer")))


def sound_classifiers() -> Registry[Callable[[str | None], SoundClassifier]]:
    """Ours, and those that installed packages offer as entry points `interplay.sound_classifiers`."""
    light = Entry[Callable[[str | None], SoundClassifier]](
        SOUND_CLASSIFIER, "1", "curation.speech.sound_class:light_sound_classifier"
    )
    model = Entry[Callable[[str | None], SoundClassifier]](
        "transformers", "1", "curation.speech.audio_tagger:audio_tagger"
    )
    return Registry("sound_classifiers", (light, model))
