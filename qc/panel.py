"""What a panel of models answered: one vote for each family, places of choices cancelled by rotation."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import pyarrow as pa

from core.content import Frozen
from core.errors import InterplayError
from core.question import QuestionKind
from evaluation.asking import Unit
from evaluation.graders import grader_for
from evaluation.graders.choice import chosen
from evaluation.graders.verdicts import Verdict, verdict_of
from evaluation.solve import Showing
from warehouse.analytics import analysis
from warehouse.facts import FactStore

# Sums in another order differ in their last digits; a share of exactly .6 must meet its threshold in any order.
_PLACES_KEPT = 9


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


def count_votes(facts: FactStore, units: Iterable[Unit[Showing]]) -> dict[tuple[str, str], Votes]:
    """Votes by (revision id, condition name), from the stored answers to exactly these units.

    What the panel's models were asked at other times (in other words, under other settings) is no vote here; a unit
    without an answer counts as asked. Families are those that the models have now.
    """
    wanted = {unit.key: unit for unit in units}
    votes: dict[tuple[str, str], list[tuple[Unit[Showing], _Vote | None]]] = defaultdict(list)
    answers = _answers(facts, wanted)
    for key, unit in sorted(wanted.items()):
        vote = _read(unit, answers[key]) if key in answers else None
        votes[unit.revision_id, unit.showing.condition.name].append((unit, vote))
    return {place: _votes(together) for place, together in votes.items()}


def _answers(facts: FactStore, keys: Iterable[str]) -> dict[str, str]:
    """Texts of the answers that say something, by unit: not those that failed, were refused, cut off or empty."""
    with analysis(facts, ["response"]) as connection:
        connection.register("wanted", pa.table({"key": pa.array(list(keys), pa.string())}))
        found = connection.execute(
            "SELECT key, answer FROM response SEMI JOIN wanted USING (key) WHERE state = 'ok'"
        ).fetchall()
    return dict(found)


class _Vote(Frozen):
    right: float
    choices: frozenset[int] = frozenset()
    steps: tuple[float, ...] = ()


def _read(unit: Unit[Showing], answer: str) -> _Vote | None:
    """A vote, or None for an answer that says nothing: a refusal in words, or one that cannot be read."""
    shown, original = unit.showing.question, unit.showing.original
    if shown.kind is QuestionKind.CHOICE:
        picked = chosen(shown, answer)
        if picked is None:
            return None
        count = len(original.choices)
        places = frozenset((index - unit.showing.rotation) % count for index in picked)
        return _Vote(right=float(places == frozenset(original.answer.correct)), choices=places)
    try:
        grade = grader_for(shown).load().grade(shown, answer)
    except InterplayError:
        return None  # the key names no usable grader: nobody's answer to it can be read
    if grade.points is None or verdict_of(grade) is Verdict.INVALID:
        return None
    return _Vote(right=float(grade.points == 1.0), steps=tuple(points or 0.0 for points in grade.step_points))


def _votes(together: Sequence[tuple[Unit[Showing], _Vote | None]]) -> Votes:
    by_family: dict[str, list[_Vote]] = defaultdict(list)
    for unit, vote in together:
        if vote is not None:
            by_family[unit.model.family].append(vote)
    showing = together[0][0].showing
    valid = sum(len(votes) for votes in by_family.values())
    return Votes(
        condition=showing.condition.name,
        solved=_share([vote.right for vote in votes] for votes in by_family.values()) if valid else None,
        shares=_choice_shares(len(showing.question.choices), by_family) if valid else (),
        step_shares=_step_shares(len(showing.question.steps), by_family) if valid else (),
        asked=len(together),
        valid=valid,
        families=len(by_family),
    )


def _choice_shares(count: int, by_family: Mapping[str, Sequence[_Vote]]) -> tuple[float, ...]:
    return tuple(
        _share([float(place in vote.choices) for vote in votes] for votes in by_family.values())
        for place in range(count)
    )


def _step_shares(count: int, by_family: Mapping[str, Sequence[_Vote]]) -> tuple[float, ...]:
    return tuple(
        _share([vote.steps[place] for vote in votes] for votes in by_family.values()) for place in range(count)
    )


def _share(by_family: Iterable[Sequence[float]]) -> float:
    """Mean over families of each one's own mean."""
    return round(fmean(fmean(votes) for votes in by_family), _PLACES_KEPT)
