"""Start page: what waits for the reader, where the work stands, what happened last."""

from collections.abc import Sequence

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages import home_coverage
from annotation_ui.permissions import Permission
from annotation_ui.views import home as view
from annotation_ui.views.my_work import Task
from annotation_ui.views.throughput import throughput
from annotation_ui.words import N_

_WHOSE = {"project": N_("The project"), "mine": N_("Mine")}


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    with page.studio.workspace.database.reading() as session:
        found = view.home(session, page.who, page.studio.clock(), t)
    page.title(t("Hello, {name}", name=page.who.display_name))
    if not page.who.may(Permission.SEE_ITEMS):
        if found.tasks:
            _tasks(page, found.tasks)
        else:
            page.notice(t("Nothing waits for you now. A maintainer will invite you to an exam or a game."))
        page.go("play", t("See the games"))
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
        page.go("quality", t("Why items stop: quality control"))
    _throughput(page)
    home_coverage.draw(page)
    page.section(t("What happened last"))
    page.draw("home_events.html", happenings=found.happenings)


def _tasks(page: Page, tasks: Sequence[Task]) -> None:
    with st.grid(min_column_width=180, gap="small", key="home-tasks"):
        for place, task in enumerate(tasks):
            with st.container(key=f"card-task-{place}"):
                page.draw("home_task.html", task=task)
                if st.button(page.t("Open"), key=f"open-task-{place}"):
                    page.open(task.page, **task.query)


def _welcome(page: Page) -> None:
    t = page.t
    page.empty(
        t("This project is empty"),
        t("A benchmark grows from media: bring some in, write questions on them, and let three rounds of review pass."),
        [
            (
                t("Bring in pictures, sounds and films on the page “Materials”, or a folder:"),
                "interplay material ingest FOLDER",
            ),
            (
                t("Write on the page “Write questions”, or bring in a file:"),
                "interplay item import items.yaml --author NAME",
            ),
            (t("Or look at a finished sample project:"), "interplay demo"),
        ],
    )
    page.go("materials", t("Materials"))
    if page.who.may(Permission.AUTHOR):
        page.go("author", t("Write questions"))


def _throughput(page: Page) -> None:
    """What was done in the last weeks, and how long it waited."""
    t = page.t
    head, choice = st.columns([4, 1], vertical_alignment="bottom")
    with head:
        page.section(t("The last weeks"))
    whose = page.choose(choice, t("Whose"), {code: t(label) for code, label in _WHOSE.items()}, "whose", "project")
    with page.studio.workspace.database.reading() as session:
        found = throughput(session, page.who, page.studio.clock(), t, mine=whose == "mine")
    if found.is_empty:
        page.draw("quiet.html", text=t("Nothing was handed in, decided or recorded in these weeks."))
        return
    page.draw("home_weeks.html", weeks=found.weeks, measures=found.measures)
    if found.waits:
        page.section(t("How long a round takes"), t("From the moment when an item stood before it to its decision."))
        page.draw("home_waits.html", waits=found.waits)
