"""Random samples of a subject, drawn once and then kept."""

import math
from collections.abc import Sequence

import numpy as np
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from core.errors import InterplayError
from core.ids import Clock, utc_now
from qc.audit.bounds import required_size
from qc.audit.subjects import Member, Subject
from warehouse import events
from warehouse.audits import samples_of
from warehouse.database import Database
from warehouse.runs import open_run
from warehouse.tables import AuditItem, AuditSample

# Of public sets, between the 10 and 20% that UNO-Bench audits for its Table 1.
SHARE = 0.15
SEED = 1


class BadSampleSize(InterplayError):
    """A sample that cannot be drawn, or that would be smaller than the one that is drawn."""


class OtherSeed(InterplayError):
    """Another seed for the same questions: what is drawn until it pleases is no random sample."""


class NoSample(InterplayError):
    """Nothing was drawn from a subject yet."""


def sample_size(subject: Subject, size: int | None = None, share: float | None = None) -> int:
    """How many items to draw: `size`, or that share of all, or what suits the subject.

    Without both: for a release the smallest sample that certifies it where nothing fails (149), or all of a smaller
    one; else 15%.

    Raises:
        BadSampleSize: Less than one, or more than there are.
    """
    population = len(subject.members)
    if size is None and share is None and subject.release_id is not None:
        size = min(required_size(0), population)
    wanted = math.ceil(population * (SHARE if share is None else share)) if size is None else size
    if not 1 <= wanted <= population:
        raise BadSampleSize(f"{subject.name} holds {population} items; draw between 1 and {population}, not {wanted}")
    return wanted


def draw_order(subject: Subject, seed: int) -> list[Member]:
    """All members in random order: a sample of n is the first n, so a larger one begins with the smaller.

    It is a permutation of the members in qid order, so the order of a file changes nothing.
    """
    ordered = sorted(subject.members, key=lambda member: member.qid)
    return [ordered[place] for place in np.random.default_rng(seed).permutation(len(ordered))]


def draw_sample(
    database: Database, subject: Subject, size: int, drawn_by: str, seed: int | None = None, clock: Clock = utc_now
) -> AuditSample:
    """Draw a simple random sample without replacement, and keep it; what is drawn already is given back.

    Without a seed it is that of the samples which there are, else 1.

    Raises:
        BadSampleSize: More than there are, or less than is drawn.
        OtherSeed: There are samples by another seed.
    """
    sample_size(subject, size)
    with database.reading() as session:
        known, seed = _known(session, subject, size, seed)
    if known is not None:
        return known
    settings = {"subject": subject.name, "subject_sha256": subject.sha256, "size": size}
    with open_run(database, "qc audit", settings, seed=seed, clock=clock) as run, database.session() as session:
        known, seed = _known(session, subject, size, seed)
        if known is not None:
            return known
        sample = AuditSample(
            subject=subject.name,
            subject_sha256=subject.sha256,
            release_id=subject.release_id,
            population=len(subject.members),
            size=size,
            seed=seed,
            drawn_by=drawn_by,
            run_id=run.id,
            created_at=clock(),
        )
        return _store(session, sample, draw_order(subject, seed)[:size], clock)


def latest_sample(session: Session, subject: Subject) -> AuditSample:
    """The largest sample of a subject, in which all others are.

    Raises:
        NoSample: Nothing was drawn yet.
    """
    found = samples_of(session, subject.sha256)
    if not found:
        raise NoSample(f"no sample of {subject.name} is drawn yet; draw one with 'interplay qc audit'")
    return found[-1]


def _known(session: Session, subject: Subject, size: int, seed: int | None) -> tuple[AuditSample | None, int]:
    """The sample of that size, if it is drawn, and the seed to draw it with if not."""
    found = samples_of(session, subject.sha256)
    if not found:
        return None, SEED if seed is None else seed
    if seed not in (None, found[0].seed):
        raise OtherSeed(
            f"{subject.name} is sampled with seed {found[0].seed}; leave out --seed, and extend that sample with --size"
        )
    same = next((one for one in found if one.size == size), None)
    if same is None and size < found[-1].size:
        raise BadSampleSize(
            f"of {subject.name} {found[-1].size} items are drawn already; a smaller sample would leave out findings"
        )
    return same, found[0].seed


def _store(session: Session, sample: AuditSample, members: Sequence[Member], clock: Clock) -> AuditSample:
    try:
        with session.begin_nested():
            session.add(sample)
    except IntegrityError:
        # Another process drew the same at this moment.
        return next(one for one in samples_of(session, sample.subject_sha256) if one.size == sample.size)
    for position, member in enumerate(members):
        drawn = AuditItem(sample_id=sample.id, position=position, **vars(member))
        session.add(drawn)
    about = {"subject": sample.subject, "size": sample.size, "seed": sample.seed}
    events.record(session, sample.drawn_by, "audit_sample", sample.id, "draw", clock, **about)
    return sample
