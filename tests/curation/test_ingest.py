import json
import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sqlmodel import select

from core.content import Modality
from core.errors import UnknownName
from core.media.image import load_image
from core.media.probe import probe
from curation.entries import MissingPath
from curation.ingest import NothingToIngest
from warehouse.tables import Event, IngestFailure, Material, MaterialSource, MaterialState, Run, RunStatus
from warehouse.workspace import init_project, open_workspace

SECRETS = (b"Jane Doe", b"Camera Maker 4711", b"Exif")


def count(project: Path, table: str) -> int:
    with sqlite3.connect(project / "interplay.db") as connection:
        return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def blob_names(project: Path) -> set[str]:
    return {path.name for path in (project / "blobs").rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def library(tmp_path_factory, media, call):
    """One ingest of a folder with a bit of everything."""
    place = tmp_path_factory.mktemp("library")
    project = init_project(place / "project").root
    (project / "interplay.toml").write_text("max_file_bytes = 2_000_000\n")
    folder = place / "given"
    (folder / "sub").mkdir(parents=True)
    (folder / ".cache").mkdir()
    photo = media.gps_photo(1)
    silent = np.zeros(16000)
    beep = 0.3 * np.sin(2 * np.pi * 880 * np.arange(800) / 8000)
    files = {
        "photo.jpg": photo,
        "sub/photo copy.jpg": photo,
        "dots.png": media.coded(media.dots(5), "PNG"),
        "digit.wav": media.wav(media.voice(3, 0.3, 8000), 8000),
        "beep.wav": media.wav(beep, 8000),
        "film.mp4": media.film(media.cartoon(2), sound=media.voice(5), metadata={"comment": "Jane Doe"}),
        "icon.png": media.coded(media.photo(9).resize((16, 16)), "PNG"),
        "uniform.png": media.coded(Image.new("RGB", (320, 240), (90, 140, 90)), "PNG"),
        "silence.wav": media.wav(silent),
        "black.mp4": media.film([Image.new("RGB", (160, 120))] * 20),
        "cut.jpg": photo[: len(photo) // 2],
        "empty.png": b"",
        "text.jpg": b"This is no picture at all.\n" * 20,
        "list.m3u8": b"#EXTM3U\nhttp://example.org/a.ts\n",
        ".hidden.jpg": media.coded(media.photo(10)),
        ".cache/thumb.jpg": media.coded(media.photo(11)),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    with (folder / "huge.mp4").open("wb") as huge:
        huge.truncate(2_000_001)
    (place / "outside.jpg").write_bytes(media.coded(media.photo(12)))
    (folder / "link out.jpg").symlink_to(place / "outside.jpg")
    (folder / "link in.jpg").symlink_to(folder / "photo.jpg")
    os.mkfifo(folder / "pipe.wav")
    report = call("ingest", folder, "--licence", "CC0-1.0", "--author", "The testers", project=project)
    return project, folder, report, photo


@pytest.fixture
def rows(library):
    with open_workspace(library[0]) as workspace, workspace.database.session() as session:
        yield session


def material_of(session, name: str) -> Material:
    query = select(Material).join(MaterialSource).where(MaterialSource.origin.endswith(f"/{name}"))
    return session.exec(query).one()


def test_every_file_is_accounted_for(library):
    _, folder, report, _ = library
    named = {Path(one["origin"]).relative_to(folder).as_posix() for one in report["taken"] + report["failures"]}
    walked = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    assert named == {name for name in walked if not name.startswith(".")}
    assert report["counts"] == {
        "new": 9,
        "known": 2,
        "dropped": 4,
        "failed": 7,
        "to_fetch": 0,
        "sounds": 1,
        "duplicate_links": 0,
    }


def test_the_same_bytes_are_one_material_with_a_source_for_each_place(rows):
    material = material_of(rows, "photo.jpg")
    sources = rows.exec(select(MaterialSource).where(MaterialSource.material_id == material.id)).all()
    assert sorted(Path(source.origin).name for source in sources) == ["link in.jpg", "photo copy.jpg", "photo.jpg"]
    assert {(source.licence, source.author) for source in sources} == {("CC0-1.0", "The testers")}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cut.jpg", "truncated"),
        ("empty.png", "empty_file"),
        ("text.jpg", "disguised"),
        ("list.m3u8", "referencing"),
        ("huge.mp4", "too_large"),
        ("link out.jpg", "outside_folder"),
        ("pipe.wav", "not_a_file"),
    ],
)
def test_a_file_that_cannot_be_taken_is_a_failure_with_its_reason(library, rows, name, reason):
    failure = rows.exec(select(IngestFailure).where(IngestFailure.origin.endswith(f"/{name}"))).one()
    assert failure.reason == reason
    assert failure.message
    assert "\n" not in failure.message
    assert [one["message"] for one in library[2]["failures"] if one["origin"].endswith(f"/{name}")] == [failure.message]


@pytest.mark.parametrize(
    ("name", "reason", "drop_class"),
    [
        ("icon.png", "too_small", "low_quality"),
        ("uniform.png", "near_uniform", "meaningless"),
        ("silence.wav", "silent", "meaningless"),
        ("black.mp4", "black", "meaningless"),
    ],
)
def test_what_nobody_can_use_is_dropped_with_reason_and_measure(rows, name, reason, drop_class):
    material = material_of(rows, name)
    assert (material.state, material.drop_reason) == (MaterialState.DROPPED, reason)
    assert material.drop_measure.startswith(f"{drop_class}: ")


@pytest.mark.parametrize("name", ["photo.jpg", "dots.png", "digit.wav", "beep.wav", "film.mp4"])
def test_what_is_ordinary_is_kept(rows, name):
    material = material_of(rows, name)
    assert (material.state, material.drop_reason, material.drop_measure) == (MaterialState.KEPT, None, None)


def test_the_working_copy_tells_nothing_of_the_giver_and_the_original_is_sealed(library, rows):
    project, _, _, photo = library
    material = material_of(rows, "photo.jpg")
    with open_workspace(project) as workspace:
        copy = workspace.blobs.get(material.media_ref.sha256)
        assert workspace.originals.get(material.sha256) == photo
        assert not workspace.blobs.exists(material.sha256)
    assert all(secret in photo for secret in SECRETS)
    assert not any(secret in copy for secret in SECRETS)
    assert np.array_equal(np.asarray(load_image(copy)), np.asarray(load_image(photo)))
    assert material.original_kept


def test_an_original_without_anything_to_strip_is_its_own_working_copy(library, rows):
    material = material_of(rows, "digit.wav")
    assert material.original_kept
    assert material.media_ref.sha256 == material.sha256
    with open_workspace(library[0]) as workspace:
        assert not workspace.originals.exists(material.sha256)


def test_a_video_with_sound_becomes_a_muted_video_and_a_sound_that_is_its_child(library, rows):
    film = material_of(rows, "film.mp4")
    sound = rows.exec(select(Material).where(Material.parent_id == film.id)).one()
    with open_workspace(library[0]) as workspace:
        muted = workspace.blobs.get(film.media_ref.sha256)
        heard = probe(workspace.blobs.get(sound.sha256))
    assert not probe(muted).has_audio
    assert b"Jane Doe" not in muted
    assert heard.modality == Modality.AUDIO
    assert (sound.modality, sound.state) == ("audio", MaterialState.KEPT)
    assert heard.duration_s == pytest.approx(2.0, abs=0.1)
    assert film.media_ref.duration_s == pytest.approx(3.0)
    assert film.measures["sound"] == {"sha256": sound.sha256, "offset_s": sound.parent_offset_s}
    source = rows.exec(select(MaterialSource).where(MaterialSource.material_id == sound.id)).one()
    assert source.origin.endswith("/film.mp4#sound")
    assert source.licence == "CC0-1.0"


def test_every_material_has_its_events_and_its_finished_run(rows):
    materials = rows.exec(select(Material)).all()
    run = rows.exec(select(Run)).one()
    assert run.status == RunStatus.FINISHED
    assert run.summary["new"] == 9
    assert {material.run_id for material in materials} == {run.id}
    ingested = rows.exec(select(Event.subject_id).where(Event.action == "ingest")).all()
    assert sorted(ingested) == sorted(material.id for material in materials)


def test_the_same_call_again_changes_nothing(library, call):
    project, folder, report, _ = library
    tables = ("material", "material_source", "ingest_failure", "event", "duplicate_link")
    before = {table: count(project, table) for table in tables}, blob_names(project)
    again = call("ingest", folder, "--licence", "CC0-1.0", "--author", "The testers", project=project)
    assert again["counts"] == report["counts"] | {"new": 0, "known": 11, "dropped": 0, "sounds": 0}
    assert ({table: count(project, table) for table in tables}, blob_names(project)) == before


def test_a_dry_run_says_the_same_and_writes_nothing(library, project, call):
    _, folder, report, _ = library
    planned = call("ingest", folder, "--dry-run", project=project)
    # In the library above, the limit for bytes was lower; here the file of zeros is no film.
    reasons = {(one["origin"], one["reason"]) for one in planned["failures"] if "huge" not in one["origin"]}
    assert reasons == {(o["origin"], o["reason"]) for o in report["failures"] if "huge" not in o["origin"]}
    assert planned["counts"] == report["counts"]
    assert {count(project, table) for table in ("material", "run", "event", "ingest_failure")} == {0}
    assert not blob_names(project)


def test_lost_bytes_come_back_when_the_file_is_ingested_again(tmp_path, project, media, call):
    (tmp_path / "a.jpg").write_bytes(media.gps_photo(1))
    call("ingest", tmp_path / "a.jpg", project=project)
    names, events = blob_names(project), count(project, "event")
    for path in (project / "blobs").rglob("*"):
        if path.is_file():
            path.unlink()
    assert call("ingest", tmp_path / "a.jpg", project=project)["counts"]["known"] == 1
    assert blob_names(project) == names
    assert count(project, "event") == events


def test_originals_are_dropped_where_the_project_says_so(tmp_path, project, media, call):
    (project / "interplay.toml").write_text('originals = "dropped"\nexecutor = "threads"\nworkers = 1\n')
    (tmp_path / "a.jpg").write_bytes(media.gps_photo(1))
    call("ingest", tmp_path / "a.jpg", project=project)
    (listed,) = call("list", project=project)
    assert not listed["original_kept"]
    assert blob_names(project) == {listed["media"]["sha256"]}


def test_a_mended_file_is_no_failure_any_more(tmp_path, project, media, call):
    good = media.coded(media.photo(4))
    (tmp_path / "a.jpg").write_bytes(good[:500])
    call("ingest", tmp_path / "a.jpg", project=project, exit_code=2)
    assert count(project, "ingest_failure") == 1
    (tmp_path / "a.jpg").write_bytes(good)
    call("ingest", tmp_path / "a.jpg", project=project)
    assert count(project, "ingest_failure") == 0


def test_two_videos_with_the_same_sound_and_that_sound_alone_share_one_material(tmp_path, project, media, call):
    sound = media.voice(8)
    for seed in (1, 2):
        (tmp_path / f"{seed}.mp4").write_bytes(media.film(media.cartoon(seed), sound=sound))
    call("ingest", tmp_path / "1.mp4", project=project)
    with open_workspace(project) as workspace, workspace.database.session() as session:
        (heard,) = session.exec(select(Material).where(Material.modality == "audio"))
        alone = workspace.blobs.get(heard.sha256)
    (tmp_path / "alone.m4a").write_bytes(alone)
    report = call("ingest", tmp_path, project=project)
    assert (report["counts"]["new"], report["counts"]["known"]) == (1, 2)
    videos = call("list", "--modality", "video", project=project)
    shown = [call("show", video["id"], project=project) for video in videos]
    assert [one["sound_id"] for one in shown] == [heard.id, heard.id]
    origins = {source["origin"] for source in call("show", heard.id, project=project)["sources"]}
    assert origins == {f"{tmp_path}/1.mp4#sound", f"{tmp_path}/2.mp4#sound", f"{tmp_path}/alone.m4a"}


def test_a_sound_that_came_alone_becomes_the_child_of_the_video_that_has_it(tmp_path, project, media, call):
    (tmp_path / "film.mp4").write_bytes(media.film(media.cartoon(1), sound=media.voice(8)))
    other = init_project(tmp_path / "other").root
    call("ingest", tmp_path / "film.mp4", project=other)
    with open_workspace(other) as workspace, workspace.database.session() as session:
        (heard,) = session.exec(select(Material).where(Material.modality == "audio"))
        (tmp_path / "alone.m4a").write_bytes(workspace.blobs.get(heard.sha256))
    call("ingest", tmp_path / "alone.m4a", project=project)
    call("ingest", tmp_path / "film.mp4", project=project)
    (audio,), (video,) = (call("list", "--modality", kind, project=project) for kind in ("audio", "video"))
    assert (audio["parent_id"], audio["parent_offset_s"]) == (video["id"], heard.parent_offset_s)


def test_withdrawn_bytes_do_not_come_back(tmp_path, project, media, call):
    (tmp_path / "a.jpg").write_bytes(media.coded(media.photo(4)))
    call("ingest", tmp_path / "a.jpg", project=project)
    with open_workspace(project) as workspace, workspace.database.session() as session:
        session.exec(select(Material)).one().state = MaterialState.WITHDRAWN
    report = call("ingest", tmp_path / "a.jpg", project=project, exit_code=2)
    assert [one["reason"] for one in report["failures"]] == ["withdrawn"]


def test_manifest_claims_reach_source_material_and_sound(tmp_path, project, media, call):
    (tmp_path / "film.mp4").write_bytes(media.film(media.cartoon(1), sound=media.voice(8)))
    row = {"path": "film.mp4", "author": "Ann", "tags": ["city", "rain"], "caption": "A ball.", "audio_content": "La."}
    manifest = tmp_path / "list.jsonl"
    manifest.write_text(json.dumps(row | {"audio_type": "speech"}))
    arguments = ("ingest", "--manifest", manifest, "--author", "nobody", "--licence", "CC0-1.0")
    call(*arguments, project=project)
    call(*arguments, project=project)
    (video,), (sound,) = (call("list", "--modality", kind, project=project) for kind in ("video", "audio"))
    assert (video["audio_content"], video["audio_type"]) == ("A ball.", None)
    assert (sound["audio_content"], sound["audio_content_by"], sound["audio_type"]) == ("La.", "human", "speech")
    shown = [call("show", one["id"], project=project) for one in (video, sound)]
    assert [one["tags"] for one in shown] == [["city", "rain"]] * 2
    (source,) = shown[0]["sources"]
    assert (source["author"], source["licence"]) == ("Ann", "CC0-1.0")
    row["author"] = "Anne"
    manifest.write_text(json.dumps(row))
    call(*arguments, project=project)
    shown = call("show", video["id"], project=project)
    assert [source["author"] for source in shown["sources"]] == ["Anne"]
    assert [event["detail"].get("author") for event in shown["events"] if event["action"] == "add_source"] == [
        "Ann",
        "Anne",
    ]


def test_the_projects_own_stores_are_no_materials(tmp_path, media, call, monkeypatch):
    project = init_project(tmp_path).root
    (project / "a.jpg").write_bytes(media.coded(media.photo(4)))
    monkeypatch.chdir(project)
    for _ in range(2):
        report = call("ingest", ".", project=project)
        assert [one["origin"] for one in report["taken"]] == ["a.jpg"]
        assert not report["failures"]


def test_strange_file_names_and_links_in_a_circle_are_taken_as_they_are(tmp_path, project, media, call):
    folder = tmp_path / "given"
    folder.mkdir()
    names = ("猫 と 犬.jpg", "two\nlines.jpg", os.fsdecode(b"latin-1 \xe9.jpg"), "-v.jpg")
    for seed, name in enumerate(names):
        (folder / name).write_bytes(media.coded(media.photo(seed)))
    (folder / "circle.jpg").symlink_to("circle.jpg")
    report = call("ingest", folder, project=project)
    taken = {one["origin"].removeprefix(f"{folder}/") for one in report["taken"]}
    assert taken == {"猫 と 犬.jpg", "two\\nlines.jpg", "latin-1 \\udce9.jpg", "-v.jpg"}
    assert [one["reason"] for one in report["failures"]] == ["unreadable"]
    assert call("ingest", folder, project=project)["counts"]["known"] == 4


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("nowhere.jpg",), MissingPath, "nowhere.jpg does not exist"),
        ((), NothingToIngest, "no file"),
    ],
)
def test_a_call_that_names_nothing_is_a_mistake(project, call, arguments, error, words):
    with pytest.raises(error, match=words):
        call("ingest", *arguments, project=project)
    assert count(project, "run") == 0


def test_a_consent_that_nobody_gave_is_a_mistake(tmp_path, project, media, call):
    (tmp_path / "a.jpg").write_bytes(media.coded(media.photo(4)))
    (tmp_path / "m.csv").write_text("path,consent\na.jpg,c-17\n")
    with pytest.raises(UnknownName, match="c-17"):
        call("ingest", "--manifest", tmp_path / "m.csv", project=project)
    assert count(project, "material") == 0
