"""`interplay item ...`."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from sqlmodel import col, select

from annotation_ui.authoring import ImportReport, check_question, import_items, other_questions
from core.taxonomy import load_taxonomy
from warehouse.command_line import DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.items import current_revision, get_item
from warehouse.tables import Item, ItemRevision, ItemState
from warehouse.verdicts import verdicts_on
from warehouse.workspace import open_workspace

app = typer.Typer(no_args_is_help=True, help="Import, check and look at items.", rich_markup_mode=None)


@app.command("import")
def import_command(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A .yaml, .json or .jsonl list of items.")],
    author: Annotated[str, typer.Option(help="Who wrote them; nobody reviews their own items.")],
    draft: Annotated[
        bool, typer.Option("--draft", help="Leave them as drafts; else they are submitted to QC.")
    ] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Bring an item file in: new names become items, changed questions new revisions.

    Example: interplay item import items.yaml --author mei
    """
    with open_workspace(project) as workspace:
        report = import_items(workspace, file, author, submit=not draft, dry_run=dry_run)
    show(vars(report), _lines(report, dry_run=dry_run), as_json)
    if report.refused:
        raise typer.Exit(2)


@app.command()
def check(
    names: Annotated[list[str] | None, typer.Argument(help="Item names; all items when none is given.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Run the automatic checks on items: what blocks them, and what to look at.

    Example: interplay item check zoo-001
    """
    found: dict[str, list[dict[str, str]]] = {}
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        others = other_questions(session)
        items = [get_item(session, name) for name in names] if names else session.exec(select(Item).order_by(Item.name))
        for item in items:
            revision = current_revision(session, item)
            findings = check_question(revision.as_question(), revision.notes, item.name, others)
            found[item.name] = [f.model_dump() for f in findings]
    lines = [f"{name}: {f['severity']} {f['code']}: {f['message']}" for name, all_of in found.items() for f in all_of]
    clean = sum(not all_of for all_of in found.values())
    show(found, [*lines, f"{len(found)} items checked, {clean} without findings"], as_json)
    if any(f["severity"] == "error" for all_of in found.values() for f in all_of):
        raise typer.Exit(2)


@app.command("list")
def list_command(
    state: Annotated[ItemState | None, typer.Option(help="Only items in this state.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List items with their states.

    Example: interplay item list --state accepted
    """
    query = select(Item, ItemRevision).join(ItemRevision, col(Item.current_revision_id) == col(ItemRevision.id))
    if state is not None:
        query = query.where(Item.state == state)
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        rows = [
            {
                "name": item.name,
                "state": item.state.value,
                "revision": revision.number,
                "kind": revision.question["kind"],
                "task_type": revision.question["task_type"],
                "language": revision.question["language"],
                "author": revision.author,
            }
            for item, revision in session.exec(query.order_by(Item.name))
        ]
    show_table(rows, list(rows[0]) if rows else ["no items yet"], [list(row.values()) for row in rows], as_json)


@app.command("show")
def show_command(
    name: Annotated[str, typer.Argument(help="Item name or id.")],
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show one item: its question, and what the rounds said about it.

    Example: interplay item show zoo-001
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        item = get_item(session, name)
        revision = current_revision(session, item)
        verdicts = verdicts_on(session, revision.id)
        document = {
            "name": item.name,
            "state": item.state.value,
            "version": item.version,
            "revision": revision.number,
            "question": revision.question,
            "verdicts": [verdict.model_dump(mode="json") for verdict in verdicts],
        }
        question = revision.as_question()
    lines = [f"{item.name}: {item.state.value}, revision {revision.number}", question.prompt_text]
    lines += [f"  {choice.text}" for choice in question.choices]
    lines += [f"  step {number} ({step.points}): {step.ask}" for number, step in enumerate(question.steps, start=1)]
    for verdict in verdicts:
        codes = f" ({', '.join(verdict.reason_codes)})" if verdict.reason_codes else ""
        lines.append(f"  round {verdict.round}: {verdict.decision.value}{codes} by {verdict.decider}")
    show(document, lines, as_json)


@app.command()
def types(
    language: Annotated[Literal["en", "zh"], typer.Option(help="Language of names and definitions.")] = "en",
    as_json: JsonOption = False,
) -> None:
    """List the task types with their definitions.

    Example: interplay item types --language zh
    """
    known = load_taxonomy().task_types
    rows = [[kind.id, kind.name(language), kind.definition(language)] for kind in known]
    show_table([kind.model_dump() for kind in known], ["id", "name", "definition"], rows, as_json)


def _lines(report: ImportReport, *, dry_run: bool) -> list[str]:
    would = "would be " if dry_run else ""
    listed = {"refused": report.refused, "left as drafts": report.drafts}
    counted = {"created": report.created, "revised": report.revised, "unchanged": report.unchanged} | listed
    counts = ", ".join(f"{len(names)} {would}{what}" for what, names in counted.items())
    return [
        *(f"{what}: {line}" for what, lines in listed.items() for line in lines),
        *(f"warning: {line}" for line in report.warnings),
        counts,
    ]
