"""What quality control says of people: how far reviewers agree, and statistics of authors and reviewers by kind.

Maintainers see everybody; others see the totals and themselves. How well somebody did on gold items is for maintainers
only: a count that rises tells a reviewer which item was gold.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlmodel import Session, select

from annotation_ui import labels
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.profiles import Profile
from annotation_ui.views.people import NO_KIND, kind_words, kinds
from annotation_ui.views.quality import interval
from annotation_ui.views.quality_words import Figure, figure, qc_words, share, undefined
from annotation_ui.words import Words
from qc.agreement import Agreement, Pair, Reliability
from qc.drift import Drift
from qc.report.document import AuthorStatistics, QcReport, ReviewerStatistics
from qc.report.people import author_statistics, reviewer_statistics
from qc.review.gold import GoldScore
from warehouse.spreadsheets import Cell
from warehouse.tables import Decision, ItemState, User

_REASONS_SHOWN = 3
_GOLD = "gold"
_Row = TypeVar("_Row", AuthorStatistics, ReviewerStatistics)


@dataclass(frozen=True)
class ReliabilityLine:
    """How far reviewers agree over some verdicts; `interval` is of alpha, `undefined` says where it has gaps."""

    name: str
    items: int
    revisions: int
    verdicts: int
    percent: Figure
    alpha: Figure
    interval: Figure


@dataclass(frozen=True)
class PairLine:
    """Two reviewers."""

    first: str
    second: str
    shared: int
    agreeing: int
    kappa: Figure


@dataclass(frozen=True)
class AuthorLine:
    """One author, or several together: `is_total`."""

    name: str
    kind: str
    items: int
    accepted: int
    returned: int
    rejected: int
    times_returned: int
    reasons: str
    keys: str
    is_total: bool = False


@dataclass(frozen=True)
class ReviewerLine:
    """One reviewer, or several together: `is_total`. `decisions` are counts in the order of `Decision`."""

    name: str
    kind: str
    verdicts: int
    items: int
    decisions: Sequence[int]
    pass_share: str
    gold: str
    gold_interval: str
    is_total: bool = False


@dataclass(frozen=True)
class DriftLine:
    """One reviewer's last decisions against all before."""

    name: str
    measure: str
    recent: str
    before: str
    p: str
    has_drifted: bool


@dataclass(frozen=True)
class PeopleQuality:
    """What somebody may see of people; totals come first. `sees_all` tells a maintainer's from the others'.

    Attributes:
        authors, reviewers: Totals by kind, then single people.
        pairs: Of reviewers who share items, those who agree least first; for maintainers only.
        apart: How many pairs share none.
        drift: Whose verdicts can be told apart from earlier ones, who drifted first.
        untold: Name, measure and reason of the others.
    """

    authors: Sequence[AuthorLine]
    reviewers: Sequence[ReviewerLine]
    pairs: Sequence[PairLine]
    apart: int
    drift: Sequence[DriftLine]
    untold: Sequence[tuple[str, str, str]]
    sees_all: bool


@dataclass(frozen=True)
class _Known:
    """Names and kinds of people, by the name that the report calls them."""

    names: Mapping[str, str]
    kinds: Mapping[str, str]

    def kind(self, name: str) -> str:
        return self.kinds.get(name, NO_KIND)

    def name(self, name: str) -> str:
        return self.names.get(name, name)


def agreement_lines(found: Agreement, who: Principal, t: Words) -> list[ReliabilityLine]:
    """How far reviewers agree in round 3, over the first two verdicts on each revision and over all.

    Raises:
        NotAllowed: The person may not see results.
    """
    require(who, Permission.SEE_RESULTS)
    words = qc_words(t.language)
    return [
        _reliability(words["first_two"], found.first_two, t),
        _reliability(words["all_verdicts"], found.all_verdicts, t),
    ]


def people_quality(session: Session, report: QcReport, who: Principal, t: Words) -> PeopleQuality:
    """Statistics of authors and reviewers.

    Raises:
        NotAllowed: The person may not see results.
    """
    require(who, Permission.SEE_RESULTS)
    known = _known(session)
    sees_all = who.may(Permission.MANAGE_PEOPLE)

    def seen(name: str) -> bool:
        return sees_all or who.is_author(name)

    gold = {one.reviewer: one for one in report.gold} if sees_all else {}
    drift = [one for one in report.drift if seen(one.reviewer) and (sees_all or one.measure != _GOLD)]
    pairs = report.agreement.pairs if sees_all else ()
    return PeopleQuality(
        authors=[
            *_author_totals(report, known, t),
            *(_author(one, known, t) for one in report.authors if seen(one.author)),
        ],
        reviewers=[
            *_reviewer_totals(report.reviewers, known, t),
            *(_reviewer(one, known, t, gold.get(one.reviewer)) for one in report.reviewers if seen(one.reviewer)),
        ],
        pairs=_pairs(pairs, known, t),
        apart=sum(not one.shared for one in pairs),
        drift=_drifts(drift, known, t),
        untold=[
            (known.name(one.reviewer), _measure(one, t), undefined(one.reason or "", t).why)
            for one in drift
            if one.p_holm is None
        ],
        sees_all=sees_all,
    )


def author_columns(t: Words) -> list[str]:
    """The head of the table of authors."""
    words = qc_words(t.language)
    states = [t(labels.ITEM_STATES[state]) for state in (ItemState.ACCEPTED, ItemState.RETURNED, ItemState.REJECTED)]
    last = [words[name] for name in ("times_returned", "key_positions", "reasons")]
    return [words["author"], t("Profile"), words["item_list"], *states, *last]


def author_rows(found: PeopleQuality) -> Iterator[list[Cell]]:
    """For `author_columns`."""
    for one in found.authors:
        yield [
            one.name, one.kind, one.items, one.accepted, one.returned, one.rejected, one.times_returned, one.keys,
            one.reasons,
        ]  # fmt: skip


def reviewer_columns(found: PeopleQuality, t: Words) -> list[str]:
    """The head of the table of reviewers."""
    words = qc_words(t.language)
    gold = [words["gold"]] if found.sees_all else []
    decisions = [t(labels.DECISIONS[decision]) for decision in Decision]
    return [
        words["reviewer"],
        t("Profile"),
        words["verdicts"],
        words["item_list"],
        *decisions,
        words["pass_share"],
        *gold,
    ]


def reviewer_rows(found: PeopleQuality) -> Iterator[list[Cell]]:
    """For `reviewer_columns`."""
    for one in found.reviewers:
        gold = [one.gold] if found.sees_all else []
        yield [one.name, one.kind, one.verdicts, one.items, *one.decisions, one.pass_share, *gold]


def pair_columns(t: Words) -> list[str]:
    """The head of the table of pairs."""
    words = qc_words(t.language)
    return [words["pair"], "", words["shared"], words["agreeing"], words["kappa"]]


def pair_rows(found: PeopleQuality) -> Iterator[list[Cell]]:
    """For `pair_columns`."""
    for one in found.pairs:
        yield [one.first, one.second, one.shared, one.agreeing, one.kappa.text]


def _known(session: Session) -> _Known:
    users = session.exec(select(User)).all()
    return _Known(
        names={user.name: user.display_name for user in users},
        kinds={user.name: Profile.of(user.profile).kind or NO_KIND for user in users},
    )


def _by_kind(rows: Iterable[_Row], name: str, known: _Known, t: Words) -> list[tuple[str, list[_Row]]]:
    """Everybody, then the rows of each kind, where there is more than one kind."""
    everybody = list(rows)
    by_kind: dict[str, list[_Row]] = defaultdict(list)
    for row in everybody:
        by_kind[known.kind(getattr(row, name))].append(row)
    found = [(t("Everybody"), everybody)] if everybody else []
    if len(by_kind) > 1:
        found += [(label, by_kind[code]) for code, label in kinds(t).items() if by_kind[code]]
    return found


def _author_totals(report: QcReport, known: _Known, t: Words) -> list[AuthorLine]:
    found = []
    for name, theirs in _by_kind(report.authors, "author", known, t):
        authors = {one.author for one in theirs}
        total = author_statistics(name, [item for item in report.items if item.author in authors])
        found.append(_author(total, known, t, count=len(theirs)))
    return found


def _author(one: AuthorStatistics, known: _Known, t: Words, count: int = 0) -> AuthorLine:
    reasons = list(one.reasons.items())[:_REASONS_SHOWN]
    return AuthorLine(
        name=one.author if count else known.name(one.author),
        kind=_people(count, t) if count else kind_words(t, known.kind(one.author)),
        items=one.items,
        accepted=one.accepted,
        returned=one.returned,
        rejected=one.rejected,
        times_returned=one.times_returned,
        reasons=t("; ").join(f"{labels.reason(t, code)} ({t.number(number)})" for code, number in reasons),
        keys=one.key_positions.text(t.language) if one.key_positions else "",
        is_total=bool(count),
    )


def _reviewer_totals(rows: Sequence[ReviewerStatistics], known: _Known, t: Words) -> list[ReviewerLine]:
    found = []
    for name, theirs in _by_kind(rows, "reviewer", known, t):
        decisions: Counter[str] = Counter()
        for one in theirs:
            decisions.update(one.decisions)
        total = reviewer_statistics(name, decisions, {item for one in theirs for item in one.items})
        found.append(_reviewer(total, known, t, count=len(theirs)))
    return found


def _reviewer(
    one: ReviewerStatistics, known: _Known, t: Words, gold: GoldScore | None = None, count: int = 0
) -> ReviewerLine:
    return ReviewerLine(
        name=one.reviewer if count else known.name(one.reviewer),
        kind=_people(count, t) if count else kind_words(t, known.kind(one.reviewer)),
        verdicts=one.verdicts,
        items=len(one.items),
        decisions=list(one.decisions.values()),
        pass_share=share(one.pass_share, t),
        gold=f"{gold.right}/{gold.given}" if gold else "",
        gold_interval=interval(gold.low, gold.high, t) if gold else "",
        is_total=bool(count),
    )


def _people(count: int, t: Words) -> str:
    return t.plural("{count} person", "{count} people", count)


def _reliability(name: str, found: Reliability, t: Words) -> ReliabilityLine:
    ends = found.interval
    told = figure(ends.low, t)
    if ends.low.value is not None:
        gaps = t("undefined in {count} of {all} resamples", count=ends.undefined, all=t.number(ends.resamples))
        told = Figure(f"{ends.low.text} – {ends.high.text}", gaps if ends.undefined else "")
    percent = found.percent
    return ReliabilityLine(
        name=name,
        items=found.items,
        revisions=found.revisions,
        verdicts=found.verdicts,
        percent=figure(percent, t) if percent.value is None else Figure(t.percent(percent.value)),
        alpha=figure(found.alpha, t),
        interval=told,
    )


def _pairs(pairs: Sequence[Pair], known: _Known, t: Words) -> list[PairLine]:
    shared = sorted(
        (one for one in pairs if one.shared), key=lambda one: math.inf if one.kappa.value is None else one.kappa.value
    )
    return [
        PairLine(known.name(one.first), known.name(one.second), one.shared, one.agreeing, figure(one.kappa, t))
        for one in shared
    ]


def _drifts(drift: Sequence[Drift], known: _Known, t: Words) -> list[DriftLine]:
    told = [
        DriftLine(
            name=known.name(one.reviewer),
            measure=_measure(one, t),
            recent=f"{one.recent_yes}/{one.recent}",
            before=f"{one.before_yes}/{one.before}",
            p=f"{one.p_holm:.3g}",
            has_drifted=one.has_drifted,
        )
        for one in drift
        if one.p_holm is not None
    ]
    return sorted(told, key=lambda line: not line.has_drifted)


def _measure(one: Drift, t: Words) -> str:
    return qc_words(t.language)[f"drift_{one.measure}"]
