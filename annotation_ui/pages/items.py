"""The list of items."""

from functools import partial

import streamlit as st

from annotation_ui import labels
from annotation_ui.page import Page
from annotation_ui.permissions import Permission
from annotation_ui.views.items import ItemQuery, ItemRow, item_choices, item_columns, item_rows, items_page


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(t("Items"), t("Questions on their way from the first draft to a release."))
    query = _query(page)
    with page.studio.workspace.database.reading() as session:
        found = items_page(session, page.who, query, page.studio.clock(), t)
    if not found.project_size:
        page.empty(
            t("There are no items yet"),
            t("An item is a question with its media, its key and its history. It needs every modality that it names."),
            [
                (
                    t("Write on the page “Write questions”, or bring in a file:"),
                    "interplay item import items.yaml --author NAME",
                ),
                (t("Or look at a finished sample project:"), "interplay demo"),
            ],
        )
        if page.who.may(Permission.AUTHOR):
            page.go("author", t("Write questions"))
        return
    with st.container(horizontal=True, vertical_alignment="center", key="items-count"):
        page.draw("count.html", text=t.plural("{count} item", "{count} items", found.total))
        page.go("quality", t("Why items stop: quality control"))
    if not found.rows:
        page.notice(t("No item fits this choice. Take a filter away."))
        return
    for row in found.rows:
        _row(page, row)
    page.pages(found.page_count)
    page.downloads(t("items"), item_columns(t), partial(item_rows, page.studio.workspace.database, page.who, query, t))


def _query(page: Page) -> ItemQuery:
    t = page.t
    with page.studio.workspace.database.reading() as session:
        offered = item_choices(session, page.who)
    if not offered.states:
        return ItemQuery()
    words, state, task_type, language = st.columns([3, 2, 3, 2], vertical_alignment="bottom")
    states = {str(code): f"{t(labels.SHOWN_STATES[code])} ({t.number(count)})" for code, count in offered.states}
    task_types = {name: labels.task_type(t, name) for name in offered.task_types}
    languages = {code: labels.question_language(t, code) for code in offered.languages}
    text = page.search(words, t("Search"), "item-search", t("Name or question"))
    return ItemQuery(
        state=page.choose(state, t("State"), states, "item-state"),
        task_type=page.choose(task_type, t("Task type"), task_types, "task-type"),
        language=page.choose(language, t("Language"), languages, "question-language"),
        text=text,
        mine=page.switch(st, t("Only mine"), "mine"),
        page=page.page_number,
    )


def _row(page: Page, row: ItemRow) -> None:
    with st.container(key=f"row-{row.name}"):
        page.draw("item_row.html", row=row)
        if st.button(page.t("Open"), key=f"open-{row.name}"):
            page.open("item", name=row.name)
