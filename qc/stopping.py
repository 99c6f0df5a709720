"""When to stop asking: as soon as no answer that is still to come can change what a gate says.

So the ruling is that of a full count, at fewer calls (curtailed sampling; Wetherill and Glazebrook 1986, section 1.5),
as long as the answers still to come can be read: a full count in which too few can would say nothing at all.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice

from qc.gates import Thresholds, enough_so_far
from qc.panel import Range, Vote, Votes

_ROUNDING = 1e-9


class Gate(StrEnum):
    """What the votes have to decide: round 1's gate, a gate with a modality missing, or nothing but the whole count."""

    FULL = "full"
    MISSING = "missing"
    WHOLE = "whole"


def further_calls(votes: Votes, gate: Gate, limits: Thresholds) -> int:
    """How many more answers must come before the gate can be certain; 0 when it is.

    With a modality missing, that takes in whether any wrong choice is flagged too, for these are the decoys of the
    false discovery estimate; a question in steps is counted whole, for each of its steps is judged.
    """
    if not votes.remaining or not _can_be_enough(votes, limits):
        return 0
    calls = {Gate.FULL: _full, Gate.MISSING: _missing, Gate.WHOLE: lambda *_: votes.remaining}[gate](votes, limits)
    return min(max(calls, _to_be_enough(votes, limits)), votes.remaining)


def ask_until_certain(
    answers: Iterator[tuple[str, Vote | None]],
    count: Callable[[Mapping[str, Sequence[Vote | None]]], Votes],
    families: Iterable[str],
    gate: Gate,
    limits: Thresholds,
) -> Votes:
    """The votes of the first answers, as many as it takes for the gate to be certain.

    Args:
        answers: Family and vote, in the order of asking; no more are drawn than are needed.
        count: Votes from what each family answered so far.
        families: Of the panel.
        gate: What has to be decided.
        limits: Of the gate.
    """
    by_family: dict[str, list[Vote | None]] = {family: [] for family in families}
    votes = count(by_family)
    while calls := further_calls(votes, gate, limits):
        for family, vote in islice(answers, calls):
            by_family[family].append(vote)
        votes = count(by_family)
    return votes


def _full(votes: Votes, limits: Thresholds) -> int:
    wrong = [votes.share_ranges[place] for place in votes.wrong]
    solved = min(
        _until_at_least(votes, votes.solved_range, limits.full_at_least),
        _until_below(votes, votes.solved_range, limits.full_at_least),
    )
    if not wrong:
        return solved
    suspect = min(_until_at_least(votes, one, limits.suspect_key) for one in wrong)
    cleared = max(_until_below(votes, one, limits.suspect_key) for one in wrong)
    return min(suspect, max(cleared, solved))


def _missing(votes: Votes, limits: Thresholds) -> int:
    if votes.step_shares:
        return votes.remaining
    solved = votes.solved_range
    opened = _until_at_most(votes, solved, limits.passes)
    shut = _until_at_least(votes, solved, limits.flagged)
    grey = max(_until_above(votes, solved, limits.passes), _until_below(votes, solved, limits.flagged))
    decoys = (
        min(_until_at_least(votes, one, limits.flagged), _until_below(votes, one, limits.flagged))
        for one in (votes.share_ranges[place] for place in votes.wrong)
    )
    return max(min(opened, shut, grey), *decoys, 0)


def _can_be_enough(votes: Votes, limits: Thresholds) -> bool:
    """Whether enough answers can still be valid; if not, the ruling is `unknown` whatever comes."""
    most_families = votes.families + votes.families_open
    return most_families >= limits.families_at_least and (
        votes.valid + votes.remaining >= limits.valid_at_least * votes.planned - _ROUNDING
    )


def _to_be_enough(votes: Votes, limits: Thresholds) -> int:
    if votes.families_open:
        return max(1, votes.families_open)
    if enough_so_far(votes, limits):
        return 0
    return max(1, _up((limits.valid_at_least * votes.asked - votes.valid) / (1 - limits.valid_at_least)))


# Each answer moves one end of a range by about 1 / planned; where families lack answers, by a little more.
def _until_at_least(votes: Votes, shares: Range, threshold: float) -> int:
    return max(0, _up((threshold - shares[0]) * votes.planned))


def _until_at_most(votes: Votes, shares: Range, threshold: float) -> int:
    return max(0, _up((shares[1] - threshold) * votes.planned))


def _until_above(votes: Votes, shares: Range, threshold: float) -> int:
    return max(0, _over((threshold - shares[0]) * votes.planned))


def _until_below(votes: Votes, shares: Range, threshold: float) -> int:
    return max(0, _over((shares[1] - threshold) * votes.planned))


def _up(calls: float) -> int:
    return math.ceil(calls - _ROUNDING * 10)


def _over(calls: float) -> int:
    return math.floor(calls + _ROUNDING * 10) + 1
