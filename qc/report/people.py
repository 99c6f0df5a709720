"""What people did: authors, reviewers, audits and the certificates that follow from them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sqlmodel import Session, col, select

from qc.checks.key_positions import balance_of
from qc.report.document import AuditLine, AuthorStatistics, CertificateLine, ItemStory, ReviewerStatistics
from warehouse.audits import counts_of, standing_certificate
from warehouse.tables import AuditSample, Certificate, Decision, Item, ItemRevision, ItemState, Release, Verdict

_ACCEPTED = (ItemState.ACCEPTED.value, ItemState.RELEASED.value)


def authors_of(items: Iterable[ItemStory]) -> tuple[AuthorStatistics, ...]:
    """Every author of a current revision, by name."""
    by_author: dict[str, list[ItemStory]] = defaultdict(list)
    for item in items:
        by_author[item.author].append(item)
    return tuple(author_statistics(author, by_author[author]) for author in sorted(by_author))


def reviewers_of(session: Session, names: Mapping[str, str]) -> tuple[ReviewerStatistics, ...]:
    """Everybody who gave a verdict on any revision, by name."""
    query = (
        select(Verdict.decider, Verdict.decision, Item.name)
        .join(ItemRevision, col(ItemRevision.id) == col(Verdict.revision_id))
        .join(Item, col(Item.id) == col(ItemRevision.item_id))
        .where(col(Verdict.by_person))
    )
    decisions: dict[str, Counter[str]] = defaultdict(Counter)
    items: dict[str, set[str]] = defaultdict(set)
    for decider, decision, item in session.exec(query):
        name = names.get(decider, decider)
        decisions[name][Decision(decision).value] += 1
        items[name].add(item)
    return tuple(reviewer_statistics(name, decisions[name], items[name]) for name in sorted(decisions))


def certificates_of(session: Session) -> tuple[CertificateLine, ...]:
    """All certificates, oldest first."""
    query = (
        select(Certificate, AuditSample, Release)
        .join(AuditSample, col(AuditSample.id) == col(Certificate.sample_id))
        .join(Release, col(Release.id) == col(Certificate.release_id), isouter=True)
        .order_by(col(Certificate.created_at), col(Certificate.id))
    )
    found = []
    for certificate, sample, release in session.exec(query):
        standing = standing_certificate(session, sample.subject_sha256)
        found.append(
            CertificateLine(
                release=f"{release.name} {release.version}" if release else sample.subject,
                text=certificate.text,
                stands=standing is not None and standing.id == certificate.id,
            )
        )
    return tuple(found)


def audits_of(session: Session) -> tuple[AuditLine, ...]:
    """All samples that were drawn, oldest first."""
    samples = session.exec(select(AuditSample).order_by(col(AuditSample.created_at), col(AuditSample.id))).all()
    counts = [(sample, counts_of(session, sample)) for sample in samples]
    return tuple(
        AuditLine(subject=sample.subject, drawn=told.drawn, audited=told.audited, failures=told.failures)
        for sample, told in counts
    )


def author_statistics(author: str, theirs: Sequence[ItemStory]) -> AuthorStatistics:
    """What became of the items of somebody, or of several together."""
    states = [item.state for item in theirs]
    reasons = Counter(code for item in theirs for code in item.reason_codes)
    return AuthorStatistics(
        author=author,
        items=len(theirs),
        accepted=sum(state in _ACCEPTED for state in states),
        returned=states.count(ItemState.RETURNED.value),
        rejected=states.count(ItemState.REJECTED.value),
        times_returned=sum(item.times_returned for item in theirs),
        reasons=dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
        key_positions=balance_of((item.correct, len(item.choices)) for item in theirs),
    )


def reviewer_statistics(name: str, decisions: Counter[str], items: Iterable[str]) -> ReviewerStatistics:
    """What somebody, or several together, decided; `decisions` counts their verdicts, on `items`."""
    decided = sum(decisions.values()) - decisions[Decision.UNKNOWN.value]
    return ReviewerStatistics(
        reviewer=name,
        verdicts=sum(decisions.values()),
        items=tuple(sorted(items)),
        decisions={decision.value: decisions[decision.value] for decision in Decision},
        pass_share=decisions[Decision.PASS.value] / decided if decided else None,
    )
