"""Machine work on sounds: transcribe them with who said what, and tell speech, music and environment apart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlmodel import Session

from core.content import MediaRef, Modality
from core.ids import Clock, utc_now
from core.media.audio import Samples, load_audio
from core.media.limits import MediaLimits
from curation.passes import PassReport, Which, Work, run_pass
from curation.speech import vad
from curation.speech.attribute import SpokenSegment, main_language, who_said_what
from curation.speech.features import RATE_HZ
from curation.speech.heard import Diarizer, SoundClass, SoundClassifier, Span, Transcriber, Word
from curation.speech.transcripts import store_machine_transcript
from warehouse import events
from warehouse.caption_texts import BY_PEOPLE
from warehouse.tables import Material
from warehouse.workspace import Workspace

TRANSCRIBE, CLASSIFY_SOUND = "transcribe", "classify-sound"
_NOTHING: Samples = np.zeros(RATE_HZ, dtype=np.float32)
"""A silent second, for which nothing but a model that is not there can fail."""


@dataclass(frozen=True)
class Transcript:
    """All that was heard in one sound; `speech` is empty where nobody speaks, and then so is `spoken`."""

    duration_s: float
    speech: tuple[Span, ...]
    spoken: tuple[SpokenSegment, ...]
    language: str | None


@dataclass(frozen=True)
class TranscribeSound:
    """Speech is looked for first, and where there is none no model is asked what it hears."""

    transcriber: Transcriber
    diarizer: Diarizer
    limits: MediaLimits
    find_speech: Callable[[Samples], list[Span]] = vad.find_speech

    @property
    def maker(self) -> str:
        """What makes a transcript what it is."""
        return f"1:{self.transcriber.fingerprint}+{self.diarizer.fingerprint}+{vad.FINGERPRINT}"

    def load(self) -> None:
        """Load the models, so that what is wrong with them is said once."""
        self.find_speech(_NOTHING)
        self.transcriber.load()
        self.diarizer.load()

    def __call__(self, ref: MediaRef, data: bytes) -> Transcript:
        """The transcript of a working copy."""
        del ref
        samples = load_audio(data, RATE_HZ, limits=self.limits)
        speech = self.find_speech(samples)
        words = self._words(samples, speech)
        turns = self.diarizer.diarize(samples, speech) if words else []
        spoken = who_said_what(words, turns)
        return Transcript(len(samples) / RATE_HZ, tuple(speech), tuple(spoken), main_language(words))

    def _words(self, samples: Samples, speech: Sequence[Span]) -> list[Word]:
        words: list[Word] = []
        for window in vad.windows(samples):
            here = vad.within(speech, window)
            if here:
                heard = self.transcriber.transcribe(samples[window], here)
                words += [word.later(window.start / RATE_HZ) for word in heard]
        return words

    def store(
        self, session: Session, material: Material, found: Transcript, run_id: str, clock: Clock
    ) -> dict[str, Any]:
        """Write the transcript, and give the facts that are kept with the mark."""
        stored = store_machine_transcript(session, material, found.spoken, found.language, self.maker, run_id, clock)
        speakers = {one.speaker for one in found.spoken if one.speaker is not None}
        return {
            "stored": stored,
            "duration_s": round(found.duration_s, 3),
            "speech_s": round(sum(span.duration_s for span in found.speech), 3),
            "language": found.language,
            "segments": len(found.spoken),
            "speakers": len(speakers),
            "lighter": self.diarizer.lighter,
        }


@dataclass(frozen=True)
class ClassifySound:
    """What kind of sound it is."""

    classifier: SoundClassifier
    limits: MediaLimits
    find_speech: Callable[[Samples], list[Span]] = vad.find_speech

    @property
    def maker(self) -> str:
        """What makes the class what it is."""
        return f"{self.classifier.fingerprint}+{vad.FINGERPRINT}"

    def load(self) -> None:
        """Load the models, so that what is wrong with them is said once."""
        self.find_speech(_NOTHING)
        self.classifier.load()

    def __call__(self, ref: MediaRef, data: bytes) -> SoundClass:
        """The class of a working copy."""
        del ref
        samples = load_audio(data, RATE_HZ, limits=self.limits)
        return self.classifier.classify(samples, self.find_speech(samples))

    def store(
        self, session: Session, material: Material, found: SoundClass, run_id: str, clock: Clock
    ) -> dict[str, Any]:
        """Write the class unless a person said another."""
        by_person = material.audio_type_by == BY_PEOPLE
        if not by_person and (material.audio_type, material.audio_type_by) != (found.name, self.maker):
            material.audio_type, material.audio_type_by = found.name, self.maker
            material.version += 1
            session.add(material)
            changed = {"audio_type": found.name, "audio_type_by": self.maker, "version": material.version}
            events.record(session, f"run:{run_id}", "material", material.id, "describe", clock, **changed)
        return {"audio_type": found.name, "scores": found.scores, "stored": not by_person}


def run_speech_pass(
    workspace: Workspace,
    work: TranscribeSound | ClassifySound,
    which: Which,
    *,
    dry_run: bool = False,
    clock: Clock = utc_now,
) -> PassReport:
    """Do the work on all kept sounds that have not had it by these models.

    Raises:
        MissingExtra, UnusableModel: The models cannot be loaded; nothing was done.
    """
    transcribes = isinstance(work, TranscribeSound)
    name = TRANSCRIBE if transcribes else CLASSIFY_SOUND

    def store(session: Session, material: Material, found: Any, run_id: str) -> Mapping[str, Any]:
        return work.store(session, material, found, run_id, clock)

    kind: Work[Any] = Work(
        name=name,
        maker=work.maker,
        modalities=frozenset({Modality.AUDIO}),
        make=work,
        store=store,
        label="transcribing" if transcribes else "classifying sounds",
        prepare=work.load,
        # There is one transcript and one class: after another maker's, this one's is to be made again.
        replaces=True,
    )
    return run_pass(workspace, f"material {name}", kind, which, dry_run=dry_run, clock=clock)
