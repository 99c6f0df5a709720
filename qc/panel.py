"""What a panel of models answered: one vote for each family, places of choices cancelled by rotation."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from evaluation.graders.choice import chosen

from core.content import Frozen
from core.question import Question, QuestionKind
from evaluation.grade import as_asked
from evaluation.graders import grader_for
from warehouse.analytics import analysis
from warehouse.facts import FactStore


class Votes(Frozen):
    """The panel's answers to one item under one condition.

    Attributes:
        condition: Its name.
        solved: Mean over families of the share of right answers, among valid ones; None without any valid answer.
        shares: The same for each choice, by its place in the original order; empty where no choice was asked.
        step_shares: The same for each step of a multi-step question.
        asked: Answers wanted (models x rotations).
        valid: Answers that could be read.
        families: Families with at least one valid answer.
    """

    condition: str
    solved: float | None
    shares: tuple[float, ...] = ()
    step_shares: tuple[float, ...] = ()
    asked: int
    valid: int
    families: int

    @property
    def valid_share(self) -> float:
        """Share of the wanted answers that could be read."""
        return self.valid / self.asked if self.asked else 0.0


def count_votes(
    facts: FactStore, questions: Mapping[str, Question], panel: Sequence[str]
) -> dict[tuple[str, str], Votes]:
    """Votes by (revision id, condition name), from the stored responses of the panel's models (by name)."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    with analysis(facts, ["response"]) as connection:
        found = connection.sql(
            "SELECT revision_id, condition, kind, family, rotation, state, answer FROM response "
            "WHERE list_contains(?, revision_id) AND list_contains(?, model) ORDER BY key",
            params=[sorted(questions), list(panel)],
        ).to_arrow_table()
    for row in found.to_pylist():
        rows[row["revision_id"], row["condition"]].append(row)
    return {
        (revision_id, condition): _votes(condition, questions[revision_id], answers)
        for (revision_id, condition), answers in rows.items()
    }


def _votes(condition: str, question: Question, answers: Sequence[Mapping[str, Any]]) -> Votes:
    by_family: dict[str, list[_Vote]] = defaultdict(list)
    for row in answers:
        vote = _read(question, row)
        if vote is not None:
            by_family[row["family"]].append(vote)
    asked_choices = bool(answers) and answers[0]["kind"] == QuestionKind.CHOICE.value
    valid = sum(len(votes) for votes in by_family.values())
    return Votes(
        condition=condition,
        solved=_mean(fmean(vote.right for vote in votes) for votes in by_family.values()),
        shares=_choice_shares(len(question.choices), by_family) if asked_choices and valid else (),
        step_shares=_step_shares(len(question.steps), by_family) if valid else (),
        asked=len(answers),
        valid=valid,
        families=len(by_family),
    )


class _Vote(Frozen):
    right: float
    choices: frozenset[int] = frozenset()
    steps: tuple[float, ...] = ()


def _read(question: Question, row: Mapping[str, Any]) -> _Vote | None:
    """A vote, or None for an answer that says nothing: failed, refused, cut off, unreadable."""
    if row["state"] != "ok":
        return None
    asked = as_asked(question, row)
    if asked.kind is QuestionKind.CHOICE:
        picked = chosen(asked, row["answer"])
        if picked is None:
            return None
        count = len(question.choices)
        original = frozenset((index - row["rotation"]) % count for index in picked)
        return _Vote(right=float(original == frozenset(question.answer.correct)), choices=original)
    grade = grader_for(asked).load().grade(asked, row["answer"])
    if grade.points is None:
        return None
    return _Vote(right=float(grade.points == 1.0), steps=tuple(points or 0.0 for points in grade.step_points))


def _choice_shares(count: int, by_family: Mapping[str, Sequence[_Vote]]) -> tuple[float, ...]:
    return tuple(
        fmean(fmean(place in vote.choices for vote in votes) for votes in by_family.values()) for place in range(count)
    )


def _step_shares(count: int, by_family: Mapping[str, Sequence[_Vote]]) -> tuple[float, ...]:
    return tuple(
        fmean(fmean(vote.steps[place] for vote in votes) for votes in by_family.values()) for place in range(count)
    )


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return fmean(known) if known else None
