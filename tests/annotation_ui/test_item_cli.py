"""`interplay item ...` as people and programs call it."""

import re
import shlex

import pytest
import typer
import yaml

import annotation_ui.item_cli
from core.taxonomy import load_taxonomy
from interplay.cli import app as root
from warehouse.items import current_revision, get_item
from warehouse.tables import Decision
from warehouse.verdicts import Judgement, record_verdict, settle_round


@pytest.fixture
def call(workspace, call_command):
    def run(line: str, code: int = 0):
        arguments = shlex.split(line)
        if arguments[1] != "types":
            arguments += ["--project", str(workspace.project.root)]
        return call_command(root, arguments, code)

    return run


@pytest.fixture
def file(tmp_path, library, seed):
    """An item file of two good records and, on demand, a bad one; media by sha256."""
    shas = {"image_1": library.add(seed.png(1)).sha256, "audio_1": library.add(seed.wav(1)).sha256}

    def make(*more: dict):
        good = {
            "name": "zoo-1",
            "task_type": "counting",
            "language": "en",
            "kind": "choice",
            "prompt": "See <image_1>, hear <audio_1>. How many?",
            "media": shas,
            "choices": ["two birds", "three birds"],
            "answer": "B",
            "required": ["image", "audio"],
        }
        steps = good | {"name": "zoo-2", "kind": "multi_step", "choices": [], "answer": [], "language": "zh"}
        steps["prompt"] = "看图<image_1>，听录音<audio_1>。"
        steps["steps"] = [{"ask": "几只？", "points": 4, "answer": "3"}, {"ask": "在哪？", "points": 6, "answer": "左"}]
        (tmp_path / "items.yaml").write_text(
            yaml.safe_dump([good, steps, *(good | change for change in more)], allow_unicode=True), encoding="utf-8"
        )
        return tmp_path / "items.yaml"

    return make


def commands():
    group = typer.main.get_command(annotation_ui.item_cli.app)
    return [pytest.param(command, id=name) for name, command in sorted(group.commands.items())]


@pytest.mark.parametrize("command", commands())
def test_every_command_has_an_example_and_json(command):
    assert re.search(rf"^Example: interplay item {command.name}\b", command.help, re.MULTILINE)
    assert any("--json" in option.opts for option in command.params)


class TestImport:
    def test_good_records(self, call, file):
        assert call(f"item import {file()} --author mei") == (
            "2 created, 0 revised, 0 unchanged, 0 refused, 0 left as drafts\n"
        )
        told = call(f"item import {file()} --author mei --json")
        assert (told["unchanged"], told["created"]) == (["zoo-1", "zoo-2"], [])

    def test_a_refused_record_is_told_and_makes_the_exit_code(self, call, file):
        told = call(f"item import {file({'name': 'zoo-3', 'answer': 'Z'})} --author mei", code=2)
        assert "refused: items.yaml item 3 (zoo-3): answer 'Z' is neither a letter (A, B)" in told
        assert "2 created, 0 revised, 0 unchanged, 1 refused, 0 left as drafts" in told

    def test_a_dry_run(self, call, file):
        assert "2 would be created" in call(f"item import {file()} --author mei --dry-run")
        assert call("item list --json") == []

    def test_drafts(self, call, file):
        call(f"item import {file()} --author mei --draft")
        assert {item["state"] for item in call("item list --json")} == {"draft"}

    def test_a_file_that_is_none(self, call, tmp_path):
        (tmp_path / "bad.yaml").write_text("a: b")
        assert "must hold a list of items" in call(f"item import {tmp_path / 'bad.yaml'} --author mei")
        call(f"item import {tmp_path / 'none.yaml'} --author mei", code=2)


def test_check_tells_what_blocks_and_what_is_clean(call, file):
    leaky = {"name": "zoo-3", "prompt": "Answer: B. <image_1> <audio_1>", "choices": ["one bird", "no bird at all"]}
    call(f"item import {file(leaky)} --author mei")
    told = call("item check", code=2)
    assert "zoo-3: error answer_leaked: the prompt announces the answer 'B'" in told
    assert "3 items checked, 2 without findings" in told
    assert call("item check zoo-1") == "1 items checked, 1 without findings\n"
    assert call("item check zoo-3 --json", code=2)["zoo-3"][0]["code"] == "answer_leaked"
    assert call("item check zoo-33") == "unknown item 'zoo-33'; did you mean 'zoo-3' or 'zoo-2' or 'zoo-1'?"


def test_list(call, file):
    assert "no items yet" in call("item list")
    call(f"item import {file()} --author mei")
    assert call("item list --json") == [
        {
            "name": name,
            "state": "submitted",
            "revision": 1,
            "kind": kind,
            "task_type": "counting",
            "language": language,
            "author": "mei",
        }
        for name, kind, language in (("zoo-1", "choice", "en"), ("zoo-2", "multi_step", "zh"))
    ]
    assert "zoo-1" in call("item list --state submitted")
    assert call("item list --state accepted --json") == []


def test_show_tells_the_question_and_what_the_rounds_said(call, file, workspace):
    call(f"item import {file()} --author mei")
    with workspace.database.session() as session:
        revision = current_revision(session, get_item(session, "zoo-1"))
        judgement = Judgement(1, "model_check@1", False, Decision.RETURN, ("suspect_key",))
        settle_round(session, revision, record_verdict(session, revision, judgement))
    assert call("item show zoo-1").splitlines() == [
        "zoo-1: returned, revision 1",
        "See <image_1>, hear <audio_1>. How many?",
        "  two birds",
        "  three birds",
        "  round 1: return (suspect_key) by model_check@1",
    ]
    assert "  step 2 (6): 在哪？" in call("item show zoo-2")
    told = call("item show zoo-1 --json")
    assert (told["revision"], told["question"]["answer"]["correct"]) == (1, [1])
    assert told["verdicts"][0]["reason_codes"] == ["suspect_key"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_types_are_listed_in_both_languages(call, language):
    told = call(f"item types --language {language}")
    first = next(iter(load_taxonomy().task_types))
    assert first.id in told
    assert len(call("item types --json")) == len(load_taxonomy().task_types)
