"""`interplay qc ...` as people and programs call it."""

import re
import shlex

import pytest
import typer
from sqlmodel import select

import qc.cli
from interplay.cli import app as root
from qc.ground_truth import TruthClass
from qc.reasons import REASONS
from warehouse.tables import Run


@pytest.fixture
def call(bench, call_command):
    def run(line: str, code: int = 0):
        arguments = shlex.split(line)
        if arguments[1] != "reasons":
            arguments += ["--project", str(bench.workspace.project.root)]
        return call_command(root, arguments, code)

    return run


@pytest.fixture
def panel_in_settings(bench, gallery_file):
    tables = "".join(
        f'\n[models.m{seed}]\nprovider = "interplay-sim/m{seed}"\npanel = {"true" if seed < 4 else "false"}\n'
        f'arguments = {{ gallery = "{gallery_file}", seed = {seed}, position_bias = 1.0, api_key = "sk-secret-3" }}\n'
        for seed in range(5)
    )
    with (bench.workspace.project.root / "interplay.toml").open("a") as settings:
        settings.write(tables)


def commands():
    group = typer.main.get_command(qc.cli.app)
    # `review` is a group, with commands and tests of its own.
    own = {name: command for name, command in group.commands.items() if name != "review"}
    return [pytest.param(command, id=name) for name, command in sorted(own.items())]


@pytest.mark.parametrize("command", commands())
def test_every_command_has_an_example_and_json(command):
    assert re.search(rf"^Example: interplay qc {command.name}\b", command.help, re.MULTILINE)
    assert any("--json" in option.opts for option in command.params)


@pytest.mark.usefixtures("panel_in_settings")
def test_from_submitted_to_accepted(call, bench, make_items, reviewers):
    sound, redundant = sorted(
        make_items(2, 21, TruthClass.SOUND, TruthClass.REDUNDANT), key=lambda item: item.truth is TruthClass.REDUNDANT
    )
    bench.bring([sound, redundant])
    first, second = call("qc run --dry-run --json")
    # Sixteen answers to each of two items, and four reviews of it.
    assert (first["round"], first["items"], first["at_most"], second["round"], second["items"]) == (1, 2, 40, 2, 2)
    line = rf"round 1: 2 items, about {first['expected']} questions \(at most 40\)"
    assert re.match(line, call("qc run --dry-run"))
    told = call("qc run")
    assert f"  {sound.name}: pass" in told
    assert f"  {redundant.name}: reject (redundant_modality)" in told
    assert re.search(r"round 1: 22 questions asked, 2 items judged, 2 pass", told)
    again = call("qc run --json")
    assert [(one["round"], one["items"], one["asked"], one["failures"]) for one in again] == [
        (1, {}, 0, {}),
        (2, {}, 0, {}),
    ]
    first = call(f"qc verdict {sound.name} --decision pass --by {reviewers[0]}")
    assert first == f"{sound.name}: pass in round 3 by rita; the item is round2_passed\n"
    second = call(f"qc verdict {sound.name} --decision pass --by {reviewers[1]} --comment Fine. --json")
    assert (second["state"], second["verdict"]["comment"]) == ("accepted", "Fine.")
    found = call("qc report --json")
    assert (found["funnel"]["accepted"], found["funnel"]["rejected"]) == (1, 1)
    assert "redundant_modality (either modality alone answers the question)" in call("qc report")
    with bench.workspace.database.reading() as session:
        runs = session.exec(select(Run).where(Run.command == "qc round 1")).all()
    assert [model["name"] for model in runs[0].settings["models"]] == ["m0", "m1", "m2", "m3"]
    assert all("sk-secret-3" not in str(run.settings) for run in runs)


@pytest.mark.usefixtures("panel_in_settings")
def test_one_round_and_other_models(call, bench, make_items):
    bench.bring(make_items(1, 22))
    named = " ".join(f"--model m{seed}" for seed in (0, 1, 2, 4))
    (only,) = call(f"qc run --round 1 --no-reviews {named} --json")
    assert (only["round"], only["asked"]) == (1, 7)


@pytest.mark.usefixtures("panel_in_settings")
def test_a_budget_leaves_a_partial_result_that_says_so(call, bench, make_items):
    items = make_items(2, 23)
    bench.bring(items)
    told = call("qc run --round 1 --no-reviews --max-calls 10")
    assert "round 1: 7 questions asked, 1 items judged, 1 pass" in told
    assert "  PARTIAL: 1 items are left without a verdict (the budget); the same command goes on" in told
    (rest,) = call("qc run --round 1 --no-reviews --max-calls 10 --json")
    assert (rest["asked"], rest["partial"], rest["left"], len(rest["items"])) == (7, False, [], 1)
    # One budget for both rounds.
    first, second = call("qc run --max-calls 20 --json")
    assert (first["asked"], second["partial"]) == (0, True)
    assert second["asked"] <= 20


@pytest.mark.usefixtures("panel_in_settings")
def test_a_whole_count_and_placebos_are_asked_for(call, bench, make_items):
    (item,) = make_items(1, 24)
    bench.bring([item])
    first, second = call("qc run --whole --placebo --no-reviews --json")
    assert first["asked"] == 16
    asked = {one["condition"]: one["asked"] for one in bench.verdicts(item.name)[1].evidence["votes"]}
    assert asked.keys() >= {"text_only", "without_audio", "without_image"}
    assert second["asked"] >= 3 * 16
    with bench.workspace.database.reading() as session:
        run = session.exec(select(Run).where(Run.command == "qc round 2")).one()
    assert (run.settings["whole"], run.settings["placebo"], run.settings["reviews"]) == (True, True, False)


def test_an_endpoint_in_quarantine_is_told_of(call, bench, make_items, gallery_file):
    (item,) = make_items(1, 25)
    bench.bring([item])
    tables = "".join(
        f'\n[models.m{seed}]\nprovider = "interplay-sim/m{seed}"\npanel = true\n'
        f'arguments = {{ gallery = "{gallery_file}", seed = {seed}, dropped = {["audio"] if seed == 3 else []} }}\n'
        for seed in range(4)
    )
    with (bench.workspace.project.root / "interplay.toml").open("a") as settings:
        settings.write(tables)
    told = call("qc run --round 1")
    assert "  m3 is not asked about items with audio: audio does not arrive" in told
    assert f"  {item.name}: unknown (undelivered)" in told


def test_without_a_panel_the_mend_is_told(call):
    assert call("qc run") == (
        "no panel: name models with --model, or set 'panel = true' in their [models.NAME] of interplay.toml"
    )


@pytest.mark.usefixtures("panel_in_settings")
def test_a_panel_that_is_too_small_is_told(call):
    assert "the panel has 2 model families (m0, m1); the rule needs 4" in call("qc run --model m0 --model m1")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("qc verdict zoo --decision pass --by rita", "unknown item 'zoo'; known: none"),
        ("qc verdict zoo --decision pass --by rtia", "unknown user 'rtia'; did you mean 'rita' or "),
        (
            "qc verdict zoo --decision reject --by rita --reason wrong_ky",
            "unknown reason code 'wrong_ky'; did you mean",
        ),
    ],
)
@pytest.mark.usefixtures("reviewers")
def test_mistakes_are_one_line_with_the_mend(call, line, said):
    assert call(line).startswith(said)


@pytest.mark.usefixtures("reviewers")
def test_a_decision_that_is_none_shows_those_there_are(call):
    assert call("qc verdict zoo --decision perhaps --by rita", code=2) == ""


def test_reasons_are_listed_in_both_languages(call):
    told = call("qc reasons --json")
    assert [one["code"] for one in told] == list(REASONS)
    assert {"code": "wrong_key", "en": "the key is wrong", "zh": "答案错误"} in told
    assert "suspect_key" in call("qc reasons")
