"""`interplay qc agreement` and `interplay qc analyse` over a project."""

import json
import re
import shlex

import numpy as np
import pytest
import typer
from scipy import stats

from core.content import TextPart
from core.question import AnswerKey, Choice, Question
from evaluation.imports import import_answers
from evaluation.run import forget
from qc.statistics_cli import app
from warehouse.items import Draft, create_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.tables import Decision, Release, ReleaseItem, Run
from warehouse.verdicts import Judgement, record_verdict, settle_round

OPTIONS = ("red", "blue", "green", "grey")
# Rows are models, columns items: the choice of each; the keys are A, B, C.
CHOSEN = {"m1": "ABC", "m2": "ABD", "m3": "ACC", "m4": "BBA", "m5": "ACA"}
RIGHT = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 1, 0], [1, 0, 0]], dtype=float)


@pytest.fixture
def call(workspace, call_command):
    def run(line: str):
        return call_command(app, [*shlex.split(line), "--project", str(workspace.project.root)])

    return run


def draft(name: str, key: int | None) -> Draft:
    about = {"prompt": (TextPart(text=f"Which colour in {name}?"),), "task_type": "counting", "language": "en"}
    if key is None:
        return Draft(Question(kind="open", answer=AnswerKey(accepted=("3",), grader="number"), **about), {}, "mei")
    choices = tuple(Choice(text=one) for one in OPTIONS)
    return Draft(Question(kind="choice", choices=choices, answer=AnswerKey(correct=(key,)), **about), {}, "mei")


@pytest.fixture
def zoo(workspace, clock):
    """The release zoo 1.0.0: three choice questions and an open one."""
    run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1, started_at=clock())
    release = Release(name="zoo", version="1.0.0", run_id=run.id)
    with workspace.database.session() as session:
        session.add(run)
        session.flush()
        session.add(release)
        session.flush()
        for position, key in enumerate((0, 1, 2, None)):
            name = f"q{3 - position}"  # the release has an order of its own
            _, revision = create_item(session, name, draft(name, key), clock=clock)
            row = {"release_id": release.id, "revision_id": revision.id, "split": "test", "position": position}
            session.add(ReleaseItem(**row))
    return workspace


@pytest.fixture
def answered(zoo, tmp_path):
    """Store answers of a model: {item: answer}, under a condition."""

    def give(model: str, answers: dict, condition: str = "full", human: bool = False, **more) -> None:
        file = tmp_path / "answers.jsonl"
        rows = [{"item": item, "answer": text, "condition": condition, **more} for item, text in answers.items()]
        file.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
        import_answers(zoo, ("zoo", "1.0.0"), file, model, human=human)

    return give


def letters(chosen: str) -> dict:
    return {f"q{3 - place}": f"Answer: {letter}" for place, letter in enumerate(chosen)}


@pytest.mark.parametrize("name", ["agreement", "analyse"])
def test_every_command_has_an_example_and_json(name):
    command = typer.main.get_command(app).commands[name]
    assert re.search(rf"^Example: interplay qc {name}\b", command.help, re.MULTILINE)
    assert any("--json" in option.opts for option in command.params)


class TestAnalyse:
    def test_items_over_models(self, call, answered):
        for model, chosen in CHOSEN.items():
            answered(model, letters(chosen))
        found = call("analyse zoo 1.0.0 --json")
        assert (found["models"], found["note"]) == (["m1", "m2", "m3", "m4", "m5"], None)
        items = found["items"]
        assert [(one["item"], one["kind"], one["models"]) for one in items] == [
            ("q3", "choice", 5), ("q2", "choice", 5), ("q1", "choice", 5), ("q0", "open", 0),
        ]  # fmt: skip
        for place, one in enumerate(items[:3]):
            rest = np.delete(RIGHT, place, axis=1).sum(axis=1)
            assert one["difficulty"]["value"] == pytest.approx(RIGHT[:, place].mean())
            assert one["item_rest"]["value"] == pytest.approx(stats.pearsonr(RIGHT[:, place], rest).statistic)
            assert one["discrimination"] == {"value": None, "reason": "too few models: 5 of the 10 needed"}
        assert [(one["label"], one["share"], one["is_key"]) for one in items[2]["options"]] == [
            ("A", 0.4, False), ("B", 0.0, False), ("C", 0.4, True), ("D", 0.2, False),
        ]  # fmt: skip
        assert items[0]["flags"] == [] and items[1]["flags"] == ["negative_discrimination"]
        assert items[3]["difficulty"]["reason"] == "no answer has points"

    def test_the_table_shows_what_is_undefined_and_why(self, call, answered):
        answered("m1", letters("ABC"))
        told = call("analyse zoo 1.0.0")
        assert re.search(
            r"q3 +choice +1 +1\.000 +undefined \(too few models: 1 of the 3 needed\) +undefined \(too few models: 1 of the 10",
            told,
        )
        assert "A* 100% B 0% C 0% D 0%" in told
        assert "models: m1\n" in told
        # Three keys in three of four places: 24 of 64 throws are as even, and all the others less so: p is 1.
        assert "p (exact multinomial): 1.000" in told
        assert "the key is the longest choice in 1.0 of 3 questions where they differ (chance 0.8)" in told

    def test_only_the_full_question_asked_of_models_counts(self, call, answered):
        answered("m1", letters("ABC"))
        answered("m1", letters("DDD"), condition="options_only")
        answered("ana", letters("DDD"), human=True)
        found = call("analyse zoo 1.0.0 --json")
        assert (found["models"], found["items"][0]["difficulty"]["value"]) == (["m1"], 1.0)
        assert found["items"][0]["valid_answers"] == 1
        assert call("analyse zoo 1.0.0 --model ana --json")["items"][0]["difficulty"]["value"] == 0.0

    def test_repetitions_are_one_model_and_several_answers(self, call, answered):
        answered("m1", letters("ABC"), who="first")
        answered("m1", letters("BBC"), who="second")
        answered("m2", letters("AAA"))
        (first, *_) = call("analyse zoo 1.0.0 --json")["items"]
        assert (first["models"], first["difficulty"]["value"], first["valid_answers"]) == (2, 0.75, 3)
        assert [one["share"] for one in first["options"]] == [pytest.approx(2 / 3), pytest.approx(1 / 3), 0.0, 0.0]

    def test_long_answers_are_read_to_their_end_and_refusals_choose_nothing(self, call, answered):
        answered("m1", {"q3": "Let me think about it. " * 300 + "\nAnswer: B"})
        answered("m2", {"q3": "I will not answer that."})
        answered("m3", {"q3": None}, state="refusal")
        answered("m4", {"q3": "Answer: A, or rather"}, state="truncated")
        (first, *_) = call("analyse zoo 1.0.0 --json")["items"]
        # What cannot be read has no points; a refusal and what was cut off have none of one.
        assert (first["models"], first["difficulty"]["value"], first["valid_answers"]) == (3, 0.0, 1)
        assert [one["share"] for one in first["options"]] == [0.0, 1.0, 0.0, 0.0]

    def test_items_that_everybody_or_nobody_gets_right(self, call, answered):
        for model in ("m1", "m2", "m3"):
            answered(model, letters("ADC"))
        assert [one["flags"] for one in call("analyse zoo 1.0.0 --json")["items"]] == [
            ["everybody_right"], ["nobody_right"], ["everybody_right"], [],
        ]  # fmt: skip

    def test_chosen_models_and_those_that_are_none(self, call, answered, zoo):
        for model, chosen in CHOSEN.items():
            answered(model, letters(chosen))
        assert call("analyse zoo 1.0.0 --model m4 --model m5 --json")["models"] == ["m4", "m5"]
        assert call("analyse zoo 1.0.0 --model m6").startswith("unknown model evaluated on that release 'm6'; did you")
        forget(zoo, "zoo", "1.0.0", ["m5"])
        assert call("analyse zoo 1.0.0 --json")["models"] == ["m1", "m2", "m3", "m4"]

    @pytest.mark.usefixtures("zoo")
    def test_without_answers_the_keys_are_analysed_all_the_same(self, call):
        found = call("analyse zoo 1.0.0 --json")
        assert (found["models"], found["note"], found["keys"]["questions"]) == ([], None, 3)
        assert found["keys"]["position"]["counts"] == [1, 1, 1, 0]
        assert "models: none" in call("analyse zoo 1.0.0")

    def test_where_nobody_was_evaluated_the_panel_s_answers_are_named_so(self, call, answered, zoo):
        answered("m1", letters("ABC"))
        forget(zoo, "zoo", "1.0.0", ["m1"])
        found = call("analyse zoo 1.0.0 --json")
        assert found["models"] == ["m1"]
        assert found["note"].startswith("nobody was evaluated on this release")
        assert "models: m1 (nobody was evaluated" in call("analyse zoo 1.0.0")

    def test_an_unknown_release(self, call):
        assert call("analyse zoo 1.0.0") == "unknown release 'zoo 1.0.0'; known: none"


@pytest.fixture
def judged(workspace, clock):
    def make(name: str, *verdicts: tuple[str, str]) -> None:
        with workspace.database.session() as session:
            item, revision = create_item(session, name, draft(name, 0), clock=clock)
            for action in (Action.SUBMIT, Action.PASS_ROUND1, Action.PASS_ROUND2):
                advance(session, item.id, item.version, Advance(action, "test"), clock)
            for who, decision in verdicts:
                clock.advance(minutes=1)
                judgement = Judgement(3, who, True, Decision(decision), ("ambiguous",))
                verdict = record_verdict(session, revision, judgement, clock)
            settle_round(session, revision, verdict, clock)

    return make


class TestAgreement:
    def test_of_a_project(self, call, judged):
        for number in range(40):
            first = "pass" if number < 20 else "return"
            second = "pass" if number % 4 else "return"
            judged(f"zoo-{number:02}", ("rita", first), ("raj", second))
        judged("zoo-99", ("rosa", "pass"))
        found = call("agreement --seed 3 --json")
        told = found["agreement"]
        assert (found["seed"], told["all_verdicts"]["verdicts"], told["first_two"]) == (3, 80, told["all_verdicts"])
        assert told["first_two"]["percent"]["value"] == 0.5
        assert told["first_two"]["alpha"]["value"] == pytest.approx(1 - 79 * 40 / (80**2 - 50**2 - 30**2))
        kappas = {(one["first"], one["second"]): one["kappa"]["value"] for one in told["pairs"]}
        assert kappas["raj", "rita"] == pytest.approx(0.0) and kappas["raj", "rosa"] is None
        drifts = {(one["measure"], one["reviewer"]): one for one in found["drift"]}
        # Rita passed all of the first twenty and none of the last.
        assert drifts["passes", "rita"]["p"] == pytest.approx(2 * 0.5**40 / stats.binom.pmf(20, 40, 0.5))
        assert drifts["passes", "rosa"]["reason"] == "too few decisions: 1 of the 40 needed"

    def test_the_seed_decides_the_interval_and_nothing_else(self, call, judged):
        for number in range(23):
            first, second = ("pass" if number % step else "return" for step in (3, 4))
            judged(f"zoo-{number}", ("rita", first), ("raj", second))
        assert call("agreement --seed 3 --json") == call("agreement --seed 3 --json")
        one, other = (call(f"agreement --seed {seed} --json")["agreement"]["first_two"] for seed in (3, 4))
        assert one.pop("interval") != other.pop("interval")
        assert one == other

    def test_for_people(self, call, judged):
        judged("zoo-1", ("rita", "pass"), ("raj", "pass"))
        judged("zoo-2", ("rosa", "pass"))
        told = call("agreement")
        assert "reviewers: raj, rita, rosa\n" in told
        assert "first two verdicts: 2 on 1 revisions of 1 items" in told
        assert "Krippendorff's alpha: undefined (all verdicts say the same: alpha is 0/0)" in told
        assert "so that their kappa is undefined: 2" in told
        assert re.search(r"raj +rita +1 +1 of 1 +undefined \(both always decided 'pass': kappa is 0/0\)", told)
        assert re.search(r"rita +passes +1 of 1 +0 of 0 +undefined \(too few decisions: 1 of the 40 needed\)", told)

    def test_an_empty_project(self, call):
        told = call("agreement")
        assert told.startswith("reviewers: none\n")
        assert "agreeing pairs of verdicts: undefined (fewer than two reviewers gave verdicts)" in told
