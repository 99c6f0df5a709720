import io
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps, PngImagePlugin

from core.media.errors import DisguisedMedia, TooLarge, UndecodableMedia
from core.media.image import load_image, strip_image
from core.media.limits import MediaLimits
from core.media.probe import probe

FORMATS = ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"]
SECRETS = [b"Snooper", b"SERIAL-1234", b"Model 7", b"ns.adobe.com", b"secret"]
XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><a secret="ns.adobe.com/xap"/></x:xmpmeta>'


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def marked(make_picture, make_exif, format: str, orientation: int | None = None, **more: object) -> bytes:
    """A picture that carries everything that must go."""
    settings: dict[str, object] = {"exif": make_exif(orientation), "xmp": XMP, **more}
    if format == "JPEG":
        settings["comment"] = b"secret"
    if format == "PNG":
        del settings["xmp"]
        settings["pnginfo"] = info = PngImagePlugin.PngInfo()
        info.add_itxt("XML:com.adobe.xmp", XMP.decode())
        info.add_text("Comment", "secret")
    if format == "TIFF":
        del settings["xmp"]
        settings |= {"software": "secret", "description": "secret"}
    return make_picture(format, **settings)


@pytest.mark.parametrize("format", FORMATS)
def test_stripping_removes_who_and_where(make_picture, make_exif, format):
    data = marked(make_picture, make_exif, format)
    assert probe(data).has_metadata
    stripped = strip_image(data)
    assert not [secret for secret in SECRETS if secret in stripped]
    assert not set(Image.open(io.BytesIO(stripped)).getexif()) & {0x010F, 0x0110, 0x8769, 0x8825}
    found = probe(stripped)
    assert not found.has_metadata
    assert found.media_type == probe(data).media_type


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_stripping_leaves_upright_pixels_as_they_are(make_picture, make_exif, format):
    data = marked(make_picture, make_exif, format)
    assert np.array_equal(pixels(strip_image(data)), pixels(data))


def test_stripping_a_jpeg_keeps_its_coded_data(make_picture, make_exif):
    plain = make_picture("JPEG", quality=80, progressive=True)
    assert strip_image(make_picture("JPEG", quality=80, progressive=True, exif=make_exif(), comment=b"x")) == plain


@pytest.mark.parametrize("orientation", range(2, 9))
@pytest.mark.parametrize("format", FORMATS)
def test_stripping_applies_the_orientation_first(make_picture, make_exif, format, orientation):
    data = marked(make_picture, make_exif, format, orientation)
    upright = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")).astype(int)
    stripped = pixels(strip_image(data)).astype(int)
    assert stripped.shape == upright.shape
    # Lossy formats are coded again, and a wrong turn of the gradient would be far off.
    assert np.abs(stripped - upright).mean() < 6
    if format in ("PNG", "TIFF"):
        assert np.array_equal(stripped, upright)
    assert probe(strip_image(data)).rotation_degrees == 0


@pytest.mark.parametrize(
    ("format", "mode"),
    [
        *((format, mode) for format in ("PNG", "TIFF") for mode in ("1", "L", "P", "RGB", "RGBA", "I;16")),
        *(("BMP", mode) for mode in ("1", "L", "P", "RGB", "RGBA")),
        *(("GIF", mode) for mode in ("L", "P", "RGBA")),
        *(("WEBP", mode) for mode in ("RGB", "RGBA")),
    ],
)
def test_stripping_keeps_mode_and_pixels(make_picture, format, mode):
    data = make_picture(format, mode=mode)
    before, after = Image.open(io.BytesIO(data)), Image.open(io.BytesIO(strip_image(data)))
    assert before.mode == after.mode
    assert np.array_equal(np.asarray(before.convert("RGBA")), np.asarray(after.convert("RGBA")))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_stripping_twice_is_stripping_once(make_picture, make_exif, data):
    format = data.draw(st.sampled_from([*FORMATS, "GIF", "BMP"]))
    size = data.draw(st.tuples(st.integers(8, 40), st.integers(8, 40)))
    more: dict[str, object] = {"size": size}
    if format in FORMATS:
        picture = marked(make_picture, make_exif, format, data.draw(st.sampled_from([None, *range(1, 9)])), **more)
    else:
        picture = make_picture(format, **more)
    behind = data.draw(st.binary(max_size=20)) if format in ("JPEG", "PNG", "GIF") else b""
    once = strip_image(picture + behind)
    assert strip_image(once) == once
    assert strip_image(picture + behind) == once


def test_film_behind_a_photo_goes(make_picture, make_film):
    photo, film = make_picture("JPEG"), make_film()
    assert probe(photo + film).has_metadata
    assert strip_image(photo + film) == photo


def test_thumbnail_in_the_jpeg_header_goes(make_picture):
    photo = make_picture("JPEG")
    assert photo[2:4] == b"\xff\xe0"
    thumbnail = b"\1\1" + b"\x99\x88\x77"
    header = photo[6:18] + thumbnail
    with_one = b"\xff\xd8\xff\xe0" + struct.pack(">H", len(header) + 2) + header + photo[20:]
    assert pixels(with_one).shape == (40, 60, 3)
    assert strip_image(with_one) == photo


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
def test_colour_profile_stays(make_picture, make_exif, format):
    from PIL import ImageCms

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for orientation in (1, 6):
        data = make_picture(format, exif=make_exif(orientation), icc_profile=profile)
        assert Image.open(io.BytesIO(strip_image(data))).info["icc_profile"] == profile


def test_animation_keeps_its_frames():
    frames = [Image.new("RGB", (16, 16), colour) for colour in ("red", "lime", "blue")]
    for format in ("GIF", "WEBP", "PNG"):
        buffer = io.BytesIO()
        settings = {"comment": b"secret"} if format == "GIF" else {"lossless": True} if format == "WEBP" else {}
        frames[0].save(buffer, format, save_all=True, append_images=frames[1:], duration=100, loop=0, **settings)
        stripped = strip_image(buffer.getvalue())
        assert b"secret" not in stripped
        shown = Image.open(io.BytesIO(stripped))
        assert shown.n_frames == 3
        shown.seek(2)
        assert shown.convert("RGB").getpixel((0, 0)) == (0, 0, 255)


def test_pages_of_a_tiff_stay():
    pages = [Image.new("L", (9, 9), level) for level in (10, 20)]
    buffer = io.BytesIO()
    pages[0].save(buffer, "TIFF", save_all=True, append_images=pages[1:], software="secret")
    shown = Image.open(io.BytesIO(strip_image(buffer.getvalue())))
    assert shown.n_frames == 2
    shown.seek(1)
    assert shown.getpixel((0, 0)) == 20


@pytest.mark.parametrize("format", FORMATS)
def test_loading_gives_upright_rgb(make_picture, make_exif, format):
    loaded = load_image(make_picture(format, exif=make_exif(6)))
    assert (loaded.mode, loaded.size) == ("RGB", (40, 60))
    # Orientation 6: the corner that was upper left is shown upper right.
    red, green, _ = loaded.getpixel((37, 3))
    assert red > 200
    assert green < 60


def test_loading_lays_transparent_pictures_on_white():
    picture = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    picture.putpixel((1, 0), (10, 20, 30, 255))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    loaded = load_image(buffer.getvalue())
    assert [loaded.getpixel((x, 0)) for x in (0, 1)] == [(255, 255, 255), (10, 20, 30)]


def test_loading_scales_16_bit_greys():
    buffer = io.BytesIO()
    Image.fromarray(np.array([[0, 0x8000, 0xFFFF]], np.uint16)).save(buffer, "PNG")
    assert [load_image(buffer.getvalue()).getpixel((x, 0))[0] for x in range(3)] == [0, 128, 255]


def test_loading_from_a_path(tmp_path, make_picture):
    path = tmp_path / "a.webp"
    path.write_bytes(make_picture("WEBP"))
    assert load_image(path).size == (60, 40)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_picture_with_unreadable_exif_is_taken_as_it_lies(make_picture):
    data = make_picture("JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\x7f")
    assert load_image(data).size == (60, 40)
    assert b"Exif" not in strip_image(data)


def test_what_is_no_picture_is_refused(make_film):
    for function in (load_image, strip_image):
        with pytest.raises(DisguisedMedia):
            function(make_film())
        with pytest.raises(UndecodableMedia):
            function(b"\x89PNG\r\n\x1a\n" + b"\0" * 40)


def test_limits_hold_for_loading_and_stripping(make_picture):
    for function in (load_image, strip_image):
        with pytest.raises(TooLarge):
            function(make_picture("PNG"), MediaLimits(max_pixels=60 * 40 - 1))


def test_heic_becomes_a_jpeg(make_picture, make_exif):
    pytest.importorskip("pi_heif")
    pytest.importorskip("pillow_heif").register_heif_opener()
    data = make_picture("HEIF", exif=make_exif(6))
    stripped = strip_image(data)
    assert probe(stripped).media_type == "image/jpeg"
    assert probe(data).has_metadata
    assert (probe(stripped).width_px, probe(stripped).height_px) == (probe(data).width_px, probe(data).height_px)
    assert b"Snooper" not in stripped
