"""Folders for what is not finished, which nobody takes for anything else and which do not outlast a killed process."""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

LOCK = ".lock"
"""A file, for network file systems lock nothing that is not opened for writing."""


@contextmanager
def scratch_folder(place: Path) -> Iterator[Path]:
    """A new folder in a place for such folders, gone afterwards; what killed processes left in the place goes first."""
    for left in place.glob("*/"):
        with suppress(BlockingIOError, FileNotFoundError), (left / LOCK).open("w") as claimed:
            fcntl.flock(claimed, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
    folder, lock = _locked_folder(place)
    with lock:
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # others are at work there
                place.rmdir()


def _locked_folder(place: Path) -> tuple[Path, IO[str]]:
    while True:
        # Before it is locked, another process may take it for left behind.
        with suppress(FileNotFoundError):
            place.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=place))
            lock = (folder / LOCK).open("w")
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (folder / LOCK).exists():
                return folder, lock
            lock.close()
