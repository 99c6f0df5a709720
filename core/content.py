"""What a message is made of: modalities, media references, parts, and prompts written with placeholders."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.errors import InterplayError

PLACEHOLDER = re.compile(r"<((?:image|audio|video)_[1-9][0-9]*)>")


class Frozen(BaseModel):
    """A value: immutable, compared by content, unknown fields and numbers that are none (NaN, infinity) refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy for which what follows from its fields is worked out anew."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields:
            del copied.__dict__[name]  # pydantic copies what cached properties hold
        return copied


class Modality(StrEnum):
    """The senses that a question can ask for."""

    TEXT = "text"
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"


class MediaRef(Frozen):
    """Media by content: the only way media is named, never a path.

    Durations in seconds, sizes in pixels, rates in hertz, where they apply.
    """

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    media_type: str = Field(description="IANA media type found in the content, as 'image/png'")
    modality: Modality
    byte_count: int = Field(gt=0)
    duration_s: float | None = None
    width_px: int | None = None
    height_px: int | None = None
    sample_rate_hz: int | None = None
    frame_rate_hz: float | None = None


class TextPart(Frozen):
    """A stretch of text."""

    type: Literal["text"] = "text"
    text: str


class MediaPart(Frozen):
    """A piece of media that stands where the text names it, under its placeholder's name (`image_1`)."""

    type: Literal["media"] = "media"
    name: str = Field(pattern=r"^(image|audio|video)_[1-9][0-9]*$")
    media: MediaRef

    @model_validator(mode="after")
    def _name_says_modality(self) -> Self:
        if self.name.split("_")[0] != self.media.modality.value:
            raise ValueError(f"{self.name!r} cannot name {self.media.modality.value} media")
        return self


Part = Annotated[TextPart | MediaPart, Field(discriminator="type")]


class Message(Frozen):
    """One turn that a model is shown."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[Part, ...]


class MisplacedMedia(InterplayError):
    """A prompt whose placeholders and media do not match."""


def parse_prompt(text: str, media: Mapping[str, MediaRef]) -> tuple[Part, ...]:
    """Put media where the text names it: `<image_1>` becomes the part; a later mention of the same name stays text.

    Args:
        text: The prompt as authors write it.
        media: Placeholder name (`image_1`) to media.

    Raises:
        MisplacedMedia: A placeholder without media, media that no placeholder names, or a placeholder whose name
            says another modality than its media has.
    """
    named = PLACEHOLDER.findall(text)
    _check_placeholders(named, media)
    parts: list[Part] = []
    placed: set[str] = set()
    end = 0
    for found in PLACEHOLDER.finditer(text):
        name = found.group(1)
        if name in placed:
            continue
        placed.add(name)
        if found.start() > end:
            parts.append(TextPart(text=text[end : found.start()]))
        parts.append(MediaPart(name=name, media=media[name]))
        end = found.end()
    if end < len(text):
        parts.append(TextPart(text=text[end:]))
    return tuple(parts)


def _check_placeholders(named: Iterable[str], media: Mapping[str, MediaRef]) -> None:
    mentioned = set(named)
    for name in sorted(mentioned - set(media)):
        raise MisplacedMedia(f"the prompt names <{name}>, but no media is given under {name!r}; add it or remove it")
    for name in sorted(set(media) - mentioned):
        raise MisplacedMedia(f"media {name!r} has no placeholder; write <{name}> where it belongs in the prompt")
    for name, ref in media.items():
        kind = name.split("_")[0]
        if kind != ref.modality.value:
            raise MisplacedMedia(f"<{name}> stands for {ref.modality.value} media; rename it <{ref.modality.value}_1>")
