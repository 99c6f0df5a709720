"""The answers behind a number: narrowed by what stands in the address, and one in full."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.results.kept import Results
from annotation_ui.results.responses import Chosen
from annotation_ui.results.scopes import hidden_revisions
from annotation_ui.views import responses as view
from annotation_ui.views.preview import Block, prompt_blocks
from annotation_ui.views.results import Links
from annotation_ui.views.results_words import ATTRIBUTES, value_label
from core.question import Question

_KEY = "key"
SEARCH = "answer-search"


def draw_answers(page: Page, found: Results, links: Links) -> None:
    """The list, or the one answer that the address names."""
    if st.query_params.get(_KEY):
        _one(page, found, links, st.query_params[_KEY])
    else:
        _list(page, found, links)


def _list(page: Page, found: Results, links: Links) -> None:
    t = page.t
    assert found.answered is not None
    if view.chosen_in(st.query_params.get_all).against is None:
        _filters(page, found)
    chosen = view.chosen_in(st.query_params.get_all)
    place, _ = st.columns([1, 2])
    text = page.search(place, t("Item"), SEARCH)
    _chosen(page, chosen, links)
    answers = view.response_list(
        found, page.studio.workspace.facts, chosen, partial(_hidden, page), links, t, text, page.page_number
    )
    page.draw("count.html", text=t.plural("{count} answer", "{count} answers", answers.total))
    if answers.rows:
        page.draw("results_answers.html", rows=answers.rows)
    else:
        page.notice(
            t(view.SOME_HIDDEN) if answers.leaves_out else t("No answer fits this choice. Take something away.")
        )
    page.pages(answers.page_count)
    if answers.rows and answers.leaves_out:
        page.draw("quiet.html", text=t(view.SOME_HIDDEN))
    if answers.total > view.MOST_SAVED:
        page.draw(
            "quiet.html",
            text=t("The first {most} are saved; narrow the choice for others.", most=t.number(view.MOST_SAVED)),
        )
    saved = partial(
        view.saved_rows, found, page.studio.workspace.facts, chosen, partial(_hidden, page), t, text
    )  # fmt: skip
    if answers.total:
        page.downloads(t("answers"), view.saved_columns(t), saved)


def _filters(page: Page, found: Results) -> None:
    """What the list is narrowed by; a value that only the address knows stays, and finds nothing."""
    t = page.t
    assert found.answered is not None
    offered = view.offered(found.answered.frame, t)
    for start in range(0, len(view.FILTERS), 3):
        for place, name in zip(st.columns(3), view.FILTERS[start : start + 3], strict=True):
            asked = view.chosen_in(st.query_params.get_all).selection.get(name, ())
            given = {value: value_label(t, name, value) for value in asked}
            page.choose_several(place, t(ATTRIBUTES[name]), given | offered[name], f"of.{name}")


def _chosen(page: Page, chosen: Chosen, links: Links) -> None:
    """What is chosen beyond what the filters say, and the way back to everything."""
    apart = chosen.against is not None
    told = view.described(chosen, page.t, () if apart else view.FILTERS)
    if any(told):
        page.draw("results_chosen.html", sides=told, everything=links.to("answers"), is_difference=apart)


def _one(page: Page, found: Results, links: Links, key: str) -> None:
    t = page.t
    chosen, text = view.chosen_in(st.query_params.get_all), st.query_params.get(SEARCH, "")
    back = links.responses(chosen, **({SEARCH: text} if text else {}))
    detail = view.response_detail(
        found, page.studio.workspace.facts, key, chosen, partial(_hidden, page), links, partial(_blocks, page), t, text
    )
    if detail is None:
        page.draw("results_link.html", href=back, text=t("Back to the answers"))
        page.notice(t("There is no such answer among these questions."), "warn")
        return
    page.draw("results_answer_head.html", one=detail, back=back)
    if detail.hidden:
        page.notice(detail.hidden)
        return
    left, right = st.columns([1, 1], gap="large")
    with left:
        page.section(t("Answer"))
        page.draw("results_answer.html", one=detail)
    with right:
        page.section(
            t("Question"), t("As it was written; what was shown of it: {condition}.", condition=detail.condition)
        )
        page.draw(
            "question.html", prompt=detail.prompt, options=detail.options, steps=detail.steps, marked=True,
            accepted=detail.accepted, grader="",
        )  # fmt: skip


def _blocks(page: Page, question: Question) -> Sequence[Block]:
    return prompt_blocks(question, page.links, page.who.user_id, page.studio.workspace.blobs, page.t)


def _hidden(page: Page, revision_ids: Sequence[str]) -> set[str]:
    with page.studio.workspace.database.reading() as session:
        return hidden_revisions(session, page.who, revision_ids, page.studio.clock())
