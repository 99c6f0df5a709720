"""What people found in random samples, counted: for certificates, manifests and reports."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlmodel import Session, col, select

from core.provenance import content_hash
from warehouse.tables import AuditAnswer, AuditFinding, AuditItem, AuditSample, Certificate


@dataclass(frozen=True)
class AuditCounts:
    """Items of a sample: drawn, with a finding, and of these with a right key, and with need of every modality.

    An item counts as right, or as needing all, only where every person who looked says yes: a `no` or `unsure` of
    anybody counts against it. `unsure` are the items that do not need all, but of which nobody says so outright.
    """

    drawn: int
    audited: int
    answers_right: int
    needs_all: int
    unsure: int

    @property
    def pending(self) -> int:
        """Items that nobody looked at yet."""
        return self.drawn - self.audited

    @property
    def failures(self) -> int:
        """Items that are, or may be, solvable without some modality."""
        return self.audited - self.needs_all


def content_sha256(hashes: Iterable[str]) -> str:
    """The name of a set of questions by its content: sha256 over the questions' content hashes, in whatever order."""
    return content_hash(sorted(hashes))


def samples_of(session: Session, subject_sha256: str) -> list[AuditSample]:
    """The samples of a content, smallest first; each begins with the ones before it, for all have one seed."""
    query = select(AuditSample).where(AuditSample.subject_sha256 == subject_sha256)
    return list(session.exec(query.order_by(col(AuditSample.size))))


def items_of(session: Session, sample: AuditSample, qid: str | None = None) -> list[AuditItem]:
    """The members of a sample (or one of them) in the order in which they were drawn."""
    query = select(AuditItem).where(AuditItem.sample_id == sample.id).order_by(col(AuditItem.position))
    return list(session.exec(query if qid is None else query.where(AuditItem.qid == qid)))


def findings_of(session: Session, subject_sha256: str, qid: str | None = None) -> dict[str, list[AuditFinding]]:
    """Findings (on one item) by qid, oldest first.

    What was found in any sample of a content holds in all of them: so an extended sample asks for no item again.
    """
    query = (
        select(AuditItem.qid, AuditFinding)
        .join(AuditFinding, col(AuditFinding.audit_item_id) == col(AuditItem.id))
        .join(AuditSample, col(AuditSample.id) == col(AuditItem.sample_id))
        .where(AuditSample.subject_sha256 == subject_sha256)
        .order_by(col(AuditFinding.created_at), col(AuditFinding.id))
    )
    found: dict[str, list[AuditFinding]] = {}
    for name, finding in session.exec(query if qid is None else query.where(AuditItem.qid == qid)):
        found.setdefault(name, []).append(finding)
    return found


def counts_of(session: Session, sample: AuditSample) -> AuditCounts:
    """What was found in a sample so far."""
    found = findings_of(session, sample.subject_sha256)
    audited = [found[item.qid] for item in items_of(session, sample) if item.qid in found]
    needs = [{one.needs_all for one in findings} for findings in audited]
    return AuditCounts(
        drawn=sample.size,
        audited=len(audited),
        answers_right=sum(all(one.answer_right is AuditAnswer.YES for one in findings) for findings in audited),
        needs_all=sum(said == {AuditAnswer.YES} for said in needs),
        unsure=sum(AuditAnswer.UNSURE in said and AuditAnswer.NO not in said for said in needs),
    )


def finished_counts(session: Session, subject_sha256: str) -> AuditCounts | None:
    """Those of the largest sample of a content in which every item was looked at; None where there is none.

    Items that are left out of a half-done audit are no random ones.
    """
    all_counts = [counts_of(session, sample) for sample in samples_of(session, subject_sha256)]
    return next((counts for counts in reversed(all_counts) if not counts.pending), None)


def standing_certificate(session: Session, subject_sha256: str) -> Certificate | None:
    """The latest certificate of exactly this content, if what people found since does not contradict its counts."""
    query = (
        select(Certificate, AuditSample)
        .join(AuditSample, col(AuditSample.id) == col(Certificate.sample_id))
        .where(AuditSample.subject_sha256 == subject_sha256)
        .order_by(col(Certificate.created_at).desc(), col(Certificate.id).desc())
    )
    latest = session.exec(query).first()
    if latest is None:
        return None
    certificate, sample = latest
    counts = counts_of(session, sample)
    return certificate if (certificate.audited, certificate.failures) == (counts.audited, counts.failures) else None
