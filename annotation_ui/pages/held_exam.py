"""One exam for those who hold it: inviting, how far people are, closing, and what came out."""

from collections.abc import Callable
from functools import partial

import streamlit as st
from sqlmodel import Session

from annotation_ui.examining import holding
from annotation_ui.page import Page
from annotation_ui.pages.acting import Values, act, say
from annotation_ui.views import exams as view
from annotation_ui.views.results import Links, grid
from annotation_ui.views.results_words import in_figure
from core.provenance import content_hash
from evaluation.exam.results import ExamResults, exam_results
from evaluation.report.figures import people_figure
from warehouse.tables import Exam, ExamState

_RESULTS = "exam-results"
_TABLES = ("people", "single_people")


def draw(page: Page) -> None:
    """Draw the exam that the address names."""
    t = page.t
    page.go("exams", t("All exams"), back=True)
    try:
        with page.studio.workspace.database.reading() as session:
            exam = holding.find(session, page.who, st.query_params.get("id", ""))
            found = view.held_exam(session, exam, t)
            people = {user.name: user.display_name for user in holding.invitable(session, page.who, exam)}
    except holding.ExamGone as error:
        page.title(t("Exam"))
        page.notice(t(error.text), "warn")
        say(page)
        return
    page.draw("exam_head.html", found=found)
    say(page)
    _actions(page, found)
    page.at_work(_job(found))
    if found.is_graded and not page.studio.background.is_at_work(_job(found)):
        _results(page, exam)
    left, right = st.columns([3, 2], gap="large")
    with left:
        _people(page, found, people)
    with right:
        page.section(t("What is asked"), t("Questions of each kind in the sample, of all that there are."))
        page.draw("exam_strata.html", strata=found.strata)
        page.draw("pairs.html", pairs=found.facts)


def _actions(page: Page, found: view.HeldExam) -> None:
    """What the state allows; each button names the version that it was drawn for."""
    t = page.t
    with st.container(horizontal=True, key="exam-actions"):
        if found.state is ExamState.DRAFT:
            _button(page, t("Open the exam"), "exam-open", holding.open_exam, found, t("People can begin now."), True)
            with st.popover(t("Throw away")):
                st.text(t("The sample and the invitations go. Nobody has seen anything of it yet."))
                said = t("The exam is thrown away.")
                _button(page, t("Throw this exam away"), "exam-discard", holding.discard, found, said)
        elif found.state is ExamState.OPEN:
            with st.popover(t("Close the exam")):
                st.text(t("Nobody can answer any more; what is handed in counts. This cannot be undone."))
                said = t("The exam is closed. Grade the answers next.")
                _button(page, t("Close it for good"), "exam-close", holding.close_exam, found, said)
        else:
            label = t("Grade again") if found.is_graded else t("Grade the answers")
            if st.button(label, type="secondary" if found.is_graded else "primary", key="exam-grade"):
                _grade(page, found)


def _button(
    page: Page, label: str, key: str, do: Callable[..., None], found: view.HeldExam, said: str, is_first: bool = False
) -> None:
    def write(session: Session, _values: Values) -> None:
        do(session, page.who, found.id, found.version, page.studio.clock)

    st.button(label, type="primary" if is_first else "secondary", key=key, on_click=act, args=(page, {}, write, said))


def _grade(page: Page, found: view.HeldExam) -> None:
    work = partial(holding.grade, page.studio.workspace, page.who, found.id, page.studio.clock)
    if page.begin(_job(found), work):
        st.rerun()


def _job(found: view.HeldExam) -> str:
    return f"exam {found.id}"


def _people(page: Page, found: view.HeldExam, people: dict[str, str]) -> None:
    t = page.t
    page.section(t("People"), t("How far they are. Nobody sees their answers before the exam is closed."))
    if found.state is not ExamState.CLOSED:
        _invite(page, found, people)
    if not found.seats:
        page.notice(t("Nobody is invited yet. Whoever is gets questions that they never had to do with."))
    for seat in found.seats:
        with st.container(key=f"sitter-{seat.seat_id}"):
            shown, back = st.columns([3, 1], vertical_alignment="center")
            with shown:
                page.draw("exam_sitter.html", seat=seat)
            if not seat.is_begun and found.state is not ExamState.CLOSED:
                take_back = partial(_uninvite, page, found.id, seat.seat_id)
                back.button(
                    t("Take back"), key=f"uninvite-{seat.seat_id}", type="tertiary",
                    help=t("Take the invitation back"),
                    on_click=act, args=(page, {}, take_back, t("The invitation is taken back.")),
                )  # fmt: skip


def _invite(page: Page, found: view.HeldExam, people: dict[str, str]) -> None:
    t = page.t
    if not people:
        page.draw("quiet.html", text=t("Everybody is invited. Add more people on the page “People”."))
        return
    # Another number of seats draws the form anew and empty.
    with st.form(f"invite-{len(found.seats)}", border=False):
        chosen = st.multiselect(
            t("Invite"), list(people), format_func=lambda name: f"{people[name]} ({name})",
            placeholder=t("Choose people"), key=f"invited-{len(found.seats)}",
        )  # fmt: skip
        sent = st.form_submit_button(t("Invite them"))
    if not sent:
        return
    if not chosen:
        page.notice(t("Choose people first."), "warn")
    elif page.stores(lambda session: holding.invite(session, page.who, found.id, chosen, page.studio.clock)):
        st.rerun()


def _uninvite(page: Page, exam_id: str, seat_id: str, session: Session, _values: Values) -> None:
    holding.uninvite(session, page.who, exam_id, seat_id, page.studio.clock)


def _results(page: Page, exam: Exam) -> None:
    t = page.t
    results = _read(page, exam)
    page.section(t("What came out"))
    if exam.subject:
        page.go("results", t("All results of {release}", release=exam.subject))
    links = Links(exam.release_id or view.ALL_ITEMS)
    for key in _TABLES:
        table = grid(results.report, key, links, t)
        if table is not None:
            page.section(table.title, table.note)
            page.draw("results_grid.html", grid=table)
            picture = people_figure(results.report, partial(in_figure, t)) if key == "people" else None
            if picture is not None:
                page.picture(picture, table.title)
    page.section(t("Time and confidence"))
    page.draw("exam_groups.html", groups=view.group_views(results, t))
    page.downloads(t("exam"), view.time_columns(t), lambda: view.time_rows(results, t))


def _read(page: Page, exam: Exam) -> ExamResults:
    """The results, read once for as long as no answer comes in."""
    facts = page.studio.workspace.facts
    key = content_hash([exam.id, exam.graded_run_id, facts.files("response"), facts.files("grade")])
    known = st.session_state.get(_RESULTS)
    if known is None or known[0] != key:
        with page.studio.workspace.database.reading() as session:
            known = (key, exam_results(session, facts, exam))
        st.session_state[_RESULTS] = known
    results: ExamResults = known[1]
    return results
