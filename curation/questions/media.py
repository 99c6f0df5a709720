"""Media of public questions: found, decoded in guarded processes, stripped, stored; they are no materials."""

import base64
import binascii
import io
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.content import MediaRef, Modality
from core.media.audio import strip_container
from core.media.errors import MediaError
from core.media.formats import Format, sniff
from core.media.guard import Guard
from core.media.image import strip_image
from core.media.limits import MediaLimits
from core.media.probe import probe
from core.media.source import Source, read_source, source_name
from core.media.video import demux
from curation.entries import leads_out, printable
from curation.questions.importers.base import BadRecord, Given
from warehouse.blobs import BlobStore

INLINE_BYTES = 256 << 20
"""The largest medium that a record itself may hold."""
LONGEST_INDEX = 64
"""Characters: a shorter text for a medium is a path or the index of another row (VLMEvalKit's own bound)."""
_LONGEST_PATH = 4096
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+")


@dataclass(frozen=True)
class Stored:
    """Working copies: of a film the muted picture, with its sound, which starts `offset_s` after it, if it has one."""

    main: MediaRef
    sound: MediaRef | None = None
    offset_s: float = 0.0


@dataclass(frozen=True)
class StoreRefused:
    """The blob store's own error: it ends the run, for every other medium would meet it too."""

    error: OSError


def is_inline(text: str) -> bool:
    """Whether a text holds a medium in base64, and is no path: what its beginning decodes to begins like a medium.

    No path is longer than 4,096 characters, so a longer text without an ending is meant to be one.
    """
    text = text.strip()
    if text.startswith("data:") or (len(text) > _LONGEST_PATH and "." not in text):
        return True
    begun = _BASE64.match(text[:_LONGEST_PATH])
    if len(text) <= LONGEST_INDEX or begun is None:
        return False
    head = "".join(begun[0].split())
    return isinstance(sniff(io.BytesIO(base64.b64decode(head[: len(head) // 4 * 4]))), Format)


def parts_of(text: str) -> list[str]:
    """The media that one text names or holds: several stand in brackets, as Python or JSON writes lists."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return [text] if text else []
    return [part for part in re.split(r"[\s,'\"]+", text.strip("[]")) if part]


def from_base64(text: str) -> bytes:
    """Media that stand in a record as base64, with or without a `data:` head.

    Raises:
        BadRecord: It is not base64, or too large.
    """
    head, comma, rest = text.partition(",")
    written = rest if comma and head.startswith("data:") else text
    if len(written) * 3 // 4 > INLINE_BYTES:
        raise BadRecord("too_large", f"a medium of {len(written) * 3 // 4} bytes, at most {INLINE_BYTES} are taken")
    try:
        return base64.b64decode("".join(written.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRecord("broken_base64", f"a medium is no base64 ({error})") from error


def from_value(name: str, value: Any, sound: bool = True) -> Given:
    """A medium as tables hold it: bytes, a struct of bytes and path, or a text that is a path or base64.

    Raises:
        BadRecord: It is none of these, empty, or too large.
    """
    if isinstance(value, Mapping):
        held, path = value.get("bytes"), value.get("path")
        value = held if held is not None else path
    if isinstance(value, str) and is_inline(value):
        value = from_base64(value)
    if isinstance(value, str) and value.strip():
        return Given(name, paths=(value.strip(),), sound=sound)
    if not isinstance(value, bytes) or not value:
        raise BadRecord("missing_media", f"{name} holds neither bytes nor a path")
    if len(value) > INLINE_BYTES:
        raise BadRecord("too_large", f"{name} has {len(value)} bytes, at most {INLINE_BYTES} are taken")
    return Given(name, data=value, sound=sound)


def source_of(given: Given, folder: Path) -> Source:
    """The bytes of a medium, or the file in the folder that holds them.

    Raises:
        BadRecord: No file is there, or it lies outside the folder.
    """
    if given.data is not None:
        return given.data
    for written in given.paths:
        try:
            path = _inside(written, folder)
            if path.is_file():
                return path
            if path.exists():
                raise BadRecord("not_a_file", f"{printable(written)!r} is no ordinary file")
        except OSError as error:
            why = f"{printable(written)[:80]!r} cannot be looked up ({error.strerror})"
            raise BadRecord("bad_path", why) from error
    raise BadRecord("missing_media", f"there is no file {printable(given.paths[0])[:200]!r}")


def _inside(written: str, folder: Path) -> Path:
    """A path of a record; neither its words nor its links may lead out of the folder."""
    if "\0" in written or "\\" in written:
        raise BadRecord("bad_path", f"{printable(written)[:200]!r} is no path")
    root = os.path.realpath(folder)
    place = Path(os.path.normpath(Path(root) / written))
    if Path(written).is_absolute() or not place.is_relative_to(root):
        raise BadRecord("outside_folder", f"{printable(written)[:200]!r} leads out of the folder of media")
    if leads_out(place, Path(root)):
        raise BadRecord(
            "outside_folder", f"{printable(written)[:200]!r} is a link that leads out of the folder of media"
        )
    return place


def working_copies(source: Source, limits: MediaLimits) -> tuple[tuple[bytes, ...], float]:
    """Stripped copies of a medium, probed in full: of a film its muted picture and its sound, with the sound's offset.

    Raises:
        MediaError: It cannot be taken; the class says why.
    """
    match probe(source, limits).modality:
        case Modality.IMAGE:
            return (strip_image(read_source(source, limits), limits),), 0.0
        case Modality.AUDIO:
            return (strip_container(source, limits),), 0.0
        case _:
            parts = demux(source, limits)
            copies = (parts.muted_video,) if parts.audio is None else (parts.muted_video, parts.audio)
            return copies, parts.offset_s


def _examined(source: Source, limits: MediaLimits) -> tuple[tuple[bytes, ...], tuple[MediaRef, ...], float]:
    copies, offset_s = working_copies(source, limits)
    return copies, tuple(probe(copy, limits).media_ref() for copy in copies), offset_s


@dataclass(frozen=True)
class Bench:
    """Examines a medium in a guarded process and stores its working copies; without a store it only examines."""

    guard: Guard
    limits: MediaLimits
    blobs: BlobStore | None

    def __call__(self, source: Source) -> Stored | BadRecord | StoreRefused:
        """What the medium is, or why it cannot be taken."""
        try:
            copies, refs, offset_s = self.guard.run(_examined, source, self.limits)
        except MediaError as error:
            where = printable(source.name) if isinstance(source, Path) else "a medium in the record"
            told = str(error).removeprefix(f"{source_name(source)}: ")
            return BadRecord(error.reason, f"{where}: {printable(told)}")
        except OSError as error:
            return BadRecord("unreadable", f"{printable(str(source))} cannot be read ({error.strerror})")
        try:
            for copy in copies if self.blobs is not None else ():
                assert self.blobs is not None
                self.blobs.put(copy)
        except OSError as error:
            return StoreRefused(error)
        return Stored(refs[0], refs[1] if len(refs) > 1 else None, offset_s)
