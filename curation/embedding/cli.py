"""Commands of `interplay material` about vectors: embed, relate."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import typer

from curation.embedding import CLIP, TEXT, clip_embedder, text_embedder
from curation.embedding.embed import embed_pictures, embed_words, words_in
from curation.embedding.neighbours import THRESHOLDS, Related, relate
from curation.materials import HANDLE
from curation.passes import PassReport, Which
from warehouse.command_line import DryRunOption, JsonOption, ProjectOption, show
from warehouse.workspace import Workspace, open_workspace

NOTHING_DONE = 2

AgainOption = Annotated[bool, typer.Option("--again", help="Also on materials that had it by the same model.")]


class Kind(StrEnum):
    """Which vectors: of pictures and films, of words, or both."""

    CLIP = CLIP
    TEXT = TEXT
    ALL = "all"

    @property
    def parts(self) -> tuple[str, ...]:
        """The kinds that are meant."""
        return (CLIP, TEXT) if self == Kind.ALL else (self.value,)


KindOption = Annotated[Kind, typer.Option("--kind", help="Vectors of pictures and films, of words, or both.")]


def embed_command(
    kind: KindOption = Kind.ALL,
    again: AgainOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Give images and films vectors of how they look, and whatever has words vectors of what these say.

    A second call does what is missing. Exit code 2 when all that was tried failed.

    Example: interplay material embed --kind clip
    """
    with open_workspace(project) as workspace:
        reports = {part: _embedded(workspace, part, again, dry_run) for part in kind.parts}
    lines = [line for part, report in reports.items() for line in pass_lines(report, f"{part} vectors", dry_run)]
    show({part: report.document(dry_run) for part, report in reports.items()}, lines, as_json)
    exit_if_all_failed(reports)


def relate_command(
    kind: KindOption = Kind.ALL,
    threshold: Annotated[
        float | None, typer.Option(help="Least cosine of two vectors; else 0.95 for pictures, 0.9 for words.")
    ] = None,
    again: AgainOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Link materials that mean nearly the same, by their vectors: a release keeps them in one split.

    Example: interplay material relate --kind clip --threshold 0.95
    """
    related: dict[str, Related] = {}
    with open_workspace(project) as workspace:
        for part in kind.parts:
            if part == TEXT and not words_in(workspace):
                continue  # nothing to compare, and maybe no model either
            embedder = clip_embedder(workspace.project) if part == CLIP else text_embedder(workspace.project)
            least = THRESHOLDS[part] if threshold is None else threshold
            related[part] = relate(workspace, part, embedder.fingerprint, least, again=again, dry_run=dry_run)
    lines: list[str] = []
    for part, one in related.items():
        lines += pass_lines(one.report, f"{part} vectors compared", dry_run)
        lines.append(f"{part} links {one.links} in {one.groups} groups, the largest of {one.largest} materials")
    document = {
        part: one.report.document(dry_run) | {"links": one.links, "groups": one.groups, "largest": one.largest}
        for part, one in related.items()
    }
    show(document, lines or ["nothing has vectors to compare"], as_json)
    exit_if_all_failed({part: one.report for part, one in related.items()})


def pass_lines(report: PassReport, what: str, dry_run: bool) -> list[str]:
    """A pass for people."""
    failed = [f"failed: {sha256[:HANDLE]}: {said}" for sha256, said in sorted(report.failures.items())]
    counts = ", ".join(f"{name} {count}" for name, count in report.counts.items())
    return [*failed, f"{what}: {'would be ' if dry_run else ''}{counts}"]


def exit_if_all_failed(reports: Mapping[str, PassReport]) -> None:
    """End with exit code 2 when something failed and nothing was done."""
    if any(report.failures for report in reports.values()) and not any(report.done for report in reports.values()):
        raise typer.Exit(NOTHING_DONE)


def _embedded(workspace: Workspace, part: str, again: bool, dry_run: bool) -> PassReport:
    if part == CLIP:
        embedder = clip_embedder(workspace.project)
        return embed_pictures(
            workspace, embedder, Which(again=again), workers=workspace.project.workers, dry_run=dry_run
        )
    words = words_in(workspace)
    if not words:
        return PassReport()  # no model is needed, which may not be there
    return embed_words(workspace, text_embedder(workspace.project), words, again=again, dry_run=dry_run)
