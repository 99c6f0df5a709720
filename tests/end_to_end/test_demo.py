"""The whole product by one command, twice in one folder and once in another."""

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

# What a command that only looks may leave behind: SQLite's own files.
HOUSEKEEPING = ("interplay.db", "interplay.db-wal", "interplay.db-shm")
FORMATS = ("jsonl", "huggingface")


@dataclass(frozen=True)
class Demo:
    """A demo that was run twice: what it said, and what was there after the first and the second time."""

    project: Path
    said: tuple[str, str]
    files: tuple[dict[str, str], dict[str, str]]
    rows: tuple[dict[str, list[str]], dict[str, list[str]]]


def files_in(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name not in HOUSEKEEPING)
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.fixture(scope="module")
def demo(interplay, contents_of, tmp_path_factory) -> Demo:
    project = tmp_path_factory.mktemp("demo") / "project"
    said, files, rows = [], [], []
    for _ in range(2):
        said.append(interplay.run("demo", project).stdout)
        files.append(files_in(project))
        rows.append(contents_of(project))
    return Demo(project, tuple(said), tuple(files), tuple(rows))


@pytest.fixture(scope="module")
def released(demo) -> list[dict]:
    return json.loads((demo.project / "export" / "jsonl" / "manifest.json").read_text(encoding="utf-8"))["rows"]


def test_the_release_holds_both_languages_both_kinds_and_both_pairs_of_senses(released):
    assert len(released) >= 12
    questions = [row["question"] for row in released]
    assert {question["language"] for question in questions} == {"en", "zh"}
    assert {question["kind"] for question in questions} == {"choice", "multi_step"}
    assert {tuple(question["required"]) for question in questions} == {("audio", "image"), ("audio", "video")}


def test_what_was_planted_was_stopped_for_its_own_reason(demo, interplay):
    report = json.loads(interplay.run("qc", "report", "--json", "--project", demo.project).stdout)
    stopped = {
        item["name"]: (item["state"], item["reason_codes"]) for item in report["items"] if item["state"] != "released"
    }
    assert stopped == {
        "gt2-0000": ("rejected", ["unanswerable"]),  # asks for what is in no material
        "gt2-0001": ("returned", ["suspect_key"]),
        "gt2-0002": ("rejected", ["unhelpful_modality"]),
        "gt2-0003": ("draft", []),  # announces its answer: the automatic checks kept it from review
        "gt2-0004": ("rejected", ["redundant_modality"]),
        "gt3-0000": ("rejected", ["answerable_from_text"]),  # tells in words what the media show
    }
    (line,) = [line for line in demo.said[0].splitlines() if "gt2-0003" in line]
    assert "answer_leaked: the prompt announces the answer" in line


def test_what_was_broken_was_refused_with_its_reason(demo):
    failures = map(json.loads, demo.rows[0]["ingest_failure"])
    found = {Path(failure["origin"]).name: failure["reason"] for failure in failures}
    assert found == {"empty.wav": "empty_file", "cut-off.jpg": "truncated", "not-a-film.mp4": "disguised"}


def test_the_stronger_model_has_the_points_and_loses_them_without_a_sense(demo):
    report = json.loads((demo.project / "report" / "report.json").read_text(encoding="utf-8"))
    points = {(cell["model"], cell["condition"], cell["kind"]): cell["points"] for cell in report["cells"]}
    for kind in ("choice", "multi_step"):
        full = points["keen", "full", kind]
        assert full > points["hasty", "full", kind]
        for condition in ("without_audio", "without_image", "without_video", "text_only"):
            assert points["keen", condition, kind] < full / 2


def test_a_second_call_does_nothing_twice(demo):
    assert "nothing was done twice" not in demo.said[0]
    assert "everything was there already; nothing was done twice" in demo.said[1]
    assert demo.rows[1] == demo.rows[0]
    assert demo.files[1] == demo.files[0]


def test_two_demos_in_two_folders_release_the_same_bytes(demo, newcomer):
    for format_name in FORMATS:
        ours, theirs = (
            files_in(project / "export" / format_name) for project in (demo.project, newcomer / "demo-project")
        )
        assert ours == theirs
        assert "manifest.json" in ours
    ours, theirs = (set(files_in(project / "blobs")) for project in (demo.project, newcomer / "demo-project"))
    assert ours == theirs


LOAD = """
import hashlib, json, sys
from datasets import get_dataset_config_names, load_dataset
folder, found = sys.argv[1], {}
for config in get_dataset_config_names(folder):
    for split, rows in load_dataset(folder, config).items():
        features = {name: type(rows.features[name].feature).__name__ for name in ("images", "audios")}
        for row in rows.with_format("arrow")[:].to_pylist():
            embedded = [hashlib.sha256(medium["bytes"]).hexdigest() for name in features for medium in row[name]]
            found[row["qid"]] = [config, split, embedded, row["videos"], features]
print(json.dumps(found))
"""


def test_the_hugging_face_export_loads_with_datasets_offline(demo, released, tmp_path):
    folder = demo.project / "export" / "huggingface"
    # In a process of its own: the library reads its settings when it is imported, and takes seconds for that.
    process = subprocess.run(
        [sys.executable, "-c", LOAD, folder],
        env={"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache"), "PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-2000:]
    found = json.loads(process.stdout)
    assert found.keys() == {row["qid"] for row in released}
    for row in released:
        config, split, embedded, videos, features = found[row["qid"]]
        assert (config, split) == (
            {"choice": "omni_mc", "multi_step": "omni_mo"}[row["question"]["kind"]],
            row["split"],
        )
        assert features == {"images": "Image", "audios": "Audio"}
        filmed = [hashlib.sha256((folder / video).read_bytes()).hexdigest() for video in videos]
        assert sorted(embedded + filmed) == sorted(row["media"])
