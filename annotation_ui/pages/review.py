"""The reviewer's desk: blind without one kind of material, blind with all, then the author's answer and a verdict."""

from typing import NoReturn

import streamlit as st

from annotation_ui import labels
from annotation_ui.components.scene import scene
from annotation_ui.components.shortcuts import Shortcut, shortcuts
from annotation_ui.page import Page
from annotation_ui.pages import review_answer, review_dispute, review_kept, review_verdict
from annotation_ui.permissions import Permission
from annotation_ui.reviewing import desk
from annotation_ui.reviewing.desk import TaskEnded, TaskLost
from annotation_ui.told import Told
from annotation_ui.views import review as view
from core.errors import InterplayError
from qc.review.blind import ReviewView, Stage
from qc.review.queue import Task, present_task, waiting_for
from qc.review.waiting import OPEN_CASE, REVIEW
from warehouse.tables import Decision

_HELD = "review-held"


def draw(page: Page) -> None:
    """Draw what the person is at work on, or what waits for them."""
    if page.who.may(Permission.SEE_EVERY_KEY) and st.query_params.get("name"):
        review_dispute.draw(page, st.query_params["name"])
        return
    task = None
    if desk.is_reviewer(page.who):
        with page.studio.workspace.database.reading() as session:
            task = present_task(session, page.who.name, page.studio.clock)
    held: Task | None = st.session_state.get(_HELD)
    if held is not None and (task is None or task.assignment_id != held.assignment_id):
        _gone(page, held)
        return
    if task is None:
        _idle(page)
        return
    st.session_state[_HELD] = task
    page.title(page.t("Review"))
    _say(page)
    try:
        _case(page, task) if task.kind == OPEN_CASE else _review(page, task)
    except (TaskLost, TaskEnded) as error:
        page.problem(error)
        _typed(page, task)
        _take_button(page, task.kind, page.t("Take the next one"))


def _idle(page: Page) -> None:
    """What waits, and what was done last."""
    t = page.t
    page.title(t("Review"), t("Answer first without knowing the key, then judge the question and its answer."))
    _say(page)
    if desk.is_reviewer(page.who):
        _waiting(page)
    elif page.who.may(Permission.SEE_EVERY_KEY):
        page.notice(t(desk.NoReviewer.text))
    if page.who.may(Permission.SEE_EVERY_KEY):
        review_dispute.listed(page)
    if desk.is_reviewer(page.who):
        _recent(page)
    review_kept.keep(page, None)


def _waiting(page: Page) -> None:
    t = page.t
    with page.studio.workspace.database.reading() as session:
        found = waiting_for(session, page.who.name, page.studio.clock)
    if not found.reviews and not found.open_cases:
        page.empty(
            t("Nothing waits for you"),
            t(
                "Questions come here once they have passed rounds 1 and 2, and where an automatic check could not "
                "decide. Your own questions never do, nor those that you have judged."
            ),
            [(t("Let the checks and models judge what was handed in:"), "interplay qc run --round 1")],
        )
        return
    counts = [(t("Questions to review"), found.reviews), (t("Open cases to decide"), found.open_cases)]
    page.draw("review_counts.html", counts=counts)
    with st.container(horizontal=True):
        if found.reviews:
            _take_button(page, REVIEW, t("Take the next one"))
        if found.open_cases:
            _take_button(page, OPEN_CASE, t("Take an open case"), is_first=not found.reviews)
    first = REVIEW if found.reviews else OPEN_CASE
    shortcuts(t, [Shortcut(("ctrl+enter",), "Ctrl + Enter", t("Take the next one"), f"take-{first}")], "idle-keys")


def _recent(page: Page) -> None:
    with page.studio.workspace.database.reading() as session:
        found = desk.finished(session, page.who)
    if found:
        page.section(page.t("Your last reviews"))
        page.draw("review_recent.html", lines=view.finished_lines(found, page.studio.clock(), page.t))


def _take_button(page: Page, kind: str, label: str, *, is_first: bool = True) -> None:
    if st.button(label, type="primary" if is_first else "secondary", key=f"take-{kind}"):
        try:
            _take(page, kind)
        except InterplayError as error:
            page.problem(error)


def _take(page: Page, kind: str) -> NoReturn:
    with page.studio.workspace.database.session() as session:
        task = desk.take(session, page.who, kind, page.studio.clock)
    st.session_state[_HELD] = task
    if task is None:
        # After a verdict the thanks for it stand there already: its own reviewer took the last one, nobody else.
        st.session_state.setdefault(
            review_verdict.SAID, page.t("Somebody else has just taken the last one. Nothing waits for you now.")
        )
    st.rerun()


def _gone(page: Page, held: Task) -> None:
    """The task that was drawn here last is not the person's any more."""
    t = page.t
    with page.studio.workspace.database.reading() as session:
        fate = desk.fate(session, page.who, held.assignment_id)
    page.title(t("Review"))
    if fate == "ran_out":
        page.notice(
            t(
                "Your time for {item} has run out, so others can take it. What you handed in before is kept. "
                "Take it again to go on; what you typed since then stays.",
                item=held.item,
            ),
            "warn",
        )
    else:
        page.notice(t("You handed {item} in, or gave it back, in another tab.", item=held.item))
    _typed(page, held)
    with st.container(horizontal=True):
        if fate == "ran_out":
            _take_again_button(page, held)
        if st.button(t("Back to your desk"), key="leave"):
            del st.session_state[_HELD]
            st.rerun()


def _take_again_button(page: Page, held: Task) -> None:
    if not st.button(page.t("Take it again"), type="primary", key="take-again"):
        return
    try:
        with page.studio.workspace.database.session() as session:
            task = desk.take(session, page.who, held.kind, page.studio.clock)
    except InterplayError as error:
        page.problem(error)
        return
    st.session_state[_HELD] = task
    if task is None or task.revision_id != held.revision_id:
        st.session_state[review_verdict.SAID] = page.t("{item} is with somebody else now.", item=held.item)
    st.rerun()


def _typed(page: Page, task: Task) -> None:
    """What was typed and not handed in, to copy it from."""
    texts = review_kept.typed_texts(task.revision_id)
    if texts:
        page.section(page.t("What you had typed"))
        page.draw("typed.html", texts=texts)


def _say(page: Page) -> None:
    if said := st.session_state.pop(review_verdict.SAID, None):
        page.notice(said)


def _review(page: Page, task: Task) -> None:
    t, workspace = page.t, page.studio.workspace
    with workspace.database.reading() as session:
        found = desk.see_review(session, page.who, task.assignment_id, page.studio.clock)
    page.draw("review_stages.html", stages=view.stage_lines(found, t), instruction=found.instruction.text(t.language))
    scene(f"{found.stage.value}-{task.assignment_id}")
    asked = view.asked(found.shown, page.links, page.who, workspace.blobs, t)
    hidden = t(labels.MODALITIES[found.hidden]) if found.hidden else ""
    page.draw("review_head.html", item=task.item, facts=asked.facts, hidden=hidden)
    _lease(page, task)
    if found.stage is Stage.VERDICT:
        _judge(page, task, found)
        return
    page.draw("question.html", prompt=asked.prompt, options=(), steps=(), marked=False, accepted=(), grader="")
    review_answer.draw(page, task, found.stage, asked, found.shown.language)


def _judge(page: Page, task: Task, found: ReviewView) -> None:
    assert found.revealed is not None
    t = page.t
    seen, decide = st.columns([7, 5], gap="large")
    with seen:
        page.section(t("Your answers"))
        page.draw(
            "review_answers.html",
            answers=view.answer_lines(found.revealed.question, found.revealed.answers, t),
            others=[t("Other reviewers: {told}", told=line) for line in view.solve_lines(found.revealed.solves, t)],
        )
        review_verdict.background(page, found.revealed)
    with decide:
        review_verdict.panel(page, _handing_in(page, task), found.revealed.question)


def _case(page: Page, task: Task) -> None:
    t = page.t
    with page.studio.workspace.database.reading() as session:
        found = desk.see_case(session, page.who, task.assignment_id, page.studio.clock)
    scene(task.assignment_id)
    page.draw("count.html", text=found.instruction.text(t.language))
    facts = [t("Open case of round {number}", number=found.round)]
    page.draw("review_head.html", item=task.item, facts=facts, hidden="")
    _lease(page, task)
    seen, decide = st.columns([7, 5], gap="large")
    with seen:
        review_verdict.background(page, found.background, evidence_first=True)
    with decide:
        review_verdict.panel(page, _handing_in(page, task), found.background.question)


def _handing_in(page: Page, task: Task) -> review_verdict.Desk:
    def hand_in(key: str, judged: desk.Judged) -> None:
        with page.studio.workspace.database.session() as session:
            desk.hand_in(session, page.who, key, task, judged, page.studio.clock)

    def leave(go_on: bool) -> None:
        st.session_state.pop(_HELD, None)
        st.session_state[review_verdict.SAID] = page.t("Thank you. Your verdict on {item} is stored.", item=task.item)
        if go_on:
            _take(page, task.kind)

    return review_verdict.Desk(task.revision_id, list(Decision), hand_in, leave, goes_on=True)


@st.fragment(run_every=30)
def _lease(page: Page, task: Task) -> None:
    """How long the task is held; drawn again by itself, so that nobody is surprised."""
    t = page.t
    left = task.expires_at - page.studio.clock()
    is_over, is_short = left.total_seconds() <= 0, left <= view.SHORT
    with st.container(horizontal=True, vertical_alignment="center", key="lease"):
        if is_over:
            page.notice(t("Your time has run out. Take it again to go on; what you typed stays."), "warn")
            _take_again_button(page, task)
            return
        told = view.time_left(task.expires_at, page.studio.clock(), t)
        page.draw("lease.html", text=t("Yours for {time} more; it is kept longer when you answer.", time=told))
        if is_short and st.button(t("Keep it for longer"), key="keep"):
            _try(page, task, keep=True)
        if st.button(t("Give it back"), key="give-back", type="tertiary"):
            _try(page, task, keep=False)


def _try(page: Page, task: Task, *, keep: bool) -> None:
    try:
        with page.studio.workspace.database.session() as session:
            act = desk.keep if keep else desk.give_back
            act(session, page.who, task.assignment_id, page.studio.clock)
    except TaskLost:
        pass  # The page, drawn anew, tells what became of it.
    except Told as error:
        page.problem(error)
        return
    if not keep and st.session_state.pop(_HELD, None):
        st.session_state[review_verdict.SAID] = page.t(
            "{item} is free for others. What you answered is kept.", item=task.item
        )
    st.rerun()
