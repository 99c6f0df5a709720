"""The audit's queue, and what auditors find."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, select

from core.content import Modality
from core.errors import InterplayError, UnknownName
from core.ids import Clock, utc_now
from core.provenance import content_hash
from qc.audit.subjects import shown_of
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
    Verdict,
)
from warehouse.verdicts import OwnItem, names_of, own_items

KIND = "audit"
AUDITORS = (Role.REVIEWER, Role.MAINTAINER)
# What an auditor is asked of an item, in both languages.
ASKED: Mapping[str, Mapping[str, str]] = {
    "answer_right": {"en": "Is the key right?", "zh": "答案正确吗？"},
    "needs_all": {
        "en": "Does one need all of its modalities to answer?",
        "zh": "必须用到全部模态才能作答吗？",
    },
    "solvable_without": {
        "en": "If not: without which modalities can you answer?",
        "zh": "如果不是：缺少哪些模态仍能作答？",
    },
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
    assignment = take(session, auditor.id, KIND, by_task, clock=clock)
    return None if assignment is None else (by_task[assignment.task_id], assignment)


def taken_item(session: Session, sample: AuditSample, auditor: User, clock: Clock = utc_now) -> AuditItem:
    """The item that an auditor holds a lease on.

    Raises:
        NothingTaken: There is none, or it ran out.
    """
    held = select(Assignment.task_id).where(
        Assignment.task_kind == KIND,
        Assignment.user_id == auditor.id,
        col(Assignment.state) == AssignmentState.LIVE,
        col(Assignment.expires_at) > clock(),
    )
    tasks = set(session.exec(held))
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


def record_finding(
    session: Session, sample: AuditSample, qid: str, auditor: User, said: Said, clock: Clock = utc_now
) -> AuditFinding:
    """Store what an auditor found, and end their lease; the same said twice is stored once.

    It counts for every sample of the same content (`warehouse.audits.findings_of`).

    Raises:
        NotAllowed: Neither reviewer nor maintainer, or not active.
        UnknownName: The sample has no such item.
        OwnItem, AlreadyFound: As they say.
    """
    require_role(auditor, *AUDITORS)
    # Two answers of one person at the same moment wait for one another.
    session.refresh(auditor, with_for_update=True)
    item = session.exec(select(AuditItem).where(AuditItem.sample_id == sample.id, AuditItem.qid == qid)).first()
    if item is None:
        known_names = [one.qid for one in items_of(session, sample)]
        raise UnknownName(f"item in the sample of {sample.subject}", qid, known_names)
    for known in findings_of(session, sample.subject_sha256, qid).get(qid, ()):
        if known.auditor == auditor.name:
            if _said(known) != said:
                raise AlreadyFound(
                    f"{auditor.name} already found something else about {qid!r}; somebody else can look at it too"
                )
            return known
    if item.revision_id is not None and _own(session, sample, auditor, qid):
        raise OwnItem(f"{auditor.name} wrote {qid!r} or gave a verdict on it; somebody else must audit it")
    finding = AuditFinding(
        audit_item_id=item.id,
        auditor=auditor.name,
        answer_right=said.answer_right,
        needs_all=said.needs_all,
        solvable_without=sorted(said.solvable_without),
        comment=said.comment,
        created_at=clock(),
    )
    session.add(finding)
    session.flush()
    _end_lease(session, task_of(sample, qid), auditor, clock)
    about = {"qid": qid, "subject": sample.subject, "needs_all": said.needs_all.value}
    events.record(session, auditor.name, "audit_item", item.id, "finding", clock, **about)
    return finding


def shown_item(session: Session, item: AuditItem) -> dict[str, Any]:
    """`question`, `choices`, `answer` and `media` of a member of a sample."""
    revision = session.get(ItemRevision, item.revision_id) if item.revision_id else None
    return item.shown if revision is None else shown_of(revision.as_question())


def task_of(sample: AuditSample, qid: str) -> str:
    """What a lease on an item is called; the same in a larger sample of the same content."""
    return content_hash([sample.subject_sha256, qid])


def _own(session: Session, sample: AuditSample, auditor: User, qid: str | None = None) -> set[str]:
    """Names of the items in a sample (or of one of them) that somebody made, wrote a revision of, or judged."""
    judged = (
        select(ItemRevision.item_id)
        .join(Verdict, col(Verdict.revision_id) == col(ItemRevision.id))
        .where(col(Verdict.by_person), col(Verdict.decider).in_(names_of(session, auditor.name)))
    )
    of_item = col(ItemRevision.item_id)
    sampled = (
        select(AuditItem.qid)
        .join(ItemRevision, col(ItemRevision.id) == col(AuditItem.revision_id))
        .where(AuditItem.sample_id == sample.id, of_item.in_(own_items(session, auditor.name)) | of_item.in_(judged))
    )
    return set(session.exec(sampled if qid is None else sampled.where(AuditItem.qid == qid)))


def _end_lease(session: Session, task_id: str, auditor: User, clock: Clock) -> None:
    live = select(Assignment).where(
        Assignment.task_kind == KIND,
        Assignment.task_id == task_id,
        Assignment.user_id == auditor.id,
        col(Assignment.state) == AssignmentState.LIVE,
        col(Assignment.expires_at) > clock(),
    )
    held = session.exec(live).first()
    if held is not None:
        finish(session, held.id, auditor.id, AssignmentState.DONE, clock)


def _said(finding: AuditFinding) -> Said:
    without = frozenset(Modality(one) for one in finding.solvable_without)
    return Said(finding.answer_right, finding.needs_all, without, finding.comment)
