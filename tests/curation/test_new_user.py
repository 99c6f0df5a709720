"""What somebody meets who uses the library for the first time: spreadsheets, licences, limits, names of files."""

import os

import pytest
from typer.testing import CliRunner

from core.errors import UnknownName
from core.media.errors import MediaError
from core.separated import delimiter_of
from core.settings import BadSettings
from curation.cli import app
from curation.filters.thresholds import DEFAULT_THRESHOLDS, Thresholds, thresholds_of
from curation.manifest import BadManifest
from curation.materials import AmbiguousMaterial
from curation.recordings.recording_cli import app as recording_app
from curation.recordings.script_cli import app as script_app
from warehouse.release.licences import UnclearLicence, checked_licence, forbids_commerce, meant_licence


@pytest.fixture
def photo(tmp_path, media):
    file = tmp_path / "photo.png"
    file.write_bytes(media.coded(media.photo(1), "PNG"))
    return file


def text_of(*arguments, project):
    return CliRunner().invoke(app, [*map(str, arguments), "--project", str(project)]).output


# Spreadsheets.

ROWS = [["path", "licence", "tags"], ["photo.png", "CC0-1.0", "rain;city"]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_manifest_as_any_spreadsheet_saves_it(tmp_path, project, photo, call, delimiter, encoding):
    lines = [delimiter.join(f'"{cell}"' if delimiter in cell else cell for cell in row) for row in ROWS]
    (tmp_path / "list.csv").write_text("\r\n".join(lines), encoding=encoding)
    (taken,) = call("ingest", "--manifest", tmp_path / "list.csv", project=project)["taken"]
    shown = call("show", taken["sha256"], project=project)
    assert sorted(shown["tags"]) == ["city", "rain"]
    assert shown["sources"][0]["licence"] == "CC0-1.0"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_scripts_as_any_spreadsheet_saves_them(tmp_path, project, signed_on, delimiter):
    signed_on(project, "mei")
    rows = [["name", "text", "language"], ["ferry", "Mind the gap", "en"], ["greeting", "早上好", "zh"]]
    (tmp_path / "scripts.csv").write_text("\n".join(map(delimiter.join, rows)), encoding="utf-8")
    arguments = ["import", str(tmp_path / "scripts.csv"), "--by", "mei", "--project", str(project)]
    assert "new 2, known 0" in CliRunner().invoke(script_app, arguments).output


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [("path", ","), ("a,b\n1;2;3,4", ","), ("a;b", ";"), ("\n\na\tb", "\t"), ('"a;b",c', ","), ("", ",")],
)
def test_what_parts_the_cells_is_told_by_the_head(text, delimiter):
    assert delimiter_of(text) == delimiter


def test_another_encoding_is_told_with_what_excel_calls_the_right_one(tmp_path, project, call):
    (tmp_path / "清单.csv").write_text("path,author\na.png,王芳\n", encoding="gbk")
    with pytest.raises(BadManifest, match=r"line 2: not UTF-8 text; .*'CSV UTF-8'"):
        call("ingest", "--manifest", tmp_path / "清单.csv", project=project)


def test_a_manifest_that_is_given_as_a_file_is_pointed_to_its_option(tmp_path, project, photo, call):
    (tmp_path / "list.csv").write_text("path\nphoto.png\n")
    report = call("ingest", tmp_path / "list.csv", photo, project=project)
    assert [(one["reason"], "--manifest" in one["message"]) for one in report["failures"]] == [("manifest", True)]
    assert report["counts"]["new"] == 1


def test_paths_as_windows_writes_them(tmp_path, project, media, call):
    (tmp_path / "照片").mkdir()
    (tmp_path / "照片" / "rocket.png").write_bytes(media.coded(media.photo(1), "PNG"))
    (tmp_path / "list.csv").write_text("path\n照片\\rocket.png\n", encoding="utf-8")
    (taken,) = call("ingest", "--manifest", tmp_path / "list.csv", project=project)["taken"]
    assert taken["origin"].endswith("照片/rocket.png")
    (tmp_path / "list.csv").write_text("path\n..\\secret.png\n", encoding="utf-8")
    with pytest.raises(BadManifest, match="lies outside"):
        call("ingest", "--manifest", tmp_path / "list.csv", project=project)


def test_names_in_gbk_are_told_with_a_mend(tmp_path, project, media, call):
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / os.fsdecode("照片.png".encode("gbk"))).write_bytes(media.coded(media.photo(1), "PNG"))
    (folder / "list.csv").write_text("path\n照片.png\n", encoding="utf-8")
    report = call("ingest", "--manifest", folder / "list.csv", project=project, exit_code=2)
    assert "convmv -f GBK" in report["failures"][0]["message"]
    (folder / "list.csv").unlink()
    report = call("ingest", folder, project=project)
    assert report["counts"]["new"] == 1
    assert [one for one in report["remarks"] if "not in UTF-8" in one and "convmv" in one]


# Licences.


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("CC BY 4.0", "CC-BY-4.0"), ("CCBY4", "CC-BY-4.0"), ("CC_BY_SA_4.0", "CC-BY-SA-4.0"), ("CC0", "CC0-1.0"),
        ("CC BY-NC-SA 3.0", "CC-BY-NC-SA-3.0"), ("Apache License 2.0", "Apache-2.0"), ("MIT License", "MIT"),
        ("CC-BY-4.0", None), ("cc-by-4.0", None), ("CC-BY-ND-4.0", None), ("https://example.org/licence", None),
        ("proprietary", None), ("all rights reserved", None), ("LicenseRef-ours", None), ("", None),
    ],
)  # fmt: skip
def test_what_was_meant_by_what_is_no_licence(written, meant):
    assert meant_licence(written) == meant
    if meant is None:
        assert checked_licence(written) == written
    else:
        with pytest.raises(UnclearLicence, match=f"did you mean {meant}"):
            checked_licence(written)
        assert checked_licence(written, [written]) == written


def test_only_non_commercial_licences_forbid_commerce():
    names = ["CC-BY-NC-4.0", "cc-by-nc-sa-3.0", "CC-BY-4.0", "NCSA", "MIT-enc"]
    assert [forbids_commerce(one) for one in names] == [True, True, False, False, False]


def test_a_slip_in_a_licence_is_refused_before_anything_is_written(project, photo, call):
    with pytest.raises(UnclearLicence, match=r"did you mean CC-BY-4\.0"):
        call("ingest", photo, "--licence", "CC BY 4.0", project=project)
    assert call("list", project=project) == []


def test_a_slip_in_a_manifest_is_never_to_be_allowed_and_its_mend_counts_at_once(tmp_path, project, photo, call):
    (tmp_path / "list.csv").write_text("path,licence\nphoto.png,CCBY4\n")
    (taken,) = call("ingest", "--manifest", tmp_path / "list.csv", project=project)["taken"]
    assert (taken["drop_reason"], "did you mean CC-BY-4.0?" in taken["drop_measure"]) == ("licence", True)
    assert "allowed_licences" not in taken["drop_measure"]
    assert "known, and still dropped: " in text_of("ingest", "--manifest", tmp_path / "list.csv", project=project)
    (tmp_path / "list.csv").write_text("path,licence\nphoto.png,CC-BY-4.0\n")
    (taken,) = call("ingest", "--manifest", tmp_path / "list.csv", project=project)["taken"]
    assert (taken["is_new"], taken["state"], taken["judged_again"]) == (False, "kept", True)
    assert call("show", taken["sha256"], project=project)["state"] == "kept"


def test_a_licence_without_commerce_is_kept_with_a_remark(project, photo, call):
    report = call("ingest", photo, "--licence", "CC-BY-NC-4.0", project=project)
    assert (report["counts"]["dropped"], len(report["remarks"])) == (0, 1)
    assert "CC-BY-NC-4.0 (1 files) forbids commercial use" in report["remarks"][0]
    measures = call("show", report["taken"][0]["sha256"], project=project)["measures"]
    assert "forbids commercial use" in measures["any-licence@2"]["remark"]


# Limits of the filters.


def test_a_project_sets_limits_of_its_own_and_judging_notices(project, photo, call):
    (taken,) = call("ingest", photo, project=project)["taken"]
    assert taken["state"] == "kept"
    settings = project / "interplay.toml"
    usual = settings.read_text()
    settings.write_text(usual + "\n[filter_thresholds]\nimage_side_min_px = 1000\n")
    (change,) = call("judge", project=project)["changes"]
    assert (change["reason"], "1000" in change["measure"]) == ("too_small", True)
    assert call("judge", project=project)["counts"]["judged"] == 0
    assert call("show", taken["sha256"], project=project)["measures"]["thresholds"].startswith("2+")
    settings.write_text(usual)
    assert call("judge", project=project)["counts"]["now_kept"] == 1


def test_a_limit_that_cannot_be_is_told(project, photo, call):
    settings = project / "interplay.toml"
    settings.write_text(settings.read_text() + "\n[filter_thresholds]\nimage_side_min = 100\n")
    with pytest.raises(UnknownName, match="did you mean 'image_side_min_px'"):
        call("ingest", photo, project=project)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"audio_clipped_share_max": 1.5}, "a share is from 0 to 1"),
        ({"image_side_min_px": 10.5}, "a whole number"),
        ({"video_duration_min_s": -1}, "not below 0"),
        ({"audio_snr_min_db": float("nan")}, "write a number"),
    ],
)
def test_impossible_limits(told, words):
    with pytest.raises(BadSettings, match=words):
        thresholds_of(told)


def test_own_limits_enter_the_version_and_usual_ones_do_not():
    assert thresholds_of({}) is DEFAULT_THRESHOLDS
    assert thresholds_of({"image_side_min_px": 64}) is DEFAULT_THRESHOLDS
    one, other = thresholds_of({"audio_snr_min_db": -3.0}), thresholds_of({"audio_snr_min_db": -2.0})
    assert len({DEFAULT_THRESHOLDS.version, one.version, other.version}) == 3
    assert one == Thresholds(version=one.version, audio_snr_min_db=-3.0)


# Names of files, and of materials.


@pytest.mark.parametrize("order", [["ferry.wav", "假图片.jpg"], ["假图片.jpg", "ferry.wav"]])
def test_a_disguised_file_is_refused_in_whatever_order_it_comes(tmp_path, project, media, call, order):
    for name in order:
        (tmp_path / name).write_bytes(media.wav(media.voice(1)))
    reports = [call("ingest", tmp_path / name, project=project, exit_code=2 * (name != "ferry.wav")) for name in order]
    told = {one["reason"]: one["message"] for report in reports for one in report["failures"]}
    assert told == {"disguised": "named .jpg, but it is WAV; give it the right extension"}
    (held,) = call("list", project=project)
    assert held["origin"].endswith("ferry.wav")


def test_a_take_that_is_no_sound_is_called_by_the_users_own_name(tmp_path, project, media, signed_on, photo, recorded):
    result = CliRunner().invoke(recording_app, ["add", str(photo), *recorded, "--project", str(project)])
    assert isinstance(result.exception, MediaError)
    assert str(photo) in str(result.exception)
    assert "interplay-take-" not in str(result.exception)


@pytest.fixture
def recorded(project, signed_on):
    """What `recording add` needs besides the file."""
    from curation.recordings.agreements import NewConsent, give_consent, put_text
    from curation.recordings.contributors import NewContributor, add_contributor
    from curation.recordings.scripts import NewScript, add_scripts
    from warehouse.consents import Scope
    from warehouse.workspace import open_workspace

    signed_on(project, "mei")
    with open_workspace(project) as workspace, workspace.database.session() as session:
        add_contributor(session, NewContributor("speaker-07"), "mei")
        put_text(session, "1.0", {"en": "I agree.", "zh": "我同意。"}, "CC-BY-4.0", "mei")
        add_scripts(session, [NewScript(name="ferry", text="Mind the gap", language="en")], "mei")
        consent = give_consent(session, NewConsent("speaker-07", "1.0", [Scope.VOICE]), "mei")
    return ["--script", "ferry", "--contributor", "speaker-07", "--consent", consent.id, "--by", "mei"]


def test_a_name_that_is_too_short_means_no_material(project, photo, call):
    (taken,) = call("ingest", photo, project=project)["taken"]
    with pytest.raises(AmbiguousMaterial, match="at least 2"):
        call("show", taken["sha256"][0], project=project)
    assert call("show", taken["sha256"][:4], project=project)["sha256"] == taken["sha256"]


def test_keep_and_drop_together_are_refused(project, photo, call, signed_on):
    signed_on(project, "mei")
    (taken,) = call("ingest", photo, project=project)["taken"]
    name = taken["sha256"][:12]
    for both in (("--keep", "--drop"), ()):
        told = text_of("overrule", name, *both, "--reason", "x", "--by", "mei", project=project)
        assert "one of the two" in told
    assert call("show", name, project=project)["version"] == 1


def test_a_dry_run_of_transcribing_says_when_the_folder_holds_no_model(tmp_path, project, call, monkeypatch):
    from curation.models import UnusableModel

    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("INTERPLAY_ASR_MODEL", str(tmp_path / "empty"))
    with pytest.raises(UnusableModel, match=r"holds no model\.bin"):
        call("transcribe", "--dry-run", project=project)
