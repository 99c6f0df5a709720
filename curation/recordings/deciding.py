"""A person decides on a take: accepted, it becomes a material of the library under its consent."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlmodel import Session

from core.errors import InterplayError
from core.ids import Clock, utc_now
from core.media.guard import Guard
from curation.dedupe.link import link_duplicates, looks_cache
from curation.entries import Claims, Entry
from curation.examine import Examination, examine
from curation.filters.thresholds import Thresholds, thresholds_of
from curation.materials import Overrule, overrule
from curation.recordings.agreements import ConsentLacking, get_consent, get_text, note_bytes, require_consent
from curation.recordings.findings import findings_of
from curation.recordings.limits import Outcome
from curation.recordings.takes import Take, TakeWithdrawn, as_file, get_take, guarded
from curation.shelve import Shelver, shelve
from curation.standing import TakenBack, check_bytes, copies_of, discard
from warehouse import events
from warehouse.consents import Scope
from warehouse.runs import open_run
from warehouse.tables import Material, MaterialState, Recording, Segment
from warehouse.workspace import Workspace

COMMAND = "recording accept"
SOURCE = "recorded for this project"


class ImpossibleDecision(InterplayError):
    """The take was decided on already."""


class ChecksFailed(InterplayError):
    """A take that failed checks, or on which some were not made, was to be accepted without a reason."""


class RefusalReasonMissing(InterplayError):
    """A take was to be refused without a reason."""


@dataclass(frozen=True)
class Accepted:
    """The decided recording and the material that it is now.

    `overruled` names what had failed, `unchecked` what was not checked.
    """

    recording: Recording
    material: Material
    overruled: list[str]
    unchecked: list[str]


def accept_take(
    workspace: Workspace,
    recording_id: str,
    actor: str,
    reason: str | None = None,
    *,
    guard: Guard | None = None,
    thresholds: Thresholds | None = None,
    clock: Clock = utc_now,
) -> Accepted:
    """Make a material of a take, with the script as what is said in it, by people.

    Args:
        workspace: The opened project.
        recording_id: Of the take.
        actor: Who decides.
        reason: Why, without which nothing is accepted that failed a check, on which one was not made, or that a filter
            would drop.
        guard: Where the take is decoded; one is made for this call if none is given.
        thresholds: Of the library's filters; else the project's.
        clock: For the rows' times.

    Raises:
        UnknownName, ImpossibleDecision, ConsentLacking, ChecksFailed: As they say; nothing is written then.
        MediaError, MissingBlob, DamagedBlob: Its bytes cannot be read.
    """
    thresholds = thresholds or thresholds_of(workspace.project.settings.filter_thresholds)
    with workspace.database.reading() as session:
        take = get_take(session, recording_id)
        _require_open(take.recording)
    require_consent(take.consent, [Scope.VOICE], clock())
    found = findings_of(take.recording.checks)
    failed = [one.name for one in found if one.outcome is Outcome.FAIL]
    unchecked = [one.name for one in found if one.outcome is Outcome.NOT_DONE]
    _require_reason(take, failed, unchecked, reason)
    data = workspace.originals.get(take.recording.sha256)
    limits = workspace.project.media_limits
    with (
        guarded(limits, guard) as worker,
        as_file(data, f"recording {take.recording.id}") as file,
        TemporaryDirectory(prefix="interplay-take-") as folder,
    ):
        examination = worker.run(examine, file, Path(folder), limits, thresholds)
        if examination.main.drop_reason is not None:
            failed.append(examination.main.drop_reason)
            _require_reason(take, failed, unchecked, reason)
        note_bytes(workspace.database, take.consent.id, [examination.main.ref.sha256], actor, clock)
        for copy, sha256 in examination.named_copies:
            workspace.blobs.put_file(copy, sha256)
    with open_run(workspace.database, COMMAND, {"recording": take.recording.id, "by": actor}, clock=clock) as run:
        try:
            with workspace.database.session() as session:
                ruling = _Ruling(actor, reason, failed, unchecked)
                done = _accept(Shelver(session, run.id, clock), take.recording.id, examination, ruling)
        except (ConsentLacking, TakeWithdrawn, ImpossibleDecision):
            discard(workspace, copies_of(examination))  # taken back, or decided on, while it was decoded
            raise
        link_duplicates(workspace.database, run.id, looks_cache(workspace.project))
        run.summary = {"material_id": done.material.id, "overruled": failed, "unchecked": unchecked}
    return done


def refuse_take(session: Session, recording_id: str, actor: str, reason: str, clock: Clock = utc_now) -> Recording:
    """Say that a take is not to be used, in the caller's transaction; its bytes stay sealed until it is withdrawn.

    Raises:
        UnknownName, ImpossibleDecision: As they say.
        RefusalReasonMissing: No reason is given.
    """
    if not reason.strip():
        raise RefusalReasonMissing("refusing a take needs a reason (--reason), which the next take can mend; write it")
    recording = _locked(session, get_take(session, recording_id).recording.id)
    _decide(session, recording, False, actor, reason, clock)
    return recording


@dataclass(frozen=True)
class _Ruling:
    """Who accepts, why, and over what."""

    actor: str
    reason: str | None
    failed: list[str]
    unchecked: list[str]


def _accept(shelver: Shelver, recording_id: str, examination: Examination, ruling: _Ruling) -> Accepted:
    session, clock = shelver.session, shelver.clock
    recording = _locked(session, recording_id)
    take = get_take(session, recording.id)
    require_consent(take.consent, [Scope.VOICE], clock())
    origin = f"recording:{recording.id}"
    entry = Entry(Path(origin), origin, _claims(session, take))
    try:
        check_bytes(session, recording.sha256, examination)
    except TakenBack as error:
        said = f"who gave the bytes of recording {recording.id} has withdrawn them; refuse this take"
        raise TakeWithdrawn(said) from error
    material, _ = shelve(shelver, recording.sha256, [entry], examination, True)
    if material.state == MaterialState.DROPPED:
        overrule(session, material.id, material.version, Overrule(True, ruling.reason or "", ruling.actor), clock)
    session.add(_segment(take, material, ruling.actor, shelver.run_id))
    recording.material_id = material.id
    over: dict[str, Any] = {"overruled": ruling.failed, "unchecked": ruling.unchecked}
    _decide(session, recording, True, ruling.actor, ruling.reason, clock, material_id=material.id, **over)
    return Accepted(recording, material, ruling.failed, ruling.unchecked)


def _claims(session: Session, take: Take) -> Claims:
    dialect = take.recording.dialect
    return Claims(
        source=SOURCE,
        licence=get_text(session, take.consent.text_version).licence,
        author=take.contributor.pseudonym,
        consent_id=take.consent.id,
        tags=(f"dialect:{dialect}",) if dialect else (),
        audio_content=take.script.text,
        audio_type="speech",
    )


def _segment(take: Take, material: Material, actor: str, run_id: str) -> Segment:
    """The script as what is said, from the first sound to the last."""
    measures = {one.name: one.measure or 0.0 for one in findings_of(take.recording.checks)}
    duration_s = material.media_ref.duration_s or 0.0
    return Segment(
        material_id=material.id,
        start_s=min(measures.get("leading_silence", 0.0), duration_s),
        end_s=max(0.0, duration_s - measures.get("trailing_silence", 0.0)),
        text=take.script.text,
        language=take.script.language,
        made_by=actor,
        run_id=run_id,
    )


def _locked(session: Session, recording_id: str) -> Recording:
    """The recording as it stands, still open, its consent held: nobody else decides or withdraws meanwhile."""
    recording = session.get_one(Recording, recording_id)
    get_consent(session, recording.consent_id, lock=True)
    session.refresh(recording, with_for_update=True)
    _require_open(recording)
    return recording


def _require_open(recording: Recording) -> None:
    if recording.accepted is None:
        return
    verb = "accepted" if recording.accepted else "refused"
    mend = (
        f"possible: 'interplay material overrule {recording.material_id} --drop'"
        if recording.accepted
        else "possible: record another take"
    )
    raise ImpossibleDecision(
        f"recording {recording.id} was {verb} by {recording.decided_by} on {recording.decided_at:%Y-%m-%d}; {mend}"
    )


def _require_reason(take: Take, failed: list[str], unchecked: list[str], reason: str | None) -> None:
    if not (failed or unchecked) or (reason or "").strip():
        return
    faults = [f"failed {', '.join(failed)}"] if failed else []
    faults += [f"was not checked for {', '.join(unchecked)}"] if unchecked else []
    mends = ["record it again"] if failed else []
    mends += ["make the checks with 'interplay recording check'"] if unchecked else []
    raise ChecksFailed(
        f"recording {take.recording.id} {' and '.join(faults)}; {', '.join(mends)}, or give a --reason to accept it "
        "all the same"
    )


def _decide(
    session: Session,
    recording: Recording,
    accepted: bool,
    actor: str,
    why: str | None,
    clock: Clock,
    **detail: object,
) -> None:
    recording.accepted, recording.decided_by = accepted, actor
    recording.decided_at, recording.decided_why = clock(), why
    session.add(recording)
    verb = "accept" if accepted else "refuse"
    events.record(session, actor, "recording", recording.id, verb, clock, why=why, **detail)
    session.flush()
