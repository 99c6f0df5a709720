"""How many questions of a pool tell enough: the cost-benefit curve, and a size by what it costs or what it tells."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.pool_choose import choose_this, rule_field
from annotation_ui.permissions import Permission
from annotation_ui.pools.desk import work_out_curve
from annotation_ui.pools.kept import CurveSettings, KeptCurve, PoolResults
from annotation_ui.views import pool_curve as view
from annotation_ui.words import N_
from compression.curve_values import Curve
from compression.pool_picture import PoolPicture, PoolState
from compression.samplers import DEFAULT_SAMPLER

WAYS = {
    view.BY_SIZE: N_("By number of questions"),
    view.BY_MARGIN: N_("By margin of error"),
    view.BY_BUDGET: N_("By budget"),
}
MOST_SPLITS, MOST_REPEATS = 20, 100
_STEPS = 400


def draw_size(page: Page, state: PoolState, picture: PoolPicture) -> None:
    """The curve if there is one, and the way to it."""
    t = page.t
    results = PoolResults(page.studio.workspace)
    with st.container(key="pool-curve-told"):
        page.at_work(_work(state))
    curves = results.curves(state)
    if not curves:
        page.empty(
            t("The curve of this pool is not worked out yet"),
            t(
                "It tells what margin of error a number of questions buys, measured on models that are left out. For a "
                "few thousand questions it takes a minute, for hundreds of thousands far longer. It is kept for all."
            ),
            [(t("Below, or on the command line:"), f"interplay compress curve {state.pool}")],
        )
    else:
        kept = _one_of(page, curves)
        _curve(page, results, kept)
        _chooser(page, state, kept)
        _numbers(page, kept.curve)
    _new_curve(page, state, picture, is_first=not curves)


def _work(state: PoolState) -> str:
    return f"pool curve {state.pool}"


def _one_of(page: Page, curves: Sequence[KeptCurve]) -> KeptCurve:
    if len(curves) == 1:
        return curves[0]
    by_key = {kept.key: kept for kept in curves}
    names = {key: view.curve_label(kept, page.t) for key, kept in by_key.items()}
    place, _ = st.columns([2, 1])
    chosen = page.choose(place, page.t("Curve"), names, "curve", default=curves[0].key)
    return by_key.get(chosen or "", curves[0])


def _curve(page: Page, results: PoolResults, kept: KeptCurve) -> None:
    drawn = results.curve_picture(kept, page.t.language)
    page.section(page.t("What a number of questions buys"), view.made_of(kept, page.t))
    found = view.findings(kept.curve, page.t)
    if drawn is not None:
        page.picture(drawn, " ".join(found))
    page.draw("lines.html", lines=found)


def _chooser(page: Page, state: PoolState, kept: KeptCurve) -> None:
    t, curve = page.t, kept.curve
    page.section(t("Choose a size"))
    names = [one.sampler for one in curve.samplers]
    way_place, sampler_place = st.columns([5, 2], vertical_alignment="bottom")
    way = way_place.segmented_control(
        t("How"),
        list(WAYS),
        default=view.BY_SIZE,
        format_func=lambda code: t(WAYS[code]),
        key="size-way",
        required=True,
    )
    sampler = sampler_place.selectbox(
        t("Sampler"), names, index=names.index(curve.chosen), key=f"size-sampler-{kept.key}"
    )
    size = _size(page, kept, way, sampler)
    if size < view.smallest(curve):
        page.notice(
            t("That is less than {count} questions, too few for a sample that tells anything.",
              count=t.number(view.smallest(curve))),
            "warn",
        )  # fmt: skip
        return
    page.draw("quiet.html", text=view.size_sentence(curve, size, sampler, t))
    page.draw("size_table.html", rows=view.size_rows(curve, size, sampler, t))
    if page.who.may(Permission.COMPRESS):
        st.button(
            t("Choose {count} questions", count=t.number(size)), key="choose-size", type="primary",
            on_click=choose_this, args=(page, state, size, sampler, kept.settings.missing),
        )  # fmt: skip


def _size(page: Page, kept: KeptCurve, way: str | None, sampler: str) -> int:
    t, curve = page.t, kept.curve
    if way == view.BY_MARGIN:
        place, _ = st.columns([1, 2])
        margin = place.number_input(
            t("Margin of error, points of 100"), 0.05, 50.0, 2.0, 0.1, format="%.2f", key="size-margin"
        )
        return view.size_for_margin(curve, sampler, round(margin / 100, 6))
    if way == view.BY_BUDGET:
        budget, answer, models = st.columns(3)
        most_usd = budget.number_input(t("Budget, US dollars"), 0.0, None, 100.0, 10.0, key="size-budget")
        usd = answer.number_input(t("Price of one answer"), 0.0, None, 0.002, 0.001, format="%.4f", key="size-price")
        asked = int(models.number_input(t("Models to ask"), 1, 10_000, 10, key="size-models"))
        size = view.size_for_budget(curve, most_usd, usd, asked)
        page.draw("quiet.html", text=view.cost_sentence(size, usd, asked, t))
        return size
    least, most = view.smallest(curve), curve.questions
    return int(
        st.slider(
            t("Number of questions"),
            least,
            most,
            min(max(view.start_size(curve), least), most),
            step=max(1, (most - least) // _STEPS),
            key=f"size-questions-{kept.key}",
        )
    )


def _numbers(page: Page, curve: Curve) -> None:
    t = page.t
    with st.expander(t("The numbers behind the curve")):
        names = [one.sampler for one in curve.samplers]
        page.draw("curve_table.html", names=names, rows=view.curve_table(curve, t), chosen=curve.chosen)
        page.downloads(t("curve"), view.curve_columns(curve, t), partial(view.curve_cells, curve))
        repeats = view.repeat_table(curve, t)
        if repeats:
            page.section(
                t("Drawn to confirm it"),
                t("At three sizes samples were really drawn. 95% of the intervals should hold the truth."),
            )
            page.draw("curve_repeats.html", rows=repeats)


def _new_curve(page: Page, state: PoolState, picture: PoolPicture, *, is_first: bool) -> None:
    if not page.who.may(Permission.COMPRESS):
        return
    t = page.t
    title = t("Work out the curve") if is_first else t("Work out another curve")
    with (
        st.expander(title, expanded=is_first, icon=":material/show_chart:"),
        st.form("new-curve", border=False),
    ):
        names = [name for name in view.SAMPLERS if name != view.RANDOM and name not in view.WITHOUT_STRATA]
        samplers = st.multiselect(
            t("Samplers, beside random"), names, default=["cghs", DEFAULT_SAMPLER], key="curve-samplers",
            format_func=lambda name: view.sampler_words(t, name),
        )  # fmt: skip
        splits, repeats, margin = st.columns(3)
        split_count = splits.number_input(
            t("Splits of the models"), 1, MOST_SPLITS, 5, key="curve-splits", help=t("The paper has 5.")
        )
        repeat_count = repeats.number_input(t("Draws a split, to confirm it"), 0, MOST_REPEATS, 10, key="curve-repeats")
        asked = margin.number_input(t("Margin to find the size for, points"), 0.1, 50.0, 2.0, 0.1, key="curve-margin")
        missing = rule_field(page, picture, "curve-missing")
        sent = st.form_submit_button(title, type="primary")
    if not sent:
        return
    settings = CurveSettings(
        samplers=tuple(samplers), splits=int(split_count), repeats=int(repeat_count), missing=missing,
        margin=round(asked / 100, 6),
    )  # fmt: skip
    work = partial(work_out_curve, page.studio.workspace, page.who, state.pool, settings, page.studio.clock)
    if page.begin(_work(state), work):
        st.rerun()
