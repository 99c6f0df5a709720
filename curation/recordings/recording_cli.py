"""`interplay recording ...`."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from core.media.source import read_source
from curation.materials import HANDLE
from curation.recordings.agreements import consent_named
from curation.recordings.deciding import accept_take, refuse_take
from curation.recordings.findings import Finding, findings_of
from curation.recordings.limits import Outcome
from curation.recordings.models import project_ears
from curation.recordings.takes import NewTake, Take, add_take, check_take, get_take, list_takes
from warehouse.command_line import ByOption, JsonOption, ProjectOption, show, show_table
from warehouse.people import actor_named
from warehouse.tables import Recording
from warehouse.workspace import open_workspace

app = typer.Typer(no_args_is_help=True, help="Take in, check and decide on takes of scripts.", rich_markup_mode=None)

RecordingArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Recording: its id or sha256, or how that begins.")
]


class TakeState(StrEnum):
    """How a take stands."""

    OPEN = "open"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"


@app.command("add")
def add_command(
    file: Annotated[Path, typer.Argument(help="The take: WAV, FLAC, WebM, M4A, Ogg or MP3.")],
    script: Annotated[str, typer.Option("--script", help="Name of the script that is read.")],
    contributor: Annotated[str, typer.Option("--contributor", help="Pseudonym of who reads it.")],
    consent: Annotated[str, typer.Option("--consent", help="Id of their consent, or how it begins.")],
    by: ByOption,
    device: Annotated[str | None, typer.Option("--device", help="What it was recorded with.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Take in a take of a script, and say at once what is wrong with it. The same file again changes nothing.

    Example: interplay recording add take.wav --script greeting-1 --contributor speaker-07 --consent ID --by mei
    """
    with open_workspace(project) as workspace:
        actor = actor_named(workspace.database, by)
        with workspace.database.reading() as session:
            new = NewTake(script, contributor, consent_named(session, consent), device)
        data = read_source(file, workspace.project.media_limits)
        added = add_take(workspace, data, new, actor, name=str(file))
    found = findings_of(added.recording.checks)
    how = "is taken in" if added.new else "was there already"
    lines = [f"recording {added.recording.id} {how}", *_finding_lines(found)]
    show(_recording_document(added.recording) | {"new": added.new}, lines, as_json)


@app.command("check")
def check_command(recording: RecordingArgument, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Make all checks of a take, also those that need models: who speaks, and whether they say the script.

    The exit code is 1 when one of them fails.

    Example: interplay recording check 01998c
    """
    with open_workspace(project) as workspace:
        found = check_take(workspace, recording, project_ears(workspace.project.settings))
    show([asdict(one) for one in found], _finding_lines(found), as_json)
    raise typer.Exit(1 if any(one.outcome is Outcome.FAIL for one in found) else 0)


@app.command("list")
def list_command(
    state: Annotated[TakeState | None, typer.Option(help="Only takes that stand so.")] = None,
    script: Annotated[str | None, typer.Option(help="Only takes of this script.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List takes, oldest first.

    Example: interplay recording list --state open
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        takes = list_takes(session)
    found = [
        take for take in takes if state in (None, state_of(take)) and script in (None, take.script.name)
    ]  # fmt: skip
    header = ["id", "script", "contributor", "state", "failed", "warned"]
    rows = [
        [one.recording.id, one.script.name, one.contributor.pseudonym, state_of(one), *_counted(one)] for one in found
    ]
    show_table([_document(one) for one in found], header, rows, as_json)


@app.command("show")
def show_command(recording: RecordingArgument, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Show a take: its script, what the checks found, who decided what.

    Example: interplay recording show 01998c
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        take = get_take(session, recording)
    one = take.recording
    lines = [
        f"recording {one.id}: {state_of(take)}",
        f"script {take.script.name} ({take.script.language}): {take.script.text}",
        f"by {take.contributor.pseudonym}, under consent {take.consent.id}",
        *_finding_lines(findings_of(one.checks)),
    ]
    if one.decided_by:
        lines.append(f"decided by {one.decided_by}" + (f": {one.decided_why}" if one.decided_why else ""))
    show(_document(take), lines, as_json)


@app.command("accept")
def accept_command(
    recording: RecordingArgument,
    by: ByOption,
    reason: Annotated[
        str | None, typer.Option(help="Why, which a take needs that failed a check, or on which one was not made.")
    ] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Make a material of a take.

    Example: interplay recording accept 01998c --reason "The noise is the point of this scene." --by mei
    """
    with open_workspace(project) as workspace:
        actor = actor_named(workspace.database, by)
        done = accept_take(workspace, recording, actor, reason)
    document = {
        "recording": done.recording.id,
        "material": done.material.sha256,
        "material_id": done.material.id,
        "overruled": done.overruled,
        "unchecked": done.unchecked,
    }
    lines = [f"over what failed: {', '.join(done.overruled)}"] if done.overruled else []
    lines += [f"not checked: {', '.join(done.unchecked)}"] if done.unchecked else []
    show(document, [*lines, f"recording {done.recording.id} is material {done.material.sha256[:HANDLE]}"], as_json)


@app.command("refuse")
def refuse_command(
    recording: RecordingArgument,
    reason: Annotated[str, typer.Option(help="Why, so that the next take can be better.")],
    by: ByOption,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Say that a take is not to be used.

    Example: interplay recording refuse 01998c --reason "A word is missing." --by mei
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        refused = refuse_take(session, recording, actor_named(workspace.database, by), reason)
    show(_recording_document(refused), [f"recording {refused.id} is refused"], as_json)


def state_of(take: Take) -> TakeState:
    """How a take stands."""
    if take.consent.withdrawn_at is not None:
        return TakeState.WITHDRAWN
    if take.recording.accepted is None:
        return TakeState.OPEN
    return TakeState.ACCEPTED if take.recording.accepted else TakeState.REFUSED


def _counted(take: Take) -> list[str]:
    found = findings_of(take.recording.checks)
    return [", ".join(one.name for one in found if one.outcome is wanted) for wanted in (Outcome.FAIL, Outcome.WARN)]


def _finding_lines(findings: list[Finding]) -> list[str]:
    return [line for one in findings for line in _lines_of(one)]


def _lines_of(finding: Finding) -> list[str]:
    measure = "" if finding.measure is None else f" {_rounded(finding.measure)} {finding.unit}"
    limit = f" ({finding.limit})" if finding.limit else ""
    head = f"{finding.outcome.value:<8} {finding.name}{measure}{limit}"
    told = "" if finding.outcome is Outcome.PASS else f": {finding.en} / {finding.zh}"
    heard = [f"         heard: {finding.evidence}"] if finding.name == "transcript" and finding.evidence else []
    return [head + told, *heard]


def _rounded(measure: float) -> str:
    return f"{measure:.0f}" if abs(measure) >= 1000 else f"{measure:.3g}"


def _document(take: Take) -> dict[str, Any]:
    return _recording_document(take.recording) | {
        "script": take.script.name,
        "text": take.recording.script,
        "contributor": take.contributor.pseudonym,
        "state": state_of(take).value,
    }


def _recording_document(recording: Recording) -> dict[str, Any]:
    return recording.model_dump(mode="json", exclude={"script", "contributor_id"})
