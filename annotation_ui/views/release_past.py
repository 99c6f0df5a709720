"""What was done to a release, as runs and events tell it: the last check, verifications, pushes, what was cut off."""

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, select

from annotation_ui.people import display_names
from annotation_ui.releases.desk import CHECK, VERIFY
from annotation_ui.views.releases import ReleaseDetail
from annotation_ui.words import N_, Words
from warehouse.runs import is_alive
from warehouse.tables import Event, Run, RunStatus

SEAL, EXPORT, PUSH = "release seal", "release export", "release push"
MOST_DAMAGES = 20
_CUT_OFF = {
    CHECK: N_("A check was cut off on {when}. Nothing is lost: check again."),
    SEAL: N_(
        "Sealing was cut off on {when}. Nothing of it was kept: the release is the draft that it was. Seal it again."
    ),
    VERIFY: N_("A verification was cut off on {when}. Nothing is lost: verify again."),
    EXPORT: N_("An export was cut off on {when}. It appears whole or not at all: export again."),
    PUSH: N_(
        "A push was cut off on {when}. What the hub has carries no tag of this version until all is there: push again, "
        "and only what is missing is sent."
    ),
}


@dataclass(frozen=True)
class Check:
    """The last finished look at what blocks; `findings` as they are stored."""

    at: datetime
    findings: Sequence[Mapping[str, Any]]
    allowed: Sequence[str]


@dataclass(frozen=True)
class Verification:
    """The last verification of the release (`format` is empty) or of an export."""

    when: str
    damages: Sequence[str]
    more: int
    withdrawn: int
    files: int
    rows: int


@dataclass(frozen=True)
class PushLine:
    """A push that came through."""

    url: str
    when: str
    who: str


@dataclass(frozen=True)
class Past:
    """What is known of a release's life after it was built. `verified` is by format, empty for the project's own."""

    check: Check | None
    verified: Mapping[str, Verification]
    pushes: Sequence[PushLine]
    cut_off: Sequence[str]


def past_of(session: Session, detail: ReleaseDetail, is_at_work: bool, t: Words) -> Past:
    """What was done since the release was built. `is_at_work` says that this server works on it at this moment."""
    runs = _last_runs(session, detail)
    done = {key: run for key, run in runs.items() if run.status == RunStatus.FINISHED}
    check = _finished(session, detail, CHECK)
    return Past(
        check=None if check is None else _check(check),
        verified={form: _verification(run, t) for (command, form), run in done.items() if command == VERIFY},
        pushes=_pushes(session, detail, t),
        cut_off=[
            t(_CUT_OFF[command], when=t.moment(run.started_at))
            for (command, _), run in runs.items()
            if not is_at_work and _was_cut_off(run)
        ],
    )


def _last_runs(session: Session, detail: ReleaseDetail) -> dict[tuple[str, str], Run]:
    """The last run of each command, and of each format where a command takes one."""
    commands = [CHECK, VERIFY, EXPORT, PUSH] if detail.is_sealed else [CHECK, SEAL]
    runs = session.exec(_runs(detail, commands).order_by(col(Run.started_at), col(Run.id)))
    return {(run.command, str(run.settings.get("format", "")).partition("@")[0]): run for run in runs}


def _finished(session: Session, detail: ReleaseDetail, command: str) -> Run | None:
    query = _runs(detail, [command]).where(Run.status == RunStatus.FINISHED)
    found: Run | None = session.exec(query.order_by(col(Run.started_at).desc(), col(Run.id).desc()).limit(1)).first()
    return found


def _runs(detail: ReleaseDetail, commands: Sequence[str]) -> Any:
    settings = col(Run.settings)
    return select(Run).where(
        col(Run.command).in_(commands),
        settings["name"].as_string() == detail.name,
        settings["version"].as_string() == detail.version,
        # A draft of the same name that was discarded is another story.
        col(Run.started_at) >= detail.created_at,
    )


def _was_cut_off(run: Run) -> bool:
    if run.status == RunStatus.INTERRUPTED:
        return True
    # The next command on the machine finds a run whose process died. Until then: of this very process it can only be
    # if the number was given again, for the caller knows that nothing is at work here.
    is_here = run.host == socket.gethostname()
    return (
        run.status == RunStatus.RUNNING and is_here and (run.process_id == os.getpid() or not is_alive(run.process_id))
    )


def _check(run: Run) -> Check:
    return Check(run.ended_at or run.started_at, run.summary.get("findings", ()), run.settings["allowed_licences"])


def _verification(run: Run, t: Words) -> Verification:
    summary = run.summary
    damages = summary["damages"]
    return Verification(
        when=t.moment(run.ended_at or run.started_at),
        damages=damages[:MOST_DAMAGES],
        more=max(len(damages) - MOST_DAMAGES, 0),
        withdrawn=summary["withdrawn"],
        files=summary["files"],
        rows=summary["rows"],
    )


def _pushes(session: Session, detail: ReleaseDetail, t: Words) -> list[PushLine]:
    query = (
        select(Event)
        .where(Event.subject_kind == "release", Event.subject_id == detail.row.id, Event.action == "push")
        .order_by(col(Event.sequence).desc())
    )
    found = session.exec(query.limit(10)).all()
    names = display_names(session, {event.actor for event in found})
    return [PushLine(event.detail["url"], t.moment(event.at), names[event.actor]) for event in found]
