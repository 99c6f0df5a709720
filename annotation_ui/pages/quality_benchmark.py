"""What quality control says of the whole benchmark."""

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.quality_analysis import NEXT_RELEASE
from annotation_ui.quality import Counted
from annotation_ui.views import quality as view
from annotation_ui.views.quality_people import agreement_lines
from annotation_ui.views.quality_words import qc_words
from qc.report.document import QcReport
from qc.report.terminal import NEXT_ROUNDS


def draw_benchmark(page: Page, counted: Counted) -> None:
    """Draw it."""
    report, words = counted.report, qc_words(page.t.language)
    if not any(story.verdicts for item in report.items for story in item.rounds):
        page.draw("quality_next.html", text=words["unjudged"], command=NEXT_ROUNDS)
    page.section(page.t("The three rounds"))
    page.draw("quality_rounds.html", columns=view.round_columns(page.t), lines=view.round_lines(report, page.t))
    _reasons(page, report)
    _decoys(page, report)
    _audits(page)
    _agreement(page, report)
    page.section(
        words["key_positions"], page.t("Of accepted and released questions with one right choice, against chance.")
    )
    page.draw("quality_keys.html", keys=view.key_places(counted.keys, page.t))
    if report.runs:
        page.section(words["runs"])
        page.draw("quality_runs.html", w=words, lines=view.run_lines(report.runs, page.t))


def _reasons(page: Page, report: QcReport) -> None:
    words, lines = qc_words(page.t.language), view.reason_lines(report, page.t)
    page.section(words["reasons"], words["reasons_note"])
    if not lines:
        page.notice(page.t("Nothing has stopped yet."))
    for line in lines:
        with st.container(key=f"row-reason-{line.code}"):
            page.draw("quality_reason.html", line=line, most=lines[0].count)
            st.button(
                page.t("Show these items"), key=f"open-reason-{line.code}", on_click=_show, args=(page, line.code)
            )


def _show(page: Page, code: str) -> None:
    """Turn to the list of items, narrowed to a reason."""
    for key in [key for key in st.session_state if str(key).startswith(("part-", "reason-"))]:
        del st.session_state[key]
    st.query_params.from_dict({"part": "items", "reason": code})


def _decoys(page: Page, report: QcReport) -> None:
    t, words, decoys = page.t, qc_words(page.t.language), report.decoys
    page.section(words["decoys"], words["decoys_note"])
    lines = view.decoy_lines(decoys, t)
    if not lines:
        page.notice(words["no_decoys"])
        return
    for one in lines:
        if one.is_above:
            page.notice(f"{one.shown}{t(': ')}{words['above']} ({one.estimate}).", "warn")
    page.draw("quality_decoys.html", w=words, lines=lines, decoys=decoys)
    columns, curve = view.decoy_columns(decoys, t), view.decoy_curve(decoys, t)
    with st.expander(words["curve"]):
        page.draw("quality_curve.html", columns=columns, lines=curve, share=decoys.share, note=words["curve_note"])
        page.downloads(t("decoys"), columns, lambda: [[at, *told] for at, told in curve])


def _audits(page: Page) -> None:
    words = qc_words(page.t.language)
    page.section(words["certificate"])
    with page.studio.workspace.database.reading() as session:
        lines = view.audits(session, page.who, page.t)
    if lines:
        page.draw("quality_audits.html", lines=lines)
        return
    told = page.t("A certificate comes from a random audit of a release by people. There is no release yet; next:")
    page.draw("quality_next.html", text=told, command=NEXT_RELEASE)


def _agreement(page: Page, report: QcReport) -> None:
    words = qc_words(page.t.language)
    page.section(words["agreement"], words["agreement_note"])
    page.draw("quality_agreement.html", w=words, lines=agreement_lines(report.agreement, page.who, page.t))
    if report.solves:
        page.section(words["solves"], words["solves_note"])
        page.draw("quality_solves.html", w=words, lines=view.solve_lines(report.solves, page.t))
