"""Item analysis of a release."""

from functools import partial

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.quality_items import tell_hidden
from annotation_ui.quality import QUICK_ITEMS, Analysed, Counted, analysis_key, release_size, stored_answers_name
from annotation_ui.views import item_analysis as view
from annotation_ui.views.quality_words import qc_words
from qc.item_analysis import ItemAnalysis
from warehouse.tables import Release

NEXT_RELEASE = "interplay release build NAME VERSION"


def draw_analysis(page: Page, counted: Counted) -> None:
    """Draw it; what was counted over all items does not matter here."""
    t = page.t
    with page.studio.workspace.database.reading() as session:
        offered = view.releases(session, page.who)
    if not offered:
        page.empty(
            t("There is no release to analyse yet"),
            t("From what models answer, item analysis tells how hard each question is and whether it sets them apart."),
            [(t("Build a release of what is accepted:"), NEXT_RELEASE)],
        )
        return
    names = {release.id: f"{release.name} {release.version}" for release in offered}
    place, _ = st.columns([1, 2])
    chosen = page.choose(place, t("Release"), names, "release", default=offered[0].id)
    release = next(release for release in offered if release.id == chosen)
    analysed = _analysed(page, release)
    if analysed is not None:
        _draw(page, release, analysed.analysis)


def _analysed(page: Page, release: Release) -> Analysed | None:
    """The analysis by the answers that are stored; the one before, until another is made."""
    studio, key = page.studio, analysis_key(release)
    found = studio.quality.analysed(release)
    if found is not None and found.answers == stored_answers_name(studio.workspace.facts):
        return found
    with studio.workspace.database.reading() as session:
        size = release_size(session, release)
    if size <= QUICK_ITEMS:
        return studio.quality.analyse(studio.workspace, release)
    if found is None and studio.background.job(key) is None:
        _start(page, release)
    page.at_work(key)
    if not studio.background.is_at_work(key):
        told = page.t("Answers came in since this was analysed.") if found else page.t("This is not analysed yet.")
        with st.container(horizontal=True, vertical_alignment="center", key="analysis-age"):
            page.draw("count.html", text=told)
            st.button(page.t("Analyse again"), key="analyse", type="tertiary", on_click=_start, args=(page, release))
    return found


def _start(page: Page, release: Release) -> None:
    studio = page.studio
    page.have_begun(analysis_key(release), partial(studio.quality.analyse, studio.workspace, release))


def _draw(page: Page, release: Release, analysis: ItemAnalysis) -> None:
    t = page.t
    if analysis.models:
        if analysis.note:
            page.notice(t("Nobody was evaluated on this release: these are the answers of quality control's panel."))
        _items(page, analysis)
    else:
        command = f"interplay evaluation run {release.name} {release.version} --model MODEL"
        page.draw("quality_next.html", text=t("No model has answered this release yet; next:"), command=command)
    keys, traits = view.key_lines(analysis, t)
    page.section(t("What gives keys away"), t("Of the release's questions with one right choice, against chance."))
    page.draw("quality_keys.html", keys=keys)
    page.draw("quality_traits.html", lines=traits)


def _items(page: Page, analysis: ItemAnalysis) -> None:
    t, now, database = page.t, page.studio.clock(), page.studio.workspace.database
    page.section(
        t("How hard, and for whom"),
        t("Difficulty is the mean of the points: the larger, the easier. The item-rest correlation and the "
          "discrimination tell whether models that are better elsewhere are better here too. Choices are told by their "
          "share of the answers: the key is bold, a wrong choice that hardly anybody takes is crossed out."),
    )  # fmt: skip
    page.draw("quality_models.html", models=analysis.models)
    place, flag, _ = st.columns([2, 3, 2], vertical_alignment="bottom")
    text = page.search(place, t("Item"), "analysis-search")
    with database.reading() as session:
        flags = view.flag_choices(session, analysis, page.who, now, t)
    query = view.AnalysisQuery(text, page.choose(flag, t("Remarks"), flags, "flag"), page.page_number)
    with database.reading() as session:
        found = view.analysis_page(session, analysis, page.who, query, now, t)
    page.draw("count.html", text=t.plural("{count} item", "{count} items", found.total))
    words = qc_words(t.language)
    page.draw(
        "quality_analysis.html", columns=view.analysis_columns(t), rows=found.rows, undefined=words["undefined"],
        linked=True,
    )  # fmt: skip
    page.pages(found.page_count)
    tell_hidden(page, found.hidden)
    page.downloads(
        t("item analysis"), view.analysis_columns(t),
        partial(view.analysis_rows, database, analysis, page.who, query, now, t),
    )  # fmt: skip
