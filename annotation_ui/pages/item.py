"""One item with its question, key, revisions, verdicts, and the preview as a model sees it."""

import streamlit as st

from annotation_ui.drafting.drafts import is_revisable
from annotation_ui.page import Page
from annotation_ui.pages.author import begin_revision
from annotation_ui.pages.item_quality import draw_quality
from annotation_ui.pages.noted import draw_notes
from annotation_ui.pages.preview import draw_preview
from annotation_ui.pages.twin import draw_twin_maker, is_twin_maker_open, open_twin_maker
from annotation_ui.views.item import InYourExam, ItemDetail, UnderYourReview, item_detail
from annotation_ui.views.twins import swappable
from core.errors import UnknownName
from warehouse.items import get_item


def draw(page: Page) -> None:
    """Draw the item that the address names."""
    t = page.t
    if "part" in st.query_params:
        page.go("quality", t("Back to quality control"), back=True)
    else:
        page.go("items", t("All items"), back=True)
    name, number = st.query_params.get("name", ""), st.query_params.get("revision", "")
    workspace = page.studio.workspace
    try:
        with workspace.database.reading() as session:
            detail = item_detail(
                session, page.who, name, page.links, workspace.blobs, page.studio.clock(), t,
                int(number) if number.isdecimal() else None,
            )  # fmt: skip
            item = get_item(session, name)
            revisable = is_revisable(session, page.who, item)
            to_swap = swappable(session, page.who, item, page.links, t)
    except UnknownName:
        page.notice(t("There is no item of this name."), "warn")
        return
    except InYourExam as told:
        page.problem(told)
        page.go("exam", t("To the exam"))
        return
    except UnderYourReview as told:
        page.problem(told)
        page.go("review", t("To the review"))
        return
    page.draw("item_head.html", detail=detail)
    with st.container(horizontal=True, key="item-actions"):
        if revisable and st.button(t("Revise"), key="revise"):
            begin_revision(page, detail.name)
        if to_swap:
            st.button(t("Make a twin"), key="twin", on_click=open_twin_maker, args=(detail.name,))
    if to_swap and is_twin_maker_open(detail.name):
        draw_twin_maker(page, detail.name, to_swap)
        return
    names = [t("Question"), t("As a model sees it"), t("Review and history"), t("Quality control")]
    first = names[-1] if st.query_params.get("tab") == "quality" else None
    question, shown, history, quality = st.tabs(names, default=first, key="tab", on_change="rerun")
    if question.open:
        with question:
            _question(page, detail)
    if shown.open:
        with shown:
            draw_preview(page, detail.question, detail.name)
    if history.open:
        with history:
            _history(page, detail)
    if quality.open:
        with quality:
            draw_quality(page, detail.name, next(one.number for one in detail.revisions if one.is_shown))


def _question(page: Page, detail: ItemDetail) -> None:
    t = page.t
    marked = False
    if detail.key_visible:
        marked = st.toggle(t("Show the answer key"), key=f"key-{detail.name}")
    else:
        page.notice(detail.key_waits)
    page.draw(
        "question.html", prompt=detail.prompt, options=detail.options, steps=detail.steps, marked=marked,
        accepted=detail.accepted, grader=detail.grader,
    )  # fmt: skip
    if marked and (detail.marked or detail.notes):
        page.section(t("The author's notes"))
        draw_notes(page, detail.marked, detail.notes)
    if detail.twins:
        _twins(page, detail)


def _twins(page: Page, detail: ItemDetail) -> None:
    page.section(page.t("Twins"), page.t("Scored together with this item: who is right must be right in all of them."))
    for place, twin in enumerate(detail.twins):
        with st.container(key=f"row-twin-{place}"):
            page.draw("twin_row.html", twin=twin)
            if st.button(page.t("Open"), key=f"open-twin-{place}"):
                page.open("item", name=twin.name)


def _history(page: Page, detail: ItemDetail) -> None:
    t = page.t
    page.section(t("Verdicts on this revision"))
    if not detail.key_visible:
        page.notice(detail.key_waits)
    elif not detail.rounds:
        page.notice(t("Nobody has judged this revision yet."))
    for number, verdicts in sorted(detail.rounds.items()):
        page.section(t("Round {number}", number=number))
        page.draw("verdicts.html", verdicts=verdicts)
    page.section(t("Revisions"))
    page.draw("revisions.html", revisions=detail.revisions)
    if len(detail.revisions) > 1:
        numbers = [revision.number for revision in detail.revisions]
        shown = next(place for place, revision in enumerate(detail.revisions) if revision.is_shown)
        chosen = st.selectbox(t("Show revision"), numbers, index=shown, key=f"revision-{detail.name}")
        if chosen != numbers[shown]:
            st.query_params["revision"] = str(chosen)
            st.rerun()
