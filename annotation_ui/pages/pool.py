"""One pool: its scores as a picture, its models, how many questions tell enough, and choosing them."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.pool_choose import CHOOSE, TAB, draw_choosing
from annotation_ui.pages.pool_size import draw_size
from annotation_ui.pages.pool_upload import draw_upload
from annotation_ui.pages.pools import look_in_background
from annotation_ui.pools.desk import is_quick, look, pool_state
from annotation_ui.pools.kept import PoolResults
from annotation_ui.pools.mistakes import UnknownPool
from annotation_ui.views import pools as view
from annotation_ui.words import N_
from compression.pool_picture import PoolPicture, PoolState

SCORES, MODELS, SIZE = N_("Scores"), N_("Model by model"), N_("How many questions")


def draw(page: Page) -> None:
    """Draw the pool that the address names."""
    t = page.t
    page.go("pools", t("All pools"), back=True)
    workspace, name = page.studio.workspace, st.query_params.get("name", "")
    try:
        state = pool_state(workspace, page.who, name)
    except UnknownPool as told:
        page.problem(told)
        return
    picture = _picture(page, state)
    page.title(state.pool, "" if picture is None else view.size_of(picture, t))
    if picture is None:
        look_in_background(page, state.pool)
        return
    parts: dict[str, Callable[[], None]] = {
        SCORES: partial(_scores, page, picture),
        MODELS: partial(_models, page, picture),
        SIZE: partial(draw_size, page, state, picture),
        CHOOSE: partial(draw_choosing, page, state, picture),
    }
    for tab, draw_part in zip(
        st.tabs([t(part) for part in parts], key=TAB, on_change="rerun"), parts.values(), strict=True
    ):
        if tab.open:
            with tab:
                draw_part()


def _picture(page: Page, state: PoolState) -> PoolPicture | None:
    kept = PoolResults(page.studio.workspace).picture(state)
    if kept is not None or not is_quick(page.studio.workspace):
        return kept
    with st.spinner(page.t("Looking at the scores …")):
        return look(page.studio.workspace, page.who, state.pool)


def _scores(page: Page, picture: PoolPicture) -> None:
    t = page.t
    page.draw("pairs.html", pairs=view.facts_of(picture, t))
    page.section(
        t("Models by difficulty of the questions"),
        t("Each column is about {count} questions, each row a model; dark is a high score. A light spot in a dark "
          "place is what a model cannot do though others can.", count=t.number(view.part_size(picture))),
    )  # fmt: skip
    page.draw("pool_heat.html", heat=view.heat(picture, t))
    page.section(t("Benchmarks"))
    page.draw("pool_benchmarks.html", rows=view.benchmark_rows(picture, t))
    rules = view.remainders(picture, t)
    if rules:
        page.section(
            t("What missing scores cost"),
            t("A curve and a subset need every score. What is left, by the rule that you choose for them:"),
        )
        page.draw("pool_rules.html", rows=rules)
    draw_upload(page, picture.view.pool)


def _models(page: Page, picture: PoolPicture) -> None:
    t = page.t
    words, order = st.columns([3, 2], vertical_alignment="bottom")
    text = page.search(words, t("Search"), "model-search", t("Model or family"))
    sorts = {code: t(label) for code, label in view.SORTS.items()}
    sort = page.choose(order, t("Order"), sorts, "sort", default="best")
    found = view.models_page(picture, t, sort or "best", text, page.page_number)
    page.draw("count.html", text=t.plural("{count} model", "{count} models", found.total))
    if not found.rows:
        page.notice(t("No model is called so. Search for something else."))
        return
    page.draw("pool_models.html", rows=found.rows)
    page.pages(found.page_count)
    if len(picture.view.benchmarks) > 1:
        page.section(t("In each benchmark"), t("Mean scores in percent."))
        names = [one.benchmark for one in picture.view.benchmarks]
        page.draw("pool_by_benchmark.html", names=names, rows=found.rows)
    page.draw(
        "quiet.html",
        text=t(
            "The interval is that of the mean if the questions were drawn anew from all that there could be like them."
        ),
    )
    how, families = view.families(picture, t)
    page.section(t("Families"), how)
    if families:
        page.draw("lines.html", lines=families)
    else:
        page.draw("quiet.html", text=t("No two models belong together."))
    page.downloads(t("models"), view.model_columns(picture, t), partial(view.model_cells, picture))
