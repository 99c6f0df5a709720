"""Media bytes, stored under their sha256 on any fsspec URL."""

import errno
import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Protocol

import fsspec
from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem

from core.errors import InterplayError

CHUNK_BYTES = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")


class MissingBlob(InterplayError):
    """Bytes that the tables name are not in the store."""


class DamagedBlob(InterplayError):
    """Stored bytes whose sha256 is not the one they are stored under."""


class MediaSource(Protocol):
    """Whatever gives bytes by their sha256, verified: a project's store, or an exported folder."""

    def get(self, sha256: str) -> bytes:
        """The bytes.

        Raises:
            MissingBlob: They are not there.
            DamagedBlob: They are not what was stored.
        """
        ...


class BlobStore:
    """Immutable bytes by content. A put is atomic: a reader sees all the bytes or none, whatever dies when.

    `withdrawn_at` tells of bytes that are not there when they were taken back: nobody may be told to restore those.
    """

    def __init__(self, url: str, withdrawn_at: Callable[[str], datetime | None] | None = None) -> None:
        self.url = url
        self._withdrawn_at = withdrawn_at
        self._fs, self._root = fsspec.core.url_to_fs(url)

    @property
    def is_local(self) -> bool:
        """Whether it lies on this machine's file system, where a small file is read at once."""
        return isinstance(self._fs, LocalFileSystem)

    def put(self, data: bytes) -> str:
        """Store bytes; storing them again is nothing. Returns their sha256 in hex."""
        sha256 = hashlib.sha256(data).hexdigest()
        place = self._place(sha256)
        if self._fs.exists(place) and self._fs.size(place) == len(data):
            return sha256
        put_whole(self._fs, place, data)
        return sha256

    @property
    def incoming(self) -> Path | None:
        """Where files are made that `put_file` then only renames; None for a store that is not this machine's."""
        return Path(self._root) / ".incoming" if self.is_local else None

    def put_file(self, file: Path, sha256: str) -> None:
        """Store a file, whose sha256 is known, without holding it; a local store takes the file itself away.

        Nobody may write to it any more. Storing it again is nothing.

        Raises:
            DamagedBlob: The file holds other bytes; they are not stored.
        """
        place, found = self._place(sha256), sha256_of(file)
        if found != sha256:
            raise DamagedBlob(f"{file} was to hold blob {sha256}, but holds {found}; write it again")
        if self._fs.exists(place) and self._fs.size(place) == file.stat().st_size:
            return
        self._fs.makedirs(self._fs._parent(place), exist_ok=True)
        if self.is_local:
            _move_atomically(file, Path(place))
        else:
            self._fs.put_file(str(file), place)  # in pieces; object stores make a whole object visible at once

    def get(self, sha256: str) -> bytes:
        """The bytes, verified.

        Raises:
            MissingBlob: They are not there.
            DamagedBlob: They are not what was stored.
        """
        try:
            data: bytes = self._fs.cat_file(self._place(sha256))
        except FileNotFoundError as error:
            raise self._missing(sha256) from error
        if hashlib.sha256(data).hexdigest() != sha256:
            raise DamagedBlob(f"blob {sha256} in {self.url} is damaged; delete that file and ingest it again")
        return data

    def open(self, sha256: str) -> AbstractContextManager[IO[bytes]]:
        """A seekable reader for what is too large to hold in memory; does not verify (`verify` does)."""
        if not self.exists(sha256):
            raise self._missing(sha256)
        opened: Any = self._fs.open(self._place(sha256), "rb")
        return opened

    def exists(self, sha256: str) -> bool:
        """Whether bytes of that name are stored."""
        return _SHA256.fullmatch(sha256) is not None and bool(self._fs.exists(self._place(sha256)))

    def names(self) -> Iterator[str]:
        """The sha256 of all that is stored, in no order; what lies elsewhere below the URL is another store's."""
        for place in self._fs.find(self._root):
            sha256 = place.rpartition("/")[2]
            if _SHA256.fullmatch(sha256) and place == self._place(sha256):
                yield sha256

    def size_and_time(self, sha256: str) -> tuple[int, datetime]:
        """How many bytes are stored, and when they were.

        Raises:
            MissingBlob: They are not there.
        """
        place = self._place(sha256)
        try:
            return self._fs.size(place), self._fs.modified(place)
        except FileNotFoundError as error:
            raise self._missing(sha256) from error

    def verify(self, sha256: str) -> None:
        """Read the stored bytes through without holding them.

        Raises:
            MissingBlob, DamagedBlob: As `get`.
        """
        with self.open(sha256) as stream:
            found = _digest(stream)
        if found != sha256:
            raise DamagedBlob(f"blob {sha256} in {self.url} is damaged; delete that file and ingest it again")

    def remove(self, sha256: str) -> bool:
        """Delete stored bytes for good, as a withdrawal asks for; whether there were any."""
        if not self.exists(sha256):
            return False
        self._fs.rm_file(self._place(sha256))
        return True

    def __getstate__(self) -> dict[str, Any]:
        # Other machines have no connection to the project's tables.
        return self.__dict__ | {"_withdrawn_at": None}

    def _missing(self, sha256: str) -> MissingBlob:
        moment = self._withdrawn_at(sha256) if self._withdrawn_at else None
        if moment is not None:
            return MissingBlob(
                f"blob {sha256} was withdrawn on {moment:%Y-%m-%d} and is deleted for good; go on without it, and do "
                "not restore it"
            )
        return MissingBlob(f"blob {sha256} is not in {self.url}; restore it from a backup or ingest it again")

    def _place(self, sha256: str) -> str:
        if _SHA256.fullmatch(sha256) is None:  # whatever a request names, no path may leave the store
            raise MissingBlob(f"{sha256!r} is not a sha256 in hex, so no blob has that name; correct it")
        return f"{self._root}/{sha256[:2]}/{sha256}"


def sha256_of(file: Path) -> str:
    """The sha256 of a local file in hex, read in pieces."""
    with file.open("rb") as stream:
        return _digest(stream)


def _digest(stream: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := stream.read(CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def put_whole(filesystem: AbstractFileSystem, place: str, data: bytes) -> None:
    """Write a file on any fsspec store so that readers see all of it or nothing; its folder is made."""
    filesystem.makedirs(filesystem._parent(place), exist_ok=True)
    if isinstance(filesystem, LocalFileSystem):
        write_atomically(Path(place), data)
    else:
        filesystem.pipe_file(place, data)  # object stores make a whole object visible at once


def write_atomically(place: Path, data: bytes) -> None:
    """Write a local file so that it holds all the bytes or does not exist, even when the machine loses power."""
    with appearing(place) as temporary:
        temporary.write_bytes(data)


def _move_atomically(file: Path, place: Path) -> None:
    """Give a local file its place, as `write_atomically` does; from another disk it is copied."""
    with appearing(place) as temporary:
        try:
            file.replace(temporary)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            shutil.copyfile(file, temporary)


@contextmanager
def appearing(place: Path) -> Iterator[Path]:
    """A name for what is made in the block, which has its place once it is on the disk in whole."""
    temporary = place.with_name(f".{place.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)
