"""Captions and transcripts found: by id, by what is asked for, and by what they are based on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, select

from warehouse.database import portions
from warehouse.handles import whole_id
from warehouse.tables import Caption, CaptionKind, CaptionState, Material


@dataclass(frozen=True)
class Search:
    """Which captions: those of these materials (all when None), with all of the other properties that are given."""

    material_ids: Sequence[str] | None = None
    kinds: Sequence[CaptionKind] = tuple(CaptionKind)
    states: Sequence[CaptionState] = tuple(CaptionState)


def get_caption(session: Session, caption_id: str) -> Caption:
    """The version whose id is or begins so.

    Raises:
        UnknownId, AmbiguousId: There is none, or there are several.
    """
    return session.get_one(Caption, whole_id(session, [Caption.id], caption_id, "caption", "interplay caption list"))


def get_material(session: Session, name: str) -> Material:
    """The material whose id or sha256 is or begins so.

    Raises:
        UnknownId, AmbiguousId: There is none, or there are several.
    """
    columns = [Material.id, Material.sha256]
    return session.get_one(Material, whole_id(session, columns, name, "material", "interplay material list"))


def find_with_materials(session: Session, search: Search) -> list[tuple[Caption, Material]]:
    """The versions that a search asks for with their materials, by material, oldest first."""
    query = select(Caption, Material).join(Material, col(Material.id) == col(Caption.material_id))
    return [(caption, material) for caption, material in _found(session, query, search)]


def find_captions(session: Session, search: Search) -> list[Caption]:
    """The versions that a search asks for, by material, oldest first."""
    return list(_found(session, select(Caption), search))


def captions_of(session: Session, material_ids: Sequence[str], kind: CaptionKind, language: str) -> list[Caption]:
    """All versions of the materials' words of one kind in one language, by material, oldest first."""
    found = find_captions(session, Search(material_ids, [kind]))
    return [caption for caption in found if caption.language == language]


def versions_of(session: Session, caption: Caption) -> list[Caption]:
    """All that was written from the same beginning: what it is based on, itself, and what is based on those."""
    everything = captions_of(session, [caption.material_id], caption.kind, caption.language)
    by_id = {one.id: one for one in everything}
    beginning = descent(caption, by_id)[-1].id
    return [one for one in everything if descent(one, by_id)[-1].id == beginning]


def descent(caption: Caption, by_id: Mapping[str, Caption]) -> list[Caption]:
    """A version, what it is based on, and so on back to what all those edits began with; `by_id` holds them all."""
    versions = [caption]
    while (before := versions[-1].based_on_id) is not None:
        versions.append(by_id[before])
    return versions


def _found(session: Session, query: Any, search: Search) -> Iterator[Any]:
    query = query.where(col(Caption.kind).in_(search.kinds), col(Caption.state).in_(search.states))
    query = query.order_by(col(Caption.material_id), col(Caption.created_at), col(Caption.id))
    if (ids := search.material_ids) is None:
        yield from session.exec(query)
        return
    for some in portions(ids):
        yield from session.exec(query.where(col(Caption.material_id).in_(some)))
