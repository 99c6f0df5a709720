"""Media as callers hold it: a path, or the bytes themselves."""

import io
from pathlib import Path
from typing import BinaryIO

from core.media.errors import EmptyFile, TooLarge
from core.media.limits import MediaLimits

Source = bytes | Path


def source_name(source: Source) -> str:
    """How error texts name the source."""
    return str(source) if isinstance(source, Path) else f"media of {len(source)} bytes"


def open_source(source: Source, limits: MediaLimits) -> BinaryIO:
    """Open the source for reading, once its size is found to be within the limits.

    Raises:
        EmptyFile: There is not a byte in it.
        TooLarge: There are more bytes than `limits.max_bytes`.
    """
    byte_count = source.stat().st_size if isinstance(source, Path) else len(source)
    if byte_count == 0:
        raise EmptyFile(f"{source_name(source)}: the file is empty; copy it again from where it came")
    if byte_count > limits.max_bytes:
        raise TooLarge(f"{source_name(source)}: {byte_count} bytes, but at most {limits.max_bytes} are taken")
    return source.open("rb") if isinstance(source, Path) else io.BytesIO(source)


def read_source(source: Source, limits: MediaLimits) -> bytes:
    """All bytes of the source.

    Raises:
        EmptyFile, TooLarge: As `open_source`.
    """
    with open_source(source, limits) as file:
        return file.read()
