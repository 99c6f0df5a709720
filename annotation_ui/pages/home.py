"""Start page: what waits for the reader, where the work stands, what happened last."""

from collections.abc import Sequence

import streamlit as st

from annotation_ui import labels
from annotation_ui.page import Page
from annotation_ui.permissions import Permission
from annotation_ui.views import home as view


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    with page.studio.workspace.database.reading() as session:
        found = view.home(session, page.who, page.studio.clock(), t)
    page.title(t("Hello, {name}", name=page.who.display_name))
    if not page.who.may(Permission.SEE_ITEMS):
        page.notice(t("There is nothing for you to do here yet. A maintainer will invite you to an exam or a game."))
        return
    if found.is_empty:
        _welcome(page)
        return
    if found.tasks:
        _tasks(page, found.tasks)
    left, right = st.columns([3, 2], gap="large")
    with left:
        page.section(t("From materials to the release"))
        page.draw("home_funnel.html", stages=found.funnel)
        if found.aside:
            page.section(t("Off the path"))
            page.draw("home_funnel.html", stages=found.aside)
    with right:
        page.section(t("Where items wait"))
        page.draw("home_waiting.html", waiting=found.waiting)
        page.section(t("What happened last"))
        page.draw("home_events.html", happenings=found.happenings)
    _coverage(page)


def _tasks(page: Page, tasks: Sequence[view.Task]) -> None:
    with st.grid(min_column_width=180, gap="small", key="home-tasks"):
        for place, task in enumerate(tasks):
            with st.container(key=f"card-task-{place}"):
                page.draw("home_task.html", task=task)
                if st.button(page.t("Open"), key=f"open-task-{place}"):
                    page.open(task.page)


def _welcome(page: Page) -> None:
    t = page.t
    page.empty(
        t("This project is empty"),
        t("A benchmark grows from media: bring some in, write questions on them, and let three rounds of review pass."),
        [
            (t("Bring in pictures, sounds and films:"), "interplay material ingest FOLDER"),
            (t("Write questions in a file and import it:"), "interplay item import items.yaml --author NAME"),
            (t("Or look at a finished sample project:"), "interplay demo"),
        ],
    )


def _coverage(page: Page) -> None:
    t = page.t
    with page.studio.workspace.database.reading() as session:
        languages = view.languages(session)
    if not languages:
        return
    page.section(
        t("Coverage"), t("Items that are not rejected or retired, by task type and by the media that they show.")
    )
    chosen = None
    if len(languages) > 1:
        chosen = st.segmented_control(
            t("Question language"),
            languages,
            format_func=lambda code: labels.question_language(t, code),
            key="coverage",
        )
    with page.studio.workspace.database.reading() as session:
        coverage = view.coverage(session, t, chosen)
    page.draw("home_coverage.html", coverage=coverage)
    if coverage.untouched:
        missing = t(
            "{count} of {all} task types have no item yet", count=len(coverage.untouched), all=coverage.task_type_count
        )
        with st.expander(missing):
            page.draw("names.html", names=coverage.untouched)
