"""Ask a panel about many items at once, each until its gate is certain, within a budget of calls and of money."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evaluation.asking import Asker, Shown, Unit
from evaluation.canary import PURPOSE as CANARIES
from evaluation.canary import canary_units
from evaluation.models.catalogue import ModelSpec
from evaluation.solve import Showing
from qc.gates import Thresholds
from qc.panel import Ballot, Vote, Votes, read_vote
from qc.stopping import Gate, further_calls
from warehouse.ledger import SETTLED, settled_keys, stored_answers
from warehouse.workspace import Workspace

Place = tuple[str, str]
ShownT = TypeVar("ShownT", bound=Shown)


@dataclass(frozen=True)
class Limit:
    """How many calls, and how many US dollars, may be spent; None for as many as it takes."""

    calls: int | None = None
    usd: float | None = None


@dataclass
class Spent:
    """What was asked so far: calls, answers that failed by state with their most frequent words, US dollars."""

    calls: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, str] = field(default_factory=dict)
    cost_usd: float | None = None


class Poller:
    """One round's way to the panel.

    Attributes:
        spent: What was asked so far.
        left: Revisions whose count the budget broke off: nothing may be decided from it.
    """

    def __init__(self, workspace: Workspace, purpose: str, run_id: str, limits: Thresholds, limit: Limit) -> None:
        self._workspace, self._purpose, self._run_id = workspace, purpose, run_id
        self._limits, self._limit = limits, limit
        self.spent = Spent()
        self.left: set[str] = set()

    @property
    def calls_left(self) -> int | None:
        """Calls that the budget still allows; None when it allows any number."""
        return None if self._limit.calls is None else max(0, self._limit.calls - self.spent.calls)

    def poll(self, ballots: Iterable[Ballot], gate: Gate) -> dict[Place, Votes]:
        """Votes by (revision id, condition name), for all whose count came to its end."""
        done: dict[Place, Votes] = {}
        open_ballots = {(one.revision_id, one.condition.name): (one, list[Vote | None]()) for one in ballots}
        while open_ballots:
            wave: dict[Place, Sequence[Unit[Showing]]] = {}
            for place, (ballot, votes) in list(open_ballots.items()):
                counted = ballot.count(votes)
                calls = further_calls(counted, gate, self._limits)
                if calls:
                    wave[place] = ballot.units[len(votes) : len(votes) + calls]
                else:
                    done[place] = counted
                    del open_ballots[place]
            told = self._ask(self._affordable(wave))
            for place, units in wave.items():
                if place in told:
                    open_ballots[place][1].extend(map(_vote, units, told[place]))
                else:
                    self.left.add(place[0])
                    del open_ballots[place]
        return {place: votes for place, votes in done.items() if place[0] not in self.left}

    def ask(self, units_of: Mapping[str, Sequence[Unit[Shown]]]) -> None:
        """Ask everything about each revision that is wanted; where the budget does not allow it, it is `left`."""
        wave = {(revision_id, ""): units for revision_id, units in units_of.items()}
        told = self._ask(self._affordable(wave))
        self.left.update(place[0] for place in wave if place not in told)

    def ask_canaries(self, models: Sequence[ModelSpec]) -> bool:
        """Ask what endpoints have not answered yet; False where the money was not enough for all.

        The budget of calls is one of questions about items, and does not count them.
        """
        units = canary_units(self._workspace, models)
        solved = self._asker(CANARIES).ask(units)
        self._book(solved.cost_usd)
        return not solved.left

    def _affordable(self, wave: Mapping[Place, Sequence[Unit[ShownT]]]) -> dict[Place, Sequence[Unit[ShownT]]]:
        """Those that the budget of calls has room for, in order; what is known already takes none."""
        room = self.calls_left
        if room is None:
            return dict(wave)
        requests = {unit.request_key for units in wave.values() for unit in units}
        known = settled_keys(self._workspace.facts, requests, "request_key")
        affordable = {}
        for place, units in wave.items():
            new = {unit.request_key for unit in units} - known
            if len(new) <= room:
                room -= len(new)
                known |= new
                affordable[place] = units
        return affordable

    def _ask(self, wave: Mapping[Place, Sequence[Unit[ShownT]]]) -> dict[Place, list[Mapping[str, Any]]]:
        """What came back; nothing for a place of which the budget of money let an answer be missing."""
        units: list[Unit[Shown]] = [unit for batch in wave.values() for unit in batch]
        if not units:
            return {}
        solved = self._asker(self._purpose).ask(units)
        self.spent.calls += solved.asked
        self.spent.failures.update(solved.failures)
        self.spent.reasons.update(solved.reasons)
        self._book(solved.cost_usd)
        answers = stored_answers(self._workspace.facts, (unit.key for unit in units))
        if solved.left:
            # What the money was not enough for has no row, or that of an earlier failure.
            settled = {key for key, said in answers.items() if said["state"] in SETTLED}
            wave = {place: batch for place, batch in wave.items() if all(unit.key in settled for unit in batch)}
        return {place: [answers[unit.key] for unit in batch] for place, batch in wave.items()}

    def _asker(self, purpose: str) -> Asker:
        usd = None if self._limit.usd is None else max(0.0, self._limit.usd - (self.spent.cost_usd or 0.0))
        workspace = self._workspace
        return Asker(workspace.facts, workspace.blobs, workspace.project.root, purpose, self._run_id, budget_usd=usd)

    def _book(self, cost_usd: float | None) -> None:
        if cost_usd is not None:
            self.spent.cost_usd = (self.spent.cost_usd or 0.0) + cost_usd


def _vote(unit: Unit[Showing], said: Mapping[str, Any]) -> Vote | None:
    # Answers that failed, were refused, cut off or empty say nothing.
    return read_vote(unit.showing, said["answer"]) if said["state"] == "ok" else None
