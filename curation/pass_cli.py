"""What the commands of passes over the library share: an option, how a pass is told, and when the exit code is 2."""

from collections.abc import Iterable
from typing import Annotated

import typer

from curation.materials import HANDLE
from curation.passes import PassReport

NOTHING_DONE = 2

AgainOption = Annotated[bool, typer.Option("--again", help="Also those that had it by the same model.")]


def pass_lines(report: PassReport, what: str, dry_run: bool) -> list[str]:
    """A pass for people."""
    failed = [f"failed: {sha256[:HANDLE]}: {said}" for sha256, said in sorted(report.failures.items())]
    counts = ", ".join(f"{name} {count}" for name, count in report.counts.items())
    return [*failed, f"{what}: {'would be ' if dry_run else ''}{counts}"]


def exit_if_all_failed(reports: Iterable[PassReport]) -> None:
    """End with exit code 2 when something failed and nothing was done."""
    told = list(reports)
    if any(report.failures for report in told) and not any(report.done for report in told):
        raise typer.Exit(NOTHING_DONE)
