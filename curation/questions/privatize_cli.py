"""`interplay question privatize ...`."""

from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import numpy as np
import typer
from sqlmodel import Session

from core.errors import InterplayError
from core.question import Question, QuestionKind, choice_label
from core.taxonomy import Language
from curation.questions.privatize import (
    TaskView,
    find_task,
    give_up,
    link_item,
    list_tasks,
    open_tasks,
    reopen,
)
from curation.questions.proving import prove_tasks
from curation.questions.scores import Paired, item_scores, paired, pool_scores
from curation.questions.sets import find_question, find_set, iter_questions
from curation.questions.telling_apart import BeforeAfter, Spread, before_after
from curation.questions.telling_plot import telling_figure
from warehouse.blobs import write_atomically
from warehouse.command_line import ByOption, JsonOption, ProjectOption, show, show_table
from warehouse.items import current_revision, get_item
from warehouse.people import actor_named
from warehouse.tables import PrivatizationState, PublicQuestion
from warehouse.workspace import Workspace, open_workspace

COLUMN_CHARACTERS = 56
NOT_PROVEN = 1

app = typer.Typer(no_args_is_help=True, help="Make private questions after public ones.", rich_markup_mode=None)

TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="Its id, the public question's, or the item's name.")]


class NothingProven(InterplayError):
    """A report of private questions was asked for where none is proven."""


@app.callback()
def _noun() -> None:
    """Make private questions after public ones: same ability, same difficulty, other media and words."""


@app.command("open")
def open_command(
    by: ByOption,
    questions: Annotated[list[str] | None, typer.Argument(help="Public questions: their ids.")] = None,
    of_set: Annotated[str | None, typer.Option("--set", help="All questions of this set.")] = None,
    pool: Annotated[
        str | None, typer.Option(help="Pool whose scores tell how hard a question is, where its set does not.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many at most.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Open a task for each public question; those that have one are left alone.

    Example: interplay question privatize open --set mmbench --limit 100 --by mei
    """
    if bool(questions) == (of_set is not None):
        raise typer.BadParameter("name questions, or a --set")
    with open_workspace(project) as workspace:
        actor = actor_named(workspace.database, by)
        with workspace.database.reading() as session:
            chosen = _chosen(session, questions or [], of_set, limit)
        rights = _rights(workspace, pool, of_set, chosen)
        with workspace.database.session() as session:
            made, known = open_tasks(session, chosen, actor, rights)
    document = {"opened": [task.id for task in made], "known": known}
    show(document, [f"opened {len(made)}, {known} had a task already"], as_json)


@app.command("list")
def list_command(
    state: Annotated[PrivatizationState | None, typer.Option(help="Only those.")] = None,
    of_set: Annotated[str | None, typer.Option("--set", help="Only those of this set.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List the tasks and how they stand.

    Example: interplay question privatize list --state open
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        set_id = find_set(session, of_set).id if of_set else None
        views = list_tasks(session, state, set_id)
    document = [_document(view) for view in views]
    header = ("task", "public", "ability", "difficulty", "stands", "item")
    cells = [[one[name] or "" for name in header] for one in document]
    show_table(document, header, cells, as_json)


@app.command("show")
def show_command(task: TaskArgument, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Show a public question and the private one side by side, with the last proof.

    Example: interplay question privatize show mmbench-17
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        view = find_task(session, task)
        private = current_revision(session, view.item).as_question() if view.item else None
    public = view.public.as_question()
    document = _document(view) | {
        "public_question": public.model_dump(mode="json"),
        "private_question": private.model_dump(mode="json") if private else None,
        "proof": view.task.proof,
    }
    asked = [_told(public), _told(private) if private else ["(no item yet)"]]
    lines = [f"{view.task.id}: {view.stands}; {view.task.ability}, {view.task.difficulty or 'difficulty unknown'}"]
    lines += _beside([f"public: {view.public.qid}", *asked[0]], [f"private: {document['item'] or ''}", *asked[1]])
    show(document, [*lines, *_proof_lines(view.task.proof)], as_json)


@app.command("link")
def link_command(
    task: TaskArgument,
    item: Annotated[str, typer.Argument(help="The private item: its name.")],
    by: ByOption,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in the place of an item that is linked; its proof goes.")
    ] = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Say which item was made after the public question.

    Example: interplay question privatize link mmbench-17 harbour-017 --by mei
    """
    document = _changed(
        project,
        by,
        task,
        lambda session, view, actor: link_item(session, view, get_item(session, item), actor, replace=replace),
    )
    show(document, [f"{document['public']} is made anew as {document['item']}; now prove it"], as_json)


@app.command("prove")
def prove_command(
    by: ByOption,
    tasks: Annotated[list[str] | None, typer.Argument(help="Tasks; else all that have an item.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Prove that private questions differ from the public ones; exit code 1 when one does not.

    Example: interplay question privatize prove mmbench-17 --by mei
    """
    with open_workspace(project) as workspace:
        actor = actor_named(workspace.database, by)
        with workspace.database.reading() as session:
            views = [find_task(session, one) for one in tasks] if tasks else _to_prove(session)
        made = prove_tasks(workspace, views, actor)
        proofs = {view.public.qid: proof.document() for view, proof in made}
    lines = []
    for qid, proof in proofs.items():
        lines += [f"{qid}: {'another question' if proof['holds'] else 'NOT different enough'}", *_proof_lines(proof)]
    show(proofs, lines or ["nothing to prove: no open task has an item"], as_json)
    if any(not proof["holds"] for proof in proofs.values()):
        raise typer.Exit(NOT_PROVEN)


@app.command("give-up")
def give_up_command(
    task: TaskArgument,
    reason: Annotated[str, typer.Option(help="Why; it is kept.")],
    by: ByOption,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Close a task that cannot be done.

    Example: interplay question privatize give-up mmbench-17 --reason "Nobody has such a photo." --by mei
    """
    document = _changed(project, by, task, lambda session, view, actor: give_up(session, view, reason, actor))
    show(document, [f"{document['public']} is given up"], as_json)


@app.command("reopen")
def reopen_command(
    task: TaskArgument, by: ByOption, as_json: JsonOption = False, project: ProjectOption = None
) -> None:
    """Take up again what was given up.

    Example: interplay question privatize reopen mmbench-17 --by mei
    """
    document = _changed(project, by, task, reopen)
    show(document, [f"{document['public']} is open again"], as_json)


@app.command("report")
def report_command(
    of_set: Annotated[str, typer.Option("--set", help="The public set.")],
    pool: Annotated[str, typer.Option(help="Pool with the models' scores on it; its benchmark is named as the set.")],
    plot: Annotated[Path | None, typer.Option(help="SVG file of the picture.")] = None,
    language: Annotated[str, typer.Option(help="Of the picture: en or zh.")] = "en",
    seed: Annotated[int, typer.Option(help="Of resampling.")] = 0,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Report how well models are told apart before and after: public questions, and the proven private ones.

    Models count that have scores in the pool and graded answers to the private items, under one name.

    Example: interplay question privatize report --set mmbench --pool public --plot before-after.svg
    """
    drawn_in: dict[str, Language] = {"en": "en", "zh": "zh"}
    if language not in drawn_in:
        raise typer.BadParameter("write en or zh", param_hint="--language")
    with open_workspace(project) as workspace:
        both = _both(workspace, of_set, pool)
    found = before_after(both.before, both.after, np.random.default_rng(seed))
    if plot is not None:
        write_atomically(plot, telling_figure(found, drawn_in[language]))
    show(_report_document(found, both), _report_lines(found, both, plot), as_json)


def _changed(
    project: Path | None, by: str, task: str, change: Callable[[Session, TaskView, str], object]
) -> dict[str, Any]:
    """A task after a change by somebody."""
    with open_workspace(project) as workspace, workspace.database.session() as session:
        view = find_task(session, task)
        change(session, view, actor_named(workspace.database, by))
        return _document(find_task(session, view.task.id))


def _both(workspace: Workspace, of_set: str, pool: str) -> Paired:
    with workspace.database.reading() as session:
        views = list_tasks(session, PrivatizationState.PROVEN, find_set(session, of_set).id)
    proven = [view for view in views if view.is_current]
    if not proven:
        raise NothingProven(
            f"no private question after one of {of_set!r} is proven as it stands; "
            "'interplay question privatize prove' does it"
        )
    made = {view.public.qid: view.item.name for view in proven if view.item}
    before = pool_scores(workspace.facts, pool, of_set, list(made))
    return paired(before, item_scores(workspace, list(made.values())), made)


def _chosen(session: Session, questions: list[str], of_set: str | None, limit: int | None) -> list[PublicQuestion]:
    if of_set is not None:
        return [question for question, _ in islice(iter_questions(session, of_set), limit)]
    return [find_question(session, one)[0] for one in questions[:limit]]


def _rights(
    workspace: Workspace, pool: str | None, of_set: str | None, chosen: list[PublicQuestion]
) -> Mapping[str, float]:
    if pool is None:
        return {}
    if of_set is None:
        raise typer.BadParameter("--pool needs --set: a pool's benchmarks are named as the sets")
    scores = pool_scores(workspace.facts, pool, of_set, [question.qid for question in chosen])
    means = np.nanmean(scores.points, axis=0)
    return dict(zip(scores.questions, means.tolist(), strict=True))


def _to_prove(session: Session) -> list[TaskView]:
    return [view for view in list_tasks(session) if view.stands in ("linked", "outdated")]


def _document(view: TaskView) -> dict[str, Any]:
    return {
        "task": view.task.id,
        "public": view.public.qid,
        "ability": view.task.ability,
        "difficulty": view.task.difficulty,
        "stands": view.stands,
        "item": view.item.name if view.item else None,
        "note": view.task.note,
        "version": view.task.version,
    }


def _told(question: Question) -> list[str]:
    lines = [*question.prompt_text.splitlines()]
    lines += [f"{choice_label(place)}. {choice.text}" for place, choice in enumerate(question.choices)]
    lines += [f"step: {step.ask} -> {' | '.join(step.answer.accepted)}" for step in question.steps]
    return [*lines, *([f"right: {_key(question)}"] if question.kind is not QuestionKind.MULTI_STEP else [])]


def _key(question: Question) -> str:
    """The right answer in words, as somebody reads it who compares two questions."""
    answer = question.answer
    if question.kind is QuestionKind.CHOICE:
        return " and ".join(f"{choice_label(place)} ({question.choices[place].text})" for place in answer.correct)
    margin = f", within {answer.tolerance:g}" if answer.tolerance is not None else ""
    return f"{' | '.join(answer.accepted)}{margin}"


def _beside(left: list[str], right: list[str]) -> list[str]:
    columns = [[part for line in lines for part in wrap(line, COLUMN_CHARACTERS) or [""]] for lines in (left, right)]
    height = max(map(len, columns))
    padded = [column + [""] * (height - len(column)) for column in columns]
    return [f"{one:<{COLUMN_CHARACTERS}} | {other}" for one, other in zip(*padded, strict=True)]


def _proof_lines(proof: Mapping[str, Any]) -> list[str]:
    marks = {True: "passed", False: "FAILED", None: "not made"}
    return [f"  {marks[check['passed']]:<9}{check['name']}: {check['en']}" for check in proof.get("checks", ())]


def _report_document(found: BeforeAfter, both: Paired) -> dict[str, Any]:
    return {
        "pairs": len(both.before.questions),
        "one_sided": list(both.one_sided),
        "verdict": found.verdict,
        "before": _spread_document(found.before),
        "after": _spread_document(found.after),
        "deviation_change": vars(found.deviation_change),
        "median_gap_change": vars(found.median_gap_change),
        "left_out": list(found.left_out),
    }


def _spread_document(spread: Spread) -> dict[str, Any]:
    return {
        "models": dict(zip(spread.models, spread.means, strict=True)),
        "questions": spread.questions,
        "deviation": vars(spread.deviation),
        "smallest_gap": spread.smallest_gap,
        "median_gap": vars(spread.median_gap),
        "neighbours_told_apart": spread.told_apart,
        "neighbours": len(spread.gaps),
    }


def _report_lines(found: BeforeAfter, both: Paired, plot: Path | None) -> list[str]:
    lines = [f"{len(both.before.questions)} proven pairs, {len(found.before.models)} models"]
    if both.one_sided:
        lines.append(
            f"{len(both.one_sided)} proven pairs left out, scored on one side only: {', '.join(both.one_sided)}"
        )
    for name, spread in (("before", found.before), ("after", found.after)):
        lines.append(
            f"{name}: deviation {spread.deviation.told(4)}, median gap {spread.median_gap.told(4)}, smallest "
            f"{spread.smallest_gap:.4f}, neighbours told apart {spread.told_apart} of {len(spread.gaps)}"
        )
        lines += [f"  {mean:.4f}  {model}" for model, mean in zip(spread.models, spread.means, strict=True)]
    told = {"better": "better", "worse": "worse", "open": "not shown to be better or worse"}
    lines.append(f"change of the deviation {found.deviation_change.told(4)}: told apart {told[found.verdict]}")
    lines += [f"models left out, scored on one side only: {', '.join(found.left_out)}"] if found.left_out else []
    return [*lines, f"wrote {plot}"] if plot else lines
