"""`interplay script ...`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from curation.recordings.scripts import Listed, add_scripts, close_script, list_scripts, read_scripts
from warehouse.command_line import ByOption, DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.people import actor_named
from warehouse.workspace import open_workspace

app = typer.Typer(no_args_is_help=True, help="Say what is to be recorded.", rich_markup_mode=None)

_SHOWN_CHARACTERS = 60


@app.command("import")
def import_command(
    file: Annotated[Path, typer.Argument(help="CSV or JSONL: name, text, language; also dialect, role, speakers.")],
    by: ByOption,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Bring in scripts, all of a file or none; those that are there already are left alone.

    Example: interplay script import scripts.csv --by mei
    """
    scripts = read_scripts(file)
    with open_workspace(project) as workspace, workspace.database.session() as session:
        done = add_scripts(session, scripts, actor_named(workspace.database, by))
        if dry_run:
            session.rollback()
    line = f"{'would be ' if dry_run else ''}new {len(done.added)}, known {len(done.known)}"
    show({"dry_run": dry_run, **vars(done)}, [line], as_json)


@app.command("list")
def list_command(
    only_open: Annotated[bool, typer.Option("--open", help="Only scripts of which takes are still wanted.")] = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List the scripts, and how many takes of each are accepted, refused and undecided.

    Example: interplay script list --open
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        found = list_scripts(session, only_open)
    header = ["name", "language", "dialect", "role", "speakers", "open", "accepted", "refused", "undecided", "text"]
    show_table([_document(one) for one in found], header, map(_row, found), as_json)


@app.command("close")
def close_command(
    name: Annotated[str, typer.Argument(help="Of the script.")],
    by: ByOption,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Want no more takes of a script.

    Example: interplay script close greeting-1 --by mei
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        script = close_script(session, name, actor_named(workspace.database, by))
    show({"name": script.name, "open": script.active}, [f"{script.name} is closed"], as_json)


def _document(listed: Listed) -> dict[str, Any]:
    fields = {"name", "text", "language", "dialect", "role", "speakers", "created_by", "created_at"}
    counts = {"accepted": listed.accepted, "refused": listed.refused, "undecided": listed.open}
    return listed.script.model_dump(mode="json", include=fields) | {"open": listed.script.active} | counts


def _row(listed: Listed) -> list[Any]:
    script = listed.script
    text = script.text if len(script.text) <= _SHOWN_CHARACTERS else f"{script.text[:_SHOWN_CHARACTERS]}…"
    about = [script.name, script.language, script.dialect, script.role, script.speakers]
    return [*about, "yes" if script.active else "no", listed.accepted, listed.refused, listed.open, text]
