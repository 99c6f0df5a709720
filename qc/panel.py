"""What a panel of models answered: one vote for each family, places of choices cancelled by rotation."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from core.condition import Condition
from core.content import Frozen
from core.errors import InterplayError
from core.provenance import content_hash
from core.question import Question, QuestionKind
from evaluation.asking import Unit
from evaluation.graders import grader_for
from evaluation.graders.choice import chosen
from evaluation.graders.verdicts import Verdict, verdict_of
from evaluation.models.catalogue import ModelSpec
from evaluation.solve import Showing, plan
from warehouse.tables import ItemRevision

# Sums in another order differ in their last digits; a share of exactly .6 must meet its threshold in any order.
_PLACES_KEPT = 9
Range = tuple[float, float]


class Votes(Frozen):
    """The panel's answers to one item under one condition, of those that were asked so far.

    Attributes:
        condition: Its name.
        key: Places of the right choices, in the original order; empty where no choice was asked.
        solved: Mean over families of the share of right answers, among valid ones; None without any valid answer.
        shares: The same for each choice, by its place in the original order; empty where no choice was asked.
        step_shares: The same for each step of a multi-step question.
        solved_range: Where `solved` can end when all planned answers are in, if they can be read.
        share_ranges: The same for each choice.
        planned: Answers that a full count takes (models x rotations).
        asked: Answers wanted so far.
        valid: Answers that could be read.
        families: Families with at least one valid answer.
        families_open: Families with none yet that have answers to come.
        responses: Keys of the responses, in the order asked.
    """

    condition: str
    key: tuple[int, ...] = ()
    solved: float | None
    shares: tuple[float, ...] = ()
    step_shares: tuple[float, ...] = ()
    solved_range: Range
    share_ranges: tuple[Range, ...] = ()
    planned: int
    asked: int
    valid: int
    families: int
    families_open: int = 0
    responses: tuple[str, ...] = ()

    @property
    def valid_share(self) -> float:
        """Share of the wanted answers that could be read."""
        return self.valid / self.asked if self.asked else 0.0

    @property
    def remaining(self) -> int:
        """Planned answers that nobody was asked for."""
        return self.planned - self.asked

    @property
    def wrong(self) -> tuple[int, ...]:
        """Places of the wrong choices."""
        return tuple(place for place in range(len(self.share_ranges)) if place not in self.key)


class Vote(Frozen):
    """One answer, read: whether it is right, which choices it names, and the points of each step."""

    right: float
    choices: frozenset[int] = frozenset()
    steps: tuple[float, ...] = ()


_Reading = Callable[[Vote], float]


@dataclass(frozen=True)
class Ballot:
    """An item under a condition, and the questions to the panel in the order in which they are asked."""

    revision_id: str
    condition: Condition
    units: tuple[Unit[Showing], ...]

    @cached_property
    def planned(self) -> Mapping[str, int]:
        """Questions to each family."""
        counts: dict[str, int] = defaultdict(int)
        for unit in self.units:
            counts[unit.model.family] += 1
        return counts

    def count(self, votes: Sequence[Vote | None]) -> Votes:
        """Votes from the answers to the first units; None stands for an answer that says nothing."""
        by_family: dict[str, list[Vote | None]] = {family: [] for family in self.planned}
        for unit, vote in zip(self.units, votes, strict=False):
            by_family[unit.model.family].append(vote)
        showing = self.units[0].showing
        return tally(
            self.condition.name,
            showing.original,
            by_family,
            self.planned,
            opened=not showing.question.choices,
            responses=tuple(unit.key for unit in self.units[: len(votes)]),
        )


def tally(
    condition: str,
    question: Question,
    by_family: Mapping[str, Sequence[Vote | None]],
    planned: Mapping[str, int],
    *,
    opened: bool = False,
    responses: tuple[str, ...] = (),
) -> Votes:
    """Votes from what each family answered so far.

    Args:
        condition: Its name.
        question: As the author wrote it.
        by_family: Answers that were asked for; None for one that says nothing.
        planned: Answers that a full count takes of each family.
        opened: Whether the question was asked without its choices.
        responses: Keys of the responses behind the answers, where there are any.
    """
    valid = {family: [vote for vote in votes if vote is not None] for family, votes in by_family.items()}
    asked = sum(map(len, by_family.values()))
    counted = _Count(valid, {family: planned[family] - len(by_family[family]) for family in planned})
    choices = range(0 if opened else len(question.choices))
    return Votes(
        condition=condition,
        key=question.answer.correct if choices else (),
        solved=counted.share(_is_right),
        shares=counted.shares(_names(place) for place in choices),
        step_shares=counted.shares(_points_of(place) for place in range(len(question.steps))),
        solved_range=counted.range(_is_right),
        share_ranges=tuple(counted.range(_names(place)) for place in choices),
        planned=sum(planned.values()),
        asked=asked,
        valid=sum(map(len, valid.values())),
        families=sum(map(bool, valid.values())),
        families_open=sum(not votes and counted.remaining[family] > 0 for family, votes in valid.items()),
        responses=responses,
    )


def make_ballot(models: Sequence[ModelSpec], item_name: str, revision: ItemRevision, condition: Condition) -> Ballot:
    """Every model x rotation of the choices, so ordered that families and rotations take turns.

    Which model begins depends on the item, so that the first questions about many items go to all models.
    """
    of_model: dict[str, list[Unit[Showing]]] = defaultdict(list)
    # Without its choices a question is the same in every rotation.
    for unit in plan(models, [(item_name, revision)], [condition], rotate=not condition.open_ended):
        of_model[unit.model.name].append(unit)
    queues = _in_turn(list(of_model.values()))
    first = int(content_hash(revision.content_hash)[:8], 16) % len(queues) if queues else 0
    queues = _in_turn(queues[first:] + queues[:first])
    rotations = len(queues[0]) if queues else 0
    units = tuple(queue[(turn + place) % rotations] for turn in range(rotations) for place, queue in enumerate(queues))
    return Ballot(revision.id, condition, units)


def read_vote(showing: Showing, answer: str) -> Vote | None:
    """A vote, or None for an answer that says nothing: a refusal in words, or one that cannot be read."""
    shown, original = showing.question, showing.original
    if shown.kind is QuestionKind.CHOICE:
        picked = chosen(shown, answer)
        if picked is None:
            return None
        count = len(original.choices)
        places = frozenset((index - showing.rotation) % count for index in picked)
        return Vote(right=float(places == frozenset(original.answer.correct)), choices=places)
    try:
        grade = grader_for(shown).load().grade(shown, answer)
    except InterplayError:
        return None  # the key names no usable grader: nobody's answer to it can be read
    if grade.points is None or verdict_of(grade) is Verdict.INVALID:
        return None
    return Vote(right=float(grade.points == 1.0), steps=tuple(points or 0.0 for points in grade.step_points))


def _is_right(vote: Vote) -> float:
    return vote.right


def _names(place: int) -> _Reading:
    return lambda vote: float(place in vote.choices)


def _points_of(place: int) -> _Reading:
    return lambda vote: vote.steps[place]


@dataclass(frozen=True)
class _Count:
    """Valid votes of each family, and how many of its answers are still to come."""

    by_family: Mapping[str, Sequence[Vote]]
    remaining: Mapping[str, int]

    def share(self, of: _Reading) -> float | None:
        """Mean over families of each one's own mean."""
        means = [fmean(of(vote) for vote in votes) for votes in self.by_family.values() if votes]
        return round(fmean(means), _PLACES_KEPT) if means else None

    def shares(self, readings: Iterable[_Reading]) -> tuple[float, ...]:
        """Each one's; none where there is no vote."""
        found = (self.share(of) for of in readings)
        return tuple(share for share in found if share is not None)

    def range(self, of: _Reading) -> Range:
        """The share when all that is to come speaks against, and for."""
        lows, highs = [], []
        for family, votes in self.by_family.items():
            whole = len(votes) + self.remaining[family]
            if whole:
                so_far = sum(of(vote) for vote in votes)
                lows.append(so_far / whole)
                highs.append((so_far + self.remaining[family]) / whole)
        return (round(fmean(lows), _PLACES_KEPT), round(fmean(highs), _PLACES_KEPT)) if lows else (0.0, 0.0)


def _in_turn(queues: list[list[Unit[Showing]]]) -> list[list[Unit[Showing]]]:
    """One model of each family first, then the second of each, so that every family is heard early."""
    seen: dict[str, int] = defaultdict(int)
    ranks = []
    for queue in queues:
        ranks.append(seen[queue[0].model.family])
        seen[queue[0].model.family] += 1
    return [queue for _, queue in sorted(zip(ranks, queues, strict=True), key=lambda pair: pair[0])]
