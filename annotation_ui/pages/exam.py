"""Exams for those who sit them: the list of their own, and one question at a time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st
from sqlmodel import Session

from annotation_ui.components.answer_sheet import answer_sheet
from annotation_ui.components.scene import scene
from annotation_ui.components.shortcuts import Shortcut, shortcuts
from annotation_ui.examining import desk
from annotation_ui.forms import new_form_key
from annotation_ui.page import Page
from annotation_ui.told import Told
from annotation_ui.views import exam as view
from annotation_ui.words import N_
from core.errors import InterplayError
from evaluation.exam.sitting import Asked
from warehouse.tables import PlaceState

_SAID = "exam-said"
_PROBLEM = "exam-problem"
_STROKE = "exam-stroke"
# Whither the whole page must go after what the sheet said: "on" to what is next, "away" to the list.
_GO = "exam-go"


def draw(page: Page) -> None:
    """Draw the exam that the address names, else the list."""
    if seat_id := st.query_params.get("id"):
        _sit(page, seat_id)
    else:
        _list(page)


def _list(page: Page) -> None:
    t = page.t
    page.title(t("Exam"), t("Here people answer what models are asked, so that both can be compared."))
    if said := st.session_state.pop(_SAID, None):
        page.notice(said)
    with page.studio.workspace.database.reading() as session:
        seats = desk.seats(session, page.who)
    if not seats:
        page.empty(
            t("No exam waits for you"),
            t("A maintainer invites you to an exam; it stands here as soon as it opens. Nothing else is to be done."),
            [(t("Maintainers invite people on the page “Exams”, or by"), "interplay exam invite NAME PERSON")],
        )
        return
    lines = [view.seat_line(seat, t) for seat in seats]
    for line in sorted(lines, key=lambda one: one.state in ("done", "closed")):
        with st.container(key=f"seat-{line.seat_id}"):
            page.draw("exam_seat.html", line=line)
            if line.state in ("new", "begun"):
                label = t("Begin") if line.state == "new" else t("Go on")
                if st.button(label, key=f"begin-{line.seat_id}", type="primary"):
                    page.open("exam", id=line.seat_id)
    first = next((line for line in lines if line.state in ("new", "begun")), None)
    if first is not None:
        begin = Shortcut(("ctrl+enter",), "Ctrl + Enter", t("Begin, or go on"), f"begin-{first.seat_id}")
        shortcuts(t, [begin], "exam-list-keys")


def _sit(page: Page, seat_id: str) -> None:
    t = page.t
    try:
        with page.studio.workspace.database.session() as session:
            asked = desk.ask(session, page.who, seat_id, page.studio.clock)
    except InterplayError as error:
        page.title(t("Exam"))
        page.problem(error)
        page.go("exam", t("All my exams"))
        return
    if asked is None:
        page.title(t("That was the last question"), t("Thank you. Everything that you handed in is kept."))
        page.go("exam", t("All my exams"))
        return
    found = view.sitting(asked, page.links, page.who.user_id, page.studio.workspace.blobs, t)
    scene(asked.place_id)
    with st.container(horizontal=True, vertical_alignment="center", key="exam-head"):
        page.draw("exam_progress.html", sitting=found)
        if st.button(t("Stop here and go on later"), key="exam-stop", type="tertiary"):
            _leave()
    if said := st.session_state.pop(_SAID, None):
        page.notice(said, "warn")
    page.draw("question.html", prompt=found.prompt, options=(), steps=(), marked=False, accepted=(), grader="")
    _sheet(page, seat_id, asked)


@st.fragment
def _sheet(page: Page, seat_id: str, asked: Asked) -> None:
    """Drawn alone at each change, so that what plays above goes on playing."""
    form_key = st.session_state.setdefault(f"exam-form-{asked.place_id}", new_form_key())
    saved, problem = st.session_state.get(f"{_STROKE}-{asked.place_id}", 0), st.session_state.get(_PROBLEM)
    data = view.sheet_data(asked, form_key, saved, problem, page.studio.clock(), page.t)
    answer_sheet(data, f"sheet-{asked.place_id}", partial(_heard, page, seat_id, asked.place_id))
    shortcuts(page.t, view.sheet_keys(asked, page.t), f"exam-keys-{asked.place_id}")
    match st.session_state.pop(_GO, None):
        case "on":
            st.rerun()
        case "away":
            _leave()


def _heard(page: Page, seat_id: str, place_id: str, event: str, told: Mapping[str, Any]) -> None:
    """What the sheet said, before it is drawn anew; where the page must be, too, it is told so."""
    if told.get("place") != place_id:
        return
    try:
        with page.studio.workspace.database.session() as session:
            outcome = _ACTS[event](session, page, seat_id, told)
    except (desk.NothingAnswered, desk.HowSure, desk.BadSheet) as error:
        st.session_state[_PROBLEM] = {"nonce": new_form_key(), "text": page.t(error.text, **error.values)}
        return
    except InterplayError as error:
        st.session_state[_SAID] = page.t(error.text, **error.values) if isinstance(error, Told) else str(error)
        outcome = _Outcome("on")
    if outcome.said:
        st.session_state[_SAID] = page.t(outcome.said)
    if outcome.is_kept:
        st.session_state[f"{_STROKE}-{place_id}"] = told.get("stroke")
    if outcome.go:
        st.session_state[_GO] = outcome.go


@dataclass(frozen=True)
class _Outcome:
    """What became of it, told once it is stored: whither the page goes, what it says, whether the sheet is kept."""

    go: str = ""
    said: str = ""
    is_kept: bool = False


def _hand_in(session: Session, page: Page, seat_id: str, told: Mapping[str, Any]) -> _Outcome:
    filled, clock = told.get("sheet") or {}, page.studio.clock
    state = desk.hand_in(session, page.who, str(told.get("key")), seat_id, told["place"], filled, clock)
    is_late = state is PlaceState.TIMED_OUT
    said = N_("The time for the last question was over before you answered it.") if is_late else ""
    return _Outcome("away" if told.get("stops") is True else "on", said)


def _save(session: Session, page: Page, seat_id: str, told: Mapping[str, Any]) -> _Outcome:
    """Keep what is filled in; the sheet then says so. Nothing is kept of a question that is not the present one."""
    if not desk.save(session, page.who, seat_id, told["place"], told.get("sheet") or {}, page.studio.clock):
        return _Outcome("on")
    return _Outcome(is_kept=True)


def _seen(session: Session, page: Page, seat_id: str, told: Mapping[str, Any]) -> _Outcome:
    begins = told.get("begins") is True
    desk.note_seen(session, page.who, seat_id, told["place"], begins=begins, clock=page.studio.clock)
    return _Outcome()


_ACTS: Mapping[str, Callable[[Session, Page, str, Mapping[str, Any]], _Outcome]] = {
    "hand_in": _hand_in, "filled": _save, "seen": _seen,
}  # fmt: skip


def _leave() -> None:
    """Back to the list, which offers to go on."""
    st.query_params.pop("id", None)
    st.rerun()
