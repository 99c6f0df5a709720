"""Long work on pools: starting it, the fields that say how files are read, and files that were given."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pool_files import GivenFile, read_columns
from annotation_ui.pooling import look_at_new
from annotation_ui.words import N_
from compression.importers.base import Reading
from core.errors import InterplayError

SCORE_FILES = ["csv", "tsv", "parquet", "xlsx", "json", "jsonl", "eval"]
TABLES = ["csv", "tsv", "parquet"]
_MOST = 200
_EXAMPLE_COLUMNS = "question_id=qid\nmodel=system"
# One at a time for all pools: a large one fills the memory.
LOOK = "pool look"
_REPEATS: Mapping[str, str] = {"refuse": N_("Refuse the file"), "mean": N_("Take their mean")}


def begin(page: Page, key: str, work: Callable[[], object]) -> bool:
    """Start work in the background; whether it began. Else it is told why it did not."""
    try:
        page.studio.background.start(key, page.who.display_name, work, page.studio.clock)
    except InterplayError as error:
        page.problem(error)
        return False
    return True


def look_in_background(page: Page, first: str | None = None) -> None:
    """Look at pools that nobody looked at yet, and tell how far it is; what went wrong is tried again when asked to."""
    looked = page.at_work(LOOK)
    running = page.studio.background.job(LOOK)
    if running is not None and not running.has_ended:
        return
    failed = looked is not None and (looked.problem is not None or looked.crashed)
    if failed and not st.button(page.t("Look again"), key="look-again"):
        return
    work = partial(look_at_new, page.studio.workspace, page.who, first)
    if begin(page, LOOK, work):
        st.rerun()


def given(uploaded: Any) -> GivenFile | None:
    """A file that an uploader holds."""
    return None if uploaded is None else GivenFile(uploaded.name, uploaded.getvalue())


def reading_fields(page: Page, key: str) -> tuple[Any, Callable[[], Reading]]:
    """Fields that say how a file of scores is read: where the rarer ones stand, and what to call once it was sent."""
    t = page.t
    model, benchmark, scale = st.columns(3)
    named = model.text_input(
        t("Model"),
        key=f"{key}-model",
        max_chars=_MOST,
        help=t("Only where the file does not say whose answers these are."),
    )
    of = benchmark.text_input(
        t("Benchmark"),
        key=f"{key}-benchmark",
        max_chars=_MOST,
        help=t("Only where the file does not say it; else its name."),
    )
    full = scale.number_input(
        t("A full score is"), key=f"{key}-scale", min_value=0.01, value=1.0, help=t("100 for percentages.")
    )
    more = st.expander(t("More"))
    metric = more.text_input(
        t("Metric"),
        key=f"{key}-metric",
        max_chars=_MOST,
        help=t("Where a file has several: a metric, a scorer or a column."),
    )
    repeats = more.selectbox(
        t("Several scores of one model for one question"), list(_REPEATS), key=f"{key}-repeats",
        format_func=lambda code: t(_REPEATS[code]),
    )  # fmt: skip
    columns = more.text_area(
        t("Columns that are called otherwise"),
        key=f"{key}-columns",
        placeholder=_EXAMPLE_COLUMNS,
        height=80,
    )
    return more, lambda: Reading(
        columns=read_columns(columns),
        benchmark=of.strip() or None,
        model=named.strip() or None,
        metric=metric.strip() or None,
        scale=float(full),
        repeats="mean" if repeats == "mean" else "refuse",
    )
