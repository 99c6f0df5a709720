"""What an audit proves of a release, in one sentence, from what people found and never from what a filter let pass."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlmodel import Session, col, select

from core.ids import Clock, utc_now
from qc.audit.bounds import CONFIDENCE, TARGET, required_size, upper_bound
from warehouse.audits import AuditCounts, content_sha256, counts_of, findings_of, samples_of, standing_certificate
from warehouse.release.records import get_release
from warehouse.runs import open_run
from warehouse.tables import AuditSample, Certificate, ItemRevision, Release, ReleaseItem
from warehouse.workspace import Workspace


@dataclass(frozen=True)
class Certified:
    """The certificate of a release as things stand, or why its audit gives none; `counts` are of its largest sample.

    While an extended sample is not complete, the certificate of the smaller one stands. `short_of_target` says how the
    bound falls short of the target; None where it reaches it.
    """

    certificate: Certificate | None
    why_not: str | None = None
    counts: AuditCounts | None = None
    short_of_target: str | None = None


@dataclass(frozen=True)
class Audit:
    """Samples of a release, smallest first, what was found in the largest, and the certificate that stands."""

    release: Release
    samples: Sequence[AuditSample]
    counts: AuditCounts | None
    standing: Certificate | None

    @property
    def is_certified(self) -> bool:
        """Whether the certificate is of this release and of its largest sample, as all that was found in it is."""
        return (
            self.standing is not None
            and (self.standing.release_id, self.standing.sample_id) == (self.release.id, self.samples[-1].id)
        )  # fmt: skip


def certify(workspace: Workspace, name: str, version: str, clock: Clock = utc_now) -> Certified:
    """Certify what the audited sample of exactly this content proves; the same findings make one certificate.

    Raises:
        UnknownName: No such release.
    """
    with workspace.database.reading() as session:
        release = get_release(session, name, version)
        found = read_audit(session, release)
    standing, counts = found.standing, found.counts
    if counts is None:
        return Certified(None, f"no sample is drawn; draw one with 'interplay qc audit {name} {version}'")
    population = found.samples[-1].population
    if counts.pending:
        return Certified(
            standing, _not_complete(counts), counts, _shortfall(standing, population) if standing else None
        )
    if standing is None or not found.is_certified:
        standing = _store(workspace, release, found.samples, clock)
    return Certified(standing, None, counts, _shortfall(standing, population))


def read_audit(session: Session, release: Release) -> Audit:
    """How far the audit of a release has come; nothing is stored."""
    query = select(ItemRevision.content_hash).join(ReleaseItem, col(ReleaseItem.revision_id) == col(ItemRevision.id))
    sha256 = content_sha256(session.exec(query.where(ReleaseItem.release_id == release.id)))
    samples = samples_of(session, sha256)
    return Audit(
        release=release,
        samples=samples,
        counts=counts_of(session, samples[-1]) if samples else None,
        standing=standing_certificate(session, sha256),
    )


def sentence(counts: AuditCounts, sample: AuditSample, extended_from: int | None = None) -> str:
    """The text of a certificate.

    With `extended_from`, the size of an earlier sample, it says that the size was not fixed beforehand: who looks at
    149 items, and at 236 or 313 where some fail, certifies 2% of a set in which 2% fail 9% of the time, not 5%.
    """
    unsure = f" (people were unsure of {counts.unsure} of them)" if counts.unsure else ""
    if counts.audited == sample.population:
        return (
            f"{counts.failures} of these {counts.audited} items, all of which people audited, are solvable without "
            f"some modality{unsure}."
        )
    bound = proved(counts, sample)
    text = (
        f"At most {100 * rounded_up(bound):.1f}% of these items are solvable without some modality, at "
        f"{100 * CONFIDENCE:.0f}% confidence: {counts.failures} of {counts.audited} items audited by people at random "
        f"(seed {sample.seed}) were{unsure}."
    )
    if extended_from is None:
        return text
    return f"{text} The sample was extended from {extended_from} items; that confidence is of a size fixed beforehand."


def rounded_up(bound: float) -> float:
    """A bound as it may be shown, in tenths of a percent: rounded down it would say more than was proved."""
    # Of one that is 2.0% to its last digit, the rounding of its computation may not make 2.1%.
    return math.ceil(1000 * bound - 1e-9) / 1000


def proved(counts: AuditCounts, sample: AuditSample) -> float:
    """The upper bound of the share that fails; of a set that was audited as a whole, that share itself."""
    if counts.audited == sample.population:
        return counts.failures / counts.audited
    return upper_bound(counts.failures, counts.audited)


def _store(workspace: Workspace, release: Release, samples: Sequence[AuditSample], clock: Clock) -> Certificate:
    sample = samples[-1]
    settings = {"release": f"{release.name} {release.version}", "sample": sample.id}
    with open_run(workspace.database, "qc certificate", settings, clock=clock) as run:
        with workspace.database.session() as session:
            # Whoever certifies the same sample at this moment waits, and then finds this certificate.
            session.get_one(AuditSample, sample.id, with_for_update={"key_share": True})
            counts = counts_of(session, sample)
            known = _known(session, release, sample, counts)
            if known is not None:
                return known
            certificate = Certificate(
                sample_id=sample.id,
                release_id=release.id,
                audited=counts.audited,
                failures=counts.failures,
                bound=proved(counts, sample),
                confidence=CONFIDENCE,
                text=sentence(counts, sample, _extended_from(session, samples)),
                run_id=run.id,
                created_at=clock(),
            )
            session.add(certificate)
        run.summary = {"audited": counts.audited, "failures": counts.failures, "bound": certificate.bound}
    return certificate


def _extended_from(session: Session, samples: Sequence[AuditSample]) -> int | None:
    """The size of the first sample that was made larger when somebody had looked at items of it already."""
    found = findings_of(session, samples[0].subject_sha256).values()
    first = min(finding.created_at for findings in found for finding in findings)
    return next((smaller.size for smaller, larger in pairwise(samples) if first < larger.created_at), None)


def _known(session: Session, release: Release, sample: AuditSample, counts: AuditCounts) -> Certificate | None:
    """The certificate of these findings, where another process stored it meanwhile."""
    query = select(Certificate).where(
        Certificate.sample_id == sample.id,
        Certificate.release_id == release.id,
        Certificate.audited == counts.audited,
        Certificate.failures == counts.failures,
    )
    return session.exec(query.order_by(col(Certificate.created_at).desc())).first()


def _not_complete(counts: AuditCounts) -> str:
    return f"not complete: {counts.pending} of the {counts.drawn} items in the sample are pending"


def _shortfall(certificate: Certificate, population: int) -> str | None:
    if certificate.bound <= TARGET:
        return None
    needed = required_size(certificate.failures)
    if certificate.audited == population:
        failing = f"{100 * certificate.bound:.2f}% of the items fail"
        return f"{failing}, and {100 * TARGET:.0f}% may: mend or retire those that do"
    return (
        f"the bound is {100 * certificate.bound:.2f}%, not {100 * TARGET:.0f}%; with {certificate.failures} that fail, "
        f"{needed} items must be audited, {needed - certificate.audited} more"
    )
