"""One file made ready for the tables: examined in a guarded process, its bytes stored."""

import errno
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from core.content import Modality
from core.media.errors import MediaError
from core.media.guard import Guard, guard_of_process
from core.media.limits import MediaLimits
from core.media.probe import check_name
from core.media.source import open_source
from curation.entries import Entry, Rejected, printable
from curation.examine import Examination, examine
from curation.filters.thresholds import Thresholds
from warehouse.blobs import BlobStore, sha256_of
from warehouse.tables import Material

RECEIVED = "received"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""What only writing meets: no file that is read is to blame."""


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
    """Makes files ready, none of which is held in memory; without stores it only examines them.

    On a cluster, where no guard can be handed over, each process has one of its own. Working copies are made in folders
    in `incoming`; without it, in the system's own place for such folders.
    """

    limits: MediaLimits
    thresholds: Thresholds
    blobs: BlobStore | None
    originals: BlobStore | None
    guard: Guard | None = None

    incoming: Path | None = None

    def __call__(self, job: Job) -> Unit:
        """Examine one file and store its bytes."""
        try:
            with tempfile.TemporaryDirectory(dir=self.incoming, ignore_cleanup_errors=True) as folder:
                return self._prepared(job, Path(folder))
        except OSError as error:
            return StoreRefused.by(error, "the blob store")

    def _prepared(self, job: Job, folder: Path) -> Unit:
        guard, received = self.guard or guard_of_process(self.limits), folder / RECEIVED
        try:
            examination = guard.run(examine, job.path, folder, self.limits, self.thresholds)
            home = self._home_of(job, examination)
            if home is not None:
                shutil.copyfile(job.path, received)
            is_same = sha256_of(job.path if home is None else received) == job.sha256
        except (MediaError, OSError) as error:
            if isinstance(error, OSError) and error.errno in _NO_ROOM:
                raise
            return _rejected(job.entries[0].origin, job.path, error, folder)
        is_own_copy = examination.main.ref.sha256 == job.sha256
        if not is_same or (job.path in examination.copies and not is_own_copy):
            told = "the file changed while it was read; ingest it again when it is finished"
            return Rejected(job.entries[0].origin, "changed", told)
        if home is not None:
            home.put_file(received, job.sha256)
        if self.blobs is not None:
            for copy, sha256 in examination.named_copies:
                if copy != job.path:
                    self.blobs.put_file(copy, sha256)
        return Prepared(replace(examination, copies=()), is_own_copy or self.originals is not None)

    def _home_of(self, job: Job, examination: Examination) -> BlobStore | None:
        """Where the bytes as received go: where working copies lie if they are one, else where originals are kept."""
        if job.path in examination.copies:
            return self.blobs
        return None if examination.main.ref.sha256 == job.sha256 else self.originals


def identify(entry: Entry, limits: MediaLimits) -> str | Rejected:
    """The sha256 of a file that is not too large, read in pieces."""
    try:
        with open_source(entry.path, limits):
            return sha256_of(entry.path)
    except (MediaError, OSError) as error:
        return _rejected(entry.origin, entry.path, error)


def misnamed(job: Job, material: Material, limits: MediaLimits) -> Rejected | None:
    """Why known bytes are not taken under this name: it promises what they are not."""
    try:
        check_name(job.path, Modality(material.modality), limits)
    except (MediaError, OSError) as error:
        return _rejected(job.entries[0].origin, job.path, error)
    return None


def _rejected(origin: str, path: Path, error: MediaError | OSError, folder: Path | None = None) -> Rejected:
    if isinstance(error, MediaError):
        # The origin stands beside the message wherever it is shown, and where copies are made is nobody's concern.
        told = str(error).removeprefix(f"{path}: ").removeprefix(f"{folder}/")
        return Rejected(origin, error.reason, printable(told))
    return Rejected(origin, "unreadable", f"the file cannot be read: {error.strerror or error}")
