"""`interplay release ...` and `interplay warehouse ...` as people and programs call them."""

import hashlib
import json
import re
import shlex

import pyarrow.parquet as pq
import pytest
import typer
from sqlmodel import select

import warehouse.cli
import warehouse.release_cli
from interplay.cli import app as root
from warehouse.people import get_user
from warehouse.tables import IngestFailure, Material, MaterialState


@pytest.fixture
def call(world, call_command, signed_on):
    """Call a command in the world's project; gives the exit code, or the mistake that is shown as one line."""
    signed_on(world.workspace.project.root, "mara")

    def run(line: str, code: int = 0):
        arguments = shlex.split(line)
        return call_command(root, [*arguments, "--project", str(world.workspace.project.root)], code)

    return run


def commands(app: typer.Typer):
    group = typer.main.get_command(app)
    return [pytest.param(command, id=f"{name}") for name, command in sorted(group.commands.items())]


@pytest.mark.parametrize("command", [*commands(warehouse.release_cli.app), *commands(warehouse.cli.app)])
def test_every_command_has_an_example_and_json(command):
    assert re.search(rf"^Example: interplay (release|warehouse) {command.name}\b", command.help, re.MULTILINE)
    assert any("--json" in option.opts for option in command.params)


def test_from_accepted_items_to_two_versions(call, world, tmp_path):
    for name in "abcd":
        world.choice_item(name, ord(name))
    built = call("release build zoo 1.0.0 --dev-share 0.5 --licence CC-BY-4.0 --json")
    assert built["state"] == "built"
    assert sum(built["splits"].values()) == 4
    assert built["coverage"] == [
        {"task_type": "human_and_animal_recognition", "modalities": "image+audio", "language": "en", "count": 4}
    ]
    assert "nothing blocks" in call("release seal zoo 1.0.0 --dry-run")
    sealed = call("release seal zoo 1.0.0 --json")
    assert sealed["now"]
    assert "sealed already" in call("release seal zoo 1.0.0")
    assert "whole" in call("release verify zoo 1.0.0")
    target = tmp_path / "zoo-1.0.0"
    assert call(f"release export zoo 1.0.0 --format jsonl --to {target} --json")["new"]
    assert "already" in call(f"release export zoo 1.0.0 --format jsonl --to {target}")
    assert call(f"release verify {target} --json")["manifest_sha256"] == sealed["manifest_sha256"]

    world.choice_item("e", ord("e"))
    call("release build zoo 1.1.0 --dev-share 0.5")
    assert call("release diff zoo 1.0.0 1.1.0 --json") == {
        "added": ["e"],
        "removed": [],
        "changed": {},
        "withdrawn": [],
    }
    assert call("release diff zoo 1.0.0 1.1.0") == "+ e\n"
    assert "hold the same" in call("release diff zoo 1.0.0 1.0.0")
    listed = call("release list --json")
    assert [(one["version"], one["state"], one["items"]) for one in listed] == [
        ("1.0.0", "sealed", 4),
        ("1.1.0", "built", 5),
    ]
    assert "1.1.0" in call("release list")
    shown = call("release show zoo 1.1.0 --json")
    assert [item["qid"] for item in shown["items"]] == list("abcde")
    assert "e (" in call("release show zoo 1.1.0")
    assert "discarded" in call("release discard zoo 1.1.0")
    assert len(call("release list --json")) == 1
    assert "sealed and stays" in call("release discard zoo 1.0.0")


def test_who_acts_is_a_user_and_noted(call, world, monkeypatch):
    world.choice_item("a", 1)
    said = "unknown user 'mira'; did you mean 'mara'? (or add one with 'interplay user add')"
    for command in ("build", "seal", "discard"):
        assert call(f"release {command} zoo 1.0.0 --by mira") == said
    call("release build zoo 1.0.0 --by mara")
    (built,) = [one for one in call("warehouse events zoo@1.0.0 --json") if one["action"] == "build"]
    assert built["actor"] == "mara"
    monkeypatch.setenv("LOGNAME", "somebody")
    assert call("release discard zoo 1.0.0").startswith("unknown user 'somebody'; known: mara (or add one")
    with world.workspace.database.session() as session:
        get_user(session, "mara").active = False
    assert "no longer active" in call("release discard zoo 1.0.0 --by mara")


def test_what_blocks_is_shown_a_line_each_with_exit_code_1(call, world):
    for number, name in enumerate("ab"):
        used = world.material(world.picture(number), licence=None)
        world.accept(name, world.open_question(used), {"image_1": used})
    call("release build zoo 1.0.0")
    lines = call("release seal zoo 1.0.0", code=1).splitlines()
    mend = "record the material's licence, or use another material"
    assert lines == [
        f"a <image_1>: no licence is on record; {mend}",
        f"b <image_1>: no licence is on record; {mend}",
        "2 findings block sealing",
    ]
    found = call("release seal zoo 1.0.0 --dry-run --json", code=1)
    assert [finding["subject"] for finding in found["findings"]] == ["a <image_1>", "b <image_1>"]
    assert not found["sealed"]


def test_the_salt_of_a_hold_out_is_never_shown(call, world):
    for name in "abcdefgh":
        world.choice_item(name, ord(name))
    built = call("release build zoo 1.0.0 --holdout-share 0.5 --holdout-salt pepper --json")
    assert "pepper" not in json.dumps([built, call("release show zoo 1.0.0 --json"), call("release list --json")])
    assert "pepper" not in json.dumps(call("warehouse runs --json"))
    assert "pepper" not in json.dumps(call(f"warehouse events {'zoo@1.0.0'} --json"))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("release build zoo 1", "not a semantic version"),
        ("release build zoo 1.0.0", "no accepted item"),
        ("release seal zoo 1.0.0", "unknown release"),
        ("release verify /nowhere/at/all", "holds no SHA256SUMS"),
        ("release diff zoo 1.0.0 1.1.0", "unknown release"),
        ("warehouse events nobody", "unknown subject"),
        ("warehouse sql 'SELEC 1'", "DuckDB cannot answer"),
    ],
)
def test_mistakes_are_one_line(call, line, told):
    assert told in call(line)


def test_a_damaged_export_is_told_with_exit_code_1(call, world, tmp_path):
    world.choice_item("a", 1)
    call("release build zoo 1.0.0")
    call("release seal zoo 1.0.0")
    call(f"release export zoo 1.0.0 --format huggingface --to {tmp_path / 'out'}")
    (tmp_path / "out" / "README.md").write_text("x")
    lines = call(f"release verify {tmp_path / 'out'}", code=1).splitlines()
    assert lines[0] == "README.md: its bytes are not those that were exported"
    assert "1 damages" in lines[-1]


def test_every_lost_blob_is_told(call, world):
    world.choice_item("a", 1)
    world.choice_item("b", 2)
    call("release build zoo 1.0.0")
    manifest = call("release seal zoo 1.0.0 --json")["manifest_sha256"]
    assert call("warehouse verify --json") == {"blobs": 5, "problems": []}
    assert call("warehouse unnamed --days 0 --json") == []
    gone, rotten = world.blobs.put(world.picture(1)), world.blobs.put(world.sound(202))
    root = world.workspace.project.root / "blobs"
    (root / gone[:2] / gone).unlink()
    (root / rotten[:2] / rotten).write_bytes(b"rot")
    (root / manifest[:2] / manifest).write_bytes(b"rot")
    problems = call("warehouse verify --json", code=1)["problems"]
    assert len(problems) == 3
    assert any(problem.startswith("material ") and f"{gone} is not in" in problem for problem in problems)
    assert any(problem.startswith("material ") and f"{rotten} in" in problem for problem in problems)
    assert any(problem.startswith("manifest of release zoo 1.0.0: ") for problem in problems)


def test_bytes_that_no_row_names_are_listed_and_stay(call, world):
    named = world.material(world.picture(1))
    lost = {world.blobs.put(b"lost"): "blobs", world.workspace.originals.put(b"lost too"): "originals"}
    found = call("warehouse unnamed --days 0 --json")
    assert {one["sha256"]: one["store"] for one in found} == lost and {one["noted"] for one in found} == {None}
    assert call("warehouse unnamed --json") == [], "a write may be under way"
    assert "rows name all" in call("warehouse unnamed")
    assert all(sha256 in call("warehouse unnamed --days 0") for sha256 in lost)
    assert world.blobs.get(next(iter(lost))) == b"lost" and world.blobs.exists(named.media_ref.sha256)


def test_originals_are_verified_and_withdrawn_materials_passed_over(call, world):
    kept, withdrawn = world.material(world.picture(1)), world.material(world.picture(2))
    world.accept("a", world.open_question(withdrawn), {"image_1": withdrawn})
    with world.database.session() as session:
        original = session.get(Material, kept.id)
        original.original_kept, original.sha256 = True, hashlib.sha256(world.picture(3)).hexdigest()
        session.get(Material, withdrawn.id).state = MaterialState.WITHDRAWN
    root = world.workspace.project.root / "blobs"
    gone = withdrawn.media_ref.sha256
    (root / gone[:2] / gone).unlink()
    (problem,) = call("warehouse verify --json", code=1)["problems"]
    assert problem.startswith(f"original of material {kept.id}: ")
    world.workspace.originals.put(world.picture(3))
    assert call("warehouse verify --json")["problems"] == []


def test_bytes_that_are_their_own_working_copy_need_no_second_place(call, world):
    kept = world.material(world.picture(1))
    with world.database.session() as session:
        session.get(Material, kept.id).original_kept = True
    assert call("warehouse verify --json") == {"blobs": 1, "problems": []}


def test_runs_events_and_upgrade(call, world):
    item = world.choice_item("a", 1)
    call("release build zoo 1.0.0")
    call("release seal zoo 1.0.0")
    runs = call("warehouse runs --json")
    assert [run["command"] for run in runs][:2] == ["release seal", "release build"]
    assert len(call("warehouse runs --limit 1 --json")) == 1
    assert "release seal" in call("warehouse runs --limit 1")
    actions = [event["action"] for event in call("warehouse events a --json")]
    assert actions[0] == "create"
    assert actions[-1] == "release"
    assert call("warehouse events zoo@1.0.0 --json")[-1]["action"] == "seal"
    assert "create" in call(f"warehouse events {item.id}")
    assert "up to date" in call("warehouse upgrade")


def fact(**columns):
    return {"subject": "a", "embedder": "e@1", "vector": [1.0], "recorded_at": "2026-01-01T00:00:00+00:00"} | columns


def test_compacting_merges_files_and_keeps_rows(call, world):
    for number in range(3):
        with world.workspace.facts.writer("embedding", f"run-{number}") as writer:
            writer.add(fact(subject=f"s{number}"))
    assert call("warehouse compact --json") == {"embedding": 3}
    assert call("warehouse compact") == "nothing to merge\n"
    rows = call("warehouse sql --json 'SELECT subject FROM embedding ORDER BY subject'")
    assert rows == [{"subject": "s0"}, {"subject": "s1"}, {"subject": "s2"}]


def test_a_snapshot_holds_the_tables_without_the_users(call, world, tmp_path):
    world.choice_item("a", 1)
    counts = call(f"warehouse snapshot --to {tmp_path / 'tables'} --json")
    assert counts["item"] == 1
    assert counts["material"] == 2
    assert pq.read_table(tmp_path / "tables" / "item.parquet").column("name").to_pylist() == ["a"]
    assert not (tmp_path / "tables" / "user.parquet").exists()


def test_sql_joins_facts_and_tables(call, world):
    item = world.choice_item("a", 1)
    with world.workspace.facts.writer("embedding", "r") as writer:
        writer.add(fact(subject=item.id))
    query = "SELECT item.name, vector[1] AS first FROM item JOIN embedding ON item.id = embedding.subject"
    assert call(f"warehouse sql '{query}' --json") == [{"name": "a", "first": 1.0}]
    assert "first" in call(f"warehouse sql '{query}'")
    assert call("warehouse sql 'FROM grade' --json") == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('{root}/interplay.toml')",
        "SELECT * FROM read_blob('{root}/facts/../interplay.db')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM user",
        "COPY item TO '{root}/facts/out.parquet'",
        "COPY item TO '/tmp/out.parquet'",
        "ATTACH '{root}/interplay.db' AS stolen",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "CREATE TABLE t AS SELECT 1",
        "DROP VIEW item",
        "SELECT 1; SELECT 2",
        "",
        "SELECT * FROM database",
    ],
)
def test_sql_changes_nothing_and_reaches_nothing_else(call, world, query):
    with world.database.session() as session:
        assert session.exec(select(IngestFailure)).all() == []
    root = world.workspace.project.root
    with world.workspace.facts.writer("embedding", "r") as writer:
        writer.add(fact())
    before = {file: file.stat().st_mtime_ns for file in (root / "facts").rglob("*")}
    told = call(f"warehouse sql {shlex.quote(query.format(root=root))}")
    assert "only one SELECT is taken" in told or "DuckDB cannot answer this" in told
    assert {file: file.stat().st_mtime_ns for file in (root / "facts").rglob("*")} == before
