"""The library beside something that is being written: found, looked at and listened to, taken with one click."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from annotation_ui import labels
from annotation_ui.finding import MaterialQuery
from annotation_ui.page import Page
from annotation_ui.pages.finding import counted, prepare, tell_unmeant
from annotation_ui.views.author import material_for_editor, recent_cards
from annotation_ui.views.materials import Card, Facets, cards_of, facets, materials_page
from core.content import Modality
from warehouse.tables import Material, MaterialState


def draw_picker(
    page: Page, use: Callable[[dict[str, Any]], None], modality: Modality | None = None, but: str | None = None
) -> None:
    """Draw it. `use` is called with the material, as the editor takes it, before the page is drawn again.

    Only materials of one modality are offered where it is given, and never the one whose id is `but`.
    """
    page, t = replace(page, paging="library-page"), page.t
    workspace = page.studio.workspace
    with st.spinner(t("Looking through the library …")):
        offered = facets(workspace, t)
    if not offered.modalities:
        page.empty(
            t("The library is empty"),
            t("Questions are asked about pictures, sounds and films. Bring some in first."),
            [(t("Bring in a folder of media:"), "interplay material ingest FOLDER")],
        )
        page.go("materials", t("Add materials"))
        return
    prepare(page)
    query, is_recent = _query(page, offered, modality)
    cards: Sequence[Card]
    if is_recent:
        with workspace.database.reading() as session:
            cards, page_count = recent_cards(session, page.who, page.links, t), 1
    else:
        found = materials_page(workspace, page.who, query, page.links, t)
        cards, page_count = found.cards, found.page_count
        if found.unmeant is not None:
            tell_unmeant(page, found.unmeant, is_example=False)
    cards = [card for card in cards if card.id != but and modality in (None, card.modality)]
    if not cards:
        page.notice(t("No material fits this choice. Take a filter away."))
    with st.grid(min_column_width=150, gap="small", key="picker"):
        for card in cards:
            _card(page, card, use)
    page.pages(page_count)


def _query(page: Page, offered: Facets, modality: Modality | None) -> tuple[MaterialQuery, bool]:
    t = page.t
    text = page.search(st, t("Search"), "library-search", t("File, author, tag, spoken words"))
    left, right = st.columns(2, vertical_alignment="bottom")
    chosen: str | None = modality
    if modality is None:
        modalities = {code.value: t(label) for code, label in labels.MODALITIES.items() if code is not Modality.TEXT}
        chosen = page.choose(left, t("Modality"), modalities, "library-modality")
    chosen_tag = page.choose(right if modality is None else left, t("Tag"), counted(page, offered.tags), "library-tag")
    with st.container(horizontal=True, key="library-more"):
        by_meaning = page.switch(st, t("By meaning"), "library-by-meaning")
        unused = page.switch(st, t("Not used yet"), "library-unused")
    query = MaterialQuery(
        modality=Modality(chosen) if chosen else None,
        state=MaterialState.KEPT,
        tag=chosen_tag,
        text=text,
        by_meaning=by_meaning,
        unused=unused,
        page=page.page_number,
    )
    return query, page.switch(st, t("Only those of my last drafts"), "library-recent")


def _card(page: Page, card: Card, use: Callable[[dict[str, Any]], None]) -> None:
    with st.container(key=f"use-{card.id}"):
        page.draw("pick.html", card=card)
        st.button(page.t("Use"), key=f"take-{card.id}", on_click=_use, args=(page, card.id, use), width="stretch")


def _use(page: Page, material_id: str, use: Callable[[dict[str, Any]], None]) -> None:
    with page.studio.workspace.database.reading() as session:
        row = session.get_one(Material, material_id)
        found = material_for_editor(row, cards_of(session, page.who, [row], page.links, page.t)[0])
    use(found)
