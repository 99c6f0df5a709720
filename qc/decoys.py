"""How many of the flagged items are flagged by luck: wrong choices serve as decoys.

Models that are shown too little guess, and share most of their guesses. Where they agree on a choice, it is the key by
luck as often as any one wrong choice. So the items in which a wrong choice reaches a share tell how many keys reach it
by luck (target-decoy estimate of the false discovery rate; Elias and Gygi 2007).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from core.condition import TEXT_ONLY
from core.content import Frozen
from qc.gates import Thresholds
from qc.panel import Range, Votes

# Name of the condition under which the largest share of all conditions counts.
ANY = "any"
SHARES = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


class DecoyEstimate(Frozen):
    """The false discovery rate at one share.

    Attributes:
        condition: Name of the condition, or `ANY` for the largest share under any of them.
        share: From which on an item is flagged.
        items: That were asked about with one right choice.
        flagged: Items whose key reaches the share.
        decoys: Items of which some wrong choice does.
        fdr: Decoys, each over its item's number of wrong choices, over `flagged`, at most 1; None where nothing
            is flagged, for then no discovery is there that could be false.
        fdr_at_most: With 95% confidence, taking decoys for Poisson counts: what few decoys, or none, leave possible.
        open: Items in which asking stopped before it was known whether a choice reaches the share. They count for
            neither.
    """

    condition: str
    share: float
    items: int
    flagged: int
    decoys: int
    fdr: float | None
    fdr_at_most: float | None
    open: int


def estimate_decoys(
    votes: Iterable[Sequence[Votes]], shares: Sequence[float] = SHARES, flagged: float = Thresholds.flagged
) -> list[DecoyEstimate]:
    """FDR(t) for each condition and for any of them.

    Only items that the text alone does not flag are asked about with one modality missing. A wrong choice stands for a
    key there only if it would not have been flagged either. And it is seen there only in items whose key was not, so
    each counts 1 / P times: P is how often a choice is not flagged where another one is not, as wrong choices tell.

    Args:
        votes: For each item, its votes under the conditions with something missing (no probes, and no donors: what a
            donor shows speaks for a wrong choice by itself).
        shares: At which t.
        flagged: The share from which on the text alone stops an item.
    """
    asked = ({one.condition: one for one in of_item if len(one.key) == 1 and one.wrong} for of_item in votes)
    items = [of_item for of_item in asked if of_item]
    found = []
    weight = 1 / _staying(items, flagged)
    for condition in [*sorted({name for of_item in items for name in of_item}), ANY]:
        some = [_read(of_item, condition, flagged) for of_item in items if condition == ANY or condition in of_item]
        found += [_at(condition, share, some, weight) for share in shares]
    return found


def lowest_share(estimates: Iterable[DecoyEstimate], level: float) -> float | None:
    """The smallest share whose estimate, and that of every larger one, stays at or under the level."""
    passing = None
    for one in sorted(estimates, key=lambda one: -one.share):
        if one.fdr is not None and one.fdr > level:
            break
        passing = one.share if one.fdr is not None else passing
    return passing


@dataclass(frozen=True)
class _Item:
    """Between which shares each choice lies, with the text alone and, the largest, with one modality missing."""

    key: int
    text: Sequence[Range]
    later: Sequence[Range]

    @property
    def ranges(self) -> list[Range]:
        """The larger of the two."""
        pairs = zip(self.text, self.later, strict=True)
        return [(max(early[0], late[0]), max(early[1], late[1])) for early, late in pairs]

    def lucky(self, share: float, weight: float) -> list[float]:
        """What each wrong choice that reaches a share counts."""
        reached = (
            1.0 if early[0] >= share else weight if late[0] >= share else 0.0
            for place, (early, late) in enumerate(zip(self.text, self.later, strict=True))
            if place != self.key
        )
        return [counts for counts in reached if counts]


def _read(of_item: Mapping[str, Votes], condition: str, flagged: float) -> _Item:
    first = next(iter(of_item.values()))
    none = [(0.0, 0.0)] * len(first.share_ranges)
    text = of_item.get(TEXT_ONLY.name)
    led = _leading(text, flagged) if text else frozenset()
    later = [
        [(0.0, 0.0) if place in led else one for place, one in enumerate(votes.share_ranges)]
        for name, votes in of_item.items()
        if name != TEXT_ONLY.name and condition in (name, ANY)
    ]
    largest = [(max(low for low, _ in one), max(high for _, high in one)) for one in zip(none, *later, strict=True)]
    is_shown = text is not None and condition in (TEXT_ONLY.name, ANY)
    return _Item(first.key[0], text.share_ranges if text is not None and is_shown else none, largest)


def _leading(text: Votes, flagged: float) -> frozenset[int]:
    return frozenset(place for place in text.wrong if text.share_ranges[place][0] >= flagged)


def _staying(items: Iterable[Mapping[str, Votes]], flagged: float) -> float:
    """How often the text alone does not flag a wrong choice, where it does not flag another one of the item."""
    together = pairs = 0
    for text in (of_item[TEXT_ONLY.name] for of_item in items if TEXT_ONLY.name in of_item):
        staying = len(text.wrong) - len(_leading(text, flagged))
        pairs += staying * (len(text.wrong) - 1)
        together += staying * (staying - 1)
    return together / pairs if together else 1.0


def _at(condition: str, share: float, items: Sequence[_Item], weight: float) -> DecoyEstimate:
    flagged, decoys, weighted, undecided = 0, 0, 0.0, 0
    for item in items:
        ranges = item.ranges
        if any(low < share <= high for low, high in ranges):
            undecided += 1
            continue
        flagged += ranges[item.key][0] >= share
        lucky = item.lucky(share, weight)
        decoys += bool(lucky)
        weighted += sum(lucky) / (len(ranges) - 1)
    # Above one half no two choices can reach a share under one condition, and this is the count of items with a decoy.
    each = weighted / decoys if decoys else fmean(1 / (len(one.text) - 1) for one in items) if items else 0.0
    return DecoyEstimate(
        condition=condition,
        share=share,
        items=len(items),
        flagged=flagged,
        decoys=decoys,
        fdr=min(1.0, weighted / flagged) if flagged else None,
        fdr_at_most=min(1.0, _poisson_at_most(decoys) * each / flagged) if flagged else None,
        open=undecided,
    )


def _poisson_at_most(count: int) -> float:
    """The exact one-sided 95% bound of a Poisson mean (Garwood 1936): 3.0 where nothing was counted."""
    from scipy.special import gammaincinv

    return float(gammaincinv(count + 1, 0.95))
