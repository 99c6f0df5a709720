"""Results: condition by model, and the answers behind each number."""

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.views.results import (
    AnswersPage,
    Scope,
    answers_page,
    condition_label,
    report,
    results_table,
    scopes,
)
from evaluation.report import Report, conditions_in_order


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(t("Results"), t("How far models get when they are given everything, and when a modality is taken away."))
    with page.studio.workspace.database.reading() as session:
        offered = scopes(session, page.who, t)
        scope = _scope(page, offered)
        found = report(session, page.who, scope, page.studio.workspace.facts)
    if not found.cells:
        page.empty(
            t("No model has answered yet"),
            t("An evaluation puts a release to models under several conditions and grades their answers."),
            [
                (t("Evaluate a release:"), "interplay evaluation run RELEASE VERSION --model NAME"),
                (t("Or look at a finished sample project:"), "interplay demo"),
            ],
        )
        return
    page.section(
        t("Accuracy by model and condition"), t.plural("{count} question", "{count} questions", scope.question_count)
    )
    page.draw("results_table.html", table=results_table(found, t))
    _answers(page, found)


def _scope(page: Page, offered: list[Scope]) -> Scope:
    if len(offered) == 1:
        return offered[0]
    names = [scope.label for scope in offered]
    chosen = st.selectbox(page.t("Questions"), names, key="scope", bind="query-params", width=360)
    return next(scope for scope in offered if scope.label == chosen)


def _answers(page: Page, found: Report) -> None:
    t = page.t
    page.section(t("Answers behind the numbers"))
    words, model, condition = st.columns(3, vertical_alignment="bottom")
    text = words.text_input(t("Item"), key="answer-search", bind="query-params", max_chars=128, on_change=_first_page)
    chosen_model = model.selectbox(
        t("Model"), sorted({cell.model for cell in found.cells}), index=None, placeholder=t("All"), key="model",
        bind="query-params", on_change=_first_page,
    )  # fmt: skip
    chosen_condition = condition.selectbox(
        t("Shown"), conditions_in_order(found.cells), index=None, placeholder=t("All"), key="condition",
        bind="query-params", on_change=_first_page, format_func=lambda name: condition_label(t, name),
    )  # fmt: skip
    number = int(st.session_state.get("answer-page") or st.query_params.get("answer-page") or 1)
    answers: AnswersPage = answers_page(found, t, chosen_model, chosen_condition, text or "", number)
    page.draw("count.html", text=t.plural("{count} answer", "{count} answers", answers.total))
    if answers.rows:
        page.draw("answers.html", rows=answers.rows)
    if answers.page_count > 1:
        st.pagination(answers.page_count, key="answer-page", bind="query-params")


def _first_page() -> None:
    st.session_state.pop("answer-page", None)
