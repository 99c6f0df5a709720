"""What reviewers could not settle: a maintainer reads both sides and decides."""

from collections.abc import Sequence

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages import review_verdict
from annotation_ui.people import display_names
from annotation_ui.reviewing import desk
from annotation_ui.views import review as view
from annotation_ui.views.formats import searched
from qc.review.disputes import disputes
from warehouse.tables import Decision


def listed(page: Page) -> None:
    """What waits for a maintainer's decision, if anything does."""
    t = page.t
    with page.studio.workspace.database.reading() as session:
        waiting = disputes(session, page.who.name, page.studio.clock)
    if not waiting:
        if not desk.is_reviewer(page.who):
            page.empty(
                t("No dispute waits for you"),
                t("Where three reviewers cannot agree, a maintainer who had no hand in the question decides here."),
                [(t("See what waits for whom:"), "interplay qc review waiting")],
            )
        return
    page.section(
        t("Your decision is asked"), t("Three reviewers could not agree on these. Read both sides and decide.")
    )
    for one in waiting:
        with st.container(key=f"row-{one.item}"):
            since = t.ago(one.since, page.studio.clock())
            page.draw("use.html", use={"name": one.item, "state_label": since})
            if st.button(t("Open"), key=f"open-{one.item}"):
                page.open("review", name=one.item)


def draw(page: Page, name: str) -> None:
    """Draw one dispute."""
    t = page.t
    page.go("review", t("Back to your desk"), back=True)
    try:
        with page.studio.workspace.database.reading() as session:
            found = desk.see_dispute(session, page.who, searched(name), page.studio.clock)
            names = display_names(session, [one.reviewer for one in found.opinions])
    except desk.NoDispute as error:
        page.problem(error)
        return
    page.title(found.item, t("The reviewers could not settle this question. Your decision does."))
    seen, decide = st.columns([7, 5], gap="large")
    with seen:
        page.section(t("What the reviewers said"))
        for line in view.opinion_lines(found, names, page.studio.clock(), t):
            page.draw("verdicts.html", verdicts=[line.verdict])
            if line.answers:
                page.draw("review_answers.html", answers=line.answers, others=())
            if line.suggestions:
                page.draw("changes.html", changes=line.suggestions)
        review_verdict.background(page, found.background)
    with decide:
        choices = [one for one in Decision if one is not Decision.UNKNOWN]
        review_verdict.panel(page, _deciding(page, found.item, found.revision_id, choices), found.background.question)


def _deciding(page: Page, item: str, revision_id: str, choices: Sequence[Decision]) -> review_verdict.Desk:
    def hand_in(key: str, judged: desk.Judged) -> None:
        with page.studio.workspace.database.session() as session:
            desk.settle(session, page.who, key, item, judged, page.studio.clock)

    def leave(_go_on: bool) -> None:
        st.session_state[review_verdict.SAID] = page.t("Your decision on {item} is stored.", item=item)
        st.query_params.pop("name", None)

    return review_verdict.Desk(revision_id, choices, hand_in, leave)
