"""What people did: authors, reviewers, audits and the certificates that follow from them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sqlmodel import Session, col, select

from qc.checks.key_positions import key_position_balance
from qc.report.document import AuditLine, AuthorStatistics, CertificateLine, ItemStory, ReviewerStatistics
from qc.report.stories import Loaded
from warehouse.audits import counts_of, standing_certificate
from warehouse.lifecycle import Action
from warehouse.tables import AuditSample, Certificate, Decision, Item, ItemRevision, ItemState, Release, Verdict

_ACCEPTED = (ItemState.ACCEPTED.value, ItemState.RELEASED.value)


def authors_of(items: Sequence[ItemStory], loaded: Sequence[Loaded]) -> tuple[AuthorStatistics, ...]:
    """Every author of a current revision, by name; both arguments in one order."""
    by_author: dict[str, list[tuple[ItemStory, Loaded]]] = defaultdict(list)
    for item, one in zip(items, loaded, strict=True):
        by_author[item.author].append((item, one))
    return tuple(_author(author, by_author[author]) for author in sorted(by_author))


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
    return tuple(_reviewer(name, decisions[name], items[name]) for name in sorted(decisions))


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


def _author(author: str, theirs: Sequence[tuple[ItemStory, Loaded]]) -> AuthorStatistics:
    states = [item.state for item, _ in theirs]
    finding = key_position_balance([one.question for _, one in theirs])
    reasons = Counter(code for item, _ in theirs for code in item.reason_codes)
    return AuthorStatistics(
        author=author,
        items=len(theirs),
        accepted=sum(state in _ACCEPTED for state in states),
        returned=states.count(ItemState.RETURNED.value),
        rejected=states.count(ItemState.REJECTED.value),
        times_returned=sum(event.action == Action.RETURN.value for _, one in theirs for event in one.events),
        reasons=dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
        key_positions=finding.message if finding else None,
    )


def _reviewer(name: str, decisions: Counter[str], items: Iterable[str]) -> ReviewerStatistics:
    decided = sum(decisions.values()) - decisions[Decision.UNKNOWN.value]
    return ReviewerStatistics(
        reviewer=name,
        verdicts=sum(decisions.values()),
        items=tuple(sorted(items)),
        decisions={decision.value: decisions[decision.value] for decision in Decision},
        pass_share=decisions[Decision.PASS.value] / decided if decided else None,
    )
