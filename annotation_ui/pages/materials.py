"""The material library as a grid with facets, and the way into it."""

import streamlit as st

from annotation_ui import labels
from annotation_ui.library import Upload, bring_in
from annotation_ui.page import Page
from annotation_ui.pages.material import draw_card
from annotation_ui.permissions import Permission
from annotation_ui.views.materials import Facets, MaterialQuery, facets, materials_page
from core.content import Modality
from curation.entries import Claims
from curation.ingest import IngestReport
from warehouse.tables import MaterialState

EXAMPLE_LICENCE = "CC-BY-4.0"


def draw(page: Page) -> None:
    """Draw it."""
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
    with st.grid(min_column_width=165, gap="medium", key="material-grid"):
        for card in found.cards:
            draw_card(page, card)
    page.pages(found.page_count)


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

    def counted(label: str, count: int) -> str:
        return f"{label} ({t.number(count)})"

    modalities = {code.value: counted(t(labels.MODALITIES[code]), count) for code, count in offered.modalities}
    states = {code.value: counted(t(labels.MATERIAL_STATES[code]), count) for code, count in offered.states}
    text = page.search(words, t("Search"), "material-search", t("File, author, tag, spoken words"))
    chosen_modality = page.choose(modality, t("Modality"), modalities, "modality")
    chosen_state = page.choose(state, t("State"), states, "material-state")
    return MaterialQuery(
        modality=Modality(chosen_modality) if chosen_modality else None,
        state=MaterialState(chosen_state) if chosen_state else None,
        licence=page.choose(licence, t("Licence"), {name: counted(name, n) for name, n in offered.licences}, "licence"),
        tag=page.choose(tag, t("Tag"), {name: counted(name, n) for name, n in offered.tags}, "tag"),
        text=text,
        page=page.page_number,
    )
