"""The form for a new release: what goes in, how it is split, and how many questions that makes."""

from functools import partial

import streamlit as st

from annotation_ui import labels
from annotation_ui.page import Page
from annotation_ui.releases.desk import BUILD_WORK, NewRelease, build
from annotation_ui.views.release_build import LICENCES, MEDIA, BuildForm, build_form, fit_words
from warehouse.release.build import Query, Recipe, fitting
from warehouse.release.splits import SplitPlan

_OPEN, _MINE = "build-form", "build-is-mine"


def draw_build(page: Page) -> None:
    """The form, closed until it is wanted; what was built from here is opened once it is there."""
    t = page.t
    job = page.at_work(BUILD_WORK)
    if job is not None and st.session_state.pop(_MINE, False) and isinstance(job.outcome, str):
        page.open("release", id=job.outcome)
    at_work = page.studio.background.is_at_work(BUILD_WORK)
    with st.expander(t("Build a release"), icon=":material/add:", key=_OPEN, on_change="rerun") as form:
        # Counting all questions takes a moment: only for whoever looks.
        if form.open:
            _form(page, at_work)


def _form(page: Page, at_work: bool) -> None:
    t = page.t
    with page.studio.workspace.database.reading() as session:
        offered = build_form(session, page.who, t)
    left, right = st.columns(2, gap="large")
    with left:
        page.section(t("Name and splits"))
        name, version, licence, plan = _named(page, offered)
    with right:
        page.section(t("What goes in"), t("Accepted questions only. Choose nothing to take all of them."))
        query = _query(page, offered)
        found = fit_words(fitting(offered.shapes, query), t)
        page.draw("release_fit.html", found=found)
    if st.button(t("Build the draft"), type="primary", disabled=at_work or not found.chosen, key="build"):
        if plan is None:
            return
        _start(page, NewRelease(name.strip(), version.strip(), Recipe(query, plan, licence)))


def _named(page: Page, offered: BuildForm) -> tuple[str, str, str | None, SplitPlan | None]:
    t = page.t
    names, versions = st.columns([3, 2])
    name = names.text_input(t("Release name"), offered.name, max_chars=64, key="build-name")
    version = versions.text_input(t("Version"), offered.version, max_chars=32, key="build-version")
    licence = st.selectbox(
        t("Licence of the questions"), LICENCES, index=0, key="build-licence", accept_new_options=True,
        help=t("An identifier such as CC-BY-4.0, or the licence's web address. Media keep their own licences."),
    )  # fmt: skip
    dev = st.slider(t("Dev"), 0, 100, 20, 5, format="%d%%", key="build-dev", help=t("For tuning; public with answers."))
    holdout = st.slider(
        t("Hold-out"), 0, 100, 0, 5, format="%d%%", key="build-holdout",
        help=t("Never leaves the project: of these questions only names and hashes are published."),
    )  # fmt: skip
    rest = 100 - dev - holdout
    if rest < 0:
        page.notice(t("Dev and hold-out together are more than everything. Make one of them smaller."), "warn")
        return name, version, licence, None
    page.draw(
        "quiet.html",
        text=t(
            "{share}% are left for the test split. Twins and look-alikes stay together, and whatever an earlier sealed "
            "version held keeps its split.",
            share=rest,
        ),
    )
    seed = st.number_input(t("Seed"), 0, 2**31 - 1, 0, key="build-seed", help=t("Another seed draws other splits."))
    return name, version, licence, SplitPlan(dev / 100, holdout / 100, int(seed))


def _query(page: Page, offered: BuildForm) -> Query:
    t = page.t
    task_types = st.multiselect(
        t("Task types"), list(offered.task_types), format_func=lambda code: offered.task_types.get(code, code),
        key="build-task-types", placeholder=t("All"),
    )  # fmt: skip
    languages = st.multiselect(
        t("Languages"), list(offered.languages), format_func=lambda code: offered.languages.get(code, code),
        key="build-languages", placeholder=t("All"),
    )  # fmt: skip
    media = st.pills(
        t("Shows at least"), MEDIA, selection_mode="multi", key="build-media",
        format_func=lambda one: t(labels.MODALITIES[one]),
    )  # fmt: skip
    return Query(task_types, languages, media)


def _start(page: Page, new: NewRelease) -> None:
    work = partial(build, page.studio.workspace, page.who, new, page.studio.clock)
    if page.begin(BUILD_WORK, work):
        st.session_state[_MINE] = True
        st.rerun()
