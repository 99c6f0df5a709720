"""`interplay question ...`."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from core.question import Question, QuestionKind, choice_label
from curation.questions.importing import import_questions
from curation.questions.plan import ImportReport, Wanted
from curation.questions.privatize_cli import app as privatize_app
from curation.questions.sets import SetView, find_question, forget_set, iter_questions, list_sets
from curation.questions.supplement_cli import supplement_command
from warehouse.command_line import ByOption, DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.people import actor_named
from warehouse.release.licences import checked_licence
from warehouse.tables import PublicQuestion
from warehouse.workspace import open_workspace

NOTHING_TAKEN = 2
SHOWN_CHARACTERS = 60
_NAME = re.compile(r"[\w.-]{1,128}")

app = typer.Typer(no_args_is_help=True, help="Bring in public question sets, and look at them.", rich_markup_mode=None)

app.add_typer(privatize_app, name="privatize")
app.command("supplement")(supplement_command)

SetOption = Annotated[str | None, typer.Option("--set", help="Only the questions of this set.")]


@app.command("import")
def import_command(
    source: Annotated[Path, typer.Argument(help="The set's table, or the folder that holds it.")],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="avodyssey, dailyomni, generic, mathvista, mmau, mmbench, omnibench, unobench or worldsense.",
        ),
    ],
    name: Annotated[str, typer.Option("--set", help="What the set is to be called; each content has its own name.")],
    by: ByOption,
    licence: Annotated[str | None, typer.Option(help="SPDX identifier or URL.")] = None,
    media: Annotated[
        Path | None, typer.Option(help="Folder that media are named from; else the source's own.", exists=True)
    ] = None,
    mapping: Annotated[Path | None, typer.Option(help="For generic: YAML file that says which field is what.")] = None,
    split: Annotated[list[str] | None, typer.Option(help="Only questions of this split; repeat for more.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many questions at most, for a try.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Forget what the set held; refused when something rests on it.")
    ] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Bring a public question set in; what is there already is left alone, so a call can be repeated.

    Records that are no questions are told with their reason and left out. Exit code 0 when at least one question is in
    the set now, 2 when none is.

    Example: interplay question import mmbench_dev_en.tsv --format mmbench --set mmbench --licence Apache-2.0
    """
    if not _NAME.fullmatch(name):
        raise typer.BadParameter("--set is letters, digits, '.', '_' and '-', at most 128")
    with open_workspace(project) as workspace:
        # Only what is forgotten is somebody's act; the rest is the run's.
        actor = actor_named(workspace.database, by) if replace else by
        checked_licence(licence, workspace.project.settings.allowed_licences)
        wanted = Wanted(source, form, name, licence, media, mapping, tuple(split or ()), limit, replace, actor)
        report = import_questions(workspace, wanted, dry_run)
    document = {"set": name, "dry_run": dry_run, "run_id": report.run_id, **report.summary}
    show(document, _import_lines(report, dry_run), as_json)
    if not report.new + report.known:
        raise typer.Exit(NOTHING_TAKEN)


@app.command("sets")
def sets_command(as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """List the sets: how many questions each has, and how its last import ended.

    Example: interplay question sets
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        views = list_sets(session)
    header = ("set", "format", "questions", "failed", "last import", "licence", "origin")
    rows = [
        (
            view.question_set.name,
            view.question_set.format,
            view.questions,
            view.last_summary.get("failed"),
            view.last_status,
            view.question_set.licence,
            view.question_set.origin,
        )
        for view in views
    ]
    show_table([_set_document(view) for view in views], header, rows, as_json)


@app.command("list")
def list_command(set_name: SetOption = None, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """List public questions, in the order of their import.

    Example: interplay question list --set mmbench
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        documents = [_short_document(question, of_set) for question, of_set in iter_questions(session, set_name)]
    header = ("id", "set", "qid", "kind", "task type", "language", "media", "question")
    names = ("id", "set", "qid", "kind", "task_type", "language")
    rows = [(*(one[name] for name in names), "+".join(one["media"]), _cut(one["prompt"])) for one in documents]
    show_table(documents, header, rows, as_json)


@app.command("show")
def show_command(
    question: Annotated[str, typer.Argument(metavar="ID", help="Its id, how that begins, or its id in the set.")],
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show a public question: prompt, choices, key, media, and all that its set says of it.

    Example: interplay question show 241
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        found, of_set = find_question(session, question)
    asked = found.as_question()
    document = {
        **_short_document(found, of_set),
        "content_hash": found.content_hash,
        "question": asked.model_dump(mode="json"),
        "labels": found.labels,
    }
    show(document, _question_lines(found, asked, of_set), as_json)


@app.command("forget")
def forget_command(
    name: Annotated[str, typer.Argument(metavar="SET", help="The set.")],
    by: ByOption,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Delete a set with its questions; refused when private questions are made after them. Media stay in the store.

    Example: interplay question forget mmbench --by mei
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        count = forget_set(session, name, actor_named(workspace.database, by))
    show({"set": name, "questions": count}, [f"{name}: forgotten, {count} questions"], as_json)


def _import_lines(report: ImportReport, dry_run: bool) -> Iterable[str]:
    for reason, count in sorted(report.bad.items()):
        yield f"failed: {reason}: {count}"
        yield from (f"  {example}" for example in report.examples[reason])
        if count > len(report.examples[reason]):
            yield f"  and {count - len(report.examples[reason])} more"
    told = f"set {report.name}: {'would be ' if dry_run else ''}new {report.new}, known {report.known}"
    told += f", failed {sum(report.bad.values())}; media examined {report.media}"
    if report.copies:
        told += f"; turned copies left out {report.copies}"
    if report.other_splits:
        told += f"; of other splits {report.other_splits}"
    if report.defaults:
        told += f"; task type by default {report.defaults}"
    yield told


def _set_document(view: SetView) -> Mapping[str, Any]:
    one = view.question_set
    return {
        "set": one.name,
        "format": one.format,
        "questions": view.questions,
        "origin": one.origin,
        "sha256": one.sha256,
        "licence": one.licence,
        "created_at": one.created_at.isoformat(),
        "last_import": view.last_status,
        "last_summary": dict(view.last_summary),
    }


def _short_document(question: PublicQuestion, of_set: str) -> dict[str, Any]:
    asked = question.as_question()
    return {
        "id": question.id,
        "set": of_set,
        "qid": question.qid,
        "kind": asked.kind.value,
        "task_type": asked.task_type,
        "language": asked.language,
        "media": sorted(modality.value for modality in asked.modalities),
        "prompt": asked.prompt_text,
    }


def _question_lines(question: PublicQuestion, asked: Question, of_set: str) -> Iterable[str]:
    yield f"{question.id}: {question.qid} of {of_set}"
    yield f"  {asked.kind.value}, {asked.task_type}, {asked.language}"
    yield from (f"  {line}" for line in asked.prompt_text.splitlines())
    for place, choice in enumerate(asked.choices):
        mark = "*" if place in asked.answer.correct else " "
        yield f"  {mark} {choice_label(place)}. {choice.text}"
    if asked.kind is QuestionKind.OPEN:
        yield f"  answer: {' | '.join(asked.answer.accepted)} ({asked.answer.grader or 'by the default rule'})"
    for number, step in enumerate(asked.steps, start=1):
        yield f"  {number}. {step.ask} -> {' | '.join(step.answer.accepted)} ({step.points} points)"
    yield from (f"  {part.name}: {part.media.media_type} {part.media.sha256}" for part in asked.media)
    yield from (f"  {name}: {value}" for name, value in question.labels.items())


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}..."
