"""`interplay material`: bring media into the library and look at it."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlmodel import Session, col, select

from core.content import Modality
from core.settings import PROJECT_FILE, Project
from curation.addresses import BadUrl, is_url
from curation.dedupe.link import duplicate_groups
from curation.dedupe.look import look_command
from curation.dedupe.match import told
from curation.embedding.cli import embed_command, relate_command
from curation.entries import RENAME, Claims, Entry, Link, Rejected, Wanted, gather, is_undecodable, origin_of
from curation.filters.cli import judge_command
from curation.filters.verdict import CLASS_OF_REASON
from curation.ingest import IngestReport, ingest
from curation.manifest import ENDINGS as MANIFEST_ENDINGS
from curation.manifest import read_manifest
from curation.materials import (
    HANDLE,
    Overrule,
    chunked,
    find_material,
    links_of,
    list_materials,
    overrule,
    sound_of,
    sources_of,
)
from curation.search.cli import search_command
from curation.speech.cli import (
    classify_sound_command,
    edit_segments_command,
    segments_command,
    transcribe_command,
)
from curation.tagging.cli import tag_command, tag_set_command, tags_command, vocabulary_command
from curation.tagging.tags import tags_of, texts_of
from curation.tagging.vocabulary import FILE as VOCABULARY
from curation.tagging.vocabulary import load_vocabulary
from warehouse import events
from warehouse.command_line import ByOption, DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.people import actor_named
from warehouse.release.licences import checked_licence, forbids_commerce
from warehouse.tables import DuplicateLink, Material, MaterialSource, MaterialState
from warehouse.workspace import open_workspace

NOTHING_TAKEN = 2

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

MaterialArgument = Annotated[str, typer.Argument(metavar="ID", help="Material: its id or sha256, or how that begins.")]


@app.callback()
def _noun() -> None:
    """Bring media into the library and look at it."""


@app.command("ingest")
def ingest_command(
    paths: Annotated[list[str] | None, typer.Argument(help="Files, folders that are walked, and URLs.")] = None,
    manifest: Annotated[
        Path | None, typer.Option(help="CSV or JSONL file with a line for each file or URL, paths relative to it.")
    ] = None,
    licence: Annotated[str | None, typer.Option(help="SPDX identifier or URL, where the manifest has none.")] = None,
    author: Annotated[str | None, typer.Option(help="Who made them, where the manifest says nothing.")] = None,
    source: Annotated[str | None, typer.Option(help="Where they are from, where the manifest says nothing.")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Fetch URLs anew from which there are materials already.")
    ] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Bring files into the library; what is there already is left alone, so a call can be repeated.

    In folders, hidden files and links that lead out are not taken. URLs are fetched from the public internet alone; a
    dry run says which would be, and fetches none. Exit code 0 when at least one file is in the library now, 2 when none
    is.

    Example: interplay material ingest photos/ --licence CC0-1.0
    """
    claims = Claims(source=source, licence=licence, author=author)
    with open_workspace(project) as workspace:
        checked_licence(licence, workspace.project.settings.allowed_licences)
        links, places, refused = _sorted_out(paths or [], claims)
        entries, rejected = gather(places, claims, _own_places(workspace.project))
        rejected += refused
        wanted: dict[str, Wanted] = {entry.origin: entry for entry in entries}
        wanted |= {link.origin: link for link in links}
        if manifest is not None:
            listed, not_there = read_manifest(manifest)
            filled = [one.filled_from(claims) for one in listed]
            wanted |= {one.origin: one for one in _in_our_words(filled, workspace.project)}
            rejected += not_there
        called_with = {
            "paths": [*map(origin_of, places), *(link.origin for link in links)],
            "manifest": origin_of(manifest) if manifest else None,
        }
        report = ingest(workspace, list(wanted.values()), rejected, called_with, dry_run, again)
    remarks = _remarks([one for origin, one in wanted.items() if origin in {taken.origin for taken in report.taken}])
    document = _ingest_document(report, dry_run) | {"remarks": remarks}
    show(document, [*(f"remark: {one}" for one in remarks), *_ingest_lines(report, dry_run)], as_json)
    if not report.taken and not report.to_fetch:
        raise typer.Exit(NOTHING_TAKEN)


@app.command("list")
def list_command(
    state: Annotated[MaterialState | None, typer.Option(help="Only materials in this state.")] = None,
    modality: Annotated[Modality | None, typer.Option(help="Only materials of this modality.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List the materials.

    Example: interplay material list --state dropped --modality image
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        rows = list_materials(session, state, modality)
    document = [_material_document(material) | {"origin": origin} for material, origin in rows]
    header = ("sha256", "modality", "state", "size", "reason", "origin")
    cells = [(m.sha256[:HANDLE], m.modality, m.state.value, _size(m), m.drop_reason, origin) for m, origin in rows]
    show_table(document, header, cells, as_json)


@app.command("show")
def show_command(material: MaterialArgument, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Show all that is known of a material.

    Example: interplay material show 4f6b2c
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        document = _full_document(session, find_material(session, material))
    show(document, _tree_lines(document), as_json)


@app.command("overrule")
def overrule_command(
    material: MaterialArgument,
    by: ByOption,
    keep: Annotated[bool, typer.Option("--keep", help="It shall be kept.")] = False,
    drop: Annotated[bool, typer.Option("--drop", help="It shall be dropped.")] = False,
    reason: Annotated[str, typer.Option(help="Why, in words; it is kept with the change.")] = "",
    version: Annotated[
        int | None, typer.Option(help="Only if the material still has this version (see 'show').")
    ] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Keep a material that a filter dropped, or drop one that was kept.

    Example: interplay material overrule 4f6b2c --keep --reason "The dark is the point of this picture." --by mei
    """
    if keep == drop:
        raise typer.BadParameter("say --keep or --drop, one of the two")
    with open_workspace(project) as workspace, workspace.database.session() as session:
        found = find_material(session, material)
        ruling = Overrule(keep, reason, actor_named(workspace.database, by))
        changed = overrule(session, found.id, found.version if version is None else version, ruling)
        document = _material_document(changed)
    show(document, [f"{changed.sha256[:HANDLE]} is {changed.state.value} now (version {changed.version})"], as_json)


@app.command("duplicates")
def duplicates_command(
    semantic: Annotated[
        bool, typer.Option("--semantic", help="Join also what only means nearly the same (see 'material relate').")
    ] = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List groups of materials that show or sound the same, with the evidence.

    Example: interplay material duplicates
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        document = [_group_document(session, group) for group in duplicate_groups(session, semantic)]
    lines = []
    for number, group in enumerate(document, start=1):
        lines.append(f"group {number}: {len(group['materials'])} {group['materials'][0]['modality']} materials")
        lines += [f"  {one['sha256'][:HANDLE]}  {one['state']:<9}  {one['origin']}" for one in group["materials"]]
        lines += [
            f"  {link['first'][:HANDLE]} = {link['second'][:HANDLE]}  {link['method']}, distance {link['distance']:.3f}"
            f"{told(link['evidence'])}"
            for link in group["links"]
        ]
    show(document, lines or ["no duplicates"], as_json)


app.command("judge")(judge_command)
app.command("look")(look_command)
app.command("search")(search_command)
app.command("embed")(embed_command)
app.command("relate")(relate_command)
app.command("transcribe")(transcribe_command)
app.command("segments")(segments_command)
app.command("edit-segments")(edit_segments_command)
app.command("classify-sound")(classify_sound_command)
app.command("tag")(tag_command)
app.command("tag-set")(tag_set_command)
app.command("tags")(tags_command)
app.command("vocabulary")(vocabulary_command)


def _remarks(taken: list[Wanted]) -> list[str]:
    """What hinders nothing now, and may later."""
    remarks = []
    bound = Counter(one.claims.licence for one in taken if one.claims.licence and forbids_commerce(one.claims.licence))
    for licence, count in sorted(bound.items(), key=str):
        remarks.append(
            f"{licence} ({count} files) forbids commercial use: a release that shows them forbids it too, and whoever "
            "publishes or uses it commercially cannot take it"
        )
    named = [one.origin for one in taken if isinstance(one, Entry) and is_undecodable(one.path)]
    if named:
        remarks.append(f"names of {len(named)} files are not in UTF-8, as {named[0]}, and are kept so; {RENAME} first")
    return remarks


def _sorted_out(words: list[str], claims: Claims) -> tuple[list[Link], list[Path], list[Rejected]]:
    """URLs, paths, and what is neither; one that cannot be taken stops no other."""
    links: list[Link] = []
    places: list[Path] = []
    refused: list[Rejected] = []
    for word in words:
        if not is_url(word):
            path = Path(word)
            if path.suffix.lower() in MANIFEST_ENDINGS and path.is_file():
                told = "a list and no medium; if it says where media are from, give it as --manifest"
                refused.append(Rejected(origin_of(path), "manifest", told))
            else:
                places.append(path)
            continue
        try:
            links.append(Link.parse(word, claims))
        except BadUrl as error:
            refused.append(Rejected(origin_of(Path(word)), error.reason, str(error)))
    return links, places, refused


def _own_places(project: Project) -> set[Path]:
    """The project's own files and local stores, which are no materials."""
    names = (PROJECT_FILE, "interplay.db", "interplay.db-wal", "interplay.db-shm", "journal", "cache", "studio.key")
    places = [project.root / name for name in (*names, VOCABULARY)] + [Path(project.blobs_url), Path(project.facts_url)]
    return {place.resolve() for place in places}


def _in_our_words(listed: list[Wanted], project: Project) -> list[Wanted]:
    """With the vocabulary's ids in place of its names in the tags that a manifest gives."""
    if not any(one.claims.tags for one in listed):
        return listed
    vocabulary = load_vocabulary(project.root)
    named = {tag: str(vocabulary.meant(tag)) for one in listed for tag in one.claims.tags}
    named_by = [tuple(named[tag] for tag in one.claims.tags) for one in listed]
    return [replace(one, claims=replace(one.claims, tags=tags)) for one, tags in zip(listed, named_by, strict=True)]


def _ingest_document(report: IngestReport, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "run_id": report.run_id,
        "counts": report.counts,
        "taken": [vars(one) for one in report.taken],
        "failures": [vars(one) for one in report.rejected],
        "to_fetch": report.to_fetch,
    }


def _ingest_lines(report: IngestReport, dry_run: bool) -> list[str]:
    lines = [f"failed: {one.origin}: {one.reason}: {one.message}" for one in report.rejected]
    lines += [f"would fetch: {url}" for url in report.to_fetch]
    dropped = [one for one in report.taken if one.is_new and one.state == MaterialState.DROPPED]
    lines += [f"dropped: {one.origin}: {one.drop_reason}: {one.drop_measure}" for one in dropped]
    for one in report.taken:
        if one.judged_again:
            told = f"dropped: {one.origin}: {one.drop_reason}" if one.drop_reason else f"kept again: {one.origin}"
            lines.append(f"{told}; judged again with what is said of it now")
        elif not one.is_new and one.drop_reason and not dry_run:
            lines.append(f"known, and still dropped: {one.origin}: {one.drop_reason}: {one.drop_measure}")
    counts = report.counts
    why_dropped = _tally(str(one.drop_reason) for one in dropped)
    why_failed = _tally(one.reason for one in report.rejected)
    summary = (
        f"{'would be ' if dry_run else ''}new {counts['new']} (of them dropped {counts['dropped']}{why_dropped}), "
        f"known {counts['known']}, failed {counts['failed']}{why_failed}; "
        f"sounds taken out of videos {counts['sounds']}"
    )
    more = f"to fetch {counts['to_fetch']}" if dry_run else f"new duplicate links {counts['duplicate_links']}"
    return [*lines, f"{summary}; {more}"]


def _tally(reasons: Any) -> str:
    counted = Counter(reasons)
    return ": " + ", ".join(f"{reason} {count}" for reason, count in sorted(counted.items())) if counted else ""


def _material_document(material: Material) -> dict[str, Any]:
    return {
        "id": material.id,
        "sha256": material.sha256,
        "state": material.state.value,
        "version": material.version,
        "media": material.media,
        "drop_reason": material.drop_reason,
        "drop_class": CLASS_OF_REASON.get(material.drop_reason or ""),
        "drop_measure": material.drop_measure,
        "parent_id": material.parent_id,
        "parent_offset_s": material.parent_offset_s,
        "original_kept": material.original_kept,
        "audio_type": material.audio_type,
        "audio_type_by": material.audio_type_by,
        "audio_content": material.audio_content,
        "audio_content_by": material.audio_content_by,
        "created_at": material.created_at.isoformat(),
    }


def _full_document(session: Session, material: Material) -> dict[str, Any]:
    sound = sound_of(session, material)
    return _material_document(material) | {
        "run_id": material.run_id,
        "tags": texts_of(tags_of(session, [material.id])[material.id]),
        "sound_id": sound.id if sound else None,
        "measures": material.measures,
        "sources": [
            source.model_dump(mode="json", exclude={"id", "material_id"}) for source in sources_of(session, material.id)
        ],
        "duplicates": [link.model_dump(mode="json", exclude={"id"}) for link in links_of(session, material.id)],
        "events": [
            event.model_dump(mode="json", include={"at", "actor", "action", "detail"})
            for event in events.history(session, "material", material.id)
        ],
    }


def _group_document(session: Session, group: list[str]) -> dict[str, Any]:
    members: dict[str, Material] = {}
    links: list[DuplicateLink] = []
    for ids in chunked(group):
        members |= {one.id: one for one in session.exec(select(Material).where(col(Material.id).in_(ids)))}
        links += session.exec(select(DuplicateLink).where(col(DuplicateLink.first_id).in_(ids)))
    return {
        "materials": [
            {
                "id": material_id,
                "sha256": members[material_id].sha256,
                "modality": members[material_id].modality,
                "state": members[material_id].state.value,
                "origin": _first_origin(sources_of(session, material_id)),
            }
            for material_id in group
        ],
        "links": [
            {
                "first": members[link.first_id].sha256,
                "second": members[link.second_id].sha256,
                "method": link.method,
                "distance": link.distance,
                "evidence": link.evidence,
            }
            for link in sorted(links, key=lambda link: (link.distance, link.first_id, link.second_id))
        ],
    }


def _first_origin(sources: list[MaterialSource]) -> str | None:
    return sources[0].origin if sources else None


def _size(material: Material) -> str:
    ref = material.media_ref
    sides = f"{ref.width_px}x{ref.height_px}" if ref.width_px else ""
    length = f"{ref.duration_s:.2f} s" if ref.duration_s else ""
    return " ".join(part for part in (sides, length) if part)


def _tree_lines(value: Any, indent: str = "") -> list[str]:
    """A JSON value as indented lines; what is None or empty is left out."""
    lines: list[str] = []
    for key, held in value.items() if isinstance(value, dict) else (("-", one) for one in value):
        if held is None or held in ({}, []):
            continue
        if isinstance(held, dict | list):
            lines += [f"{indent}{key}:" if key != "-" else f"{indent}-", *_tree_lines(held, indent + "  ")]
        else:
            lines.append(f"{indent}{key}: {held}" if key != "-" else f"{indent}- {held}")
    return lines
