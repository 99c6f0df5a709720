"""What comparing needs of all materials of a modality: from the database, and from a cache beside it.

The cache is a folder of NumPy files, one for each call that found materials which were not in it. It can be deleted at
any time: it is made again from the database.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
from sqlmodel import Session, col, select

from core.content import Modality
from core.ids import new_id
from curation.dedupe.index import Rows
from curation.dedupe.renditions import HASH_COUNTS, METHODS, ROW_SIZES, read
from curation.materials import chunked
from warehouse.tables import Material, MaterialState

PARTS_MAX = 32
"""With more files than this, the cache is written anew as one."""


@dataclass(frozen=True)
class Shelf:
    """Materials: (materials,) ids and sha256 of working copies as bytes, rates, counts.

    `rows` are the renditions' rows one behind another, material i has row_counts[i] of them; in the same way `hashes`
    and `places` (hash_counts). Where a material has no rendition by this method, `is_rendered` is False.
    """

    ids: npt.NDArray[np.bytes_]
    copies: npt.NDArray[np.bytes_]
    is_rendered: npt.NDArray[np.bool_]
    hz: npt.NDArray[np.float64]
    row_counts: Rows
    hash_counts: Rows
    rows: npt.NDArray[np.uint8]
    hashes: npt.NDArray[np.uint64]
    places: Rows

    def __len__(self) -> int:
        """How many materials."""
        return len(self.ids)

    def chosen(self, keep: npt.NDArray[np.bool_]) -> "Shelf":
        """Some of the materials."""
        by_row, by_hash = np.repeat(keep, self.row_counts), np.repeat(keep, self.hash_counts)
        masks = {"rows": by_row, "hashes": by_hash, "places": by_hash}
        return Shelf(**{one.name: getattr(self, one.name)[masks.get(one.name, keep)] for one in fields(self)})

    def in_order(self, ids: npt.NDArray[np.bytes_]) -> "Shelf":
        """The same materials in the order of these ids, which are theirs."""
        order = np.argsort(self.ids)[np.argsort(np.argsort(ids))]
        inner = {"rows": _order(self.row_counts, order), "hashes": _order(self.hash_counts, order)}
        inner["places"] = inner["hashes"]
        return Shelf(**{one.name: getattr(self, one.name)[inner.get(one.name, order)] for one in fields(self)})


def load(session: Session, modality: Modality, cache: Path | None) -> Shelf:
    """All materials of a modality that nobody has taken back, in the order of their bytes' sha256 as received.

    So which of two comes first does not depend on which was ingested first, as it would in the order of ids.

    Args:
        session: Of the database.
        modality: Which.
        cache: Folder of the cache; None reads everything from the database.
    """
    here = (Material.modality == modality.value, Material.state != MaterialState.WITHDRAWN)
    found = sorted(session.exec(select(Material.sha256, Material.id).where(*here)))
    ids = np.array([id_ for _, id_ in found], dtype="S36")
    folder = None if cache is None else cache / METHODS[modality]
    held = _read_cache(folder, modality)
    is_new = ~np.isin(ids, held.ids)
    fresh = _from_database(session, modality, [one.decode() for one in ids[is_new]])
    if folder is not None:
        _write_cache(folder, held, fresh.chosen(fresh.is_rendered), ids)
    # What was taken back since must not be compared, though the cache may still have it for a moment.
    return _joined([held.chosen(np.isin(held.ids, ids)), fresh]).in_order(ids)


def _from_database(session: Session, modality: Modality, ids: Sequence[str]) -> Shelf:
    parts = [_empty(modality)]
    for chunk in chunked(ids):
        found = session.exec(select(Material.id, Material.media, Material.looks).where(col(Material.id).in_(chunk)))
        parts.append(shelved(modality, [(id_, media["sha256"], looks) for id_, media, looks in found]))
    return _joined(parts)


def shelved(modality: Modality, materials: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Shelf:
    """A shelf of materials that are given by id, sha256 of the working copy, and looks; in that order."""
    method = METHODS[modality]
    rendered = [read(modality, looks.get(method)) for _, _, looks in materials]
    nothing = read(modality, None)
    return Shelf(
        ids=np.array([id_ for id_, _, _ in materials], dtype="S36"),
        copies=np.array([copy for _, copy, _ in materials], dtype="S64"),
        is_rendered=np.array([method in looks for _, _, looks in materials], dtype=bool),
        hz=np.array([one.hz for one in rendered], dtype=np.float64),
        row_counts=np.array([len(one.rows) for one in rendered], dtype=np.int64),
        hash_counts=np.array([len(one.hashes) for one in rendered], dtype=np.int64),
        rows=np.concatenate([nothing.rows, *(one.rows for one in rendered)]),
        hashes=np.concatenate([nothing.hashes, *(one.hashes for one in rendered)]),
        places=np.concatenate([nothing.places, *(one.places for one in rendered)]),
    )


def _empty(modality: Modality) -> Shelf:
    return shelved(modality, [])


def _joined(parts: Iterable[Shelf]) -> Shelf:
    held = list(parts)
    return Shelf(**{one.name: np.concatenate([getattr(part, one.name) for part in held]) for one in fields(Shelf)})


def _order(counts: Rows, order: Rows) -> Rows:
    """The places of inner rows when their owners are put in order."""
    starts = np.concatenate([[0], np.cumsum(counts)])[:-1]
    inner_starts = np.repeat(starts[order], counts[order])
    behind = np.arange(counts.sum()) - np.repeat(np.cumsum(counts[order]) - counts[order], counts[order])
    places: Rows = inner_starts + behind
    return places


def _read_cache(folder: Path | None, modality: Modality) -> Shelf:
    parts = [_empty(modality)]
    for file in sorted(folder.glob("*.npz")) if folder is not None else []:
        try:
            with np.load(file) as held:
                part = Shelf(**{one.name: held[one.name] for one in fields(Shelf)})
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            file.unlink(missing_ok=True)  # broken off while it was written, or of an earlier version
            continue
        if part.rows.shape[1] == ROW_SIZES[modality] and part.hashes.shape[1] == HASH_COUNTS[modality]:
            parts.append(part)
        else:
            file.unlink(missing_ok=True)
    held = _joined(parts)
    _, first = np.unique(held.ids, return_index=True)
    if len(first) == len(held):
        return held
    # Two processes wrote the same material.
    keep = np.zeros(len(held), dtype=bool)
    keep[first] = True
    return held.chosen(keep)


def _write_cache(folder: Path, held: Shelf, fresh: Shelf, ids: npt.NDArray[np.bytes_]) -> None:
    """Add what is new; write all anew where something was taken back, so that nothing of it stays."""
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(folder.glob("*.npz"))
    stays = np.isin(held.ids, ids)
    if stays.all() and len(files) < PARTS_MAX:
        if len(fresh):
            _write(folder, fresh)
        return
    _write(folder, _joined([held.chosen(stays), fresh]))
    for file in files:
        file.unlink(missing_ok=True)


def _write(folder: Path, shelf: Shelf) -> None:
    name = new_id()
    temporary = folder / f"{name}.writing"
    with temporary.open("wb") as file:
        np.savez(file, **{one.name: getattr(shelf, one.name) for one in fields(Shelf)})
    temporary.rename(folder / f"{name}.npz")
