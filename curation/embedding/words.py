"""What is said in materials and of them: transcripts, descriptions of sounds, captions."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlmodel import Session, col, select

from warehouse.caption_search import Search, find_captions
from warehouse.tables import CaptionState, Material, MaterialState, Segment


@dataclass(frozen=True)
class Words:
    """All words of a material; `subject` is the sha256 of its working copy."""

    material_id: str
    subject: str
    text: str


def words_of_library(session: Session) -> list[Words]:
    """The words of every kept material that has some, by id.

    They are what is said in it, then the description of its sound, then its captions and transcripts: those that were
    accepted, and those that are only proposed where none was.
    """
    # Columns alone: whole rows hold all words' times, all hashes and all measures of the library.
    segments = select(Segment.material_id, Segment.text)
    said = _joined(session.exec(segments.order_by(col(Segment.material_id), col(Segment.start_s), col(Segment.id))))
    told = _told(session)
    found: list[Words] = []
    kept = select(Material.id, Material.media, Material.audio_content).where(Material.state == MaterialState.KEPT)
    for material_id, media, content in session.exec(kept.order_by(col(Material.id))):
        parts = (said.get(material_id), content, told.get(material_id))
        # A transcript may stand in several places.
        text = "\n".join(dict.fromkeys(part.strip() for part in parts if part and part.strip()))
        if text:
            found.append(Words(material_id, media["sha256"], text))
    return found


def _told(session: Session) -> dict[str, str]:
    captions = find_captions(session, Search(states=(CaptionState.ACCEPTED, CaptionState.PROPOSED)))
    accepted = {one.material_id for one in captions if one.state == CaptionState.ACCEPTED}
    standing = (one for one in captions if one.state == CaptionState.ACCEPTED or one.material_id not in accepted)
    return _joined((one.material_id, one.text) for one in standing)


def _joined(texts: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for material_id, text in texts:
        if text and text.strip():
            found.setdefault(material_id, []).append(text.strip())
    return {material_id: "\n".join(parts) for material_id, parts in found.items()}
