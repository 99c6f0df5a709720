"""Pictures through Pillow: opened by their content, upright, and stripped of all that tells who took them where."""

import io
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from PIL import ExifTags, Image, UnidentifiedImageError

from core.media import formats
from core.media.errors import (
    DecoderCrashed,
    DisguisedMedia,
    TooLarge,
    TruncatedMedia,
    UndecodableMedia,
    UnsupportedMedia,
)
from core.media.formats import Format, recognise
from core.media.limits import DEFAULT_LIMITS, MediaLimits
from core.media.segments import Piece, is_whole, kept_pieces, write_pieces
from core.media.source import Content, Source, content_of, open_source, source_name
from core.media.structure import is_bare_picture

REENCODE_QUALITY = 95

_DAMAGE = (
    *(OSError, SyntaxError, ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RuntimeError),
    *(AssertionError, EOFError, struct.error, zlib.error),
)
"""What Pillow's readers let through on damaged files."""

_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""EXIF orientation to what puts the picture upright (CIPA DC-008, tag 0x0112)."""

_TIFF_STRUCTURE = {
    *(
        254,
        255,
        256,
        257,
        258,
        259,
        262,
        266,
        273,
        277,
        278,
        279,
        282,
        283,
        284,
        292,
        293,
        296,
        297,
        317,
        318,
        319,
        320,
    ),
    *(322, 323, 324, 325, 332, 338, 339, 347, 529, 530, 531, 532, 34675),
}


def load_image(source: Source, limits: MediaLimits = DEFAULT_LIMITS) -> Image.Image:
    """The picture as RGB, upright, its first frame if it has several; what shows through is laid on white.

    Raises:
        EmptyFile, DisguisedMedia, UnsupportedMedia, ReferencingMedia, TooLarge, TruncatedMedia, UndecodableMedia: It
            cannot be loaded.
    """
    name = source_name(source)
    with open_source(source, limits) as file, opened_image(file, recognise(file, name), name, limits) as image:
        return as_rgb(upright(image))


def strip_image(source: Source, limits: MediaLimits = DEFAULT_LIMITS) -> bytes:
    """The picture without EXIF, XMP, GPS, comments, thumbnails and anything behind its end; upright as it was meant.

    JPEG, PNG, WebP and GIF that are upright keep their coded data bit for bit. A turned picture, and AVIF with
    metadata, is coded again at quality 95 (WebP that was lossless stays so); TIFF and BMP are written again without
    loss. HEIC becomes JPEG, for want of a writer. Stripping twice gives the same bytes as stripping once.

    Raises:
        As `load_image`.
    """
    buffer = io.BytesIO()
    strip_image_into(buffer, source, limits)
    return buffer.getvalue()


def strip_image_into(target: BinaryIO, source: Source, limits: MediaLimits = DEFAULT_LIMITS) -> None:
    """Write to an empty file what `strip_image` gives.

    Raises:
        As `load_image`.
    """
    name = source_name(source)
    with open_source(source, limits) as file:
        # Written outside of the picture, whose errors are taken for its damage.
        write_pieces(_stripped(file, recognise(file, name), name, limits), file, target)


def _stripped(file: BinaryIO, found: Format, name: str, limits: MediaLimits) -> list[Piece]:
    with content_of(file) as data, opened_image(file, found, name, limits) as image:
        if orientation(image) == 1:
            if (pieces := kept_pieces(data, found)) is not None:
                return pieces
            if found == formats.AVIF and is_bare_picture(file) and not has_picture_metadata(image, data, found):
                return [range(len(data))]
        return [_coded_again(image, data, found)]


def has_picture_metadata(image: Image.Image, data: Content, found: Format) -> bool:
    """Whether a picture carries EXIF, XMP, GPS, comments, a thumbnail or something behind its end."""
    pieces = kept_pieces(data, found)
    if pieces is not None:
        return not is_whole(pieces, data)
    if found == formats.TIFF:
        return bool(set(image.getexif()) - _TIFF_STRUCTURE)
    return bool(set(image.getexif()) - {ExifTags.Base.Orientation} or image.info.get("xmp"))


@contextmanager
def opened_image(file: BinaryIO, found: Format, name: str, limits: MediaLimits) -> Iterator[Image.Image]:
    """Open a picture whose format is known with that reader alone, its size checked before anything is decoded.

    Errors of Pillow inside the block come out as ours.

    Raises:
        DisguisedMedia: It is no picture.
        UnsupportedMedia: HEIC, and the plugin for it is not installed.
        TooLarge: More pixels than `limits.max_pixels`.
        TruncatedMedia, UndecodableMedia: Pillow cannot read it.
    """
    if not found.is_image:
        raise DisguisedMedia(f"{name}: {found.label} sound or video where a picture is needed")
    if found == formats.HEIC:
        _register_heic(name)
    try:
        with Image.open(file, formats=(found.reader,)) as image:
            check_pixels(image, name, limits)
            yield image
    except Image.DecompressionBombError as error:
        raise TooLarge(f"{name}: {error}") from error
    except MemoryError as error:
        raise DecoderCrashed(f"{name}: decoding needs more memory than there is; scale the picture down") from error
    except UnidentifiedImageError as error:
        raise UndecodableMedia(
            f"{name}: begins like {found.label}, but is damaged, or of a kind that is not read here; save it as PNG"
        ) from error
    except _DAMAGE as error:
        raise _damage(error, found, name) from error


def check_pixels(image: Image.Image, name: str, limits: MediaLimits) -> None:
    """Refuse a picture, or a frame of it, that is too large to decode.

    Raises:
        TooLarge: More pixels than `limits.max_pixels`.
    """
    width_px, height_px = image.size
    if width_px * height_px > limits.max_pixels:
        raise TooLarge(
            f"{name}: {width_px} x {height_px} pixels, but at most {limits.max_pixels} are taken; scale it down"
        )


def orientation(image: Image.Image) -> int:
    """EXIF orientation, 1 to 8; 1 when there is none or it cannot be read. To be asked before the pixels are loaded."""
    try:
        value = image.getexif().get(ExifTags.Base.Orientation, 1)
    except _DAMAGE:
        return 1
    return value if value in _UPRIGHT else 1


def upright(image: Image.Image) -> Image.Image:
    """The current frame, decoded and turned as its orientation says; the image itself where nothing turns."""
    method = _UPRIGHT.get(orientation(image))
    image.load()
    # Pillow turns TIFF itself while it loads.
    return image if method is None or image.format == "TIFF" else image.transpose(method)


def as_rgb(image: Image.Image) -> Image.Image:
    """A copy in RGB; what shows through is laid on white."""
    if image.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        over = image.convert("RGBA")
        white = Image.new("RGBA", over.size, "white")
        return Image.alpha_composite(white, over).convert("RGB")
    return image.convert("RGB")


def _damage(error: Exception, found: Format, name: str) -> TruncatedMedia | UndecodableMedia:
    said = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, EOFError) or "truncat" in said.lower():
        return TruncatedMedia(f"{name}: the {found.label} data break off ({said}); copy the file again")
    return UndecodableMedia(f"{name}: damaged {found.label} data ({said})")


def _register_heic(name: str) -> None:
    try:
        from pi_heif import register_heif_opener
    except ImportError as error:
        raise UnsupportedMedia(
            f"{name}: HEIC needs the 'heic' extra (pip install 'interplay[heic]'), or convert it to JPEG"
        ) from error
    register_heif_opener()


def _coded_again(image: Image.Image, data: Content, found: Format) -> bytes:
    profile = image.info.get("icc_profile")
    settings, target = _save_settings(data, found)
    frames = []
    durations_ms = []
    count = 1 if target == "JPEG" else getattr(image, "n_frames", 1)
    for place in range(count):
        image.seek(place)
        frames.append(_bare(upright(image), target))
        durations_ms.append(image.info.get("duration", 0))
    if count > 1:
        settings |= {"save_all": True, "append_images": frames[1:]}
        if found != formats.TIFF:
            settings["duration"] = durations_ms
    if profile and target != "BMP":
        settings["icc_profile"] = profile
    buffer = io.BytesIO()
    frames[0].save(buffer, target, **settings)
    return buffer.getvalue()


def _save_settings(data: Content, found: Format) -> tuple[dict[str, Any], str]:
    if found in (formats.JPEG, formats.HEIC):
        return {"quality": REENCODE_QUALITY}, "JPEG"
    if found == formats.WEBP:
        return {"quality": REENCODE_QUALITY, "lossless": data.find(b"VP8L") >= 0, "exact": True}, "WEBP"
    if found == formats.AVIF:
        return {"quality": REENCODE_QUALITY, "max_threads": 1}, "AVIF"
    if found == formats.TIFF:
        return {"compression": "tiff_adobe_deflate"}, "TIFF"
    return {}, found.reader


def _bare(image: Image.Image, target: str) -> Image.Image:
    """The pixels with their palette and transparency, and nothing else that Pillow would write back."""
    bare = image.convert("RGB") if target == "JPEG" and image.has_transparency_data else image.copy()
    bare.info = {key: value for key, value in image.info.items() if key == "transparency" and target != "JPEG"}
    return bare
