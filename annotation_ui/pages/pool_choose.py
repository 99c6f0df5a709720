"""Choosing a subset of a pool: its strata first, then the subset itself; and the subsets that there are."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.pool_fields import TABLES, given
from annotation_ui.permissions import Permission
from annotation_ui.pools.desk import WantedSubset, choose_subset, subsets_of, work_out_strata
from annotation_ui.pools.files import read_floors
from annotation_ui.pools.kept import PoolResults, StrataSettings
from annotation_ui.views import pool_curve as view
from annotation_ui.views.pools import RULES, usual_rule
from annotation_ui.views.subset import subset_rows
from annotation_ui.words import N_
from compression.matrix import MissingRule
from compression.pool_picture import PoolPicture, PoolState
from compression.samplers import DEFAULT_SAMPLER
from compression.subset import Manifest
from core.errors import InterplayError

CHOOSE = N_("Choose questions")
TAB = "pool-tab"
_SIZE, _SAMPLER, _RULE, _WANTED = "subset-size", "subset-sampler", "subset-missing", "subset-wanted"
_LARGEST_SEED = 2**31
_EXAMPLE_NAME, _EXAMPLE_FLOORS, _EXAMPLE_GROUP = "{pool}-tenth", "benchmark=20\nability=10", "twin"


def choose_this(page: Page, state: PoolState, size: int, sampler: str, missing: MissingRule) -> None:
    """A button's callback: open the form with this size."""
    st.session_state[TAB] = page.t(CHOOSE)
    # Under a name of its own: what a widget holds is forgotten while another tab is open.
    st.session_state[f"{_WANTED}-{state.pool}"] = {_SIZE: size, _SAMPLER: sampler, _RULE: missing}
    for widget in (_SIZE, _SAMPLER, _RULE):
        st.session_state.pop(f"{widget}-{state.pool}", None)


def rule_field(page: Page, picture: PoolPicture, key: str) -> MissingRule:
    """What is done about missing scores; asked only where some are missing."""
    if not picture.view.missing:
        return MissingRule.DROP
    t = page.t
    st.session_state.setdefault(key, usual_rule(picture))
    chosen: MissingRule = st.selectbox(
        t("Missing scores"), list(RULES), key=key, format_func=lambda rule: t(RULES[rule])
    )
    return chosen


def draw_choosing(page: Page, state: PoolState, picture: PoolPicture) -> None:
    """The form, strata, and the subsets of the pool."""
    with st.container(key="pool-subset-told"):
        page.at_work(_work(state))
        page.at_work(_strata_work(state))
    _subsets(page, state)
    if page.who.may(Permission.COMPRESS):
        _form(page, state, picture)
    _strata(page, state)


def _work(state: PoolState) -> str:
    return f"pool subset {state.pool}"


def _strata_work(state: PoolState) -> str:
    return f"pool strata {state.pool}"


def _subsets(page: Page, state: PoolState) -> None:
    t = page.t
    subsets = subsets_of(page.studio.workspace, page.who, state.pool)
    if not subsets:
        page.empty(
            t("No subset of this pool yet"),
            t(
                "A subset is some of the questions with weights: a new model answers these, and the weights make of "
                "its scores an estimate for all, with an interval."
            ),
            [(t("Below, or on the command line:"), f"interplay compress select {state.pool} --rate 0.1 --name NAME")],
        )
        return
    page.section(t("Subsets"))
    draw_subsets(page, subsets)


def draw_subsets(page: Page, subsets: Sequence[Manifest]) -> None:
    """Subsets in a list, with the way to each."""
    for row in subset_rows(subsets, page.t):
        with st.container(key=f"row-subset-{row.name}"):
            page.draw("subset_row.html", row=row)
            if st.button(page.t("Open"), key=f"open-subset-{row.name}"):
                # Which page of the models was shown says nothing there.
                st.switch_page(page.others["subset"], query_params={"name": row.name})


def _form(page: Page, state: PoolState, picture: PoolPicture) -> None:
    t = page.t
    page.section(t("Choose a new subset"))
    with st.form("choose-subset"):
        name_place, size_place, seed_place = st.columns([3, 2, 1])
        name = name_place.text_input(
            t("Name of the subset"), max_chars=64, key="subset-name", placeholder=_EXAMPLE_NAME.format(pool=state.pool)
        )
        keys = {widget: f"{widget}-{state.pool}" for widget in (_SIZE, _SAMPLER, _RULE)}
        usual = {_SIZE: max(1, picture.questions // 10), _SAMPLER: DEFAULT_SAMPLER, _RULE: usual_rule(picture)}
        for widget, value in (usual | st.session_state.get(f"{_WANTED}-{state.pool}", {})).items():
            st.session_state.setdefault(keys[widget], value)
        size = size_place.number_input(t("Questions to keep"), 1, picture.questions, key=keys[_SIZE])
        seed = seed_place.number_input(
            t("Seed"), 0, _LARGEST_SEED, 0, key="subset-seed", help=t("The same seed draws the same questions again.")
        )
        sampler = st.selectbox(
            t("Sampler"), list(view.SAMPLERS), key=keys[_SAMPLER], format_func=lambda one: view.sampler_words(t, one)
        )
        missing = rule_field(page, picture, keys[_RULE])
        rest = _more(page)
        with st.container(horizontal=True, key="choose-buttons"):
            chosen = st.form_submit_button(t("Choose and seal the subset"), type="primary")
            looked = st.form_submit_button(t("Look at the strata first"))
    if chosen:
        _choose(page, state, WantedSubset(name.strip(), int(size), sampler, int(seed), missing), rest)
    if looked:
        settings = StrataSettings(sampler=sampler, size=int(size), seed=int(seed), missing=missing)
        work = partial(work_out_strata, page.studio.workspace, page.who, state.pool, settings, page.studio.clock)
        if page.begin(_strata_work(state), work):
            st.rerun()


def _more(page: Page) -> dict[str, Any]:
    t = page.t
    with st.expander(t("Floors, fixed questions, groups and families")):
        left, right = st.columns(2, gap="large")
        return {
            "floors": left.text_area(
                t("At least so many of each label"), key="subset-floors", height=80,
                placeholder=_EXAMPLE_FLOORS,
                help=t("The column “benchmark” is always there; others come from the labels."),
            ),
            "labels": left.file_uploader(
                t("Labels of questions"), type=TABLES, key="subset-labels",
                help=t("A table with question_id and a column for each kind of label."),
            ),
            "together": left.text_input(
                t("Column whose groups stay together"), key="subset-together", max_chars=200,
                placeholder=_EXAMPLE_GROUP,
                help=t("Twins, near-duplicates, questions on one video: all of a group are kept, or none."),
            ),
            "fixed": right.text_area(
                t("Questions that must be kept"), key="subset-fixed", height=80, help=t("Their ids, one a line.")
            ),
            "fixed_file": right.file_uploader(t("Or a file of them"), type=TABLES, key="subset-fixed-file"),
            "families": right.file_uploader(
                t("Families of models"), type=["csv"], key="subset-families",
                help=t("CSV with columns model and family."),
            ),
        }  # fmt: skip


def _choose(page: Page, state: PoolState, basis: WantedSubset, rest: dict[str, Any]) -> None:
    ids = [one for one in map(str.strip, rest["fixed"].splitlines()) if one]
    try:
        wanted = WantedSubset(
            basis.name, basis.size, basis.sampler, basis.seed, basis.missing,
            floors=read_floors(rest["floors"]),
            together=rest["together"].strip() or None,
            labels=given(rest["labels"]),
            fixed=given(rest["fixed_file"]) or ids or None,
            families=given(rest["families"]),
        )  # fmt: skip
    except InterplayError as error:
        page.problem(error)
        return
    work = partial(choose_subset, page.studio.workspace, page.who, state.pool, wanted, page.studio.clock)
    if page.begin(_work(state), work):
        st.rerun()


def _strata(page: Page, state: PoolState) -> None:
    t = page.t
    found = PoolResults(page.studio.workspace).strata(state)
    if not found:
        return
    page.section(t("Strata"), view.strata_words(found[0], t))
    page.draw("pool_strata.html", rows=view.strata_rows(found[0], t))
