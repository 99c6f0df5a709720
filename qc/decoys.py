"""How many of the flagged items are flagged by luck: wrong choices serve as decoys.

Models that are shown too little guess, and share most of their guesses. Where they agree on a choice, it is the key by
luck as often as any one wrong choice. So the items in which a wrong choice reaches a share tell how many keys reach it
by luck (target-decoy estimate of the false discovery rate; Elias and Gygi 2007).
"""

from collections.abc import Iterable, Sequence
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
        fdr: Decoys, each divided by its item's number of wrong choices, over `flagged`, at most 1; None where nothing
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
    votes: Iterable[Sequence[Votes]], shares: Sequence[float] = SHARES, passes: float = Thresholds.passes
) -> list[DecoyEstimate]:
    """FDR(t) for each condition and for any of them.

    Only items whose key did not lead with the text alone are asked about with one modality missing. So a wrong choice
    counts there only if it did not lead with the text alone either: else luck that removed keys would be counted again
    in the decoys that it left.

    Args:
        votes: For each item, its votes under the conditions with something missing (no probes, and no donors: what a
            donor shows speaks for a wrong choice by itself).
        shares: At which t.
        passes: The share up to which a key goes on from the text alone.
    """
    items = [{one.condition: one for one in of_item if len(one.key) == 1 and one.wrong} for of_item in votes]
    ranges = [
        {name: _ranges(one, of_item.get(TEXT_ONLY.name), passes) for name, one in of_item.items()} for of_item in items
    ]
    names = sorted({name for of_item in items for name in of_item})
    keys = [next(iter(of_item.values())).key[0] for of_item in items if of_item]
    ranges = [of_item for of_item in ranges if of_item]
    found = [
        _at(name, share, [(key, one[name]) for key, one in zip(keys, ranges, strict=True) if name in one])
        for name in names
        for share in shares
    ]
    largest = [(key, _largest(list(one.values()))) for key, one in zip(keys, ranges, strict=True)]
    return found + [_at(ANY, share, largest) for share in shares]


def lowest_share(estimates: Iterable[DecoyEstimate], level: float) -> float | None:
    """The smallest share whose estimate, and that of every larger one, stays at or under the level."""
    passing = None
    for one in sorted(estimates, key=lambda one: -one.share):
        if one.fdr is not None and one.fdr > level:
            break
        passing = one.share if one.fdr is not None else passing
    return passing


def _at(condition: str, share: float, items: Sequence[tuple[int, Sequence[Range]]]) -> DecoyEstimate:
    flagged, decoys, weighted, undecided = 0, 0, 0.0, 0
    for key, ranges in items:
        if any(low < share <= high for low, high in ranges):
            undecided += 1
            continue
        flagged += ranges[key][0] >= share
        lucky = sum(low >= share for place, (low, _) in enumerate(ranges) if place != key)
        decoys += bool(lucky)
        weighted += lucky / (len(ranges) - 1)
    # Above one half no two choices can reach a share under one condition, and this is the count of items with a decoy.
    each = weighted / decoys if decoys else fmean(1 / (len(ranges) - 1) for _, ranges in items) if items else 0.0
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


def _ranges(votes: Votes, text: Votes | None, passes: float) -> list[Range]:
    """Between which shares each choice lies; nothing for a wrong one that led with the text alone already."""
    if text is None or text is votes:
        return list(votes.share_ranges)
    led = {place for place in text.wrong if text.shares and text.shares[place] > passes}
    return [(0.0, 0.0) if place in led else one for place, one in enumerate(votes.share_ranges)]


def _largest(conditions: Sequence[Sequence[Range]]) -> list[Range]:
    """For each choice, between which shares the largest that it reaches under any of the conditions lies."""
    return [(max(low for low, _ in one), max(high for _, high in one)) for one in zip(*conditions, strict=True)]


def _poisson_at_most(count: int) -> float:
    """The exact one-sided 95% bound of a Poisson mean (Garwood 1936): 3.0 where nothing was counted."""
    from scipy.special import gammaincinv

    return float(gammaincinv(count + 1, 0.95))
