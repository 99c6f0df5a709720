"""What every exporter does: write a sealed release into a folder, and read it back."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from core.content import MediaRef
from core.media.formats import EXTENSIONS
from core.question import Question
from warehouse.blobs import BlobStore
from warehouse.release.manifest import Damage, Manifest


@dataclass(frozen=True)
class ReadRow:
    """A question as an export holds it. `media` is by the sha256 that the row names, as bytes or as a file."""

    place: str
    qid: str
    split: str
    revision: str
    canary: str
    question: Question
    media: Mapping[str, bytes | Path]


class Exporter(Protocol):
    """One format. Both directions lose nothing, and the same manifest makes the same bytes.

    `write` gets an empty folder; `manifest.json`, `export.json` and `SHA256SUMS` are put there after it. `read` gives
    rows in any order, and a damage in place of each row or file that cannot be read.
    """

    def write(self, manifest: Manifest, blobs: BlobStore, folder: Path) -> None:
        """Write all rows and media."""
        ...

    def read(self, folder: Path, manifest: Manifest) -> Iterator[ReadRow | Damage]:
        """Read all rows and media."""
        ...

    def media(self, folder: Path, manifest: Manifest) -> Mapping[str, Callable[[], bytes]]:
        """By sha256, what reads one medium of a whole export when it is called; nothing is verified.

        Raises:
            OSError, pyarrow.ArrowException, KeyError, ValueError: The folder is damaged.
        """
        ...


def file_name(media: MediaRef) -> str:
    """How a media file is called in exports: its sha256, and the usual extension of its type."""
    usual = next((extension for extension, types in EXTENSIONS.items() if media.media_type in types), ".bin")
    return f"{media.sha256}{usual}"


def copy_media(blobs: BlobStore, media: MediaRef, folder: Path) -> None:
    """Write verified bytes to `folder` without holding them.

    Raises:
        MissingBlob, DamagedBlob: The project has lost them.
    """
    blobs.verify(media.sha256)
    folder.mkdir(exist_ok=True)
    with blobs.open(media.sha256) as stream, (folder / file_name(media)).open("wb") as target:
        shutil.copyfileobj(stream, target)
