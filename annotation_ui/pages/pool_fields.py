"""Fields for files of scores: the files themselves, and how they are read."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pools.files import GivenFile, read_columns
from annotation_ui.words import N_
from compression.importers.base import Reading

SCORE_FILES = ["csv", "tsv", "parquet", "xlsx", "json", "jsonl", "eval"]
TABLES = ["csv", "tsv", "parquet"]
_MOST = 200
_EXAMPLE_COLUMNS = "question_id=qid\nmodel=system"
_REPEATS: Mapping[str, str] = {"refuse": N_("Refuse the file"), "mean": N_("Take their mean")}


def given(uploaded: Any) -> GivenFile | None:
    """A file that an uploader holds."""
    return None if uploaded is None else GivenFile(uploaded.name, uploaded.getvalue())


def reading_fields(page: Page, key: str) -> tuple[Any, Callable[[], Reading]]:
    """Fields that say how a file of scores is read: where the rarer ones stand, and what to call once it was sent."""
    t = page.t
    model, benchmark, scale = st.columns(3)
    named = model.text_input(
        t("Model"), key=f"{key}-model", max_chars=_MOST,
        help=t("Only where the file does not say whose answers these are."),
    )  # fmt: skip
    of = benchmark.text_input(
        t("Benchmark"), key=f"{key}-benchmark", max_chars=_MOST,
        help=t("Only where the file does not say it; else its name."),
    )  # fmt: skip
    full = scale.number_input(
        t("A full score is"), key=f"{key}-scale", min_value=0.01, value=1.0, help=t("100 for percentages.")
    )
    more = st.expander(t("More"))
    metric = more.text_input(
        t("Metric"), key=f"{key}-metric", max_chars=_MOST,
        help=t("Where a file has several: a metric, a scorer or a column."),
    )  # fmt: skip
    repeats = more.selectbox(
        t("Several scores of one model for one question"), list(_REPEATS), key=f"{key}-repeats",
        format_func=lambda code: t(_REPEATS[code]),
    )  # fmt: skip
    columns = more.text_area(
        t("Columns that are called otherwise"), key=f"{key}-columns", placeholder=_EXAMPLE_COLUMNS, height=80
    )
    return more, lambda: Reading(
        columns=read_columns(columns),
        benchmark=of.strip() or None,
        model=named.strip() or None,
        metric=metric.strip() or None,
        scale=float(full),
        repeats="mean" if repeats == "mean" else "refuse",
    )
