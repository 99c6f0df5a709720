"""The last stage of a review, and of every other decision by a person: all that is known, and the verdict."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from annotation_ui.components.shortcuts import Shortcut, shortcuts
from annotation_ui.forms import new_form_key
from annotation_ui.page import Page
from annotation_ui.pages.noted import draw_notes
from annotation_ui.pages.review_kept import REMARKS, forget_texts, keep, kept_value, kept_values, take_over
from annotation_ui.reviewing.desk import MOST_CHARACTERS, MOST_REMARKS, Judged, Remark, TaskEnded, TaskLost
from annotation_ui.views import review as view
from annotation_ui.views.changes import part_label
from core.errors import InterplayError
from core.question import Question
from qc.review.blind import Background
from qc.review.opinions import parts_of
from warehouse.tables import Decision

# What the page says once, when it is drawn next.
SAID = "review-said"


@dataclass(frozen=True)
class Desk:
    """Where a verdict goes: `hand_in` stores it under a form's key, `leave` clears the place (True: for the next).

    `place` names what is judged, and with it what is typed.
    """

    place: str
    decisions: Sequence[Decision]
    hand_in: Callable[[str, Judged], None]
    leave: Callable[[bool], None]
    goes_on: bool = False


def background(page: Page, known: Background, *, evidence_first: bool = False) -> None:
    """The question with its key, the author's notes, what earlier rounds found, what this revision changed."""
    t = page.t
    shown = view.revealed(known, page.links, page.who, page.studio.workspace.blobs, t)
    if evidence_first:
        _rounds(page, shown)
    page.section(t("The question and the author's answer"), t("Needs {modalities}", modalities=shown.required))
    page.draw(
        "question.html", prompt=shown.prompt, options=shown.options, steps=shown.steps, marked=True,
        accepted=shown.accepted, grader=shown.grader,
    )  # fmt: skip
    if shown.marked or shown.notes:
        page.section(t("What each medium contributes, by the author"))
        draw_notes(page, shown.marked, shown.notes)
    if not evidence_first:
        _rounds(page, shown)
    if shown.changes is not None:
        page.section(t("Changed since the revision before"))
        if shown.changes:
            page.draw("changes.html", changes=shown.changes)
        else:
            page.notice(t("The wording is the same."))


def _rounds(page: Page, shown: view.Revealed) -> None:
    for number, verdicts in sorted(shown.rounds.items()):
        page.section(page.t("What round {number} found", number=number))
        page.draw("verdicts.html", verdicts=verdicts)


@st.fragment
def panel(page: Page, at: Desk, question: Question) -> None:
    """The verdict; drawn alone at each click, so that what plays beside it goes on playing."""
    with st.container(key="verdict"):
        _panel(page, at, question)


def _panel(page: Page, at: Desk, question: Question) -> None:
    t = page.t
    take_over(at.place, parts_of(question))
    page.section(t("Your verdict"))
    decision = _decision(page, at)
    codes = _reasons(page, at) if decision not in (None, Decision.PASS) else []
    remarks = _remarks(page, at, question)
    with st.container(horizontal=True):
        go_on = at.goes_on and st.button(t("Hand in and take the next"), type="primary", key=f"next-{at.place}")
        sent = st.button(t("Hand in"), type="secondary" if at.goes_on else "primary", key=f"send-{at.place}")
    first = f"next-{at.place}" if at.goes_on else f"send-{at.place}"
    found = [
        Shortcut((str(number),), str(number), t(view.DECISIONS[one]), f"{_decision_name(page)}-{at.place}", number - 1)
        for number, one in enumerate(at.decisions, start=1)
    ]
    found.append(Shortcut(("ctrl+enter",), "Ctrl + Enter", t("Hand in"), first))
    shortcuts(t, found, f"verdict-keys-{at.place}")
    keep(page, at.place)
    if sent or go_on:
        _hand_in(page, at, Judged(decision, codes, remarks), go_on)


def _hand_in(page: Page, at: Desk, judged: Judged, go_on: bool) -> None:
    key = st.session_state.setdefault(f"review-form-{at.place}", new_form_key())
    try:
        at.hand_in(key, judged)
    except (TaskLost, TaskEnded):
        st.rerun()  # the page tells what became of the task
    except InterplayError as error:
        page.problem(error)
        return
    forget_texts(at.place)
    at.leave(go_on)
    st.rerun()


def _decision(page: Page, at: Desk) -> Decision | None:
    labels = {one.value: page.t(view.DECISIONS[one]) for one in at.decisions}
    with kept_value(at.place, _decision_name(page), shared="decision") as key:
        st.pills(
            page.t("What do you decide?"), list(labels), format_func=labels.__getitem__, key=key,
            label_visibility="collapsed",
        )  # fmt: skip
    chosen = st.session_state[key]
    return Decision(chosen) if chosen else None


def _decision_name(page: Page) -> str:
    # Streamlit tells a choice by its words: in another language it must be another widget.
    return f"decision-{page.t.language}"


def _reasons(page: Page, at: Desk) -> list[str]:
    """Why: searched by typing, in groups; the codes outlast a change of the language."""
    t = page.t
    labels = view.reason_labels(t)
    with kept_value(at.place, f"reasons-{t.language}", [], shared="reasons") as key:
        st.multiselect(
            t("Why? Type to search"), list(labels), format_func=lambda code: labels.get(code, code), key=key,
            placeholder=t("Choose reasons"),
        )  # fmt: skip
    return list(st.session_state[key] or ())


def _remarks(page: Page, at: Desk, question: Question) -> list[Remark]:
    """Comments on parts, each with a text that is suggested for the part if the reviewer likes."""
    t = page.t
    numbers: list[int] = kept_values(at.place).setdefault(REMARKS, [])
    parts = parts_of(question)
    remarks = [_remark(page, at, question, parts, number) for number in numbers]
    if len(numbers) < MOST_REMARKS:
        label = t("Add another comment") if numbers else t("Comment on a part, or suggest a text")
        st.button(label, key=f"more-{at.place}", icon=":material/add:", on_click=_more, args=(at.place,))
    return remarks


def _more(place: str) -> None:
    numbers = kept_values(place).get(REMARKS, [])
    kept_values(place)[REMARKS] = [*numbers, max(numbers, default=0) + 1]


def _fewer(place: str, number: int) -> None:
    """A comment that is taken away is not kept either."""
    kept = kept_values(place)
    kept[REMARKS] = [one for one in kept.get(REMARKS, []) if one != number]
    for name in list(kept):
        if re.match(rf"(part|suggest|text-comment|text-edit)-{number}(-|$)", name):
            del kept[name]


def _remark(page: Page, at: Desk, question: Question, parts: Sequence[str], number: int) -> Remark:
    t = page.t
    with st.container(border=True):
        with kept_value(at.place, f"part-{number}-{t.language}", parts[0], shared=f"part-{number}") as key:
            st.selectbox(t("About"), parts, key=key, format_func=lambda part: part_label(t, part))
        part = str(st.session_state[key])
        with kept_value(at.place, f"text-comment-{number}") as key:
            st.text_area(t("Comment"), key=key, height=90, max_chars=MOST_CHARACTERS)
        comment = str(st.session_state[key] or "")
        now, suggestion = view.part_text(question, part), ""
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            wanted = now is not None and _is_suggested(page, at, number)
            st.button(
                t("Remove"), key=f"remove-{number}-{at.place}", type="tertiary", on_click=_fewer,
                args=(at.place, number),
            )  # fmt: skip
        if wanted:
            with kept_value(at.place, f"text-edit-{number}-{part}", now) as key:
                st.text_area(t("Suggested text"), key=key, height=110, max_chars=MOST_CHARACTERS)
            suggestion = str(st.session_state[key] or "")
    return Remark(part, comment, "" if suggestion == now else suggestion)


def _is_suggested(page: Page, at: Desk, number: int) -> bool:
    with kept_value(at.place, f"suggest-{number}", False) as key:
        return st.toggle(page.t("Suggest another text"), key=key)
