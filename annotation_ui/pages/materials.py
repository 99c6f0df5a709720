"""The material library as a grid with facets, and the way into it."""

from functools import partial

import streamlit as st

from annotation_ui import labels
from annotation_ui.finding import MaterialQuery
from annotation_ui.library import Upload, bring_in
from annotation_ui.page import Page
from annotation_ui.pages.finding import draw_clearing, draw_search, prepare, tell_unmeant
from annotation_ui.pages.material import draw_card
from annotation_ui.permissions import Permission
from annotation_ui.views.materials import cards_of, facets, material_columns, material_rows, materials_page
from curation.entries import Claims
from curation.ingest import IngestReport
from warehouse.tables import Material

EXAMPLE_LICENCE = "CC-BY-4.0"


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(t("Materials"), t("Pictures, sounds and films that authors build questions from."))
    if page.who.may(Permission.CURATE):
        _upload(page)
    workspace = page.studio.workspace
    with st.spinner(t("Looking through the library …")):
        offered = facets(workspace, t)
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
    prepare(page)
    query = draw_search(page, offered)
    _example(page, query)
    with st.spinner(t("Looking through the library …")):
        found = materials_page(workspace, page.who, query, page.links, t)
    tell_unmeant(page, found.unmeant, is_example=query.like is not None)
    with st.container(horizontal=True, key="found-line", vertical_alignment="center"):
        page.draw("count.html", text=t.plural("{count} material", "{count} materials", found.total))
        draw_clearing(page, query)
        page.go("look_alikes", t("Compare look-alikes"))
    if not found.cards:
        if found.unmeant is None:
            page.notice(t("No material fits this choice. Take a filter away."))
        return
    with st.grid(min_column_width=165, gap="medium", key="material-grid"):
        for card in found.cards:
            draw_card(page, card)
    page.pages(found.page_count)
    page.downloads(t("materials"), material_columns(t), partial(material_rows, workspace, page.who, query, t))


def _example(page: Page, query: MaterialQuery) -> None:
    if query.like is None:
        return
    with page.studio.workspace.database.reading() as session:
        row = session.get(Material, query.like)
        cards = cards_of(session, page.who, [row], page.links, page.t) if row is not None else []
    for card in cards:
        page.draw("example.html", card=card)


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
