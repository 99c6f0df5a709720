"""Whether an export, or a sealed release in the project, is still what was sealed; needs no network."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import InterplayError, UnknownName
from core.progress import progress
from core.registry import Entry
from warehouse.blobs import BlobStore, DamagedBlob, MissingBlob
from warehouse.database import Database
from warehouse.exporters.base import Exporter, ReadRow
from warehouse.exporters.catalogue import EXPORTERS
from warehouse.release.export import (
    ABOUT,
    MANIFEST,
    SUMS,
    TOMBSTONES,
    file_sha256,
    files_in,
    sealed_manifest,
    tombstone_lines,
)
from warehouse.release.manifest import (
    Damage,
    Manifest,
    ManifestRow,
    UnreadableManifest,
    manifest_damages,
    read_manifest,
)
from warehouse.release.records import get_release, members_of
from warehouse.release.tombstones import withdrawn_media


class NoExport(InterplayError):
    """A folder that holds no export."""


class UnreadableAbout(InterplayError):
    """An `export.json` that does not name its exporter."""


@dataclass(frozen=True)
class Verified:
    """What was looked at and all that is damaged. `manifest_sha256` is to be compared with the publisher's.

    `withdrawn` are the media of a release in the project that are gone, as they should: they were withdrawn since.
    """

    title: str
    manifest_sha256: str
    files: int
    rows: int
    damages: list[Damage]
    withdrawn: list[str] = field(default_factory=list)


def verify_folder(folder: Path) -> Verified:
    """Compute the hash of every file and of every row again.

    Raises:
        NoExport: `folder` holds neither a manifest nor a list of files.
    """
    if not (folder / SUMS).is_file() and not (folder / MANIFEST).is_file():
        raise NoExport(
            f"{folder} holds no {SUMS} and no {MANIFEST}; name a folder that 'interplay release export' made"
        )
    files = files_in(folder)
    damages = list(_file_damages(folder, files))
    data = (folder / MANIFEST).read_bytes() if MANIFEST in files else b""
    rows, title = 0, str(folder)
    try:
        manifest = read_manifest(data, MANIFEST)
    except UnreadableManifest as error:
        damages.append(Damage(MANIFEST, str(error)))
    else:
        rows, title = len(manifest.rows), manifest.title
        damages += manifest_damages(json.loads(data), MANIFEST)
        damages += _tombstone_damages(folder, manifest)
        damages += _about_damages(folder, manifest, hashlib.sha256(data).hexdigest())
    return Verified(title, hashlib.sha256(data).hexdigest(), len(files), rows, _once(damages))


def exporter_of(folder: Path) -> tuple[dict[str, Any], Entry[Callable[[], Exporter]]]:
    """What `export.json` says, and the exporter that it names.

    Raises:
        UnreadableAbout: It is missing, damaged, or names an exporter that is not installed.
    """
    try:
        about: dict[str, Any] = json.loads((folder / ABOUT).read_bytes())
        return about, EXPORTERS[str(about["exporter"]).partition("@")[0]]
    except (OSError, ValueError, KeyError, TypeError, UnknownName) as error:
        raise UnreadableAbout(f"does not tell how to read the rows ({type(error).__name__}: {error})") from error


def verify_release(database: Database, blobs: BlobStore, name: str, version: str) -> Verified:
    """Compute the hash of a sealed release's manifest, rows and media in the project again.

    Raises:
        UnknownName: There is no such release.
        NotSealed: It is not sealed.
        MissingBlob, DamagedBlob: Its manifest is lost.
    """
    with database.reading() as session:
        release = get_release(session, name, version)
        members = {member.item.name: member for member in members_of(session, release)}
        gone = withdrawn_media(session)
    manifest, data = sealed_manifest(blobs, release)
    damages = list(manifest_damages(json.loads(data), "manifest"))
    for row in manifest.rows:
        member = members.get(row.qid)
        if member is None or member.revision.content_hash != row.revision or member.split != row.split:
            damages.append(Damage("tables", f"row {row.qid!r} of the manifest is not what the tables hold"))
    withdrawn = [sha256 for sha256 in manifest.media if sha256 in gone]
    kept = sorted(manifest.media.keys() - gone.keys())
    with progress("media verified", len(kept)) as ticker:
        for sha256 in kept:
            try:
                blobs.verify(sha256)
            except (MissingBlob, DamagedBlob) as error:
                damages.append(Damage("media", str(error)))
            ticker.advance()
    counts = len(manifest.media), len(manifest.rows)
    return Verified(manifest.title, hashlib.sha256(data).hexdigest(), *counts, damages, withdrawn)


def _file_damages(folder: Path, files: Iterable[str]) -> Iterator[Damage]:
    found = set(files)
    if not (folder / SUMS).is_file():
        yield Damage(SUMS, "is missing, so files cannot be compared with what was exported")
        return
    listed: dict[str, str] = {}
    for number, line in enumerate((folder / SUMS).read_text("utf-8", "replace").splitlines(), start=1):
        sha256, separator, name = line.partition("  ")
        if not separator:
            yield Damage(f"{SUMS} line {number}", "is not a sha256, two spaces and a file name")
            continue
        listed[name] = sha256
    with progress("files verified", len(listed)) as ticker:
        for name, sha256 in sorted(listed.items()):
            if name not in found:
                yield Damage(name, "is missing")
            elif file_sha256(folder / name) != sha256:
                yield Damage(name, "its bytes are not those that were exported")
            ticker.advance()
    yield from (Damage(name, f"is not listed in {SUMS}") for name in sorted(found - listed.keys()))


def _tombstone_damages(folder: Path, manifest: Manifest) -> Iterator[Damage]:
    file = folder / TOMBSTONES
    if (file.read_bytes() if file.is_file() else b"") != tombstone_lines(manifest).encode():
        yield Damage(TOMBSTONES, f"does not name the withdrawn questions that {MANIFEST} names")


def _about_damages(folder: Path, manifest: Manifest, manifest_sha256: str) -> Iterator[Damage]:
    """What `export.json` says, and the rows as the exporter that it names reads them."""
    try:
        about, entry = exporter_of(folder)
    except UnreadableAbout as error:
        yield Damage(ABOUT, str(error))
        return
    if about.get("manifest_sha256") != manifest_sha256:
        yield Damage(MANIFEST, f"its bytes are not those that {ABOUT} names")
    yield from _row_damages(entry.load()().read(folder, manifest), manifest)


def _row_damages(read: Iterable[ReadRow | Damage], manifest: Manifest) -> Iterator[Damage]:
    expected = {row.qid: row for row in manifest.rows}
    seen: Counter[str] = Counter()
    hashes: dict[Path, str | None] = {}
    for row in read:
        if isinstance(row, Damage):
            yield row
            continue
        seen[row.qid] += 1
        if row.qid in expected:
            yield from _differences(row, expected[row.qid], manifest.canary, hashes)
        else:
            yield Damage(row.place, f"row {row.qid!r} is not in the manifest")
    for qid in expected:
        if seen[qid] != 1:
            yield Damage(MANIFEST, f"row {qid!r} was found {seen[qid]} times, not once")


def _differences(row: ReadRow, wanted: ManifestRow, canary: str, hashes: dict[Path, str | None]) -> Iterator[Damage]:
    pairs = {
        "question": (row.question, wanted.question),
        "split": (row.split, wanted.split),
        "revision": (row.revision, wanted.revision),
        "canary": (row.canary, canary),
    }
    for name, (found, sealed) in pairs.items():
        if found != sealed:
            yield Damage(row.place, f"{name} of row {row.qid!r} is not what was sealed")
    for sha256, media in row.media.items():
        if _media_sha256(media, hashes) != sha256:
            where = "embedded" if isinstance(media, bytes) else media.name
            yield Damage(row.place, f"media {where} of row {row.qid!r} is not {sha256}")


def _media_sha256(media: bytes | Path, hashes: dict[Path, str | None]) -> str | None:
    if isinstance(media, bytes):
        return hashlib.sha256(media).hexdigest()
    if media not in hashes:
        hashes[media] = file_sha256(media) if media.is_file() else None
    return hashes[media]


def _once(damages: Iterable[Damage]) -> list[Damage]:
    return list(dict.fromkeys(damages))
