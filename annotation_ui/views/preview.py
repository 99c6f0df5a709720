"""A question as a reader or a model sees it: text and media in order, nothing else."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from annotation_ui import labels
from annotation_ui.media_links import MediaLinks
from annotation_ui.views.formats import short_facts
from annotation_ui.words import Words
from core.condition import FULL, OPTIONS_ONLY, SENSES, TEXT_ONLY, Condition, without
from core.content import MediaPart, Modality, Part, TextPart
from core.question import Question, choice_label
from warehouse.blobs import BlobStore


@dataclass(frozen=True)
class Block:
    """A stretch of text, or a piece of media with its address; `missing` media is not in the store."""

    text: str = ""
    name: str = ""
    modality: str = ""
    modality_label: str = ""
    facts: str = ""
    url: str = ""
    missing: bool = False


@dataclass(frozen=True)
class Option:
    """One choice; `correct` is None where the key must not show."""

    label: str
    text: str
    correct: bool | None = None


@dataclass(frozen=True)
class Preview:
    """What a model is shown under one condition."""

    condition: str
    prompt: Sequence[Block]
    options: Sequence[Option]
    steps: Sequence[str]


def condition_for(question: Question, hidden: Collection[Modality], options_only: bool = False) -> Condition:
    """The condition that leaves these modalities out, under the name that evaluation gives it."""
    if options_only:
        return OPTIONS_ONLY
    left_out = question.modalities & set(hidden)
    if not left_out:
        return FULL
    if left_out == question.modalities:
        return TEXT_ONLY
    if len(left_out) == 1:
        return without(next(iter(left_out)))
    names = "_".join(modality.value for modality in SENSES if modality in left_out)
    return Condition(name=f"without_{names}", hidden=frozenset(left_out))


def preview(
    question: Question, condition: Condition, links: MediaLinks, user_id: str, blobs: BlobStore, t: Words
) -> Preview:
    """The question under the condition, as `core.condition` makes it for a model."""
    shown = condition.apply(question)
    return Preview(
        condition=condition.name,
        prompt=prompt_blocks(shown, links, user_id, blobs, t),
        options=options(shown, key_visible=False),
        steps=[step.ask for step in shown.steps],
    )


def prompt_blocks(question: Question, links: MediaLinks, user_id: str, blobs: BlobStore, t: Words) -> list[Block]:
    """The prompt's parts in order."""
    return part_blocks(question.prompt, links, user_id, blobs, t)


def part_blocks(parts: Sequence[Part], links: MediaLinks, user_id: str, blobs: BlobStore, t: Words) -> list[Block]:
    """Text and media in order, each medium with an address of its own; films are silent, as models get them."""
    blocks: list[Block] = []
    for part in parts:
        if isinstance(part, TextPart):
            blocks.append(Block(text=part.text))
        elif isinstance(part, MediaPart):
            media = part.media
            is_film = media.modality is Modality.VIDEO
            blocks.append(
                Block(
                    name=part.name,
                    modality=media.modality.value,
                    modality_label=t(labels.MODALITIES[media.modality]),
                    facts=short_facts(media),
                    url=links.url(media, user_id, "silent" if is_film else "whole"),
                    missing=not blobs.exists(media.sha256),
                )
            )
    return blocks


def options(question: Question, *, key_visible: bool) -> list[Option]:
    """The choices with their letters, marked right or wrong only where the key may show."""
    return [
        Option(choice_label(place), choice.text, place in question.answer.correct if key_visible else None)
        for place, choice in enumerate(question.choices)
    ]
