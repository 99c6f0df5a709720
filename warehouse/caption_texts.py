"""The words that stand for media, and whose they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlmodel import Session

from core.content import Modality
from warehouse.caption_search import Search, descent, find_captions
from warehouse.captions import KINDS
from warehouse.tables import Caption, CaptionState, Material

# What `Material.audio_content_by` says where a person said what is heard.
BY_PEOPLE = "human"


@dataclass(frozen=True)
class AcceptedText:
    """The words that stand for a material, and whose they are: 'gemini, edited by mei', or 'people' by the library."""

    text: str
    whose: str


def accepted_texts(session: Session, materials: Iterable[Material]) -> dict[str, dict[str, AcceptedText]]:
    """By material id and language, the words that stand for it.

    What a person said of a sound when it came into the library stands in every language in which nothing else is
    accepted; it is found under the language ''.
    """
    wanted = {material.id: material for material in materials}
    texts: dict[str, dict[str, AcceptedText]] = {id_: {} for id_ in wanted}
    for material in wanted.values():
        if told_by_people(material):
            assert material.audio_content is not None
            texts[material.id][""] = AcceptedText(material.audio_content, "people")
    captions = find_captions(session, Search(sorted(wanted)))
    by_id = {caption.id: caption for caption in captions}
    for caption in captions:
        if caption.state == CaptionState.ACCEPTED and caption.kind == KINDS[wanted[caption.material_id].modality]:
            texts[caption.material_id][caption.language] = AcceptedText(caption.text, whose(caption, by_id))
    return texts


def told_by_people(material: Material) -> bool:
    """Whether a person said what is heard in it when it came into the library."""
    told = material.audio_content_by == BY_PEOPLE and bool((material.audio_content or "").strip())
    return told and material.modality == Modality.AUDIO


def whose(caption: Caption, by_id: Mapping[str, Caption]) -> str:
    """Whose words they are: 'gemini', 'mei', or 'gemini, edited by mei'; `by_id` holds what it is based on."""
    first, *editors = dict.fromkeys(version.author for version in reversed(descent(caption, by_id)))
    return f"{first}, edited by {' and '.join(editors)}" if editors else first
