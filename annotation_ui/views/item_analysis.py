"""Item analysis in words: how hard items of a release are, whether they tell models apart, which choices are idle."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from annotation_ui import labels
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.views.formats import searched
from annotation_ui.views.item import sees_key
from annotation_ui.views.paging import paging
from annotation_ui.views.quality import KeyPlaces, key_places
from annotation_ui.views.quality_words import Figure, figure, share
from annotation_ui.words import N_, Words
from core.question import QuestionKind
from qc.item_analysis import ItemAnalysis, ItemStatistics
from warehouse.database import Database
from warehouse.spreadsheets import Cell
from warehouse.tables import Item, ItemRevision, Release, ReleaseItem

PAGE_SIZE = 25
FLAGS = {
    "negative_discrimination": N_("Weaker models do better"),
    "non_functional_distractors": N_("A wrong choice that hardly anybody takes"),
    "everybody_right": N_("Everybody right"),
    "nobody_right": N_("Nobody right"),
}
_TRAITS = {
    "longest": N_("The longest choice"),
    "shortest": N_("The shortest choice"),
    "overlap": N_("The choice that shares most words with the question"),
}


@dataclass(frozen=True)
class StatisticsLine:
    """One item of a release over models; `options` are label, share, whether it is the key, whether it is idle."""

    item: str
    kind: str
    models: int
    difficulty: Figure
    item_rest: Figure
    discrimination: Figure
    options: Sequence[tuple[str, str, bool, bool]]
    flags: Sequence[str]

    @property
    def undefined(self) -> tuple[str, ...]:
        """Why some of its numbers are not defined."""
        return tuple(one.why for one in (self.difficulty, self.item_rest, self.discrimination) if one.why)


@dataclass(frozen=True)
class TraitLine:
    """How often the right choice stands out by something, and how often by chance."""

    name: str
    observed: str
    questions: int
    expected: str
    p: Figure


@dataclass(frozen=True)
class AnalysisQuery:
    """What to list; `flag` is one of `FLAGS`, or None for any."""

    text: str = ""
    flag: str | None = None
    page: int = 1


@dataclass(frozen=True)
class AnalysisPage:
    """One page of items, those with flags first. `hidden` counts those of which the person must not know anything."""

    rows: Sequence[StatisticsLine]
    total: int
    page_count: int
    hidden: int


def releases(session: Session, who: Principal) -> list[Release]:
    """What can be analysed, the newest first.

    Raises:
        NotAllowed: The person may not see results.
    """
    require(who, Permission.SEE_RESULTS)
    return list(session.exec(select(Release).order_by(col(Release.created_at).desc())))


def release_of(session: Session, name: str, number: int) -> Release | None:
    """The newest release that holds a revision of an item."""
    query = (
        select(Release)
        .join(ReleaseItem, col(ReleaseItem.release_id) == col(Release.id))
        .join(ItemRevision, col(ItemRevision.id) == col(ReleaseItem.revision_id))
        .join(Item, col(Item.id) == col(ItemRevision.item_id))
        .where(Item.name == name, ItemRevision.number == number)
    )
    return session.exec(query.order_by(col(Release.created_at).desc())).first()


def flag_choices(session: Session, analysis: ItemAnalysis, who: Principal, now: datetime, t: Words) -> dict[str, str]:
    """Remarks that occur, with counts of what the person may see.

    Raises:
        NotAllowed: The person may not see results.
    """
    counts = Counter(flag for one in _seen(session, analysis, who, now) for flag in one.flags)
    return {code: f"{t(label)} ({t.number(counts[code])})" for code, label in FLAGS.items() if counts[code]}


def analysis_page(
    session: Session, analysis: ItemAnalysis, who: Principal, query: AnalysisQuery, now: datetime, t: Words
) -> AnalysisPage:
    """The asked page of an analysis.

    Raises:
        NotAllowed: The person may not see results.
    """
    seen = _seen(session, analysis, who, now)
    fitting = [one for one in seen if _fits(one, query)]
    at = paging(len(fitting), PAGE_SIZE, query.page)
    return AnalysisPage(
        rows=[statistics_line(one, t) for one in fitting[at.rows]],
        total=len(fitting),
        page_count=at.page_count,
        hidden=len(analysis.items) - len(seen),
    )


def analysis_columns(t: Words) -> list[str]:
    """The head of the table that people save."""
    return [
        t("Item"), t("Kind"), t("Models"), t("Difficulty"), t("Item-rest correlation"), t("Discrimination"),
        t("Choices"), t("Remarks"),
    ]  # fmt: skip


def analysis_rows(
    database: Database, analysis: ItemAnalysis, who: Principal, query: AnalysisQuery, now: datetime, t: Words
) -> Iterator[list[Cell]]:
    """All items that fit, for `analysis_columns`; numbers as numbers, nothing where one is undefined.

    Raises:
        NotAllowed: The person may not see results.
    """
    with database.reading() as session:
        seen = _seen(session, analysis, who, now)
    for one in seen:
        if _fits(one, query):
            line = statistics_line(one, t)
            options = [f"{label}{'*' if is_key else ''} {told}" for label, told, is_key, _ in line.options]
            yield [
                line.item, line.kind, line.models, one.difficulty.value, one.item_rest.value, one.discrimination.value,
                " ".join(options), t("; ").join(line.flags),
            ]  # fmt: skip


def statistics_line(one: ItemStatistics, t: Words) -> StatisticsLine:
    """One item in words."""
    return StatisticsLine(
        item=one.item,
        kind=t(labels.KINDS[QuestionKind(one.kind)]),
        models=one.models,
        difficulty=figure(one.difficulty, t),
        item_rest=figure(one.item_rest, t),
        discrimination=figure(one.discrimination, t),
        options=[
            (option.label, "–" if option.share is None else share(option.share, t), option.is_key,
             option.is_functional is False)
            for option in one.options
        ],
        flags=[t(FLAGS[flag]) for flag in one.flags],
    )  # fmt: skip


def of_item(analysis: ItemAnalysis, name: str, t: Words) -> StatisticsLine | None:
    """One item of an analysis; whether the person may see it, the caller has asked."""
    return next((statistics_line(one, t) for one in analysis.items if one.item == name), None)


def key_lines(analysis: ItemAnalysis, t: Words) -> tuple[KeyPlaces, list[TraitLine]]:
    """What gives keys away in a release: their places, and what the right choice stands out by."""
    traits = [
        TraitLine(
            name=t(_TRAITS[one.trait]),
            observed=f"{one.observed:.1f}",
            questions=one.questions,
            expected=f"{one.expected:.1f}",
            p=figure(one.p, t),
        )
        for one in analysis.keys.traits
    ]
    return key_places(analysis.keys.position, t), traits


def _seen(session: Session, analysis: ItemAnalysis, who: Principal, now: datetime) -> list[ItemStatistics]:
    require(who, Permission.SEE_RESULTS)
    free = set(session.exec(select(Item.name).where(sees_key(session, who, now))))
    return sorted((one for one in analysis.items if one.item in free), key=lambda one: (not one.flags, one.item))


def _fits(one: ItemStatistics, query: AnalysisQuery) -> bool:
    text = searched(query.text).casefold()
    return (not text or text in one.item.casefold()) and (query.flag is None or query.flag in one.flags)
