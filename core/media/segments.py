"""Metadata cut out of files segment by segment, so that the coded picture or sound stays bit for bit what it was.

Each function keeps what is needed to show or play the file and drops everything else: EXIF, XMP, GPS, comments,
thumbnails, cover pictures, provenance records, and whatever is hung on behind the end. What is kept is told as places
in the file, for hours of sound are not to be held in memory.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import BinaryIO

from core.media import formats
from core.media.formats import Format, id3v2_bytes
from core.media.source import Content

BLOCK_BYTES = 1 << 20

Piece = bytes | range
"""Of a file made from another: new bytes, or where in the other they stand."""

_PNG_KEPT = set(
    b"IHDR PLTE IDAT IEND tRNS cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD hIST pHYs sPLT acTL fcTL fdAT".split()
)
_WEBP_KEPT = {b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP"}
_WEBP_EXIF_AND_XMP = 0x08 | 0x04
_WAV_KEPT = {b"fmt ", b"fact", b"data", b"ds64"}
_GIF_APPLICATIONS_KEPT = {b"NETSCAPE2.0", b"ANIMEXTS1.0", b"ICCRGBG1012"}
_FLAC_KEPT = {0, 3}  # STREAMINFO and SEEKTABLE, RFC 9639 section 8.1
_JPEG_STANDALONE = {0x01, *range(0xD0, 0xD8)}
_JPEG_NEXT_MARKER = re.compile(rb"\xff+([^\x00\xd0-\xd7\xff])")
_MPEG_1_LAYER_2 = (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384)
_MPEG_1_LAYER_3 = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MPEG_2 = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_KILOBITS = {
    (True, False): _MPEG_1_LAYER_2,
    (True, True): _MPEG_1_LAYER_3,
    (False, False): _MPEG_2,
    (False, True): _MPEG_2,
}
"""Whether it is MPEG-1, and whether layer III, to the bit rates that indices 1 to 14 name."""


class BrokenSegments(ValueError):
    """A chain of segments that does not hold together."""


def kept_pieces(data: Content, found: Format) -> list[Piece] | None:
    """The file with all metadata cut out; None for a format that is not made of segments that can be cut.

    Raises:
        BrokenSegments: The chain of segments breaks off.
    """
    cut = _CUTTERS.get(found.label)
    if cut is None:
        return None
    try:
        return cut(data)
    except IndexError as error:
        raise BrokenSegments("a segment ends behind the end of the file") from error


def is_whole(pieces: Sequence[Piece], data: Content) -> bool:
    """Whether the pieces make up the file from which they come, so that nothing was cut out."""
    if sum(map(len, pieces)) != len(data):
        return False
    at = 0
    for piece in pieces:
        is_there = isinstance(piece, range) and piece.start == at
        if not is_there and data[at : at + len(piece)] != _bytes_of(piece, data):
            return False
        at += len(piece)
    return True


def write_pieces(pieces: Iterable[Piece], file: BinaryIO, target: BinaryIO) -> None:
    """Write what the pieces of an open file make up."""
    for piece in pieces:
        if isinstance(piece, bytes):
            target.write(piece)
            continue
        file.seek(piece.start)
        for at in range(piece.start, piece.stop, BLOCK_BYTES):
            target.write(file.read(min(BLOCK_BYTES, piece.stop - at)))


def _bytes_of(piece: Piece, data: Content) -> bytes:
    return piece if isinstance(piece, bytes) else data[piece.start : piece.stop]


def _jpeg(data: Content) -> list[Piece]:
    """Keeps the JFIF header without its thumbnail, ICC profiles, Adobe's colour transform and all coded data."""
    kept: list[Piece] = [b"\xff\xd8"]
    at = 2
    while found := _JPEG_NEXT_MARKER.search(data, at):
        marker, start = found.group(1)[0], found.end()
        if marker == 0xD9:
            break
        if marker in _JPEG_STANDALONE:
            at = start
            continue
        end = start + int.from_bytes(data[start : start + 2], "big")
        if end < start + 2 or end > len(data):
            raise BrokenSegments(f"a segment ends at byte {end}")
        payload = _jpeg_payload(marker, data[start + 2 : end])
        at = end
        if payload is not None:
            kept.append(b"\xff" + bytes([marker]) + (len(payload) + 2).to_bytes(2, "big") + payload)
        if marker == 0xDA:
            following = _JPEG_NEXT_MARKER.search(data, end)
            at = following.start() if following else len(data)
            kept.append(range(end, at))
    return [*kept, b"\xff\xd9"]


def _jpeg_payload(marker: int, payload: bytes) -> bytes | None:
    if marker == 0xE0:
        return payload[:12] + b"\0\0" if payload.startswith(b"JFIF\0") else None
    if marker == 0xE2:
        return payload if payload.startswith(b"ICC_PROFILE\0") else None
    if marker == 0xEE:
        return payload if payload.startswith(b"Adobe") else None
    is_application_or_comment = 0xE0 <= marker <= 0xEF or marker == 0xFE
    return None if is_application_or_comment else payload


def _png(data: Content) -> list[Piece]:
    kept: list[Piece] = [range(8)]
    at = 8
    while at + 12 <= len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        name = data[at + 4 : at + 8]
        if end > len(data):
            raise BrokenSegments(f"chunk {name!r} ends at byte {end}")
        if name in _PNG_KEPT:
            kept.append(range(at, end))
        if name == b"IEND":
            break
        at = end
    return kept


def _riff(data: Content, kept_names: set[bytes]) -> list[Piece]:
    """A RIFF file of the named chunks alone; the size field of a recording that was never closed stays as it is."""
    kept: list[Piece] = []
    at, end_of_file = 12, len(data)
    size_field = data[4:8]
    is_open = int.from_bytes(size_field, "little") in (0, 0xFFFFFFFF)
    if not is_open:
        end_of_file = min(end_of_file, 8 + int.from_bytes(size_field, "little"))
    while at + 8 <= end_of_file:
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        end = min(at + 8 + size + size % 2, len(data))
        if name in kept_names:
            kept.append(range(at, end))
        at = end
    new_field = size_field if is_open else (sum(map(len, kept)) + 4).to_bytes(4, "little")
    return [data[:4] + new_field + data[8:12], *kept]


def _webp(data: Content) -> list[Piece]:
    head, *chunks = _riff(data, _WEBP_KEPT)
    if chunks and _bytes_of(chunks[0], data).startswith(b"VP8X"):
        extended = bytearray(_bytes_of(chunks[0], data))
        extended[8] &= ~_WEBP_EXIF_AND_XMP & 0xFF
        chunks[0] = bytes(extended)
    return [head, *chunks]


def _wav(data: Content) -> list[Piece]:
    return _riff(data, _WAV_KEPT)


def _gif(data: Content) -> list[Piece]:
    at = 13 + _gif_colours(data[10])
    kept: list[Piece] = [range(at)]
    while data[at] in (0x21, 0x2C):
        if data[at] == 0x21:
            end = _gif_blocks_end(data, at + 2)
            is_comment = data[at + 1] == 0xFE
            is_application = data[at + 1] == 0xFF
            keep = not is_comment and (not is_application or data[at + 3 : at + 14] in _GIF_APPLICATIONS_KEPT)
        else:
            end = _gif_blocks_end(data, at + 11 + _gif_colours(data[at + 9]))
            keep = True
        if keep:
            kept.append(range(at, end))
        at = end
    return [*kept, b"\x3b"]


def _gif_colours(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _gif_blocks_end(data: Content, at: int) -> int:
    while data[at]:
        at += data[at] + 1
    return at + 1


def _mp3(data: Content) -> list[Piece]:
    return _frames_alone(data, _mp3_frame_bytes)


def _aac(data: Content) -> list[Piece]:
    return _frames_alone(data, _adts_frame_bytes)


def _frames_alone(data: Content, frame_bytes: Callable[[Content, int], int]) -> list[Piece]:
    """MPEG audio frames without tags and whatever else stands before, between or behind them."""
    kept: list[Piece] = []
    at = 0
    while length := id3v2_bytes(data[at : at + formats.ID3V2_HEADER_BYTES]):
        at += length
    run = at  # where the unbroken run of frames begins that ends at `at`
    while at < len(data):
        end = at + frame_bytes(data, at)
        # Behind something else one header can be chance: it takes a second one where the first frame ends.
        if at < end <= len(data) and (run < at or end == len(data) or frame_bytes(data, end)):
            at = end
            continue
        kept.append(range(run, at))
        following = data.find(b"\xff", at + 1)
        run = at = len(data) if following < 0 else following
    return [*kept, range(run, at)]


def _mp3_frame_bytes(data: Content, at: int) -> int:
    """Length of the frame of layer II or III that begins there, 0 where none does (ISO 11172-3, 2.4.2.3; 13818-3)."""
    if formats.mpeg_audio(data[at : at + 4]) != formats.MP3:
        return 0
    version, layer = (data[at + 1] >> 3) & 3, (data[at + 1] >> 1) & 3
    is_first_version, is_layer_3 = version == 3, layer == 1
    kilobits = _KILOBITS[is_first_version, is_layer_3][(data[at + 2] >> 4) - 1]
    rate_hz = (44100, 48000, 32000)[(data[at + 2] >> 2) & 3] >> {3: 0, 2: 1, 0: 2}[version]
    slots = 144_000 if is_first_version or not is_layer_3 else 72_000
    return slots * kilobits // rate_hz + (data[at + 2] >> 1 & 1)


def _adts_frame_bytes(data: Content, at: int) -> int:
    """Length of the AAC frame that begins there, 0 where none does (ISO 13818-7, 6.2)."""
    if formats.mpeg_audio(data[at : at + 4]) != formats.AAC or at + 6 > len(data):
        return 0
    return int.from_bytes(data[at + 3 : at + 6], "big") >> 5 & 0x1FFF


def _flac(data: Content) -> list[Piece]:
    start = 0
    while length := id3v2_bytes(data[start : start + formats.ID3V2_HEADER_BYTES]):
        start += length
    blocks = []
    at, is_last = start + 4, False
    while not is_last:
        is_last, kind = bool(data[at] & 0x80), data[at] & 0x7F
        end = at + 4 + int.from_bytes(data[at + 1 : at + 4], "big")
        if kind in _FLAC_KEPT:
            blocks.append((kind, data[at + 1 : end]))
        at = end
    heads = [kind | (0x80 if place == len(blocks) else 0) for place, (kind, _) in enumerate(blocks, start=1)]
    kept = [bytes([head]) + rest for head, (_, rest) in zip(heads, blocks, strict=True)]
    return [b"".join([b"fLaC", *kept]), range(at, len(data))]


_CUTTERS: Mapping[str, Callable[[Content], list[Piece]]] = {
    formats.JPEG.label: _jpeg,
    formats.PNG.label: _png,
    formats.WEBP.label: _webp,
    formats.GIF.label: _gif,
    formats.WAV.label: _wav,
    formats.MP3.label: _mp3,
    formats.AAC.label: _aac,
    formats.FLAC.label: _flac,
}
