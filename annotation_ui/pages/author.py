"""Author: one's drafts and what came back for revision; with a draft in the address, the place where it is written."""

from collections.abc import Callable

import streamlit as st
from sqlmodel import Session

from annotation_ui.drafting.drafts import UnknownDraft, new_question, open_draft, reopen_draft
from annotation_ui.page import Page
from annotation_ui.pages import writing
from annotation_ui.views.author import Desk, DraftRow, Returned, desk, ended
from warehouse.tables import ItemState


def draw(page: Page) -> None:
    """Draw the draft that the address names, what became of it, or the desk."""
    t = page.t
    if draft_id := st.query_params.get("draft"):
        _draft(page, draft_id)
        return
    page.title(t("Write questions"), t("Questions that only somebody who sees, hears and reads can answer."))
    if st.button(t("New question"), type="primary", icon=":material/add:", key="new-question"):
        begin_question(page)
    with page.studio.workspace.database.reading() as session:
        found = desk(session, page.who, page.studio.clock(), t)
    _desk(page, found)


def _draft(page: Page, draft_id: str) -> None:
    t = page.t
    try:
        with page.studio.workspace.database.reading() as session:
            end = ended(session, page.who, draft_id, page.studio.clock(), t)
    except UnknownDraft as error:
        page.go("author", t("All my drafts"), back=True)
        page.title(t("Write questions"))
        page.problem(error)
        return
    if end is None:
        writing.draw(page, draft_id)
    elif end.item_name:
        _handed_in(page, end.item_name)
    else:
        _thrown_away(page, draft_id, end.title)


def begin_revision(page: Page, item_name: str) -> None:
    """Open the draft that revises an item, an open one of the same author if there is one."""
    _go_on(page, lambda session: open_draft(session, page.who, item_name, page.studio.clock).id)


def begin_question(page: Page, task_type: str = "", language: str = "") -> None:
    """Open the draft of a new question, of a task type and in a language where they are given."""
    language = language or page.t.language
    _go_on(page, lambda session: new_question(session, page.who, language, page.studio.clock, task_type).id)


def _go_on(page: Page, opening: Callable[[Session], str]) -> None:
    if (draft_id := page.stored(opening)) is not None:
        page.open("author", draft=draft_id)


def _desk(page: Page, found: Desk) -> None:
    t = page.t
    if found.returned:
        page.section(t("Waiting for a new revision"), t("Items of yours that came back, or were never handed in."))
        for item in found.returned:
            _returned(page, item)
    if found.drafts:
        page.section(t("My drafts"))
        for row in found.drafts:
            with st.container(key=f"row-{row.id}"):
                page.draw("draft_row.html", row=row)
                if st.button(t("Open"), key=f"open-{row.id}"):
                    page.open("author", draft=row.id)
    elif not found.returned:
        _teach(page)
    if st.button(t("All my items"), type="tertiary", icon=":material/quiz:", key="my-items"):
        page.open("items", mine="yes")
    if found.discarded:
        with st.expander(t("Thrown away")):
            for row in found.discarded:
                _discarded(page, row)


def _teach(page: Page) -> None:
    t = page.t
    page.empty(
        t("You have no drafts yet"),
        t("“New question” opens one. It saves itself while you write, and says what is still missing."),
        [
            (t("Choose a task type, and materials that belong together: a picture and a sound, say."), ""),
            (t("Ask for something that neither of them tells alone, and mark the right answer."), ""),
            (t("Hand it in: checks, models and two reviewers look at it before it is accepted."), ""),
            (t("Questions in a file come in at once:"), "interplay item import items.yaml --author NAME"),
        ],
    )


def _returned(page: Page, item: Returned) -> None:
    with st.container(key=f"returned-{item.name}"):
        page.draw("returned.html", item=item, with_name=True)
        label = page.t("Revise") if item.state == ItemState.RETURNED else page.t("Go on writing")
        if st.button(label, key=f"revise-{item.name}"):
            begin_revision(page, item.name)


def _discarded(page: Page, row: DraftRow) -> None:
    page.draw("draft_row.html", row=row)
    _bring_back(page, row.id)


def _bring_back(page: Page, draft_id: str) -> None:
    if st.button(page.t("Bring back"), key=f"reopen-{draft_id}"):
        _go_on(page, lambda session: reopen_draft(session, page.who, draft_id, page.studio.clock).id)


def _thrown_away(page: Page, draft_id: str, title: str) -> None:
    t = page.t
    page.go("author", t("All my drafts"), back=True)
    page.title(t("Thrown away"), title)
    page.notice(t("It stays among “Thrown away” on your list, and can be brought back at any time."))
    _bring_back(page, draft_id)


def _handed_in(page: Page, name: str) -> None:
    t = page.t
    page.go("author", t("All my drafts"), back=True)
    page.title(t("Handed in"))
    page.draw(
        "handed_in.html",
        name=name,
        steps=[
            t("Round 1: automatic checks, and models that must not find the answer without every modality."),
            t("Round 2: the ablation study and blind answers show that each modality is needed."),
            t("Round 3: two reviewers answer and judge it. If it comes back, you find it under “Write questions”."),
        ],
    )
    with st.container(horizontal=True, key="after-handing-in"):
        if st.button(t("Write another"), type="primary", key="write-another"):
            begin_question(page)
        if st.button(t("See the item"), key="see-item"):
            page.open("item", name=name)
