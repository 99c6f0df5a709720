"""Export folders: complete or absent, the same bytes everywhere, and every damage found."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import UnknownName
from warehouse.release.build import Query, Recipe, build_release
from warehouse.release.export import NotSealed, TargetTaken, export_release
from warehouse.release.seal import SealOrder, seal_release
from warehouse.release.splits import SplitPlan
from warehouse.release.verify import NoExport, verify_folder, verify_release

FORMATS = ["huggingface", "jsonl"]


def sealed(world, version="1.0.0", holdout_share=0.0):
    recipe = Recipe(Query(), SplitPlan(0.4, holdout_share), "CC-BY-4.0", salt="pepper")
    build_release(world.database, "zoo", version, recipe, "max", world.clock)
    seal_release(world.database, world.blobs, SealOrder("zoo", version, "max"), world.clock)


def export(world, folder, format_name, version="1.0.0"):
    return export_release(world.database, world.blobs, "zoo", version, format_name, folder, world.clock)


def fill(world, names="abcde"):
    for name in names:
        world.choice_item(name, ord(name))
    world.steps_item("film", 9)


def tree(folder):
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def damages(folder):
    return [damage.line() for damage in verify_folder(folder).damages]


@pytest.fixture(scope="module")
def exports(shared_world, tmp_path_factory):
    """One release in every format."""
    fill(shared_world)
    sealed(shared_world)
    return {name: export(shared_world, tmp_path_factory.mktemp(name) / "out", name).folder for name in FORMATS}


@pytest.fixture
def exported(exports, tmp_path, request):
    """A copy, to be damaged."""
    return Path(shutil.copytree(exports[request.param], tmp_path / "out"))


@pytest.mark.parametrize("format_name", FORMATS)
def test_two_projects_with_the_same_items_make_the_same_folder(new_world, tmp_path, format_name):
    trees = []
    for name, order in (("one", "abcde"), ("two", "ecadb")):
        world = new_world(name)
        fill(world, order)
        sealed(world)
        trees.append(tree(export(world, tmp_path / f"out-{name}", format_name).folder))
    assert trees[0] == trees[1]


@pytest.mark.parametrize("exported", FORMATS, indirect=True)
def test_an_export_is_whole_and_holds_nothing_private(exported, shared_world):
    found = verify_folder(exported)
    assert found.damages == []
    assert (found.title, found.rows) == ("zoo 1.0.0", 6)
    project = shared_world.workspace.project.root
    private = [b"/home/ana", b"judge-7", b"writer-7", str(project).encode(), shared_world.run_id.encode()]
    for name, data in tree(exported).items():
        assert [one for one in private if one in data] == [], name


@pytest.mark.parametrize("exported", ["jsonl"], indirect=True)
def test_the_list_of_files_is_one_that_sha256sum_reads(exported):
    done = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=exported, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("exported", ["jsonl"], indirect=True)
def test_plain_rows_carry_question_answer_and_media(exported, shared_world):
    rows = {row["qid"]: row for row in map(json.loads, (exported / "questions.jsonl").open(encoding="utf-8"))}
    assert rows.keys() == {*"abcde", "film"}
    row = rows["a"]
    assert (row["kind"], row["language"], row["task_type"]) == ("choice", "en", "human_and_animal_recognition")
    assert row["ability"] == "perception/object_perception"
    assert row["prompt"] == "Which animal? <image_1> <audio_1>"
    assert row["choices"] == ["tiger | lion", "牛", "bee"]
    assert row["answer"] == "B"
    assert row["answer_key"]["correct"] == [1]
    assert row["required"] == ["audio", "image"]
    assert (exported / row["media"]["image_1"]).read_bytes() == shared_world.picture(ord("a"))
    assert (exported / row["media"]["audio_1"]).read_bytes() == shared_world.sound(200 + ord("a"))
    film = rows["film"]
    assert [step["points"] for step in film["steps"]] == [4, 6]
    assert film["steps"][0]["answer_key"] == {
        "correct": [], "accepted": ["3", "three"], "grader": "number", "tolerance": 0.5,
    }  # fmt: skip
    assert film["media"].keys() == {"video_1", "audio_1", "image_1", "image_2"}
    assert film["media"]["video_1"].endswith(".mp4")
    assert {row["split"] for row in rows.values()} == {"dev", "test"}


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_hold_out_is_not_exported(world, tmp_path, format_name):
    fill(world, "abcdefgh")
    sealed(world, holdout_share=0.5)
    folder = export(world, tmp_path / "out", format_name).folder
    held = json.loads((folder / "manifest.json").read_bytes())["holdout"]
    assert 0 < len(held) < 9
    assert damages(folder) == []
    data = b"".join(tree(folder).values())
    for row in held:
        if row["qid"] != "film":
            assert world.picture(ord(row["qid"])) not in data
            assert world.blobs.put(world.picture(ord(row["qid"]))).encode() not in data
    assert b"pepper" not in data


@pytest.mark.parametrize("exported", FORMATS, indirect=True)
def test_every_single_changed_byte_is_found_and_its_file_named(exported):
    for name, data in tree(exported).items():
        if name == "SHA256SUMS":
            continue
        file = exported / name
        for place in (0, len(data) // 2, len(data) - 1):
            file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
            assert f"{name}: its bytes are not those that were exported" in damages(exported)
        file.write_bytes(data)
    assert damages(exported) == []


@pytest.mark.parametrize("exported", FORMATS, indirect=True)
def test_all_damages_are_reported_together(exported):
    files = sorted(tree(exported).keys() - {"SHA256SUMS"})
    (exported / files[0]).write_bytes(b"x")
    (exported / files[1]).unlink()
    (exported / "extra.txt").write_text("x")
    (exported / ".gitattributes").write_text("put here by a hub")
    found = damages(exported)
    assert f"{files[0]}: its bytes are not those that were exported" in found
    assert f"{files[1]}: is missing" in found
    assert "extra.txt: is not listed in SHA256SUMS" in found
    assert not any("gitattributes" in line for line in found)


def forge_sums(folder):
    """Make the list agree with the damaged files, as somebody would who wants to hide a change."""
    lines = subprocess.run(
        "find . -type f ! -name SHA256SUMS -printf '%P\\0' | sort -z | xargs -0 sha256sum",
        shell=True, cwd=folder, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    (folder / "SHA256SUMS").write_text(lines)


@pytest.mark.parametrize("exported", ["jsonl"], indirect=True)
@pytest.mark.parametrize(
    ("change", "damage"),
    [
        (lambda row: row["answer_key"].update(correct=[2]), "question of row 'a' is not what was sealed"),
        (lambda row: row.update(split="train"), "split of row 'a' is not what was sealed"),
        (lambda row: row.update(canary=""), "canary of row 'a' is not what was sealed"),
        (lambda row: row.update(revision="0" * 64), "revision of row 'a' is not what was sealed"),
        (lambda row: row.update(qid="z"), "row 'z' is not in the manifest"),
        (lambda row: row.update(qid="b"), "row 'a' was found 0 times, not once"),
        (lambda row: row.pop("prompt"), "is not a question (KeyError: 'prompt')"),
        (lambda row: row["media"].update(image_1="../../etc/passwd"), "is not a question"),
        (lambda row: row["media"].update(image_1="media/x/../../y"), "is not a question"),
        (lambda row: row.update(choices=["one"]), "is not a question (ValidationError"),
    ],
)
def test_a_row_that_was_changed_with_its_sums_is_found(exported, change, damage):
    file = exported / "questions.jsonl"
    rows = [json.loads(line) for line in file.open(encoding="utf-8")]
    change(rows[0])
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    forge_sums(exported)
    found = damages(exported)
    assert any(damage in line for line in found), found


@pytest.mark.parametrize("exported", ["jsonl"], indirect=True)
def test_rows_that_cannot_be_read_are_each_named(exported):
    file = exported / "questions.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"[]\n\xff\n" + b"".join(lines[2:]))
    found = damages(exported)
    assert {line.split(":")[0] for line in found} >= {"questions.jsonl line 1", "questions.jsonl line 2"}
    assert any("row 'a' was found 0 times" in line for line in found)
    assert any("row 'b' was found 0 times" in line for line in found)


@pytest.mark.parametrize("exported", FORMATS, indirect=True)
def test_a_manifest_that_was_changed_with_its_sums_is_found(exported):
    file = exported / "manifest.json"
    document = json.loads(file.read_bytes())
    document["rows"][0]["question"]["answer"]["correct"] = [0]
    document["canary"] = "00000000-0000-5000-8000-000000000000"
    file.write_text(json.dumps(document))
    forge_sums(exported)
    found = damages(exported)
    for damage in (
        "manifest.json: row 'a' is not what its sha256 says",
        "manifest.json: the question of row 'a' is not the revision that it names",
        "manifest.json: its bytes are not those that export.json names",
    ):
        assert damage in found
    assert any("manifest.json: the canary is" in line for line in found)


@pytest.mark.parametrize("exported", FORMATS, indirect=True)
def test_media_that_was_swapped_with_its_sums_is_found(exported):
    media = next(file for file in sorted(exported.rglob("*.mp4")))
    media.write_bytes(b"another film")
    forge_sums(exported)
    assert any(f"media {media.name} of row 'film'" in line for line in damages(exported))


@pytest.mark.parametrize("exported", ["jsonl"], indirect=True)
@pytest.mark.parametrize("name", ["manifest.json", "export.json", "SHA256SUMS"])
def test_the_export_without_one_of_its_papers_is_damaged(exported, name):
    (exported / name).unlink()
    assert any(line.startswith(f"{name}: ") for line in damages(exported))


def test_a_folder_without_an_export_is_a_mistake(tmp_path):
    with pytest.raises(NoExport, match="interplay release export"):
        verify_folder(tmp_path)


@pytest.mark.parametrize("exported", ["jsonl"], indirect=True)
def test_verification_needs_no_project_and_no_network(exported):
    code = "import sys; from interplay.cli import main; sys.argv[0] = 'interplay'; main()"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INTERPLAY_")}
    for damaged in (False, True):
        if damaged:
            (exported / "README.md").write_text("x")
        done = subprocess.run(
            [sys.executable, "-c", code, "release", "verify", str(exported)],
            cwd="/", env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == int(damaged), done.stderr
        assert ("README.md: its bytes are not those" in done.stdout) == damaged


def test_only_what_is_sealed_is_exported_in_a_known_format(world, tmp_path):
    fill(world, "a")
    recipe = Recipe(Query(), SplitPlan())
    build_release(world.database, "zoo", "0.1.0", recipe, "max", world.clock)
    with pytest.raises(NotSealed, match=r"interplay release seal zoo 0\.1\.0"):
        export(world, tmp_path / "out", "jsonl", "0.1.0")
    with pytest.raises(UnknownName, match="did you mean 'jsonl'"):
        export(world, tmp_path / "out", "json", "0.1.0")
    with pytest.raises(UnknownName, match=r"zoo 0\.1\.0"):
        export(world, tmp_path / "out", "jsonl", "0.2.0")
    assert not (tmp_path / "out").exists()


def test_an_existing_target_is_left_alone(world, tmp_path):
    fill(world, "ab")
    sealed(world)
    folder = tmp_path / "deep" / "out"
    assert export(world, folder, "jsonl").new
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*")}
    assert not export(world, folder, "jsonl").new, "the same export lies there"
    with pytest.raises(TargetTaken, match="another export or a damaged one"):
        export(world, folder, "huggingface")
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*")} == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("x")
    with pytest.raises(TargetTaken, match="is no export"):
        export(world, tmp_path / "mine", "jsonl")
    with pytest.raises(TargetTaken, match="is no export"):
        export(world, tmp_path / "mine" / "diary.txt", "jsonl")
    (tmp_path / "empty").mkdir()
    assert export(world, tmp_path / "empty", "jsonl").new
    (folder / "README.md").write_text("x")
    with pytest.raises(TargetTaken):
        export(world, folder, "jsonl")
    assert not list(tmp_path.rglob("*.partial"))


def test_lost_media_stop_the_export_without_a_trace(world, tmp_path):
    fill(world, "ab")
    sealed(world)
    sha256 = world.blobs.put(world.picture(ord("a")))
    place = world.workspace.project.root / "blobs" / sha256[:2] / sha256
    place.write_bytes(b"rot")
    for format_name in FORMATS:
        with pytest.raises(Exception, match=f"{sha256}.* is damaged"):
            export(world, tmp_path / "exports" / "out", format_name)
    assert list((tmp_path / "exports").iterdir()) == []
    assert any(sha256 in one.what for one in verify_release(world.database, world.blobs, "zoo", "1.0.0").damages)


def killed_at(step, work):
    """Do the work in a child that is killed before its n-th change to the file system; whether it was."""
    child = os.fork()
    if child == 0:
        left = step

        def hook(event, args):
            nonlocal left
            writes = event == "open" and isinstance(args[1], str) and args[1][0] in "wax"
            if writes or event in {"os.mkdir", "os.rename"}:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_an_export_killed_at_any_step_leaves_no_half_folder(world, tmp_path):
    fill(world, "a")
    sealed(world)
    world.database.close()
    folder = tmp_path / "exports" / "out"
    (tmp_path / "exports").mkdir()
    step = 1
    while killed_at(step, lambda: export(world, folder, "jsonl")):
        if folder.exists():
            assert damages(folder) == [], f"killed at step {step}"
        step += 1
    assert step > 10
    assert damages(folder) == []
    assert not export(world, folder, "jsonl").new
    assert [file.name for file in folder.parent.iterdir()] == ["out"], "what the killed ones left is swept up"


def test_a_sealed_release_is_verified_in_the_project(world):
    fill(world, "ab")
    sealed(world)
    found = verify_release(world.database, world.blobs, "zoo", "1.0.0")
    assert (found.damages, found.rows) == ([], 3)
    sha256 = world.blobs.put(world.sound(200 + ord("b")))
    (world.workspace.project.root / "blobs" / sha256[:2] / sha256).unlink()
    assert [sha256 in one.what for one in verify_release(world.database, world.blobs, "zoo", "1.0.0").damages] == [True]
