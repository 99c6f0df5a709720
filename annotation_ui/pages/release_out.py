"""A sealed release: verify it, export it, fetch the export, push it to a hub."""

from functools import partial

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.release_sealing import begin
from annotation_ui.releases import publishing
from annotation_ui.releases.desk import verify
from annotation_ui.releases.publishing import HUB_FORMAT, MOST_DOWNLOAD_BYTES, ExportPlace, HubMissing, export_place
from annotation_ui.views.formats import byte_size
from annotation_ui.views.release_past import Past, Verification
from annotation_ui.views.releases import ReleaseDetail
from annotation_ui.words import N_
from warehouse.release.push import Access, Destination, has_hub, has_token
from warehouse.tables import Release

FORMATS = {
    "jsonl": (N_("JSON Lines"), N_("Plain files: a line for each question, and its media beside them.")),
    HUB_FORMAT: (
        N_("Hugging Face"),
        N_("For hubs and for “datasets” in Python: Parquet with the media inside, and a card."),
    ),
}
ACCESS = {
    Access.PRIVATE: N_("Only its owner"),
    Access.GATED: N_("Whom its owner lets in"),
    Access.PUBLIC: N_("Everybody"),
}


def draw_out(page: Page, detail: ReleaseDetail, past: Past, busy: bool) -> None:
    """Draw it; `busy` says that something is done to this release now."""
    t = page.t
    if not detail.may_release:
        page.notice(t("This release is sealed. Maintainers verify, export and push it here."))
        return
    page.section(t("In the project"), t("Reads every byte again, and compares it with what was sealed."))
    _verified(page, past.verified.get(""))
    if st.button(t("Verify"), key="verify", disabled=busy):
        begin(page, detail, verify)
    page.section(t("Exports"), t("Dev and test carry their answers. Of a hold-out there are names and hashes only."))
    with page.studio.workspace.database.reading() as session:
        release = session.get_one(Release, detail.row.id)
    for name in FORMATS:
        with st.container(border=True, key=f"export-{name}"):
            _export(page, detail, release, name, past, busy)
    page.section(t("Push to a hub"))
    for line in past.pushes:
        page.draw("release_pushed.html", line=line)
    _push(page, detail, busy)


def _verified(page: Page, found: Verification | None) -> None:
    if found is not None:
        page.draw("release_verified.html", found=found)


def _export(page: Page, detail: ReleaseDetail, release: Release, name: str, past: Past, busy: bool) -> None:
    t, workspace = page.t, page.studio.workspace
    title, about = FORMATS[name]
    place = export_place(workspace, release, name)
    where = str(place.folder.relative_to(workspace.project.root)) if place else ""
    page.draw("release_export.html", title=t(title), about=t(about), place=place, where=where,
              size=byte_size(place.size) if place else "")  # fmt: skip
    with st.container(horizontal=True, key=f"acts-{name}"):
        if place is None:
            if st.button(t("Export"), key=f"make-{name}", disabled=busy or detail.shows_withdrawn):
                begin(page, detail, publishing.export, name)
            return
        _download(page, detail, name, place)
        if st.button(t("Verify"), key=f"verify-{name}", disabled=busy):
            begin(page, detail, publishing.verify_export, name)
        with st.popover(t("Remove"), disabled=busy):
            st.text(t("The folder is deleted. The release stays, and can be exported again."))
            if st.button(t("Remove this export"), key=f"remove-{name}"):
                begin(page, detail, publishing.remove_export, name)
    _verified(page, past.verified.get(name))


def _download(page: Page, detail: ReleaseDetail, name: str, place: ExportPlace) -> None:
    t = page.t
    if place.size > MOST_DOWNLOAD_BYTES:
        page.draw("quiet.html", text=t(publishing.TooLarge.text))
        return
    if not detail.shows_withdrawn:
        st.download_button(
            t("Fetch as ZIP"),
            # Made when it is asked for, and for whoever may have it then.
            data=partial(publishing.zipped, page.studio.workspace, page.who, detail.row.id, name),
            file_name=f"{detail.name}-{detail.version}-{name}.zip",
            mime="application/zip",
            key=f"fetch-{name}",
            on_click="ignore",
        )


def _push(page: Page, detail: ReleaseDetail, busy: bool) -> None:
    t = page.t
    if not has_hub():
        page.notice(t(HubMissing.text), "warn")
        return
    known = has_token()
    # Another number draws the field for the token anew and empty: it is kept nowhere.
    number = st.session_state.setdefault("push-number", 0)
    with st.form("push-form", border=False):
        left, right = st.columns(2, gap="large")
        repository = left.text_input(t("Repository"), key="push-repository", max_chars=200, placeholder=t("OWNER/NAME"))
        # A choice is told by its words: in another language it is another widget.
        access = right.radio(
            t("Who sees it"), list(Access), key=f"push-access-{t.language}", horizontal=True,
            format_func=lambda one: t(ACCESS[one]),
        )  # fmt: skip
        token = None
        if not known:
            token = left.text_input(
                t("The hub's token"), key=f"push-token-{number}", type="password", max_chars=200,
                autocomplete="off", help=t("It is used for this push and kept nowhere."),
            )  # fmt: skip
        sent = st.form_submit_button(t("Push"), disabled=busy or detail.shows_withdrawn)
    if sent:
        st.session_state["push-number"] = number + 1
        to = Destination(repository.strip(), access or Access.PRIVATE, (token or "").strip() or None)
        begin(page, detail, publishing.push, to)
