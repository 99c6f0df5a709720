"""Proofs of difference for tasks: media looked at in guarded processes, questions compared, the proof stored."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlmodel import Session, select

from core.content import MediaRef, Modality
from core.ids import Clock, utc_now
from core.media.guard import Guard
from core.media.limits import MediaLimits
from curation.dedupe.compare import near_pictures, near_sequences
from curation.dedupe.look import looks_of
from curation.dedupe.looks import METHOD_OF_MODALITY
from curation.questions.difference import Near, Proof, prove
from curation.questions.privatize import ImpossiblePrivatization, TaskView, store_proof
from curation.questions.sets import ROWS_AT_ONCE
from warehouse.items import current_revision
from warehouse.tables import PublicQuestion, QuestionSet
from warehouse.workspace import Workspace


@dataclass(frozen=True)
class _Looker:
    """Looks at media of the store, each once."""

    workspace: Workspace
    guard: Guard
    limits: MediaLimits

    def near(self) -> Near:
        """Compares two media by what they show."""
        look: Callable[[MediaRef], Any] = cache(self._look)
        return lambda ours, theirs: _distance(ours.modality, look(ours), look(theirs))

    def _look(self, ref: MediaRef) -> Any:
        return self.guard.run(looks_of, ref.modality, self.workspace.blobs.get(ref.sha256), self.limits)


def prove_task(workspace: Workspace, view: TaskView, by: str, clock: Clock = utc_now) -> Proof:
    """Compare a task's private item with its public question, and keep the proof with the task.

    Raises:
        ImpossiblePrivatization: The task has no item, or was given up.
        StalePrivatization: The task or its item was changed meanwhile.
        MissingBlob, DamagedBlob, MediaError: A medium cannot be read.
    """
    if view.item is None or view.stands == "given_up":
        raise ImpossiblePrivatization(f"privatization {view.task.id} has no item to prove; link one first")
    with workspace.database.reading() as session:
        revision = current_revision(session, view.item)
        private = revision.as_question()
        theirs = _public_media(session, [part.media.sha256 for part in private.media])
    limits = workspace.project.media_limits
    with Guard(1, limits) as guard:
        proof = prove(private, view.public.as_question(), _Looker(workspace, guard, limits).near(), theirs)
    with workspace.database.session() as session:
        store_proof(session, view, revision.id, proof.document(), by, clock)
    return proof


def _distance(modality: Modality, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> float | None:
    method = METHOD_OF_MODALITY[modality]
    if ours[method] is None or theirs[method] is None:
        return None
    compare = near_pictures if modality == Modality.IMAGE else near_sequences
    return compare([ours[method]], [theirs[method]]).get((0, 0))


def _public_media(session: Session, sha256s: list[str]) -> dict[str, list[str]]:
    """By sha256 of our media, which public questions show the very bytes."""
    wanted = set(sha256s)
    found: dict[str, list[str]] = {}
    query = select(QuestionSet.name, PublicQuestion.qid, PublicQuestion.question).join(PublicQuestion)
    for name, qid, question in session.exec(query.execution_options(yield_per=ROWS_AT_ONCE)):
        for part in question["prompt"]:
            if part["type"] == "media" and (sha256 := part["media"]["sha256"]) in wanted:
                found.setdefault(sha256, []).append(f"{name}/{qid}")
    return found
