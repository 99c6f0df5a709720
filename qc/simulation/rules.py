"""Our rule and those of others, as functions from a panel's answers to how each item ends.

All are given the same conditions: the text alone first, and for items that stand, without each of two modalities.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.condition import FULL, TEXT_ONLY
from core.question import Question
from qc.estimate import any_question
from qc.gates import (
    Pair,
    Ruling,
    Thresholds,
    goes_on,
    judge_ablations,
    judge_full,
    judge_text,
    judge_together,
    needs_probe,
)
from qc.panel import Vote, Votes, tally
from qc.simulation.answers import ABLATED, NO_ANSWER, REMOVALS, REPEATS, Answers, Places
from qc.stopping import Gate, ask_until_certain
from warehouse.tables import Decision

Decided = Literal["keep", "stop", "person"]

PASSED = "passed"
# Of the pooled test and of MMMU-Pro's rule.
MODELS = 4
LEVEL = 0.05
_SOLVES_ABOVE = 5
_MODELS_TO_STOP = 3
_OUTCOME: Mapping[Decision, Decided] = {
    Decision.PASS: "keep",
    Decision.RETURN: "stop",
    Decision.REJECT: "stop",
    Decision.UNKNOWN: "person",
}


@dataclass(frozen=True)
class Ending:
    """How a rule ends for an item: its decision, the reason code (`passed` for none), the calls that it took.

    `votes` are those with something missing and with options, of a rule that counts votes.
    """

    decision: Decided
    code: str
    calls: int
    votes: tuple[Votes, ...] = ()


Rule = Callable[[Answers], list[Ending]]


def ours(answers: Answers, limits: Thresholds | None = None, *, whole: bool = False) -> list[Ending]:
    """The rule of rounds 1 and 2, by the code that judges real items: full input, text only, without each modality.

    A flagged or grey condition is probed without options. What the gates leave open goes to a person.

    Args:
        answers: Of the panel.
        limits: Of the gates.
        whole: Ask everything, where asking would stop once the gate is certain.
    """
    return [_Item(answers, row, limits or Thresholds(), whole).end() for row in range(len(answers))]


def one_call(answers: Answers) -> list[Ending]:
    """The usual ablation: one model, one call for each condition; an item stops where the answer is right.

    Of no paper. A call without an answer counts as wrong.
    """
    return _endings(answers, lambda condition: _right(answers, condition)[:, 0, 0], 1)


def circular(answers: Answers) -> list[Ending]:
    """One model solves a question that it gets right in every rotation of the choices.

    That is the CircularEval of MMBench (Liu et al. 2023, arXiv 2307.06281), which grades answers to full input by it.
    To put conditions with something missing to it, and to stop an item that is solved under one, is our doing. A call
    without an answer counts as wrong.
    """
    rotations = answers.knobs.choices
    return _endings(
        answers,
        lambda condition: (answers.rotated[condition][:, 0] == answers.key[:, None]).all(axis=1),
        rotations,
    )


def pooled(answers: Answers) -> list[Ending]:
    """Right in more of 40 calls (4 models x 10) than chance gives in 5% of cases, were all calls independent.

    A binomial test of H0: p = 1 / K for each condition, as one would take it from a textbook; of no paper. A call
    without an answer counts as wrong.
    """
    from scipy.stats import binom

    at_most = binom.isf(LEVEL, MODELS * REPEATS, 1 / answers.knobs.choices)
    return _endings(answers, lambda condition: _right(answers, condition).sum(axis=(1, 2)) > at_most, MODELS * REPEATS)


def mmmu_pro(answers: Answers) -> list[Ending]:
    """At least 3 of 4 models are right in more than 5 of 10 calls.

    That is the first step of MMMU-Pro (Yue et al. 2024, arXiv 2409.02813), which asks it of the text alone. To put the
    conditions without one modality to it is our doing. A call without an answer counts as wrong.
    """

    def solved(condition: str) -> NDArray[np.bool_]:
        solvers: Places = (_right(answers, condition).sum(axis=2) > _SOLVES_ABOVE).sum(axis=1)
        return solvers >= _MODELS_TO_STOP

    return _endings(answers, solved, MODELS * REPEATS)


OURS = "interplay"
RULES: Mapping[str, Rule] = {
    OURS: ours,
    "one call": one_call,
    "circular": circular,
    "pooled 5%": pooled,
    "MMMU-Pro": mmmu_pro,
}


def _right(answers: Answers, condition: str) -> NDArray[np.bool_]:
    """Which repeated calls of the first four models are right (items, models, calls)."""
    right: NDArray[np.bool_] = answers.repeated[condition][:, :MODELS] == answers.key[:, None, None]
    return right


def _endings(answers: Answers, solved_under: Callable[[str], NDArray[np.bool_]], calls: int) -> list[Ending]:
    """Stop where an item is solved with something missing; `calls` are those for each condition."""
    solved = {condition: solved_under(condition) for condition in ABLATED}
    endings = []
    for row in range(len(answers)):
        if solved[TEXT_ONLY.name][row]:
            endings.append(Ending("stop", "answerable_from_text", calls))
            continue
        without = [bool(solved[condition][row]) for condition in REMOVALS.values()]
        code = "redundant_modality" if all(without) else "unhelpful_modality" if any(without) else PASSED
        endings.append(Ending("stop" if any(without) else "keep", code, calls * len(ABLATED)))
    return endings


class _Item:
    """One item on its way through the gates, in the order of `qc.rounds`."""

    def __init__(self, answers: Answers, row: int, limits: Thresholds, whole: bool) -> None:
        self._answers, self._row, self._limits, self._whole = answers, row, limits, whole
        self._key = int(answers.key[row])
        self._question = _question(answers.knobs.choices, self._key)
        self._families = np.roll(np.arange(answers.knobs.families), -int(answers.first[row])).tolist()
        self._calls = 0
        self._shown: list[Votes] = []

    def end(self) -> Ending:
        """Ask and judge until something is decided."""
        full = self._count(FULL.name, Gate.FULL)
        ruling = judge_full(self._question, full, self._limits)
        if ruling.decision is Decision.PASS:
            votes, probe = self._with_probe(TEXT_ONLY.name)
            ruling = judge_text(votes, probe, self._limits)
            if goes_on(votes, self._limits):
                ablated = {modality: [self._with_probe(name)] for modality, name in REMOVALS.items()}
                ruling = judge_together(ruling, judge_ablations(ablated, self._limits))
        return Ending(_OUTCOME[ruling.decision], _code(ruling), self._calls, tuple(self._shown))

    def _with_probe(self, condition: str) -> Pair:
        votes = self._count(condition, Gate.MISSING)
        self._shown.append(votes)
        return votes, self._probe(condition) if needs_probe(votes, self._limits) else None

    def _count(self, condition: str, gate: Gate) -> Votes:
        answers, rotations = self._answers.rotated[condition][self._row], self._answers.knobs.choices
        # Families and rotations take turns, as in qc.panel.make_ballot.
        said = [
            (family, int(answers[family, (turn + place) % rotations]))
            for turn in range(rotations)
            for place, family in enumerate(self._families)
        ]
        votes = _votes(rotations, self._key)
        return self._ask(condition, [(family, votes[place]) for family, place in said], gate)

    def _probe(self, condition: str) -> Votes:
        answers = self._answers.opened[condition][self._row]
        said = [(family, int(answers[family])) for family in self._families]
        votes = [(family, None if right == NO_ANSWER else Vote(right=right)) for family, right in said]
        return self._ask(condition, votes, Gate.WHOLE, opened=True)

    def _ask(
        self, condition: str, said: Sequence[tuple[int, Vote | None]], gate: Gate, *, opened: bool = False
    ) -> Votes:
        """Votes from the first answers, as many as it takes for the gate to be certain."""
        families = sorted(self._families)
        planned = {str(family): len(said) // len(families) for family in families}
        votes = ask_until_certain(
            ((str(family), vote) for family, vote in said),
            lambda by_family: tally(condition, self._question, by_family, planned, opened=opened),
            planned,
            Gate.WHOLE if self._whole else gate,
            self._limits,
        )
        self._calls += votes.asked
        return votes


@cache
def _question(choices: int, key: int) -> Question:
    return any_question(choices, key)


@cache
def _votes(choices: int, key: int) -> Mapping[int, Vote | None]:
    """What an answer says, by its place."""
    votes = {place: Vote(right=float(place == key), choices=frozenset({place})) for place in range(choices)}
    return {**votes, NO_ANSWER: None}


def _code(ruling: Ruling) -> str:
    return ruling.reason_codes[0] if ruling.reason_codes else PASSED
