"""Materials that mean nearly the same: the nearest neighbours among their vectors, as duplicate links of a softer kind.

Such links keep materials in one split of a release; they do not say that two materials show the same (docs/tags.md).
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sqlmodel import Session, col, or_, select

from core.content import MediaRef, Modality
from core.errors import InterplayError
from core.ids import Clock, utc_now
from curation.embedding import CLIP, TEXT, Vectors
from curation.embedding.stored import Stored, stored_vectors
from curation.passes import PassReport, Which, Work, run_pass
from warehouse.tables import SEMANTIC_METHODS, DuplicateLink, Material, MaterialState
from warehouse.workspace import Workspace

COMMAND = "material relate"
METHODS: Mapping[str, str] = {CLIP: f"{SEMANTIC_METHODS}clip@1", TEXT: f"{SEMANTIC_METHODS}text@1"}
THRESHOLDS: Mapping[str, float] = {CLIP: 0.95, TEXT: 0.9}
BATCH = 512
KNOWN_BLOCK = 16_384

Found = list[tuple[str, float]]
"""sha256 of working copies, and their cosine with the one that was asked about."""


class BadThreshold(InterplayError):
    """A cosine beyond which everything or nothing is a neighbour."""


@dataclass
class Related:
    """What became of a comparison; `links` are all that stand now, `largest` counts the largest group they make."""

    report: PassReport
    links: int
    groups: int
    largest: int


def relate(
    workspace: Workspace,
    kind: str,
    embedder: str,
    threshold: float,
    *,
    again: bool = False,
    dry_run: bool = False,
    clock: Clock = utc_now,
) -> Related:
    """Link the kept materials whose vectors have at least a cosine, each compared once with all others.

    Links that were made with other vectors or by another threshold are replaced.

    Args:
        workspace: The opened project.
        kind: `clip` or `text`.
        embedder: Fingerprint of what made the vectors.
        threshold: Least cosine, in (0, 1].
        again: Also of materials that were compared before.
        dry_run: Only count the materials.
        clock: For the rows' times.

    Raises:
        BadThreshold: It is not in (0, 1].
    """
    if not 0 < threshold <= 1:
        raise BadThreshold(f"a threshold of {threshold} links all or nothing; give a cosine above 0 and at most 1")
    with workspace.database.reading() as session:
        ids = _kept_ids(session)
    known = stored_vectors(workspace.facts, embedder).among(ids)
    work = Work(
        f"relate_{kind}",
        f"{METHODS[kind]} {embedder} >= {threshold:g}",
        frozenset(Modality),
        _subject,
        _Linker(METHODS[kind], ids),
        "comparing",
        make_many=_finder(known, threshold),
        batch=BATCH,
        reads=False,
        replaces=True,
    )
    which = Which(sorted(id_ for subject in known.subjects for id_ in ids[subject]), again)
    settings = {"embedder": embedder, "threshold": threshold}
    report = run_pass(workspace, COMMAND, work, which, settings=settings, dry_run=dry_run, clock=clock)
    with workspace.database.reading() as session:
        return _summary(session, METHODS[kind], report)


def near_rows(asked: Vectors, known: Vectors, threshold: float) -> list[list[tuple[int, float]]]:
    """For each asked vector the rows of known ones that have at least this cosine with it, and the cosine.

    All pairs are looked at, by matrix products of blocks: exact, and the work grows with n m d.

    Args:
        asked: Shape (n, d), rows of length 1.
        known: Shape (m, d), rows of length 1.
        threshold: Least cosine.
    """
    found: list[list[tuple[int, float]]] = [[] for _ in range(len(asked))]
    for start in range(0, len(known), KNOWN_BLOCK):
        cosines = asked @ known[start : start + KNOWN_BLOCK].T
        for row, column in np.argwhere(cosines >= threshold).tolist():
            found[row].append((start + column, min(1.0, float(cosines[row, column]))))
    return found


def _subject(ref: MediaRef, _: bytes) -> str:
    return ref.sha256


def _finder(known: Stored, threshold: float) -> Callable[[Sequence[str]], list[Found]]:
    rows = {subject: row for row, subject in enumerate(known.subjects)}

    def find(subjects: Sequence[str]) -> list[Found]:
        asked = known.vectors[[rows[subject] for subject in subjects]]
        near = near_rows(asked, known.vectors, threshold)
        return [[(known.subjects[row], cosine) for row, cosine in one] for one in near]

    return find


@dataclass(frozen=True)
class _Linker:
    """Stores the links of a material, in place of those that an earlier run made."""

    method: str
    ids: Mapping[str, Sequence[str]]

    def __call__(self, session: Session, material: Material, found: Found, run_id: str) -> dict[str, Any]:
        wanted = {
            (min(material.id, other), max(material.id, other)): round(1 - cosine, 6)
            for subject, cosine in found
            for other in self.ids[subject]
            if other != material.id
        }
        touches = or_(col(DuplicateLink.first_id) == material.id, col(DuplicateLink.second_id) == material.id)
        neighbours = len(wanted)
        for link in session.exec(select(DuplicateLink).where(touches, DuplicateLink.method == self.method)):
            distance = wanted.pop((link.first_id, link.second_id), None)
            if distance is not None:
                link.distance, link.run_id = distance, run_id
                session.add(link)
            elif link.run_id != run_id:  # else its other end has just found it, at the very threshold
                session.delete(link)
        for (first, second), distance in sorted(wanted.items()):
            session.add(
                DuplicateLink(first_id=first, second_id=second, method=self.method, distance=distance, run_id=run_id)
            )
        session.flush()
        return {"neighbours": neighbours}


def _kept_ids(session: Session) -> dict[str, list[str]]:
    """Ids of the kept materials by the sha256 of their working copies."""
    ids: dict[str, list[str]] = defaultdict(list)
    kept = select(Material.id, Material.media).where(Material.state == MaterialState.KEPT)
    for id_, media in session.exec(kept.order_by(col(Material.id))):
        ids[media["sha256"]].append(id_)
    return ids


def _summary(session: Session, method: str, report: PassReport) -> Related:
    query = select(DuplicateLink.first_id, DuplicateLink.second_id).where(DuplicateLink.method == method)
    links = session.exec(query).all()
    if not links:
        return Related(report, 0, 0, 0)
    places = {id_: place for place, id_ in enumerate(sorted({id_ for link in links for id_ in link}))}
    ends = [places[first] for first, _ in links], [places[second] for _, second in links]
    graph = coo_array((np.ones(len(links)), ends), shape=(len(places), len(places)))
    groups, labels = connected_components(graph, directed=False)
    return Related(report, len(links), int(groups), int(np.bincount(labels).max()))
