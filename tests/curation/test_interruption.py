"""A process that dies at any moment leaves no half material, and the same call again ends where it would have ended."""

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sqlmodel import Session, col, func, select

from core.errors import InterplayError
from warehouse.command_line import storage_problem
from warehouse.tables import DuplicateLink, Event, IngestFailure, Material, MaterialSource, MaterialWork, Run
from warehouse.workspace import init_project, open_workspace

COMMAND = [sys.executable, "-c", "from interplay.cli import main; main()"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, media) -> Path:
    place = tmp_path_factory.mktemp("interruption") / "given"
    place.mkdir()
    for seed in range(8):
        (place / f"{seed}.jpg").write_bytes(media.gps_photo(seed))
    (place / "again.jpg").write_bytes(media.gps_photo(3))
    (place / "near.webp").write_bytes(media.coded(media.photo(5).resize((160, 120)), "WEBP", quality=60))
    (place / "film.mp4").write_bytes(media.film(media.cartoon(1), sound=media.voice(8)))
    (place / "voice.wav").write_bytes(media.wav(media.voice(2)))
    (place / "silence.wav").write_bytes(media.wav(np.zeros(8000)))
    (place / "cut.jpg").write_bytes(media.gps_photo(1)[:3000])
    return place


def begin(project: Path, folder: Path) -> subprocess.Popen:
    environment = os.environ | {"INTERPLAY_WORKERS": "1"}
    arguments = ["material", "ingest", str(folder), "--project", str(project)]
    return subprocess.Popen([*COMMAND, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def kill_when(project: Path, folder: Path, reached: str) -> bool:
    """Begin an ingest and kill it outright once the condition holds; whether it was killed before it ended."""
    process = begin(project, folder)
    with sqlite3.connect(project / "interplay.db") as connection:
        while process.poll() is None:
            if connection.execute(f"SELECT {reached}").fetchone()[0]:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.002)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def state_of(project: Path) -> dict:
    """All rows that the library is, by content: ids, times and runs left out."""
    with open_workspace(project) as workspace, workspace.database.session() as session:
        materials = session.exec(select(Material)).all()
        name = {material.id: material.sha256 for material in materials}
        leave = {"id", "run_id", "created_at", "parent_id"}
        return {
            "materials": {
                m.sha256: m.model_dump(mode="json", exclude=leave) | {"parent": name.get(m.parent_id)}
                for m in materials
            },
            "sources": sorted(
                (name[s.material_id], s.origin, s.licence) for s in session.exec(select(MaterialSource)).all()
            ),
            "failures": sorted((f.origin, f.reason, f.message) for f in session.exec(select(IngestFailure)).all()),
            "links": sorted(
                (name[link.first_id], name[link.second_id], link.method, link.distance, str(link.evidence))
                for link in session.exec(select(DuplicateLink)).all()
            ),
            "events": Counter((name[e.subject_id], e.action) for e in session.exec(select(Event)).all()),
            "blobs": blobs_of(project),
        }


def blobs_of(project: Path) -> dict[str, bytes]:
    """Stored bytes by name; what a killed writer left under a temporary name is no blob."""
    stored = [path for path in (project / "blobs").rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(project)): path.read_bytes() for path in stored}


def rows(session: Session, table: type) -> int:
    return session.exec(select(func.count()).select_from(table)).one()


def check_whole(project: Path) -> None:
    """Every material has its bytes, a source and its event; every video of these has its sound."""
    with open_workspace(project) as workspace, workspace.database.session() as session:
        for material in session.exec(select(Material)):
            workspace.blobs.verify(material.media_ref.sha256)
            if material.original_kept and material.media_ref.sha256 != material.sha256:
                workspace.originals.verify(material.sha256)
            assert session.exec(select(MaterialSource).where(MaterialSource.material_id == material.id)).first()
            assert session.exec(select(Event).where(Event.subject_id == material.id, Event.action == "ingest")).one()
            if material.modality == "video":
                assert session.exec(select(Material).where(Material.parent_id == material.id)).one()


def test_killed_at_several_moments_and_called_again_it_ends_as_if_undisturbed(tmp_path, folder):
    undisturbed, disturbed = (init_project(tmp_path / name).root for name in ("undisturbed", "disturbed"))
    begin(undisturbed, folder).communicate()
    materials, failures = "(SELECT count(*) FROM material)", "(SELECT count(*) FROM ingest_failure)"
    moments = (
        "EXISTS (SELECT 1 FROM run)",
        f"{materials} > 0",
        f"{materials} > 5",
        f"{materials} > 8 AND {failures} > 0",
    )
    killed = 0
    for reached in moments:
        killed += kill_when(disturbed, folder, reached)
        check_whole(disturbed)
    assert killed >= 3
    finished = begin(disturbed, folder)
    assert b"failed 1: truncated 1" in finished.communicate()[0]
    assert finished.returncode == 0
    expected = state_of(undisturbed)
    assert state_of(disturbed) == expected
    # 8 photos, one smaller copy of one of them, film and its sound, voice, silence.
    assert len(expected["materials"]) == 13
    assert [link[2] for link in expected["links"]] == ["image_hash@2"]
    for place, data in expected["blobs"].items():
        assert hashlib.sha256(data).hexdigest() == Path(place).name


def test_killed_after_the_last_material_the_duplicates_are_still_found(tmp_path, media, call, project):
    for name, size in (("a.png", (320, 240)), ("b.png", (200, 150))):
        (tmp_path / name).write_bytes(media.coded(media.photo(5).resize(size), "PNG"))
        call("ingest", tmp_path / name, project=project)
    with open_workspace(project) as workspace, workspace.database.session() as session:
        # As if the process had died between the last material's transaction and the comparing.
        session.delete(session.exec(select(DuplicateLink)).one())
        second = session.exec(select(Material).order_by(col(Material.id).desc())).first()
        session.delete(session.exec(select(MaterialWork).where(MaterialWork.material_id == second.id)).one())
    assert call("ingest", tmp_path / "a.png", project=project)["counts"]["duplicate_links"] == 1
    assert call("ingest", tmp_path / "a.png", project=project)["counts"]["duplicate_links"] == 0


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs a place where the kernel lets nobody make a folder")
def test_a_store_that_cannot_be_written_is_one_line_and_leaves_no_rows(tmp_path, media):
    project = init_project(tmp_path / "project").root
    (project / "interplay.toml").write_text('blobs_url = "/sys/interplay-blobs"\n')
    (tmp_path / "a.jpg").write_bytes(media.gps_photo(1))
    (tmp_path / "b.jpg").write_bytes(media.gps_photo(2))
    arguments = ["material", "ingest", str(tmp_path / "a.jpg"), str(tmp_path / "b.jpg"), "--project", str(project)]
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, check=False, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("interplay: ")
    assert "/sys/interplay-blobs" in line
    assert "cannot be written" in line
    with open_workspace(project) as workspace, workspace.database.session() as session:
        assert rows(session, Material) == rows(session, IngestFailure) == 0
        assert session.exec(select(Run.status)).one() == "failed"


def test_a_full_disk_ends_the_run_with_the_stores_own_error(tmp_path, media, call, project, monkeypatch):
    def full(store: object, file: Path, sha256: str) -> None:
        raise OSError(28, "No space left on device", "blobs/ab/abcd")

    monkeypatch.setattr("warehouse.blobs.BlobStore.put_file", full)
    (tmp_path / "a.jpg").write_bytes(media.gps_photo(1))
    with pytest.raises(OSError, match="No space left") as caught:
        call("ingest", tmp_path / "a.jpg", project=project)
    assert isinstance(storage_problem(caught.value), InterplayError)
    with open_workspace(project) as workspace, workspace.database.session() as session:
        assert rows(session, Material) == rows(session, IngestFailure) == 0
