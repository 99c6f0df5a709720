"""Pools of scores: what there is, and the way in for more."""

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.pool_upload import draw_upload
from annotation_ui.pages.pool_work import look_in_background
from annotation_ui.pooling import known_pools, subset_counts
from annotation_ui.views.pools import pool_rows


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
