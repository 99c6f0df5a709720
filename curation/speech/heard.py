"""What is heard in a sound: the values that transcribers, diarizers and sound classifiers give, and what they are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

from core.media.audio import Samples


@dataclass(frozen=True, order=True)
class Span:
    """A stretch of time, in seconds from the start of the sound."""

    start_s: float
    end_s: float

    @property
    def duration_s(self) -> float:
        """How long it lasts."""
        return self.end_s - self.start_s

    def shared_s(self, other: "Span") -> float:
        """How long both last at once."""
        return max(0.0, min(self.end_s, other.end_s) - max(self.start_s, other.start_s))


@dataclass(frozen=True, order=True)
class Turn(Span):
    """A stretch in which one speaker speaks."""

    speaker: str


@dataclass(frozen=True)
class Word:
    """A word as it was heard; `text` begins with a space where the language writes one before it."""

    text: str
    start_s: float
    end_s: float
    probability: float | None = None
    language: str | None = None

    def later(self, by_s: float) -> Self:
        """The same word on a clock that began earlier."""
        return replace(self, start_s=self.start_s + by_s, end_s=self.end_s + by_s)


class Transcriber(Protocol):
    """Writes down what is said.

    `fingerprint` is `name@version` and the model; it is known before the model is loaded.
    """

    @property
    def fingerprint(self) -> str:
        """What enters the fingerprint of what it makes."""

    def load(self) -> None:
        """Load the model, once a process; a second call does nothing."""

    def languages(self) -> frozenset[str]:
        """Codes of the languages that the model knows, as 'en'; it writes down any other as if it were one of them."""

    def transcribe(self, samples: Samples, speech: Sequence[Span]) -> list[Word]:
        """The words in those stretches of the sound, in order.

        Args:
            samples: Mono, at 16 kHz, at most ten minutes.
            speech: Where somebody speaks: there alone may words be heard. Not empty.
        """


class Diarizer(Protocol):
    """Tells speakers apart.

    `fingerprint` is `name@version` and the model, if it has one; `lighter` says that it does without.
    """

    @property
    def fingerprint(self) -> str:
        """What enters the fingerprint of what it makes."""

    @property
    def lighter(self) -> bool:
        """Whether it does without a model."""

    def load(self) -> None:
        """Load the model, once a process; a second call does nothing."""

    def diarize(self, samples: Samples, speech: Sequence[Span]) -> list[Turn]:
        """Who speaks when, in order of start; not two at once.

        Args:
            samples: Mono, at 16 kHz, of any length.
            speech: Where somebody speaks. Not empty.
        """


@dataclass(frozen=True)
class SoundClass:
    """What kind of sound it is (UNO-Bench's `audio_type`), with what speaks for each kind, in [0, 1]."""

    name: str
    scores: dict[str, float]


class SoundClassifier(Protocol):
    """Says whether a sound is speech, environment or music."""

    @property
    def fingerprint(self) -> str:
        """What enters the fingerprint of what it makes."""

    def load(self) -> None:
        """Load the model, once a process; a second call does nothing."""

    def classify(self, samples: Samples, speech: Sequence[Span]) -> SoundClass:
        """Classify a sound.

        Args:
            samples: Mono, at 16 kHz, of any length.
            speech: Where somebody speaks; may be empty.
        """
