"""`interplay evaluation ...`."""

from pathlib import Path
from typing import Annotated

import typer

from core.condition import IN_WORDS
from evaluation.conditions import NAMES, PLACEBO, STANDARD
from evaluation.grade_cli import register as register_grade
from evaluation.imports import import_answers
from evaluation.models.catalogue import ModelSpec, find_models
from evaluation.report.document import Report
from evaluation.report.page import write_report
from evaluation.report.terminal import table_as_text, table_of_cells
from evaluation.run import Evaluated, Order, Pending, count_pending, evaluate, forget, report_release
from warehouse.command_line import BudgetOption, DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.workspace import Workspace, open_workspace

app = typer.Typer(no_args_is_help=True, help="Put a release to models, grade, report.", rich_markup_mode=None)
register_grade(app)
NameArgument = Annotated[str, typer.Argument(help="Release name.")]
JudgeOption = Annotated[
    str | None, typer.Option("--judge", help="Model whose stored grades count where the rules settle nothing.")
]
VersionArgument = Annotated[str, typer.Argument(help="Release version.")]


@app.command()
def run(
    name: NameArgument,
    version: VersionArgument,
    model: Annotated[list[str], typer.Option("--model", help="A project's model, or any provider/model; repeat.")],
    condition: Annotated[
        list[str] | None,
        typer.Option(
            "--condition",
            help=f"Of {', '.join(NAMES)}; repeat. When none is given: {', '.join(STANDARD)}.",
        ),
    ] = None,
    replicates: Annotated[
        int, typer.Option(min=1, help="How often each question is asked, with seeds of their own.")
    ] = 1,
    max_cost_usd: BudgetOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Ask models every item of a release under conditions and grade the answers; a second call asks what is missing.

    Exit code 1 when questions were asked and not one was answered.

    Example: interplay evaluation run zoo 1.0.0 --model keen --condition full --condition text_only
    """
    with open_workspace(project) as workspace:
        models = find_models(model, workspace.project.settings.models)
        order = Order(models, condition or tuple(STANDARD), replicates, max_cost_usd)
        if dry_run:
            pending = count_pending(workspace, name, version, order)
            lines = [f"{pending.questions} questions would be asked", *_unmade(pending, condition)]
            show({"pending": pending.questions, "missing": pending.missing, "idle": pending.idle}, lines, as_json)
            return
        done = evaluate(workspace, name, version, order)
        report = report_release(workspace, name, version, [one.name for one in models], with_answers=False)
    solved, graded = done.solved, done.graded
    lines = [f"asked {solved.asked}, reused {solved.reused}, known before {solved.known}; {graded.words}"]
    lines += solved.failure_lines
    lines += _unmade(done, condition)
    lines += solved.cost_lines
    if solved.left:
        lines.append(f"left: {solved.left} questions, for which the budget has no room; call again with another budget")
    document = {
        "solved": vars(solved),
        "graded": vars(graded),
        "missing": done.missing,
        "idle": done.idle,
        "cells": [cell.model_dump() for cell in report.cells],
    }
    show(document, lines, as_json)
    if not as_json:
        _show_on_terminal(report)
    if solved.asked and not solved.answered:
        raise typer.Exit(1)


@app.command("forget")
def forget_command(
    name: NameArgument,
    version: VersionArgument,
    model: Annotated[list[str], typer.Option("--model", help="What reports call it; repeat.")],
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Leave a model out of a release's reports; its answers stay, and asking or importing it again brings it back.

    Example: interplay evaluation forget zoo 1.0.0 --model human
    """
    with open_workspace(project) as workspace:
        forget(workspace, name, version, model)
    show({"forgotten": model}, [f"left out of the reports of {name} {version}: {', '.join(model)}"], as_json)


@app.command("import")
def import_command(
    name: NameArgument,
    version: VersionArgument,
    file: Annotated[Path, typer.Argument(help='JSONL: {"item": NAME, "answer": TEXT, "condition": ..., "who": ...}.')],
    model: Annotated[str, typer.Option("--model", help="What reports call the one that answered.")],
    human: Annotated[bool, typer.Option("--human", help="People answered: reports set models against them.")] = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Grade answers that people gave, or that another harness got, as those of a model to a release.

    Example: interplay evaluation import zoo 1.0.0 people.jsonl --model human --human
    """
    with open_workspace(project) as workspace:
        count, graded = import_answers(workspace, (name, version), file, model, human=human)
    news = graded.words if graded.graded + graded.ungraded else "all known before"
    lines = [f"{count} answers of {model}; {news}"]
    show({"answers": count, "graded": vars(graded)}, lines, as_json)


@app.command("report")
def report_command(
    name: NameArgument,
    version: VersionArgument,
    to: Annotated[Path | None, typer.Option("--to", help="Folder for report.html, report.json and report.svg.")] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(help="Another release, as 'NAME VERSION', in the table of benchmarks; repeat."),
    ] = None,
    judge: JudgeOption = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show the points of all models asked on a release; with --to, write a page that opens offline.

    Example: interplay evaluation report zoo 1.0.0 --to report
    """
    with open_workspace(project) as workspace:
        others = [_release(one) for one in beside or ()]
        with_answers = as_json or to is not None
        report = report_release(
            workspace, name, version, with_answers=with_answers, beside=others, judge=_judge(workspace, judge)
        )
    if to is not None:
        write_report(report, to)
    if as_json:
        show(report.model_dump(mode="json"), (), True)
        return
    _show_on_terminal(report)
    if to is not None:
        show(None, [f"written: {to / 'report.html'}"], False)


@app.command("law")
def law_command(
    name: NameArgument,
    version: VersionArgument,
    to: Annotated[Path | None, typer.Option("--to", help="Folder for law.svg and law.json.")] = None,
    judge: JudgeOption = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Fit the compositional law to the models of a release: omni-modal score from audio and visual score.

    Example: interplay evaluation law zoo 1.0.0 --to law
    """
    from evaluation.law.cli import show_law
    from evaluation.law.fit import fit_law
    from evaluation.law.of_report import points_of

    with open_workspace(project) as workspace:
        report = report_release(workspace, name, version, with_answers=False, judge=_judge(workspace, judge))
    show_law(fit_law(points_of(report)), to, as_json)


def _judge(workspace: Workspace, name: str | None) -> ModelSpec | None:
    return find_models([name], workspace.project.settings.models)[0] if name else None


def _release(text: str) -> tuple[str, str]:
    name, _, version = text.partition(" ")
    if not version:
        raise typer.BadParameter(f"a release is named by name and version, as 'zoo 1.0.0', not {text!r}")
    return name, version


def _unmade(done: Evaluated | Pending, named: list[str] | None) -> list[str]:
    """What a user must know of the conditions; one that applies to nothing is only told when it was asked for."""
    why = {
        **dict.fromkeys(IN_WORDS, "their media have no accepted words, see 'interplay caption list'"),
        **dict.fromkeys(PLACEBO, "no other item has such media"),
    }
    told = [f"{one}: not made for {count} items: {why[one]}" for one, count in sorted(done.missing.items())]
    return told + [f"{one}: applies to no item of the release" for one in done.idle if one in (named or ())]


def _show_on_terminal(report: Report) -> None:
    """The leaderboard, where there is one, and a row for each model and condition."""
    board = report.table("leaderboard")
    for header, rows in (*([table_as_text(board)] if board else []), table_of_cells(report)):
        show_table(None, header, rows, False)
    show(None, [*([board.note] if board else []), *report.notes], False)
