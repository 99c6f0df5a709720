"""What the benchmark has against what it shall have, and how questions spread: the last part of the start page."""

import streamlit as st

from annotation_ui import labels
from annotation_ui.page import Page
from annotation_ui.pages.author import begin_question
from annotation_ui.permissions import Permission
from annotation_ui.views.coverage import Questions, TargetRow, coverage, languages, questions, target_rows

FIRST = 6
"""So many targets stand there at once, those first that lack most."""


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    with page.studio.workspace.database.reading() as session:
        found = questions(session)
        rows = target_rows(session, found, t)
    if rows:
        _targets(page, rows)
    if found:
        _coverage(page, found, bool(rows))
    if not rows and page.who.may(Permission.SET_TARGETS):
        page.draw("quiet.html", text=t("Nobody has said yet how many questions of which kind are wanted."))
    if page.who.may(Permission.SET_TARGETS):
        page.go("targets", t("Set targets"))


def _targets(page: Page, rows: list[TargetRow]) -> None:
    t = page.t
    missing = sum(row.missing for row in rows)
    lead = (
        t.plural("{count} question is missing still.", "{count} questions are missing still.", missing)
        if missing
        else t("Every target is reached.")
    )
    page.section(t("Coverage against targets"), lead)
    writes = page.who.may(Permission.AUTHOR)
    for place, row in enumerate(rows[:FIRST]):
        told, act = st.columns([6, 1], vertical_alignment="center")
        with told:
            page.draw("target_row.html", row=row)
        if writes and row.missing and act.button(t("Write one"), key=f"write-target-{place}", type="tertiary"):
            begin_question(page, row.shape.task_type, row.shape.language)
    if len(rows) > FIRST:
        with st.expander(t.plural("{count} target in all", "{count} targets in all", len(rows))):
            page.draw("target_table.html", rows=rows)


def _coverage(page: Page, found: Questions, has_targets: bool) -> None:
    t = page.t
    page.section(
        t("What there is") if has_targets else t("Coverage"),
        t("Items that are not rejected or retired, by task type and by the media that they show."),
    )
    offered, chosen = languages(found), None
    if len(offered) > 1:
        chosen = st.segmented_control(
            t("Question language"),
            offered,
            format_func=lambda code: labels.question_language(t, code),
            key="coverage",
        )
    shown = coverage(found, t, chosen)
    page.draw("home_coverage.html", coverage=shown)
    if shown.untouched:
        missing = t(
            "{count} of {all} task types have no item yet", count=len(shown.untouched), all=shown.task_type_count
        )
        with st.expander(missing):
            page.draw("names.html", names=shown.untouched)
