"""One release: what blocks it, what is in it, what changed, and how it leaves the project."""

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.release_out import draw_out
from annotation_ui.pages.release_sealing import draw_sealing
from annotation_ui.releases.desk import BUILD_WORK, ReleaseGone, work_key
from annotation_ui.views.release_changes import HOW, changes_page, versions_before
from annotation_ui.views.release_findings import NOT_NAMED
from annotation_ui.views.release_past import past_of
from annotation_ui.views.releases import ReleaseDetail, release_coverage, release_detail
from warehouse.tables import ReleaseState


def draw(page: Page) -> None:
    """Draw the release that the address names."""
    t = page.t
    page.go("releases", t("All releases"), back=True)
    database = page.studio.workspace.database
    try:
        with database.reading() as session:
            detail = release_detail(session, page.who, st.query_params.get("id", ""), t)
    except ReleaseGone as error:
        page.title(t("Release"))
        page.notice(t(error.text), "warn")
        return
    page.draw("release_head.html", row=detail.row)
    _tell_sealed(page, detail)
    page.at_work(work_key(detail.row.id))
    background = page.studio.background
    busy = background.is_at_work(work_key(detail.row.id))
    with database.reading() as session:
        past = past_of(session, detail, busy or background.is_at_work(BUILD_WORK), t)
    for line in past.cut_off:
        page.notice(line, "warn")
    if detail.is_sealed and detail.shows_withdrawn:
        page.notice(
            t("Somebody withdrew what this release shows, so it leaves the project no more."),
            "warn",
        )
    titles = [t("Export and push") if detail.is_sealed else t("What blocks it"), t("What is in it"), t("Changes")]
    first, inside, changes = st.tabs(titles, key=f"tab-{detail.row.id}-{detail.row.state}", on_change="rerun")
    if first.open:
        with first:
            (draw_out if detail.is_sealed else draw_sealing)(page, detail, past, busy)
    if inside.open:
        with inside:
            _inside(page, detail)
    if changes.open:
        with changes:
            _changes(page, detail)


def _tell_sealed(page: Page, detail: ReleaseDetail) -> None:
    """Words for whoever looked at a draft that is sealed now, by them or by somebody else."""
    first_seen = st.session_state.setdefault(f"seen-{detail.row.id}", detail.row.state)
    if detail.is_sealed and first_seen == ReleaseState.BUILT:
        page.notice(page.t("This release is sealed by now and stays as it is ({made}).", made=detail.row.made), "good")


def _inside(page: Page, detail: ReleaseDetail) -> None:
    t = page.t
    with page.studio.workspace.database.reading() as session:
        table = release_coverage(session, detail.row.id, t)
    left, right = st.columns([3, 2], gap="large")
    with left:
        page.section(t("How it was built"))
        page.draw("pairs.html", pairs=detail.facts)
    with right:
        page.section(t("Splits"))
        page.draw("pairs.html", pairs=[(label, t.number(count)) for label, count in detail.splits])
    page.section(t("What it covers"), t("Questions by task type and language, and by what they show."))
    page.draw("release_coverage.html", table=table)


def _changes(page: Page, detail: ReleaseDetail) -> None:
    t = page.t
    with page.studio.workspace.database.reading() as session:
        others = versions_before(session, detail)
    if not others:
        page.notice(t("This is the first version of “{name}”: there is nothing to compare it with.", name=detail.name))
        return
    versions = {version: version for version in others.values()}
    place, ways_place, _ = st.columns([2, 2, 3])
    before = page.choose(place, t("Compared with"), versions, "before", default=next(iter(versions)))
    ways = {code: t(label) for code, label in HOW.items()}
    how = page.choose(ways_place, t("What happened"), ways, "how")
    with page.studio.workspace.database.reading() as session:
        found = changes_page(session, page.who, detail, before or next(iter(versions)), how, page.page_number, t)
    counts = [t("{what}: {count}", what=ways[way], count=t.number(count)) for way, count in found.counts.items()]
    page.draw("count.html", text=" · ".join(counts))
    if found.rows:
        page.draw("release_changes.html", rows=found.rows)
    elif not any(found.counts.values()):
        page.notice(t("Both versions hold the same questions."))
    elif found.is_kept_back:
        page.notice(t(NOT_NAMED))
    page.pages(found.page_count)
