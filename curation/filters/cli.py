"""`interplay material judge`: judge materials again."""

from typing import Annotated

import typer

from curation.judge import Change, JudgeReport, judge_again
from curation.materials import HANDLE
from warehouse.command_line import DryRunOption, JsonOption, ProjectOption, show
from warehouse.workspace import open_workspace


def judge_command(
    again: Annotated[bool, typer.Option("--again", help="Also what is judged as it stands.")] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Judge materials again where filters, thresholds, settings or what is known of them have changed.

    What passes now is kept again; what a person decided stands. A call can be stopped and repeated.

    Example: interplay material judge --dry-run
    """
    with open_workspace(project) as workspace:
        report = judge_again(workspace, again=again, dry_run=dry_run)
    document = {
        "dry_run": dry_run,
        "run_id": report.run_id,
        "counts": report.counts,
        "changes": [vars(change) for change in report.changes],
        "failures": report.failures,
    }
    show(document, _lines(report, dry_run), as_json)


def _lines(report: JudgeReport, dry_run: bool) -> list[str]:
    lines = [f"failed: {sha256[:HANDLE]}: {text}" for sha256, text in sorted(report.failures.items())]
    lines += [_line(change) for change in sorted(report.changes, key=lambda change: change.sha256)]
    counts, would = report.counts, "would be " if dry_run else ""
    return [
        *lines,
        f"judged {counts['judged']}, judged before {counts['known']}, failed {counts['failed']}; {would}kept again "
        f"{counts['now_kept']}, {would}dropped {counts['now_dropped']}, for another reason {counts['other_reason']}",
    ]


def _line(change: Change) -> str:
    if change.reason is None:
        return f"kept again: {change.sha256[:HANDLE]}: was {change.before_reason}"
    return f"dropped: {change.sha256[:HANDLE]}: {change.reason}: {change.measure}"
