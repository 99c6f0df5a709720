"""All releases, the newest first; and building the next."""

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.release_build import draw_build
from annotation_ui.permissions import Permission
from annotation_ui.views.releases import releases_page


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(
        t("Releases"), t("Sets of accepted questions under a name and a version. Sealed ones never change any more.")
    )
    if page.who.may(Permission.RELEASE):
        draw_build(page)
    text = st.query_params.get("release-search", "")
    with page.studio.workspace.database.reading() as session:
        found = releases_page(session, page.who, text, page.page_number, t)
    if not found.project_size:
        page.empty(
            t("There is no release yet"),
            t("A release is built from accepted questions, checked and sealed. It is then exported and put to models."),
            [
                (t("A maintainer builds it here, or on the command line:"), "interplay release build NAME 1.0.0"),
                (t("What blocks it is shown at once; when nothing does:"), "interplay release seal NAME 1.0.0"),
            ],
        )  # fmt: skip
        return
    if found.project_size > 1:
        place, _ = st.columns([2, 3])
        page.search(place, t("Search"), "release-search", t("Name or version"))
    page.draw("count.html", text=t.plural("{count} release", "{count} releases", found.total))
    if not found.rows:
        page.notice(t("No release has such a name or version."))
    for row in found.rows:
        with st.container(key=f"row-{row.id}"):
            page.draw("release_row.html", row=row)
            if st.button(t("Open"), key=f"open-{row.id}"):
                page.open("release", id=row.id)
    page.pages(found.page_count)
