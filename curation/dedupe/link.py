"""Duplicate links: new materials compared with all others, once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sqlmodel import Session, col, or_, select

from core.content import Modality
from curation.dedupe.compare import Pair, near_pictures, near_sequences
from curation.dedupe.looks import METHOD_OF_MODALITY
from curation.materials import chunked
from warehouse.database import Database
from warehouse.tables import DuplicateLink, Material

SAME_BYTES_METHOD = "same_bytes@1"
COMPARED = "compared_by"

Found = dict[tuple[str, str, str], float]
"""(first id, second id, method) to distance."""


@dataclass(frozen=True)
class _Shelved:
    """What comparing needs of a material."""

    id: str
    media_sha256: str
    looks: Mapping[str, Any]


def link_duplicates(database: Database, run_id: str) -> int:
    """Compare the materials that have not been compared yet with all of the same modality; returns the new links.

    Links and the mark that a material has been compared are written in one transaction, so that this can stop at any
    moment and be called again.
    """
    return sum(_link_modality(database, modality, method, run_id) for modality, method in METHOD_OF_MODALITY.items())


def duplicate_groups(session: Session) -> list[list[str]]:
    """Ids of materials that are linked with one another directly or by others, each group and all groups sorted."""
    links = session.exec(select(DuplicateLink.first_id, DuplicateLink.second_id)).all()
    ids = sorted({material_id for pair in links for material_id in pair})
    row = {material_id: place for place, material_id in enumerate(ids)}
    ends = [row[first] for first, _ in links], [row[second] for _, second in links]
    graph = coo_array(([1] * len(links), ends), shape=(len(ids), len(ids)))
    groups: dict[int, list[str]] = {}
    for material_id, label in zip(ids, connected_components(graph, directed=False)[1].tolist(), strict=True):
        groups.setdefault(label, []).append(material_id)
    return sorted(groups.values())


def _link_modality(database: Database, modality: Modality, method: str, run_id: str) -> int:
    with database.session() as session:
        shelf = _shelf(session, modality)
    pending = {one.id for one in shelf if method not in one.looks.get(COMPARED, [])}
    if not pending:
        return 0
    found = _same_bytes(shelf, pending) | _near(shelf, pending, modality, method)
    with database.session() as session:
        return _store(session, pending, found, method, run_id)


def _shelf(session: Session, modality: Modality) -> list[_Shelved]:
    rows = session.exec(select(Material.id, Material.media, Material.looks).where(Material.modality == modality.value))
    return [_Shelved(material_id, media["sha256"], looks) for material_id, media, looks in rows]


def _same_bytes(shelf: Sequence[_Shelved], pending: set[str]) -> Found:
    """Materials whose bytes as received differ, but whose working copies are the same: only their metadata differed."""
    by_copy: dict[str, list[str]] = {}
    for one in shelf:
        by_copy.setdefault(one.media_sha256, []).append(one.id)
    pairs = (pair for ids in by_copy.values() for pair in combinations(sorted(ids), 2))
    return {(first, second, SAME_BYTES_METHOD): 0.0 for first, second in pairs if {first, second} & pending}


def _near(shelf: Sequence[_Shelved], pending: set[str], modality: Modality, method: str) -> Found:
    hashed = [one for one in shelf if one.looks.get(method) is not None]
    asked = [one for one in hashed if one.id in pending]
    compare = near_pictures if modality == Modality.IMAGE else near_sequences
    pairs: dict[Pair, float] = compare([one.looks[method] for one in asked], [one.looks[method] for one in hashed])
    found: Found = {}
    for (i, j), distance in pairs.items():
        first, second = sorted((asked[i].id, hashed[j].id))
        if first != second:
            key = (first, second, method)
            found[key] = round(min(distance, found.get(key, 1.0)), 6)
    return found


def _store(session: Session, pending: set[str], found: Found, method: str, run_id: str) -> int:
    held: set[tuple[str, str, str]] = set()
    for ids in chunked(pending):
        is_pending = or_(col(DuplicateLink.first_id).in_(ids), col(DuplicateLink.second_id).in_(ids))
        links = session.exec(select(DuplicateLink).where(is_pending))
        held |= {(link.first_id, link.second_id, link.method) for link in links}
        for material in session.exec(select(Material).where(col(Material.id).in_(ids))):
            material.looks = material.looks | {COMPARED: [*material.looks.get(COMPARED, []), method]}
            session.add(material)
    fresh = sorted(set(found) - held)
    for first, second, by in fresh:
        link = DuplicateLink(
            first_id=first, second_id=second, method=by, distance=found[first, second, by], run_id=run_id
        )
        session.add(link)
    return len(fresh)
