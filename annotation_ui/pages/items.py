"""Items: the list, and one item with its question, key, revisions, verdicts and preview."""

import streamlit as st

from annotation_ui import labels
from annotation_ui.page import Page
from annotation_ui.views.item import ItemDetail, item_detail
from annotation_ui.views.items import ItemQuery, ItemRow, item_choices, items_page
from annotation_ui.views.preview import condition_for, preview
from annotation_ui.views.results import condition_label
from core.condition import SENSES
from core.errors import UnknownName
from warehouse.tables import ItemState


def draw(page: Page) -> None:
    """Draw the list, or the item that the address names."""
    chosen = st.query_params.get("item")
    if chosen:
        _one(page, chosen)
    else:
        _list(page)


def _list(page: Page) -> None:
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
                (t("Write questions in a file and import it:"), "interplay item import items.yaml --author NAME"),
                (t("Or look at a finished sample project:"), "interplay demo"),
            ],
        )
        return
    page.draw("count.html", text=t.plural("{count} item", "{count} items", found.total))
    if not found.rows:
        page.notice(t("No item fits this choice. Take a filter away."))
        return
    for row in found.rows:
        _row(page, row)
    if found.page_count > 1:
        st.pagination(found.page_count, key="item-page", bind="query-params")


def _query(page: Page) -> ItemQuery:
    t = page.t
    with page.studio.workspace.database.reading() as session:
        offered = item_choices(session)
    counts = dict(offered.states)
    if not counts:
        return ItemQuery()
    words, state, task_type, language = st.columns([3, 2, 3, 2], vertical_alignment="bottom")
    text = words.text_input(
        t("Search"),
        key="item-search",
        bind="query-params",
        placeholder=t("Name or question"),
        max_chars=200,
        on_change=_first_page,
    )
    chosen_state = state.selectbox(
        t("State"), list(counts), index=None, placeholder=t("All"), key="item-state", bind="query-params",
        on_change=_first_page,
        format_func=lambda name: f"{t(labels.ITEM_STATES[ItemState(name)])} ({t.number(counts[name])})",
    )  # fmt: skip
    chosen_type = task_type.selectbox(
        t("Task type"), offered.task_types, index=None, placeholder=t("All"), key="task", bind="query-params",
        on_change=_first_page, format_func=lambda name: labels.task_type(t, name),
    )  # fmt: skip
    chosen_language = language.selectbox(
        t("Language"), offered.languages, index=None, placeholder=t("All"), key="asked", bind="query-params",
        on_change=_first_page, format_func=lambda code: labels.question_language(t, code),
    )  # fmt: skip
    only_mine = st.toggle(t("Only mine"), key="mine", bind="query-params", on_change=_first_page)
    return ItemQuery(
        state=chosen_state,
        task_type=chosen_type,
        language=chosen_language,
        text=text or "",
        mine=only_mine,
        page=int(st.session_state.get("item-page") or st.query_params.get("item-page") or 1),
    )


def _first_page() -> None:
    st.session_state.pop("item-page", None)


def _row(page: Page, row: ItemRow) -> None:
    with st.container(key=f"row-{row.name}"):
        page.draw("item_row.html", row=row)
        if st.button(page.t("Open"), key=f"open-{row.name}"):
            st.query_params["item"] = row.name
            st.rerun()


def _one(page: Page, name: str) -> None:
    t = page.t
    if st.button(t("All items"), icon=":material/arrow_back:", type="tertiary"):
        del st.query_params["item"]
        st.rerun()
    number = st.query_params.get("revision", "")
    workspace = page.studio.workspace
    try:
        with workspace.database.reading() as session:
            detail = item_detail(
                session, page.who, name, page.links, workspace.blobs, page.studio.clock(), t,
                int(number) if number.isdecimal() else None,
            )  # fmt: skip
    except UnknownName:
        page.notice(t("There is no item of this name."), "warn")
        return
    page.draw("item_head.html", detail=detail)
    question, shown, history = st.tabs(
        [t("Question"), t("As a model sees it"), t("Review and history")], key="tab", on_change="rerun"
    )
    if question.open:
        with question:
            _question(page, detail)
    if shown.open:
        with shown:
            _preview(page, detail)
    if history.open:
        with history:
            _history(page, detail)


def _question(page: Page, detail: ItemDetail) -> None:
    t = page.t
    marked = False
    if detail.key_visible:
        marked = st.toggle(t("Show the answer key"), key=f"key-{detail.name}")
    else:
        page.notice(t("The key and the verdicts show once you have judged this item, or when its review is over."))
    page.draw(
        "question.html", prompt=detail.prompt, options=detail.options, steps=detail.steps, marked=marked,
        accepted=detail.accepted, grader=detail.grader,
    )  # fmt: skip
    if marked and detail.notes:
        page.section(t("The author's notes"))
        page.draw("pairs.html", pairs=detail.notes)


def _preview(page: Page, detail: ItemDetail) -> None:
    t = page.t
    st.text(t("Switch a modality off to see what a model is shown without it."))
    with st.container(horizontal=True, gap="medium"):
        given = {
            sense: st.toggle(t(labels.MODALITIES[sense]), value=True, key=f"give-{sense.value}-{detail.name}")
            for sense in SENSES
            if sense in detail.question.modalities
        }
        options_only = bool(detail.options) and st.toggle(t("Options only"), key=f"options-only-{detail.name}")
    condition = condition_for(
        detail.question, [sense for sense, is_given in given.items() if not is_given], options_only
    )
    shown = preview(detail.question, condition, page.links, page.who.user_id, page.studio.workspace.blobs, t)
    page.draw("count.html", text=t("Condition: {name}", name=condition_label(t, shown.condition)))
    page.draw(
        "question.html", prompt=shown.prompt, options=shown.options, steps=shown.steps, marked=False, accepted=(),
        grader="",
    )  # fmt: skip


def _history(page: Page, detail: ItemDetail) -> None:
    t = page.t
    page.section(t("Verdicts on this revision"))
    if not detail.key_visible:
        page.notice(t("The key and the verdicts show once you have judged this item, or when its review is over."))
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
