"""Materials are judged when they come in, and again when filters or what is known of them change."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from sqlmodel import select
from typer.testing import CliRunner

from curation.cli import app
from curation.filters.catalogue import filters_of
from curation.filters.thresholds import DEFAULT_THRESHOLDS
from curation.judge import judge_again
from curation.materials import Overrule, overrule
from warehouse.tables import Event, Material, MaterialSource, MaterialState, MaterialWork, Run, Segment
from warehouse.workspace import init_project, open_workspace

NO_DERIVATIVES = "CC-BY-ND-4.0"
STRICT = replace(DEFAULT_THRESHOLDS, version="strict", image_side_min_px=1000)
MANIFEST = """path,licence,caption,audio_content,audio_type
film.mp4,CC-BY-4.0,a yellow ball,somebody hums,
voice.wav,CC-BY-4.0,,hm hm,speech
free.jpg,CC0-1.0,a scene,,
bound.jpg,CC-BY-ND-4.0,another scene,,
small.png,CC0-1.0,,,
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory, media, call) -> Path:
    """A project with a bit of everything, one picture under a licence that forbids what we do."""
    place = tmp_path_factory.mktemp("judged")
    project, folder = init_project(place / "project").root, place / "given"
    folder.mkdir()
    files = {
        "film.mp4": media.film(media.cartoon(2, seconds=1), sound=media.voice(5)),
        "voice.wav": media.wav(media.voice(3)),
        "free.jpg": media.coded(media.photo(1)),
        "bound.jpg": media.coded(media.photo(2)),
        "small.png": media.coded(media.photo(9).resize((16, 16)), "PNG"),
        "manifest.csv": MANIFEST.encode(),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    call("ingest", "--manifest", folder / "manifest.csv", project=project)
    return project


@pytest.fixture
def filled(template, tmp_path) -> Path:
    """A copy of it, whose media are looked at by one process: it is small."""
    project = Path(shutil.copytree(template, tmp_path / "filled"))
    settings(project, "")
    return project


def material(project: Path, origin: str) -> Material:
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        query = select(Material).join(MaterialSource).where(MaterialSource.origin.endswith(origin))
        return session.exec(query).one()


def events_of(project: Path, origin: str, action: str = "judge") -> list[Event]:
    found = material(project, origin)
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        query = select(Event).where(Event.subject_id == found.id, Event.action == action)
        return list(session.exec(query.order_by(Event.sequence)))


def states(project: Path) -> dict[str, str | None]:
    names = ("film.mp4", "film.mp4#sound", "voice.wav", "free.jpg", "bound.jpg", "small.png")
    return {name: material(project, name).drop_reason for name in names}


def settings(project: Path, text: str) -> None:
    (project / "interplay.toml").write_text(f"workers = 1\n{text}")


AS_INGESTED = {
    "film.mp4": None,
    "film.mp4#sound": None,
    "voice.wav": None,
    "free.jpg": None,
    "bound.jpg": "licence",
    "small.png": "too_small",
}


def test_claims_are_judged_at_ingest_and_nothing_is_left_to_judge(filled, call):
    assert states(filled) == AS_INGESTED
    bound = material(filled, "bound.jpg")
    assert bound.state == MaterialState.DROPPED
    assert bound.drop_measure.startswith(f"not_usable: {NO_DERIVATIVES} ")
    assert call("show", bound.id, project=filled)["drop_class"] == "not_usable"
    report = call("judge", project=filled)
    assert report["counts"] == {
        "judged": 0, "known": 6, "now_kept": 0, "now_dropped": 0, "other_reason": 0, "failed": 0,
    }  # fmt: skip
    assert report["run_id"] is None


def test_a_dry_ingest_judges_claims_too(project, tmp_path, media, call):
    (tmp_path / "bound.jpg").write_bytes(media.coded(media.photo(2)))
    report = call("ingest", tmp_path / "bound.jpg", "--licence", NO_DERIVATIVES, "--dry-run", project=project)
    assert [one["drop_reason"] for one in report["taken"]] == ["licence"]


def test_what_a_setting_allows_is_kept_again_and_told(filled, call):
    before = material(filled, "bound.jpg")
    settings(filled, f'allowed_licences = ["{NO_DERIVATIVES}"]\n')
    dry = call("judge", "--dry-run", project=filled)
    assert material(filled, "bound.jpg") == before
    report = call("judge", project=filled)
    assert report["changes"] == dry["changes"]
    assert [change["before_reason"] for change in report["changes"]] == ["licence"]
    assert report["counts"]["now_kept"] == 1
    after = material(filled, "bound.jpg")
    assert (after.state, after.drop_reason, after.drop_measure) == (MaterialState.KEPT, None, None)
    assert after.version == before.version + 1
    (event,) = events_of(filled, "bound.jpg")
    assert event.actor == f"run:{report['run_id']}"
    assert (event.detail["before"], event.detail["before_reason"], event.detail["after"]) == (
        "dropped", "licence", "kept",
    )  # fmt: skip
    assert call("judge", project=filled)["counts"]["known"] == 6
    assert len(events_of(filled, "bound.jpg")) == 1


def test_another_licence_on_record_is_judged_at_once(filled, tmp_path, media, call):
    (tmp_path / "copy.jpg").write_bytes(media.coded(media.photo(2)))
    (taken,) = call("ingest", tmp_path / "copy.jpg", "--licence", "CC-BY-4.0", project=filled)["taken"]
    assert (taken["state"], taken["judged_again"]) == ("kept", True)
    assert material(filled, "copy.jpg").state == MaterialState.KEPT
    assert call("judge", project=filled)["counts"]["judged"] == 0


def test_a_transcript_tells_the_language(filled, call):
    settings(filled, 'languages = ["zh"]\n')
    assert call("judge", project=filled)["counts"]["now_dropped"] == 0  # nothing is known of any language
    voice = material(filled, "voice.wav")
    with open_workspace(filled) as workspace, workspace.database.session() as session:
        said = {"start_s": 0, "end_s": 4, "language": "fr", "made_by": "speech@1"}
        session.add(Segment(material_id=voice.id, run_id=voice.run_id, **said))
    assert [one["reason"] for one in call("judge", project=filled)["changes"]] == ["wrong_language"]
    settings(filled, 'languages = ["zh", "fr"]\n')
    call("judge", project=filled)
    assert states(filled) == AS_INGESTED


def test_new_thresholds_judge_media_again_and_back(filled):
    with open_workspace(filled) as workspace:
        strict = judge_again(workspace, thresholds=STRICT)
        assert states(filled) == AS_INGESTED | {"free.jpg": "too_small"}
        assert (strict.counts["judged"], strict.counts["now_dropped"]) == (6, 1)
        # The licence tells more than the size: its reason stays.
        measures = material(filled, "bound.jpg").measures
        assert measures["thresholds"] == "strict"
        assert measures["image-resolution@1"]["drop"] == "too_small"
        assert "as_received" in measures
        judge_again(workspace)
        assert states(filled) == AS_INGESTED
        assert judge_again(workspace).counts["known"] == 6


def test_what_people_decided_stands(filled, call, signed_on):
    signed_on(filled, "mei")
    for name, flag in (("small.png", "--keep"), ("free.jpg", "--drop")):
        call("overrule", material(filled, name).id, flag, "--reason", "I saw it.", "--by", "mei", project=filled)
    decided = {name: material(filled, name) for name in ("small.png", "free.jpg")}
    with open_workspace(filled) as workspace:
        report = judge_again(workspace, thresholds=replace(DEFAULT_THRESHOLDS, version="other"))
    assert (report.counts["judged"], report.changes) == (6, [])
    for name, before in decided.items():
        found = material(filled, name)
        assert (found.state, found.drop_reason, found.drop_measure) == (
            before.state, before.drop_reason, before.drop_measure,
        )  # fmt: skip
        assert found.measures["thresholds"] == "other"
    assert material(filled, "small.png").measures["image-resolution@1"]["drop"] == "too_small"


def test_a_change_of_mind_between_two_reasons_is_told(filled, call):
    settings(filled, f'allowed_licences = ["{NO_DERIVATIVES}"]\n')
    with open_workspace(filled) as workspace:
        report = judge_again(workspace, thresholds=STRICT)
    assert report.counts["other_reason"] == 1
    assert material(filled, "bound.jpg").drop_reason == "too_small"
    assert material(filled, "bound.jpg").drop_measure.startswith("low_quality: shorter side 240 px")


def test_what_was_withdrawn_is_left_alone(filled):
    settings(filled, f'allowed_licences = ["{NO_DERIVATIVES}"]\n')
    bound = material(filled, "bound.jpg")
    with open_workspace(filled) as workspace:
        with workspace.database.session() as session:
            session.get(Material, bound.id).state = MaterialState.WITHDRAWN
        assert judge_again(workspace).counts["judged"] == 5
    found = material(filled, "bound.jpg")
    assert (found.state, found.measures) == (MaterialState.WITHDRAWN, bound.measures)


def test_a_copy_that_is_gone_is_a_failure_until_it_is_back(filled, call):
    free = material(filled, "free.jpg")
    with open_workspace(filled) as workspace:
        data = workspace.blobs.get(free.media["sha256"])
        workspace.blobs.remove(free.media["sha256"])
        report = judge_again(workspace, again=True)
        assert list(report.failures) == [free.sha256]
        assert "is not in" in report.failures[free.sha256]
        with workspace.database.reading() as session:
            (mark,) = session.exec(select(MaterialWork).where(MaterialWork.work == "judge")).all()
        assert (mark.material_id, mark.work, mark.run_id) == (free.id, "judge", report.run_id)
        assert mark.failure == report.failures[free.sha256]
        assert material(filled, "free.jpg") == free
        workspace.blobs.put(data)
        assert judge_again(workspace, again=True).failures == {}
        with workspace.database.reading() as session:
            assert session.exec(select(MaterialWork).where(MaterialWork.work == "judge")).all() == []


def test_what_needs_no_media_is_judged_without_the_working_copy(filled, call):
    settings(filled, f'allowed_licences = ["{NO_DERIVATIVES}"]\nlanguages = ["zh"]\n')
    bound, voice, small = (material(filled, name) for name in ("bound.jpg", "voice.wav", "small.png"))
    with open_workspace(filled) as workspace:
        copies = [workspace.blobs.get(bound.media["sha256"])]
        workspace.blobs.remove(bound.media["sha256"])
        (place,) = (filled / "blobs").rglob(voice.media["sha256"])
        copies.append(place.read_bytes())
        place.chmod(0o600)
        place.write_bytes(copies[1][:40])
        with workspace.database.session() as session:
            said = {"start_s": 0, "end_s": 4, "language": "fr", "made_by": "speech@1"}
            session.add(Segment(material_id=voice.id, run_id=voice.run_id, **said))
    report = call("judge", "--again", project=filled)
    assert {one["sha256"]: one["reason"] for one in report["changes"]} == {
        bound.sha256: None, voice.sha256: "wrong_language",
    }  # fmt: skip
    assert report["failures"].keys() == {bound.sha256, voice.sha256}
    assert (report["counts"]["judged"], report["counts"]["failed"]) == (4, 2)
    with open_workspace(filled) as workspace:
        with workspace.database.reading() as session:
            marks = session.exec(select(MaterialWork).where(MaterialWork.work == "judge")).all()
        assert {one.material_id: one.failure for one in marks} == {
            one.id: report["failures"][one.sha256] for one in (bound, voice)
        }
        # What was found in the media before stands.
        assert material(filled, "bound.jpg").measures["image-blur@1"] == bound.measures["image-blur@1"]
        place.unlink()
        for copy in copies:
            workspace.blobs.put(copy)
    assert call("judge", "--again", project=filled)["failures"] == {}
    assert states(filled) == AS_INGESTED | {"bound.jpg": None, "voice.wav": "wrong_language"}
    assert material(filled, "small.png").state == small.state


@pytest.mark.parametrize("way", ["gone", "too large now"])
def test_a_filter_that_wants_to_read_a_copy_that_cannot_be_looked_at_keeps_what_it_said(
    filled, monkeypatch, tmp_path, way
):
    (tmp_path / "safe.py").write_text(
        "from curation.filters.verdict import Drop, DropClass, Keep\n"
        "def judge(described, thresholds):\n"
        "    if described.ref.media_type != 'image/jpeg':\n"
        "        return Keep()\n"
        "    READ.append(described.read())\n"
        "    return Drop('unsafe', 'seen', DropClass.ILLOGICAL)\n"
        "READ = []\n"
    )
    metadata = tmp_path / "safe-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: safe\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[interplay.filters]\nany-safe@1 = safe:judge\n")
    monkeypatch.syspath_prepend(tmp_path)
    filters_of.cache_clear()
    try:
        with open_workspace(filled) as workspace:
            judge_again(workspace)
            unsafe = material(filled, "free.jpg")
            assert unsafe.drop_reason == "unsafe"
            if way == "gone":
                workspace.blobs.remove(unsafe.media["sha256"])
        if way == "too large now":
            settings(filled, f"max_file_bytes = {unsafe.media['byte_count'] - 1}\n")
        read = sys.modules["safe"].READ
        assert unsafe.media["byte_count"] in map(len, read)
        read.clear()
        with open_workspace(filled) as workspace:
            report = judge_again(workspace, again=True)
        assert unsafe.media["byte_count"] not in map(len, read), "what no guarded process could decode stays unread"
        assert unsafe.sha256 in report.failures
        assert report.changes == []
        assert material(filled, "free.jpg") == unsafe
    finally:
        filters_of.cache_clear()


def test_it_can_be_stopped_and_goes_on_with_what_is_missing(filled):
    class Stopping:
        def __init__(self, calls: int) -> None:
            self.left = calls

        def __call__(self):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return material_at

    material_at = material(filled, "free.jpg").created_at
    with open_workspace(filled) as workspace:
        with pytest.raises(KeyboardInterrupt):
            judge_again(workspace, thresholds=STRICT, clock=Stopping(2))  # the run's start, then one event
        done = sum(material(filled, name).measures["thresholds"] == "strict" for name in AS_INGESTED)
        assert 0 < done < 6
        report = judge_again(workspace, thresholds=STRICT)
        assert (report.counts["judged"], report.counts["known"]) == (6 - done, done)
        assert states(filled) == AS_INGESTED | {"free.jpg": "too_small"}
        # Where nothing but measures has changed there is nothing to tell of.
        changed = {name: len(events_of(filled, name)) for name in AS_INGESTED}
        assert changed == dict.fromkeys(AS_INGESTED, 0) | {"free.jpg": 1, "small.png": 1}


def test_where_nothing_changes_measures_are_kept_and_a_person_can_go_on(filled):
    before = material(filled, "free.jpg")
    with open_workspace(filled) as workspace:
        assert judge_again(workspace, thresholds=replace(DEFAULT_THRESHOLDS, version="other")).judged == 6
        after = material(filled, "free.jpg")
        assert (after.measures["thresholds"], after.version) == ("other", before.version)
        with workspace.database.session() as session:
            overrule(session, before.id, before.version, Overrule(False, "not ours", "mei"))
    assert material(filled, "free.jpg").state == MaterialState.DROPPED


def test_a_filter_that_is_new_is_asked(filled, monkeypatch, tmp_path, call):
    (tmp_path / "own.py").write_text(
        "from curation.filters.verdict import Drop, DropClass, Keep\n"
        "def judge(view, thresholds):\n"
        "    return Drop('not_mine', 'wide', DropClass.ILLOGICAL) if view.width_px > 300 else Keep()\n"
    )
    metadata = tmp_path / "own-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[interplay.filters]\nimage-own@1 = own:judge\n")
    monkeypatch.syspath_prepend(tmp_path)
    filters_of.cache_clear()
    try:
        with open_workspace(filled) as workspace:
            report = judge_again(workspace, dry_run=True)
    finally:
        filters_of.cache_clear()
    assert report.counts["judged"] == 3  # the pictures
    # Its process is another, which finds the filter by itself.
    assert {change.reason for change in report.changes} == {"not_mine"}


def test_people_read_what_changed(filled):
    settings(filled, f'allowed_licences = ["{NO_DERIVATIVES}"]\n')
    result = CliRunner().invoke(app, ["judge", "--project", str(filled)])
    assert result.exit_code == 0
    sha256 = material(filled, "bound.jpg").sha256
    assert result.stdout.splitlines() == [
        f"kept again: {sha256[:12]}: was licence",
        "judged 6, judged before 0, failed 0; kept again 1, dropped 0, for another reason 0",
    ]


def test_it_is_the_same_on_both_databases(shared_database, filled, clock, media):
    with open_workspace(filled) as workspace:
        _judge_on(replace(workspace, database=shared_database), clock, media)


def _judge_on(both, clock, media):
    run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1, started_at=clock())
    refs = {}
    with both.database.session() as session:
        session.add(run)
        session.flush()
        for name, image in (("photo", media.photo(1)), ("plain", Image.new("RGB", (320, 240), "white"))):
            data = media.coded(image, "PNG")
            sha256 = both.blobs.put(data)
            ref = {
                "sha256": sha256, "media_type": "image/png", "modality": "image", "byte_count": len(data),
                "width_px": 320, "height_px": 240,
            }  # fmt: skip
            found = Material(sha256=sha256, media=ref, modality="image", run_id=run.id)
            session.add(found)
            refs[name] = found.id
    report = judge_again(both)
    assert [(change.before, change.after, change.reason) for change in report.changes] == [
        ("kept", "dropped", "near_uniform")
    ]
    with both.database.reading() as session:
        assert session.get(Material, refs["plain"]).drop_measure.startswith("meaningless: ")
        assert session.get(Material, refs["photo"]).state == MaterialState.KEPT
    assert judge_again(both).counts == {
        "judged": 0, "known": 2, "now_kept": 0, "now_dropped": 0, "other_reason": 0, "failed": 0,
    }  # fmt: skip
