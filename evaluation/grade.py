"""Grading: a stage of its own over stored answers, which can be graded again without asking again."""

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from core.errors import InterplayError
from core.grading import Grade
from core.ids import Clock, utc_now
from core.question import Question
from core.registry import Entry
from evaluation.graders import grader_for, invalid
from evaluation.graders.base import Grader
from evaluation.graders.verdicts import Why, not_graded, why_of
from warehouse.analytics import analysis, load_sql
from warehouse.facts import FactStore

logger = logging.getLogger("interplay")

# States that are an answer of the model's (or person's) own making, but no valid one: zero points, counted apart.
INVALID_STATES = ("refusal", "truncated", "empty", "abstained", "timed_out")
# Here nothing was answered: there is nothing to grade.
NO_ANSWER_STATES = ("api_error", "unparsed", "blocked")
_ROWS_AT_ONCE = 5_000


@dataclass(frozen=True)
class Graded:
    """How many answers were graded now, could not be graded, and had been graded before.

    `reason` is one of those for which answers could not be graded now, of the most frequent kind.
    """

    graded: int
    ungraded: int
    known: int
    reason: str | None = None

    @property
    def words(self) -> str:
        """For a terminal."""
        why = f" ({self.reason.removeprefix('not graded: ')})" if self.reason else ""
        return f"graded {self.graded}, not graded {self.ungraded}{why}"


def grade_answers(facts: FactStore, run_id: str, questions: Mapping[str, Question], clock: Clock = utc_now) -> Graded:
    """Grade the stored answers to these questions (by revision id) that their grader has not graded yet.

    Only the first asking counts: rotations and probes belong to quality control, which reads them itself. An
    `api_error` or `blocked` response stays without a grade: nothing was answered. So do the answers to a question whose
    key names a grader that cannot be had here; the log names it.
    """
    graders = _usable(graders_of(questions))
    counts = {"graded": 0, "ungraded": 0, "known": 0}
    reasons: dict[str | None, list[str]] = defaultdict(list)
    with facts.writer("grade", run_id) as writer:
        for row in _answers(facts, graders):
            if row["is_graded"]:
                counts["known"] += 1
                continue
            entry = graders[row["revision_id"]]
            grade = grade_answer(questions[row["revision_id"]], row["state"], row["answer"], entry) if entry else None
            counts["ungraded" if grade is None or grade.points is None else "graded"] += 1
            if grade is not None and grade.points is None:
                reasons[why_of(grade)].append(grade.reason)
            if grade is not None:
                writer.add(grade_row(row["key"], grade, clock))
    return Graded(**counts, reason=max(reasons.values(), key=len)[0] if reasons else None)


def count_ungraded(facts: FactStore, questions: Mapping[str, Question]) -> int:
    """How many stored answers `grade_answers` would grade."""
    graders = _usable(graders_of(questions))
    return sum(not row["is_graded"] and graders[row["revision_id"]] is not None for row in _answers(facts, graders))


def grade_row(response_key: str, grade: Grade, clock: Clock) -> dict[str, Any]:
    """The `grade` fact of a response."""
    return {
        "response_key": response_key,
        "grader": grade.grader,
        "points": grade.points,
        "step_points": list(grade.step_points),
        "reason": grade.reason,
        "recorded_at": clock().isoformat(),
    }


def graders_of(questions: Mapping[str, Question]) -> dict[str, Entry[Grader] | None]:
    """The present grader of each question (by revision id); None where its key names one that is not installed."""
    found: dict[str, Entry[Grader] | None] = {}
    missing: dict[str, int] = defaultdict(int)
    for revision_id, question in questions.items():
        try:
            found[revision_id] = grader_for(question)
        except InterplayError as error:
            found[revision_id] = None
            missing[str(error)] += 1
    for text, count in missing.items():
        logger.warning("%d questions are not graded: %s", count, text)
    return found


def _usable(graders: Mapping[str, Entry[Grader] | None]) -> dict[str, Entry[Grader] | None]:
    """The graders without those that cannot be loaded: what they leave is graded once they can."""
    broken: set[Entry[Grader]] = set()
    for entry in {entry for entry in graders.values() if entry}:
        try:
            entry.load()
        except InterplayError as error:
            broken.add(entry)
            logger.warning("the questions of grader %r are not graded: %s", entry.name, error)
    return {revision_id: None if entry in broken else entry for revision_id, entry in graders.items()}


def grade_answer(question: Question, state: str, answer: str, entry: Entry[Grader]) -> Grade:
    """What the rule says of one stored answer; `entry` is the question's, as `graders_of` gives it."""
    if state in INVALID_STATES:
        return invalid(question, state, entry.fingerprint)
    try:
        # A grader knows its own version, the entry those of the steps' graders too.
        return entry.load().grade(question, answer).model_copy(update={"grader": entry.fingerprint})
    except InterplayError as error:
        # A step's key that names no usable grader: one bad key stops no other answer.
        return not_graded(Why.BAD_KEY, str(error)).signed(entry.fingerprint)


def register_showings(connection: duckdb.DuckDBPyConnection, graders: Mapping[str, Entry[Grader] | None]) -> None:
    """Make `showing` and `latest_showing` (`showings.sql`) of the revisions whose present graders these are."""
    fingerprints = [entry.fingerprint if entry else None for entry in graders.values()]
    wanted = {"revision_id": pa.array(graders, pa.string()), "grader": pa.array(fingerprints, pa.string())}
    connection.register("wanted", pa.table(wanted))
    connection.execute(load_sql("evaluation.queries", "showings.sql"))


def _answers(facts: FactStore, graders: Mapping[str, Entry[Grader] | None]) -> Iterator[dict[str, Any]]:
    with analysis(facts, ["response", "grade"]) as connection:
        register_showings(connection, graders)
        rows = connection.sql(load_sql("evaluation.queries", "first_answers.sql")).to_arrow_table()
    for batch in rows.to_batches(_ROWS_AT_ONCE):
        yield from batch.to_pylist()
