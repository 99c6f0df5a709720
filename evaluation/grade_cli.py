"""`interplay evaluation grade`: stored answers are graded again by the present rules, and what is open by a judge."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from core.question import Question
from evaluation.asking import Asker
from evaluation.grade import Graded, count_ungraded, grade_answers
from evaluation.judge import Comparison, Judged, Scope, compare, count_unjudged, judge_answers, judge_fingerprint
from evaluation.models.catalogue import ModelSpec, find_models
from evaluation.run import release_revisions
from warehouse.command_line import BudgetOption, DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.runs import open_run
from warehouse.workspace import Workspace, open_workspace

COMMAND = "evaluation grade"
_VERDICTS = ("right", "partial", "wrong")


@dataclass(frozen=True)
class Regraded:
    """What one call did: by rules, and by the judge and beside it where one was named."""

    graded: Graded
    judged: Judged | None = None
    comparison: Comparison | None = None


def register(app: typer.Typer) -> None:
    """Add `grade` to the commands of evaluation."""
    app.command("grade")(grade_command)


def grade_command(
    name: Annotated[str, typer.Argument(help="Release name.")],
    version: Annotated[str, typer.Argument(help="Release version.")],
    judge: Annotated[
        str | None, typer.Option("--judge", help="Model that grades what the rules leave open; none when not given.")
    ] = None,
    scope: Annotated[
        Scope, typer.Option("--scope", help="all: the judge grades every open and multi-step answer too.")
    ] = Scope.UNGRADED,
    max_cost_usd: BudgetOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Grade stored answers again by the present rules, asking no model but the judge; old grades are kept.

    Example: interplay evaluation grade zoo 1.0.0 --judge keen --scope all
    """
    if judge is None and (scope is not Scope.UNGRADED or max_cost_usd is not None):
        raise typer.BadParameter("--scope and --max-cost-usd go with --judge")
    with open_workspace(project) as workspace:
        model = find_models([judge], workspace.project.settings.models)[0] if judge else None
        questions = {one.id: one.as_question() for _, one in release_revisions(workspace, name, version)}
        if dry_run:
            _show_pending(workspace, questions, model, scope, as_json)
            return
        settings = {
            "release": f"{name} {version}",
            "judge": model.settings if model else None,
            "scope": scope.value,
            "budget_usd": max_cost_usd,
        }
        with open_run(workspace.database, COMMAND, settings) as run:
            purpose = f"judging {name} {version}"
            facts, root = workspace.facts, workspace.project.root
            asker = Asker(facts, workspace.blobs, root, purpose, run.id, budget_usd=max_cost_usd)
            done = regrade(asker, questions, model, scope)
            document = _document(done, model)
            run.summary = document
    _show(done, document, as_json)


def regrade(
    asker: Asker, questions: Mapping[str, Question], judge: ModelSpec | None = None, scope: Scope = Scope.UNGRADED
) -> Regraded:
    """Grade the stored answers to these questions (by revision id) by rule, then by the judge if there is one.

    Raises:
        As `Asker.ask`.
    """
    graded = grade_answers(asker.facts, asker.run_id, questions, asker.clock)
    if judge is None:
        return Regraded(graded)
    judged = judge_answers(asker, judge, questions, scope)
    return Regraded(graded, judged, compare(asker.facts, judge, questions))


def _show_pending(
    workspace: Workspace, questions: Mapping[str, Question], judge: ModelSpec | None, scope: Scope, as_json: bool
) -> None:
    pending = {"by_rule": count_ungraded(workspace.facts, questions)}
    lines = [f"{pending['by_rule']} answers would be graded by rule"]
    if judge is not None:
        pending["by_judge"] = count_unjudged(workspace.facts, judge, questions, scope)
        lines.append(f"{pending['by_judge']} questions would be put to the judge")
    show({"pending": pending}, lines, as_json)


def _document(done: Regraded, judge: ModelSpec | None) -> dict[str, Any]:
    document: dict[str, Any] = {"graded": vars(done.graded)}
    if judge is not None and done.judged is not None and done.comparison is not None:
        found = done.comparison
        document["judge"] = judge_fingerprint(judge)
        document["judged"] = {**vars(done.judged), "solved": vars(done.judged.solved)}
        document["comparison"] = {
            "counts": [{"rule": rule, "judge": said, "answers": n} for (rule, said), n in sorted(found.counts.items())],
            "agreement": found.agreement,
            "kappa": found.kappa,
            "settled": {"rule": found.by_rule, "judge": found.by_judge, "open": found.open},
        }
    return document


def _show(done: Regraded, document: Mapping[str, Any], as_json: bool) -> None:
    graded, judged, found = done.graded, done.judged, done.comparison
    lines = [f"by rule: {graded.words}, known before {graded.known}"]
    if judged is None or found is None:
        show(document, lines, as_json)
        return
    solved = judged.solved
    lines += [
        f"by the judge: graded {judged.graded}, not graded {judged.ungraded}, known before {judged.known}",
        f"asked {solved.asked}, reused {solved.reused}, replies known before {solved.known}",
        *solved.failure_lines,
        *solved.cost_lines,
        *([f"not asked for lack of budget: {solved.left}"] if solved.left else []),
        f"settled by rule {found.by_rule}, by the judge {found.by_judge}, open {found.open}",
    ]
    if found.agreement is not None:
        kappa = "not defined" if found.kappa is None else f"{found.kappa:.3f}"
        lines.append(f"rule and judge agree on {found.agreement:.1%} of what both settled; kappa {kappa}")
    show(document, lines, as_json)
    if not as_json and found.counts:
        header = ("rule", *(f"judge: {verdict}" for verdict in _VERDICTS))
        rules = [verdict for verdict in (*_VERDICTS, "no_match") if any(rule == verdict for rule, _ in found.counts)]
        rows = [(rule, *(found.counts.get((rule, said), 0) for said in _VERDICTS)) for rule in rules]
        show_table(None, header, rows, False)
