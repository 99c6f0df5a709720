"""One subset: what is kept, the questions with their weights, new models estimated, how well it predicts, and more."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.pool_fields import SCORE_FILES, TABLES, given, reading_fields
from annotation_ui.pages.subset_larger import draw_larger
from annotation_ui.pages.subset_validity import draw_validity
from annotation_ui.pools.desk import estimate_upload, label_counts, one_subset, questions_file
from annotation_ui.pools.mistakes import UnknownSubset
from annotation_ui.views import subset as view
from annotation_ui.words import N_
from compression.subset import Manifest, SubsetSample
from compression.subset_view import QuestionQuery, subset_questions
from core.errors import InterplayError

KEEPING, QUESTIONS, ESTIMATE = N_("What is kept"), N_("List of questions"), N_("Estimate a new model")
PREDICTS, LARGER = N_("How well it predicts"), N_("Make it larger")


def draw(page: Page) -> None:
    """Draw the subset that the address names."""
    t = page.t
    name = st.query_params.get("name", "")
    try:
        manifest, sample = one_subset(page.studio.workspace, page.who, name)
    except UnknownSubset as told:
        page.go("pools", t("All pools"), back=True)
        page.problem(told)
        return
    st.page_link(
        page.others["pool"], label=t("To the pool"), icon=":material/arrow_back:", query_params={"name": manifest.pool}
    )
    page.title(manifest.name, view.size_words(manifest, t))
    parts: dict[str, Callable[[], None]] = {
        KEEPING: partial(_keeping, page, manifest, sample),
        QUESTIONS: partial(_questions, page, manifest, sample),
        ESTIMATE: partial(_estimate, page, manifest, sample),
        PREDICTS: partial(draw_validity, page, manifest),
        LARGER: partial(draw_larger, page, manifest),
    }
    for tab, draw_part in zip(
        st.tabs([t(part) for part in parts], key="subset-tab", on_change="rerun"), parts.values(), strict=True
    ):
        if tab.open:
            with tab:
                draw_part()


def _keeping(page: Page, manifest: Manifest, sample: SubsetSample) -> None:
    t = page.t
    left, right = st.columns([3, 2], gap="large")
    with left:
        page.draw("pairs.html", pairs=view.facts_of(manifest, t))
    with right:
        page.section(t("SHA-256"), t("The manifest never changes: whoever has this hash knows what was chosen."))
        page.draw("hashes.html", pairs=view.hashes_of(manifest, t))
    page.section(t("By benchmark"))
    rows = [(row, "") for row in view.benchmark_rows(manifest, sample, t)]
    page.draw("kept_table.html", head=t("Benchmark"), rows=rows, with_mean=False)
    _labels(page, manifest, sample)
    if manifest.strata:
        page.section(t("By stratum"), t("Strata hold questions on which models behave alike; the hardest first."))
        page.draw("kept_table.html", head=t("Stratum"), rows=view.stratum_rows(manifest, t), with_mean=True)


def _labels(page: Page, manifest: Manifest, sample: SubsetSample) -> None:
    t = page.t
    with st.expander(t("By your own labels")):
        file = given(
            st.file_uploader(
                t("Labels of questions"),
                type=TABLES,
                key="look-labels",
                help=t("A table with question_id and a column for each kind of label."),
            )
        )
    try:
        found = label_counts(page.studio.workspace, page.who, manifest, sample, file)
    except InterplayError as error:
        page.problem(error)
        return
    for column, counts in found.items():
        page.section(t("By {column}", column=column))
        rows = [(row, "") for row in view.label_rows(counts, manifest, t)]
        page.draw("kept_table.html", head=column, rows=rows, with_mean=False)


def _questions(page: Page, manifest: Manifest, sample: SubsetSample) -> None:
    t = page.t
    words, benchmark, which = st.columns([3, 2, 2], vertical_alignment="bottom")
    pool = questions_file(page.studio.workspace, page.who, manifest.pool)
    text = page.search(words, t("Search"), "question-search", t("Id of a question"))
    names = {one.name: one.name for one in manifest.benchmarks}
    chosen = page.choose(benchmark, t("Benchmark"), names, "benchmark")
    kept = page.choose(which, t("Which"), {code: t(label) for code, label in view.WHICH.items()}, "which", view.KEPT)
    query = QuestionQuery(text.strip(), chosen, kept != view.LEFT, page.page_number, view.PAGE_SIZE)
    rows, total = subset_questions(manifest, sample, pool, query)
    page.draw("count.html", text=t.plural("{count} question", "{count} questions", total))
    if pool is None and kept == view.LEFT:
        page.notice(t("The pool was not looked at yet: open it once, then what is left out shows here."))
    elif not rows:
        page.notice(t("No question fits this choice. Take a filter away."))
    else:
        page.draw("subset_questions.html", rows=view.question_lines(rows, manifest, t))
        page.pages(-(-total // view.PAGE_SIZE))
    page.section(
        t("Save what is kept"),
        t("An estimate is the sum of weights times scores; a plain mean is right only where all weights are equal."),
    )
    page.downloads(manifest.name, view.MEMBER_COLUMNS, partial(view.member_cells, manifest, sample))


def _estimate(page: Page, manifest: Manifest, sample: SubsetSample) -> None:
    t = page.t
    page.section(
        t("Estimate a new model"),
        t(
            "Give the scores of a model that answered the {count} questions of this subset. Nothing is stored.",
            count=t.number(len(sample)),
        ),
    )
    with st.form("estimate", border=False):
        file = st.file_uploader(t("File of scores"), type=SCORE_FILES, key="estimate-file")
        _, reading = reading_fields(page, "estimate")
        sent = st.form_submit_button(t("Estimate"), type="primary")
    if not sent:
        return
    scores = given(file)
    if scores is None:
        page.notice(t("Choose a file."), "warn")
        return
    try:
        with st.spinner(t("Estimating …")):
            found = estimate_upload(page.studio.workspace, page.who, manifest.name, scores, reading())
    except InterplayError as error:
        page.problem(error)
        return
    if found.models:
        page.draw("estimates.html", rows=view.estimate_rows(found, t))
    for note in view.unestimated(found, len(sample), t):
        page.notice(note, "warn")
    if found.beside:
        beside = t(
            "Answers to {count} questions that are not in the subset are not used.", count=t.number(found.beside)
        )
        page.draw("quiet.html", text=beside)
