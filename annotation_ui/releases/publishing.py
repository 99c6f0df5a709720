"""How a sealed release leaves the project: as a folder, as one file, to a hub. Only a maintainer lets it.

Where a release lies follows from its name, version and format alone: nothing that a browser sends is a path.
"""

import io
import shutil
import uuid
import zipfile
from dataclasses import dataclass
from pathlib import Path

from sqlmodel import Session

from annotation_ui.permissions import Principal
from annotation_ui.releases.desk import VERIFY, MediaLost, NotSealedYet, ReleaseGone, sealed_for
from annotation_ui.told import Told, told_as
from annotation_ui.words import N_
from core.errors import InterplayError, MissingExtra, UnknownName
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.blobs import DamagedBlob, MissingBlob
from warehouse.exporters.catalogue import EXPORTERS
from warehouse.release.export import SUMS, NotSealed, TargetTaken, export_release, sealed_manifest
from warehouse.release.opened import DamagedExport
from warehouse.release.push import (
    BadRepository,
    Destination,
    NoToken,
    Pushed,
    PushFailed,
    TokenRefused,
    push_export,
)
from warehouse.release.tombstones import MediaWithdrawn, refuse_withdrawn
from warehouse.release.verify import NoExport, verify_folder
from warehouse.runs import open_run
from warehouse.tables import Release
from warehouse.workspace import Workspace

EXPORTS = "exports"
HUB_FORMAT = "huggingface"
# A file is made in memory for the browser; what is larger is fetched from where it lies.
MOST_DOWNLOAD_BYTES = 200 * 10**6


class UnknownFormat(Told):
    """A format that there is not."""

    text = N_("There is no such format.")


class NotExported(Told):
    """An export that is not there."""

    text = N_("This export is not there any more. Export the release again.")


class FolderTaken(Told):
    """Something else lies where the export goes."""

    text = N_("Another or a damaged export lies where this one goes. Remove it, and export again.")


class MediaGone(Told):
    """A release that shows what was withdrawn."""

    text = N_(
        "Somebody withdrew what this release shows, so it leaves the project no more. Build, seal and export a new "
        "version."
    )


class TooLarge(Told):
    """An export that is too large for one file."""

    text = N_("This export is too large to be fetched through the browser. Take it from the folder.")


class ExportDamaged(Told):
    """An export that is not what was sealed."""

    text = N_("The export is not what was sealed ({detail}). Remove it, and export again.")


class HubMissing(Told):
    """The package that speaks to the hub is not installed."""

    text = N_("The studio's machine cannot speak to a hub. Whoever runs it installs: pip install 'interplay[hub]'")


class TokenMissing(Told):
    """Nothing proves to the hub who pushes."""

    text = N_("The hub asks who pushes. Give a token, or have HF_TOKEN set where the studio runs.")


class TokenTurnedAway(Told):
    """The hub does not let this token write there."""

    text = N_("The hub does not let this token write there. Check its rights, and the owner before the “/”.")


class RepositoryUnusable(Told):
    """A repository's name that no hub takes."""

    text = N_("Write the repository as OWNER/NAME, with letters, digits, “-”, “_” and “.”.")


class HubFailed(Told):
    """The hub did not take all."""

    text = N_("The push did not come through: {detail}. Push again: only what is missing is sent.")


@dataclass(frozen=True)
class ExportPlace:
    """An export in the project's folder; `size` in bytes."""

    folder: Path
    files: int
    size: int


def export_folder(workspace: Workspace, release: Release, format_name: str) -> Path:
    """Where an export lies. Names and versions hold no separators, and formats are those of the catalogue.

    Raises:
        UnknownFormat: There is no such format.
    """
    if format_name not in {entry.name for entry in EXPORTERS}:
        raise UnknownFormat
    return workspace.project.root / EXPORTS / release.name / release.version / format_name


def export_place(workspace: Workspace, release: Release, format_name: str) -> ExportPlace | None:
    """The finished export, where there is one.

    Raises:
        UnknownFormat: There is no such format.
    """
    folder = export_folder(workspace, release, format_name)
    if not (folder / SUMS).is_file():
        return None
    sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    return ExportPlace(folder, len(sizes), sum(sizes))


def export(workspace: Workspace, who: Principal, release_id: str, format_name: str, clock: Clock = utc_now) -> None:
    """Write the release into its folder, which appears whole or not at all.

    Raises:
        NotAllowed, AccountInactive, ReleaseGone, NotSealedYet, UnknownFormat, FolderTaken, MediaGone, MediaLost: As
            they say.
    """
    # Asked right before and after: what is written between is a copy of what is sealed, in the project's own folder,
    # and it is offered to nobody who is not asked again.
    release = _sealed(workspace, who, release_id)
    with told_as(_WORDS, with_advice=False):
        export_release(
            workspace.database, workspace.blobs, release.name, release.version, format_name,
            export_folder(workspace, release, format_name), clock,
        )  # fmt: skip
    _record(workspace, who, release, "export", clock, format=format_name)


def verify_export(
    workspace: Workspace, who: Principal, release_id: str, format_name: str, clock: Clock = utc_now
) -> None:
    """Compute all hashes of an export again, and keep what is damaged.

    Raises:
        NotAllowed, AccountInactive, ReleaseGone, NotSealedYet, UnknownFormat, NotExported: As they say.
    """
    release = _sealed(workspace, who, release_id)
    folder = export_folder(workspace, release, format_name)
    settings = {"name": release.name, "version": release.version, "format": format_name}
    with told_as(_WORDS, with_advice=False), open_run(workspace.database, VERIFY, settings, clock=clock) as run:
        found = verify_folder(folder)
        damages = [damage.line() for damage in found.damages]
        if found.manifest_sha256 != release.manifest_sha256:
            damages.insert(0, "manifest.json: it is not the manifest of this release")
        run.summary = {"files": found.files, "rows": found.rows, "withdrawn": 0, "damages": damages}


def remove_export(
    workspace: Workspace, who: Principal, release_id: str, format_name: str, clock: Clock = utc_now
) -> None:
    """Delete an export; the release can be exported again.

    Raises:
        NotAllowed, AccountInactive, ReleaseGone, NotSealedYet, UnknownFormat, NotExported: As they say.
    """
    with workspace.database.session() as session:
        release = sealed_for(session, who, release_id)
        folder = export_folder(workspace, release, format_name)
        # Away under its name at once: half a folder must not be taken for an export. The next export sweeps up.
        aside = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.partial")
        try:
            folder.rename(aside)
        except FileNotFoundError:
            raise NotExported from None
        events.record(session, who.user_id, "release", release.id, "remove_export", clock, format=format_name)
    shutil.rmtree(aside)


def zipped(workspace: Workspace, who: Principal, release_id: str, format_name: str) -> bytes:
    """The export as one file.

    Raises:
        NotAllowed, AccountInactive, ReleaseGone, NotSealedYet, UnknownFormat, NotExported, TooLarge, MediaGone: As
            they say.
    """
    release = _sealed(workspace, who, release_id)
    place = export_place(workspace, release, format_name)
    if place is None:
        raise NotExported
    if place.size > MOST_DOWNLOAD_BYTES:
        raise TooLarge
    with told_as(_WORDS, with_advice=False), workspace.database.reading() as session:
        refuse_gone(session, workspace, release)
    data = io.BytesIO()
    # Media do not compress.
    with zipfile.ZipFile(data, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(place.folder.rglob("*")):
            if file.is_file():
                archive.write(file, f"{release.name}-{release.version}/{file.relative_to(place.folder).as_posix()}")
    return data.getvalue()


def refuse_gone(session: Session, workspace: Workspace, release: Release) -> None:
    """Stop what would give withdrawn media away.

    Raises:
        MediaWithdrawn: The release shows some.
    """
    manifest, _ = sealed_manifest(workspace.blobs, release)
    refuse_withdrawn(session, manifest.title, manifest.media)


def push(workspace: Workspace, who: Principal, release_id: str, to: Destination, clock: Clock = utc_now) -> Pushed:
    """Export the release for the hub, unless it is, and send it there.

    Raises:
        RepositoryUnusable, HubMissing, TokenMissing, TokenTurnedAway, HubFailed, ExportDamaged: As they say.
        NotAllowed, AccountInactive, ReleaseGone, NotSealedYet, FolderTaken, MediaGone, MediaLost: As they say.
    """
    export(workspace, who, release_id, HUB_FORMAT, clock)
    release = _sealed(workspace, who, release_id)
    folder = export_folder(workspace, release, HUB_FORMAT)
    with told_as(_WORDS, with_advice=False):
        pushed = push_export(
            workspace.database, folder, to, clock, guard=lambda session: sealed_for(session, who, release_id)
        )
    _record(workspace, who, release, "push", clock, repository=to.repository, access=to.access.value, url=pushed.url)
    return pushed


def _sealed(workspace: Workspace, who: Principal, release_id: str) -> Release:
    with workspace.database.session() as session:
        return sealed_for(session, who, release_id)


def _record(workspace: Workspace, who: Principal, release: Release, action: str, clock: Clock, **detail: str) -> None:
    """What was done is told, whatever the person may do by now."""
    with workspace.database.session() as session:
        events.record(session, who.user_id, "release", release.id, action, clock, **detail)


_WORDS: dict[type[InterplayError], type[Told]] = {
    UnknownName: ReleaseGone,
    NotSealed: NotSealedYet,
    TargetTaken: FolderTaken,
    MediaWithdrawn: MediaGone,
    MissingBlob: MediaLost,
    DamagedBlob: MediaLost,
    NoExport: NotExported,
    DamagedExport: ExportDamaged,
    MissingExtra: HubMissing,
    NoToken: TokenMissing,
    TokenRefused: TokenTurnedAway,
    BadRepository: RepositoryUnusable,
    PushFailed: HubFailed,
}
