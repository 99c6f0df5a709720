"""The list of items: states, search, pages."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, func, select

from annotation_ui import labels
from annotation_ui.people import display_names
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.views.formats import searched
from annotation_ui.views.item import shown_state
from annotation_ui.views.paging import paging
from annotation_ui.words import Words
from core.content import TextPart
from evaluation.exam.known_items import shut_items
from warehouse.database import Database
from warehouse.spreadsheets import Cell
from warehouse.tables import Item, ItemRevision

PAGE_SIZE = 20
SNIPPET_LENGTH = 160


@dataclass(frozen=True)
class ItemQuery:
    """What to list; None and empty mean "any". `state` is one of `labels.SHOWN_STATES`."""

    state: str | None = None
    task_type: str | None = None
    language: str | None = None
    text: str = ""
    mine: bool = False
    page: int = 1


@dataclass(frozen=True)
class ItemRow:
    """One item in the list."""

    name: str
    state: str
    state_label: str
    snippet: str
    task_type: str
    language: str
    modalities: str
    author: str
    revision: int
    changed: str


@dataclass(frozen=True)
class ItemsPage:
    """One page of the list; the choices hold what occurs among all items."""

    rows: Sequence[ItemRow]
    total: int
    page: int
    page_count: int
    project_size: int


@dataclass(frozen=True)
class ItemChoices:
    """What the list can be narrowed to."""

    states: Sequence[tuple[str, int]]
    task_types: Sequence[str]
    languages: Sequence[str]


def items_page(session: Session, who: Principal, query: ItemQuery, now: datetime, t: Words) -> ItemsPage:
    """The asked page of what fits, the latest revision first; a page beyond the last is the last.

    Raises:
        NotAllowed: The person may not see items.
    """
    require(who, Permission.SEE_ITEMS)
    conditions = _conditions(session, who, query)
    joined = col(Item.current_revision_id) == col(ItemRevision.id)
    counted = select(func.count()).select_from(Item).join(ItemRevision, joined)
    total = session.exec(counted.where(*conditions)).one()
    project_size = session.exec(select(func.count()).select_from(Item)).one()
    at = paging(total, PAGE_SIZE, query.page)
    found = session.exec(
        select(Item, ItemRevision, shown_state(session, who))
        .join(ItemRevision, joined)
        .where(*conditions)
        .order_by(col(ItemRevision.created_at).desc(), col(Item.name))
        .offset(at.start)
        .limit(PAGE_SIZE)
    ).all()
    names = display_names(session, {revision.author for _, revision, _ in found})
    rows = [_row(item, revision, state, names[revision.author], now, t) for item, revision, state in found]
    return ItemsPage(rows, total, at.page, at.page_count, project_size)


def item_columns(t: Words) -> list[str]:
    """The head of the table of items that people save."""
    return [
        t("Name"), t("State"), t("Question"), t("Task type"), t("Language"), t("Modalities"), t("Author"),
        t("Revision"), t("Twin group"),
    ]  # fmt: skip


def item_rows(database: Database, who: Principal, query: ItemQuery, t: Words) -> Iterator[list[Cell]]:
    """All items that fit, for `item_columns`; without keys, which files spread further than pages do.

    Raises:
        NotAllowed: The person may not see items.
    """
    require(who, Permission.SEE_ITEMS)
    with database.reading() as session:
        found = session.exec(
            select(Item, ItemRevision, shown_state(session, who))
            .join(ItemRevision, col(Item.current_revision_id) == col(ItemRevision.id))
            .where(*_conditions(session, who, query))
            .order_by(col(Item.name))
        ).all()
        names = display_names(session, {revision.author for _, revision, _ in found})
        for item, revision, state in found:
            question = revision.as_question()
            yield [
                item.name,
                t(labels.SHOWN_STATES[state]),
                question.prompt_text,
                labels.task_type(t, question.task_type),
                labels.question_language(t, question.language),
                labels.modality_set(t, question.modalities),
                names[revision.author],
                revision.number,
                item.twin_group,
            ]


def item_choices(session: Session, who: Principal) -> ItemChoices:
    """States as the person may know them, task types and languages that occur."""
    told = select(shown_state(session, who)).subquery().c.shown_state
    states = dict(session.exec(select(told, func.count()).group_by(told)).all())
    question = col(ItemRevision.question)
    current = col(Item.current_revision_id) == col(ItemRevision.id)

    def occurring(field: str) -> list[str]:
        value = question[field].as_string()
        return list(
            session.exec(select(value).select_from(Item).join(ItemRevision, current).distinct().order_by(value))
        )

    return ItemChoices(
        states=[(state, states[state]) for state in labels.SHOWN_STATES if state in states],
        task_types=occurring("task_type"),
        languages=occurring("language"),
    )


def snippet(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= SNIPPET_LENGTH else line[: SNIPPET_LENGTH - 1].rstrip() + "…"


def _conditions(session: Session, who: Principal, query: ItemQuery) -> list[ColumnElement[bool]]:
    question = col(ItemRevision.question)
    # What somebody is to be asked in an exam, they must not read before.
    found: list[ColumnElement[bool]] = [col(Item.id).not_in(shut_items(session, who.user_id))]
    if query.state is not None:
        found.append(shown_state(session, who) == query.state)
    if query.task_type is not None:
        found.append(question["task_type"].as_string() == query.task_type)
    if query.language is not None:
        found.append(question["language"].as_string() == query.language)
    if query.mine:
        found.append(col(ItemRevision.author).in_([who.user_id, who.name]))
    if text := searched(query.text):
        # The prompt is compared as it is stored, and stored JSON writes Chinese as escapes.
        stored = json.dumps(text)[1:-1]
        found.append(
            col(Item.name).icontains(text, autoescape=True)
            | question["prompt"].as_string().icontains(stored, autoescape=True)
        )
    return found


def _row(item: Item, revision: ItemRevision, state: str, author: str, now: datetime, t: Words) -> ItemRow:
    question = revision.as_question()
    written = (part.text if isinstance(part, TextPart) else f"[{part.name}]" for part in question.prompt)
    return ItemRow(
        name=item.name,
        state=state,
        state_label=t(labels.SHOWN_STATES[state]),
        snippet=snippet("".join(written)),
        task_type=labels.task_type(t, question.task_type),
        language=labels.question_language(t, question.language),
        modalities=labels.modality_set(t, question.modalities),
        author=author,
        revision=revision.number,
        changed=t.ago(revision.created_at, now),
    )
