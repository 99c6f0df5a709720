"""What goes wrong for users: one clear line each, nothing stored is lost, and the same command works after the mend."""

import contextlib
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from interplay.cli import main
from warehouse.workspace import open_workspace

DISK_BYTES = 12 << 20
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="makes a disk of its own, as Linux lets one")


@dataclass(frozen=True)
class Said:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one line of standard error."""
        (line,) = self.err.splitlines()
        assert line.startswith("interplay: ")
        return line.removeprefix("interplay: ")


@pytest.fixture
def say(monkeypatch, capsys) -> Callable[..., Said]:
    """Calls the command line in this process, by the same entry; an error that it does not know fails the test."""
    # The handler would hold on to this test's captured stream.
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)

    def call(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["interplay", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Said(ended.value.code or 0, *capsys.readouterr())

    return call


@pytest.fixture
def kept(contents_of, furnished) -> Callable[[], None]:
    """Checks that the project still holds every row and fact that it held at first."""
    before = contents_of(furnished)

    def check(project: Path = furnished) -> None:
        after = contents_of(project)
        for table, rows in before.items():
            lost = set(rows) - set(after[table])
            assert not lost, f"{table}: {lost}"

    return check


def photo(source: Path) -> bytes:
    return (source / "real" / "rocket.jpg").read_bytes()


@pytest.mark.parametrize(
    ("name", "damage", "reason", "said"),
    [
        ("cut.jpg", lambda data: data[: len(data) // 2], "truncated", "copy the file again"),
        ("film.mp4", lambda data: data, "disguised", "it is JPEG; give it the right extension"),
        ("nothing.wav", lambda data: b"", "empty_file", "copy it again"),
        ("huge.jpg", lambda data: data + bytes(1_000_000), "too_large", "at most 1000000 are taken"),
    ],
)
def test_a_bad_file_is_refused_alone(
    say, furnished, small_source, tmp_path, kept, monkeypatch, name, damage, reason, said
):
    given = tmp_path / "given"
    given.mkdir()
    (given / name).write_bytes(damage(photo(small_source)))
    (given / "good.png").write_bytes((small_source / "real" / "coffee.png").read_bytes())
    monkeypatch.setenv("INTERPLAY_MAX_FILE_BYTES", "1000000")
    alone = say("material", "ingest", given / name, "--project", furnished)
    assert (alone.code, alone.err) == (2, "")
    (line,) = [line for line in alone.out.splitlines() if line.startswith("failed: ")]
    assert line.startswith(f"failed: {given / name}: {reason}: ")
    assert said in line
    both = say("material", "ingest", given, "--project", furnished)
    assert both.code == 0
    assert f"new 1 (of them dropped 0), known 0, failed 1: {reason} 1" in both.out
    (given / name).unlink()
    (given / "mended.jpg").write_bytes(photo(small_source))
    mended = say("material", "ingest", given, "--project", furnished)
    assert (mended.code, "new 1 (of them dropped 0), known 1, failed 0" in mended.out) == (0, True)
    kept()


def test_one_wrong_name_does_not_spoil_the_right_name_of_the_same_bytes(say, furnished, small_source, tmp_path, kept):
    given = tmp_path / "given"
    given.mkdir()
    for name in ("a-film.mp4", "photo.jpg"):
        (given / name).write_bytes(photo(small_source))
    done = say("material", "ingest", given, "--project", furnished)
    assert (done.code, "new 1 (of them dropped 0), known 0, failed 1: disguised 1" in done.out) == (0, True)
    kept()


def test_a_manifest_with_a_wrong_column_takes_nothing(say, furnished, small_source, tmp_path, kept):
    (tmp_path / "rocket.jpg").write_bytes(photo(small_source))
    manifest = tmp_path / "manifest.csv"
    manifest.write_text("path,license\nrocket.jpg,CC0-1.0\n")
    command = ("material", "ingest", "--manifest", manifest, "--project", furnished)
    refused = say(*command)
    assert (refused.code, refused.out) == (2, "")
    assert refused.line == f"{manifest}, line 1, column 'license': unknown column; did you mean 'licence'?"
    manifest.write_text("path,licence\nrocket.jpg,CC0-1.0\n")
    assert "new 1 " in say(*command).out
    kept()


def test_wrong_items_are_refused_one_by_one_and_the_others_enter(say, furnished, small_source, kept):
    choice, steps = (next(i for i in items(small_source) if i["kind"] == kind) for kind in ("choice", "multi_step"))
    unplaced = choice | {"name": "unplaced", "prompt": choice["prompt"].replace("<audio_1>", "")}
    uncounted = steps | {"name": "uncounted", "steps": [step | {"points": 3} for step in steps["steps"]]}
    good = choice | {"name": "good", "prompt": choice["prompt"].replace("\n", " ")}
    file = small_source / "wrong.yaml"
    command = ("item", "import", file, "--author", "ann", "--project", furnished)
    write_items(file, unplaced, uncounted, good)
    refused = say(*command)
    assert (refused.code, refused.err) == (2, "")
    lines = [line for line in refused.out.splitlines() if line.startswith("refused: ")]
    assert [line.removeprefix("refused: wrong.yaml ") for line in lines] == [
        "item 1 (unplaced): media 'audio_1' has no placeholder; write <audio_1> where it belongs in the prompt",
        "item 2 (uncounted): the points of the steps must sum to 10, these sum to 9",
    ]
    assert "1 created, 0 revised, 0 unchanged, 2 refused" in refused.out
    write_items(file, choice | {"name": "unplaced"}, steps | {"name": "uncounted"}, good)
    mended = say(*command)
    assert (mended.code, "2 created, 0 revised, 1 unchanged, 0 refused" in mended.out) == (0, True)
    kept()


def test_a_damaged_item_file_is_one_line(say, furnished, tmp_path, kept):
    file = tmp_path / "items.yaml"
    for data, said in ((b"- name: [\n", "is not valid YAML"), (b"name: x\n", "list of items"), (b"\xff\xfe", "UTF-8")):
        file.write_bytes(data)
        refused = say("item", "import", file, "--author", "ann", "--project", furnished)
        assert refused.code == 2
        assert str(file) in refused.line
        assert said in refused.line
    kept()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "qc verdict gt5-0002 --decision pass --by rob",
            "item 'gt5-0002' is submitted; round 3 judges items that are round2_passed",
        ),
        (
            "qc verdict gt5-0000 --decision pass --by rie --round 1",
            "item 'gt5-0000' is released; round 1 judges items that are submitted",
        ),
        ("qc verdict gt5-0002 --decision reject --round 1 --by rob", "to reject it, give a reason code"),
        ("qc verdict gt5-0002 --decision reject --round 1 --by rob --reason ambigous", "did you mean 'ambiguous'"),
        ("qc verdict gt5-0002 --decision pass --round 1 --by bob", "unknown user 'bob'; did you mean 'rob'?"),
        ("item show gt5-000", "unknown item 'gt5-000'; did you mean 'gt5-0002' or 'gt5-0001' or 'gt5-0000'?"),
        ("material show 0", "'interplay material list' shows them|begins several materials"),
        ("evaluation run small 1.0.0 --model kean", "unknown model 'kean'; did you mean 'keen'"),
        ("evaluation run small 1.0.0 --model keen --condition ful", "unknown condition 'ful'; did you mean 'full'?"),
        ("evaluation run smal 1.0.0 --model keen", "unknown release 'smal 1.0.0'; did you mean 'small 1.0.0'?"),
        ("evaluation report small 1.0.1", "unknown release 'small 1.0.1'; did you mean 'small 1.0.0'?"),
        ("release export small 1.0.0 --format hugingface --to out", "did you mean 'huggingface'?"),
        ("release build small 1.0.0 --by rob", "release small 1.0.0 exists already and is sealed"),
        ("release discard small 1.0.0 --by rob", "sealed"),
        ("release seal small 2.0.0 --by rob", "unknown release 'small 2.0.0'; did you mean 'small 1.0.0'?"),
        ("release seal small 1.0.0 --by bob", "did you mean 'rob'? (or add one with 'interplay user add')"),
        ("qc run --model keen", "the panel has 1 model famil"),
        ("user roles rob --role revewer", "unknown role 'revewer'; did you mean 'reviewer'?"),
        ("warehouse events gt5-000", "unknown subject 'gt5-000'; did you mean"),
        ("material ingest no-such-file.jpg", "no-such-file.jpg does not exist; check the spelling"),
    ],
)
def test_an_impossible_wish_is_one_line_and_changes_nothing(say, furnished, contents_of, monkeypatch, command, said):
    monkeypatch.chdir(furnished)
    before = contents_of(furnished)
    refused = say(*command.split())
    assert (refused.code, refused.out) == (2, "")
    assert any(one in refused.line for one in said.split("|"))
    assert contents_of(furnished) == before


def test_an_illegal_step_becomes_legal_when_its_turn_comes(say, furnished, leave_open):
    third = ("qc", "verdict", "gt5-0002", "--decision", "pass", "--by", "rob", "--project", furnished)
    assert say(*third).code == 2
    for number in (1, 2):
        assert "run it with 'interplay qc run" in say(*third, "--round", number).line
        with open_workspace(furnished) as workspace, workspace.database.session() as session:
            leave_open(session, "gt5-0002", number)
        assert say(*third, "--round", number).code == 0
    assert "the item is round2_passed" in say(*third).out
    kept_but_for_its_state = say("item", "list", "--state", "round2_passed", "--json", "--project", furnished).out
    assert [item["name"] for item in yaml.safe_load(kept_but_for_its_state)] == ["gt5-0002"]


def test_without_a_project_the_line_says_how_to_make_one(say, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = say("item", "list")
    assert refused.code == 2
    assert f"no Interplay project at {tmp_path} or above it; make one with 'interplay init {tmp_path}'" in refused.line
    assert say("init", tmp_path).code == 0
    assert say("item", "list").code == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[models\n", "is not valid TOML: Expected ']'"),
        ('workers = "many"\n', "workers: must be a whole number"),
        ("wrkers = 2\n", "unknown setting 'wrkers'; did you mean 'workers'"),
    ],
)
def test_damaged_settings_are_one_line(say, furnished, kept, line, said):
    file = furnished / "interplay.toml"
    whole = file.read_text()
    file.write_text(line + whole)
    refused = say("item", "list", "--project", furnished)
    assert (refused.code, refused.out) == (2, "")
    assert str(file) in refused.line
    assert said in refused.line
    file.write_text(whole)
    assert say("item", "list", "--project", furnished).code == 0
    kept()


@pytest.mark.parametrize("target", ["taken", "taken/below"])
def test_a_file_where_a_folder_is_to_be_made_is_one_line(say, furnished, tmp_path, target):
    (tmp_path / "taken").write_text("not a folder")
    for command in ("warehouse snapshot --to", "evaluation report small 1.0.0 --to"):
        refused = say(*command.split(), tmp_path / target, "--project", furnished)
        assert refused.code == 2
        assert refused.line == f"{tmp_path / 'taken'} is a file, and a folder is needed there; choose another place"
    export = ["release", "export", "small", "1.0.0", "--format", "jsonl", "--to", tmp_path / target]
    exported = say(*export, "--project", furnished)
    assert (exported.code, str(tmp_path / "taken") in exported.line) == (2, True)


@linux_only
def test_output_that_nobody_can_take_is_one_line(interplay, furnished):
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [sys.executable, "-c", "from interplay.cli import main; main()", "item", "list", "--project", furnished],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert process.returncode == 2
    (line,) = process.stderr.splitlines()
    assert "no space left" in line


class Disk:
    """A small disk of its own, mounted where only its own processes see it; gone with them.

    As root in a mount namespace, otherwise in a user namespace, too.
    """

    def __init__(self, interplay, place: Path) -> None:
        self.interplay, self.place = interplay, place
        place.mkdir()
        who = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        mount = f'mount -t tmpfs -o size={DISK_BYTES} tmpfs "{place}" && echo mounted && exec cat'
        self._holder = subprocess.Popen(
            ["unshare", *who, "--mount", "sh", "-c", mount],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        if self._holder.stdout.readline() != "mounted\n":
            _, told = self._holder.communicate()
            pytest.fail(f"no small disk can be mounted here, as root or in a user namespace: {told}")
        inside = ["--user", "--preserve-credentials"] if who else []
        self._enter = ["nsenter", "--target", str(self._holder.pid), "--mount", *inside]
        self.seen = Path(f"/proc/{self._holder.pid}/root{place}")

    def close(self) -> None:
        self._holder.communicate("")

    def shell(self, script: str) -> str:
        return subprocess.run([*self._enter, "sh", "-ec", script], capture_output=True, text=True, check=True).stdout

    def say(self, *arguments: object) -> Said:
        done = self.interplay.run(*arguments, expect=None, prefix=self._enter)
        return Said(done.returncode, done.stdout, done.stderr)

    def fill(self, left_bytes: int) -> None:
        """Leave so many bytes, rounded up to pages."""
        available = int(self.shell(f'df --output=avail --block-size=1 "{self.place}" | tail -n 1'))
        with (self.seen / "ballast").open("wb") as ballast:
            ballast.write(bytes(available - left_bytes))

    def free(self) -> None:
        (self.seen / "ballast").unlink()


@pytest.fixture
def disk(interplay, furnished, tmp_path) -> Iterator[Disk]:
    """A small disk with the furnished project on it."""
    made = Disk(interplay, tmp_path / "disk")
    with contextlib.closing(made):
        shutil.copytree(furnished, made.seen / "project")
        yield made


def brought_out(disk: Disk, to: Path) -> Path:
    """The project as it stands on the disk, where this process can open it."""
    return shutil.copytree(disk.seen / "project", to)


@linux_only
def test_on_a_full_disk_an_ingest_is_one_line_and_goes_on_when_there_is_room(disk, small_source, tmp_path, kept):
    project = disk.place / "project"
    photos = [small_source / "real" / f"{name}.png" for name in ("chelsea", "coffee", "astronaut", "gravel")]
    ingest = ("material", "ingest", *photos, "--project", project)
    disk.fill(left_bytes=600_000)
    full = disk.say(*ingest)
    assert (full.code, full.out) == (2, "")
    assert "no space left where " in full.line
    assert "free some and run the same command again" in full.line
    kept(brought_out(disk, tmp_path / "when full"))
    disk.free()
    mended = disk.say(*ingest)
    assert (mended.code, "failed 0" in mended.out) == (0, True)
    kept(brought_out(disk, tmp_path / "mended"))


@linux_only
def test_on_a_full_disk_a_round_keeps_its_answers(disk, tmp_path, kept, contents_of):
    project = disk.place / "project"
    # The canaries' media take more room than the answers.
    assert disk.say("qc", "run", "--round", "1", "--max-calls", "0", "--project", project).code == 0
    disk.fill(left_bytes=90_000)
    full = disk.say("qc", "run", "--round", "1", "--project", project)
    assert full.code == 2
    assert "no space left where " in full.line
    at_full = brought_out(disk, tmp_path / "when full")
    kept(at_full)
    answered = contents_of(at_full)["fact response"]
    disk.free()
    mended = disk.say("qc", "run", "--round", "1", "--json", "--project", project)
    assert mended.code == 0
    (report,) = yaml.safe_load(mended.out)
    after = contents_of(brought_out(disk, tmp_path / "mended"))["fact response"]
    assert set(answered) <= set(after)
    assert report["asked"] == len(after) - len(answered)


@linux_only
def test_on_a_disk_without_any_room_every_command_is_one_line(disk, tmp_path, kept):
    disk.fill(left_bytes=0)
    project = disk.place / "project"
    for command in (("item", "list"), ("qc", "run")):
        full = disk.say(*command, "--project", project)
        assert full.code == 2
        assert "space left" in full.line
    disk.free()
    assert disk.say("item", "list", "--project", project).code == 0
    kept(brought_out(disk, tmp_path / "mended"))


@linux_only
def test_a_project_that_is_read_only_is_one_line(disk, small_source, tmp_path, kept):
    project = disk.place / "project"
    ingest = ("material", "ingest", small_source / "real" / "rocket.jpg", "--project", project)
    disk.shell(f'mount -o remount,bind,ro "{disk.place}"')
    for command in (ingest, ("item", "list", "--project", project), ("init", disk.place / "another")):
        refused = disk.say(*command)
        assert (refused.code, refused.out) == (2, "")
        assert str(disk.place) in refused.line
    disk.shell(f'mount -o remount,bind,rw "{disk.place}"')
    assert "new 1 " in disk.say(*ingest).out
    kept(brought_out(disk, tmp_path / "mended"))


def items(source: Path) -> list[dict]:
    return yaml.safe_load((source / "items.yaml").read_text(encoding="utf-8"))


def write_items(file: Path, *records: dict) -> None:
    file.write_text(yaml.safe_dump(list(records), allow_unicode=True), encoding="utf-8")
