"""What is known of a material besides its pixels and samples, as filters of any modality see it."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from core.content import MediaRef


@dataclass(frozen=True)
class Rules:
    """What a project takes: languages as primary subtags (() for all), licences that it allows beside the open ones."""

    languages: tuple[str, ...] = ()
    allowed_licences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Said:
    """A stretch of speech."""

    duration_s: float
    language: str | None = None
    text: str | None = None


@dataclass(frozen=True)
class Described:
    """What is known of a material.

    Attributes:
        ref: Its working copy.
        licences: One for each source; None where it states none.
        speech: The newest transcript, in order.
        audio_type: `speech`, `environment` or `music`, where somebody or some model says.
        audio_content: What is heard, or, of other materials, seen.
        captions: Accepted words about it, in any language.
        rules: What the project takes.
        read: Gives the bytes of the working copy, which a guarded process has decoded in full before.
    """

    ref: MediaRef
    licences: tuple[str | None, ...] = ()
    speech: tuple[Said, ...] = ()
    audio_type: str | None = None
    audio_content: str | None = None
    captions: tuple[str, ...] = ()
    rules: Rules = Rules()
    read: Callable[[], bytes] = field(default=bytes, compare=False, repr=False)

    @property
    def fingerprint(self) -> str:
        """What all this is, in short: another one when any of it has changed."""
        known = {
            "sha256": self.ref.sha256,
            "licences": sorted(self.licences, key=str),
            "speech": [asdict(one) for one in self.speech],
            "audio": [self.audio_type, self.audio_content],
            "captions": sorted(self.captions),
            "rules": asdict(self.rules),
        }
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]
