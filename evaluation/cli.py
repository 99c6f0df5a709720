"""`interplay evaluation ...`."""

from pathlib import Path
from typing import Annotated

import typer

from evaluation.models.catalogue import find_models
from evaluation.report import table_of_cells, write_report
from evaluation.run import CONDITIONS, count_pending, evaluate, find_conditions, report_release
from warehouse.command_line import DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.workspace import open_workspace

app = typer.Typer(no_args_is_help=True, help="Put a release to models, grade, report.", rich_markup_mode=None)
NameArgument = Annotated[str, typer.Argument(help="Release name.")]
VersionArgument = Annotated[str, typer.Argument(help="Release version.")]


@app.command()
def run(
    name: NameArgument,
    version: VersionArgument,
    model: Annotated[list[str], typer.Option("--model", help="A project's model, or any provider/model; repeat.")],
    condition: Annotated[
        list[str] | None,
        typer.Option("--condition", help=f"Of {', '.join(CONDITIONS)}; repeat. All when none is given."),
    ] = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Ask models every item of a release under conditions and grade the answers; a second call asks what is missing.

    Example: interplay evaluation run zoo 1.0.0 --model keen --condition full --condition text_only
    """
    conditions = find_conditions(condition or list(CONDITIONS))
    with open_workspace(project) as workspace:
        models = find_models(model, workspace.project.settings.models)
        if dry_run:
            count = count_pending(workspace, name, version, models, conditions)
            show({"pending": count}, [f"{count} questions would be asked"], as_json)
            return
        done = evaluate(workspace, name, version, models, conditions)
        report = report_release(workspace, name, version, [one.name for one in models], with_answers=False)
    solved, graded = done.solved, done.graded
    lines = [f"asked {solved.asked}, reused {solved.reused}, known before {solved.known}; graded {graded.graded}"]
    lines += [f"failed: {count} {state}" for state, count in sorted(solved.failures.items())]
    document = {"solved": vars(solved), "graded": vars(graded), "cells": [cell.model_dump() for cell in report.cells]}
    show(document, lines, as_json)
    if not as_json:
        header, rows = table_of_cells(report)
        show_table(None, header, rows, False)


@app.command("report")
def report_command(
    name: NameArgument,
    version: VersionArgument,
    to: Annotated[Path | None, typer.Option("--to", help="Folder for report.html, report.json and report.svg.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show the points of all models asked on a release; with --to, write a page that opens offline.

    Example: interplay evaluation report zoo 1.0.0 --to report
    """
    with open_workspace(project) as workspace:
        report = report_release(workspace, name, version, with_answers=as_json or to is not None)
    if to is not None:
        write_report(report, to)
    header, rows = table_of_cells(report)
    show_table(report.model_dump(mode="json"), header, rows, as_json)
