"""The automatic checks over many items: each material is read through once, each question compared with few."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlmodel import Session, select

from core.question import Question
from qc.checks import Subject, run_checks
from qc.checks.asked import Asked
from qc.checks.contamination import contamination_problems
from qc.checks.evidence import evidence_of
from qc.checks.media_state import damaged, not_kept
from qc.checks.near_duplicates import representatives
from qc.checks.twins import twin_problems
from qc.gates import Ruling
from qc.reasons import Words
from warehouse.blobs import DamagedBlob, MissingBlob
from warehouse.items import revisions_in
from warehouse.tables import Decision, Item, ItemRevision, ItemState, Material, MaterialState, RevisionMedia
from warehouse.workspace import Workspace

# Nobody's question is the copy of a draft, or of one that its author has to change.
_NOT_IN_PLAY = frozenset({ItemState.DRAFT, ItemState.RETURNED})


class Checker:
    """All checks, with what surrounds an item: other questions about its media, its twins, and its media's state."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._damage: dict[str, str | None] = {}
        self._twins: defaultdict[str, list[Question]] = defaultdict(list)
        with workspace.database.reading() as session:
            standing = revisions_in(session, *(set(ItemState) - _NOT_IN_PLAY))
            alike = representatives(session)
        questions = {item.name: revision.as_question() for item, revision in standing}
        self._asked = Asked(questions.items(), alike)
        for item, _ in standing:
            if item.twin_group:
                self._twins[item.twin_group].append(questions[item.name])

    def check(self, items: Mapping[str, tuple[Item, ItemRevision]]) -> dict[str, Ruling]:
        """A ruling for each revision: returned when a finding is an error."""
        with self._workspace.database.reading() as session:
            return {key: self._check(session, item, revision) for key, (item, revision) in items.items()}

    def _check(self, session: Session, item: Item, revision: ItemRevision) -> Ruling:
        question = revision.as_question()
        others = self._asked.beside(item.name, question)
        shown = _shown(session, revision)
        findings = run_checks(Subject(question, others, self._media_problems(shown), evidence_of(revision.notes)))
        findings += contamination_problems(session, revision, shown)
        findings += twin_problems(self._twins[item.twin_group]) if item.twin_group else []
        evidence = {"findings": [finding.model_dump() for finding in findings]}
        codes = tuple(dict.fromkeys(finding.code for finding in findings if finding.severity == "error"))
        return Ruling(Decision.RETURN if codes else Decision.PASS, codes, evidence)

    def _media_problems(self, shown: Sequence[tuple[str, Material]]) -> tuple[Words, ...]:
        problems: list[Words] = []
        for placeholder, material in shown:
            if material.state != MaterialState.KEPT:
                problems.append(not_kept(placeholder, material.state))
            damage = self._damage_of(material.media_ref.sha256)
            problems.extend([damaged(placeholder, damage)] if damage else [])
        return tuple(problems)

    def _damage_of(self, sha256: str) -> str | None:
        if sha256 not in self._damage:
            try:
                self._workspace.blobs.verify(sha256)
                self._damage[sha256] = None
            except (MissingBlob, DamagedBlob) as error:
                self._damage[sha256] = str(error)
        return self._damage[sha256]


def _shown(session: Session, revision: ItemRevision) -> list[tuple[str, Material]]:
    """Placeholder and material of everything that a revision shows, in the order of placeholders."""
    query = select(RevisionMedia.placeholder, Material).join(Material).where(RevisionMedia.revision_id == revision.id)
    return [
        (placeholder, material) for placeholder, material in session.exec(query.order_by(RevisionMedia.placeholder))
    ]
