"""Pools of scores: what there is, and the way in for more."""

from functools import partial

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.pool_upload import draw_upload
from annotation_ui.pools.desk import known_pools, look_at_new, subset_counts
from annotation_ui.views.pools import pool_rows

# One at a time for all pools: a large one fills the memory.
LOOK = "pool look"


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(
        t("Pools"),
        t("Scores of many models on many questions. A tenth, chosen well, tells nearly as much as all."),
    )
    draw_upload(page)
    workspace = page.studio.workspace
    known = known_pools(workspace, page.who)
    if not known:
        page.empty(
            t("No pool yet"),
            t(
                "A pool is a table of who scored what: a row for each model and question, with a score from 0 to 1. "
                "Bring in results that you have, look at them, and choose the questions that are worth asking."
            ),
            [
                (t("From the command line:"), "interplay pool import scores.parquet --name blink"),
                (t("What a table holds:"), "question_id,model,score"),
                (t("Logs of other programs are read as they are:"), "interplay pool import logs/ --name vision"),
            ],
        )
        return
    if any(picture is None for _, picture in known):
        look_in_background(page)
    page.draw("count.html", text=t.plural("{count} pool", "{count} pools", len(known)))
    for row in pool_rows(known, subset_counts(workspace, page.who), t):
        with st.container(key=f"row-pool-{row.name}"):
            page.draw("pool_row.html", row=row)
            if st.button(t("Open"), key=f"open-pool-{row.name}"):
                page.open("pool", name=row.name)


def look_in_background(page: Page, first: str | None = None) -> None:
    """Look at pools that nobody looked at yet, and tell how far it is; what went wrong is tried again when asked to."""
    looked = page.at_work(LOOK)
    if page.studio.background.is_at_work(LOOK):
        return
    if looked is not None and looked.has_failed and not st.button(page.t("Look again"), key="look-again"):
        return
    if page.begin(LOOK, partial(look_at_new, page.studio.workspace, page.who, first)):
        st.rerun()
