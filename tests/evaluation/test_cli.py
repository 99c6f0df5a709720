"""`interplay evaluation ...` as people and programs call it."""

import json
import re
import shlex

import pytest
import typer

import evaluation.cli
from interplay.cli import app as root


@pytest.fixture
def call(zoo, call_command):
    def run(line: str, code: int = 0):
        arguments = shlex.split(line)
        return call_command(root, [*arguments, "--project", str(zoo.project.root)], code)

    return run


def commands():
    group = typer.main.get_command(evaluation.cli.app)
    return [pytest.param(command, id=name) for name, command in sorted(group.commands.items())]


@pytest.mark.parametrize("command", commands())
def test_every_command_has_an_example_and_json(command):
    assert re.search(rf"^Example: interplay evaluation {command.name}\b", command.help, re.MULTILINE)
    assert any("--json" in option.opts for option in command.params)


def test_run_asks_what_is_missing_and_shows_the_points(call):
    told = call("evaluation run zoo 1.0.0 --model keen --condition full --condition text_only")
    assert "asked 8, reused 0, known before 0; graded 8" in told
    assert re.search(r"choice\s+keen\s+full\s+100\.0", told)
    assert "asked 0, reused 0, known before 8" in call("evaluation run zoo 1.0.0 --model keen --condition full "
                                                       "--condition text_only")  # fmt: skip


def test_run_for_programs(call):
    told = call("evaluation run zoo 1.0.0 --model keen --condition full --json")
    assert told["solved"] == {
        "asked": 4,
        "reused": 0,
        "known": 0,
        "failures": {},
        "left": 0,
        "cost_usd": None,
        "reasons": {},
        "answered": 4,
    }
    assert told["graded"] == {"graded": 4, "ungraded": 0, "known": 0, "reason": None}
    assert [(cell["model"], cell["condition"], cell["points"]) for cell in told["cells"]] == [("keen", "full", 100.0)]


def test_a_dry_run_counts_and_asks_nothing(call):
    pending = call("evaluation run zoo 1.0.0 --model keen --condition full --dry-run --json")
    assert pending == {"pending": 4, "missing": {}, "idle": []}
    assert "4 questions would be asked" in call("evaluation run zoo 1.0.0 --model keen --condition full --dry-run")
    assert call("evaluation report zoo 1.0.0 --json")["cells"] == []


def test_without_a_condition_all_that_apply_are_asked(call):
    assert call("evaluation run zoo 1.0.0 --model keen --dry-run --json")["pending"] == 4 * 5
    assert "applies to no item" not in call("evaluation run zoo 1.0.0 --model keen --dry-run")


@pytest.mark.parametrize("more", ["", " --dry-run"])
def test_conditions_that_nothing_was_asked_under_are_named(call, more):
    told = call(f"evaluation run zoo 1.0.0 --model keen --condition without_video --condition caption_for_image{more}")
    assert "without_video: applies to no item of the release\n" in told
    assert "caption_for_image: not made for 4 items: their media have no accepted words, see 'interplay cap" in told


def test_a_dry_run_with_a_budget_needs_prices_too(call):
    line = "evaluation run zoo 1.0.0 --model keen --condition full --dry-run --max-cost-usd 1"
    assert "the price of model 'keen' is not known" in call(line)


def test_report_shows_all_models_and_writes_a_page(call, tmp_path, sound_items):
    call("evaluation run zoo 1.0.0 --model keen --model deaf --condition full --json")
    told = call(f"evaluation report zoo 1.0.0 --to {tmp_path / 'out'}")
    assert "keen" in told
    assert "deaf" in told
    assert f"written: {tmp_path / 'out' / 'report.html'}" in told
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"report.html", "report.json", "report.svg"}
    shown = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert all(item.name in shown for item in sound_items)
    found = call("evaluation report zoo 1.0.0 --json")
    assert found == json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert len(found["answers"]) == 8


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("evaluation run zoo 1.0.1 --model keen", "unknown release 'zoo 1.0.1'; did you mean 'zoo 1.0.0'?"),
        ("evaluation run zoo 1.0.0 --model kean", "unknown model 'kean'; did you mean 'keen' or 'deaf'?"),
        ("evaluation run zoo 1.0.0 --model keen --condition ful", "unknown condition 'ful'; did you mean 'full'?"),
        (
            "evaluation import zoo 1.0.0 nothing.jsonl --model keen",
            "'keen' is a model of interplay.toml, which answers by itself; choose another --model",
        ),
        (
            "evaluation import zoo 1.0.0 nothing.jsonl --model human",
            "nothing.jsonl cannot be read: No such file or directory",
        ),
        ("evaluation report zo 1.0.0", "unknown release 'zo 1.0.0'; did you mean 'zoo 1.0.0'?"),
    ],
)
def test_mistakes_are_one_line_with_the_mend(call, line, said):
    assert call(line) == said


def test_a_model_must_be_named(call):
    call("evaluation run zoo 1.0.0", code=2)


def test_answers_of_people_come_in_and_stand_in_the_report(call, tmp_path, sound_items):
    file = tmp_path / "people.jsonl"
    file.write_text("".join(json.dumps({"item": one.name, "answer": "A"}) + "\n" for one in sound_items), "utf-8")
    assert call(f"evaluation import zoo 1.0.0 {file} --model human --human --json")["answers"] == 4
    assert call("evaluation report zoo 1.0.0 --json")["people"] == ["human"]


def test_answers_that_no_rule_could_read_are_told_with_a_reason(call, tmp_path, sound_items):
    file = tmp_path / "people.jsonl"
    file.write_text(json.dumps({"item": sound_items[0].name, "answer": "A or B, I cannot say"}), "utf-8")
    told = call(f"evaluation import zoo 1.0.0 {file} --model human --human")
    assert told.startswith("1 answers of human; graded 0, not graded 1 (")
    assert "A or B" in told
    told = call(f"evaluation import zoo 1.0.0 {file} --model human --human")
    assert told == "1 answers of human; all known before\n"


def test_a_release_beside_is_named_with_its_version(call):
    call("evaluation report zoo 1.0.0 --beside zoo", code=2)


def test_a_report_says_whose_words_stood_for_media(call):
    call("user add rita --role reviewer")
    call("caption make zoo 1.0.0 --model keen")
    call("caption accept --all --release zoo 1.0.0 --by rita")
    told = call("evaluation run zoo 1.0.0 --model keen --condition transcript_for_audio")
    assert "transcripts by keen (4)" in told
    assert call("evaluation report zoo 1.0.0 --json")["notes"] == ["transcripts by keen (4)"]
    assert "transcripts by" not in call("evaluation run zoo 1.0.0 --model deaf --condition full")


def test_a_law_without_uni_modal_questions_says_what_is_missing(call):
    call("evaluation run zoo 1.0.0 --model keen --condition full --json")
    assert "only heard, only seen, and both" in call("evaluation law zoo 1.0.0")


def test_a_run_without_any_answer_ends_with_code_1(call, zoo):
    with (zoo.project.root / "interplay.toml").open("a") as settings:
        settings.write('\n[models.down]\nprovider = "interplay-omni/m"\nendpoint = "serve-sim"\n')
        settings.write('arguments = { base_url = "http://127.0.0.1:1/v1" }\ngenerate = { max_retries = 0 }\n')
    told = call("evaluation run zoo 1.0.0 --model down --condition full", code=1)
    assert "failed: 4 api_error (no connection to http://127.0.0.1:1/v1" in told


def test_a_model_can_be_left_out_of_the_reports(call):
    call("evaluation run zoo 1.0.0 --model keen --model deaf --condition full --json")
    assert "left out of the reports of zoo 1.0.0: deaf" in call("evaluation forget zoo 1.0.0 --model deaf")
    assert {cell["model"] for cell in call("evaluation report zoo 1.0.0 --json")["cells"]} == {"keen"}
