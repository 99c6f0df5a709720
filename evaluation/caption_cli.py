"""`interplay caption ...`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlmodel import Session

from evaluation.captions import CaptionOrder, Made, Scope, count_requests, make_captions, media_of
from evaluation.models.catalogue import find_models
from warehouse import events
from warehouse.caption_files import CaptionLine, import_lines, line_of, read_text, write_lines
from warehouse.caption_search import Search, find_with_materials, get_caption, get_material, versions_of
from warehouse.caption_texts import told_by_people
from warehouse.captions import KINDS, accept_all, accept_caption, edit_caption, reject_caption
from warehouse.command_line import BudgetOption, ByOption, DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.people import get_user
from warehouse.tables import Caption, CaptionKind, CaptionState, ItemState, Material
from warehouse.workspace import open_workspace

app = typer.Typer(no_args_is_help=True, help="Put media into words, edit and accept them.", rich_markup_mode=None)

_HANDLE = 12
_SHOWN_CHARACTERS = 60
_STANDING = (CaptionState.PROPOSED, CaptionState.ACCEPTED)
IdArgument = Annotated[str, typer.Argument(help="A version's id, or how it begins.")]
ItemOption = Annotated[list[str] | None, typer.Option("--item", help="Only media of this item; repeat.")]
ReleaseOption = Annotated[
    tuple[str, str] | None,
    typer.Option("--release", help="Only media of this release.", metavar="NAME VERSION", show_default=False),
]
KindOption = Annotated[list[CaptionKind] | None, typer.Option("--kind", help="Only this kind; repeat.")]
AcceptOption = Annotated[bool, typer.Option("--accept", help="Accept it at once; you need the role reviewer.")]


@app.command()
def make(
    model: Annotated[str, typer.Option("--model", help="A project's model, or any provider/model.")],
    name: Annotated[str | None, typer.Argument(help="Release name.")] = None,
    version: Annotated[str | None, typer.Argument(help="Release version.")] = None,
    item: Annotated[list[str] | None, typer.Option("--item", help="Instead: media of this item; repeat.")] = None,
    state: Annotated[
        list[ItemState] | None, typer.Option("--state", help="Instead: media of all items in this state; repeat.")
    ] = None,
    kind: KindOption = None,
    language: Annotated[
        list[str] | None, typer.Option("--language", help="Only for questions in this language; repeat.")
    ] = None,
    max_cost_usd: BudgetOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Let a model propose captions and transcripts of the media of items; a second call asks what is missing.

    Example: interplay caption make zoo 1.0.0 --model keen
    """
    if (name is None) != (version is None):
        raise typer.BadParameter("write the release as NAME VERSION")
    scope = Scope((name, version) if name and version else None, item or (), state or ())
    with open_workspace(project) as workspace:
        (found,) = find_models([model], workspace.project.settings.models)
        order = CaptionOrder(found, kind or tuple(CaptionKind), language, max_cost_usd)
        if dry_run:
            count = count_requests(workspace, scope, order)
            show({"pending": count}, [f"{count} texts would be asked for"], as_json)
            return
        made = make_captions(workspace, scope, order)
    show({**vars(made), "solved": vars(made.solved)}, _lines_of(made), as_json)


@app.command("list")
def list_command(
    item: ItemOption = None,
    release: ReleaseOption = None,
    state: Annotated[
        list[CaptionState] | None, typer.Option("--state", help="Only versions in this state; repeat.")
    ] = None,
    kind: KindOption = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List versions of captions and transcripts.

    Example: interplay caption list --release zoo 1.0.0 --state proposed
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        found = _find(session, _scope(item, release), kind, state)
    header = ["id", "kind", "language", "state", "author", "material", "text"]
    rows = [
        [one.id, one.kind.value, one.language, one.state.value, one.author, of.sha256[:_HANDLE], _short(one.text)]
        for one, of in found
    ]
    show_table([_document(one) | {"material": of.sha256} for one, of in found], header, rows, as_json)


@app.command("show")
def show_command(caption: IdArgument, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Show a text with all its versions, and who did what.

    Example: interplay caption show 01998c0e-5b1f-7a60-8d39-3f2c4ad0b9e7
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        found = get_caption(session, caption)
        material = get_material(session, found.material_id)
        versions = versions_of(session, found)
        told = {one.id: events.history(session, "caption", one.id) for one in versions}
    document = {
        **_document(found),
        "material": material.sha256,
        "modality": material.modality,
        "versions": [
            _document(one) | {"events": [event.model_dump(mode="json") for event in told[one.id]]} for one in versions
        ],
    }
    lines = [f"{found.kind.value} of {material.modality} {material.sha256}, in {found.language}"]
    for one in versions:
        here = " (this one)" if one.id == found.id else ""
        lines += ["", f"{one.id}: {one.state.value}, by {one.author}{here}", one.text]
        lines += [f"  {event.at:%Y-%m-%d %H:%M} {event.action} by {event.actor}" for event in told[one.id]]
    show(document, lines, as_json)


@app.command()
def edit(
    caption: IdArgument,
    by: ByOption,
    text: Annotated[str | None, typer.Option(help="The new text.")] = None,
    file: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Instead: a file with the new text, UTF-8.")
    ] = None,
    accept: AcceptOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Write a new version of a text; the old one is kept.

    Example: interplay caption edit 01998c0e-5b1f-7a60-8d39-3f2c4ad0b9e7 --text "Two red dots." --by mei
    """
    if (text is None) == (file is None):
        raise typer.BadParameter("say --text or --file")
    wanted = text if file is None else read_text(file)
    with open_workspace(project) as workspace, workspace.database.session() as session:
        user = get_user(session, by)
        new = edit_caption(session, caption, wanted or "", user)
        if accept:
            accept_caption(session, new.id, user)
        document = _document(new)
    same = "says the same" if new.id == caption else f"is replaced by {new.id}"
    show(document, [f"{caption} {same}, which is {new.state.value}"], as_json)


@app.command()
def accept(
    by: ByOption,
    caption: Annotated[list[str] | None, typer.Argument(help="Ids of versions.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Accept every proposal that stands alone for its medium.")
    ] = False,
    item: ItemOption = None,
    release: ReleaseOption = None,
    author: Annotated[
        str | None, typer.Option("--author", help="With --all: only proposals of this model or user.")
    ] = None,
    kind: KindOption = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Let versions stand for their media; you need the role reviewer or maintainer.

    With --all, media that have several proposals, or another accepted text, are left to you.

    Example: interplay caption accept --all --release zoo 1.0.0 --by mei
    """
    scope = _scope(item, release)
    if bool(caption) == everything or everything != (scope is not None):
        raise typer.BadParameter("write ids; or --all with --release or --item")
    if caption and (author or kind):
        raise typer.BadParameter("--author and --kind go with --all")
    with open_workspace(project) as workspace, workspace.database.session() as session:
        user = get_user(session, by)
        if scope is None:
            accepted = [accept_caption(session, one, user) for one in sorted(caption or ())]
            undecided: list[Caption] = []
        else:
            materials = [one.material.id for one in media_of(session, scope)]
            done = accept_all(session, materials, user, author=author, kinds=kind or tuple(CaptionKind))
            accepted, undecided = done.accepted, done.undecided
        document = {
            "accepted": [_document(one) for one in accepted],
            "undecided": [_document(one) for one in undecided],
        }
    lines = [f"accepted {len(accepted)}"]
    lines += [f"yours to choose: {one.id} by {one.author}: {_short(one.text)}" for one in undecided]
    show(document, lines, as_json)


@app.command()
def reject(
    caption: Annotated[list[str], typer.Argument(help="Ids of versions.")],
    by: ByOption,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Say that versions are wrong; you need the role reviewer or maintainer.

    Example: interplay caption reject 01998c0e-5b1f-7a60-8d39-3f2c4ad0b9e7 --by mei
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        user = get_user(session, by)
        rejected = [_document(reject_caption(session, one, user)) for one in sorted(caption)]
    show({"rejected": rejected}, [f"rejected {len(rejected)}"], as_json)


@app.command("export")
def export_command(
    file: Annotated[Path, typer.Argument(dir_okay=False, help="The JSON lines to write.")],
    item: ItemOption = None,
    release: ReleaseOption = None,
    state: Annotated[
        list[CaptionState] | None,
        typer.Option("--state", help="Only versions in this state; repeat. Else proposed and accepted ones."),
    ] = None,
    kind: KindOption = None,
    blank: Annotated[
        bool, typer.Option("--blank", help="Also an empty line for every medium without a proposed or accepted text.")
    ] = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Write texts into a file of JSON lines: edit 'text' there, and bring it back with 'caption import'.

    Example: interplay caption export captions.jsonl --release zoo 1.0.0 --blank
    """
    scope = _scope(item, release)
    if blank and scope is None:
        raise typer.BadParameter("--blank needs --release or --item")
    states = state or _STANDING
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        lines = _export(session, scope, kind, states)
        if blank and scope is not None:
            lines += _blank_lines(session, scope, kind)
    count = write_lines(file, lines)
    show({"file": str(file), "lines": count}, [f"{file}: {count} lines"], as_json)


@app.command("import")
def import_command(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSON lines as 'export' writes them.")],
    by: ByOption,
    accept: AcceptOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Bring edited texts back: changed ones become new versions, lines without an id new texts; all lines or none.

    Example: interplay caption import captions.jsonl --by mei --accept
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        done = import_lines(session, file, get_user(session, by), accept=accept)
    line = f"edited {done.edited}, written {done.written}, unchanged {done.unchanged}, still empty {done.blank}"
    show(vars(done), [f"{line}; accepted {done.accepted}"], as_json)


def _scope(item: Sequence[str] | None, release: tuple[str, str] | None) -> Scope | None:
    return Scope(release, item or ()) if item or release else None


def _find(
    session: Session,
    scope: Scope | None,
    kinds: Sequence[CaptionKind] | None,
    states: Sequence[CaptionState] | None,
) -> list[tuple[Caption, Material]]:
    materials = None if scope is None else sorted({one.material.id for one in media_of(session, scope)})
    return find_with_materials(session, Search(materials, kinds or tuple(CaptionKind), states or tuple(CaptionState)))


def _export(
    session: Session,
    scope: Scope | None,
    kinds: Sequence[CaptionKind] | None,
    states: Sequence[CaptionState],
) -> list[CaptionLine]:
    shown = [] if scope is None else media_of(session, scope)
    items = {(one.material.id, one.language): one.items for one in shown}
    return [
        line_of(one, material, items.get((material.id, one.language), ()))
        for one, material in _find(session, scope, kinds, states)
    ]


def _blank_lines(session: Session, scope: Scope, kinds: Sequence[CaptionKind] | None) -> list[CaptionLine]:
    """For each medium without any standing text in a language of its questions, a line to fill in."""
    told = {(one.material_id, one.kind, one.language) for one, _ in _find(session, scope, kinds, _STANDING)}
    return [
        CaptionLine(
            material=one.material.sha256,
            language=one.language,
            text="",
            kind=kind,
            modality=one.material.modality,
            items=list(one.items),
        )
        for one in media_of(session, scope)
        if (kind := KINDS[one.material.modality]) in (kinds or tuple(CaptionKind))
        and not told_by_people(one.material)
        and (one.material.id, kind, one.language) not in told
    ]


def _lines_of(made: Made) -> list[str]:
    solved = made.solved
    lines = [f"proposed {made.proposed}, known before {made.known}; asked {solved.asked}, reused {solved.reused}"]
    lines += [f"without a text: {count} {state}" for state, count in made.without.items()]
    if made.by_people:
        lines.append(f"not asked: {made.by_people} that people put into words when they came into the library")
    if made.withdrawn:
        lines.append(f"not asked: {made.withdrawn} withdrawn")
    lines += solved.cost_lines
    if solved.left:
        lines.append(f"left: {solved.left}, for which the budget has no room; call again with another budget")
    return lines


def _document(caption: Caption) -> dict[str, Any]:
    return caption.model_dump(mode="json")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…"
