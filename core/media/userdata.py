"""User data in coded pictures: what cameras and encoders write between them (place, serial number, time, settings).

Only whole messages are cut out, so that every picture decodes to the same pixels. What decoders go by stays: recovery
points, colours, stereo, film grain, and the bare name of an encoder whose faults FFmpeg's decoders undo.
"""

import re
from collections.abc import Callable, Iterator

Cutter = Callable[[bytes], bytes]

_SEI_KEPT = {
    *(0, 1, 2, 6, 19, 45, 47, 129, 130, 131, 132, 137, 144, 147, 148, 149, 150, 151, 154, 155, 156, 165, 176),
}
"""SEI messages (ITU-T H.274 and annex D of H.264 and H.265) that timing, colour, stereo or film grain needs."""
_SEI_UNREGISTERED = 5
_SEI_OF_CODEC = {"h264": {6}, "hevc": {39, 40}}
_UNSPECIFIED_OF_CODEC = {"h264": {0, *range(24, 32)}, "hevc": set(range(48, 62))}
"""NAL units that no standard fills; 62 and 63 in HEVC are Dolby Vision."""
_UUID_BYTES = 16
_SETTINGS = (b"x264 - core ", b"x265 (build ")
_X264_BUILD = re.compile(rb"x264 - core \d{1,4}")
_START_CODE = b"\0\0\1"
_ESCAPE = b"\0\0\3"
_TO_ESCAPE = re.compile(rb"\x00\x00(?=[\x00-\x03])")

_USER_DATA = re.compile(rb"\x00\x00\x01\xb2(.*?)(?=\x00\x00\x01|\Z)", re.DOTALL)
_CODER_NAME = re.compile(
    rb"(DivX\d{1,4}(Build|b)\d{1,5}[A-Za-z]?|XviD\d{1,5}|Lavc\d{1,3}\.\d{1,3}\.\d{1,3}|ffmpeg"
    rb"|FFmpeg\d{0,4}b\d{1,5}|FFmpeg v\d{1,2}\.\d{1,2}\.\d{1,2} / libavcodec build: \d{1,5})\0*"
)

_OBU_METADATA, _OBU_PADDING = 5, 15
_OBU_METADATA_KEPT = {1, 2, 3}  # light levels, mastering display, scalability (AV1, section 6.7.1)
_AV1C_BYTES = 4


class _Broken(ValueError):
    """A chain of units that does not hold together; decoders pass over such packets."""


def cutters(codec: str, setup: bytes | None, keeps_settings: bool = False) -> tuple[Cutter, Cutter] | None:
    """What cuts user data out of a codec's setup (`extradata`), and what out of its packets; None where none is known.

    Args:
        codec: FFmpeg's name of the codec.
        setup: The codec's setup, which tells how the units of a packet are divided.
        keeps_settings: Leave the settings of the encoders x264 and x265, which tell of nobody.
    """
    setup = setup or b""
    if codec in _SEI_OF_CODEC:
        units = _NalUnits(codec, setup, keeps_settings)
        return units.cut_setup, units.cut_packet
    if codec in ("mpeg4", "mpeg2video", "mpeg1video"):
        return _mpeg, _mpeg
    if codec == "av1":
        return (lambda data: data[:_AV1C_BYTES] + _whole(_obus, data[_AV1C_BYTES:])), (lambda data: _whole(_obus, data))
    return None


def _whole(cut: Cutter, data: bytes) -> bytes:
    try:
        return cut(data)
    except (_Broken, IndexError):
        return data


class _NalUnits:
    """H.264 and HEVC: units behind their lengths where the setup is a configuration record, else Annex B."""

    def __init__(self, codec: str, setup: bytes, keeps_settings: bool) -> None:
        self._is_hevc, self._keeps_settings = codec == "hevc", keeps_settings
        self._sei, self._unspecified = _SEI_OF_CODEC[codec], _UNSPECIFIED_OF_CODEC[codec]
        is_record = setup[:3] > _START_CODE if self._is_hevc else setup[:1] == b"\x01"
        place = 21 if self._is_hevc else 4
        self._size = (setup[place] & 3) + 1 if is_record and len(setup) > place else 0

    def cut_setup(self, data: bytes) -> bytes:
        if self._size:
            return _whole(self._record, data) if self._is_hevc else data
        return self._annex_b(data)

    def cut_packet(self, data: bytes) -> bytes:
        return _whole(self._sized, data) if self._size else self._annex_b(data)

    def _sized(self, data: bytes) -> bytes:
        kept, at = [], 0
        while at < len(data):
            unit, at = _sized_unit(data, at, self._size)
            if cut := self._unit(unit):
                kept.append(len(cut).to_bytes(self._size, "big") + cut)
        return b"".join(kept)

    def _annex_b(self, data: bytes) -> bytes:
        head, *units = data.split(_START_CODE)
        kept = [head if not head.strip(b"\0") else b""]
        for unit in units:
            bare = unit.rstrip(b"\0")
            if cut := self._unit(bare):
                kept.append(_START_CODE + cut + unit[len(bare) :])
        return b"".join(kept)

    def _record(self, data: bytes) -> bytes:
        """A configuration record (ISO 14496-15, 8.3.3.1) whose arrays of units are cut like any others."""
        kept, at = [], 23
        for _ in range(data[22]):
            kind, count = data[at : at + 1], int.from_bytes(data[at + 1 : at + 3], "big")
            units, at = [], at + 3
            for _ in range(count):
                unit, at = _sized_unit(data, at, 2)
                if cut := self._unit(unit):
                    units.append(len(cut).to_bytes(2, "big") + cut)
            if units:
                kept.append(kind + len(units).to_bytes(2, "big") + b"".join(units))
        return data[:22] + bytes([len(kept)]) + b"".join(kept)

    def _unit(self, unit: bytes) -> bytes:
        """A unit without what is to go; nothing when that is all of it."""
        if not unit:
            return unit
        kind = unit[0] >> 1 & 0x3F if self._is_hevc else unit[0] & 0x1F
        if kind in self._unspecified:
            return b""
        return self._without_messages(unit, 2 if self._is_hevc else 1) if kind in self._sei else unit

    def _without_messages(self, unit: bytes, header_bytes: int) -> bytes:
        payload = unit[header_bytes:].replace(_ESCAPE, _ESCAPE[:2]).rstrip(b"\0")
        messages = list(_messages(payload))
        kept = [(kind, cut) for kind, body in messages if (cut := self._message(kind, body)) is not None]
        if kept == messages:
            return unit
        if not kept:
            return b""
        coded = b"".join(_ff_coded(kind) + _ff_coded(len(body)) + body for kind, body in kept) + b"\x80"
        return unit[:header_bytes] + _TO_ESCAPE.sub(_ESCAPE, coded)

    def _message(self, kind: int, body: bytes) -> bytes | None:
        if kind != _SEI_UNREGISTERED:
            return body if kind in _SEI_KEPT else None
        if self._keeps_settings and body.startswith(_SETTINGS, _UUID_BYTES):
            return body
        # FFmpeg's decoder undoes a fault of old builds, and would decode other pixels without their number.
        build = _X264_BUILD.match(body, _UUID_BYTES)
        return body[: build.end()] if build else None


def _sized_unit(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    """The unit that stands behind its length there, and where it ends."""
    start = at + size
    end = start + int.from_bytes(data[at:start], "big")
    if end > len(data):
        raise _Broken(f"a unit ends at byte {end}")
    return data[start:end], end


def _messages(payload: bytes) -> Iterator[tuple[int, bytes]]:
    """SEI messages as (type, body); what breaks off in the middle has the type -1."""
    at = 0
    while at < len(payload) and payload[at:] != b"\x80":
        kind, at = _ff_number(payload, at)
        size, at = _ff_number(payload, at)
        if at + size > len(payload):
            yield -1, payload[at:]
            return
        yield kind, payload[at : at + size]
        at += size


def _ff_number(data: bytes, at: int) -> tuple[int, int]:
    start = at
    while data[at : at + 1] == b"\xff":
        at += 1
    return 255 * (at - start) + int.from_bytes(data[at : at + 1], "big"), at + 1


def _ff_coded(number: int) -> bytes:
    return b"\xff" * (number // 255) + bytes([number % 255])


def _mpeg(data: bytes) -> bytes:
    """MPEG-1, -2 and -4 part 2 without user data (ISO 14496-2, 6.2.2.1), but for the names that decoders go by."""
    return _USER_DATA.sub(lambda found: found[0] if _CODER_NAME.fullmatch(found[1]) else b"", data)


def _obus(data: bytes) -> bytes:
    """AV1 without padding and private metadata (AV1 bitstream specification, sections 5.3 and 6.7)."""
    kept, at = [], 0
    while at < len(data):
        kind, has_extension, has_size = data[at] >> 3 & 15, data[at] >> 2 & 1, data[at] >> 1 & 1
        body = at + 1 + has_extension
        size, body = _leb128(data, body) if has_size else (len(data) - body, body)
        end = body + size
        if end > len(data):
            raise _Broken(f"a unit ends at byte {end}")
        is_private = kind == _OBU_METADATA and _leb128(data, body)[0] not in _OBU_METADATA_KEPT
        if not is_private and kind != _OBU_PADDING:
            kept.append(data[at:end])
        at = end
    return b"".join(kept)


def _leb128(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for place in range(8):
        number |= (data[at] & 0x7F) << 7 * place
        at += 1
        if not data[at - 1] & 0x80:
            break
    return number, at
