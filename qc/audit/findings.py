"""The audit's queue, and what auditors find."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, select

from core.content import Modality
from core.errors import InterplayError, UnknownName
from core.ids import Clock, utc_now
from core.provenance import content_hash
from qc.audit.subjects import shown_of
from qc.reasons import Words
from warehouse import events
from warehouse.assignments import finish, take
from warehouse.audits import findings_of, items_of
from warehouse.people import Role, require_role
from warehouse.tables import (
    Assignment,
    AssignmentState,
    AuditAnswer,
    AuditFinding,
    AuditItem,
    AuditSample,
    ItemRevision,
    User,
)
from warehouse.verdicts import OwnItem, judged_revisions, own_items

KIND = "audit"
AUDITORS = (Role.REVIEWER, Role.MAINTAINER)
# What an auditor is asked of an item, in both languages.
ASKED: Mapping[str, Words] = {
    "answer_right": Words(en="Is the key right?", zh="答案正确吗？"),
    "needs_all": Words(en="Does one need all of its modalities to answer?", zh="必须用到全部模态才能作答吗？"),
    "solvable_without": Words(
        en="If not: without which modalities can you answer?", zh="如果不是：缺少哪些模态仍能作答？"
    ),
}


class AlreadyFound(InterplayError):
    """Somebody found two different things about one item."""


class BadFinding(InterplayError):
    """Answers that contradict one another."""


class NothingTaken(InterplayError):
    """An answer without an item that it is about."""


@dataclass(frozen=True)
class Said:
    """What an auditor says of an item.

    Raises:
        BadFinding: All modalities are needed, and yet it is solvable without one; or it is not said without which.
    """

    answer_right: AuditAnswer
    needs_all: AuditAnswer
    solvable_without: frozenset[Modality] = frozenset()
    comment: str | None = None

    def __post_init__(self) -> None:
        if self.needs_all is AuditAnswer.YES and self.solvable_without:
            named = ", ".join(sorted(self.solvable_without))
            raise BadFinding(
                f"needs_all is yes, so solvable_without must be empty, and names {named}; mend one of the two"
            )
        if self.needs_all is AuditAnswer.NO and not self.solvable_without:
            known = ", ".join(Modality)
            raise BadFinding(f"needs_all is no, so solvable_without must name at least one of {known}")


def next_audit(
    session: Session, sample: AuditSample, auditor: User, clock: Clock = utc_now
) -> tuple[AuditItem, Assignment] | None:
    """Lease the next item that nobody looked at; the same again until it is answered. None when nothing is left.

    Nobody gets an item that they made, wrote a revision of, or gave a verdict on.

    Raises:
        NotAllowed: Neither reviewer nor maintainer, or not active.
    """
    by_task = {task_of(sample, item.qid): item for item in open_items(session, sample, auditor)}
    while (assignment := take(session, auditor.id, KIND, by_task, clock=clock)) is not None:
        item = by_task.pop(assignment.task_id)
        if item.qid not in findings_of(session, sample.subject_sha256, item.qid):
            return item, assignment
        # On PostgreSQL somebody's answer can come between the look and the lease.
        finish(session, assignment.id, auditor.id, AssignmentState.RELEASED, clock)
    return None


def taken_item(session: Session, sample: AuditSample, auditor: User, clock: Clock = utc_now) -> AuditItem:
    """The item that an auditor holds a lease on.

    Raises:
        NothingTaken: There is none, or it ran out.
    """
    tasks = {lease.task_id for lease in _leases(session, auditor, clock)}
    for item in items_of(session, sample):
        if task_of(sample, item.qid) in tasks:
            return item
    raise NothingTaken(f"{auditor.name} holds no item of this audit; take one with 'interplay qc audit-next'")


def open_items(session: Session, sample: AuditSample, auditor: User | None = None) -> list[AuditItem]:
    """Items that nobody looked at, in the order in which they were drawn; for an auditor, those that they may see.

    Raises:
        NotAllowed: Neither reviewer nor maintainer, or not active.
    """
    closed = set(findings_of(session, sample.subject_sha256))
    if auditor is not None:
        require_role(auditor, *AUDITORS)
        closed |= _own(session, sample, auditor)
    return [item for item in items_of(session, sample) if item.qid not in closed]


class Desk:
    """Where one auditor says what they found of a sample's items, one or thousands of them in a transaction.

    What it is checked against is read once; of the item `qid` alone, where one is named.

    Raises:
        NotAllowed: Neither reviewer nor maintainer, or not active.
    """

    def __init__(
        self, session: Session, sample: AuditSample, auditor: User, clock: Clock = utc_now, qid: str | None = None
    ) -> None:
        # Two answers of one person at the same moment wait for one another.
        session.refresh(auditor, with_for_update={"key_share": True})
        require_role(auditor, *AUDITORS)
        self._session, self._sample, self._auditor, self._clock = session, sample, auditor, clock
        self._items = {item.qid: item for item in items_of(session, sample, qid)}
        self._own = _own(session, sample, auditor, qid)
        self._leases = {lease.task_id: lease for lease in _leases(session, auditor, clock)}
        found = findings_of(session, sample.subject_sha256, qid)
        self._found = {
            name: finding for name, findings in found.items() for finding in findings if finding.auditor == auditor.name
        }

    def record(self, qid: str, said: Said) -> AuditFinding:
        """Store what the auditor found, and end their lease; the same said twice is stored once.

        It counts for every sample of the same content (`warehouse.audits.findings_of`).

        Raises:
            UnknownName: The sample has no such item.
            OwnItem, AlreadyFound: As they say.
        """
        item = self._items.get(qid)
        if item is None:
            known = self._items or [one.qid for one in items_of(self._session, self._sample)]
            raise UnknownName(f"item in the sample of {self._sample.subject}", qid, known)
        auditor = self._auditor.name
        finding = self._found.get(qid)
        if finding is not None and _said(finding) != said:
            raise AlreadyFound(
                f"{auditor} already found something else about {qid!r}; somebody else can look at it too"
            )
        if finding is not None:
            return finding
        if qid in self._own:
            raise OwnItem(f"{auditor} wrote {qid!r} or gave a verdict on it; somebody else must audit it")
        finding = AuditFinding(
            audit_item_id=item.id,
            auditor=auditor,
            answer_right=said.answer_right,
            needs_all=said.needs_all,
            solvable_without=sorted(said.solvable_without),
            comment=said.comment,
            created_at=self._clock(),
        )
        self._session.add(finding)
        self._found[qid] = finding
        held = self._leases.pop(task_of(self._sample, qid), None)
        if held is not None:
            finish(self._session, held.id, self._auditor.id, AssignmentState.DONE, self._clock)
        about = {"qid": qid, "subject": self._sample.subject, "needs_all": said.needs_all.value}
        events.record(self._session, auditor, "audit_item", item.id, "finding", self._clock, **about)
        return finding


def record_finding(
    session: Session, sample: AuditSample, qid: str, auditor: User, said: Said, clock: Clock = utc_now
) -> AuditFinding:
    """Store what an auditor found of one item.

    Raises:
        NotAllowed, UnknownName, OwnItem, AlreadyFound: As `Desk`.
    """
    finding = Desk(session, sample, auditor, clock, qid).record(qid, said)
    session.flush()
    return finding


def shown_items(session: Session, sample: AuditSample, qid: str | None = None) -> dict[str, dict[str, Any]]:
    """`question`, `choices`, `answer` and `media` of the members of a sample (or of one of them), by qid."""
    query = (
        select(AuditItem, ItemRevision)
        .join(ItemRevision, col(ItemRevision.id) == col(AuditItem.revision_id), isouter=True)
        .where(AuditItem.sample_id == sample.id)
    )
    found = session.exec(query if qid is None else query.where(AuditItem.qid == qid))
    return {item.qid: shown_of(revision.as_question()) if revision else item.shown for item, revision in found}


def task_of(sample: AuditSample, qid: str) -> str:
    """What a lease on an item is called; the same in a larger sample of the same content."""
    return content_hash([sample.subject_sha256, qid])


def _own(session: Session, sample: AuditSample, auditor: User, qid: str | None = None) -> set[str]:
    """Names of the items in a sample (or of one of them) that somebody made, wrote a revision of, or judged."""
    judged = select(ItemRevision.item_id).where(col(ItemRevision.id).in_(judged_revisions(session, auditor.name)))
    of_item = col(ItemRevision.item_id)
    sampled = (
        select(AuditItem.qid)
        .join(ItemRevision, col(ItemRevision.id) == col(AuditItem.revision_id))
        .where(AuditItem.sample_id == sample.id, of_item.in_(own_items(session, auditor.name)) | of_item.in_(judged))
    )
    return set(session.exec(sampled if qid is None else sampled.where(AuditItem.qid == qid)))


def _leases(session: Session, auditor: User, clock: Clock) -> Sequence[Assignment]:
    """What an auditor holds, of any audit."""
    held = select(Assignment).where(
        Assignment.task_kind == KIND,
        Assignment.user_id == auditor.id,
        col(Assignment.state) == AssignmentState.LIVE,
        col(Assignment.expires_at) > clock(),
    )
    return session.exec(held).all()


def _said(finding: AuditFinding) -> Said:
    without = frozenset(Modality(one) for one in finding.solvable_without)
    return Said(finding.answer_right, finding.needs_all, without, finding.comment)
