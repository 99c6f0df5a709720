"""The library beside something that is being written: found, looked at and listened to, taken with one click."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from annotation_ui import labels
from annotation_ui.page import Page
from annotation_ui.views.author import material_for_editor, recent_cards
from annotation_ui.views.materials import Card, MaterialQuery, cards_of, facets, materials_page
from core.content import Modality
from warehouse.tables import Material, MaterialState


def draw_picker(page: Page, use: Callable[[dict[str, Any]], None]) -> None:
    """Draw it. `use` is called with the material, as the editor takes it, before the page is drawn again."""
    t = page.t
    with page.studio.workspace.database.reading() as session:
        offered = facets(session)
    if not offered.modalities:
        page.empty(
            t("The library is empty"),
            t("Questions are asked about pictures, sounds and films. Bring some in first."),
            [(t("Bring in a folder of media:"), "interplay material ingest FOLDER")],
        )
        page.go("materials", t("Add materials"))
        return
    query, is_recent = _query(page, offered.tags)
    with page.studio.workspace.database.reading() as session:
        cards: Sequence[Card]
        if is_recent:
            cards, page_count = recent_cards(session, page.who, page.links, t), 1
        else:
            found = materials_page(session, page.who, query, page.links, t)
            cards, page_count = found.cards, found.page_count
    if not cards:
        page.notice(t("No material fits this choice. Take a filter away."))
    with st.grid(min_column_width=150, gap="small", key="picker"):
        for card in cards:
            _card(page, card, use)
    page.pages(page_count)


def _query(page: Page, tags: Sequence[tuple[str, int]]) -> tuple[MaterialQuery, bool]:
    t = page.t
    text = page.search(st, t("Search"), "library-search", t("File, author, tag, spoken words"))
    modality, tag = st.columns(2, vertical_alignment="bottom")
    modalities = {code.value: t(label) for code, label in labels.MODALITIES.items() if code is not Modality.TEXT}
    chosen = page.choose(modality, t("Modality"), modalities, "library-modality")
    query = MaterialQuery(
        modality=Modality(chosen) if chosen else None,
        state=MaterialState.KEPT,
        tag=page.choose(tag, t("Tag"), {name: f"{name} ({t.number(n)})" for name, n in tags}, "library-tag"),
        text=text,
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
