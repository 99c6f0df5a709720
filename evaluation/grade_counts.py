"""How far grading has come over all stored answers: what no grader could decide, and where graders disagree."""

from dataclasses import dataclass

from warehouse.analytics import analysis, load_sql
from warehouse.facts import FactStore

SAME_POINTS = 1e-6
"""Points in [0, 1] that differ by no more are the same."""


@dataclass(frozen=True)
class GradeCounts:
    """Answers that models and people gave; of those, how many have points from no grader, or different ones."""

    answers: int
    ungraded: int
    split: int


def grade_counts(facts: FactStore) -> GradeCounts:
    """Count them over all releases and conditions."""
    with analysis(facts, ("response", "grade")) as connection:
        found = connection.execute(load_sql("evaluation.queries", "grade_counts.sql"), [SAME_POINTS]).fetchone()
    return GradeCounts(*found) if found else GradeCounts(0, 0, 0)
