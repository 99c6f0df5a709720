"""Commands of `interplay material` about vectors: embed, relate."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, TypeVar

import typer

from core.errors import InterplayError, MissingExtra
from curation.embedding import CLIP, TEXT, clip_embedder, text_embedder
from curation.embedding.embed import embed_pictures, embed_words, words_in
from curation.embedding.neighbours import THRESHOLDS, Related, relate
from curation.models import UnusableModel
from curation.pass_cli import AgainOption, exit_if_all_failed, pass_lines
from curation.passes import PassReport, Which
from warehouse.command_line import DryRunOption, JsonOption, ProjectOption, show
from warehouse.workspace import Workspace, open_workspace

T = TypeVar("T")


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

    A second call does what is missing. Where one of the two models cannot be had, the other's work is done all the
    same, and what was left out is told. Exit code 2 when all that was tried failed.

    Example: interplay material embed --kind clip
    """
    with open_workspace(project) as workspace:
        reports, left_out = _each(kind.parts, lambda part: _embedded(workspace, part, again, dry_run))
    if left_out and not any(report.done for report in reports.values()):
        raise next(iter(left_out.values()))
    lines = [line for part, report in reports.items() for line in pass_lines(report, f"{part} vectors", dry_run)]
    document = {part: report.document(dry_run) for part, report in reports.items()}
    show(document | _told_left_out(left_out, "vectors"), lines, as_json)
    exit_if_all_failed(reports.values())


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

    def compared(part: str) -> Related:
        embedder = clip_embedder(workspace.project) if part == CLIP else text_embedder(workspace.project)
        least = THRESHOLDS[part] if threshold is None else threshold
        return relate(workspace, part, embedder.fingerprint, least, again=again, dry_run=dry_run)

    with open_workspace(project) as workspace:
        # Without words there is nothing to compare, and maybe no model either.
        parts = [part for part in kind.parts if part == CLIP or words_in(workspace)]
        related, left_out = _each(parts, compared)
    if left_out and not any(one.report.done or one.report.known for one in related.values()):
        raise next(iter(left_out.values()))
    lines: list[str] = []
    for part, one in related.items():
        lines += pass_lines(one.report, f"{part} vectors compared", dry_run)
        lines.append(f"{part} links {one.links} in {one.groups} groups, the largest of {one.largest} materials")
    document = {
        part: one.report.document(dry_run) | {"links": one.links, "groups": one.groups, "largest": one.largest}
        for part, one in related.items()
    }
    document |= _told_left_out(left_out, "vectors compared")
    show(document, lines or ["nothing has vectors to compare"], as_json)
    exit_if_all_failed(one.report for one in related.values())


def _each(parts: Iterable[str], work: Callable[[str], T]) -> tuple[dict[str, T], dict[str, InterplayError]]:
    """What the work gives for each kind of vectors, and why a kind was left out: its model cannot be had."""
    done: dict[str, T] = {}
    left_out: dict[str, InterplayError] = {}
    for part in parts:
        try:
            done[part] = work(part)
        except (UnusableModel, MissingExtra) as error:
            left_out[part] = error
    return done, left_out


def _told_left_out(left_out: Mapping[str, InterplayError], what: str) -> dict[str, Any]:
    """Say what was left out, on standard error, and give it for the document."""
    for part, error in left_out.items():
        typer.echo(f"{part} {what}: left out, for {error}", err=True)
    return {"left_out": {part: str(error) for part, error in left_out.items()}} if left_out else {}


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
