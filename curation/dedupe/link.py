"""Duplicate links: new materials compared with all others, once."""

from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sqlmodel import Session, col, or_, select

from core.content import Modality
from core.ids import Clock, utc_now
from core.settings import Project
from curation.dedupe.films import SHARED_MIN, Films, near_films
from curation.dedupe.match import Match, Pair
from curation.dedupe.pictures import Pictures, near_pictures
from curation.dedupe.register import SIDE
from curation.dedupe.renditions import METHODS
from curation.dedupe.shelf import Shelf, load
from curation.dedupe.sounds import Sounds, near_sounds
from curation.materials import chunked
from warehouse.database import Database
from warehouse.tables import DuplicateLink, Material, MaterialState, MaterialWork

SAME_BYTES_METHOD = "same_bytes@1"
COMPARE = "compare"
"""The work that a material's mark tells of; its maker is the method."""

Found = dict[tuple[str, str, str], Match]
"""By first id, second id, method."""


def looks_cache(project: Project) -> Path:
    """Where a project keeps between calls what comparing needs; it can be deleted at any time."""
    return project.root / "cache" / "looks"


def link_duplicates(database: Database, run_id: str, cache: Path | None = None, clock: Clock = utc_now) -> int:
    """Compare the materials that have not been compared yet with all of the same modality; returns the new links.

    Links and the mark that a material has been compared are written in one transaction, so that this can stop at any
    moment and be called again. Materials that were examined before there was this method are compared once
    `interplay material look` has looked at them.

    Args:
        database: Of the project.
        run_id: The run that the links point at.
        cache: Folder where what comparing needs is kept between calls.
        clock: For the marks.
    """
    return sum(_link_modality(database, modality, run_id, cache, clock) for modality in METHODS)


def duplicate_groups(session: Session, semantic: bool = False) -> list[list[str]]:
    """Ids of materials that are linked with one another directly or by others, each group and all groups sorted.

    Args:
        session: Of the database.
        semantic: Whether also links count that say only that two materials mean nearly the same.
    """
    query = select(DuplicateLink.first_id, DuplicateLink.second_id)
    if not semantic:
        query = query.where(DuplicateLink.shows_same())
    links = session.exec(query).all()
    ids = sorted({material_id for pair in links for material_id in pair})
    row = {material_id: place for place, material_id in enumerate(ids)}
    ends = [row[first] for first, _ in links], [row[second] for _, second in links]
    graph = coo_array(([1] * len(links), ends), shape=(len(ids), len(ids)))
    groups: dict[int, list[str]] = {}
    for material_id, label in zip(ids, connected_components(graph, directed=False)[1].tolist(), strict=True):
        groups.setdefault(label, []).append(material_id)
    return sorted(groups.values())


def _link_modality(database: Database, modality: Modality, run_id: str, cache: Path | None, clock: Clock) -> int:
    method = METHODS[modality]
    with database.reading() as session:
        pending = _pending(session, modality)
        if not pending:
            return 0
        shelf = load(session, modality, cache)
    asked = np.isin(shelf.ids, np.array(sorted(pending), dtype="S36")) & shelf.is_rendered
    if not asked.any():
        return 0
    found = {(*_ids(shelf, pair), SAME_BYTES_METHOD): Match(0.0, {}) for pair in _same_bytes(shelf, asked)}
    found |= {(*_ids(shelf, pair), method): match for pair, match in near_on(shelf, asked, modality).items()}
    with database.session() as session:
        return _store(session, {one.decode() for one in shelf.ids[asked]}, found, method, run_id, clock)


def _pending(session: Session, modality: Modality) -> set[str]:
    query = select(Material.id).where(Material.modality == modality.value, Material.state != MaterialState.WITHDRAWN)
    mine = (MaterialWork.work == COMPARE, MaterialWork.maker == METHODS[modality])
    compared = set(session.exec(select(MaterialWork.material_id).where(*mine)))
    return set(session.exec(query)) - compared


def _ids(shelf: Shelf, pair: Pair) -> tuple[str, str]:
    """In the order of the shelf, for pairs have the lower place first."""
    return shelf.ids[pair[0]].decode(), shelf.ids[pair[1]].decode()


def _same_bytes(shelf: Shelf, asked: npt.NDArray[np.bool_]) -> list[Pair]:
    """Materials whose bytes as received differ, but whose working copies are the same: only their metadata differed."""
    order = np.argsort(shelf.copies, kind="stable")
    cuts = np.flatnonzero(shelf.copies[order][1:] != shelf.copies[order][:-1]) + 1
    groups = (places.tolist() for places in np.split(order, cuts) if len(places) > 1)
    return [pair for places in groups for pair in combinations(places, 2) if asked[list(pair)].any()]


def near_on(
    shelf: Shelf, asked: npt.NDArray[np.bool_], modality: Modality, shared_min: float = SHARED_MIN
) -> dict[Pair, Match]:
    """Near pairs of a shelf, one of each asked for; the lower place first. `shared_min` is that of `near_films`."""
    if modality == Modality.AUDIO:
        starts, owners = _starts(shelf.row_counts), np.repeat(np.arange(len(shelf)), shelf.hash_counts)
        return near_sounds(Sounds(shelf.rows, starts, shelf.hashes, owners, shelf.places), asked)
    pictures = Pictures(shelf.rows.reshape(-1, SIDE, SIDE), shelf.hashes)
    if modality == Modality.VIDEO:
        return near_films(Films(pictures, _starts(shelf.row_counts), shelf.hz), asked, shared_min)
    owners = np.flatnonzero(shelf.row_counts)
    found = near_pictures(pictures, asked[owners])
    return {(int(owners[i]), int(owners[j])): match for (i, j), match in found.items()}


def _starts(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _store(session: Session, compared: set[str], found: Found, method: str, run_id: str, clock: Clock) -> int:
    held: set[tuple[str, str, str]] = set()
    for ids in chunked(sorted(compared)):
        is_mine = or_(col(DuplicateLink.first_id).in_(ids), col(DuplicateLink.second_id).in_(ids))
        links = session.exec(select(DuplicateLink).where(is_mine))
        held |= {(link.first_id, link.second_id, link.method) for link in links}
        for id_ in ids:
            session.add(MaterialWork(material_id=id_, work=COMPARE, maker=method, run_id=run_id, created_at=clock()))
    fresh = sorted(set(found) - held)
    for first, second, by in fresh:
        match = found[first, second, by]
        named = {"first_id": first, "second_id": second, "method": by, "run_id": run_id}
        session.add(DuplicateLink(**named, distance=match.distance, evidence=match.evidence))
    return len(fresh)
