"""Files that are larger than the memory which is given to the process that decodes them."""

import io
import struct
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from sqlmodel import select

from core.media.audio import strip_container
from core.media.limits import MediaLimits
from core.media.probe import probe
from core.media.video import demux
from warehouse.tables import Material
from warehouse.workspace import open_workspace

MEBIBYTE = 1 << 20
MEMORY_BYTES = 400 * MEBIBYTE
BIG_BYTES = 450 * MEBIBYTE


@pytest.fixture
def tight(project, monkeypatch) -> Path:
    """A project whose files are decoded in little memory, one after another."""
    (project / "interplay.toml").write_text('originals = "dropped"\nworkers = 1\n')
    bounds = {"memory_bytes": MEMORY_BYTES, "timeout_s": 60}
    monkeypatch.setattr("core.settings.MediaLimits", lambda **given: MediaLimits(**given, **bounds))
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # else its buffers count, some for each core
    return project


def with_hole(file: Path, head: bytes, name: bytes, tail: bytes) -> Path:
    """A RIFF file with a chunk of zeros between head and tail, which takes no room on the disk."""
    with file.open("wb") as target:
        target.write(head + struct.pack("<4sI", name, BIG_BYTES))
        target.seek(BIG_BYTES, 1)
        target.write(tail)
        size = target.tell() - 8
        target.seek(4)
        target.write(struct.pack("<I", size))
    return file


def incoming(project: Path) -> list[Path]:
    return [path for path in project.rglob("*") if "incoming" in path.name]


def test_what_is_cut_out_of_a_big_file_is_never_in_memory(tmp_path, tight, media, call):
    plain = media.wav(media.voice(1, 3.0))
    file = with_hole(tmp_path / "voice.wav", plain[:12], b"JUNK", plain[12:])
    report = call("ingest", file, project=tight)
    assert (report["counts"]["new"], report["failures"]) == (1, [])
    with open_workspace(tight) as workspace, workspace.database.reading() as session:
        material = session.exec(select(Material)).one()
        assert workspace.blobs.get(material.media_ref.sha256) == plain
    assert incoming(tight) == []


def film_of(frame: np.ndarray, count: int, rate_hz: int, sound: np.ndarray | None = None) -> bytes:
    """The same frame again and again, coded once, with a sound at 48 kHz of which there is no plain file.

    Its decoder starts no threads, whose stacks would count as memory too.
    """
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mov") as out:
        shown = out.add_stream("qtrle", rate=rate_hz)
        shown.pix_fmt, shown.height, shown.width = "rgb24", *frame.shape[:2]
        heard = None if sound is None else out.add_stream("ac3", rate=48000, layout="mono")
        (packet,) = shown.encode(av.VideoFrame.from_ndarray(frame, "rgb24"))
        for place in range(count):
            again = av.Packet(bytes(packet))
            again.pts = again.dts = place
            again.time_base, again.is_keyframe, again.stream = Fraction(1, rate_hz), True, shown
            out.mux(again)
        if heard is not None:
            one = av.AudioFrame.from_ndarray(sound[np.newaxis], "fltp", "mono")
            one.sample_rate = 48000
            for ready in (*av.AudioResampler("fltp", "mono", 48000, 1536).resample(one), None):
                out.mux(heard.encode(ready))
    return buffer.getvalue()


def test_a_big_film_is_never_in_memory(tmp_path, tight, call):
    noise = np.random.default_rng(3).integers(0, 256, (1080, 1920, 3), dtype=np.uint8)
    film = film_of(noise, count=70, rate_hz=35)
    assert len(film) > MEMORY_BYTES
    (tmp_path / "film.mov").write_bytes(film)
    report = call("ingest", tmp_path / "film.mov", project=tight)
    assert (report["counts"]["new"], report["failures"]) == (1, [])
    with open_workspace(tight) as workspace, workspace.database.reading() as session:
        material = session.exec(select(Material)).one()
        workspace.blobs.verify(material.media_ref.sha256)
        assert material.media["byte_count"] > MEMORY_BYTES
        workspace.blobs.remove(material.media_ref.sha256)  # nobody wants it kept with the test's folder
    (tmp_path / "film.mov").unlink()


def test_a_sound_that_decodes_to_a_disk_full_costs_one_file(tmp_path, project, media, call):
    film = film_of(np.zeros((12, 16, 3), np.uint8), 100, 10, media.voice(1, 10.0, 48000))
    made = demux(film)
    limit = (len(film) + len(made.audio)) // 2
    assert len(film) < limit < len(made.audio), "the sound is larger than the film from which it comes"
    (project / "interplay.toml").write_text(f"max_file_bytes = {limit}\nworkers = 1\n")
    (tmp_path / "film.mov").write_bytes(film)
    (tmp_path / "photo.jpg").write_bytes(media.gps_photo(1))
    report = call("ingest", tmp_path / "film.mov", tmp_path / "photo.jpg", project=project)
    assert report["counts"]["new"] == 1
    (failure,) = report["failures"]
    assert failure["reason"] == "too_large"
    assert failure["message"] == f"its working copy has more than the {limit} bytes that are taken"
    assert incoming(project) == []


def test_copies_written_as_files_are_the_copies_made_in_memory(tmp_path, project, media, call):
    """Every way of stripping: segments cut, packets copied, the end of FLAC found, sound taken out of a film."""
    tagged = io.BytesIO()
    with av.open(tagged, "w", format="flac") as out:
        out.metadata["artist"] = "Jane Doe"
        stream = out.add_stream("flac", rate=16000, layout="mono")
        frame = av.AudioFrame.from_ndarray((media.voice(5) * 32767).astype(np.int16)[np.newaxis], "s16", "mono")
        frame.sample_rate = 16000
        for packet in (*stream.encode(frame), *stream.encode(None)):
            out.mux(packet)
    given = {
        "voice.flac": tagged.getvalue() + b"Jane Doe",
        "song.m4a": media.coded_sound(media.voice(6), 16000, "ipod", "aac", 64_000),
        "film.mp4": media.film(media.cartoon(1), sound=media.voice(7), metadata={"artist": "Jane Doe"}),
    }
    for name, data in given.items():
        (tmp_path / name).write_bytes(data)
    call("ingest", *(tmp_path / name for name in given), project=project)
    film = demux(given["film.mp4"])
    expected = {
        *(probe(strip_container(given[name])).sha256 for name in ("voice.flac", "song.m4a")),
        *(probe(part).sha256 for part in (film.muted_video, film.audio)),
    }
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        stored = {material.media_ref.sha256 for material in session.exec(select(Material))}
        for sha256 in stored:
            workspace.blobs.verify(sha256)
    assert stored == expected
    assert incoming(project) == []


def test_what_a_killed_ingest_left_is_no_blob_and_goes_with_the_next(tmp_path, project, media, call):
    left = project / "blobs" / ".incoming" / "left"
    left.mkdir(parents=True)
    (left / "working copy").write_bytes(bytes(100))
    (tmp_path / "photo.jpg").write_bytes(media.gps_photo(1))
    call("ingest", tmp_path / "photo.jpg", project=project)
    assert incoming(project) == []
