"""`interplay qc ...`."""

from typing import Annotated

import typer

from core.errors import InterplayError
from evaluation.models.catalogue import find_models
from qc.reasons import REASONS
from qc.report import qc_report, report_lines
from qc.review import give_verdict
from qc.rounds import Panel, RoundReport, count_pending, run_round1, run_round2
from warehouse.command_line import DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.tables import Decision
from warehouse.workspace import Workspace, open_workspace

app = typer.Typer(no_args_is_help=True, help="Run the three rounds of quality control.", rich_markup_mode=None)


class NoPanel(InterplayError):
    """No models to ask."""


@app.command()
def run(
    round_number: Annotated[int | None, typer.Option("--round", min=1, max=2, help="Only this round.")] = None,
    model: Annotated[list[str] | None, typer.Option("--model", help="A model of the panel; repeat.")] = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Run rounds 1 (model check) and 2 (ablation study) on the items that wait for them.

    Without --model, the panel is every model that interplay.toml names with `panel = true`.

    Example: interplay qc run --round 1
    """
    with open_workspace(project) as workspace:
        panel = _panel(workspace, model)
        rounds = [round_number] if round_number else [1, 2]
        if dry_run:
            pending = count_pending(workspace, panel)
            lines = [f"round {number}: {pending[number]} questions would be asked" for number in rounds]
            show({number: pending[number] for number in rounds}, lines, as_json)
            return
        reports = [{1: run_round1, 2: run_round2}[number](workspace, panel) for number in rounds]
    document = [
        {
            "round": report.round,
            "items": report.rulings,
            "overtaken": report.overtaken,
            "asked": report.asked,
            "failures": dict(report.failures),
        }
        for report in reports
    ]
    show(document, [line for report in reports for line in _round_lines(report)], as_json)


@app.command()
def verdict(
    item: Annotated[str, typer.Argument(help="Item name.")],
    decision: Annotated[Decision, typer.Option(help="What you decide.")],
    by: Annotated[str, typer.Option(help="Your user name; you need the role reviewer.")],
    round_number: Annotated[int, typer.Option("--round", min=1, max=3, help="The round that you judge in.")] = 3,
    reason_code: Annotated[list[str] | None, typer.Option("--reason", help="A reason code; see 'qc reasons'.")] = None,
    comment: Annotated[str | None, typer.Option(help="Words for the author.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Give a person's verdict on an item's current revision; two that agree settle round 3.

    Example: interplay qc verdict zoo-001 --decision pass --by ana
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        stored, moved = give_verdict(session, item, round_number, by, decision, reason_code or (), comment)
        document = {"verdict": stored.model_dump(mode="json"), "state": moved.state.value}
        state = moved.state.value
    show(document, [f"{item}: {decision.value} in round {round_number} by {by}; the item is {state}"], as_json)


@app.command()
def report(as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Show how far each item came, and why the others stopped.

    Example: interplay qc report
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        found = qc_report(session)
    show(found.model_dump(mode="json"), report_lines(found), as_json)


@app.command()
def reasons(as_json: JsonOption = False) -> None:
    """List the reason codes in both languages.

    Example: interplay qc reasons
    """
    rows = [[one.code, one.en, one.zh] for one in REASONS.values()]
    show_table([one.model_dump() for one in REASONS.values()], ["code", "English", "中文"], rows, as_json)


def _panel(workspace: Workspace, names: list[str] | None) -> Panel:
    settings = workspace.project.settings.models
    chosen = names or [name for name, table in settings.items() if table.get("panel")]
    if not chosen:
        raise NoPanel(
            "no panel: name models with --model, or set 'panel = true' in their [models.NAME] of interplay.toml"
        )
    return Panel(find_models(chosen, settings))


def _round_lines(report: RoundReport) -> list[str]:
    lines = [f"round {report.round}: {len(report.rulings)} items, {report.asked} questions asked"]
    if report.failures:
        lines.append(
            "  answers that failed: " + ", ".join(f"{n} {kind}" for kind, n in sorted(report.failures.items()))
        )
    for name, (decision, codes) in sorted(report.rulings.items()):
        lines.append(f"  {name}: {decision}" + (f" ({', '.join(codes)})" if codes else ""))
    lines += [f"  {name}: changed by somebody meanwhile; run the round again" for name in report.overtaken]
    return lines
