"""Media bytes, stored under their sha256 on any fsspec URL."""

import hashlib
import os
import re
import uuid
from contextlib import AbstractContextManager
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
    """Immutable bytes by content. A put is atomic: a reader sees all the bytes or none, whatever dies when."""

    def __init__(self, url: str) -> None:
        self.url = url
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

    def get(self, sha256: str) -> bytes:
        """The bytes, verified.

        Raises:
            MissingBlob: They are not there.
            DamagedBlob: They are not what was stored.
        """
        try:
            data: bytes = self._fs.cat_file(self._place(sha256))
        except FileNotFoundError as error:
            raise MissingBlob(
                f"blob {sha256} is not in {self.url}; restore it from a backup or ingest it again"
            ) from error
        if hashlib.sha256(data).hexdigest() != sha256:
            raise DamagedBlob(f"blob {sha256} in {self.url} is damaged; delete that file and ingest it again")
        return data

    def open(self, sha256: str) -> AbstractContextManager[IO[bytes]]:
        """A seekable reader for what is too large to hold in memory; does not verify (`verify` does)."""
        if not self.exists(sha256):
            raise MissingBlob(f"blob {sha256} is not in {self.url}; restore it from a backup or ingest it again")
        opened: Any = self._fs.open(self._place(sha256), "rb")
        return opened

    def exists(self, sha256: str) -> bool:
        """Whether bytes of that name are stored."""
        return _SHA256.fullmatch(sha256) is not None and bool(self._fs.exists(self._place(sha256)))

    def verify(self, sha256: str) -> None:
        """Read the stored bytes through without holding them.

        Raises:
            MissingBlob, DamagedBlob: As `get`.
        """
        digest = hashlib.sha256()
        with self.open(sha256) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                digest.update(chunk)
        if digest.hexdigest() != sha256:
            raise DamagedBlob(f"blob {sha256} in {self.url} is damaged; delete that file and ingest it again")

    def remove(self, sha256: str) -> bool:
        """Delete stored bytes for good, as a withdrawal asks for; whether there were any."""
        if not self.exists(sha256):
            return False
        self._fs.rm_file(self._place(sha256))
        return True

    def _place(self, sha256: str) -> str:
        if _SHA256.fullmatch(sha256) is None:  # whatever a request names, no path may leave the store
            raise MissingBlob(f"{sha256!r} is not a sha256 in hex, so no blob has that name; correct it")
        return f"{self._root}/{sha256[:2]}/{sha256}"


def put_whole(filesystem: AbstractFileSystem, place: str, data: bytes) -> None:
    """Write a file on any fsspec store so that readers see all of it or nothing; its folder is made."""
    filesystem.makedirs(filesystem._parent(place), exist_ok=True)
    if isinstance(filesystem, LocalFileSystem):
        write_atomically(Path(place), data)
    else:
        filesystem.pipe_file(place, data)  # object stores make a whole object visible at once


def write_atomically(place: Path, data: bytes) -> None:
    """Write a local file so that it holds all the bytes or does not exist, even when the machine loses power."""
    temporary = place.with_name(f".{place.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)
