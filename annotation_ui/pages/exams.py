"""All exams of the project, and the making of one."""

import streamlit as st

from annotation_ui.examining import holding
from annotation_ui.forms import new_form_key
from annotation_ui.page import Page
from annotation_ui.views import exams as view
from core.condition import FULL
from core.errors import InterplayError
from evaluation.exam.holding import LONGEST_S, MOST_QUESTIONS, NewExam

_FORM = "exam-form-key"


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(
        t("Exams"), t("People who never saw the questions answer them as models do, and both are set side by side.")
    )
    with page.studio.workspace.database.reading() as session:
        rows = view.exam_rows(session, page.who, page.studio.clock(), t)
        subjects = view.subjects(session, t)
    _make(page, subjects)
    if not rows:
        page.empty(
            t("No exam yet"),
            t(
                "An exam draws some questions of each task type. You invite people; each is asked only what they never "
                "had to do with. When it is closed, their answers are graded like those of a model."
            ),
            [(t("Above, or on the command line:"), "interplay exam create NAME --release NAME VERSION --size 40")],
        )
        return
    for row in rows:
        with st.container(key=f"row-exam-{row.id}"):
            page.draw("exam_row.html", row=row)
            if st.button(t("Open"), key=f"open-exam-{row.id}"):
                page.open("held_exam", id=row.id)


def _make(page: Page, subjects: dict[str, str]) -> None:
    key = st.session_state.setdefault(_FORM, new_form_key())
    new = _form(page, key, subjects)
    if new is None:
        return
    try:
        with page.studio.workspace.database.reading() as session:
            sample = holding.draw(session, page.who, new)
    except InterplayError as error:
        page.problem(error)
        return
    made = page.stored(lambda session: holding.create(session, page.who, key, new, page.studio.clock, sample))
    if made is not None:
        del st.session_state[_FORM]
        page.open("held_exam", id=made)


def _form(page: Page, key: str, subjects: dict[str, str]) -> NewExam | None:
    t, conditions = page.t, view.conditions(page.t)
    with st.expander(t("New exam"), icon=":material/add:"), st.form(f"exam-{key}", border=False):
        left, right = st.columns(2, gap="large")
        with left:
            name = st.text_input(t("Name"), max_chars=64, key=f"exam-name-{key}")
            subject = st.selectbox(
                t("Questions of"), list(subjects), format_func=subjects.__getitem__, key=f"exam-subject-{key}"
            )
            shown = st.multiselect(
                t("What is shown"), list(conditions), default=[FULL.name], format_func=conditions.__getitem__,
                placeholder=t("Choose"), key=f"exam-conditions-{key}",
                help=t("With several, each person sees each question under one of them, and they rotate."),
            )  # fmt: skip
        with right:
            size = st.number_input(t("Questions a person"), 1, MOST_QUESTIONS, 40, key=f"exam-size-{key}")
            limit_s = st.number_input(
                t("Seconds for a question"), 0, LONGEST_S, 0, step=30, key=f"exam-limit-{key}",
                help=t("0 sets no limit."),
            )  # fmt: skip
            seed = st.number_input(
                t("Seed"), 0, 2**31 - 1, 1, key=f"exam-seed-{key}",
                help=t("Decides the sample, who sees what, and the order: the same seed gives the same exam."),
            )  # fmt: skip
            asks = st.toggle(t("Ask how sure people are"), value=True, key=f"exam-sure-{key}")
        sent = st.form_submit_button(t("Draw the questions"), type="primary")
    if not sent:
        return None
    release_name, _, version = (subject or view.ALL_ITEMS).rpartition(" ")
    return NewExam(
        name=name or "",
        release=(release_name, version) if release_name else None,
        conditions=tuple(shown),
        size=int(size),
        seed=int(seed),
        limit_s=int(limit_s) or None,
        asks_confidence=asks,
    )
