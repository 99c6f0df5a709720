"""What a media file really is: its content decoded in full, its name believed in nothing."""

import hashlib
from collections.abc import Generator, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from av.audio.frame import AudioFrame
from av.video.frame import VideoFrame
from PIL import Image
from pydantic import Field

from core.content import Frozen, MediaRef, Modality
from core.media import formats
from core.media.errors import (
    DisguisedMedia,
    ReferencingMedia,
    TooLarge,
    TruncatedMedia,
    UndecodableMedia,
    UnsupportedMedia,
)
from core.media.formats import EXTENSIONS, Foreign, Format, refusal, sniff
from core.media.image import as_rgb, check_pixels, has_picture_metadata, opened_image, orientation, upright
from core.media.limits import DEFAULT_LIMITS, MediaLimits
from core.media.segments import is_whole, kept_pieces
from core.media.source import Source, content_of, open_source, source_name
from core.media.streams import decode_streams
from core.media.structure import missing_tail, outside_reference

BLOCK_BYTES = 1 << 20
Shown = Image.Image | VideoFrame | AudioFrame
Facts = dict[str, Any]
_ROTATION_OF_ORIENTATION = {3: 180, 4: 180, 5: 270, 6: 90, 7: 90, 8: 270}


class MediaProbe(Frozen):
    """What decoding a file has shown.

    Width and height are as shown, after rotation; `rotation_degrees` is the clockwise turn that the file asks for.
    An animated picture stays an image, with its `frame_count` and no duration. `extension_mismatch` is an extension
    that promises another format of the same modality. `bit_rate_bps` is bits of the file a second of its duration.
    """

    sha256: str
    media_type: str
    modality: Modality
    byte_count: int
    duration_s: float | None = None
    width_px: int | None = None
    height_px: int | None = None
    rotation_degrees: int = 0
    sample_rate_hz: int | None = None
    channel_count: int | None = None
    frame_rate_hz: float | None = None
    frame_count: int | None = None
    codecs: tuple[str, ...] = ()
    has_audio: bool = False
    has_metadata: bool = Field(
        description="EXIF, XMP, GPS, tags, covers, chapters, data tracks or user data are present"
    )
    extension_mismatch: bool = False
    bit_rate_bps: int | None = None
    decode_error_count: int = Field(default=0, description="Packets or frames that a decoder passed over")

    def media_ref(self) -> MediaRef:
        """The probed file as questions name it."""
        return MediaRef(**self.model_dump(include=set(MediaRef.model_fields)))


def probe(source: Source, limits: MediaLimits = DEFAULT_LIMITS) -> MediaProbe:
    """Decode a file in full and say what it is.

    Untrusted files should be probed in a worker: `guard.run(probe, path, limits)`.

    Raises:
        EmptyFile: There is not a byte in it.
        DisguisedMedia: Its extension promises one modality, its content is another or no media.
        TruncatedMedia: Its content ends too early.
        UndecodableMedia: It cannot be decoded.
        TooLarge: It goes over the limits.
        UnsupportedMedia: Its format or codec is not read here.
        ReferencingMedia: It names other files or hosts.
    """
    decoding = Decoding(source, limits, is_watched=False)
    for _ in decoding.shown():
        pass
    return decoding.found


def check_name(path: Path, modality: Modality, limits: MediaLimits) -> None:
    """Hold a file's name against what it is known to hold, as `probe` does, without decoding it again.

    Raises:
        DisguisedMedia: Its extension promises another modality.
        MediaError: It cannot be opened.
    """
    extension = path.suffix.lower()
    with open_source(path, limits) as file:
        found = sniff(file)
    label = found.label if found is not None else "media"
    held = set(found.types) if isinstance(found, Format) else {modality}
    promised = EXTENSIONS.get(extension, frozenset())
    _check_promise(promised, extension, held, label, str(path))
    _check_promise(promised, extension, {modality}, f"{label} {modality}", str(path))


class Decoding:
    """A file while it is decoded in full: first what it shows, then what it is, so that one decoding serves both.

        decoding = Decoding(path, limits)
        for frame in decoding.shown():
            ...
        decoding.found

    Args:
        source: Path or bytes.
        limits: Bounds.
        is_watched: Whether anybody looks at what is shown; pictures are not made ready for nobody.
    """

    found: MediaProbe
    """What the file is, once all that it shows was taken."""

    def __init__(self, source: Source, limits: MediaLimits, is_watched: bool = True) -> None:
        self._source, self._limits, self._is_watched = source, limits, is_watched

    def shown(self) -> Iterator[Shown]:
        """An image as `load_image` gives it; of other files the frames of the picture, or of the sound without one.

        Raises:
            MediaError: As `probe`.
        """
        self.found = yield from _decoded(self._source, self._limits, self._is_watched)


def _decoded(source: Source, limits: MediaLimits, is_watched: bool) -> Generator[Shown, None, MediaProbe]:
    name = source_name(source)
    extension = source.suffix.lower() if isinstance(source, Path) else ""
    promised = EXTENSIONS.get(extension, frozenset())
    with open_source(source, limits) as file:
        sha256, byte_count = _digest(file)
        found = _taken(file, promised, extension, name)
        file.seek(0)
        if found.is_image:
            facts = yield from _decode_image(file, found, name, limits, is_watched)
        else:
            facts = yield from _decode_streams(file, found, name, limits)
    media_type = found.types.get(facts["modality"])
    if media_type is None:
        raise UnsupportedMedia(f"{name}: a {found.label} file that holds {facts['modality']} alone; convert it")
    _check_promise(promised, extension, {facts["modality"]}, f"{found.label} {facts['modality']}", name)
    duration_s = facts.get("duration_s")
    return MediaProbe(
        sha256=sha256,
        media_type=media_type,
        byte_count=byte_count,
        extension_mismatch=bool(promised) and media_type not in promised,
        bit_rate_bps=round(byte_count * 8 / duration_s) if duration_s else None,
        **facts,
    )


def _digest(file: BinaryIO) -> tuple[str, int]:
    digest, byte_count = hashlib.sha256(), 0
    while block := file.read(BLOCK_BYTES):
        digest.update(block)
        byte_count += len(block)
    return digest.hexdigest(), byte_count


def _taken(file: BinaryIO, promised: frozenset[str], extension: str, name: str) -> Format:
    """The format of a file that holds together and agrees with its name, as far as can be told without decoding."""
    found = sniff(file)
    if found is None:
        raise UndecodableMedia(f"{name}: its content is no known media format; is the file damaged?")
    if isinstance(found, Foreign):
        if promised and not found.refers and not found.is_media:
            raise DisguisedMedia(f"{name}: named {extension}, but it is {found.label}; give the real file")
        raise refusal(found, name)
    _check_promise(promised, extension, set(found.types), found.label, name)
    if (missing := missing_tail(file, found)) is not None:
        raise TruncatedMedia(f"{name}: the {found.label} file is cut off: {missing}; copy it again")
    if (outside := outside_reference(file, found)) is not None:
        raise ReferencingMedia(f"{name}: it holds {outside}; save it as a self-contained file")
    return found


def _check_promise(promised: frozenset[str], extension: str, held: set[Modality], label: str, name: str) -> None:
    modalities = {media_type.split("/")[0] for media_type in promised}
    if modalities and not modalities & {modality.value for modality in held}:
        raise DisguisedMedia(f"{name}: named {extension}, but it is {label}; give it the right extension")


def _decode_image(
    file: BinaryIO, found: Format, name: str, limits: MediaLimits, is_watched: bool
) -> Generator[Image.Image, None, Facts]:
    with opened_image(file, found, name, limits) as image:
        turn = _ROTATION_OF_ORIENTATION.get(orientation(image), 0)
        shown = upright(image)
        width_px, height_px = shown.size
        if is_watched:
            yield as_rgb(shown)
        del shown
        # The further pictures of a JPEG are previews and gain maps; they are no frames.
        frame_count = 1 if found == formats.JPEG else getattr(image, "n_frames", 1)
        pixel_count = width_px * height_px
        for place in range(1, frame_count):
            image.seek(place)
            check_pixels(image, name, limits)
            pixel_count += image.width * image.height
            if pixel_count > limits.max_animation_pixels:
                most = limits.max_animation_pixels
                raise TooLarge(f"{name}: {frame_count} frames with more than the {most} pixels that are taken; cut it")
            image.load()
        with content_of(file) as data:
            has_metadata = has_picture_metadata(image, data, found)
    return {
        "modality": Modality.IMAGE,
        "width_px": width_px,
        "height_px": height_px,
        "rotation_degrees": turn,
        "frame_count": frame_count,
        "codecs": (found.label.lower(),),
        "has_metadata": has_metadata,
    }


def _decode_streams(
    file: BinaryIO, found: Format, name: str, limits: MediaLimits
) -> Generator[VideoFrame | AudioFrame, None, Facts]:
    facts = asdict((yield from decode_streams(file, found, name, limits)))
    if not found.muxer:
        with content_of(file) as data:
            pieces = kept_pieces(data, found)
            facts["has_metadata"] = pieces is not None and not is_whole(pieces, data)
    return facts
