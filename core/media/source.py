"""Media as callers hold it: a path, or the bytes themselves."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO

from core.media.errors import EmptyFile, MediaError, TooLarge, UnreadableFile
from core.media.limits import MediaLimits

Source = bytes | Path
Content = bytes | mmap
"""All bytes of a file to look into; those of a mapped one are read where they are looked at."""


def source_name(source: Source) -> str:
    """How error texts name the source."""
    return str(source) if isinstance(source, Path) else f"media of {len(source)} bytes"


def open_source(source: Source, limits: MediaLimits) -> BinaryIO:
    """Open the source for reading, once its size is found to be within the limits.

    Raises:
        EmptyFile: There is not a byte in it.
        TooLarge: There are more bytes than `limits.max_bytes`.
        UnreadableFile: There is no such file, or it may not be read.
    """
    try:
        file = source.open("rb") if isinstance(source, Path) else io.BytesIO(source)
    except OSError as error:
        raise UnreadableFile(f"{source_name(source)}: cannot be read ({error.strerror}); check the path") from error
    byte_count = file.seek(0, io.SEEK_END)
    try:
        if byte_count == 0:
            raise EmptyFile(f"{source_name(source)}: the file is empty; copy it again from where it came")
        if byte_count > limits.max_bytes:
            raise TooLarge(f"{source_name(source)}: {byte_count} bytes, but at most {limits.max_bytes} are taken")
    except MediaError:
        file.close()
        raise
    file.seek(0)
    return file


@contextmanager
def content_of(file: BinaryIO) -> Iterator[Content]:
    """The bytes of an open file that is not empty, without reading it; a mapping counts to nobody's own memory."""
    if isinstance(file, io.BytesIO):
        yield file.getvalue()
    else:
        with mmap(file.fileno(), 0, access=ACCESS_READ) as mapped:
            yield mapped


def read_source(source: Source, limits: MediaLimits) -> bytes:
    """All bytes of the source.

    Raises:
        EmptyFile, TooLarge, UnreadableFile: As `open_source`.
    """
    with open_source(source, limits) as file:
        return file.read()
