"""Proofs of difference for tasks: media looked at in guarded processes, questions compared, the proof stored."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sqlmodel import Session, select

from core.content import MediaRef, Modality
from core.ids import Clock, utc_now
from core.media.guard import Guard
from core.media.limits import MediaLimits
from core.progress import progress
from curation.dedupe.link import near_on
from curation.dedupe.look import looks_of
from curation.dedupe.shelf import shelved
from curation.questions.difference import Near, Nearness, Proof, prove
from curation.questions.privatize import ImpossiblePrivatization, TaskView, store_proof
from curation.questions.sets import ROWS_AT_ONCE
from warehouse.items import current_revision
from warehouse.tables import PublicQuestion, QuestionSet
from warehouse.workspace import Workspace

SHARED_MIN = 0.3
"""A film that shares so much with the public one is not different, though it may be no duplicate of it."""


@dataclass(frozen=True)
class _Looker:
    """Looks at media of the store, each once."""

    workspace: Workspace
    guard: Guard
    limits: MediaLimits

    def near(self) -> Near:
        """Compares two media by what they show."""
        look: Callable[[MediaRef], Any] = cache(self._look)
        return lambda ours, theirs: _nearness(ours.modality, look(ours), look(theirs))

    def _look(self, ref: MediaRef) -> Any:
        return self.guard.run(looks_of, ref.modality, self.workspace.blobs.get(ref.sha256), self.limits)


def prove_tasks(
    workspace: Workspace, views: Sequence[TaskView], by: str, clock: Clock = utc_now
) -> Iterator[tuple[TaskView, Proof]]:
    """Compare private items with their public questions, and keep each proof with its task as soon as it is made.

    Raises:
        ImpossiblePrivatization: A task has no item, or was given up; nothing is proven then.
        StalePrivatization: A task or its item was changed meanwhile.
        MissingBlob, DamagedBlob, MediaError: A medium cannot be read.
    """
    for view in views:
        if view.stands == "given_up":
            raise ImpossiblePrivatization(f"privatization {view.task.id} was given up; reopen it first")
        if view.item is None:
            raise ImpossiblePrivatization(f"privatization {view.task.id} has no item to prove; link one first")
    if not views:
        return
    with workspace.database.reading() as session:
        revisions = [current_revision(session, view.item) for view in views if view.item]
        shown = {part.media.sha256 for revision in revisions for part in revision.as_question().media}
        theirs = _public_media(session, shown)
    limits = workspace.project.media_limits
    with Guard(1, limits) as guard, progress("Proving", len(views)) as ticker:
        near = _Looker(workspace, guard, limits).near()
        for view, revision in zip(views, revisions, strict=True):
            proof = prove(revision.as_question(), view.public.as_question(), near, theirs)
            with workspace.database.session() as session:
                store_proof(session, view, revision.id, proof.document(), by, clock)
            yield view, proof
            ticker.advance()


def _nearness(modality: Modality, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Nearness:
    shelf = shelved(modality, [("0", "", ours), ("1", "", theirs)])
    if not shelf.row_counts.all():
        return Nearness(compared=False)
    found = near_on(shelf, np.array([True, False]), modality, SHARED_MIN).get((0, 1))
    return Nearness(compared=True, distance=None if found is None else found.distance)


def _public_media(session: Session, wanted: set[str]) -> dict[str, list[str]]:
    """By sha256 of our media, which public questions show the very bytes."""
    found: dict[str, list[str]] = {}
    query = select(QuestionSet.name, PublicQuestion.qid, PublicQuestion.question).join(PublicQuestion)
    for name, qid, question in session.exec(query.execution_options(yield_per=ROWS_AT_ONCE)):
        for part in question["prompt"]:
            if part["type"] == "media" and (sha256 := part["media"]["sha256"]) in wanted:
                found.setdefault(sha256, []).append(f"{name}/{qid}")
    return found
