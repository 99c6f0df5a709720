"""`interplay release ...`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from core.content import Modality
from core.question import QuestionKind
from warehouse.command_line import ByOption, DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.people import actor_named
from warehouse.release.build import Built, Query, Recipe, build_release, describe_release, discard_release
from warehouse.release.checks import Finding
from warehouse.release.diff import diff_releases
from warehouse.release.export import export_release
from warehouse.release.media_checks import MediaChecks
from warehouse.release.records import all_releases, members_of, question_of
from warehouse.release.seal import SealBlocked, SealOrder, check_release, seal_release
from warehouse.release.splits import SplitPlan
from warehouse.release.verify import verify_folder, verify_release
from warehouse.tables import Release
from warehouse.workspace import Workspace, open_workspace

app = typer.Typer(no_args_is_help=True, help="Build, seal, verify, compare and export releases.", rich_markup_mode=None)

NameArgument = Annotated[str, typer.Argument(help="Release name.")]
VersionArgument = Annotated[str, typer.Argument(help="Release version, as 1.0.0.")]


@app.command()
def build(
    name: NameArgument,
    version: VersionArgument,
    by: ByOption,
    task_type: Annotated[list[str] | None, typer.Option("--task-type", help="Only this task type; repeat.")] = None,
    language: Annotated[list[str] | None, typer.Option("--language", help="Only this language; repeat.")] = None,
    modality: Annotated[
        list[Modality] | None, typer.Option("--modality", help="Only questions that hold this medium; repeat.")
    ] = None,
    dev_share: Annotated[float, typer.Option(min=0, max=1, help="Share that goes to the split dev.")] = 0.2,
    holdout_share: Annotated[float, typer.Option(min=0, max=1, help="Share that is never exported.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Another seed draws other splits.")] = 0,
    licence: Annotated[str | None, typer.Option(help="Licence of the questions themselves, as CC-BY-4.0.")] = None,
    holdout_salt: Annotated[str | None, typer.Option(help="Secret for the hold-out's hashes; else drawn.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Choose accepted items and put each into a split; 'seal' makes it final, 'discard' takes it back.

    Example: interplay release build zoo 1.0.0 --dev-share 0.2 --by ana
    """
    query = Query(task_type or (), language or (), modality or ())
    recipe = Recipe(query, SplitPlan(dev_share, holdout_share, seed), licence, holdout_salt)
    with open_workspace(project) as workspace:
        actor = actor_named(workspace.database, by)
        built = build_release(workspace.database, name, version, recipe, actor)
    _show_built(built, as_json)


@app.command()
def seal(
    name: NameArgument,
    version: VersionArgument,
    by: ByOption,
    allow_licence: Annotated[
        list[str] | None,
        typer.Option("--allow-licence", help="A licence or URL that you have read and that allows publishing; repeat."),
    ] = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Check a release and make it final. All that blocks it is shown at once, and the exit code is then 1.

    Example: interplay release seal zoo 1.0.0 --by ana
    """
    with open_workspace(project) as workspace:
        actor = actor_named(workspace.database, by)
        order = SealOrder(name, version, actor, allow_licence or (), _media_checks(workspace))
        try:
            if dry_run:
                _show_check(check_release(workspace.database, workspace.blobs, order), as_json)
                return
            sealed = seal_release(workspace.database, workspace.blobs, order)
        except SealBlocked as blocked:
            _show_check(blocked.findings, as_json)
            return
    how = "sealed" if sealed.now else "is sealed already:"
    document: dict[str, Any] = {
        "sealed": True,
        "now": sealed.now,
        "manifest_sha256": sealed.release.manifest_sha256,
        "findings": [],
    }
    show(document, [f"{name} {version} {how} manifest {sealed.release.manifest_sha256}"], as_json)


@app.command()
def export(
    name: NameArgument,
    version: VersionArgument,
    format_name: Annotated[str, typer.Option("--format", help="jsonl or huggingface.")],
    to: Annotated[Path, typer.Option("--to", help="Folder to make.")],
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Write a sealed release into a folder, which appears complete or not at all.

    The splits dev and test carry their answers, because grading happens where the release is used. A hold-out's
    questions never leave the project: of them there are names and salted hashes only.

    Example: interplay release export zoo 1.0.0 --format jsonl --to zoo-1.0.0
    """
    with open_workspace(project) as workspace:
        done = export_release(workspace.database, workspace.blobs, name, version, format_name, to)
    what = f"{done.files} files written" if done.new else "the same export is there already"
    show({"folder": str(done.folder), "files": done.files, "new": done.new}, [f"{done.folder}: {what}"], as_json)


@app.command()
def verify(
    folder_or_name: Annotated[str, typer.Argument(help="An export's folder, or a release's name.")],
    version: Annotated[str | None, typer.Argument(help="With a name: the version.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Compute all hashes of an export (offline, without a project) or of a sealed release again.

    Damages are all shown, and the exit code is then 1.

    Example: interplay release verify zoo-1.0.0
    """
    if version is None:
        found = verify_folder(Path(folder_or_name))
    else:
        with open_workspace(project) as workspace:
            found = verify_release(workspace.database, workspace.blobs, folder_or_name, version)
    lines = [damage.line() for damage in found.damages]
    lines += [f"media {sha256}: withdrawn, so it is no longer here" for sha256 in found.withdrawn]
    state = f"{len(found.damages)} damages" if found.damages else "whole"
    state += f", but for {len(found.withdrawn)} media that were withdrawn" if found.withdrawn else ""
    lines.append(f"{found.title}: {state}; {found.files} files, {found.rows} rows, manifest {found.manifest_sha256}")
    document = {**vars(found), "damages": [vars(damage) for damage in found.damages]}
    show(document, lines, as_json)
    raise typer.Exit(1 if found.damages else 0)


@app.command()
def diff(
    name: NameArgument,
    before: Annotated[str, typer.Argument(help="The older version.")],
    after: Annotated[str, typer.Argument(help="The newer version.")],
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List items that were added (+), removed (-) and changed (~, with what changed).

    Example: interplay release diff zoo 1.0.0 1.1.0
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        found = diff_releases(session, name, before, after)
    show(vars(found), list(found.lines()) or [f"{name} {before} and {after} hold the same"], as_json)


@app.command("list")
def list_command(as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """List all releases.

    Example: interplay release list
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        document = [_summary(one) | {"items": len(members_of(session, one))} for one in all_releases(session)]
    show_table(document, ["name", "version", "state", "items", "sealed at"], map(_row, document), as_json)


@app.command("show")
def show_command(
    name: NameArgument, version: VersionArgument, as_json: JsonOption = False, project: ProjectOption = None
) -> None:
    """Show a release: its state, its splits, what it covers, and its items.

    Example: interplay release show zoo 1.0.0
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        built = describe_release(session, name, version)
        items = [
            {"qid": one.item.name, "split": one.split, "kind": _kind(question_of(one.revision))}
            for one in members_of(session, built.release)
        ]
    _show_built(built, as_json, items)


@app.command()
def discard(
    name: NameArgument,
    version: VersionArgument,
    by: ByOption,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Take back a release that is not sealed; its version is free again.

    Example: interplay release discard zoo 1.0.0 --by ana
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        discard_release(session, name, version, actor_named(workspace.database, by))
    show({"discarded": [name, version]}, [f"{name} {version} is discarded"], as_json)


def _media_checks(workspace: Workspace) -> MediaChecks:
    project = workspace.project
    return MediaChecks(project.media_limits, project.settings.executor, project.workers)


def _show_check(findings: Sequence[Finding], as_json: bool) -> None:
    lines = [finding.line() for finding in findings]
    lines.append(f"{len(findings)} findings block sealing" if findings else "nothing blocks sealing")
    show({"sealed": False, "findings": [vars(finding) for finding in findings]}, lines, as_json)
    raise typer.Exit(1 if findings else 0)


def _show_built(built: Built, as_json: bool, items: Sequence[dict[str, Any]] = ()) -> None:
    cells = [vars(cell) for cell in built.coverage]
    document = _summary(built.release) | {"splits": built.splits, "coverage": cells}
    if items:
        document |= {"items": items}
    release = built.release
    splits = ", ".join(f"{count} {split}" for split, count in built.splits.items())
    if not as_json:
        typer.echo(f"{release.name} {release.version} ({release.state}): {splits}")
        for one in items:
            typer.echo(f"  {one['qid']} ({one['split']}, {one['kind']})")
    rows = [list(cell.values()) for cell in cells]
    show_table(document, ["task type", "media", "language", "items"], rows, as_json)


def _summary(release: Release) -> dict[str, Any]:
    """A release's row without what must stay private (the salt of a hold-out)."""
    settings = {name: value for name, value in release.settings.items() if name != "salt"}
    return release.model_dump(mode="json", include={"name", "version", "state", "manifest_sha256", "sealed_at"}) | {
        "settings": settings
    }


def _row(summary: dict[str, Any]) -> list[Any]:
    return [summary[name] for name in ("name", "version", "state", "items", "sealed_at")]


def _kind(question: Any) -> QuestionKind | None:
    return question.kind if question else None
