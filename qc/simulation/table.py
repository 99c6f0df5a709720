"""What rules do to items of known truth, side by side: false flags, power, yield, contamination, calls."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from core.content import Frozen
from evaluation.metrics import wilson
from qc.decoys import ANY, estimate_decoys
from qc.gates import Thresholds
from qc.ground_truth_facts import TruthClass
from qc.measure import Measure, undefined
from qc.panel import Votes
from qc.simulation.answers import ABLATED, TRUTHS, Answers
from qc.simulation.rules import OURS, RULES, Ending

Rows = NDArray[np.bool_]

NEEDLESS = (TruthClass.REDUNDANT, TruthClass.LEAKED, TruthClass.PARTIAL)


class Share(Frozen):
    """A share of items with Wilson's 95% interval; without a value where there are no items to count."""

    part: int
    whole: int
    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, rows: Rows, among: Rows) -> Self:
        """The share of the items `among` that are in `rows` too."""
        part, whole = int((rows & among).sum()), int(among.sum())
        if not whole:
            return cls(part=part, whole=whole, value=None, low=None, high=None)
        low, high = wilson(part, whole)
        return cls(part=part, whole=whole, value=part / whole, low=low, high=high)

    @property
    def text(self) -> str:
        """For people: percent, with the interval."""
        if self.value is None or self.low is None or self.high is None:
            return "undefined (no such items)"
        return f"{100 * self.value:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"


class RuleRow(Frozen):
    """How one rule does.

    Attributes:
        rule: Its name.
        false_flags: Sound items that the machine stops.
        power: Items that do not need every modality that are stopped or sent to a person.
        power_alone: Those of them that the machine stops.
        mis_keyed: Mis-keyed items that are stopped or sent to a person.
        impossible: Impossible items that are.
        kept: Sound items that are kept in the end (the yield).
        contamination: Kept items that are not sound.
        needless: Kept items that do not need every modality: the part of the contamination that each rule looks for.
        to_person: Items sent to a person.
        calls: Mean for each item.
        calls_sound: Mean for each sound item.
        endings: By class of truth, how many items ended with which reason code.
    """

    rule: str
    false_flags: Share
    power: Share
    power_alone: Share
    mis_keyed: Share
    impossible: Share
    kept: Share
    contamination: Share
    needless: Share
    to_person: Share
    calls: Measure
    calls_sound: Measure
    endings: Mapping[str, Mapping[str, int]]


class DecoyRow(Frozen):
    """The decoy estimate of our rule beside the truth.

    Attributes:
        condition: Or `any`.
        flagged: Items whose key reaches the share at which an item is flagged.
        estimate: Of the share of them that is flagged by luck.
        by_luck: The true share: flagged only under conditions that do not let the answer be worked out.
        sound: The share of them that is sound.
    """

    condition: str
    flagged: int
    estimate: Measure
    by_luck: Share
    sound: Share


class Simulation(Frozen):
    """Everything that a simulation shows."""

    items: int
    rules: tuple[RuleRow, ...]
    decoys: tuple[DecoyRow, ...]


def simulate(answers: Answers) -> Simulation:
    """Every rule on the same answers."""
    endings = {name: rule(answers) for name, rule in RULES.items()}
    rows = tuple(rule_row(name, answers, found) for name, found in endings.items())
    return Simulation(items=len(answers), rules=rows, decoys=tuple(decoy_rows(answers, endings[OURS])))


def rule_row(name: str, answers: Answers, endings: Sequence[Ending]) -> RuleRow:
    """How a rule does whose endings are those."""
    stopped = np.array([one.decision == "stop" for one in endings], dtype=bool)
    asked = np.array([one.decision == "person" for one in endings], dtype=bool)
    sound, needless = answers.of(TruthClass.SOUND), answers.of(*NEEDLESS)
    # Whom a person keeps: a sound item when right, any other when wrong.
    kept = ~stopped & (~asked | (sound ^ answers.person_errs))
    calls = np.array([one.calls for one in endings])
    found = stopped | asked
    return RuleRow(
        rule=name,
        false_flags=Share.of(stopped, sound),
        power=Share.of(found, needless),
        power_alone=Share.of(stopped, needless),
        mis_keyed=Share.of(found, answers.of(TruthClass.MIS_KEYED)),
        impossible=Share.of(found, answers.of(TruthClass.IMPOSSIBLE)),
        kept=Share.of(kept, sound),
        contamination=Share.of(~sound, kept),
        needless=Share.of(needless, kept),
        to_person=Share.of(asked, np.ones_like(asked)),
        calls=_mean(calls),
        calls_sound=_mean(calls[sound]),
        endings=_endings(answers, endings),
    )


def decoy_rows(answers: Answers, endings: Sequence[Ending], limits: Thresholds | None = None) -> list[DecoyRow]:
    """The estimate for each condition and for any of them, at the share that flags an item."""
    share = (limits or Thresholds()).flagged
    votes = [one.votes for one in endings]
    solvable = {condition: answers.solvable(condition) for condition in ABLATED}
    sound = answers.of(TruthClass.SOUND)
    rows = []
    for found in estimate_decoys(votes, [share]):
        under = [_flagged(of_item, found.condition, share) for of_item in votes]
        flagged = np.array([bool(conditions) for conditions in under], dtype=bool)
        by_luck = np.array([not any(solvable[name][row] for name in names) for row, names in enumerate(under)], bool)
        rows.append(
            DecoyRow(
                condition=found.condition,
                flagged=found.flagged,
                estimate=undefined("no item is flagged") if found.fdr is None else Measure(value=found.fdr),
                by_luck=Share.of(by_luck, flagged),
                sound=Share.of(sound, flagged),
            )
        )
    return rows


def _flagged(votes: Sequence[Votes], condition: str, share: float) -> list[str]:
    """Under which conditions the key reaches the share."""
    wanted = [one for one in votes if condition in (one.condition, ANY)]
    return [one.condition for one in wanted if one.share_ranges[one.key[0]][0] >= share]


def _endings(answers: Answers, endings: Sequence[Ending]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {truth.value: Counter() for truth in TRUTHS}
    for truth, one in zip(answers.truth, endings, strict=True):
        counts[TRUTHS[truth].value][one.code] += 1
    return {truth: dict(sorted(of_truth.items())) for truth, of_truth in counts.items()}


def _mean(calls: NDArray[np.int64]) -> Measure:
    return Measure(value=float(calls.mean())) if len(calls) else undefined("no such items")
