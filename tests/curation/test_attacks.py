"""Hostile files through `interplay material ingest`: each costs itself alone, and nothing of it comes into the library."""

import importlib
import io
import json
import os
import socket
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import PngImagePlugin
from sqlmodel import select
from typer.testing import CliRunner

from core.media.audio import load_audio, strip_container
from core.media.errors import ReferencingMedia, TooLarge
from core.media.limits import MediaLimits
from core.media.probe import probe
from curation.cli import app
from curation.entries import origin_of
from curation.manifest import BadManifest, read_manifest
from interplay.cli import app as whole_app
from warehouse.tables import IngestFailure, MaterialSource, Run
from warehouse.workspace import open_workspace

PAYLOAD = b"PAYLOAD-of-the-other-part"
HTML = b"<!DOCTYPE html><html><script>/*" + PAYLOAD + b"*/</script></html>"


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("run.js", PAYLOAD)
    return buffer.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "given"
    place.mkdir()
    return place


@pytest.fixture
def stored(project: Path) -> Callable[[], list[bytes]]:
    """All working copies of the project."""

    def read() -> list[bytes]:
        places = [path for path in (project / "blobs").rglob("*") if path.is_file()]
        return [path.read_bytes() for path in places if "originals" not in path.parts]

    return read


# --- bombs


def png_chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width: int, height: int, *more: bytes) -> bytes:
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    body = png_chunk(b"IDAT", zlib.compress(bytes((min(width, 64) + 1) * min(height, 64))))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(more) + body + png_chunk(b"IEND", b"")


def gif_of_frames(count: int, side: int) -> bytes:
    head = b"GIF89a" + struct.pack("<HH", side, side) + b"\x80\0\0" + bytes(6)
    frame = b"\x2c" + struct.pack("<HHHH", 0, 0, 1, 1) + b"\0\x02\x02\x44\x01\0"
    return head + frame * count + b";"


def tiff_of(width: int, height: int) -> bytes:
    """A TIFF whose one strip, packed as in a zip file, is small and promises a picture that is not."""
    strip = zlib.compress(bytes(100_000), 9)
    tags = [(256, 4, width), (257, 4, height), (258, 3, 8), (259, 3, 8), (262, 3, 1), (273, 4, 8), (278, 4, height)]
    tags.append((279, 4, len(strip)))
    entries = b"".join(
        struct.pack("<HHI", tag, kind, 1) + (struct.pack("<I", value) if kind == 4 else struct.pack("<HH", value, 0))
        for tag, kind, value in tags
    )
    return b"II*\0" + struct.pack("<I", 8 + len(strip)) + strip + struct.pack("<H", len(tags)) + entries + bytes(4)


def flac_of_hours() -> bytes:
    """Its header promises 300 hours of sound."""
    streaminfo = struct.pack(">HH", 4096, 4096) + bytes(6)
    streaminfo += ((48000 << 44) | (0 << 41) | (15 << 36) | (300 * 3600 * 48000)).to_bytes(8, "big") + bytes(16)
    return b"fLaC\x80" + len(streaminfo).to_bytes(3, "big") + streaminfo + b"\xff\xf8" + bytes(200)


def film_of_bombs() -> bytes:
    """A film whose one picture is a PNG file that unpacks to 400 million pixels; its container says 64 x 64."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mov") as out:
        stream = out.add_stream("png", rate=1)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "gray"
        packet = av.Packet(png(20_000, 20_000))
        packet.stream, packet.pts, packet.dts, packet.time_base = stream, 0, 0, Fraction(1, 1)
        packet.duration, packet.is_keyframe = 1, True
        out.mux(packet)
    return buffer.getvalue()


BOMBS = {
    "pixels.png": lambda media: png(60_000, 60_000),
    "text.png": lambda media: png(64, 64, png_chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(30_000_000), 9))),
    "profile.png": lambda media: png(64, 64, png_chunk(b"iCCP", b"p\0\0" + zlib.compress(bytes(30_000_000), 9))),
    "frames.gif": lambda media: gif_of_frames(5000, 9000),
    "strip.tif": lambda media: tiff_of(60_000, 60_000),
    "hours.flac": lambda media: flac_of_hours(),
    "sides.mov": lambda media: film_of_bombs(),
}


def test_bombs_cost_themselves_alone(folder, project, media, call):
    for name, make in BOMBS.items():
        (folder / name).write_bytes(make(media))
    (folder / "photo.jpg").write_bytes(media.coded(media.photo(1)))
    report = call("ingest", folder, project=project)
    assert [Path(one["origin"]).name for one in report["taken"]] == ["photo.jpg"]
    reasons = {Path(one["origin"]).name: one["reason"] for one in report["failures"]}
    assert reasons == {
        "pixels.png": "too_large",
        "text.png": "undecodable",
        "profile.png": "undecodable",
        "frames.gif": "too_large",
        "strip.tif": "too_large",
        "hours.flac": "too_large",
        "sides.mov": "truncated",  # its decoder refuses the picture before it makes room for it
    }


def test_an_animation_may_have_many_frames_as_long_as_they_are_small():
    few = MediaLimits(max_animation_pixels=100 * 16 * 16)
    assert probe(gif_of_frames(100, 16), few).frame_count == 100
    with pytest.raises(TooLarge, match="101 frames"):
        probe(gif_of_frames(101, 16), few)


# --- references to elsewhere


@pytest.fixture
def nobody_is_called(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A port on loopback where a decoder that follows a reference would show."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server.getsockname()[1]
        with pytest.raises(BlockingIOError):
            server.accept()


def lists_and_drawings(port: int) -> dict[str, bytes]:
    url = f"http://127.0.0.1:{port}/a.ts".encode()
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><image href="%s"/></svg>' % url
    return {
        "hls.mp4": b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n" + url + b"\n#EXT-X-ENDLIST\n",
        "concat.mp4": b"ffconcat version 1.0\nfile '" + url + b"'\n",
        "list.mkv": b"file '" + url + b"'\n",
        "drawing.jpg": svg,
        "drawing.png": b'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + svg,
        "dash.webm": b'<?xml version="1.0"?><MPD><BaseURL>' + url + b"</BaseURL></MPD>",
        "outside.mov": None,
        "movie of movies.mov": struct.pack(">I", 8 + 8 + 8 + 8) + b"moov" + struct.pack(">I", 24) + b"rmra" + bytes(16),
    }


def with_outside_reference(film: bytes, url: bytes) -> bytes:
    """A film whose only data reference names a URL (ISO 14496-12, 8.7.2)."""
    place = film.index(b"dref")
    entry = struct.pack(">I", 12 + len(url) + 1) + b"url \0\0\0\0" + url + b"\0"
    grown = bytearray(film[: place + 12] + entry + film[place + 24 :])
    for box in (b"dref", b"dinf", b"minf", b"mdia", b"trak", b"moov"):
        at = grown.rindex(box, 0, place + 4) - 4
        grown[at : at + 4] = struct.pack(">I", struct.unpack(">I", grown[at : at + 4])[0] + len(url) + 1)
    return bytes(grown)


def test_lists_drawings_and_references_are_refused_and_nothing_is_opened(
    folder, project, media, call, nobody_is_called, stored
):
    files = lists_and_drawings(nobody_is_called)
    silent = media.film(media.cartoon(1, seconds=1))
    files["outside.mov"] = with_outside_reference(silent, f"http://127.0.0.1:{nobody_is_called}/a.mov".encode())
    for name, data in files.items():
        (folder / name).write_bytes(data)
    report = call("ingest", folder, project=project, exit_code=2)
    reasons = {Path(one["origin"]).name: one["reason"] for one in report["failures"]}
    assert reasons == dict.fromkeys(files, "referencing")
    assert stored() == []


def test_a_packed_index_cannot_hide_a_reference(nobody_is_called, media):
    """QuickTime may keep its index compressed (`cmov`), where a look at the boxes does not see what it names."""
    film = with_outside_reference(
        media.film(media.cartoon(1, seconds=1)), f"http://127.0.0.1:{nobody_is_called}/a.mov".encode()
    )
    start = film.index(b"moov") - 4
    end = start + struct.unpack(">I", film[start : start + 4])[0]
    moov = film[start:end]
    packed = zlib.compress(moov)

    def box(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body) + 8) + name + body

    cmov = box(b"moov", box(b"cmov", box(b"dcom", b"zlib") + box(b"cmvd", struct.pack(">I", len(moov)) + packed)))
    with pytest.raises(ReferencingMedia, match="packed index"):
        probe(film[:start] + cmov + film[end:])


def test_matroska_with_attachments_and_links_to_other_files_gives_them_up(folder, project, media, call, stored):
    """Attached files go, and so do the ids by which a segment names the ones before and after it (RFC 9559, 5.1.2)."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="matroska") as out:
        picture = out.add_stream("mpeg4", rate=10)
        picture.width, picture.height, picture.pix_fmt = 320, 240, "yuv420p"
        out.add_attachment("run.js", "text/javascript", PAYLOAD)
        for place, image in enumerate(media.cartoon(1)):
            frame = av.VideoFrame.from_image(image)
            frame.pts, frame.time_base = place, Fraction(1, 10)
            out.mux(picture.encode(frame))
        out.mux(picture.encode(None))
    data = buffer.getvalue()
    # The Void element that the muxer leaves in front of the segment's Info makes room for more in that.
    linking = b"\x3e\xb9\x23\x90" + b"\x11" * 16 + b"\x3e\x83\xbb\x99" + b"/etc/passwd.mkv".ljust(25, b"x")
    void, info = data.index(b"\xec"), data.rindex(b"\x15\x49\xa9\x66") + 4
    void_width, void_size = ebml_size(data, void + 1)
    width, size = ebml_size(data, info)
    assert void + 1 + void_width + void_size == info - 4
    linked = data[: void + 1] + (void_size - len(linking) | 1 << 7 * void_width).to_bytes(void_width, "big")
    linked += (
        bytes(void_size - len(linking))
        + data[info - 4 : info]
        + (size + len(linking) | 1 << 7 * width).to_bytes(width, "big")
    )
    linked += linking + data[info + width :]
    assert len(linked) == len(data)
    (folder / "linked.mkv").write_bytes(linked)
    (folder / "attached.mkv").write_bytes(data)
    assert PAYLOAD in data
    assert b"/etc/passwd" in linked
    report = call("ingest", folder, project=project)
    assert report["counts"]["failed"] == 0
    assert stored()
    for copy in stored():
        assert PAYLOAD not in copy
        assert b"/etc/passwd" not in copy
        assert b"run.js" not in copy


def ebml_size(data: bytes, at: int) -> tuple[int, int]:
    """How many bytes an EBML size takes, and the size (RFC 8794, section 4)."""
    width = 9 - data[at].bit_length()
    return width, int.from_bytes(data[at : at + width], "big") & ((1 << 7 * width) - 1)


# --- polyglots


def sound(media, container: str, codec: str) -> bytes:
    return media.coded_sound(media.voice(3), 16000, container, codec, 64_000)


def gif_script(media) -> bytes:
    """GIF89a/*...*/ : the width begins a comment of JavaScript that a GIF comment and what is behind the end close."""
    data = media.coded(media.dots(3), "GIF")
    place = 13 + (3 << (data[10] & 7) + 1 if data[10] & 0x80 else 0)
    comment = b"\x21\xfe" + bytes([len(PAYLOAD) + 2]) + b"*/" + PAYLOAD + b"\0"
    return data[:place] + comment + data[place:] + b"*/=1;alert('" + PAYLOAD + b"')"


def pdf_in_jpeg(media) -> bytes:
    data = media.coded(media.photo(2))
    body = b"\n%PDF-1.4\n1 0 obj\n" + PAYLOAD + b"\nendobj\n"
    return data[:2] + b"\xff\xfe" + struct.pack(">H", len(body) + 2) + body + data[2:] + b"\n%%EOF\n" + PAYLOAD


def html_in_film(media) -> bytes:
    data = media.film(media.cartoon(3, seconds=1))
    free = struct.pack(">I", 8 + len(HTML)) + b"free" + HTML
    first = struct.unpack(">I", data[:4])[0]
    # Behind everything and, as brands that nobody knows, in the very first box.
    brands = HTML + bytes(-len(HTML) % 4)
    return struct.pack(">I", first + len(brands)) + data[4:first] + brands + shifted(data[first:], len(brands)) + free


def shifted(boxes: bytes, by: int) -> bytes:
    """The boxes with their chunk offsets moved (`stco`)."""
    moved = bytearray(boxes)
    at = moved.index(b"stco") + 8
    for place in range(struct.unpack(">I", moved[at : at + 4])[0]):
        where = at + 4 + 4 * place
        moved[where : where + 4] = struct.pack(">I", struct.unpack(">I", moved[where : where + 4])[0] + by)
    return bytes(moved)


def named_profile_in_png(media) -> bytes:
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", HTML.decode())
    return media.coded(media.photo(4), "PNG", pnginfo=info) + HTML


POLYGLOTS = {
    "script.gif": gif_script,
    "archive.jpg": lambda media: media.coded(media.photo(1)) + zipped(),
    "paper.jpg": pdf_in_jpeg,
    "page.png": named_profile_in_png,
    "archive.webp": lambda media: media.coded(media.photo(5), "WEBP") + zipped(),
    "archive.bmp": lambda media: media.coded(media.photo(6), "BMP") + zipped(),
    "archive.tif": lambda media: media.coded(media.photo(7), "TIFF") + zipped(),
    "archive.avif": lambda media: media.coded(media.photo(8), "AVIF") + zipped(),
    "page.mp4": html_in_film,
    "archive.wav": lambda media: media.wav(media.voice(1)) + zipped(),
    "archive.flac": lambda media: sound(media, "flac", "flac") + zipped(),
    "archive.mp3": lambda media: sound(media, "mp3", "libmp3lame") + zipped(),
    "archive.aac": lambda media: sound(media, "adts", "aac") + zipped(),
    "archive.ogg": lambda media: sound(media, "ogg", "libopus") + zipped(),
    "archive.m4a": lambda media: sound(media, "ipod", "aac") + zipped(),
}


def test_of_polyglots_the_library_holds_what_they_decode_to_alone(folder, project, media, call, stored):
    for name, make in POLYGLOTS.items():
        data = make(media)
        assert PAYLOAD in data
        (folder / name).write_bytes(data)
    report = call("ingest", folder, project=project)
    assert {Path(one["origin"]).name for one in report["taken"]} == set(POLYGLOTS), report["failures"]
    copies = stored()
    assert len(copies) == len(POLYGLOTS)
    for copy in copies:
        assert PAYLOAD not in copy
        assert not zipfile.is_zipfile(io.BytesIO(copy))
        assert b"<html" not in copy
        assert b"%PDF" not in copy


@pytest.mark.parametrize(("container", "codec"), [("flac", "flac"), ("mp3", "libmp3lame"), ("adts", "aac")])
def test_what_hangs_on_a_sound_goes_and_the_sound_stays_bit_for_bit(media, container, codec):
    clean = strip_container(sound(media, container, codec))
    for more in (zipped(), b"TAG" + b"x" * 125, bytes(5000), b"\xff" * 3000, zipped() * 40):
        assert strip_container(clean + more) == clean
        assert strip_container(strip_container(clean + more)) == clean


@pytest.mark.parametrize(("container", "codec"), [("mp3", "libmp3lame"), ("adts", "aac")])
def test_what_stands_between_frames_goes_and_all_frames_stay(media, container, codec):
    clean = strip_container(sound(media, container, codec))
    first = strip_container(clean[: len(clean) // 2])
    assert clean.startswith(first)
    between = b"ID3\x04\0\0\0\0\0\x20" + PAYLOAD.ljust(32, b"\0")
    assert strip_container(first + between + clean[len(first) :]) == clean
    assert np.array_equal(load_audio(clean, None), load_audio(strip_container(between + clean), None))


def test_layers_and_versions_of_mpeg_audio_keep_every_byte():
    """Lengths of frames by FFmpeg's own encoder and parser, over rates and versions."""
    for rate in (48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000):
        for codec, container in (("libmp3lame", "mp3"), ("mp2", "mp2")):
            if codec == "mp2" and rate < 16000:
                continue
            for bit_rate in (32_000, 64_000, 160_000):
                data = mpeg(rate, codec, container, bit_rate)
                assert strip_container(data + bytes(100)) == data


def mpeg(rate: int, codec: str, container: str, bit_rate: int) -> bytes:
    buffer = io.BytesIO()
    options = {"id3v2_version": "0", "write_xing": "0"} if container == "mp3" else {}
    with av.open(buffer, "w", format=container, options=options) as out:
        stream = out.add_stream(codec, rate=rate, layout="mono")
        stream.bit_rate = bit_rate
        samples = (np.sin(np.arange(rate) / 20) * 9000).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(samples[None], format="s16", layout="mono")
        frame.sample_rate = rate
        resampler = av.AudioResampler(stream.format, "mono", rate, frame_size=stream.frame_size or 1152)
        for piece in (*resampler.resample(frame), *resampler.resample(None)):
            out.mux(stream.encode(piece))
        out.mux(stream.encode(None))
    return buffer.getvalue()


# --- decoders that hang


HANGING = """
from curation.examine import examine as really


def examine(path, *others):
    while "hang" in path.name:
        pass
    return really(path, *others)
"""


def test_a_decoder_that_hangs_costs_one_file(folder, tmp_path, project, media, call, monkeypatch):
    (tmp_path / "hanging_examination.py").write_text(HANGING)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("curation.workbench.examine", importlib.import_module("hanging_examination").examine)
    monkeypatch.setattr("core.settings.MediaLimits", lambda **given: MediaLimits(**given, timeout_s=8))
    (folder / "a hang.jpg").write_bytes(media.coded(media.photo(1)))
    for seed in (2, 3):
        (folder / f"{seed}.jpg").write_bytes(media.coded(media.photo(seed)))
    report = call("ingest", folder, project=project)
    assert {Path(one["origin"]).name for one in report["taken"]} == {"2.jpg", "3.jpg"}
    (failure,) = report["failures"]
    assert (Path(failure["origin"]).name, failure["reason"]) == ("a hang.jpg", "decoder_hung")


# --- names and manifests

ESCAPE = "\x1b[31m\x1b]0;title\x07"
NAMES = (
    f"red {ESCAPE}.jpg",
    "two\nlines\r.jpg",
    "gpj.\u202eexe.jpg",
    os.fsdecode(b"latin-1 \xe9.jpg"),
    "[bold]x.jpg",
    "猫" * 80 + ".jpg",
    "c1 \x9b31m.jpg",
)


@pytest.fixture
def say(project: Path) -> Callable[..., str]:
    def run(*arguments: object) -> str:
        done = CliRunner().invoke(app, [*map(str, arguments), "--project", str(project)])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.output

    return run


def test_names_that_are_hard_on_terminals_come_out_as_text(folder, say, media):
    for seed, name in enumerate(NAMES):
        (folder / name).write_bytes(media.coded(media.photo(seed)))
        (folder / f"bad {name}").write_bytes(b"no picture")
    said = [say("ingest", folder), say("ingest", folder, "--json"), say("list")]
    assert "new 7 " in said[0]
    for text in said:
        assert text.replace("\n", "").isprintable()
    assert all("\\x1b[31m" in text.replace("\\\\", "\\") for text in said)
    assert "[bold]x.jpg" in said[2]
    assert "猫" * 80 in said[2]


def test_words_of_a_manifest_that_are_hard_on_terminals_are_refused_and_old_ones_come_out_as_text(
    folder, project, say, media, call
):
    (folder / "a.jpg").write_bytes(media.coded(media.photo(1)))
    call("ingest", folder / "a.jpg", "--author", f"Ann{ESCAPE}", project=project)
    (listed,) = call("list", project=project)
    assert "\x1b" not in say("show", listed["id"])
    assert "Ann\\x1b[31m" in say("show", listed["id"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            json.dumps({"path": "a.jpg", "author": f"Ann{ESCAPE}"}),
            "line 1, column 'author': holds the control character",
        ),
        (json.dumps({"path": "a.jpg", "caption": "a\0b"}), "line 1, column 'caption': holds the control character"),
        ('{"path": "a.jpg", "source": "\\ud800"}', "line 1, column 'source': holds the control character"),
        ("[" * 200_000, "line 1: not readable as JSON"),
        ('{"path": ' + "9" * 10_000 + "}", "line 1: not readable as JSON"),
    ],
)
def test_manifests_that_break_readers_are_mistakes_of_one_line(folder, text, words):
    file = folder / "list.jsonl"
    file.write_text(text)
    with pytest.raises(BadManifest) as caught:
        read_manifest(file)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


def test_manifests_that_name_what_cannot_be_there(folder, tmp_path, media, call, project):
    """Names longer than any file's, with a zero byte, through links and `..`: the others go on."""
    (folder / "a.jpg").write_bytes(media.coded(media.photo(1)))
    (folder / "sub").mkdir()
    (folder / "passwd.jpg").symlink_to("/etc/passwd")
    (folder / "up").symlink_to(tmp_path)
    (tmp_path / "b.jpg").write_bytes(media.coded(media.photo(2)))
    names = [
        "a.jpg",
        "x" * 300 + ".jpg",
        "y/" * 2500 + "z.jpg",
        "zero\0.jpg",
        "passwd.jpg",
        "up/b.jpg",
        "sub",
        "a.jpg/b",
    ]
    file = folder / "list.jsonl"
    file.write_text("\n".join(json.dumps({"path": name}) for name in names))
    report = call("ingest", "--manifest", file, project=project)
    assert [Path(one["origin"]).name for one in report["taken"]] == ["a.jpg"]
    reasons = [one["reason"] for one in report["failures"]]
    assert reasons == ["missing", "missing", "missing", "outside_folder", "outside_folder", "missing", "missing"]
    with open_workspace(project) as workspace, workspace.database.session() as session:
        assert len(session.exec(select(IngestFailure)).all()) == len(reasons)
    for name in ("../b.jpg", "sub/../../b.jpg", "/etc/passwd"):
        file.write_text(json.dumps({"path": name}))
        with pytest.raises(BadManifest, match="lies outside"):
            call("ingest", "--manifest", file, project=project)


@pytest.mark.parametrize("name", ["x" * 300 + ".jpg", "y/" * 3000, f"{ESCAPE}.jpg"])
def test_a_named_path_that_cannot_be_there_is_a_mistake_of_one_line(project, call_command, name):
    said = call_command(whole_app, ["material", "ingest", name, "--project", str(project)])
    assert "does not exist" in said
    assert said.isprintable()


def test_a_folder_of_folders_may_be_as_deep_as_the_system_lets_it(folder, shared_database, clock):
    """The name of a very long path fits into the indices of both databases, and two of them do not become one."""
    deep = folder.joinpath(*["猫" * 80] * 14)
    first, second = origin_of(deep / "a" / "x.jpg"), origin_of(deep / "b" / "x.jpg")
    assert first != second
    assert len(first.encode()) < 2700
    with shared_database.session() as session:
        run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1, started_at=clock())
        session.add(run)
        session.flush()
        for origin in (first, second):
            session.add(IngestFailure(origin=origin, reason="missing", message="", run_id=run.id, created_at=clock()))
    with shared_database.session() as session:
        assert set(session.exec(select(IngestFailure.origin))) == {first, second}


def test_every_source_of_the_library_is_printable(folder, project, media, call):
    (folder / NAMES[0]).write_bytes(media.coded(media.photo(1)))
    call("ingest", folder, project=project)
    with open_workspace(project) as workspace, workspace.database.session() as session:
        assert all(origin.isprintable() for origin in session.exec(select(MaterialSource.origin)))
