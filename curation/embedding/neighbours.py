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
ROUNDING = 1e-5
"""By how much a product of matrices may miss a cosine."""

Found = list[tuple[str, float]]
"""sha256 of working copies, and their cosine with the one that was asked about."""
Named = tuple[str, str]
"""A material's sha256 as received, by which links are ordered, and its id."""


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
        copies = _kept(session)
    known = stored_vectors(workspace.facts, embedder).among(copies)
    work = Work(
        f"relate_{kind}",
        f"{METHODS[kind]} {embedder} >= {threshold:g}",
        frozenset(Modality),
        _subject,
        _Linker(METHODS[kind], copies),
        "comparing",
        make_many=_finder(known, threshold),
        batch=BATCH,
        reads=False,
        replaces=True,
    )
    which = Which(sorted(id_ for subject in known.subjects for _, id_ in copies[subject]), again)
    settings = {"embedder": embedder, "threshold": threshold}
    report = run_pass(workspace, COMMAND, work, which, settings=settings, dry_run=dry_run, clock=clock)
    with workspace.database.reading() as session:
        return _summary(session, METHODS[kind], report)


def near_rows(asked: Vectors, known: Vectors, threshold: float) -> list[list[tuple[int, float]]]:
    """For each asked vector the rows of known ones that have at least this cosine with it, and the cosine.

    All pairs are looked at, by matrix products of blocks, and the work grows with n m d. What these find is worked out
    again, pair by pair, to six decimals, so that it does not matter who is asked and among whom.

    Args:
        asked: Shape (n, d), rows of length 1.
        known: Shape (m, d), rows of length 1.
        threshold: Least cosine.
    """
    found: list[list[tuple[int, float]]] = [[] for _ in range(len(asked))]
    for start in range(0, len(known), KNOWN_BLOCK):
        block = known[start : start + KNOWN_BLOCK]
        likely = asked @ block.T >= threshold - ROUNDING
        for row in np.flatnonzero(likely.any(axis=1)).tolist():
            columns = np.flatnonzero(likely[row])
            cosines = (block[columns] * asked[row]).sum(axis=1, dtype=np.float64).round(6)
            near = cosines >= threshold
            found[row] += zip((start + columns[near]).tolist(), np.minimum(cosines[near], 1.0).tolist(), strict=True)
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
    copies: Mapping[str, Sequence[Named]]

    def __call__(self, session: Session, material: Material, found: Found, run_id: str) -> dict[str, Any]:
        mine = (material.sha256, material.id)
        pairs = {tuple(sorted((mine, other))): cosine for subject, cosine in found for other in self.copies[subject]}
        wanted = {(one[1], two[1]): round(1 - cosine, 6) for (one, two), cosine in pairs.items() if one != two}
        touches = or_(col(DuplicateLink.first_id) == material.id, col(DuplicateLink.second_id) == material.id)
        neighbours = len(wanted)
        for link in session.exec(select(DuplicateLink).where(touches, DuplicateLink.method == self.method)):
            distance = wanted.pop((link.first_id, link.second_id), None)
            if distance is not None:
                link.distance, link.run_id = distance, run_id
                session.add(link)
            else:
                session.delete(link)
        for (first, second), distance in sorted(wanted.items()):
            session.add(
                DuplicateLink(first_id=first, second_id=second, method=self.method, distance=distance, run_id=run_id)
            )
        session.flush()
        return {"neighbours": neighbours}


def _kept(session: Session) -> dict[str, list[Named]]:
    """The kept materials by the sha256 of their working copies."""
    found: dict[str, list[Named]] = defaultdict(list)
    kept = select(Material.sha256, Material.id, Material.media).where(Material.state == MaterialState.KEPT)
    for sha256, id_, media in session.exec(kept.order_by(col(Material.id))):
        found[media["sha256"]].append((sha256, id_))
    return found


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
