"""What a container says of itself, read without a decoder: where it should end, and whether it points elsewhere."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from core.media import formats
from core.media.formats import Format, id3v2_bytes

UNKNOWN_RIFF_SIZE = 0x7FFF0000
"""Recorders that cannot go back to fill in the size write this or more (sox, arecord, FFmpeg into a pipe)."""
RIFF_SLACK_BYTES = 8
OGG_TAIL_BYTES = 1 << 16
MP3_SLACK_BYTES = 1441
"""One frame, the largest there is: encoders differ on whether the frame that holds the count is in it."""
EMPTY_REFERENCE_BYTES = 5
"""Version, flags and an empty name: some writers forget the flag that says 'in this file'."""

_INDEXED_BOXES = {b"moov", b"mdat", b"moof", b"meta"}
_PICTURE_BOXES = {b"ftyp", b"meta", b"mdat", b"moov"}
_TRACK_BOXES = {b"moov", b"trak", b"mdia", b"minf", b"dinf"}

Box = tuple[bytes, int, int]


def missing_tail(file: BinaryIO, found: Format) -> str | None:
    """What the container's own sizes miss at the end of the file, None when nothing is known to be missing."""
    byte_count = file.seek(0, 2)
    slack = 0
    if found in (formats.WAV, formats.AVI, formats.WEBP):
        end, slack = _riff_end(file), 0 if found == formats.WEBP else RIFF_SLACK_BYTES
    elif found in (formats.MP4, formats.MOV, formats.AVIF, formats.HEIC):
        return _iso_missing(file, byte_count)
    elif found in (formats.WEBM, formats.MATROSKA):
        end = _ebml_end(file)
    elif found == formats.OGG:
        end = _ogg_end(file, byte_count)
    elif found == formats.PNG:
        end = _png_end(file, byte_count)
    elif found == formats.MP3:
        end, slack = _mp3_end(file), MP3_SLACK_BYTES
    else:
        return None
    return f"its header promises {end} bytes, the file has {byte_count}" if end > byte_count + slack else None


def is_bare_picture(file: BinaryIO) -> bool:
    """Whether a picture in ISO boxes has the boxes that show it and nothing beside or behind them."""
    byte_count = file.seek(0, 2)
    boxes = list(_boxes(file, 0, byte_count))
    return {name for name, _, _ in boxes} <= _PICTURE_BOXES and boxes[-1][2] == byte_count


def outside_reference(file: BinaryIO, found: Format) -> str | None:
    """Where else a QuickTime or MP4 file says that its media are, None when it holds them (ISO 14496-12, 8.7)."""
    if found not in (formats.MP4, formats.MOV):
        return None
    byte_count = file.seek(0, 2)
    return next(_outside(file, 0, byte_count), None)


def _outside(file: BinaryIO, start: int, end: int) -> Iterator[str]:
    for name, body, body_end in _boxes(file, start, end):
        if name == b"rmra":
            yield "a reference movie"
        elif name == b"cmov":
            yield "a packed index, which may name other files"
        elif name == b"dref":
            for kind, entry, entry_end in _boxes(file, body + 8, min(body_end, end)):
                is_inside = bool(_uint(file, entry, 4) & 1)
                if not is_inside and entry_end > entry + EMPTY_REFERENCE_BYTES:
                    yield f"a {kind.decode('latin-1').strip()!r} reference to another file"
        elif name in _TRACK_BOXES:
            yield from _outside(file, body, min(body_end, end))


def _boxes(file: BinaryIO, start: int, end: int) -> Iterator[Box]:
    """Boxes between two offsets as (type, start of the body, end by its own size); stops at what is no box."""
    while start + 8 <= end:
        size, header = _uint(file, start, 4), 8
        name = file.read(4)
        if size == 1:
            size, header = _uint(file, start + 8, 8), 16
        elif size == 0:
            size = end - start
        if size < header:
            return
        yield name, start + header, start + size
        start += size


def _iso_missing(file: BinaryIO, byte_count: int) -> str | None:
    boxes = list(_boxes(file, 0, byte_count))
    for name, _, end in boxes:
        if name in _INDEXED_BOXES and end > byte_count:
            return f"its {name.decode()!r} box ends at byte {end}, the file at {byte_count}"
    if not {name for name, _, _ in boxes} & {b"moov", b"meta"}:
        return "its index (the 'moov' box) is missing"
    return None


def _riff_end(file: BinaryIO) -> int:
    file.seek(0)
    is_riff = file.read(4) == b"RIFF"
    size = int.from_bytes(file.read(4), "little")
    return size + 8 if is_riff and 0 < size < UNKNOWN_RIFF_SIZE else 0


def _ebml_end(file: BinaryIO) -> int:
    """End of the Segment, 0 when a live recorder left it open (RFC 8794, section 6.2; RFC 9559, section 4.5)."""
    size, body = _vint(file, 4)
    start = body + size
    if _uint(file, start, 4) != 0x18538067:
        return 0
    size, body = _vint(file, start + 4)
    is_open = size == (1 << 7 * (body - start - 4)) - 1
    return 0 if is_open else body + size


def _vint(file: BinaryIO, at: int) -> tuple[int, int]:
    """An EBML variable-size integer, and the offset behind it."""
    first = _uint(file, at, 1)
    length = 9 - first.bit_length()
    value = _uint(file, at, length) & ((1 << 7 * length) - 1)
    return value, at + length


def _ogg_end(file: BinaryIO, byte_count: int) -> int:
    """End of the last page by its segment table (RFC 3533, section 6)."""
    base = max(0, byte_count - OGG_TAIL_BYTES)
    file.seek(base)
    tail = file.read()
    page = tail.rfind(b"OggS")
    if page < 0:
        return 0
    table = tail[page + 27 :]
    segments = tail[page + 26] if len(tail) > page + 26 else 0
    return base + page + 27 + segments + sum(table[:segments])


def _png_end(file: BinaryIO, byte_count: int) -> int:
    """End of the IEND chunk, or of the chunk that should have come next (PNG 3rd edition, section 5.3)."""
    at = 8
    while at + 12 <= byte_count:
        size = _uint(file, at, 4)
        name = file.read(4)
        at += size + 12
        if name == b"IEND":
            return at
    return max(at, byte_count + 12)


def _mp3_end(file: BinaryIO) -> int:
    """End of the audio by the byte count in a Xing or Info header, 0 without one."""
    file.seek(0)
    start = 0
    while length := id3v2_bytes(file.read(10)):
        start += length
        file.seek(start)
    file.seek(start)
    found = re.search(rb"(Xing|Info)\x00\x00\x00(.)", file.read(512), re.DOTALL)
    if not found or not found.group(2)[0] & 2:
        return 0
    has_frames = found.group(2)[0] & 1
    return start + _uint(file, start + found.end() + (4 if has_frames else 0), 4)


def _uint(file: BinaryIO, at: int, length: int) -> int:
    file.seek(at)
    return int.from_bytes(file.read(length), "big")
