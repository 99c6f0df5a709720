import os
import subprocess
import sys

import pytest
from click.exceptions import UsageError
from sqlmodel import select
from typer.testing import CliRunner

from curation.cli import app
from curation.materials import (
    AmbiguousMaterial,
    ImpossibleOverrule,
    Overrule,
    StaleMaterial,
    UnknownMaterial,
    find_material,
    overrule,
)
from warehouse import events
from warehouse.runs import open_run
from warehouse.tables import Material, MaterialSource, MaterialState
from warehouse.workspace import open_workspace

DROPPED, KEPT, OTHER = "a1" + "0" * 62, "a2" + "0" * 62, "b1" + "0" * 62


@pytest.fixture
def shelf(project):
    """Three materials that need no bytes."""
    states = {DROPPED: MaterialState.DROPPED, KEPT: MaterialState.KEPT, OTHER: MaterialState.WITHDRAWN}
    with open_workspace(project) as workspace:
        with open_run(workspace.database, "test", {}) as run, workspace.database.session() as session:
            for sha256, state in states.items():
                ref = {"sha256": sha256, "media_type": "image/png", "modality": "image", "byte_count": 1}
                is_dropped = state == MaterialState.DROPPED
                material = Material(
                    sha256=sha256,
                    state=state,
                    media=ref | {"width_px": 20, "height_px": 10},
                    modality="image",
                    drop_reason="blurred" if is_dropped else None,
                    drop_measure="low_quality: variance 1" if is_dropped else None,
                    run_id=run.id,
                )
                session.add(material)
                session.flush()
                session.add(MaterialSource(material_id=material.id, origin=f"{sha256[:2]}.png", run_id=run.id))
        yield workspace


def get(workspace, sha256: str) -> Material:
    with workspace.database.session() as session:
        return session.exec(select(Material).where(Material.sha256 == sha256)).one()


def test_a_person_can_keep_what_a_filter_dropped_and_the_event_tells_all(shelf):
    with shelf.database.session() as session:
        material = find_material(session, DROPPED)
        overrule(session, material.id, 1, Overrule(True, "The blur is the point.", "ann"))
    after = get(shelf, DROPPED)
    assert (after.state, after.version, after.drop_reason, after.drop_measure) == (MaterialState.KEPT, 2, None, None)
    with shelf.database.session() as session:
        (event,) = events.history(session, "material", after.id)
    assert (event.actor, event.action) == ("ann", "overrule")
    assert event.detail == {
        "before": "dropped",
        "before_reason": "blurred",
        "before_measure": "low_quality: variance 1",
        "after": "kept",
        "reason": "The blur is the point.",
        "version": 2,
    }


def test_a_person_can_drop_what_was_kept_and_take_it_back(shelf):
    with shelf.database.session() as session:
        material = find_material(session, KEPT)
        overrule(session, material.id, 1, Overrule(False, "Shows a licence plate.", "ann"))
    after = get(shelf, KEPT)
    assert (after.state, after.drop_reason, after.drop_measure) == (
        MaterialState.DROPPED,
        "by_person",
        "Shows a licence plate.",
    )
    with shelf.database.session() as session:
        overrule(session, after.id, 2, Overrule(True, "It is painted.", "bob"))
    assert get(shelf, KEPT).version == 3


@pytest.mark.parametrize(
    ("sha256", "version", "ruling", "error", "words"),
    [
        (DROPPED, 7, Overrule(True, "x", "ann"), StaleMaterial, "version 1, expected 7"),
        (DROPPED, 1, Overrule(False, "x", "ann"), ImpossibleOverrule, "is dropped already; possible: keep"),
        (KEPT, 1, Overrule(True, "x", "ann"), ImpossibleOverrule, "is kept already; possible: drop"),
        (KEPT, 1, Overrule(False, "  ", "ann"), ImpossibleOverrule, "needs a reason"),
        (OTHER, 1, Overrule(True, "x", "ann"), ImpossibleOverrule, "is withdrawn; nothing can be overruled"),
    ],
)
def test_an_overruling_that_cannot_be_changes_nothing(shelf, sha256, version, ruling, error, words):
    before = get(shelf, sha256)
    with pytest.raises(error, match=words), shelf.database.session() as session:
        overrule(session, before.id, version, ruling)
    assert get(shelf, sha256) == before
    with shelf.database.session() as session:
        assert events.history(session, "material", before.id) == []


def test_a_material_is_found_by_the_beginning_of_its_id_or_sha256(shelf):
    with shelf.database.session() as session:
        material = find_material(session, OTHER[:2])
        with pytest.raises(AmbiguousMaterial, match="at least 2"):
            find_material(session, "b")
        assert material.sha256 == OTHER
        assert find_material(session, material.id) == find_material(session, OTHER) == material
        with pytest.raises(AmbiguousMaterial, match="a10000000000, a20000000000"):
            find_material(session, "a")
        for name in ("c", "", "%", "b_"):
            with pytest.raises(UnknownMaterial, match="interplay material list"):
                find_material(session, name)


def test_the_list_can_be_narrowed(shelf, call):
    project = shelf.project.root
    assert [one["sha256"] for one in call("list", project=project)] == [DROPPED, KEPT, OTHER]
    (dropped,) = call("list", "--state", "dropped", project=project)
    assert (dropped["sha256"], dropped["origin"], dropped["drop_class"]) == (DROPPED, "a1.png", "low_quality")
    assert call("list", "--modality", "audio", project=project) == []


def test_the_command_overrules_by_name_reason_and_version(shelf, call, signed_on):
    project = shelf.project.root
    signed_on(project, "ann")
    arguments = ("overrule", "a1", "--keep", "--reason", "Fine.", "--by", "ann", "--version")
    with pytest.raises(StaleMaterial):
        call(*arguments, 3, project=project)
    assert call(*arguments, 1, project=project)["state"] == "kept"
    shown = call("show", "a1", project=project)
    assert [event["actor"] for event in shown["events"]] == ["ann"]
    assert shown["sources"][0]["origin"] == "a1.png"


def test_an_overruling_must_say_which_way(shelf):
    result = CliRunner().invoke(app, ["overrule", "a1", "--reason", "x", "--project", str(shelf.project.root)])
    assert result.exit_code == UsageError.exit_code


def test_people_read_lines(shelf):
    def lines(*arguments: str) -> str:
        return CliRunner().invoke(app, [*arguments, "--project", str(shelf.project.root)]).stdout

    listed = lines("list")
    assert all(text in listed for text in (DROPPED[:12], "20x10", "blurred", "a1.png", "withdrawn"))
    assert "drop_measure: low_quality: variance 1" in lines("show", "a1")
    assert lines("duplicates") == "no duplicates\n"


def test_ingest_tells_people_what_became_of_every_file(tmp_path, project, media):
    (tmp_path / "a.jpg").write_bytes(media.coded(media.photo(1)))
    (tmp_path / "small.jpg").write_bytes(media.coded(media.photo(1, (32, 32))))
    (tmp_path / "cut.png").write_bytes(media.coded(media.photo(1), "PNG")[:2000])
    names = [str(tmp_path / name) for name in ("a.jpg", "small.jpg", "cut.png")]
    result = CliRunner().invoke(app, ["ingest", *names, "--project", str(project)])
    failed, dropped, summary = result.stdout.splitlines()
    assert failed.startswith(f"failed: {names[2]}: truncated: ")
    assert dropped.startswith(f"dropped: {names[1]}: too_small: low_quality: shorter side 32 px")
    assert summary == (
        "new 2 (of them dropped 1: too_small 1), known 0, failed 1: truncated 1; "
        "sounds taken out of videos 0; new duplicate links 0"
    )


@pytest.mark.cluster
def test_a_dask_cluster_ingests_the_same(tmp_path, project, media, call):
    (project / "interplay.toml").write_text('executor = "dask"\nworkers = 2\n')
    for seed in range(3):
        (tmp_path / f"{seed}.jpg").write_bytes(media.gps_photo(seed))
    (tmp_path / "cut.jpg").write_bytes(media.gps_photo(1)[:3000])
    report = call("ingest", *sorted(tmp_path.glob("*.jpg")), project=project)
    assert (report["counts"]["new"], report["counts"]["failed"]) == (3, 1)
    with open_workspace(project) as workspace:
        for one in report["taken"]:
            workspace.originals.verify(one["sha256"])


def test_importing_curation_loads_nothing_heavy():
    heavy = ("torch", "streamlit", "open_clip", "faster_whisper", "sentence_transformers", "inspect_ai", "matplotlib")
    code = f"import sys, curation.cli; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout == "[]\n"
