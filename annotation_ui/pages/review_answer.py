"""The blind stages of a review: the place where the answer is given."""

from collections.abc import Mapping, Sequence

import streamlit as st

from annotation_ui.components.shortcuts import Shortcut, Walk, shortcuts
from annotation_ui.page import Page
from annotation_ui.pages.review_kept import forget_texts, keep, kept_value, take_over
from annotation_ui.pages.review_verdict import SAID
from annotation_ui.reviewing import desk
from annotation_ui.reviewing.desk import MOST_CHARACTERS, AnsweredBefore, NoAnswer, TaskEnded, TaskLost
from annotation_ui.views import review as view
from core.errors import InterplayError
from core.question import QuestionKind
from evaluation.prompts import letters_text, steps_text
from qc.review.blind import Stage
from qc.review.queue import Task

CANNOT_TELL = "0"


@st.fragment
def draw(page: Page, task: Task, stage: Stage, asked: view.Asked, language: str) -> None:
    """Draw it alone at each click, so that what plays above goes on playing."""
    # Each stage has widgets of its own: the second click of a double click meets none of the next stage's.
    mark = f"{stage.value}-{task.revision_id}"
    take_over(task.revision_id)
    if asked.kind is QuestionKind.CHOICE:
        sent, text = _choices(page, mark, asked)
    else:
        sent, text = _written(page, mark, asked, language)
    keep(page, task.revision_id)
    if not sent:
        return
    try:
        if text == "":
            raise NoAnswer
        with page.studio.workspace.database.session() as session:
            desk.answer(session, page.who, task.assignment_id, stage, text, page.studio.clock)
    except (TaskLost, TaskEnded):
        st.rerun()  # the page tells what became of the task
    except AnsweredBefore as error:
        st.session_state[SAID] = page.t(error.text)
        st.rerun()
    except InterplayError as error:
        page.problem(error)
        return
    forget_texts(task.revision_id)
    st.rerun()


def _choices(page: Page, mark: str, asked: view.Asked) -> tuple[bool, str | None]:
    """Whether the answer is handed in, and which: None for "cannot tell", empty for none yet."""
    t = page.t
    given = f"review-chosen-{mark}"
    chosen: Sequence[str] = st.session_state.setdefault(given, [])
    lead = t("Several choices are right.") if asked.several else ""
    page.section(t("Your answer"), lead)
    offered = {option.label: option.text for option in asked.options} | {CANNOT_TELL: t("I cannot tell from this")}
    with st.container(gap="xsmall"):
        for label, text in offered.items():
            with st.container(key=f"answer-row-{label}-{mark}"):
                shown = "–" if label == CANNOT_TELL else label
                page.draw("review_pick.html", label=shown, text=text, on=label in chosen)
                named = text if label == CANNOT_TELL else t("Choose {label}", label=label)
                st.button(named, key=_widget(label, mark), on_click=_pick, args=(given, label, asked.several))
    sent = st.button(t("Hand in the answer"), type="primary", key=f"answer-{mark}")
    _choice_keys(page, mark, offered, chosen, asked.several)
    return sent, None if CANNOT_TELL in chosen else letters_text(chosen)


def _pick(given: str, label: str, several: bool) -> None:
    chosen = list(st.session_state[given])
    if not several or CANNOT_TELL in (label, *chosen):
        chosen = [label]
    elif label in chosen:
        chosen.remove(label)
    else:
        chosen.append(label)
    st.session_state[given] = chosen


def _choice_keys(page: Page, mark: str, offered: Mapping[str, str], chosen: Sequence[str], several: bool) -> None:
    t = page.t
    labels = [label for label in offered if label != CANNOT_TELL]
    spread = f"{labels[0]} – {labels[-1]}, 1 – {min(len(labels), 9)}"
    found = [
        Shortcut(
            (label.lower(), *([str(place)] if place <= 9 else [])),
            spread if place == 1 else "",
            t("Choose an answer"),
            _widget(label, mark),
        )
        for place, label in enumerate(labels, start=1)
    ]
    found += [
        Shortcut((CANNOT_TELL,), CANNOT_TELL, t("I cannot tell from this"), _widget(CANNOT_TELL, mark)),
        Shortcut(("ctrl+enter",), "Ctrl + Enter", t("Hand in the answer"), f"answer-{mark}"),
    ]
    widgets = tuple(_widget(label, mark) for label in offered)
    at = _widget(chosen[0], mark) if chosen else ""
    walk = None if several else Walk(widgets, at, t("The next or previous answer"))
    shortcuts(t, found, f"keys-{mark}", walk)


def _written(page: Page, mark: str, asked: view.Asked, language: str) -> tuple[bool, str | None]:
    """The same for answers in words; in a form, so that Ctrl+Enter in a field hands in what stands in it."""
    t = page.t
    page.section(t("Your answer"))
    with st.form(f"form-{mark}", border=False):
        texts = []
        for number, step in enumerate(asked.steps, start=1):
            page.draw("review_ask.html", number=number, step=step)
            texts.append(_field(page, mark, t("Your answer to step {number}", number=number), str(number)))
        if not asked.steps:
            texts.append(_field(page, mark, t("Your answer"), "1"))
        cannot_tell = st.checkbox(t("I cannot tell from this"), key=f"cannot-tell-{mark}")
        sent = st.form_submit_button(t("Hand in the answer"), type="primary", key=f"answer-{mark}")
    found = Shortcut(("ctrl+enter",), "Ctrl + Enter", t("Hand in the answer"), f"answer-{mark}")
    shortcuts(t, [found], f"keys-{mark}")
    written = steps_text(texts, language) if asked.steps else texts[0]
    return sent, None if cannot_tell else written.strip()


def _field(page: Page, mark: str, label: str, name: str) -> str:
    revision_id = mark.partition("-")[2]
    with kept_value(revision_id, f"text-{mark}-{name}") as key:
        st.text_area(
            label, key=key, height=80, max_chars=MOST_CHARACTERS, placeholder=page.t("Write here"),
            label_visibility="collapsed",
        )  # fmt: skip
    return str(st.session_state[key] or "")


def _widget(label: str, mark: str) -> str:
    return f"open-answer-{label}-{mark}"
