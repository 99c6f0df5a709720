import logging
from dataclasses import replace

import pytest

from core.question import AnswerKey
from core.registry import Entry
from evaluation.grade import grade_answers
from evaluation.graders import GRADERS
from evaluation.report.build import build_report
from evaluation.report.items import ItemFacts


def response(key: str, revision: str, answer: str | None, **more) -> dict:
    return {"key": key, "request_key": key, "item_name": revision, "revision_id": revision, "answer": answer} | more


@pytest.fixture
def grade(facts, stored):
    """Grade, and give the counts with points by response."""

    def run(questions, run_id="grading"):
        counts = grade_answers(facts, run_id, questions)
        rows = {row["response_key"]: row for row in stored("grade", "response_key")}
        return (counts.graded, counts.ungraded, counts.known), rows

    return run


def test_each_kind_is_graded_by_its_own_rule(questions, respond, grade):
    asked = {"c": questions.choice(), "o": questions.open(), "s": questions.steps()}
    respond(
        response("1", "c", "I think so. Answer: B"),
        response("2", "c", "Answer: C"),
        response("3", "o", "Answer: 4", kind="open"),
        response("4", "s", "Step 1: 3\nStep 2: right", kind="multi_step"),
    )
    counts, rows = grade(asked)
    assert counts == (4, 0, 0)
    assert {key: row["points"] for key, row in rows.items()} == {"1": 1.0, "2": 0.0, "3": 1.0, "4": 0.4}
    assert rows["4"]["step_points"] == [1.0, 0.0]
    assert {key: row["grader"].partition("@")[0] for key, row in rows.items()} == {
        "1": "choice",
        "2": "choice",
        "3": "number",
        "4": "multi_step",
    }


def test_a_second_call_grades_nothing_and_what_came_since_is_graded(questions, respond, grade, stored):
    asked = {"c": questions.choice()}
    respond(response("1", "c", "Answer: B"))
    assert grade(asked)[0] == (1, 0, 0)
    before = stored("grade", "response_key")
    assert grade(asked, "again")[0] == (0, 0, 1)
    assert stored("grade", "response_key") == before
    respond(response("2", "c", "Answer: A"), run_id="later")
    counts, rows = grade(asked, "third")
    assert counts == (1, 0, 1)
    assert rows["1"]["run_id"] == "grading"
    assert rows["2"]["run_id"] == "third"


def test_a_new_version_of_a_grader_grades_again_beside_the_old_grades(questions, respond, grade, stored):
    respond(response("1", "c", "Answer: B"))
    respond({"response_key": "1", "grader": "choice@0", "points": 0.0}, kind="grade")
    assert grade({"c": questions.choice()})[0] == (1, 0, 0)
    assert {row["grader"]: row["points"] for row in stored("grade", "grader")} == {
        "choice@0": 0.0,
        GRADERS["choice"].fingerprint: 1.0,
    }


def test_a_new_version_of_a_steps_grader_grades_whole_answers_again(questions, respond, grade, stored, monkeypatch):
    respond(response("1", "s", "Step 1: 3\nStep 2: left", kind="multi_step"))
    asked = {"s": questions.steps()}
    assert grade(asked)[0] == (1, 0, 0)
    assert grade(asked, "again")[0] == (0, 0, 1)
    monkeypatch.setitem(GRADERS._entries, "number", replace(GRADERS["number"], version="next"))
    assert grade(asked, "bumped")[0] == (1, 0, 0)
    assert len({row["grader"] for row in stored("grade", "grader")}) == 2


def test_a_grader_that_cannot_be_loaded_stores_nothing_and_grades_once_it_can(
    questions, respond, grade, monkeypatch, caplog
):
    asked = {"o": questions.open(grader="mine"), "c": questions.choice()}
    respond(response("1", "o", "4", kind="open"), response("2", "c", "Answer: B"))
    monkeypatch.setitem(GRADERS._entries, "mine", Entry("mine", "1", "evaluation.graders.nowhere:MINE"))
    counts, rows = grade(asked)
    assert (counts, set(rows)) == ((1, 1, 0), {"2"})
    assert "the questions of grader 'mine' are not graded: 'mine' points to" in caplog.text
    monkeypatch.setitem(GRADERS._entries, "mine", replace(GRADERS["number"], name="mine"))
    counts, rows = grade(asked, "again")
    assert (counts, rows["1"]["points"]) == ((1, 0, 1), 1.0)


@pytest.mark.parametrize("state", ["api_error", "blocked"])
def test_what_was_never_answered_has_no_grade(questions, respond, grade, state):
    respond(response("1", "c", None, state=state))
    assert grade({"c": questions.choice()}) == ((0, 0, 0), {})


@pytest.mark.parametrize("state", ["refusal", "truncated", "empty"])
def test_an_answer_that_is_none_counts_as_invalid_with_no_points(questions, respond, grade, state):
    respond(response("1", "s", "Step 1: 3", state=state, kind="multi_step"))
    _, rows = grade({"s": questions.steps()})
    assert rows["1"]["points"] == 0.0
    assert rows["1"]["reason"].startswith(f"invalid: {state}:")
    assert rows["1"]["step_points"] == [0.0, 0.0]


def test_what_the_rule_cannot_read_is_not_graded_and_never_zero(questions, respond, grade):
    respond(response("1", "c", "It is either B or C, I cannot decide."))
    counts, rows = grade({"c": questions.choice()})
    assert counts == (0, 1, 0)
    assert rows["1"]["points"] is None
    assert rows["1"]["reason"].startswith("not graded: ")
    assert grade({"c": questions.choice()}, "again")[0] == (0, 0, 1)


def test_rotations_and_probes_are_left_to_quality_control(questions, respond, grade):
    respond(
        response("1", "c", "Answer: B"),
        response("2", "c", "Answer: B", rotation=1),
        response("3", "c", "blue", condition="full_open", kind="open"),
    )
    assert set(grade({"c": questions.choice()})[1]) == {"1"}


def test_only_the_wanted_questions_are_graded(questions, respond, grade):
    respond(response("1", "c", "Answer: B"), response("2", "other", "Answer: B"))
    assert set(grade({"c": questions.choice()})[1]) == {"1"}
    assert grade({})[0] == (0, 0, 0)


def test_one_key_that_names_no_grader_stops_no_other(questions, respond, grade, caplog):
    asked = {"bad": questions.open(grader="numbr"), "good": questions.choice()}
    respond(response("1", "bad", "4", kind="open"), response("2", "good", "Answer: B"))
    with caplog.at_level(logging.WARNING, "interplay"):
        counts, rows = grade(asked)
    assert (counts, set(rows)) == ((1, 1, 0), {"2"})
    assert "1 questions are not graded: unknown grader 'numbr'; did you mean 'number'" in caplog.text


def test_a_step_that_names_no_grader_leaves_its_answers_not_graded(questions, respond, grade, monkeypatch):
    steps = questions.steps()
    odd = steps.steps[0].model_copy(update={"answer": AnswerKey(accepted=("3",), grader="numbr")})
    asked = {"s": steps.model_copy(update={"steps": (odd, steps.steps[1])}), "c": questions.choice()}
    respond(
        response("1", "s", "Step 1: 3\nStep 2: left", kind="multi_step"),
        response("2", "c", "Answer: B"),
    )
    counts, rows = grade(asked)
    assert counts == (1, 1, 0)
    assert rows["1"]["points"] is None
    assert "unknown grader 'numbr'" in rows["1"]["reason"]
    monkeypatch.setitem(GRADERS._entries, "numbr", replace(GRADERS["number"], name="numbr"))
    assert grade(asked, "installed since")[0] == (1, 0, 1)


def test_many_answers_are_read_in_parts(questions, respond, grade, monkeypatch):
    monkeypatch.setattr("evaluation.grade._ROWS_AT_ONCE", 3)
    respond(*(response(f"{number:02}", "c", f"Answer: {'AB'[number % 2]}") for number in range(20)))
    counts, rows = grade({"c": questions.choice()})
    assert counts == (20, 0, 0)
    assert sum(row["points"] for row in rows.values()) == 10


def test_reports_use_the_grades_of_the_present_version(questions, respond, grade, facts):
    asked = {"o": questions.open()}
    respond(response("1", "o", "Answer: 4", kind="open"))
    respond(
        {"response_key": "1", "grader": "number@1", "points": 0.0, "reason": "wrong: so said the old rule"},
        kind="grade",
    )
    items = {"o": ItemFacts(name="o", question=asked["o"], cluster="o")}
    (before,) = build_report(facts, "t", items).cells
    assert (before.graded, before.answered) == (0, 1)
    grade(asked)
    (after,) = build_report(facts, "t", items).cells
    assert (after.graded, after.points) == (1, 100.0)
