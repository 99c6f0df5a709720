"""The media formats that are read, and how each is told from its first bytes, never from its name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from core.content import Modality
from core.media.errors import ReferencingMedia, UndecodableMedia, UnsupportedMedia

HEAD_BYTES = 4096
ID3V2_HEADER_BYTES = 10


@dataclass(frozen=True)
class Format:
    """A format: its name, the media type it has for each modality it can hold, and who reads it.

    `reader` is a Pillow plugin for images and an FFmpeg demuxer for all else; `muxer` is the FFmpeg muxer that writes
    it back.
    """

    label: str
    types: Mapping[Modality, str]
    reader: str
    muxer: str = ""

    @property
    def is_image(self) -> bool:
        """Whether Pillow reads it."""
        return Modality.IMAGE in self.types


@dataclass(frozen=True)
class Foreign:
    """Content that is recognised and not taken; `refers` when it names other files instead of holding media."""

    label: str
    refers: bool = False
    is_media: bool = False


def _image(label: str, media_type: str, reader: str) -> Format:
    return Format(label, {Modality.IMAGE: media_type}, reader)


def _audio(label: str, media_type: str, demuxer: str) -> Format:
    return Format(label, {Modality.AUDIO: media_type}, demuxer)


def _video(label: str, name: str, demuxer: str, muxer: str, audio: str) -> Format:
    return Format(label, {Modality.VIDEO: f"video/{name}", Modality.AUDIO: f"audio/{audio}"}, demuxer, muxer)


JPEG = _image("JPEG", "image/jpeg", "JPEG")
PNG = _image("PNG", "image/png", "PNG")
GIF = _image("GIF", "image/gif", "GIF")
WEBP = _image("WebP", "image/webp", "WEBP")
BMP = _image("BMP", "image/bmp", "BMP")
TIFF = _image("TIFF", "image/tiff", "TIFF")
AVIF = _image("AVIF", "image/avif", "AVIF")
HEIC = _image("HEIC", "image/heic", "HEIF")

# IANA registers audio/vnd.wave, which browsers and model servers do not know.
WAV = _audio("WAV", "audio/wav", "wav")
FLAC = _audio("FLAC", "audio/flac", "flac")
MP3 = _audio("MP3", "audio/mpeg", "mp3")
AAC = _audio("AAC", "audio/aac", "aac")

OGG = _video("Ogg", "ogg", "ogg", "ogg", audio="ogg")
MP4 = _video("MP4", "mp4", "mp4", "mp4", audio="mp4")
# IANA has no audio type for QuickTime, and MP4 is the same family of boxes.
MOV = _video("QuickTime", "quicktime", "mov", "mov", audio="mp4")
WEBM = _video("WebM", "webm", "webm", "webm", audio="webm")
MATROSKA = _video("Matroska", "matroska", "matroska", "matroska", audio="matroska")
AVI = Format("AVI", {Modality.VIDEO: "video/vnd.avi"}, "avi", "avi")

EXTENSIONS: Mapping[str, frozenset[str]] = {
    extension: frozenset(types.split())
    for extensions, types in (
        (".jpg .jpeg .jpe .jfif", "image/jpeg"),
        (".png .apng", "image/png"),
        (".gif", "image/gif"),
        (".webp", "image/webp"),
        (".bmp .dib", "image/bmp"),
        (".tif .tiff", "image/tiff"),
        (".avif .avifs", "image/avif"),
        (".heic .heif .hif", "image/heic"),
        (".wav .wave", "audio/wav"),
        (".flac", "audio/flac"),
        (".mp3", "audio/mpeg"),
        (".aac", "audio/aac"),
        (".m4a .m4b", "audio/mp4"),
        (".oga .opus", "audio/ogg"),
        (".ogg", "audio/ogg video/ogg"),
        (".ogv", "video/ogg"),
        (".mp4", "video/mp4 audio/mp4"),
        (".m4v", "video/mp4"),
        (".mov .qt", "video/quicktime audio/mp4"),
        (".weba", "audio/webm"),
        (".webm", "video/webm audio/webm"),
        (".mka", "audio/matroska"),
        (".mkv", "video/matroska audio/matroska"),
        (".avi", "video/vnd.avi"),
    )
    for extension in extensions.split()
}
"""Extension to the media types that it promises; a container's extension promises sound or picture alike."""

HEIF_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}
QUICKTIME_FIRST_BOXES = {b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"}
BMP_HEADER_BYTES = {12, 40, 52, 56, 64, 108, 124}

_PREFIXES: tuple[tuple[bytes, Format | Foreign], ...] = (
    (b"\xff\xd8\xff", JPEG),
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"GIF87a", GIF),
    (b"GIF89a", GIF),
    (b"II*\0", TIFF),
    (b"MM\0*", TIFF),
    (b"II+\0", TIFF),
    (b"MM\0+", TIFF),
    (b"fLaC", FLAC),
    (b"OggS", OGG),
    (b"%PDF", Foreign("a PDF document")),
    (b"%!PS", Foreign("a PostScript document")),
    (b"PK\x03\x04", Foreign("a zip archive or office document")),
    (b"\x1f\x8b", Foreign("gzip data")),
    (b"7z\xbc\xaf\x27\x1c", Foreign("a 7-Zip archive")),
    (b"Rar!", Foreign("a RAR archive")),
    (b"\x7fELF", Foreign("a program")),
    (b"MZ", Foreign("a program")),
    (b"SQLite format 3\0", Foreign("an SQLite database")),
    (b"FLV\x01", Foreign("Flash video", is_media=True)),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", Foreign("Windows Media", is_media=True)),
    (b"\x00\x00\x01\xba", Foreign("an MPEG program stream", is_media=True)),
    (b"MThd", Foreign("MIDI", is_media=True)),
    (b"#!AMR", Foreign("AMR audio", is_media=True)),
    (b"8BPS", Foreign("a Photoshop picture", is_media=True)),
    (b"\x00\x00\x01\x00", Foreign("an icon", is_media=True)),
    (b"\xff\x0a", Foreign("JPEG XL", is_media=True)),
    (b"\x00\x00\x00\x0cJXL ", Foreign("JPEG XL", is_media=True)),
    (b"\x00\x00\x00\x0cjP  ", Foreign("JPEG 2000", is_media=True)),
)

_LISTS: tuple[tuple[str, str], ...] = (
    (r"#EXTM3U", "an M3U or HLS playlist"),
    (r"ffconcat version", "an ffconcat list"),
    (r"file\s+\S", "a concat list"),
    (r"\[playlist\]", "a PLS playlist"),
    (r"\[InternetShortcut\]", "an internet shortcut"),
    (r"v=0\s+o=", "an SDP session"),
    (r"(https?|rtsp|ftp|file)://", "a list of addresses"),
)
_ROOTS: Mapping[str, Foreign] = {
    "svg": Foreign("an SVG drawing", refers=True),
    "mpd": Foreign("a DASH manifest", refers=True),
    "smil": Foreign("a SMIL presentation", refers=True),
    "asx": Foreign("an ASX playlist", refers=True),
    "html": Foreign("a web page"),
}
_ROOT = re.compile(rf"<(?:\w+:)?({'|'.join(_ROOTS)})\b", re.IGNORECASE)
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def sniff(file: BinaryIO) -> Format | Foreign | None:
    """What the content is, by its first bytes; None when nothing known begins so. Leaves the file at its start."""
    head = _read_at(file, 0, HEAD_BYTES)
    tag_bytes = 0
    while length := id3v2_bytes(head):
        tag_bytes += length
        head = _read_at(file, tag_bytes, HEAD_BYTES)
    file.seek(0)
    found = _by_prefix(head) or _by_container(head) or mpeg_audio(head.lstrip(b"\0"))
    return found or (_by_text(head) if not tag_bytes else None)


def recognise(file: BinaryIO, name: str) -> Format:
    """The format of an open file, by its content.

    Raises:
        ReferencingMedia, UnsupportedMedia, UndecodableMedia: It is none that is read here.
    """
    found = sniff(file)
    if found is None:
        raise UndecodableMedia(f"{name}: its content is no known media format; is the file damaged?")
    if isinstance(found, Foreign):
        raise refusal(found, name)
    return found


def refusal(found: Foreign, name: str) -> ReferencingMedia | UnsupportedMedia:
    """The error for content that is recognised and not taken."""
    if found.refers:
        return ReferencingMedia(f"{name}: {found.label}, which names other files; give the media file itself")
    return UnsupportedMedia(f"{name}: {found.label}, which is not read here; convert it to a common media format")


def id3v2_bytes(head: bytes) -> int:
    """Length of the ID3v2 tag that the bytes begin with, 0 when there is none (ID3v2.4 structure, section 3.1)."""
    if len(head) < ID3V2_HEADER_BYTES or head[:3] != b"ID3" or max(head[6:10]) >= 0x80:
        return 0
    size = head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]
    has_footer = bool(head[5] & 0x10)
    return ID3V2_HEADER_BYTES * (2 if has_footer else 1) + size


def _read_at(file: BinaryIO, offset: int, count: int) -> bytes:
    file.seek(offset)
    return file.read(count)


def _by_prefix(head: bytes) -> Format | Foreign | None:
    return next((found for prefix, found in _PREFIXES if head.startswith(prefix)), None)


def _by_container(head: bytes) -> Format | Foreign | None:
    if head[:4] in (b"RIFF", b"RF64"):
        return {b"WAVE": WAV, b"AVI ": AVI, b"WEBP": WEBP}.get(head[8:12], Foreign("an unknown RIFF file"))
    if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"):
        return Foreign("AIFF audio", is_media=True)
    if head[:4] == b"\x1a\x45\xdf\xa3":
        return _ebml(head)
    if head[4:8] == b"ftyp":
        return _iso(head)
    if head[4:8] in QUICKTIME_FIRST_BOXES:
        return MOV
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in BMP_HEADER_BYTES:
        return BMP
    if head[:1] == b"\x47" and head[188:189] == b"\x47":
        return Foreign("an MPEG transport stream", is_media=True)
    return None


def _ebml(head: bytes) -> Format | Foreign:
    place = head.find(b"\x42\x82")  # DocType, RFC 8794 section 11.2.7
    doctype = head[place + 3 : place + 3 + (head[place + 2] & 0x7F)] if 0 <= place < len(head) - 3 else b""
    found = {b"webm": WEBM, b"matroska": MATROSKA}.get(doctype.rstrip(b"\0"))
    return found or Foreign("an EBML file that is neither Matroska nor WebM")


def _iso(head: bytes) -> Format | Foreign:
    end = min(int.from_bytes(head[:4], "big"), len(head))
    major = head[8:12]
    brands = {major} | {head[at : at + 4] for at in range(16, end - 3, 4)}
    if brands & {b"avif", b"avis"}:
        return AVIF
    if major in HEIF_BRANDS:
        return HEIC
    if major == b"crx ":
        return Foreign("a Canon raw picture", is_media=True)
    return MOV if major == b"qt  " else MP4


def mpeg_audio(head: bytes) -> Format | None:
    """MPEG layer II or III by its frame header (ISO 11172-3, 2.4.1.3), AAC by its ADTS header (ISO 13818-7, 6.2)."""
    if len(head) < 4 or head[0] != 0xFF:
        return None
    if head[1] & 0xF6 == 0xF0:
        return AAC if (head[2] >> 2) & 0xF < 13 else None
    is_sync = head[1] & 0xE0 == 0xE0
    version, layer = (head[1] >> 3) & 3, (head[1] >> 1) & 3
    bit_rate, sample_rate = head[2] >> 4, (head[2] >> 2) & 3
    valid = is_sync and version != 1 and layer in (1, 2) and bit_rate not in (0, 15) and sample_rate != 3
    return MP3 if valid else None


def _by_text(head: bytes) -> Foreign | None:
    if _NOT_TEXT.search(head):
        return None
    text = head.decode("utf-8-sig", errors="replace").lstrip()
    for pattern, label in _LISTS:
        if re.match(pattern, text, re.IGNORECASE):
            return Foreign(label, refers=True)
    if text.startswith("<") and (root := _ROOT.search(text)):
        return _ROOTS[root.group(1).lower()]
    return None if text.count("\ufffd") > 1 else Foreign("plain text")
