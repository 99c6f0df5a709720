"""How far reviewers agree in round 3: Cohen's kappa for pairs, Krippendorff's alpha for all.

A third reviewer judges only where the first two differ. So verdicts beyond the first two are no random sample:
reviewers who throw coins over two decisions, and are asked for a third verdict where they differ, reach an alpha of .2
over all their verdicts. Everything is therefore told twice: over all verdicts, and over the first two on each revision,
which is what says how far reviewers agree.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from sqlmodel import Session, col, select

from core.content import Frozen
from evaluation.metrics import CONFIDENCE, RESAMPLES, Values
from qc.measure import Measure, undefined
from warehouse.tables import Item, ItemRevision, User, Verdict

# The ends of a 95% interval are sure only while no more resamples than lie beyond them are undefined.
UNDEFINED_AT_MOST = 1 - CONFIDENCE
_DRAWN_AT_ONCE = 2_000_000


class Decided(NamedTuple):
    """One reviewer's decision on one revision; revisions of one `item` are drawn together."""

    item: str
    revision: str
    reviewer: str
    decision: str


class Pair(Frozen):
    """Two reviewers: revisions that both judged, those on which they agree, and Cohen's kappa."""

    first: str
    second: str
    shared: int
    agreeing: int
    kappa: Measure


class Interval(Frozen):
    """A 95% percentile interval over resampled items.

    Attributes:
        low, high: Its ends.
        resamples: How many were drawn.
        undefined: In how many of them the statistic is not defined; the ends are those of the others.
    """

    low: Measure
    high: Measure
    resamples: int = 0
    undefined: int = 0

    @property
    def text(self) -> str:
        """For people."""
        if self.low.value is None:
            return self.low.text
        told = f"{self.low.text} to {self.high.text}"
        return told + (f", {self.undefined} of {self.resamples} resamples undefined" if self.undefined else "")


class Reliability(Frozen):
    """Agreement over revisions with at least two verdicts.

    Attributes:
        items, revisions, verdicts: What it rests on.
        percent: Share of the pairs of verdicts on one revision that agree, in [0, 1].
        alpha: Krippendorff's, nominal.
        interval: Of alpha.
    """

    items: int
    revisions: int
    verdicts: int
    percent: Measure
    alpha: Measure
    interval: Interval


class Agreement(Frozen):
    """The agreement of reviewers; `first_two` leaves out verdicts that were asked for because others differ."""

    reviewers: tuple[str, ...]
    first_two: Reliability
    all_verdicts: Reliability
    pairs: tuple[Pair, ...]


def read_agreement(session: Session, rng: np.random.Generator) -> Agreement:
    """The agreement of people in round 3, over all revisions that two or more judged."""
    return agreement(round3_decided(session), rng)


def round3_decided(session: Session) -> list[Decided]:
    """What people decided in round 3, oldest first; of several verdicts of one person on a revision the first.

    Somebody who is called by name in one verdict and by user id in another is one person. A maintainer who decided
    between reviewers knew their verdicts, so that is left out.
    """
    names: dict[str, str] = dict(session.exec(select(User.id, User.name)).all())
    query = (
        select(Item.name, Verdict)
        .join(ItemRevision, col(ItemRevision.id) == col(Verdict.revision_id))
        .join(Item, col(Item.id) == col(ItemRevision.item_id))
        .where(Verdict.round == 3, col(Verdict.by_person))
        .order_by(col(Verdict.created_at), col(Verdict.id))
    )
    found: dict[tuple[str, str], Decided] = {}
    for item, verdict in session.exec(query):
        if "adjudicates" in verdict.evidence:
            continue
        reviewer = names.get(verdict.decider, verdict.decider)
        one = Decided(item, verdict.revision_id, reviewer, verdict.decision.value)
        found.setdefault((one.revision, one.reviewer), one)
    return list(found.values())


def agreement(decided: Sequence[Decided], rng: np.random.Generator) -> Agreement:
    """Agreement of some decisions, oldest first; one a reviewer and revision."""
    reviewers = sorted({one.reviewer for one in decided})
    by_revision: dict[tuple[str, str], list[Decided]] = defaultdict(list)
    for one in decided:
        by_revision[one.item, one.revision].append(one)
    judged = {place: by_revision[place] for place in sorted(by_revision) if len(by_revision[place]) > 1}
    why = "fewer than two reviewers gave verdicts" if len(reviewers) < 2 else "no revision has two verdicts"
    seed = int(rng.integers(2**63))  # both intervals are over the same draws, so that they differ by the verdicts alone
    first_two = {place: together[:2] for place, together in judged.items()}
    return Agreement(
        reviewers=tuple(reviewers),
        first_two=_reliability(first_two, why, np.random.default_rng(seed)),
        all_verdicts=_reliability(judged, why, np.random.default_rng(seed)),
        pairs=_pairs(reviewers, judged.values()),
    )


def kappa(decisions: Sequence[tuple[str, str]]) -> Measure:
    """Cohen's kappa of two reviewers (Cohen 1960): (p_o - p_e) / (1 - p_e), p_e from the shares of each.

    Args:
        decisions: Both reviewers' decisions, in one order, for each thing that both judged.
    """
    if not decisions:
        return undefined("they share no item")
    count = len(decisions)
    agreeing = sum(one == other for one, other in decisions)
    first, second = zip(*decisions, strict=True)
    # Counts, not shares: whether the chance agreement is 1 must not hang on the last digit.
    by_chance = sum(first.count(one) * second.count(one) for one in set(first))
    if by_chance == count**2:
        return undefined(f"both always decided {first[0]!r}: kappa is 0/0")
    return Measure(value=(count * agreeing - by_chance) / (count**2 - by_chance))


def alpha(counts: Values) -> Measure:
    """Krippendorff's alpha for nominal data with any number of reviewers and missing verdicts.

    alpha = 1 - (n - 1) (n - sum_c o_cc) / (n^2 - sum_c n_c^2), over units with two or more verdicts (Krippendorff 2011,
    "Computing Krippendorff's Alpha-Reliability", section C).

    Args:
        counts: How many reviewers gave each unit each decision: units x decisions.
    """
    pairable = counts[counts.sum(axis=1) > 1]
    if not len(pairable):
        return undefined("no revision has two verdicts")
    found = float(_alphas(_matches(pairable).sum(keepdims=True), pairable.sum(axis=0, keepdims=True))[0])
    return undefined("all verdicts say the same: alpha is 0/0") if np.isnan(found) else Measure(value=found)


def alpha_interval(counts: Values, items: Sequence[str], rng: np.random.Generator) -> Interval:
    """The percentile bootstrap interval of alpha over items, which are drawn whole.

    Args:
        counts: As `alpha` takes them; every unit has two or more verdicts.
        items: The item of each unit.
        rng: Draws the items.
    """
    names, codes = np.unique(np.array(items, dtype=object), return_inverse=True)
    if len(names) < 2:
        return _no_interval("fewer than two items")
    matches = np.bincount(codes, _matches(counts), len(names))
    totals = np.stack([np.bincount(codes, column, len(names)) for column in counts.T], axis=1)
    drawn = np.concatenate([
        _alphas(weights @ matches, weights @ totals) for weights in _resamples(len(names), rng)
    ])  # fmt: skip
    defined = drawn[~np.isnan(drawn)]
    missing = RESAMPLES - len(defined)
    if missing > UNDEFINED_AT_MOST * RESAMPLES:
        return _no_interval(f"alpha is undefined in {missing} of {RESAMPLES} resamples", missing)
    if np.ptp(defined) < 1e-12:
        return _no_interval("alpha is the same in every resample, which says nothing of its spread", missing)
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(
        low=Measure(value=float(low)), high=Measure(value=float(high)), resamples=RESAMPLES, undefined=missing
    )


def _reliability(
    judged: Mapping[tuple[str, str], Sequence[Decided]], why: str, rng: np.random.Generator
) -> Reliability:
    """Of revisions with two or more decisions each, by (item, revision); `why` there are none."""
    if not judged:
        return Reliability(
            items=0, revisions=0, verdicts=0,
            percent=undefined(why), alpha=undefined(why), interval=_no_interval(why),
        )  # fmt: skip
    decisions = sorted({one.decision for together in judged.values() for one in together})
    counts = np.array(
        [[sum(one.decision == each for one in together) for each in decisions] for together in judged.values()],
        dtype=float,
    )
    pairs = (counts.sum(axis=1) * (counts.sum(axis=1) - 1)).sum()
    found, items = alpha(counts), [item for item, _ in judged]
    return Reliability(
        items=len(set(items)),
        revisions=len(judged),
        verdicts=int(counts.sum()),
        percent=Measure(value=float((counts * (counts - 1)).sum() / pairs)),
        alpha=found,
        interval=_no_interval(found.reason) if found.reason else alpha_interval(counts, items, rng),
    )


def _pairs(reviewers: Sequence[str], judged: Iterable[Sequence[Decided]]) -> tuple[Pair, ...]:
    decisions: dict[tuple[str, str], list[tuple[str, str]]] = {pair: [] for pair in combinations(reviewers, 2)}
    for together in judged:
        for one, other in combinations(sorted(together, key=lambda one: one.reviewer), 2):
            decisions[one.reviewer, other.reviewer].append((one.decision, other.decision))
    return tuple(
        Pair(
            first=first,
            second=second,
            shared=len(both),
            agreeing=sum(one == other for one, other in both),
            kappa=kappa(both),
        )
        for (first, second), both in decisions.items()
    )


def _matches(counts: Values) -> Values:
    """What each unit adds to the diagonal of the coincidence matrix: sum_c n_uc (n_uc - 1) / (m_u - 1)."""
    found: Values = (counts * (counts - 1)).sum(axis=1) / (counts.sum(axis=1) - 1)
    return found


def _alphas(matches: Values, totals: Values) -> Values:
    """Alpha from the diagonal's sum and the verdicts of each decision (one row a resample); NaN for 0/0."""
    n = totals.sum(axis=1)
    by_chance = n**2 - np.square(totals).sum(axis=1)
    wrong = (n - 1) * (n - matches)
    found: Values = 1 - np.divide(wrong, by_chance, out=np.full(len(n), np.nan), where=by_chance > 0)
    return found


def _resamples(items: int, rng: np.random.Generator) -> Iterable[Values]:
    """How often each item is drawn, in portions: resamples x items."""
    portion = max(1, _DRAWN_AT_ONCE // items)
    for start in range(0, RESAMPLES, portion):
        size = min(portion, RESAMPLES - start)
        yield rng.multinomial(items, np.full(items, 1 / items), size=size).astype(float)


def _no_interval(reason: str, missing: int = 0) -> Interval:
    return Interval(
        low=undefined(reason), high=undefined(reason), resamples=RESAMPLES if missing else 0, undefined=missing
    )
