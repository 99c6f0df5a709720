"""How well subsets like one predict models that they were not made of."""

from functools import partial

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.permissions import Permission
from annotation_ui.pools.desk import pool_state
from annotation_ui.pools.kept import KeptValidity, PoolResults, ValiditySettings
from annotation_ui.pools.mistakes import NotOfThisProject, UnknownPool
from annotation_ui.pools.subsets import try_out
from annotation_ui.views import subset_validity as view
from compression.samplers import DEFAULT_SAMPLER
from compression.subset import Manifest

_MOST_SPLITS, _MOST_REPEATS = 20, 100


def draw_validity(page: Page, manifest: Manifest) -> None:
    """What was measured last for this size, and the way to measure it."""
    t = page.t
    try:
        state = pool_state(page.studio.workspace, page.who, manifest.pool)
    except UnknownPool:
        page.problem(NotOfThisProject(pool=manifest.pool))
        return
    with st.container(key="subset-validity-told"):
        page.at_work(_work(manifest))
    found = [
        kept
        for kept in PoolResults(page.studio.workspace).validities(state)
        if (kept.settings.size, kept.settings.missing) == (manifest.kept, manifest.missing.rule)
    ]
    if found:
        _measured(page, manifest, found[0])
    else:
        page.empty(
            t("Not measured yet"),
            t(
                "Models are left out in turn, subsets of this size are made of the others, and what they say of those "
                "left out is held against the truth: for each sampler, with random beside it. For a few thousand "
                "questions it takes a minute, for hundreds of thousands far longer. It is kept for all."
            ),
            [
                (
                    t("Below, or on the command line:"),
                    f"interplay compress validate {manifest.pool} --size {manifest.kept}",
                )
            ],
        )
    if page.who.may(Permission.COMPRESS):
        _form(page, manifest, is_first=not found)


def _work(manifest: Manifest) -> str:
    return f"subset validity {manifest.name}"


def _measured(page: Page, manifest: Manifest, kept: KeptValidity) -> None:
    t, found = page.t, kept.validation
    page.section(t("How well subsets of this size predict"), view.validity_words(kept, t))
    if view.is_of_other_scores(kept, manifest):
        page.notice(
            t("Scores came into the pool after this subset was chosen; this is told of the pool as it is."), "warn"
        )
    page.draw("subset_validity.html", rows=view.validity_rows(found, view.own_sampler(manifest), t))
    for note in view.undefined(found, t):
        page.draw("quiet.html", text=note)
    page.downloads(t("validity"), view.validity_columns(t), partial(view.validity_cells, found))


def _form(page: Page, manifest: Manifest, *, is_first: bool) -> None:
    t = page.t
    title = t("Measure it") if is_first else t("Measure it anew")
    own = view.own_sampler(manifest)
    with (
        st.expander(title, expanded=is_first, icon=":material/straighten:"),
        st.form("measure-subset", border=False),
    ):
        samplers = st.multiselect(
            t("Samplers, beside random"),
            list(view.MEASURED),
            default=[name for name in view.MEASURED if name in (own, DEFAULT_SAMPLER)],
            key="validity-samplers",
            format_func=lambda name: view.measured_words(t, name),
        )
        splits, repeats, share = st.columns(3)
        split_count = splits.number_input(
            t("Splits of the models"), 1, _MOST_SPLITS, ValiditySettings.model_fields["splits"].default,
            key="validity-splits", help=t("The paper has 5."),
        )  # fmt: skip
        repeat_count = repeats.number_input(
            t("Draws in each split"), 1, _MOST_REPEATS, ValiditySettings.model_fields["repeats"].default,
            key="validity-repeats", help=t("The paper has 10."),
        )  # fmt: skip
        held_out = share.number_input(
            t("Models left out, percent"), 1, 99, round(100 * ValiditySettings.model_fields["held_out"].default),
            key="validity-held-out",
        )  # fmt: skip
        sent = st.form_submit_button(title, type="primary")
    if not sent:
        return
    settings = ValiditySettings(
        size=manifest.kept, samplers=tuple(samplers), splits=int(split_count), repeats=int(repeat_count),
        held_out=int(held_out) / 100, missing=manifest.missing.rule,
    )  # fmt: skip
    work = partial(try_out, page.studio.workspace, page.who, manifest.pool, settings, page.studio.clock)
    if page.begin(_work(manifest), work):
        st.rerun()
