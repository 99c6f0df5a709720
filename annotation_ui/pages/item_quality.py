"""What quality control fills of an item's page: why it stands where it stands, answers, gates, item analysis."""

from functools import partial

import streamlit as st

from annotation_ui.html import as_label
from annotation_ui.page import Page
from annotation_ui.quality import stored_answers_name
from annotation_ui.told import Told
from annotation_ui.views import item_analysis
from annotation_ui.views import quality_item as view
from annotation_ui.views.quality_words import qc_words
from qc.report.terminal import NEXT_ROUNDS


def draw_quality(page: Page, name: str, number: int) -> None:
    """Draw it, of one revision of an item."""
    t, words = page.t, qc_words(page.t.language)
    try:
        found = view.item_quality(page.studio.workspace, page.who, name, number, page.studio.clock(), t)
    except Told as told:
        page.notice(t(told.text, **told.values))
        return
    if not any(one.verdicts for one in found.rounds):
        page.draw("quality_next.html", text=f"{words['no_rounds']} {t('Next:')}", command=NEXT_ROUNDS)
    for sentence in found.suspect:
        page.notice(f"{t('Suspect key')}{t(': ')}{sentence}", "warn")
    if found.why != found.suspect:
        page.section(t("Why it stands here"))
        page.draw("quality_why.html", reasons=found.reasons, why=found.why)
    _answers(page, found)
    for one in found.rounds:
        page.draw("quality_round.html", round=one, w=words)
    if found.solves:
        page.section(words["solves"], words["solves_note"])
        page.draw("quality_solves.html", w=words, lines=found.solves)
    _analysis(page, name, number)


def _answers(page: Page, found: view.ItemQuality) -> None:
    t, words = page.t, qc_words(page.t.language)
    if not found.table.rows:
        return
    page.section(words["table"], words["table_note"])
    page.draw("quality_table.html", table=found.table, w=words)
    if found.story.lost:
        page.draw("count.html", text=f"{t.number(found.story.lost)} {words['lost']}")
    with st.expander(t("Every answer")):
        place, other, _ = st.columns([2, 2, 2])
        condition = page.choose(place, words["condition"], view.conditions(found.story, t), "answer-condition")
        model = page.choose(other, words["model"], {one: one for one in found.table.models}, "answer-model")
        lines = view.answer_lines(found.story, t, model, condition)
        page.draw("count.html", text=t.plural("{count} answer", "{count} answers", len(lines)))
        page.draw("quality_answers.html", lines=lines, w=words)
    page.downloads(t("answers"), view.answer_columns(t), partial(view.answer_rows, found.story, t))


def _analysis(page: Page, name: str, number: int) -> None:
    t, studio, words = page.t, page.studio, qc_words(page.t.language)
    with studio.workspace.database.reading() as session:
        release = item_analysis.release_of(session, name, number)
    page.section(t("Item analysis"))
    if release is None:
        page.draw("count.html", text=t("It tells of releases, and this revision is in none."))
        return
    found = studio.quality.analysed(release)
    line = item_analysis.of_item(found.analysis, name, t) if found else None
    if line is not None:
        page.draw(
            "quality_analysis.html", columns=item_analysis.analysis_columns(t), rows=[line],
            undefined=words["undefined"], linked=False,
        )  # fmt: skip
    is_fresh = found is not None and found.answers == stored_answers_name(studio.workspace.facts)
    if line is None or not is_fresh:
        label = t("Analyse {release}", release=as_label(f"{release.name} {release.version}"))
        if st.button(label, key="analyse-release"):
            page.open("quality", part="analysis", release=release.id)
