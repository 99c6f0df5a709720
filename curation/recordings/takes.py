"""Takes: received, sealed, measured at once, listened to by models later."""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sqlmodel import Session, col, select

from core.errors import InterplayError
from core.ids import Clock, utc_now
from core.media.audio import load_audio
from core.media.errors import MediaError
from core.media.guard import Guard
from core.media.limits import MediaLimits
from curation.recordings.agreements import ConsentLacking, get_consent, note_bytes, require_consent
from curation.recordings.contributors import get_contributor
from curation.recordings.findings import Finding, as_document
from curation.recordings.instant import instant_findings, measure_take
from curation.recordings.limits import DEFAULT_TAKE_LIMITS, TakeLimits
from curation.recordings.listening import NO_EARS, RATE_HZ, Ears, listening_findings
from curation.recordings.scripts import open_script
from warehouse import events
from warehouse.consents import Scope
from warehouse.handles import whole_id
from warehouse.tables import Consent, Contributor, Material, MaterialState, Recording, Script
from warehouse.workspace import Workspace

_NO_SAMPLES = np.zeros(0, dtype=np.float32)


class WrongConsent(InterplayError):
    """A take under the consent of somebody else."""


class TakeKnown(InterplayError):
    """Bytes that are a take already, of another script or by somebody else."""


class TakeWithdrawn(InterplayError):
    """Bytes that somebody gave and took back."""


@dataclass(frozen=True)
class NewTake:
    """Whose take of what: names of a script and a contributor, the id of the consent, and what it was recorded with."""

    script: str
    contributor: str
    consent_id: str
    device: str | None = None


@dataclass(frozen=True)
class Added:
    """A take in the project; `new` is False where these bytes were this very take before."""

    recording: Recording
    new: bool


@dataclass(frozen=True)
class Take:
    """A recording with all that it is about."""

    recording: Recording
    script: Script
    contributor: Contributor
    consent: Consent


def add_take(
    workspace: Workspace,
    data: bytes,
    new: NewTake,
    actor: str,
    *,
    name: str = "the take",
    guard: Guard | None = None,
    limits: TakeLimits = DEFAULT_TAKE_LIMITS,
    clock: Clock = utc_now,
) -> Added:
    """Receive a take: decode and measure it in a guarded process, seal its bytes, store what was found.

    The same bytes again are the same take. A take that cannot be decoded is not stored.

    Args:
        workspace: The opened project.
        data: What the recorder gave.
        new: What it is.
        actor: Who brings it.
        name: What messages call it.
        guard: Where it is decoded; one is made for this call if none is given.
        limits: Of the checks.
        clock: For the rows' times.

    Raises:
        UnknownName, ScriptClosed, ConsentLacking, WrongConsent, TakeKnown, TakeWithdrawn: As they say.
        MediaError: It is no sound, or cannot be decoded.
    """
    sha256 = hashlib.sha256(data).hexdigest()
    with workspace.database.reading() as session:
        known, about = _look(session, sha256, new, clock)
    if known is not None:
        return Added(known, new=False)
    media_limits = workspace.project.media_limits
    with guarded(media_limits, guard) as worker, as_file(data, name) as file:
        measures = worker.run(measure_take, file, media_limits, limits)
    findings = instant_findings(measures, about.script, limits)
    findings += listening_findings(_NO_SAMPLES, about.script, NO_EARS, limits)
    # Sealed before the row that names it: a reader never finds a take without its bytes.
    note_bytes(workspace.database, new.consent_id, [sha256], actor, clock)
    workspace.originals.put(data)
    checks = as_document(limits.version, findings, {})
    try:
        with workspace.database.session() as session:
            return _store(session, sha256, new, checks, actor, clock)
    except (ConsentLacking, TakeWithdrawn):
        workspace.originals.remove(sha256)  # taken back while it was measured: no row tells of these bytes
        raise


def check_take(
    workspace: Workspace,
    recording_id: str,
    ears: Ears,
    *,
    guard: Guard | None = None,
    limits: TakeLimits = DEFAULT_TAKE_LIMITS,
) -> list[Finding]:
    """Make all checks of a take again, also those that need models, and store what they found.

    Raises:
        UnknownName: There is no such recording.
        TakeWithdrawn: It was taken back.
        MissingBlob, DamagedBlob: Its bytes are lost.
    """
    with workspace.database.reading() as session:
        take = get_take(session, recording_id)
    if take.consent.withdrawn_at is not None:
        day = f"{take.consent.withdrawn_at:%Y-%m-%d}"
        raise TakeWithdrawn(f"recording {take.recording.id} was withdrawn on {day}; there is nothing to check")
    data = workspace.originals.get(take.recording.sha256)
    media_limits = workspace.project.media_limits
    with guarded(media_limits, guard) as worker, as_file(data, f"recording {take.recording.id}") as file:
        measures = worker.run(measure_take, file, media_limits, limits)
        samples = worker.run(load_audio, file, RATE_HZ, True, media_limits)
    findings = instant_findings(measures, take.script, limits)
    findings += listening_findings(samples, take.script, ears, limits)
    with workspace.database.session() as session:
        consent = get_consent(session, take.consent.id, lock=True)
        if consent.withdrawn_at is not None:
            raise TakeWithdrawn(f"recording {recording_id} was withdrawn meanwhile; nothing was stored")
        recording = session.get_one(Recording, take.recording.id)
        recording.checks = as_document(limits.version, findings, ears.made_by)
        session.add(recording)
    return findings


def get_take(session: Session, name: str) -> Take:
    """The recording whose id is or begins with `name`, or whose bytes' sha256 does.

    Raises:
        UnknownId, AmbiguousId: There is none, or there are several.
    """
    recording_id = whole_id(session, [Recording.id, Recording.sha256], name, "recording", "interplay recording list")
    return list_takes(session, col(Recording.id) == recording_id)[0]


def list_takes(session: Session, *conditions: object) -> list[Take]:
    """Recordings with what they are about, oldest first."""
    query = (
        select(Recording, Script, Contributor, Consent)
        .join(Script, col(Script.id) == col(Recording.script_id))
        .join(Contributor, col(Contributor.id) == col(Recording.contributor_id))
        .join(Consent, col(Consent.id) == col(Recording.consent_id))
        .where(*conditions)  # type: ignore[arg-type]
        .order_by(col(Recording.created_at), col(Recording.id))
    )
    return [Take(*row) for row in session.exec(query)]


@contextmanager
def guarded(limits: MediaLimits, guard: Guard | None) -> Iterator[Guard]:
    """The guard that is given, or one of its own."""
    if guard is not None:
        yield guard
        return
    with Guard(1, limits) as own:
        yield own


@contextmanager
def as_file(data: bytes, name: str) -> Iterator[Path]:
    """Bytes as a file, which decoders seek in; what is wrong with it is said of `name`, for nobody knows the file."""
    with tempfile.TemporaryDirectory(prefix="interplay-take-") as folder:
        file = Path(folder) / "take"
        file.write_bytes(data)
        try:
            yield file
        except MediaError as error:
            raise type(error)(str(error).replace(str(file), name)) from error


@dataclass(frozen=True)
class _About:
    script: Script
    contributor: Contributor
    consent: Consent


def _store(session: Session, sha256: str, new: NewTake, checks: dict[str, Any], actor: str, clock: Clock) -> Added:
    get_consent(session, new.consent_id, lock=True)
    known, about = _look(session, sha256, new, clock)
    if known is not None:
        return Added(known, new=False)
    recording = _row(about, new, sha256, clock)
    recording.checks = checks
    session.add(recording)
    session.flush()
    events.record(
        session, actor, "recording", recording.id, "record", clock,
        script_id=about.script.id, consent_id=about.consent.id, sha256=sha256,
    )  # fmt: skip
    return Added(recording, new=True)


def _look(session: Session, sha256: str, new: NewTake, clock: Clock) -> tuple[Recording | None, _About]:
    """The take that these bytes are already, and what the new one is about; raises where it must not be."""
    script = open_script(session, new.script)
    contributor = get_contributor(session, new.contributor)
    consent = get_consent(session, new.consent_id)
    if consent.contributor_id != contributor.id:
        raise WrongConsent(
            f"consent {consent.id} is not {contributor.pseudonym}'s; 'interplay consent list --contributor "
            f"{contributor.pseudonym}' shows theirs"
        )
    require_consent(consent, [Scope.VOICE], clock())
    _refuse_withdrawn(session, sha256)
    about = _About(script, contributor, consent)
    held = session.exec(select(Recording).where(Recording.sha256 == sha256)).first()
    if held is None:
        return None, about
    if (held.script_id, held.contributor_id) != (script.id, contributor.id):
        raise TakeKnown(
            f"these bytes are recording {held.id} already, of another script or by somebody else; look at it"
        )
    return held, about


def _refuse_withdrawn(session: Session, sha256: str) -> None:
    taken_back = select(Recording.id).join(Consent, col(Consent.id) == col(Recording.consent_id))
    gone = taken_back.where(Recording.sha256 == sha256, col(Consent.withdrawn_at).is_not(None))
    material = select(Material.id).where(Material.sha256 == sha256, Material.state == MaterialState.WITHDRAWN)
    if session.exec(gone).first() is not None or session.exec(material).first() is not None:
        raise TakeWithdrawn("who gave these bytes has withdrawn them; record a new take, under a new consent")


def _row(about: _About, new: NewTake, sha256: str, clock: Clock) -> Recording:
    return Recording(
        contributor_id=about.contributor.id,
        consent_id=about.consent.id,
        script_id=about.script.id,
        script=about.script.text,
        dialect=about.script.dialect or about.contributor.dialect,
        role=about.script.role,
        device=new.device,
        sha256=sha256,
        created_at=clock(),
    )
