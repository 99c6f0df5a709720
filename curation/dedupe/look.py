"""`interplay material look`: looks of a later version for materials that were examined under an earlier one."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from sqlmodel import Session, col, select

from core.content import MediaRef, Modality
from core.ids import Clock, utc_now
from core.media.audio import load_audio
from core.media.guard import guard_of_process
from core.media.image import load_image
from core.media.limits import MediaLimits
from core.media.video import iter_frames
from curation.dedupe.link import COMPARE, link_duplicates, looks_cache
from curation.dedupe.looks import AUDIO_RATE_HZ, audio_looks, image_looks, video_looks
from curation.dedupe.renditions import FILM_HZ, METHODS
from curation.filters.views import small_grey
from curation.passes import PassReport, Which, Work, run_pass
from warehouse.command_line import DryRunOption, JsonOption, ProjectOption, show
from warehouse.tables import Material, MaterialState, MaterialWork
from warehouse.workspace import Workspace, open_workspace

COMMAND = "material look"
WORK = "look"


def look(
    workspace: Workspace, again: bool = False, dry_run: bool = False, clock: Clock = utc_now
) -> tuple[PassReport, int]:
    """Look at kept materials that lack looks of this version, and compare them; the report, and the new links.

    What was looked at under earlier versions stays beside it, and so do links that came of that.

    Args:
        workspace: The opened project.
        again: Look at all kept materials, and compare all anew.
        dry_run: Only count.
        clock: For the rows' times.
    """
    which = Which(again=True) if again else Which(_without_looks(workspace))
    work = Work(
        name=WORK,
        maker="+".join(METHODS.values()),
        modalities=frozenset(METHODS),
        make=_Look(workspace.project.media_limits),
        store=_store,
        label="Looking",
    )
    report = run_pass(workspace, COMMAND, work, which, dry_run=dry_run, clock=clock)
    if report.run_id is None:
        return report, 0
    # Made again from the database, so that it holds what was looked at now.
    shutil.rmtree(looks_cache(workspace.project), ignore_errors=True)
    return report, link_duplicates(workspace.database, report.run_id, looks_cache(workspace.project), clock)


def look_command(
    again: Annotated[bool, typer.Option("--again", help="Also those that have looks of this version.")] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Look at materials that were examined by an earlier version, so that duplicates among them are found.

    Reads the working copies, never the originals. Can be stopped at any moment; the same call does what is missing.

    Example: interplay material look
    """
    with open_workspace(project) as workspace:
        report, links = look(workspace, again, dry_run)
    document = report.counts | {"duplicate_links": links, "failures": report.failures, "run_id": report.run_id}
    lines = [f"failed: {sha256[:12]}: {why}" for sha256, why in sorted(report.failures.items())]
    verb = "would be looked at" if dry_run else "looked at"
    show(
        document, [*lines, f"{verb} {report.done}, failed {len(report.failures)}; new duplicate links {links}"], as_json
    )


def looks_of(modality: Modality, data: bytes, limits: MediaLimits) -> dict[str, Any]:
    """All looks of a working copy.

    Raises:
        MediaError: It cannot be decoded.
    """
    match modality:
        case Modality.IMAGE:
            return image_looks(load_image(data, limits))
        case Modality.AUDIO:
            return audio_looks(load_audio(data, AUDIO_RATE_HZ, limits=limits))
        case _:
            return video_looks(small_grey(pixels) for _, pixels in iter_frames(data, at_hz=FILM_HZ, limits=limits))


@dataclass(frozen=True)
class _Look:
    """Looks at one working copy in a guarded process."""

    limits: MediaLimits

    def __call__(self, ref: MediaRef, data: bytes) -> dict[str, Any]:
        return guard_of_process(self.limits).run(looks_of, ref.modality, data, self.limits)


def _store(session: Session, material: Material, looks: dict[str, Any], run_id: str) -> Mapping[str, Any]:
    method = METHODS[Modality(material.modality)]
    material.looks = material.looks | looks
    session.add(material)
    mine = (MaterialWork.material_id == material.id, MaterialWork.work == COMPARE, MaterialWork.maker == method)
    for mark in session.exec(select(MaterialWork).where(*mine)):
        session.delete(mark)
    return {}


def _without_looks(workspace: Workspace) -> list[str]:
    modalities = [modality.value for modality in METHODS]
    query = select(Material.id, Material.modality, Material.looks).where(
        col(Material.modality).in_(modalities), Material.state == MaterialState.KEPT
    )
    with workspace.database.reading() as session:
        return [id_ for id_, modality, looks in session.exec(query) if METHODS[Modality(modality)] not in looks]
