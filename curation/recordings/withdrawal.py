"""A consent is withdrawn: what was given under it leaves the library, the items, and the stores, for good.

The rows change in one transaction, then the bytes and the facts are deleted. What is stopped between the two is
finished by the same call again; `interplay warehouse verify` tells that something is left.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, select

from core.errors import InterplayError
from core.ids import Clock, utc_now
from curation.dedupe.link import looks_cache
from curation.ingest import COMMAND as INGEST
from curation.materials import chunked
from curation.recordings.agreements import get_consent
from curation.recordings.keeping import Kept, kept
from curation.recordings.survey import Survey, survey
from warehouse import events
from warehouse.forgetting import blank_events, blank_runs, forget_words, remove_facts, response_keys
from warehouse.lifecycle import Action, Advance, advance, lock_item
from warehouse.runs import open_run
from warehouse.tables import (
    Assignment,
    AssignmentState,
    Consent,
    Contributor,
    GoldItem,
    Material,
    MaterialSource,
    MaterialState,
    Recording,
)
from warehouse.workspace import Workspace

COMMAND = "consent withdraw"
REASON = "withdrawn"
"""Code with which items are retired or returned."""
_ERASED = "erase"


class WithdrawalReasonMissing(InterplayError):
    """A withdrawal without a word on why, or on how it came."""


@dataclass
class WithdrawalReport:
    """What a withdrawal touched, and what this call deleted.

    Attributes:
        consent_id: Of the consent.
        withdrawn_at: When, in ISO 8601; None in a dry run of one that stands.
        now: Whether this call withdrew it; else it finished what an earlier one had left.
        dry_run: Nothing was written.
        touched: What `Survey.document` tells, as it was before.
        forgotten: Rows that held words about the media, by table.
        leases: Tasks that were taken from people who were at work on such an item.
        gold: Gold questions that are out of use.
        blobs: Files deleted from the stores, small pictures included.
        facts: Facts deleted, by kind.
        kept: What stays although it may repeat what was said, and why.
        unfinished: What could not be done while others were at work, in words; the same call again does it.
    """

    consent_id: str
    withdrawn_at: str | None
    now: bool
    dry_run: bool
    touched: dict[str, Any] = field(default_factory=dict)
    forgotten: dict[str, int] = field(default_factory=dict)
    leases: int = 0
    gold: int = 0
    blobs: int = 0
    facts: dict[str, int] = field(default_factory=dict)
    kept: list[Kept] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)

    @property
    def erased(self) -> dict[str, Any]:
        """What is deleted for good."""
        return {"blobs": self.blobs, "facts": self.facts}


def withdraw(
    workspace: Workspace, consent_id: str, reason: str, actor: str, *, dry_run: bool = False, clock: Clock = utc_now
) -> WithdrawalReport:
    """Take back all that was given under a consent. Again it finishes what is missing, and changes nothing else.

    Raises:
        UnknownName: There is no such consent.
        WithdrawalReasonMissing: No reason is given.
        OSError: The store cannot be written; the same call again goes on.
    """
    if not reason.strip():
        raise WithdrawalReasonMissing(
            "a withdrawal needs a reason (--reason), for the record; write why, or how it was asked for"
        )
    if dry_run:
        with workspace.database.reading() as session:
            consent = get_consent(session, consent_id)
            found = survey(session, consent)
            report = _report(consent, found, now=consent.withdrawn_at is None, dry_run=True)
            report.kept = kept(session, workspace.facts, found)
        return report
    with open_run(workspace.database, COMMAND, {"consent": consent_id, "by": actor}, clock=clock) as run:
        with workspace.database.session() as session:
            report, found = _withdraw_rows(session, consent_id, reason, actor, clock)
            is_done = any(one.action == _ERASED for one in events.history(session, "consent", consent_id))
        report.blobs = sum(_erase(workspace, sha256) for sha256 in sorted(found.hashes))
        _erase_facts(workspace, found, report)
        with workspace.database.reading() as session:
            report.kept = kept(session, workspace.facts, found)
        if not is_done or report.blobs or report.facts or report.forgotten:
            _erase_traces(workspace, report)
            if not report.unfinished:
                with workspace.database.session() as session:
                    events.record(session, actor, "consent", consent_id, _ERASED, clock, **report.erased)
        run.summary = {"now": report.now, "materials": len(found.materials), **report.erased}
    return report


def _withdraw_rows(
    session: Session, consent_id: str, reason: str, actor: str, clock: Clock
) -> tuple[WithdrawalReport, Survey]:
    consent = get_consent(session, consent_id, lock=True)
    now = consent.withdrawn_at is None
    if now:
        consent.withdrawn_at = clock()
        session.add(consent)
        events.record(session, actor, "consent", consent.id, "withdraw", clock, reason=reason)
    found = survey(session, consent)
    report = _report(consent, found, now, dry_run=False)
    for recording in found.recordings:
        _forget_recording(session, recording, actor, clock)
    blank_runs(session, INGEST, _origins(session, found))
    for material in found.materials:
        for table, count in _withdraw_material(session, material, consent, actor, clock).items():
            report.forgotten[table] = report.forgotten.get(table, 0) + count
    for item, touched in found.items:
        if touched.step is not None:
            version = lock_item(session, item.id).version
            advance(session, item.id, version, Advance(Action(touched.step), actor, (REASON,)), clock)
    report.leases = _end_leases(session, found, actor, clock)
    report.gold = _end_gold(session, found)
    _forget_contributor(session, consent)
    session.flush()
    return report, found


def _report(consent: Consent, found: Survey, now: bool, dry_run: bool) -> WithdrawalReport:
    moment = consent.withdrawn_at.isoformat() if consent.withdrawn_at else None
    return WithdrawalReport(consent.id, moment, now, dry_run, found.document())


def _forget_recording(session: Session, recording: Recording, actor: str, clock: Clock) -> None:
    """What was heard in it and said of it, and what it was recorded with; that there was one stays."""
    if recording.accepted is None:
        recording.accepted, recording.decided_by, recording.decided_at = False, actor, clock()
    recording.decided_why = REASON
    recording.checks, recording.device, recording.dialect = {}, None, None
    session.add(recording)
    blank_events(session, "recording", recording.id)


def _origins(session: Session, found: Survey) -> set[str]:
    origins: set[str] = set()
    for ids in chunked([material.id for material in found.materials]):
        origins |= set(session.exec(select(MaterialSource.origin).where(col(MaterialSource.material_id).in_(ids))))
    return origins


def _withdraw_material(
    session: Session, material: Material, consent: Consent, actor: str, clock: Clock
) -> dict[str, int]:
    session.refresh(material, with_for_update=True)
    if material.state != MaterialState.WITHDRAWN:
        before, material.state = material.state, MaterialState.WITHDRAWN
        material.version += 1
        events.record(
            session, actor, "material", material.id, "withdraw", clock,
            before=before.value, version=material.version, consent_id=consent.id,
        )  # fmt: skip
    return forget_words(session, material, actor, clock)


def _end_leases(session: Session, found: Survey, actor: str, clock: Clock) -> int:
    subjects = tuple(found.revision_ids) + tuple(item.id for item, _ in found.items)
    live = select(Assignment).where(Assignment.state == AssignmentState.LIVE).order_by(col(Assignment.id))
    ended = 0
    for lease in session.exec(live.with_for_update()):
        if subjects and lease.task_id.startswith(subjects):
            lease.state, lease.ended_at = AssignmentState.RELEASED, clock()
            session.add(lease)
            events.record(session, actor, lease.task_kind, lease.task_id, "lease_released", clock, reason=REASON)
            ended += 1
    return ended


def _end_gold(session: Session, found: Survey) -> int:
    active = session.exec(select(GoldItem).where(col(GoldItem.active))).all()
    rows = [row for row in active if row.revision_id in found.revision_ids]
    for row in rows:
        row.active = False
        session.add(row)
    return len(rows)


def _forget_contributor(session: Session, consent: Consent) -> None:
    """The coarse facts of somebody who has no other consent; the pseudonym stays, under which they withdrew."""
    standing = select(Consent.id).where(
        Consent.contributor_id == consent.contributor_id, col(Consent.withdrawn_at).is_(None)
    )
    if session.exec(standing).first() is None:
        person = session.get_one(Contributor, consent.contributor_id)
        person.dialect, person.age_band, person.gender = None, None, None
        session.add(person)


def _erase(workspace: Workspace, sha256: str) -> int:
    removed = sum(store.remove(sha256) for store in (workspace.blobs, workspace.originals))
    for picture in _small_pictures(workspace, sha256):
        picture.unlink(missing_ok=True)
        removed += 1
    return removed


def _small_pictures(workspace: Workspace, sha256: str) -> Iterator[Path]:
    return workspace.project.thumbnail_folder.glob(f"{sha256[:2]}/{sha256}.*")


def _erase_facts(workspace: Workspace, found: Survey, report: WithdrawalReport) -> None:
    """Embeddings of the media, what models answered when they were asked to write them down, and grades of that."""
    asked = {material.id for material in found.materials}
    for kind in ("embedding", "response", "grade"):
        if found.hashes and workspace.facts.is_written(kind):
            report.unfinished.append(f"another command writes facts ({kind})")
    answers = response_keys(workspace.facts, "item_name", asked)
    named = [("embedding", "subject", found.hashes), ("grade", "response_key", answers)]
    # Grades go first, and are found by the answers: those stay while somebody grades.
    if not (answers and workspace.facts.is_written("grade")):
        named.append(("response", "item_name", asked))
    for kind, column, values in named:
        if count := remove_facts(workspace.facts, kind, column, values):
            report.facts[kind] = count


def _erase_traces(workspace: Workspace, report: WithdrawalReport) -> None:
    """What is made again from the rows when it is needed, and what SQLite keeps of rows that are gone."""
    for folder in (workspace.project.search_folder, looks_cache(workspace.project)):
        shutil.rmtree(folder, ignore_errors=True)
    if (why := workspace.database.scrub()) is not None:
        report.unfinished.append(f"deleted words can still be read: {why}")
