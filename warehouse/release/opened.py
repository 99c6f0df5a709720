"""An exported release without a project: its manifest, and its media by content."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from core.errors import InterplayError
from warehouse.blobs import DamagedBlob, MissingBlob
from warehouse.release.export import MANIFEST
from warehouse.release.manifest import Manifest, read_manifest
from warehouse.release.verify import exporter_of, verify_folder


class DamagedExport(InterplayError):
    """An export that is not what was sealed."""


@dataclass(frozen=True)
class Export:
    """What lies in an exported folder."""

    folder: Path
    manifest: Manifest
    manifest_sha256: str
    _media: Mapping[str, Callable[[], bytes]] = field(repr=False)

    def get(self, sha256: str) -> bytes:
        """The bytes of a medium, verified.

        Raises:
            MissingBlob: They are not there.
            DamagedBlob: They are not what was sealed.
        """
        try:
            data = self._media[sha256]()
        except (KeyError, IndexError, OSError, pa.ArrowException) as error:
            raise MissingBlob(f"media {sha256} is not in {self.folder}; get the release again") from error
        if hashlib.sha256(data).hexdigest() != sha256:
            raise DamagedBlob(f"media {sha256} in {self.folder} is damaged; get the release again")
        return data


def open_export(folder: Path) -> Export:
    """Verify an export, as `interplay release verify` does, and open it.

    Raises:
        NoExport: `folder` holds none.
        DamagedExport: Something in it is not what was sealed.
    """
    verified = verify_folder(folder)
    if verified.damages:
        first, *more = verified.damages
        others = f", and {len(more)} more damages" if more else ""
        raise DamagedExport(f"{folder} is damaged: {first.line()}{others}; get the release again")
    manifest = read_manifest((folder / MANIFEST).read_bytes(), MANIFEST)
    _, entry = exporter_of(folder)
    return Export(folder, manifest, verified.manifest_sha256, entry.load()().media(folder, manifest))
