"""`interplay evaluation grade` as people and programs call it."""

import json
import re
import shlex
from datetime import UTC, datetime

import pytest
import typer
from typer.testing import CliRunner

from core.errors import InterplayError
from evaluation.grade_cli import register
from evaluation.models.spending import NoPrice
from warehouse.tables import Release, ReleaseItem, Run


@pytest.fixture
def words_release(workspace, put, questions, respond):
    """The release words 1.0.0 of an open and a multi-step question, with four answers to them."""
    run = Run(
        command="test", fingerprint="0" * 64, host="test", process_id=1, started_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    asked = {"animal": questions.open("Which animal?", ("dog",), "short_text"), "steps": questions.steps()}
    revisions = {name: put(name, question)[1].id for name, question in asked.items()}
    release = Release(name="words", version="1.0.0", run_id=run.id)
    with workspace.database.session() as session:
        session.add(run)
        session.flush()
        session.add(release)
        session.flush()
        for position, revision_id in enumerate(revisions.values()):
            row = ReleaseItem(release_id=release.id, revision_id=revision_id, split="test", position=position)
            session.add(row)
    answers = [("animal", "a dog"), ("animal", "a hound"), ("animal", "a cat"), ("steps", "Step 1: 3\nStep 2: left")]
    respond(
        *(
            {"key": f"{n}", "request_key": f"{n}", "item_name": name, "revision_id": revisions[name], "answer": answer}
            | {"kind": "open", "parameters": f"{n}"}
            for n, (name, answer) in enumerate(answers)
        )
    )
    return revisions


@pytest.fixture
def call(workspace, words_release):
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)

    def run(line: str):
        arguments = shlex.split(line)
        done = CliRunner().invoke(app, ["grade", *arguments, "--project", str(workspace.project.root)])
        if isinstance(done.exception, InterplayError):
            return done.exception
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    return run


@pytest.fixture
def hound_lover(scripted):
    """A judge that takes a hound for a dog, and finds every step right; what it is asked is counted."""

    def reply(text: str, count: int) -> str:
        nonce = re.findall(r'"nonce": "([0-9a-f]{16})"', text)[-1]
        points = [4, 6] if "Step 2, " in text else [10 if "hound" in text or "a dog" in text else 0]
        steps = [{"step": number, "reason": "so it is", "points": one} for number, one in enumerate(points, start=1)]
        return json.dumps({"nonce": nonce, "steps": steps, "total": sum(points)})

    return scripted(reply)


def test_without_a_judge_nothing_is_asked(call, stored):
    told = call("words 1.0.0 --json")
    assert told == {"graded": {"graded": 4, "ungraded": 0, "known": 0, "reason": None}}
    assert call("words 1.0.0") == "by rule: graded 0, not graded 0, known before 4\n"
    assert len(stored("grade", "response_key")) == 4
    assert len(stored()) == 4


def test_a_judge_grades_what_is_open(call, hound_lover, stored):
    model, script = hound_lover
    told = call(f"words 1.0.0 --judge {model.provider} --json")
    assert told["graded"] == {"graded": 4, "ungraded": 0, "known": 0, "reason": None}
    assert {name: told["judged"][name] for name in ("graded", "ungraded", "known")} == {
        "graded": 2,
        "ungraded": 0,
        "known": 0,
    }
    assert told["judged"]["solved"]["asked"] == len(script.asked) == 2
    assert told["comparison"]["settled"] == {"rule": 2, "judge": 2, "open": 0}
    assert told["comparison"]["counts"] == [
        {"rule": "no_match", "judge": "right", "answers": 1},
        {"rule": "no_match", "judge": "wrong", "answers": 1},
    ]
    assert told["comparison"]["kappa"] is None
    assert {row["grader"] for row in stored("grade", "grader")} > {told["judge"]}


def test_all_open_and_multi_step_answers_show_how_far_both_agree(call, hound_lover):
    model, _ = hound_lover
    told = call(f"words 1.0.0 --judge {model.provider} --scope all")
    assert "by the judge: graded 4, not graded 0, known before 0" in told
    assert "settled by rule 2, by the judge 2, open 0" in told
    assert "rule and judge agree on 100.0% of what both settled; kappa not defined" in told
    assert re.search(r"right +2 +0 +0", told)
    assert re.search(r"no_match +1 +0 +1", told)
    again = call(f"words 1.0.0 --judge {model.provider} --scope all")
    assert "by the judge: graded 0, not graded 0, known before 4" in again
    assert "asked 0, " in again


def test_a_dry_run_counts_and_writes_nothing(call, hound_lover, stored):
    model, script = hound_lover
    assert call(f"words 1.0.0 --judge {model.provider} --dry-run --json") == {"pending": {"by_rule": 4, "by_judge": 2}}
    told = call(f"words 1.0.0 --judge {model.provider} --scope all --dry-run")
    assert told == "4 answers would be graded by rule\n4 questions would be put to the judge\n"
    assert (stored("grade", "response_key"), script.asked, len(stored())) == ([], [], 4)


def test_a_new_version_of_a_rule_grades_again_beside_the_old_grades_and_asks_nothing(
    call, hound_lover, respond, stored
):
    respond({"response_key": "1", "grader": "short_text@0", "points": 1.0, "reason": "right: x"}, kind="grade")
    model, script = hound_lover
    call(f"words 1.0.0 --judge {model.provider}")
    assert len(script.asked) == 2
    told = call(f"words 1.0.0 --judge {model.provider} --json")
    assert (told["graded"]["known"], told["judged"]["known"], len(script.asked)) == (4, 2, 2)
    versions = {row["grader"]: row["points"] for row in stored("grade", "grader") if row["response_key"] == "1"}
    assert (versions["short_text@0"], versions["short_text@2"], len(versions)) == (1.0, 0.0, 3)


def test_a_budget_needs_a_price(call, hound_lover):
    model, script = hound_lover
    assert isinstance(call(f"words 1.0.0 --judge {model.provider} --max-cost-usd 1"), NoPrice)
    assert script.asked == []


def test_a_budget_holds(call, hound_lover, workspace):
    model, script = hound_lover
    with (workspace.project.root / "interplay.toml").open("a") as settings:
        settings.write(
            f'\n[models.fair]\nprovider = "{model.provider}"\nprice = {{ input = 100000, output = 100000 }}\n'
        )
    told = call("words 1.0.0 --judge fair --scope all --max-cost-usd 1")  # a call costs 0.90
    assert "cost: 0.9000 US dollars" in told
    assert "not asked for lack of budget: 3" in told
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("words 1.0.1", "unknown release 'words 1.0.1'; did you mean 'words 1.0.0'?"),
        ("words 1.0.0 --judge nobody", "unknown model 'nobody'"),
    ],
)
def test_mistakes_are_one_line(call, line, said):
    told = str(call(line))
    assert told.startswith(said)
    assert "\n" not in told


@pytest.mark.parametrize("options", ["--scope all", "--max-cost-usd 1"])
def test_what_is_the_judges_needs_one(options):
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)
    done = CliRunner().invoke(app, ["grade", "words", "1.0.0", *options.split()])
    assert done.exit_code == 2
    assert "go with --judge" in done.output


def test_the_command_has_an_example_and_json():
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)
    command = typer.main.get_command(app).commands["grade"]
    assert re.search(r"^Example: interplay evaluation grade\b", command.help, re.MULTILINE)
    assert any("--json" in option.opts for option in command.params)
