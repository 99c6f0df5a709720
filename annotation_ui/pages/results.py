"""Results: condition by model, and the answers behind each number."""

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.views.results import (
    Scope,
    answers_page,
    condition_label,
    report,
    results_table,
    scopes,
)
from evaluation.report.comparisons import conditions_in_order
from evaluation.report.document import Report


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(t("Results"), t("How far models get when they are given everything, and when a modality is taken away."))
    with page.studio.workspace.database.reading() as session:
        offered = scopes(session, page.who, t)
    scope = _scope(page, offered)
    with page.studio.workspace.database.reading() as session:
        found = report(session, page.who, scope, page.studio.workspace.facts)
    if not found.cells:
        page.empty(
            t("No model has answered yet"),
            t("An evaluation puts a release to models under several conditions and grades their answers."),
            [
                (t("Evaluate a release:"), "interplay evaluation run NAME VERSION --model MODEL"),
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
    by_code = {scope.release_id or "all": scope for scope in offered}
    if len(offered) == 1:
        return offered[0]
    place, _ = st.columns([1, 2])
    names = {code: scope.label for code, scope in by_code.items()}
    chosen = page.choose(place, page.t("Questions"), names, "scope", default=next(iter(names)))
    return by_code[chosen] if chosen else offered[0]


def _answers(page: Page, found: Report) -> None:
    t = page.t
    page.section(t("Answers behind the numbers"))
    words, model, condition = st.columns(3, vertical_alignment="bottom")
    models = {name: name for name in sorted({cell.model for cell in found.cells})}
    conditions = {name: condition_label(t, name) for name in conditions_in_order(found.cells)}
    text = page.search(words, t("Item"), "answer-search")
    chosen_model = page.choose(model, t("Model"), models, "model")
    chosen_condition = page.choose(condition, t("Shown"), conditions, "condition")
    answers = answers_page(found, t, chosen_model, chosen_condition, text, page.page_number)
    page.draw("count.html", text=t.plural("{count} answer", "{count} answers", answers.total))
    if answers.rows:
        page.draw("answers.html", rows=answers.rows)
    page.pages(answers.page_count)
