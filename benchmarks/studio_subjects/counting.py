"""What the annotators' log says: rates, percentiles, failures, lost writes, tasks that two people had at once."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from studio_subjects.load import Record

# Of these only the last one remains; all others stay beside one another.
_OVERWRITTEN = "draft"
# Holds no words; whether it held off others is what `given_twice` counts.
_LEASE = "lease"
Stored = Mapping[tuple[str, str], set[str]]


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least that share of all does not exceed; NaN for none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


def durations_ms(records: Iterable[Record]) -> list[float]:
    """Of accepted requests."""
    return [1000 * (one.ended_s - one.begun_s) for one in records if one.failure is None]


def between(records: Iterable[Record], begin_s: float, end_s: float) -> list[Record]:
    """Requests that ended in a span of time."""
    return [one for one in records if begin_s <= one.ended_s < end_s]


def failures(records: Iterable[Record]) -> Counter[str]:
    """How often which request failed how."""
    return Counter(f"{one.op}: {one.failure}" for one in records if one.failure is not None)


def lost(records: Sequence[Record], stored: Stored) -> list[tuple[str, str, str]]:
    """Accepted writes, leases apart, that the database does not hold.

    A later save that got no answer may have been stored all the same, and what it said counts as well; a draft that was
    handed in, or may have been, is no draft any more.
    """
    ended = {one.ended_draft for one in records if one.ended_draft}
    saves: dict[str, list[Record]] = defaultdict(list)
    missing: set[tuple[str, str, str]] = set()
    for one in records:
        if one.wrote is None or one.wrote[0] == _LEASE:
            continue
        kind, key, text = one.wrote
        if kind == _OVERWRITTEN:
            saves[key].append(one)
        elif one.failure is None and text not in stored.get((kind, key), set()):
            missing.add(one.wrote)
    for key, attempts in saves.items():
        accepted = [place for place, one in enumerate(attempts) if one.failure is None]
        if not accepted or key in ended:
            continue
        possible = {one.wrote[2] for one in attempts[accepted[-1] :] if one.wrote}
        if not possible & stored.get((_OVERWRITTEN, key), set()):
            last = attempts[accepted[-1]].wrote
            assert last is not None
            missing.add(last)
    return sorted(missing)


@dataclass(frozen=True)
class _Held:
    who: int
    from_s: float
    until_s: float


def given_twice(records: Sequence[Record]) -> int:
    """Pairs of people who were at work on one task at once: from its being handed out until they handed it in."""
    begun: dict[tuple[str, int], float] = {}
    held: dict[str, list[_Held]] = defaultdict(list)
    for one in sorted(records, key=lambda record: record.ended_s):
        if one.wrote is None:
            continue
        kind, key, _ = one.wrote
        if kind == _LEASE and one.failure is None:
            begun.setdefault((key, one.who), one.ended_s)
        if kind == "handed" and (key, one.who) in begun:
            held[key].append(_Held(one.who, begun.pop((key, one.who)), one.begun_s))
    for (key, who), from_s in begun.items():
        held[key].append(_Held(who, from_s, math.inf))
    return sum(
        one.who != other.who and one.from_s < other.until_s and other.from_s < one.until_s
        for spans in held.values()
        for one, other in combinations(spans, 2)
    )
