"""Items by what quality control says of them: narrowed by state, decision, reason, suspect key, author, task type."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, select

from annotation_ui import labels
from annotation_ui.people import display_names
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.views.formats import searched
from annotation_ui.views.item import sees_key
from annotation_ui.views.items import snippet
from annotation_ui.views.paging import paging
from annotation_ui.views.quality import OUTCOMES, outcome_words
from annotation_ui.views.quality_words import qc_words
from annotation_ui.words import Words
from qc.report.document import ItemStory, QcReport
from warehouse.database import Database
from warehouse.spreadsheets import Cell
from warehouse.tables import Item, ItemState

PAGE_SIZE = 20
SUSPECT_KEY = "suspect_key"
BY_PERSON = ("settled", "overruled")


@dataclass(frozen=True)
class QualityQuery:
    """What to list; None and empty mean "any".

    `decision` is an outcome of a round as "1:returned", or one of `BY_PERSON`; `author` is a name of the report.
    """

    text: str = ""
    state: str | None = None
    decision: str | None = None
    reason: str | None = None
    task_type: str | None = None
    author: str | None = None
    suspect: bool = False
    mine: bool = False
    page: int = 1


@dataclass(frozen=True)
class QualityRow:
    """One item in the list: where each round left it, and why it stopped or waits."""

    name: str
    state: ItemState
    state_label: str
    snippet: str
    meta: str
    author: str
    rounds: Sequence[tuple[int, str, str]]
    reasons: Sequence[str]


@dataclass(frozen=True)
class QualityList:
    """One page of the list. `hidden` counts items that the person must not know anything about yet."""

    rows: Sequence[QualityRow]
    total: int
    page_count: int
    hidden: int


@dataclass(frozen=True)
class QualityChoices:
    """What the list can be narrowed to, in words, with counts of what the person may see."""

    states: dict[str, str]
    decisions: dict[str, str]
    reasons: dict[str, str]
    task_types: dict[str, str]
    authors: dict[str, str]
    suspects: int


def seen_items(session: Session, report: QcReport, who: Principal, now: datetime) -> list[ItemStory]:
    """The items of a report whose answers the person may see, those first that stopped or wait for a person.

    Who may still have to judge an item learns nothing of it: not even for which reason it waits.

    Raises:
        NotAllowed: The person may not see results.
    """
    require(who, Permission.SEE_RESULTS)
    free = set(session.exec(select(Item.name).where(sees_key(session, who, now))))
    return sorted(
        (item for item in report.items if item.name in free), key=lambda item: (not item.reason_codes, item.name)
    )


def quality_choices(session: Session, items: Sequence[ItemStory], who: Principal, t: Words) -> QualityChoices:
    """What occurs among these items; only maintainers choose among authors."""
    states = Counter(item.state for item in items)
    reasons = Counter(code for item in items for code in item.reason_codes)
    decisions = Counter(code for item in items for code in _decisions(item))
    authors = Counter(item.author for item in items) if who.may(Permission.MANAGE_PEOPLE) else Counter()
    names = display_names(session, authors)
    reason_labels = {code: labels.reason(t, code) for code in reasons}
    return QualityChoices(
        states=_counted({state.value: t(labels.ITEM_STATES[state]) for state in ItemState}, states, t),
        decisions=_counted(_decision_labels(t), decisions, t),
        reasons=_counted({code: reason_labels[code] for code, _ in reasons.most_common()}, reasons, t),
        task_types={name: labels.task_type(t, name) for name in sorted({item.task_type for item in items})},
        authors={name: names[name] for name in sorted(authors, key=lambda name: names[name].casefold())},
        suspects=sum(is_suspect(item) for item in items),
    )


def quality_list(
    session: Session, items: Sequence[ItemStory], report: QcReport, who: Principal, query: QualityQuery, t: Words
) -> QualityList:
    """The asked page of these items; a page beyond the last is the last."""
    fitting = [item for item in items if _fits(item, who, query)]
    at = paging(len(fitting), PAGE_SIZE, query.page)
    shown = fitting[at.rows]
    names = display_names(session, {item.author for item in shown})
    return QualityList(
        rows=[_row(item, names[item.author], t) for item in shown],
        total=len(fitting),
        page_count=at.page_count,
        hidden=len(report.items) - len(items),
    )


def quality_columns(t: Words) -> list[str]:
    """The head of the table of items that people save."""
    words = qc_words(t.language)
    rounds = [words[f"round_{number}"] for number in (1, 2, 3)]
    return [
        words["item"], words["state"], words["task_type"], t("Language"), words["author"], words["revision"], *rounds,
        words["reason"], words["because"],
    ]  # fmt: skip


def quality_rows(
    database: Database, report: QcReport, who: Principal, query: QualityQuery, now: datetime, t: Words
) -> Iterator[list[Cell]]:
    """All items that fit, for `quality_columns`.

    Raises:
        NotAllowed: The person may not see results.
    """
    with database.reading() as session:
        items = seen_items(session, report, who, now)
        names = display_names(session, {item.author for item in items})
    for item in items:
        if not _fits(item, who, query):
            continue
        rounds = {story.round: outcome_words(story.outcome, t) for story in item.rounds}
        yield [
            item.name,
            t(labels.ITEM_STATES[ItemState(item.state)]),
            labels.task_type(t, item.task_type),
            labels.question_language(t, item.language),
            names[item.author],
            item.revision,
            *(rounds.get(number, "") for number in (1, 2, 3)),
            t("; ").join(labels.reason(t, code) for code in item.reason_codes),
            t("; ").join(why.text(t.language) for why in item.why),
        ]


def is_suspect(item: ItemStory) -> bool:
    """Whether the panel agreed on another choice than the key of the current revision."""
    return any(SUSPECT_KEY in verdict.codes for story in item.rounds for verdict in story.verdicts)


def _decisions(item: ItemStory) -> list[str]:
    found = [f"{story.round}:{story.outcome}" for story in item.rounds]
    settled = any(story.settled_by_person for story in item.rounds)
    overruled = any(story.overruled for story in item.rounds)
    return [*found, *(name for name, holds in zip(BY_PERSON, (settled, overruled), strict=True) if holds)]


def _decision_labels(t: Words) -> dict[str, str]:
    words = qc_words(t.language)
    found = {
        f"{number}:{outcome}": t("Round {number}: {outcome}", number=number, outcome=outcome_words(outcome, t))
        for number in (1, 2, 3)
        for outcome in OUTCOMES
    }
    return {**found, "settled": words["settled_by_person"], "overruled": words["overruled"]}


def _counted(names: dict[str, str], counts: Counter[str], t: Words) -> dict[str, str]:
    return {code: f"{label} ({t.number(counts[code])})" for code, label in names.items() if counts[code]}


def _fits(item: ItemStory, who: Principal, query: QualityQuery) -> bool:
    text = searched(query.text).casefold()
    return (
        (not text or text in item.name.casefold() or text in item.prompt.casefold())
        and query.state in (None, item.state)
        and query.task_type in (None, item.task_type)
        and query.author in (None, item.author)
        and (query.reason is None or query.reason in item.reason_codes)
        and (query.decision is None or query.decision in _decisions(item))
        and (not query.suspect or is_suspect(item))
        and (not query.mine or who.is_author(item.author))
    )


def _row(item: ItemStory, author: str, t: Words) -> QualityRow:
    return QualityRow(
        name=item.name,
        state=ItemState(item.state),
        state_label=t(labels.ITEM_STATES[ItemState(item.state)]),
        snippet=snippet(item.prompt),
        meta=f"{labels.task_type(t, item.task_type)} · {labels.question_language(t, item.language)}",
        author=author,
        rounds=[(story.round, story.outcome, outcome_words(story.outcome, t)) for story in item.rounds],
        reasons=[labels.reason(t, code) for code in item.reason_codes],
    )
