"""One file made ready for the tables: examined in a guarded process, its bytes stored."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from core.media.errors import MediaError
from core.media.guard import Guard, guard_of_process
from core.media.limits import MediaLimits
from core.media.source import open_source
from curation.entries import Entry, Rejected, printable
from curation.examine import Examination, examine
from curation.filters.thresholds import Thresholds
from warehouse.blobs import BlobStore

BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Job:
    """Files with the same bytes, and names of the same kind."""

    sha256: str
    entries: tuple[Entry, ...]

    @property
    def path(self) -> Path:
        """Where the bytes can be read."""
        return self.entries[0].path


@dataclass(frozen=True)
class Prepared:
    """An examined file whose bytes are stored; `original_kept` when those it was received with can be had again."""

    examination: Examination
    original_kept: bool


@dataclass(frozen=True)
class StoreRefused:
    """The blob store's or disk's own error: it ends the run, for every other file would meet it too."""

    number: int | None
    message: str
    place: str

    @classmethod
    def by(cls, error: OSError, place: object) -> Self:
        """The error, and where it was met if it does not say so itself."""
        return cls(error.errno, error.strerror or str(error), str(error.filename or place))


Unit = Prepared | Rejected | StoreRefused


@dataclass(frozen=True)
class Workbench:
    """Makes files ready; without stores it only examines them.

    On a cluster, where no guard can be handed over, each process has one of its own.
    """

    limits: MediaLimits
    thresholds: Thresholds
    blobs: BlobStore | None
    originals: BlobStore | None
    guard: Guard | None = None

    def __call__(self, job: Job) -> Unit:
        """Examine one file and store its bytes."""
        origin = job.entries[0].origin
        guard = self.guard or guard_of_process(self.limits)
        try:
            examination = guard.run(examine, job.path, self.limits, self.thresholds)
            received = job.path.read_bytes()
        except (MediaError, OSError) as error:
            return _rejected(origin, job.path, error)
        if hashlib.sha256(received).hexdigest() != job.sha256:
            return Rejected(
                origin, "changed", "the file changed while it was read; ingest it again when it is finished"
            )
        try:
            kept = self._store(examination, job.sha256, received)
        except OSError as error:
            return StoreRefused.by(error, "the blob store")
        return Prepared(replace(examination, copies=()), kept)

    def _store(self, examination: Examination, sha256: str, received: bytes) -> bool:
        """Store working copies, and the original where it differs and is to be kept; whether it can be had again."""
        if self.blobs is not None:
            for copy in examination.copies:
                self.blobs.put(copy)
        if examination.main.ref.sha256 == sha256:
            return True
        if self.originals is not None:
            self.originals.put(received)
        return self.originals is not None


def identify(entry: Entry, limits: MediaLimits) -> str | Rejected:
    """The sha256 of a file that is not too large, read in pieces."""
    try:
        with open_source(entry.path, limits) as file:
            digest = hashlib.sha256()
            while block := file.read(BLOCK_BYTES):
                digest.update(block)
            return digest.hexdigest()
    except (MediaError, OSError) as error:
        return _rejected(entry.origin, entry.path, error)


def _rejected(origin: str, path: Path, error: MediaError | OSError) -> Rejected:
    if isinstance(error, MediaError):
        # The origin stands beside the message wherever it is shown.
        return Rejected(origin, error.reason, printable(str(error).removeprefix(f"{path}: ")))
    return Rejected(origin, "unreadable", f"the file cannot be read: {error.strerror or error}")
