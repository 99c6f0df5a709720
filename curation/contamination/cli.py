"""`interplay contamination ...`: what of ours public benchmarks hold already."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from core.errors import InterplayError
from curation.contamination.build import Making, NothingToIndex, build
from curation.contamination.check import CheckReport, Which, check
from curation.contamination.entries import Source
from curation.contamination.index_file import Benchmark, BenchmarkEntry, IndexManifest, open_index, write_index
from curation.contamination.records import clear, matches_of, reopen
from curation.contamination.show import lines_of, page, shown
from curation.contamination.sources import Layout, from_files, from_release, from_set, read_layout
from curation.contamination.subjects import subjects_of
from curation.embedding import text_embedder
from curation.entries import Rejected
from curation.materials import HANDLE
from warehouse.command_line import DryRunOption, JsonOption, ProjectOption, by_option, show
from warehouse.people import Role, get_user
from warehouse.release.licences import checked_licence
from warehouse.tables import ContaminationMatch
from warehouse.workspace import Workspace, open_workspace

FAILURES_TOLD = 20

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

IndexOption = Annotated[
    Path, typer.Option("--index", dir_okay=False, help="The index, as 'contamination index' makes it.")
]
MatchArgument = Annotated[str, typer.Argument(metavar="MATCH", help="Id of the match, or how it begins.")]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Write over an index that is there.")]
ReasonOption = Annotated[str, typer.Option(help="Why, in words; it is kept with the change.")]
ByOption = Annotated[str, by_option(Role.REVIEWER, Role.MAINTAINER)]


class IndexExists(InterplayError):
    """An index would be written over a file that is there."""


class NoSource(InterplayError):
    """Nothing to index was named, or names go with several sources."""


@app.callback()
def _noun() -> None:
    """Find what of ours public benchmarks hold already."""


@app.command("index")
def index_command(
    file: Annotated[Path, typer.Argument(dir_okay=False, help="The index to write.")],
    source: Annotated[
        list[Path] | None,
        typer.Option(
            "--from", exists=True, help="Table of questions (JSONL, JSON, CSV, TSV, Parquet), or folder; repeat."
        ),
    ] = None,
    question_set: Annotated[
        list[str] | None, typer.Option("--set", help="Question set that was imported into the project; repeat.")
    ] = None,
    release: Annotated[
        list[Path] | None, typer.Option(exists=True, file_okay=False, help="Folder of an exported release; repeat.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Of the benchmark; else that of the file, set or release.")] = None,
    benchmark_version: Annotated[str | None, typer.Option("--version", help="Of the benchmark.")] = None,
    licence: Annotated[str | None, typer.Option(help="Of the benchmark: SPDX identifier or URL.")] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="YAML: which columns hold id, text, options, media."),
    ] = None,
    without_texts: Annotated[
        bool, typer.Option("--without-texts", help="Hold hashes only, where the licence forbids to pass texts on.")
    ] = False,
    embed: Annotated[
        bool, typer.Option("--embed", help="Hold vectors by the project's text_model too, to find paraphrases.")
    ] = False,
    replace_it: ReplaceOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Make an index of public benchmarks from local copies: hashes, and texts to compare side by side; no media.

    The file can be passed on and merged with others. Media that cannot be read are listed and left out. --name,
    --version, --licence and --mapping go with one source.

    Example: interplay contamination index public.index --from mmstar.parquet --name MMStar --licence Apache-2.0
    """
    count = len(source or ()) + len(question_set or ()) + len(release or ())
    if count == 0:
        raise NoSource("nothing to index was named; write --from FILE, --set NAME or --release FOLDER")
    if count > 1 and (name or benchmark_version or licence or mapping):
        raise NoSource(
            "--name, --version, --licence and --mapping go with one source; index the others apart, then merge"
        )
    _check_free(file, replace_it)
    checked_licence(licence)
    told: dict[str, Any] = {"name": name, "version": benchmark_version, "licence": licence}
    layout = read_layout(mapping) if mapping else None
    built: list[Benchmark] = []
    failures: list[Rejected] = []
    with ExitStack() as opened:
        workspace = opened.enter_context(open_workspace(project)) if question_set or embed else None
        making = _making(workspace, with_texts=not without_texts, embed=embed)
        for one in _sources(workspace, source or (), question_set or (), release or (), layout, failures):
            try:
                made = build(replace(one, **{key: value for key, value in told.items() if value}), making)
            except NothingToIndex as error:
                raise NothingToIndex("; ".join([*_failure_lines(failures[:1]), str(error)])) from error
            built.append(made.benchmark)
            failures += made.failures
    manifest = write_index(file, built)
    document = _index_document(file, manifest) | {"failures": [vars(one) for one in failures]}
    show(document, [*_failure_lines(failures), *_index_lines(file, manifest)], as_json)


@app.command("merge")
def merge_command(
    file: Annotated[Path, typer.Argument(dir_okay=False, help="The index to write.")],
    parts: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="Indexes to put together.")],
    replace_it: ReplaceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Put indexes together: the same as one index of all their benchmarks.

    Example: interplay contamination merge public.index mmstar.index omnibench.index
    """
    _check_free(file, replace_it)
    indexes = [open_index(part) for part in parts]
    for index in indexes:
        index.verify()
    manifest = write_index(file, [one for index in indexes for one in index.benchmarks()])
    show(_index_document(file, manifest), _index_lines(file, manifest), as_json)


@app.command("show")
def show_command(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="An index.")], as_json: JsonOption = False
) -> None:
    """Verify an index and say what it holds.

    Example: interplay contamination show public.index
    """
    index = open_index(file)
    index.verify()
    show(_index_document(file, index.manifest), _index_lines(file, index.manifest), as_json)


@app.command("check")
def check_command(
    index_file: IndexOption,
    materials: Annotated[bool, typer.Option("--materials", help="Only materials.")] = False,
    items: Annotated[bool, typer.Option("--items", help="Only items.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Also what was compared with this index before.")] = False,
    embed: Annotated[
        bool, typer.Option("--embed", help="Also look for neighbours in meaning; the index needs vectors.")
    ] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Compare all kept materials and the current revisions of items with an index, as far as that was not done.

    Round 1 of quality control returns items with matches that nobody cleared. Exit code 0 whatever is found.

    Example: interplay contamination check --index public.index
    """
    which = Which(materials=materials or not items, items=items or not materials, again=again)
    index = open_index(index_file)
    with open_workspace(project) as workspace:
        embedder = text_embedder(workspace.project) if embed else None
        report = check(workspace, index, which, embedder, dry_run=dry_run)
        with workspace.database.reading() as session:
            open_count = len(matches_of(session, open_only=True))
        document = {"index": index.name, "sha256": index.sha256, "dry_run": dry_run, **vars(report)}
    show(document | {"open": open_count}, _check_lines(report, open_count, dry_run), as_json)


@app.command("matches")
def matches_command(
    subject: Annotated[
        str | None, typer.Option(help="Only of this item (with its media) or material (id or sha256).")
    ] = None,
    open_only: Annotated[bool, typer.Option("--open", help="Only those that nobody cleared.")] = False,
    html: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write a page for reviewers into this file.")
    ] = None,
    language: Annotated[str, typer.Option(help="Of the page: en or zh.")] = "en",
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show what overlaps, ours and theirs side by side, shared stretches in [[brackets]] (highlighted on a terminal).

    Example: interplay contamination matches --open --html overlaps.html --language zh
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        chosen = None if subject is None else subjects_of(session, subject)
        found = matches_of(session, chosen, open_only)
        matches = shown(session, found, workspace.blobs, language) if html else shown(session, found)
        if html is not None:
            html.write_text(page(matches, language), encoding="utf-8")
        document = [_match_document(one.match) | {"name": one.name, "carried_from": one.carried} for one in matches]
    if html is not None and not as_json:
        show(None, [f"{html}: {len(matches)} matches"], False)
        return
    colour = Console().is_terminal
    show(document, [line for one in matches for line in lines_of(one, colour)] or ["no matches"], as_json)


@app.command("clear")
def clear_command(
    match: MatchArgument, reason: ReasonOption, by: ByOption, as_json: JsonOption = False, project: ProjectOption = None
) -> None:
    """Say that a match is no contamination; 'reopen' takes it back. Both are kept as events.

    Example: interplay contamination clear 01998c0e-5b1f-7a60-8d39-3f2c4ad0b9e7 --reason "A saying." --by rita
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        document = _match_document(clear(session, match, reason, get_user(session, by)))
    show(document, [f"match {document['id']} is cleared"], as_json)


@app.command("reopen")
def reopen_command(
    match: MatchArgument, reason: ReasonOption, by: ByOption, as_json: JsonOption = False, project: ProjectOption = None
) -> None:
    """Take a clearing back: the match counts again.

    Example: interplay contamination reopen 01998c0e-5b1f-7a60-8d39-3f2c4ad0b9e7 --reason "It is a copy." --by rita
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        document = _match_document(reopen(session, match, reason, get_user(session, by)))
    show(document, [f"match {document['id']} is open again"], as_json)


def _check_free(file: Path, replace_it: bool) -> None:
    """Nothing of an index is silently lost: its benchmarks, or what was said of them."""
    if file.exists() and not replace_it:
        raise IndexExists(
            f"{file} is there already; choose another name (and 'merge' the two), or --replace it, with --licence and "
            "--version said again"
        )


def _making(workspace: Workspace | None, *, with_texts: bool, embed: bool) -> Making:
    if workspace is None:
        return Making(with_texts)
    return Making(
        with_texts,
        text_embedder(workspace.project) if embed else None,
        workspace.project.media_limits,
        workspace.project.workers,
    )


def _sources(
    workspace: Workspace | None,
    files: Sequence[Path],
    sets: Sequence[str],
    releases: Sequence[Path],
    layout: Layout | None,
    failures: list[Rejected],
) -> Iterator[Source]:
    for place in files:
        with from_files(place, layout) as read:
            failures += read.failures
            yield read.source
    for name in sets:
        assert workspace is not None
        with workspace.database.reading() as session:
            source = from_set(session, workspace.blobs, name)
        yield source
    yield from (from_release(folder) for folder in releases)


def _index_document(file: Path, manifest: IndexManifest) -> dict[str, Any]:
    return {"file": str(file), "sha256": manifest.sha256, **manifest.model_dump(mode="json")}


def _index_lines(file: Path, manifest: IndexManifest) -> list[str]:
    lines = [f"{file}: {len(manifest.benchmarks)} benchmarks, {manifest.sha256[:HANDLE]}"]
    return lines + [f"  {_benchmark_line(one)}" for one in manifest.benchmarks]


def _benchmark_line(one: BenchmarkEntry) -> str:
    texts = "with texts" if one.with_texts else "without texts"
    vectors = f", vectors by {one.embedder}" if one.embedder else ""
    failed = f", {one.failed} media could not be read" if one.failed else ""
    version = f" {one.version}" if one.version else ""
    return (
        f"{one.name}{version} ({one.licence or 'licence unknown'}): {one.questions} questions {texts}, "
        f"{one.media} media{vectors}{failed}"
    )


def _failure_lines(failures: Sequence[Rejected]) -> list[str]:
    lines = [f"left out: {one.origin}: {one.reason}: {one.message}" for one in failures[:FAILURES_TOLD]]
    more = len(failures) - FAILURES_TOLD
    return [*lines, f"left out: {more} more; --json lists them"] if more > 0 else lines


def _check_lines(report: CheckReport, open_count: int, dry_run: bool) -> list[str]:
    verb = "would be compared" if dry_run else "compared"
    lines = [f"{name}: {count} {verb}, {report.known[name]} known before" for name, count in report.compared.items()]
    lines += [f"not done: {told}" for told in report.not_done]
    found = ", ".join(f"{count} by {kind}" for kind, count in sorted(report.matches.items())) or "none"
    if not dry_run:
        lines.append(f"matches found now: {found}; open in all: {open_count}")
    if open_count:
        lines.append("see them with: interplay contamination matches --open")
    return lines


def _match_document(match: ContaminationMatch) -> dict[str, Any]:
    return match.model_dump(mode="json")
