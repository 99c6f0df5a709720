"""A draft: what blocks sealing and how it is mended, sealing, discarding."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.releases.desk import NotConfirmed, check, discard, seal, work_key
from annotation_ui.views.item import is_kept_blind
from annotation_ui.views.release_findings import NOT_NAMED, findings_page
from annotation_ui.views.release_past import Check, Past
from annotation_ui.views.releases import ReleaseDetail


def draw_sealing(page: Page, detail: ReleaseDetail, past: Past, busy: bool) -> None:
    """Draw it; `busy` says that something is done to this release now."""
    t, last = page.t, past.check
    if last is None:
        page.notice(t("Nobody has looked yet what blocks this draft. The check reads all media, so it takes a while."))
    elif last.findings:
        told = t.plural("{count} finding blocks sealing.", "{count} findings block sealing.", len(last.findings))
        mend = t("Looked at on {when}. Mend what the list names, and check again.", when=t.moment(last.at))
        page.notice(f"{told} {mend}", "warn")
    else:
        page.notice(t("Nothing blocks it, as of {when}. Sealing looks once more.", when=t.moment(last.at)), "good")
    if detail.may_release:
        allowed = _licences(page, last)
        _actions(page, detail, allowed, last is None or bool(last.findings), busy)
        if last is not None and not last.findings:
            _seal(page, detail, allowed, busy)
    if last is not None and last.findings:
        _findings(page, last)


def _licences(page: Page, last: Check | None) -> list[str]:
    """Those that are said to be read and to allow publishing: of the last check, and chosen now."""
    if last is None:
        return []
    offered = findings_page(last.findings, None, 1, page.t).licences
    if not offered:
        return list(last.allowed)
    return st.multiselect(
        page.t("Licences that I have read, and that allow publishing"), list(dict.fromkeys([*offered, *last.allowed])),
        default=list(last.allowed), key=f"allowed-{last.at.isoformat()}", placeholder=page.t("Choose licences"),
    )  # fmt: skip


def _actions(page: Page, detail: ReleaseDetail, allowed: list[str], to_check: bool, busy: bool) -> None:
    t = page.t
    with st.container(horizontal=True, key="draft-actions"):
        if st.button(
            t("Check what blocks it"), key="check", type="primary" if to_check else "secondary", disabled=busy
        ):
            begin(page, detail, check, allowed)
        with st.popover(t("Discard"), disabled=busy):
            st.text(t("The draft is deleted, and its version is free again. The questions stay as they are."))
            if st.button(t("Discard this draft"), key="discard"):
                _discard(page, detail)


def begin(page: Page, detail: ReleaseDetail, do: Callable[..., object], *given: object) -> None:
    """Start long work on this release, a service of ours with what it is given, and draw the page anew."""
    work = partial(do, page.studio.workspace, page.who, detail.row.id, *given, page.studio.clock)
    if page.begin(work_key(detail.row.id), work):
        st.rerun()


def _findings(page: Page, last: Check) -> None:
    t, kind = page.t, None
    with page.studio.workspace.database.reading() as session:
        is_kept_back = is_kept_blind(session, page.who)
    if is_kept_back:
        page.notice(t(NOT_NAMED))
        return
    kinds = findings_page(last.findings, None, 1, t).kinds
    if len(kinds) > 1:
        place, _ = st.columns([2, 3])
        kind = page.choose(place, t("What blocks"), kinds, "blocks")
    found = findings_page(last.findings, kind, page.page_number, t)
    page.draw("release_findings.html", rows=found.rows)
    page.pages(found.page_count)


def _seal(page: Page, detail: ReleaseDetail, allowed: list[str], busy: bool) -> None:
    t = page.t
    page.section(
        t("Seal it"),
        t("For good: a sealed release never changes and is never deleted. Its questions step to “Released”."),
    )
    with st.form("seal-form", border=False):
        typed = st.text_input(
            t("To confirm, type name and version: {title}", title=detail.row.title),
            key="seal-confirmation",
            max_chars=100,
        )
        sent = st.form_submit_button(t("Seal for good"), type="primary", disabled=busy)
    if sent and typed.strip() != detail.row.title:
        page.problem(NotConfirmed(title=detail.row.title))
    elif sent:
        begin(page, detail, seal, typed, allowed)


def _discard(page: Page, detail: ReleaseDetail) -> None:
    if page.stores(lambda session: discard(session, page.who, detail.row.id, page.studio.clock)):
        st.query_params.clear()
        st.switch_page(page.others["releases"])
