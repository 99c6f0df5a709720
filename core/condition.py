"""What a model is shown of a question: everything, less, or something in its place."""

from collections.abc import Mapping
from typing import Self

from pydantic import Field, field_serializer, model_validator

from core.content import Frozen, MediaPart, MediaRef, Modality, Part, TextPart
from core.errors import InterplayError
from core.provenance import content_hash
from core.question import Question

# Ends the name of a condition under which a question is asked without its options.
OPENED = "_open"
SENSES = (Modality.IMAGE, Modality.AUDIO, Modality.VIDEO)
_WITHHELD = {"en": "[{modality} not provided]", "zh": "[未提供{modality}]"}
_SHOWN_AS_TEXT = {"en": "[{modality} described in words: {text}]", "zh": "[{modality}的文字描述：{text}]"}
IN_WORDS: Mapping[str, tuple[Modality, ...]] = {
    "caption_for_image": (Modality.IMAGE,),
    "caption_for_video": (Modality.VIDEO,),
    "caption_for_visual": (Modality.IMAGE, Modality.VIDEO),
    "transcript_for_audio": (Modality.AUDIO,),
}
_MODALITY_WORDS = {
    "en": {Modality.IMAGE: "image", Modality.AUDIO: "audio", Modality.VIDEO: "video"},
    "zh": {Modality.IMAGE: "图片", Modality.AUDIO: "音频", Modality.VIDEO: "视频"},
}


class MissingReplacement(InterplayError):
    """A condition that replaces a modality knows nothing to put in the place of some media."""


class Condition(Frozen):
    """What a model is shown.

    Attributes:
        name: `full`, `without_audio`, `text_only`, `options_only`, `caption_for_visual`, `donor_for_image`, ...
        hidden: Media modalities whose parts are left out.
        options_only: The prompt is left out too; only the choices stay (or, with no choices, nothing but the steps).
        open_ended: The choices are left out, the question is asked openly (a probe that no option can lead).
        words: Modality to its media's sha256 to the caption or transcript that stands in its place.
        donors: Modality to its media's sha256 to the other item's media that stands in its place.
    """

    name: str = Field(pattern=r"^[a-z][a-z_]*$")
    hidden: frozenset[Modality] = frozenset()
    options_only: bool = False
    open_ended: bool = False
    words: Mapping[Modality, Mapping[str, str]] = {}
    donors: Mapping[Modality, Mapping[str, MediaRef]] = {}

    @field_serializer("hidden")
    def _hidden_in_order(self, hidden: frozenset[Modality]) -> list[str]:
        return sorted(hidden)

    @model_validator(mode="after")
    def _one_treatment_each(self) -> Self:
        treated = [*self.hidden, *self.words, *self.donors]
        twice = sorted({modality for modality in treated if treated.count(modality) > 1})
        if twice:
            raise ValueError(f"condition {self.name!r} treats {twice[0]} in two ways; choose one")
        if Modality.TEXT in treated:
            raise ValueError("text cannot be hidden or replaced; use options_only")
        for modality, donors in self.donors.items():
            odd = sorted({donor.modality.value for donor in donors.values()} - {modality.value})
            if odd:
                raise ValueError(f"condition {self.name!r} puts {odd[0]} in the place of {modality.value}")
        return self

    @property
    def fingerprint(self) -> str:
        """sha256 over the whole treatment; two conditions of one name may show different words."""
        return content_hash(self.model_dump(mode="json", exclude_defaults=True))

    def applies_to(self, question: Question) -> bool:
        """Whether the question holds what this condition takes away or replaces."""
        if self.options_only:
            return True
        treated = {*self.hidden, *self.words, *self.donors}
        return not treated or bool(treated & question.modalities)

    def apply(self, question: Question) -> Question:
        """The question as shown; key, choices and steps stay as they are. Pure.

        Raises:
            MissingReplacement: `words` or `donors` treat a modality, but not all of the question's media of it.
        """
        if self.options_only:
            return question.model_copy(update={"prompt": ()})
        shown = question
        if {*self.hidden, *self.words, *self.donors} & question.modalities:
            prompt = tuple(self._shown(part, question.language) for part in question.prompt)
            shown = question.model_copy(update={"prompt": merge_text(prompt)})
        return shown.as_open() if self.open_ended else shown

    def opened(self) -> Self:
        """The same treatment, asked without options."""
        return self.model_copy(update={"name": f"{self.name}{OPENED}", "open_ended": True})

    def _shown(self, part: Part, language: str) -> Part:
        if isinstance(part, TextPart):
            return part
        modality, sha256 = part.media.modality, part.media.sha256
        if modality in self.hidden:
            return TextPart(text=_phrase(_WITHHELD, language, modality))
        if sha256 in self.words.get(modality, {}):
            return TextPart(text=_phrase(_SHOWN_AS_TEXT, language, modality, self.words[modality][sha256]))
        if sha256 in self.donors.get(modality, {}):
            return MediaPart(name=part.name, media=self.donors[modality][sha256])
        if modality in self.words or modality in self.donors:
            raise MissingReplacement(
                f"condition {self.name!r} has nothing to show in the place of <{part.name}> ({sha256}); add it"
            )
        return part


FULL = Condition(name="full")
TEXT_ONLY = Condition(name="text_only", hidden=frozenset(SENSES))
OPTIONS_ONLY = Condition(name="options_only", options_only=True)
WITHOUT_VISUAL = Condition(name="without_visual", hidden=frozenset({Modality.IMAGE, Modality.VIDEO}))


def without(modality: Modality) -> Condition:
    """Everything but one modality."""
    return Condition(name=f"without_{modality.value}", hidden=frozenset({modality}))


def in_words(name: str, words: Mapping[Modality, Mapping[str, str]]) -> Condition:
    """Captions (image, video) or transcripts (audio) in the media's place, by modality and the media's sha256.

    Args:
        name: One of `IN_WORDS`.
        words: For each modality that the name speaks of.
    """
    foreign = sorted(words.keys() - set(IN_WORDS[name]))
    if foreign:
        raise ValueError(f"condition {name!r} puts no words in the place of {foreign[0]}")
    return Condition(name=name, words={modality: dict(texts) for modality, texts in words.items()})


def with_donor(modality: Modality, donors: Mapping[str, MediaRef]) -> Condition:
    """Another item's media in place of a modality (placebo), by the media's sha256."""
    return Condition(name=f"donor_for_{modality.value}", donors={modality: dict(donors)})


def merge_text(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Join neighbouring text parts, so that equal prompts are equal values."""
    merged: list[Part] = []
    for part in parts:
        if merged and isinstance(part, TextPart) and isinstance(merged[-1], TextPart):
            merged[-1] = TextPart(text=merged[-1].text + part.text)
        else:
            merged.append(part)
    return tuple(merged)


def _phrase(phrases: Mapping[str, str], language: str, modality: Modality, text: str = "") -> str:
    known = "zh" if language.split("-", maxsplit=1)[0] == "zh" else "en"
    return phrases[known].format(modality=_MODALITY_WORDS[known][modality], text=text)
