"""The material library: a grid with facets, and one material with everything known of it."""

from collections.abc import Sequence

import streamlit as st

from annotation_ui import labels
from annotation_ui.library import MOST_REASON, Upload, bring_in, decide_material
from annotation_ui.page import Page
from annotation_ui.permissions import Permission
from annotation_ui.views.material import MaterialDetail, material_detail
from annotation_ui.views.materials import Card, Facets, MaterialQuery, facets, materials_page
from core.content import Modality
from core.errors import InterplayError
from curation.entries import Claims
from curation.ingest import IngestReport
from curation.materials import UnknownMaterial
from warehouse.tables import MaterialState


EXAMPLE_LICENCE = "CC-BY-4.0"


def draw(page: Page) -> None:
    """Draw the grid, or the material that the address names."""
    chosen = st.query_params.get("material")
    if chosen:
        _one(page, chosen)
    else:
        _grid(page)


def _grid(page: Page) -> None:
    t = page.t
    page.title(t("Materials"), t("Pictures, sounds and films that authors build questions from."))
    if page.who.may(Permission.CURATE):
        _upload(page)
    with page.studio.workspace.database.reading() as session:
        offered = facets(session)
    if not offered.modalities:
        page.empty(
            t("The library is empty"),
            t("Materials come in with their origin and licence, are checked by filters, and wait here for authors."),
            [
                (t("Bring in a folder of media:"), "interplay material ingest FOLDER"),
                (t("Or look at a finished sample project:"), "interplay demo"),
            ],
        )
        return
    query = _query(page, offered)
    with page.studio.workspace.database.reading() as session:
        found = materials_page(session, page.who, query, page.links, t)
    page.draw("count.html", text=t.plural("{count} material", "{count} materials", found.total))
    if not found.cards:
        page.notice(t("No material fits this choice. Take a filter away."))
        return
    with st.grid(min_column_width=200, gap="medium", key="material-grid"):
        for card in found.cards:
            _card(page, card)
    if found.page_count > 1:
        st.pagination(found.page_count, key="material-page", bind="query-params")


def _upload(page: Page) -> None:
    t = page.t
    with (
        st.expander(t("Add materials"), icon=":material/upload:"),
        st.form("upload", clear_on_submit=True, border=False),
    ):
        files = st.file_uploader(t("Pictures, sounds or films"), accept_multiple_files=True, key="upload-files")
        licence, author, source = st.columns(3)
        claims = Claims(
            licence=licence.text_input(t("Licence (SPDX name or address)"), placeholder=EXAMPLE_LICENCE, max_chars=200)
            or None,
            author=author.text_input(t("Made by"), max_chars=200) or None,
            source=source.text_input(t("Source"), max_chars=500) or None,
        )
        sent = st.form_submit_button(t("Add to the library"))
    if not sent:
        return
    if not files:
        page.notice(t("Choose at least one file."), "warn")
        return
    with st.spinner(t("Checking the files …")):
        uploads = [Upload(file.name, file) for file in files]
        report = bring_in(page.studio.workspace, page.who, uploads, claims, page.studio.clock)
    _tell(page, report)


def _tell(page: Page, report: IngestReport) -> None:
    t = page.t
    counts = report.counts
    kept = counts["new"] - counts["dropped"]
    page.notice(t.plural("{count} new material.", "{count} new materials.", kept))
    if counts["known"]:
        page.notice(
            t.plural(
                "{count} file was in the library already.",
                "{count} files were in the library already.",
                counts["known"],
            )
        )
    for taken in report.taken:
        if taken.is_new and taken.drop_reason:
            reason = labels.drop_reason(t, taken.drop_reason)
            page.notice(
                t(
                    "{name} was dropped: {reason} ({measure})",
                    name=taken.origin,
                    reason=reason,
                    measure=taken.drop_measure,
                ),
                "warn",
            )
    for rejected in report.rejected:
        page.notice(t("{name} could not be taken: {reason}", name=rejected.origin, reason=rejected.message), "bad")


def _query(page: Page, offered: Facets) -> MaterialQuery:
    t = page.t
    words, modality, state, licence, tag = st.columns([3, 2, 2, 2, 2], vertical_alignment="bottom")
    counts = {
        str(name): count for name, count in (*offered.modalities, *offered.states, *offered.licences, *offered.tags)
    }

    def labelled(name: str, label: str) -> str:
        return f"{label} ({t.number(counts[name])})"

    text = words.text_input(
        t("Search"), key="material-search", bind="query-params", placeholder=t("File, author, tag, spoken words"), max_chars=200,
        on_change=_first_page,
    )  # fmt: skip
    chosen_modality = modality.selectbox(
        t("Modality"), [name for name, _ in offered.modalities], index=None, placeholder=t("All"), key="modality",
        bind="query-params", on_change=_first_page,
        format_func=lambda name: labelled(str(name), t(labels.MODALITIES[Modality(name)])),
    )  # fmt: skip
    chosen_state = state.selectbox(
        t("State"), [name for name, _ in offered.states], index=None, placeholder=t("All"), key="material-state",
        bind="query-params", on_change=_first_page,
        format_func=lambda name: labelled(str(name), t(labels.MATERIAL_STATES[MaterialState(name)])),
    )  # fmt: skip
    chosen_licence = licence.selectbox(
        t("Licence"), [name for name, _ in offered.licences], index=None, placeholder=t("All"), key="licence",
        bind="query-params", on_change=_first_page, format_func=lambda name: labelled(name, name),
    )  # fmt: skip
    chosen_tag = tag.selectbox(
        t("Tag"), [name for name, _ in offered.tags], index=None, placeholder=t("All"), key="tag",
        bind="query-params", on_change=_first_page, format_func=lambda name: labelled(name, name),
    )  # fmt: skip
    return MaterialQuery(
        modality=chosen_modality,
        state=chosen_state,
        licence=chosen_licence,
        tag=chosen_tag,
        text=text or "",
        page=int(st.session_state.get("material-page") or st.query_params.get("material-page") or 1),
    )


def _first_page() -> None:
    st.session_state.pop("material-page", None)


def _card(page: Page, card: Card) -> None:
    with st.container(key=f"card-{card.id}"):
        page.draw("card.html", card=card)
        if st.button(page.t("Open"), key=f"open-{card.id}"):
            _open(card.id)


def _open(material_id: str) -> None:
    st.query_params["material"] = material_id
    st.rerun()


def _one(page: Page, material_id: str) -> None:
    t = page.t
    if st.button(t("All materials"), icon=":material/arrow_back:", type="tertiary"):
        del st.query_params["material"]
        st.rerun()
    try:
        with page.studio.workspace.database.reading() as session:
            detail = material_detail(session, page.who, material_id, page.links, page.studio.clock(), t)
    except UnknownMaterial:
        page.notice(t("This material is not in the library."), "warn")
        return
    page.title(detail.card.title)
    left, right = st.columns([3, 2], gap="large")
    with left:
        page.draw("material_media.html", card=detail.card)
        if detail.speech:
            page.section(t("What is said"))
            page.draw("material_speech.html", speech=detail.speech)
        page.section(t("Provenance and licence"))
        page.draw("material_sources.html", sources=detail.sources)
    with right:
        page.draw("material_facts.html", detail=detail)
        _decide(page, detail)
        if detail.uses:
            page.section(t("Used by items"))
            page.draw("uses.html", uses=detail.uses)
        if detail.measures:
            with st.expander(t("Measures")):
                page.draw("pairs.html", pairs=detail.measures)
        if detail.changes:
            page.section(t("Decisions"))
            page.draw("material_changes.html", changes=detail.changes)
    _shelf(page, t("Taken from the same file"), detail.relatives)
    _shelf(page, t("Look-alikes"), detail.duplicates)


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
    try:
        with page.studio.workspace.database.session() as session:
            decide_material(session, page.who, detail.card.id, expected_version, not kept, reason, page.studio.clock)
    except InterplayError as error:
        page.problem(error)
        return
    del st.session_state[seen]
    st.rerun()


def _shelf(page: Page, title: str, cards: Sequence[Card]) -> None:
    if not cards:
        return
    page.section(title)
    with st.grid(min_column_width=200, gap="medium", key=f"shelf-{cards[0].id}"):
        for card in cards:
            _card(page, card)
