"""Lists of takes: one's own with what became of them, and those that wait for a decision."""

from collections.abc import Sequence

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.permissions import Permission
from annotation_ui.views.takes import STATES, TakeRow, TakesPage, TakeState, my_takes, waiting_takes

_MINE, _QUEUE = "mine", "waiting"


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(t("Takes"), t("What was recorded, and what became of it."))
    lists = {}
    if page.who.may(Permission.REVIEW):
        lists[_QUEUE] = t("To decide")
    if page.who.may(Permission.RECORD):
        lists[_MINE] = t("My takes")
    first = next(iter(lists))
    chosen = first
    if len(lists) > 1:
        chosen = page.choose(st.columns([2, 5])[0], t("List"), lists, "list", first) or first
    if chosen == _QUEUE:
        _queue(page)
    else:
        _mine(page)


def _queue(page: Page) -> None:
    t = page.t
    with page.studio.workspace.database.reading() as session:
        found = waiting_takes(session, page.who, page.page_number, page.studio.clock(), t)
    if not found.total:
        page.empty(
            t("No take waits for a decision"),
            t("Takes come here when their speakers hand them in. You listen, see the checks, and accept or refuse."),
            [
                (t("Say what is to be read:"), "interplay script import scripts.csv"),
                (t("Or take in a finished recording:"), "interplay recording add take.wav --script NAME"),
            ],
        )
        return
    page.draw("count.html", text=t.plural("{count} take to decide", "{count} takes to decide", found.total))
    _list(page, found)


def _mine(page: Page) -> None:
    t = page.t
    states = {state.value: t(label) for state, label in STATES.items()}
    state = page.choose(st.columns([2, 5])[0], t("State"), states, "take-state")
    with page.studio.workspace.database.reading() as session:
        wanted = TakeState(state) if state else None
        found = my_takes(session, page.who, wanted, page.page_number, page.studio.clock(), t)
    if not found.total and state is None:
        page.empty(
            t("You have no takes yet"),
            t("Choose a script at the recording desk, read it aloud, and hand it in. It stands here from then on."),
            [(t("Say what is to be read:"), "interplay script import scripts.csv")],
        )
        page.go("record", t("To the recording desk"))
        return
    page.draw("count.html", text=t.plural("{count} take", "{count} takes", found.total))
    if not found.total:
        page.notice(t("No take stands so."))
    _list(page, found)
    page.go("record", t("To the recording desk"))


def _list(page: Page, found: TakesPage) -> None:
    rows: Sequence[TakeRow] = found.rows
    for row in rows:
        with st.container(key=f"row-{row.id}"):
            page.draw("take_row.html", row=row)
            if st.button(page.t("Open"), key=f"open-{row.id}"):
                page.open("take", id=row.id)
    page.pages(found.page_count)
