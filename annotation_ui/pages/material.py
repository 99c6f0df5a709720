"""One material with everything known of it, and the decision to keep or drop it."""

from collections.abc import Sequence

import streamlit as st

from annotation_ui.components.transcript import transcript
from annotation_ui.library import MOST_REASON, decide_material
from annotation_ui.page import Page
from annotation_ui.pages.material_tags import draw_tags
from annotation_ui.tag_words import known_names
from annotation_ui.views.material import MaterialDetail, material_detail
from annotation_ui.views.materials import Card
from curation.materials import UnknownMaterial
from warehouse.tables import MaterialState


def draw(page: Page) -> None:
    """Draw the material that the address names."""
    t = page.t
    page.go("materials", t("All materials"), back=True)
    material_id = st.query_params.get("id", "")
    names = known_names(page.studio.workspace.project.root)
    try:
        with page.studio.workspace.database.reading() as session:
            detail = material_detail(session, page.who, material_id, page.links, page.studio.clock(), t, names)
    except UnknownMaterial:
        page.notice(t("This material is not in the library."), "warn")
        return
    page.title(detail.card.title)
    left, right = st.columns([3, 2], gap="large")
    with left:
        with st.container(key="material-player"):
            page.draw("material_media.html", card=detail.card)
        if detail.speech:
            page.section(t("What is said"), t("Click a line to hear it.") if detail.card.media_url else "")
            transcript(detail.speech, key=f"transcript-{detail.card.id}")
        page.section(t("Provenance and licence"))
        page.draw("material_sources.html", sources=detail.sources)
    with right:
        page.draw("material_facts.html", detail=detail)
        _decide(page, detail)
        if detail.card.media_url and st.button(t("More like this"), key="more-like", icon=":material/image_search:"):
            # What the list was narrowed to before would hide what is alike.
            st.switch_page(page.others["materials"], query_params={"like": detail.card.id})
        draw_tags(page, detail, names)
        if detail.uses:
            page.section(t("Used by items"))
            for use in detail.uses:
                with st.container(key=f"row-{use.name}"):
                    page.draw("use.html", use=use)
                    if st.button(t("Open"), key=f"open-{use.name}"):
                        page.open("item", name=use.name)
        if detail.measures:
            with st.expander(t("Measures")):
                page.draw("pairs.html", pairs=detail.measures)
        if detail.changes:
            page.section(t("Decisions"))
            page.draw("material_changes.html", changes=detail.changes)
    _shelf(page, t("Taken from the same file"), detail.relatives)
    _shelf(page, t("Look-alikes"), detail.duplicates)
    if detail.duplicates and st.button(t("Compare them side by side"), key="compare-group"):
        page.open("look_alikes", around=detail.card.id)


def _decide(page: Page, detail: MaterialDetail) -> None:
    if not detail.may_decide:
        return
    t = page.t
    kept = detail.card.state == MaterialState.KEPT
    # The version that this visitor saw when they began to decide; the row may have moved on since.
    seen = f"version-{detail.card.id}"
    expected_version = st.session_state.get(seen, detail.version)
    st.session_state[seen] = detail.version
    with st.form(f"decide-{detail.card.id}"):
        question = t("Why drop it?") if kept else t("Why keep it after all?")
        reason = st.text_input(
            question, max_chars=MOST_REASON, key=f"reason-{detail.card.id}-{detail.card.state.value}"
        )
        sent = st.form_submit_button(t("Drop") if kept else t("Keep"))
    if not sent:
        return
    ruling = detail.card.id, expected_version, not kept, reason
    if not page.stores(lambda session: decide_material(session, page.who, *ruling, page.studio.clock)):
        return
    del st.session_state[seen]
    st.rerun()


def draw_card(page: Page, card: Card) -> None:
    """A card that leads to its material."""
    with st.container(key=f"card-{card.id}"):
        page.draw("card.html", card=card)
        if st.button(page.t("Open"), key=f"open-{card.id}"):
            page.open("material", id=card.id)


def _shelf(page: Page, title: str, cards: Sequence[Card]) -> None:
    if not cards:
        return
    page.section(title)
    with st.grid(min_column_width=165, gap="medium", key=f"shelf-{cards[0].id}"):
        for card in cards:
            draw_card(page, card)
