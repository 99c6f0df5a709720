"""Export a sealed release into a folder that appears complete or not at all."""

import fcntl
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.errors import InterplayError
from core.ids import Clock, utc_now
from core.provenance import canonical_json
from warehouse.blobs import BlobStore
from warehouse.database import Database
from warehouse.exporters.catalogue import EXPORTERS
from warehouse.release.manifest import Manifest, read_manifest
from warehouse.release.records import get_release
from warehouse.release.tombstones import refuse_withdrawn
from warehouse.runs import open_run
from warehouse.tables import Release, ReleaseState

MANIFEST = "manifest.json"
ABOUT = "export.json"
SUMS = "SHA256SUMS"
TOMBSTONES = "tombstones.jsonl"


class NotSealed(InterplayError):
    """Only a sealed release leaves the project."""


class TargetTaken(InterplayError):
    """Something else lies where the export was to go."""


@dataclass(frozen=True)
class Exported:
    """A finished export; `new` is False where the same export lay there already."""

    folder: Path
    files: int
    new: bool


def export_release(
    database: Database,
    blobs: BlobStore,
    name: str,
    version: str,
    format_name: str,
    folder: Path,
    clock: Clock = utc_now,
) -> Exported:
    """Write a sealed release in a format. The same release makes the same bytes.

    Raises:
        UnknownName: There is no such release or format.
        NotSealed: It is not sealed.
        MediaWithdrawn: What it shows was withdrawn since.
        TargetTaken: `folder` holds anything but this very export.
        MissingBlob, DamagedBlob: The project has lost media.
    """
    entry = EXPORTERS[format_name]
    with database.reading() as session:
        release = get_release(session, name, version)
    manifest, data = sealed_manifest(blobs, release)
    with database.reading() as session:
        refuse_withdrawn(session, manifest.title, manifest.media)
    target = folder.resolve()
    if target.exists() and not _may_be_export(target):
        raise TargetTaken(f"{folder} exists and is no export; choose another folder")
    settings = {"name": name, "version": version, "format": entry.fingerprint}
    with open_run(database, "release export", settings, clock=clock) as run:
        with _aside(target) as aside:
            entry.load()().write(manifest, blobs, aside)
            (aside / MANIFEST).write_bytes(data)
            (aside / ABOUT).write_text(_about(release, entry.fingerprint), encoding="utf-8")
            if manifest.tombstones:
                (aside / TOMBSTONES).write_text(tombstone_lines(manifest), encoding="utf-8")
            files = _write_sums(aside)
            new = _put_in_place(aside, target, folder)
        run.summary = {"folder": str(target), "files": files, "new": new}
    return Exported(folder, files, new)


def sealed_manifest(blobs: BlobStore, release: Release) -> tuple[Manifest, bytes]:
    """The manifest of a sealed release, verified, and its bytes.

    Raises:
        NotSealed: It is not sealed.
        MissingBlob, DamagedBlob: The project has lost it.
    """
    title = f"{release.name} {release.version}"
    if release.state != ReleaseState.SEALED or release.manifest_sha256 is None:
        raise NotSealed(f"release {title} is not sealed; run 'interplay release seal {title}' first")
    data = blobs.get(release.manifest_sha256)
    return read_manifest(data, f"the manifest of {title}"), data


def tombstone_lines(manifest: Manifest) -> str:
    """The questions that were withdrawn, a line of JSON each: what `tombstones.jsonl` of an export holds."""
    return "".join(f"{canonical_json(stone.model_dump(mode='json'))}\n" for stone in manifest.tombstones)


def file_sha256(file: Path) -> str:
    """sha256 of a file's bytes in hex."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def files_in(folder: Path) -> list[str]:
    """Files of an export, as relative paths in order, without the list itself and without hidden ones at the top.

    Hidden files there (`.gitattributes`, `.cache`) are put in by hubs and tools.
    """
    paths = (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    return sorted(path.as_posix() for path in paths if not path.parts[0].startswith(".") and path.as_posix() != SUMS)


def _about(release: Release, fingerprint: str) -> str:
    about = {
        "release": release.name,
        "version": release.version,
        "exporter": fingerprint,
        "manifest_sha256": release.manifest_sha256,
    }
    return json.dumps(about, indent=2) + "\n"


def _write_sums(folder: Path) -> int:
    files = files_in(folder)
    sums = "".join(f"{file_sha256(folder / file)}  {file}\n" for file in files)
    (folder / SUMS).write_text(sums, encoding="utf-8")
    for file in [*files, SUMS]:
        # Before the rename: a machine that loses power must not leave empty files under the final name.
        _sync(folder / file)
    return len(files) + 1


def _put_in_place(aside: Path, target: Path, shown: Path) -> bool:
    if target.is_dir() and any(target.iterdir()):
        here = {file: file_sha256(target / file) for file in [*files_in(target), SUMS]}
        if here == {file: file_sha256(aside / file) for file in [*files_in(aside), SUMS]}:
            return False
        raise TargetTaken(f"{shown} holds another export or a damaged one; choose another folder, or remove it first")
    aside.rename(target)
    _sync(target.parent)
    return True


@contextmanager
def _aside(target: Path) -> Iterator[Path]:
    """A hidden folder beside the target; gone at the end unless it was renamed. A killed export's is swept up here."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f".{target.name}.*.partial"):
        with _locked(left) as is_free:
            if is_free:
                shutil.rmtree(left)
    aside = target.parent / f".{target.name}.{uuid.uuid4().hex}.partial"
    aside.mkdir()
    try:
        with _locked(aside):
            yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Hold a folder's lock; False when another process does. The system frees it when its holder dies."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _lock(handle)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _may_be_export(target: Path) -> bool:
    return target.is_dir() and ((target / SUMS).is_file() or not any(target.iterdir()))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
