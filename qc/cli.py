"""`interplay qc ...`."""

from collections import Counter
from typing import Annotated

import typer

from core.errors import InterplayError
from evaluation.asking import cost_lines, failure_lines
from evaluation.models.catalogue import ModelSpec, find_models
from qc.audit.cli import app as audit_app
from qc.checks.contamination import HOW_TO_COMPARE
from qc.estimate import Estimate, estimate
from qc.polling import Limit
from qc.reasons import REASONS
from qc.report.cli import app as report_app
from qc.review.cli import app as review_app
from qc.review.verdicts import give_verdict
from qc.rounds import Panel, RoundReport, run_round1, run_round2
from qc.simulation.cli import app as simulation_app
from qc.statistics_cli import app as statistics_app
from warehouse.command_line import BudgetOption, DryRunOption, JsonOption, ProjectOption, by_option, show, show_table
from warehouse.people import Role
from warehouse.tables import Decision
from warehouse.workspace import Workspace, open_workspace

app = typer.Typer(no_args_is_help=True, help="Run the three rounds of quality control.", rich_markup_mode=None)
app.add_typer(review_app, name="review")
app.add_typer(report_app)
app.add_typer(audit_app)
app.add_typer(statistics_app)
app.add_typer(simulation_app)


class NoPanel(InterplayError):
    """No models to ask."""


@app.command()
def run(
    round_number: Annotated[int | None, typer.Option("--round", min=1, max=2, help="Only this round.")] = None,
    model: Annotated[list[str] | None, typer.Option("--model", help="A model of the panel; repeat.")] = None,
    placebo: Annotated[
        bool, typer.Option("--placebo", help="In round 2, also show another item's media in a modality's place.")
    ] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="Stop no count early: exact decoy estimates at every share, at more calls.")
    ] = False,
    reviews: Annotated[
        bool, typer.Option(help="In round 1, also have each family read the question and say what is wrong with it.")
    ] = True,
    max_calls: Annotated[int | None, typer.Option(min=0, help="Stop after so many questions to the panel.")] = None,
    budget_usd: BudgetOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Run rounds 1 (model check) and 2 (ablation study) on the items that wait for them.

    Without --model, the panel is every model that interplay.toml names with `panel = true`. Each endpoint must first
    repeat what delivery canaries carry. What is left without a verdict is listed, and the same command goes on; exit
    code 1 when endpoints do not answer and nothing could be judged.

    Example: interplay qc run --max-calls 2000
    """
    with open_workspace(project) as workspace:
        panel = Panel(_models(workspace, model), placebo=placebo, whole=whole, reviews=reviews)
        rounds = [round_number] if round_number else [1, 2]
        if dry_run:
            estimates = estimate(workspace, panel, rounds)
            show([one.model_dump() for one in estimates], map(_estimate_line, estimates), as_json)
            return
        reports: list[RoundReport] = []
        for number in rounds:
            spent = [report.spent for report in reports]
            calls = None if max_calls is None else max_calls - sum(one.calls for one in spent)
            usd = None if budget_usd is None else max(0.0, budget_usd - sum(one.cost_usd or 0.0 for one in spent))
            reports.append({1: run_round1, 2: run_round2}[number](workspace, panel, Limit(calls, usd)))
    show(list(map(_document, reports)), [line for report in reports for line in _round_lines(report)], as_json)
    if any(report.silent and report.left and not report.rulings for report in reports):
        raise typer.Exit(1)


@app.command()
def verdict(
    item: Annotated[str, typer.Argument(help="Item name.")],
    decision: Annotated[Decision, typer.Option(help="What you decide.")],
    by: Annotated[str, by_option(Role.REVIEWER)],
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
def reasons(as_json: JsonOption = False) -> None:
    """List the reason codes in both languages.

    Example: interplay qc reasons
    """
    rows = [[one.code, one.en, one.zh] for one in REASONS.values()]
    show_table([one.model_dump() for one in REASONS.values()], ["code", "English", "中文"], rows, as_json)


def _models(workspace: Workspace, names: list[str] | None) -> list[ModelSpec]:
    settings = workspace.project.settings.models
    chosen = names or [name for name, table in settings.items() if table.get("panel")]
    if not chosen:
        raise NoPanel(
            "no panel: name models with --model, or set 'panel = true' in their [models.NAME] of interplay.toml"
        )
    return find_models(chosen, settings)


def _estimate_line(one: Estimate) -> str:
    cost = "" if one.usd is None else f", for about {one.usd:.2f} US dollars"
    return f"round {one.round}: {one.items} items, about {one.expected} questions{cost} (at most {one.at_most})"


def _document(report: RoundReport) -> dict[str, object]:
    return {
        "round": report.round,
        "partial": bool(report.left),
        "items": report.rulings,
        "left": report.left,
        "overtaken": report.overtaken,
        "quarantined": report.quarantined,
        "canaries": report.canaries,
        "silent": report.silent,
        "never_compared": report.never_compared,
        "asked": report.asked,
        "failures": dict(report.spent.failures),
        "cost_usd": report.spent.cost_usd,
    }


def _round_lines(report: RoundReport) -> list[str]:
    counts = Counter(decision for decision, _ in report.rulings.values())
    decided = "".join(f", {count} {decision}" for decision, count in sorted(counts.items()))
    lines = [f"round {report.round}: {report.asked} questions asked, {len(report.rulings)} items judged{decided}"]
    told = [*cost_lines(report.spent.cost_usd), *failure_lines(report.spent.failures, report.spent.reasons)]
    lines += [f"  {line}" for line in told]
    for model, lost in report.quarantined.items():
        asked = "anything" if model in report.silent else f"about items with {' or '.join(lost)}"
        lines.append(f"  {model} is not asked {asked}: {'; '.join(report.canaries[model])}")
    for name, (decision, codes) in sorted(report.rulings.items()):
        lines.append(f"  {name}: {decision}" + (f" ({', '.join(codes)})" if codes else ""))
    lines += [f"  {name}: changed by somebody meanwhile; run the round again" for name in report.overtaken]
    if report.never_compared:
        lines.append(f"  nothing was compared with public benchmarks yet: {HOW_TO_COMPARE}")
    if report.left:
        why = "endpoints do not answer" if report.silent else "the budget"
        lines.append(
            f"  PARTIAL: {len(report.left)} items are left without a verdict ({why}); the same command goes on"
        )
    return lines
