"""Metadata cut out of files segment by segment, so that the coded picture or sound stays bit for bit what it was.

Each function keeps what is needed to show or play the file and drops everything else: EXIF, XMP, GPS, comments,
thumbnails, cover pictures, provenance records, and whatever is hung on behind the end.
"""

import re
from collections.abc import Callable, Mapping

from core.media import formats
from core.media.formats import Format, id3v2_bytes

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
_ID3V1_BYTES = 128
_APE_FOOTER_BYTES = 32


class BrokenSegments(ValueError):
    """A chain of segments that does not hold together."""


def without_metadata(data: bytes, found: Format) -> bytes | None:
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


def _jpeg(data: bytes) -> bytes:
    """Keeps the JFIF header without its thumbnail, ICC profiles, Adobe's colour transform and all coded data."""
    kept = [b"\xff\xd8"]
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
            kept.append(data[end:at])
    return b"".join([*kept, b"\xff\xd9"])


def _jpeg_payload(marker: int, payload: bytes) -> bytes | None:
    if marker == 0xE0:
        return payload[:12] + b"\0\0" if payload.startswith(b"JFIF\0") else None
    if marker == 0xE2:
        return payload if payload.startswith(b"ICC_PROFILE\0") else None
    if marker == 0xEE:
        return payload if payload.startswith(b"Adobe") else None
    is_application_or_comment = 0xE0 <= marker <= 0xEF or marker == 0xFE
    return None if is_application_or_comment else payload


def _png(data: bytes) -> bytes:
    kept = [data[:8]]
    at = 8
    while at + 12 <= len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        name = data[at + 4 : at + 8]
        if end > len(data):
            raise BrokenSegments(f"chunk {name!r} ends at byte {end}")
        if name in _PNG_KEPT:
            kept.append(data[at:end])
        if name == b"IEND":
            break
        at = end
    return b"".join(kept)


def _riff(data: bytes, kept_names: set[bytes]) -> bytes:
    """A RIFF file of the named chunks alone; the size field of a recording that was never closed stays as it is."""
    kept = []
    at, end_of_file = 12, len(data)
    size_field = data[4:8]
    is_open = int.from_bytes(size_field, "little") in (0, 0xFFFFFFFF)
    if not is_open:
        end_of_file = min(end_of_file, 8 + int.from_bytes(size_field, "little"))
    while at + 8 <= end_of_file:
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        end = min(at + 8 + size + size % 2, len(data))
        if name in kept_names:
            kept.append(data[at:end])
        at = end
    body = b"".join(kept)
    return data[:4] + (size_field if is_open else (len(body) + 4).to_bytes(4, "little")) + data[8:12] + body


def _webp(data: bytes) -> bytes:
    result = bytearray(_riff(data, _WEBP_KEPT))
    if result[12:16] == b"VP8X":
        result[20] &= ~_WEBP_EXIF_AND_XMP & 0xFF
    return bytes(result)


def _wav(data: bytes) -> bytes:
    return _riff(data, _WAV_KEPT)


def _gif(data: bytes) -> bytes:
    at = 13 + _gif_colours(data[10])
    kept = [data[:at]]
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
            kept.append(data[at:end])
        at = end
    return b"".join([*kept, b"\x3b"])


def _gif_colours(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _gif_blocks_end(data: bytes, at: int) -> int:
    while data[at]:
        at += data[at] + 1
    return at + 1


def _tagged_frames(data: bytes) -> bytes:
    """MPEG audio frames without the ID3v2, ID3v1 and APE tags around them."""
    start, end = 0, len(data)
    while length := id3v2_bytes(data[start : start + formats.ID3V2_HEADER_BYTES]):
        start += length
    while (shorter := _without_tail_tag(data, end)) < end:
        end = shorter
    return data[start:end]


def _without_tail_tag(data: bytes, end: int) -> int:
    if data[max(0, end - _ID3V1_BYTES) : end][:3] == b"TAG":
        return end - _ID3V1_BYTES
    footer = data[max(0, end - _APE_FOOTER_BYTES) : end]
    if footer.startswith(b"APETAGEX"):
        has_header = bool(footer[23] & 0x80)
        size = int.from_bytes(footer[12:16], "little") + (_APE_FOOTER_BYTES if has_header else 0)
        return max(0, end - size)
    return end


def _flac(data: bytes) -> bytes:
    while length := id3v2_bytes(data[: formats.ID3V2_HEADER_BYTES]):
        data = data[length:]
    blocks = []
    at, is_last = 4, False
    while not is_last:
        is_last, kind = bool(data[at] & 0x80), data[at] & 0x7F
        end = at + 4 + int.from_bytes(data[at + 1 : at + 4], "big")
        if kind in _FLAC_KEPT:
            blocks.append((kind, data[at + 1 : end]))
        at = end
    heads = [kind | (0x80 if place == len(blocks) else 0) for place, (kind, _) in enumerate(blocks, start=1)]
    kept = [bytes([head]) + rest for head, (_, rest) in zip(heads, blocks, strict=True)]
    return b"".join([b"fLaC", *kept, data[at:]])


_CUTTERS: Mapping[str, Callable[[bytes], bytes]] = {
    formats.JPEG.label: _jpeg,
    formats.PNG.label: _png,
    formats.WEBP.label: _webp,
    formats.GIF.label: _gif,
    formats.WAV.label: _wav,
    formats.MP3.label: _tagged_frames,
    formats.AAC.label: _tagged_frames,
    formats.FLAC.label: _flac,
}
