"""Grading: a stage of its own over stored answers, which can be graded again without asking again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.grading import Grade
from core.ids import Clock, utc_now
from core.question import Question, QuestionKind
from evaluation.graders import grader_for, invalid
from warehouse.analytics import analysis
from warehouse.facts import FactStore
from warehouse.ledger import graded_responses

# States that are an answer of the model's own making, but no valid one: zero points, counted apart.
INVALID_STATES = ("refusal", "truncated", "empty")


@dataclass(frozen=True)
class Graded:
    """How many answers were graded now, could not be graded, and had been graded before."""

    graded: int
    ungraded: int
    known: int


def grade_answers(facts: FactStore, run_id: str, questions: Mapping[str, Question], clock: Clock = utc_now) -> Graded:
    """Grade the stored answers to these questions (by revision id) that their grader has not graded yet.

    An `api_error` or `blocked` response stays without a grade: nothing was answered.
    """
    done: dict[str, set[str]] = {}
    counts = {"graded": 0, "ungraded": 0, "known": 0}
    with facts.writer("grade", run_id) as writer:
        for row in _answers(facts, questions):
            question = as_asked(questions[row["revision_id"]], row)
            entry = grader_for(question)
            if entry.fingerprint not in done:
                done[entry.fingerprint] = graded_responses(facts, entry.fingerprint)
            if row["key"] in done[entry.fingerprint]:
                counts["known"] += 1
                continue
            grade = _grade(row, question)
            counts["ungraded" if grade.points is None else "graded"] += 1
            writer.add(
                {
                    "response_key": row["key"],
                    "grader": grade.grader,
                    "points": grade.points,
                    "step_points": list(grade.step_points),
                    "reason": grade.reason,
                    "recorded_at": clock().isoformat(),
                }
            )
    return Graded(**counts)


def as_asked(question: Question, response: Mapping[str, Any]) -> Question:
    """The question with its key as this response was asked it: choices turned, or left out."""
    if response["kind"] == QuestionKind.OPEN.value:
        return question.as_open()
    return question.rotated(response["rotation"])


def _grade(row: Mapping[str, Any], question: Question) -> Grade:
    entry = grader_for(question)
    if row["state"] in INVALID_STATES:
        return invalid(question, row["state"], entry.fingerprint)
    return entry.load().grade(question, row["answer"])


def _answers(facts: FactStore, questions: Mapping[str, Question]) -> Iterator[dict[str, Any]]:
    with analysis(facts, ["response"]) as connection:
        rows = connection.sql(
            "SELECT key, revision_id, kind, rotation, state, answer FROM response "
            "WHERE list_contains(?, revision_id) AND state NOT IN ('api_error', 'blocked') ORDER BY key",
            params=[sorted(questions)],
        ).to_arrow_table()
    yield from rows.to_pylist()
