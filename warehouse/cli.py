"""`interplay warehouse ...`."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from sqlmodel import col, select

from core.ids import utc_now
from warehouse.analytics import snapshot as project_tables
from warehouse.command_line import JsonOption, ProjectOption, show, show_table
from warehouse.fact_kinds import FACT_KINDS
from warehouse.inspection import history_of, inspect_blobs, unnamed_blobs
from warehouse.runs import open_run
from warehouse.sql_console import run_query
from warehouse.tables import Run
from warehouse.workspace import open_workspace, upgrade_project

app = typer.Typer(
    no_args_is_help=True, help="Look after what lasts: tables, facts, runs, media.", rich_markup_mode=None
)


@app.command()
def upgrade(as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Bring the project's tables to the shape that this version of Interplay needs.

    Example: interplay warehouse upgrade
    """
    opened = upgrade_project(project)
    show({"project": str(opened.root)}, [f"{opened.root}: the tables are up to date"], as_json)


@app.command()
def compact(as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Merge the many small files of each kind of fact into one.

    Example: interplay warehouse compact
    """
    with open_workspace(project) as workspace, open_run(workspace.database, "warehouse compact", {}) as run:
        merged = {kind: count for kind in FACT_KINDS if (count := workspace.facts.compact(kind))}
        run.summary = merged
    lines = [f"{kind}: {count} files merged" for kind, count in merged.items()]
    show(merged, lines or ["nothing to merge"], as_json)


@app.command()
def snapshot(
    to: Annotated[Path, typer.Option("--to", help="Folder for one Parquet file a table.")],
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Write all tables but the users as Parquet.

    Example: interplay warehouse snapshot --to tables
    """
    with open_workspace(project) as workspace:
        counts = project_tables(workspace.database, to)
    show(counts, [f"{table}: {count} rows" for table, count in counts.items()], as_json)


@app.command()
def runs(
    limit: Annotated[int, typer.Option(min=1, help="How many, the newest first.")] = 20,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List what was run, the newest first.

    Example: interplay warehouse runs --limit 5
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        found = list(session.exec(select(Run).order_by(col(Run.started_at).desc(), col(Run.id).desc()).limit(limit)))
    rows = [[run.id, run.command, run.status, f"{run.started_at:%Y-%m-%d %H:%M:%S}", run.summary] for run in found]
    document = [run.model_dump(mode="json") for run in found]
    show_table(document, ["run", "command", "status", "started (UTC)", "summary"], rows, as_json)


@app.command()
def verify(as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Read all media and manifests that the tables name; what is missing or damaged is all shown (exit code 1).

    Example: interplay warehouse verify
    """
    with open_workspace(project) as workspace:
        found = inspect_blobs(workspace.database, workspace.blobs, workspace.originals)
    state = f"{len(found.problems)} are missing or damaged" if found.problems else "all are whole"
    show(vars(found), [*found.problems, f"{found.blobs} blobs named by the tables: {state}"], as_json)
    raise typer.Exit(1 if found.problems else 0)


@app.command()
def unnamed(
    days: Annotated[
        int, typer.Option(min=0, max=36_500, help="Only what was stored so long ago; younger may be under way.")
    ] = 1,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List stored bytes that no row of the tables names, as a stopped program leaves them; nothing is removed.

    Media of canaries are listed too, and what other projects keep in the same store.

    Example: interplay warehouse unnamed --days 7
    """
    with open_workspace(project) as workspace:
        before = utc_now() - timedelta(days=days)
        found = unnamed_blobs(workspace.database, workspace.blobs, workspace.originals, before)
    if not found and not as_json:
        show(None, ["rows name all that was stored so long ago"], False)
        return
    rows = [[one.store, one.sha256, one.size_bytes, f"{one.stored_at:%Y-%m-%d %H:%M}", one.noted] for one in found]
    documents = [vars(one) | {"stored_at": one.stored_at.isoformat()} for one in found]
    show_table(documents, ["store", "sha256", "bytes", "stored (UTC)", "noted for"], rows, as_json)


@app.command()
def events(
    subject: Annotated[str, typer.Argument(help="Item name, user name, release as NAME@VERSION, or any id.")],
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Tell what happened to an item, a release, a user or anything else with an id, oldest first.

    Example: interplay warehouse events zoo-001
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        found = history_of(session, subject)
    lines = [f"{event.at:%Y-%m-%d %H:%M:%S} {event.actor}: {event.action} {event.detail}" for event in found]
    show([event.model_dump(mode="json") for event in found], lines, as_json)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="One SELECT; every fact and every table is a view of its name.")],
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Ask facts and tables in DuckDB's SQL; nothing can be changed, and no other file can be read.

    Example: interplay warehouse sql 'SELECT state, count(*) FROM item GROUP BY state'
    """
    with open_workspace(project) as workspace:
        header, rows = run_query(workspace.database, workspace.facts, query)
    show_table([dict(zip(header, row, strict=True)) for row in rows], header, rows, as_json)
