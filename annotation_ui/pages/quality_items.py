"""Items by what quality control says of them."""

from functools import partial

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.permissions import Permission
from annotation_ui.quality import Counted
from annotation_ui.views import quality_items as view


def draw_items(page: Page, counted: Counted) -> None:
    """Draw it."""
    t, report, now = page.t, counted.report, page.studio.clock()
    database = page.studio.workspace.database
    with database.reading() as session:
        items = view.seen_items(session, report, page.who, now)
        offered = view.quality_choices(session, items, page.who, t)
    query = _query(page, offered)
    with database.reading() as session:
        found = view.quality_list(session, items, report, page.who, query, t)
    page.draw("count.html", text=t.plural("{count} item", "{count} items", found.total))
    if items and not found.rows:
        page.notice(t("No item fits this choice. Take a filter away."))
    for row in found.rows:
        with st.container(key=f"row-{row.name}"):
            page.draw("quality_row.html", row=row)
            if st.button(t("Open"), key=f"open-{row.name}"):
                page.open("item", name=row.name, tab="quality")
    page.pages(found.page_count)
    tell_hidden(page, found.hidden)
    page.downloads(
        t("quality"), view.quality_columns(t), partial(view.quality_rows, database, report, page.who, query, now, t)
    )


def tell_hidden(page: Page, count: int) -> None:
    """Say how many items a list leaves out; the count is of all, whatever the list is narrowed to."""
    if count:
        told = page.t.plural(
            "{count} item is not listed, because you may still be asked to judge it blind.",
            "{count} items are not listed, because you may still be asked to judge them blind.",
            count,
        )
        page.draw("count.html", text=told)


def _query(page: Page, offered: view.QualityChoices) -> view.QualityQuery:
    t = page.t
    words, state, decision = st.columns([3, 2, 3], vertical_alignment="bottom")
    text = page.search(words, t("Search"), "quality-search", t("Name or question"))
    chosen_state = page.choose(state, t("State"), offered.states, "item-state")
    chosen_decision = page.choose(decision, t("Decision"), offered.decisions, "decision")
    places = st.columns([3, 2, 3], vertical_alignment="bottom")
    reason = page.choose(places[0], t("Reason"), offered.reasons, "reason")
    task_type = page.choose(places[1], t("Task type"), offered.task_types, "task-type")
    author = page.choose(places[2], t("Author"), offered.authors, "author") if offered.authors else None
    with st.container(horizontal=True, gap="medium", key="quality-switches"):
        suspect = page.switch(st, t("Suspect keys ({count})", count=t.number(offered.suspects)), "suspect")
        mine = page.who.may(Permission.AUTHOR) and page.switch(st, t("Only mine"), "mine")
    return view.QualityQuery(
        text=text,
        state=chosen_state,
        decision=chosen_decision,
        reason=reason,
        task_type=task_type,
        author=author,
        suspect=suspect,
        mine=mine,
        page=page.page_number,
    )
