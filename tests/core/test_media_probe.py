import hashlib
import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from core.content import MediaRef, Modality
from core.media.container import open_container
from core.media.errors import (
    DisguisedMedia,
    EmptyFile,
    MediaError,
    ReferencingMedia,
    TooLarge,
    TruncatedMedia,
    UndecodableMedia,
    UnsupportedMedia,
)
from core.media.formats import Format
from core.media.limits import MediaLimits
from core.media.probe import probe

FILMS = {
    "video/mp4": ("mp4", "libx264", "aac"),
    "video/quicktime": ("mov", "libx264", "pcm_s16le"),
    "video/webm": ("webm", "libvpx-vp9", "libopus"),
    "video/matroska": ("matroska", "libx264", "flac"),
    "video/vnd.avi": ("avi", "mpeg4", "libmp3lame"),
}
SOUNDS = {
    "audio/wav": ("wav", None, "pcm_s16le"),
    "audio/flac": ("flac", None, "flac"),
    "audio/mpeg": ("mp3", None, "libmp3lame"),
    "audio/mp4": ("ipod", None, "aac"),
    "audio/ogg": ("ogg", None, "libopus"),
    "audio/aac": ("adts", None, "aac"),
    "audio/webm": ("webm", None, "libopus"),
    "audio/matroska": ("matroska", None, "flac"),
}
PICTURES = {
    "image/jpeg": "JPEG",
    "image/png": "PNG",
    "image/webp": "WEBP",
    "image/gif": "GIF",
    "image/bmp": "BMP",
    "image/tiff": "TIFF",
    "image/avif": "AVIF",
}


@pytest.mark.parametrize("media_type", FILMS)
def test_film_is_what_was_put_in(make_film, media_type):
    data = make_film(*FILMS[media_type])
    found = probe(data)
    assert (found.media_type, found.modality) == (media_type, Modality.VIDEO)
    assert found.sha256 == hashlib.sha256(data).hexdigest()
    assert (found.width_px, found.height_px, found.frame_count, found.frame_rate_hz) == (64, 48, 10, 10.0)
    assert (found.has_audio, found.sample_rate_hz, found.channel_count) == (True, 48000, 1)
    assert found.duration_s == pytest.approx(1.0, abs=0.11)
    assert found.bit_rate_bps == round(len(data) * 8 / found.duration_s)
    assert found.decode_error_count == 0
    codec = {"libx264": "h264", "libvpx-vp9": "vp9"}.get(FILMS[media_type][1], FILMS[media_type][1])
    assert found.codecs[0] == codec


@pytest.mark.parametrize("media_type", SOUNDS)
def test_sound_is_what_was_put_in(make_film, media_type):
    found = probe(make_film(*SOUNDS[media_type]))
    assert (found.media_type, found.modality) == (media_type, Modality.AUDIO)
    assert (found.sample_rate_hz, found.channel_count, found.width_px, found.frame_count) == (48000, 1, None, None)
    assert found.duration_s == pytest.approx(1.0, abs=0.025)


@pytest.mark.parametrize("media_type", PICTURES)
def test_picture_is_what_was_put_in(make_picture, media_type):
    data = make_picture(PICTURES[media_type])
    found = probe(data)
    assert (found.media_type, found.modality, found.byte_count) == (media_type, Modality.IMAGE, len(data))
    assert (found.width_px, found.height_px, found.frame_count) == (60, 40, 1)
    assert (found.duration_s, found.has_audio, found.has_metadata) == (None, False, False)


def test_silent_film_has_no_sound(make_film):
    found = probe(make_film("mp4", "libx264", None))
    assert (found.has_audio, found.sample_rate_hz, found.duration_s) == (False, None, 1.0)


@pytest.mark.parametrize("media_type", ["audio/mp4", "audio/mpeg", "audio/flac"])
def test_sound_file_with_a_cover_is_sound(make_film, media_type):
    muxer, _, codec = SOUNDS[media_type]
    found = probe(make_film(muxer.replace("ipod", "mp4"), None, codec, cover=True))
    assert (found.modality, found.media_type, found.has_metadata) == (Modality.AUDIO, media_type, True)


def test_media_ref_carries_what_was_found(make_film):
    found = probe(make_film())
    assert found.media_ref() == MediaRef(
        sha256=found.sha256,
        media_type="video/mp4",
        modality=Modality.VIDEO,
        byte_count=found.byte_count,
        duration_s=found.duration_s,
        width_px=64,
        height_px=48,
        sample_rate_hz=48000,
        frame_rate_hz=10.0,
    )


# set_display_rotation counts counter-clockwise, rotation_degrees clockwise.
@pytest.mark.parametrize(
    ("rotation", "degrees", "shown"),
    [
        ((90, False), 270, (48, 64)),
        ((270, False), 90, (48, 64)),
        ((180, False), 180, (64, 48)),
        ((0, True), 0, (64, 48)),
    ],
)
def test_size_of_a_film_is_the_shown_one(make_film, rotation, degrees, shown):
    found = probe(make_film("mp4", "libx264", None, seconds=0.2, rotation=rotation))
    assert (found.width_px, found.height_px) == shown
    assert found.rotation_degrees == degrees


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
@pytest.mark.parametrize(("orientation", "degrees"), [(1, 0), (3, 180), (6, 90), (8, 270)])
def test_size_of_a_picture_is_the_shown_one(make_picture, make_exif, format, orientation, degrees):
    found = probe(make_picture(format, exif=make_exif(orientation)))
    assert (found.width_px, found.height_px) == ((40, 60) if degrees in (90, 270) else (60, 40))
    assert found.rotation_degrees == degrees
    assert found.has_metadata


def test_animation_is_an_image_with_frames(make_picture):
    frames = [Image.new("P", (8, 8), colour) for colour in (1, 2, 3)]
    for format in ("GIF", "WEBP", "PNG"):
        buffer = io.BytesIO()
        frames[0].convert("RGB").save(
            buffer, format, save_all=True, append_images=[f.convert("RGB") for f in (Image.new("RGB", (8, 8), "red"),)]
        )
        found = probe(buffer.getvalue())
        assert (found.modality, found.frame_count, found.duration_s) == (Modality.IMAGE, 2, None)


@pytest.mark.parametrize(
    ("media", "tags"),
    [(("mp4", "libx264", "aac"), {"location": "+39.9-116.4/"}), (("matroska", None, "flac"), {"title": "home"})],
)
def test_tags_of_a_container_are_metadata(make_film, media, tags):
    assert not probe(make_film(*media)).has_metadata
    assert probe(make_film(*media, tags=tags)).has_metadata


def test_empty_file(tmp_path):
    path = tmp_path / "nothing.png"
    path.touch()
    with pytest.raises(EmptyFile, match=r"nothing\.png") as caught:
        probe(path)
    assert caught.value.reason == "empty_file"


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("media_type", [*FILMS, *SOUNDS, *PICTURES])
def test_cut_off_files_are_found(make_film, make_picture, media_type, share):
    if media_type in PICTURES:
        data = make_picture(PICTURES[media_type], size=(200, 150))
    else:
        data = make_film(*(FILMS | SOUNDS)[media_type], seconds=3)
    with pytest.raises(TruncatedMedia):
        probe(data[: int(len(data) * share)])


def test_cut_off_mp4_whose_index_comes_first(make_film):
    data = make_film(seconds=3, options={"moov_size": "8000"})
    assert data.index(b"moov") < data.index(b"mdat")
    probe(data)
    with pytest.raises(TruncatedMedia):
        probe(data[: len(data) // 2])


def test_recording_that_was_never_closed_is_whole(make_film):
    data = bytearray(make_film("wav", None, "pcm_s16le"))
    data[4:8] = b"\xff\xff\xff\xff"
    place = data.index(b"data")
    data[place + 4 : place + 8] = b"\xff\xff\xff\xff"
    assert probe(bytes(data)).duration_s == 1.0


def test_header_that_promises_more_sound_than_there_is(make_film):
    data = bytearray(make_film("flac", None, "flac"))
    # STREAMINFO: the total of samples is in the last 36 bits of bytes 10 to 18 behind the block header (RFC 9639, 8.2).
    data[4 + 4 + 14 : 4 + 4 + 18] = struct.pack(">I", 10 * 48000)
    with pytest.raises(TruncatedMedia, match=r"promises 10\.00 s"):
        probe(bytes(data))


@pytest.mark.parametrize("content", [b"\x00\x01\x02\x03" * 99, b"\xff\xd8\xff\xe0" + b"\x00" * 99])
def test_noise_is_undecodable(content):
    with pytest.raises(UndecodableMedia) as caught:
        probe(content)
    assert caught.value.reason == "undecodable"


def test_file_whose_packets_do_not_decode_is_undecodable(make_film):
    data = bytearray(make_film("matroska", None, "flac"))
    clean = bytes(data)
    body = clean.index(b"\x1f\x43\xb6\x75")  # the first Cluster
    noise = np.random.default_rng(0)
    for place in range(body + 60, len(data) - 200, 97):
        data[place] ^= int(noise.integers(1, 256))
    with pytest.raises(MediaError) as caught:
        probe(bytes(data))
    assert caught.value.reason in ("undecodable", "truncated")


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("song.mp3", lambda film, picture: picture("PNG")),
        ("photo.jpg", lambda film, picture: film("mp4", "libx264", None)),
        ("song.m4a", lambda film, picture: film("mp4", "libx264", "aac")),
        ("clip.avi", lambda film, picture: picture("GIF")),
        ("photo.png", lambda film, picture: b"%PDF-1.7\n..."),
        ("clip.mp4", lambda film, picture: b"<!DOCTYPE html><html><body>Not found</body></html>"),
        ("song.wav", lambda film, picture: b"The dog ate the recording.\n"),
    ],
)
def test_disguised_files_are_told(tmp_path, make_film, make_picture, name, make):
    path = tmp_path / name
    path.write_bytes(make(make_film, make_picture))
    with pytest.raises(DisguisedMedia, match=path.suffix) as caught:
        probe(path)
    assert caught.value.reason == "disguised"


@pytest.mark.parametrize(
    ("name", "format", "mismatch"),
    [("a.jpg", "PNG", True), ("a.jpeg", "JPEG", False), ("a.PNG", "PNG", False), ("a", "PNG", False)],
)
def test_wrong_extension_of_the_right_modality_is_flagged(tmp_path, make_picture, name, format, mismatch):
    path = tmp_path / name
    path.write_bytes(make_picture(format))
    found = probe(path)
    assert (found.media_type, found.extension_mismatch) == (f"image/{format.lower()}", mismatch)


def test_mp4_extension_promises_sound_as_well(tmp_path, make_film):
    path = tmp_path / "song.mp4"
    path.write_bytes(make_film("mp4", None, "aac"))
    assert not probe(path).extension_mismatch


@pytest.mark.parametrize(
    "content",
    [
        b"#EXTM3U\n#EXTINF:9,\nhttp://127.0.0.1:9/x.ts\n#EXT-X-ENDLIST\n",
        b"\xef\xbb\xbf#EXTM3U\nsong.mp3\n",
        b"ffconcat version 1.0\nfile 'a.mp4'\n",
        b"file '/etc/passwd'\n",
        b"[playlist]\nFile1=http://127.0.0.1:9/\n",
        b'<?xml version="1.0"?>\n<!-- c --><svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
        b'<svg width="9"/>',
        b'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"/>',
        b"v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\n",
        b"http://127.0.0.1:9/a.mp4\n",
    ],
)
@pytest.mark.parametrize("name", ["clip.mp4", "list.m3u8", "picture.png"])
def test_lists_of_other_files_are_refused(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ReferencingMedia) as caught:
        probe(path)
    assert caught.value.reason == "referencing"


def test_demuxer_that_is_led_to_another_file_does_not_open_it():
    playlist = io.BytesIO(b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nhttp://127.0.0.1:9/x.ts\n#EXT-X-ENDLIST\n")
    hls = Format("HLS", {Modality.VIDEO: "application/vnd.apple.mpegurl"}, "hls")
    with pytest.raises(ReferencingMedia, match=r"127\.0\.0\.1"):
        open_container(playlist, hls, "clip.mp4", MediaLimits())


def test_film_whose_pictures_lie_in_another_file_is_refused(make_film):
    data = make_film("mov", "libx264", None)
    place = data.index(b"dref")
    # The one entry: size, 'url ', version and flags; flag 1 says 'in this file' (ISO 14496-12, 8.7.2).
    assert data[place + 16 : place + 24] in (b"url \0\0\0\1", b"alis\0\0\0\1")
    outside = struct.pack(">I", 12 + 20) + b"url \0\0\0\0" + b"file:///etc/passwd\0\0"
    grown = bytearray(data[: place + 12] + outside + data[place + 24 :])
    for box in (b"dref", b"dinf", b"minf", b"mdia", b"trak", b"moov"):
        at = grown.rindex(box, 0, place + 4) - 4
        grown[at : at + 4] = struct.pack(">I", struct.unpack(">I", grown[at : at + 4])[0] + 20)
    with pytest.raises(ReferencingMedia, match="another file"):
        probe(bytes(grown))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0" * 50, "pip install"),
        (b"FLV\x01\x05\0\0\0\x09", "Flash"),
        (b"FORM\0\0\0\x10AIFF", "AIFF"),
        (b"%PDF-1.7\n", "PDF"),
    ],
)
def test_known_formats_that_are_not_read_are_named(monkeypatch, content, said):
    monkeypatch.setitem(__import__("sys").modules, "pi_heif", None)
    with pytest.raises(UnsupportedMedia, match=said) as caught:
        probe(content if b"heic" not in content else _closed(content))
    assert caught.value.reason == "unsupported"


def test_heic_is_read_where_its_plugin_is_installed(make_picture):
    pytest.importorskip("pi_heif")
    pytest.importorskip("pillow_heif").register_heif_opener()
    found = probe(make_picture("HEIF"))
    assert (found.media_type, found.width_px, found.height_px) == ("image/heic", 60, 40)


def test_bomb_is_refused_before_it_is_decoded():
    # 50 000 x 50 000 pixels in 70 bytes; decoding it would fail, as there is no pixel in it.
    found = _png_of_size(50_000, 50_000)
    with pytest.raises(TooLarge, match="pixels") as caught:
        probe(found)
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (MediaLimits(max_bytes=1000), "bytes"),
        (MediaLimits(max_pixels=64 * 48 - 1), "pixels"),
        (MediaLimits(max_duration_s=0.9), "s are taken"),
        (MediaLimits(max_streams=1), "streams"),
    ],
)
def test_limits_of_a_film(make_film, limits, said):
    with pytest.raises(TooLarge, match=said):
        probe(make_film(), limits)


def test_limits_are_what_is_still_taken(make_film):
    data = make_film("mp4", "libx264", None)
    probe(data, MediaLimits(max_bytes=len(data), max_pixels=64 * 48, max_duration_s=1.0, max_streams=1))


def test_length_that_no_header_tells_is_bounded_too(make_film):
    with pytest.raises(TooLarge, match="lasts"):
        probe(make_film("adts", None, "aac", seconds=2), MediaLimits(max_duration_s=1.0))


@pytest.mark.parametrize("duration", [float("nan"), float("-inf"), -5.0, 0.0])
def test_odd_durations_in_a_header_do_not_matter(make_film, duration):
    data = bytearray(make_film("matroska", "libx264", None))
    place = data.index(b"\x44\x89\x88")  # Duration, a float of 8 bytes (RFC 9559, 5.1.2.10)
    data[place + 3 : place + 11] = struct.pack(">d", duration)
    assert probe(bytes(data)).duration_s == 1.0


def test_errors_are_one_line_that_names_the_file(tmp_path, make_film):
    path = tmp_path / "clip.mp4"
    path.write_bytes(make_film()[:5000])
    with pytest.raises(MediaError) as caught:
        probe(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_source_may_be_path_or_bytes(tmp_path: Path, make_picture):
    path = tmp_path / "a.png"
    path.write_bytes(make_picture("PNG"))
    assert probe(path) == probe(path.read_bytes())


def _png_of_size(width: int, height: int) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def _closed(heic: bytes) -> bytes:
    """The same beginning, followed by an empty `meta` box, so that it is whole as far as its boxes go."""
    return heic[:24] + struct.pack(">I", 8) + b"meta"
