"""One take: its sound and picture, what the checks say, and the decision on it."""

import streamlit as st

from annotation_ui.components.shortcuts import Shortcut, shortcuts
from annotation_ui.page import Page
from annotation_ui.permissions import Permission
from annotation_ui.recording.listening import Listener
from annotation_ui.recording.takes import MOST_REASON, UnknownTake, accept, hand_in, refuse, set_aside
from annotation_ui.studio import Studio
from annotation_ui.views.takes import TakeDetail, TakeState, next_waiting, siblings, take_detail
from core.errors import InterplayError

_SAID = "take-said"
_LOOK_AGAIN_S = 1.5


def draw(page: Page) -> None:
    """Draw the take that the address names."""
    t = page.t
    page.go("takes", t("All takes"), back=True)
    try:
        with page.studio.workspace.database.reading() as session:
            detail = take_detail(session, page.who, st.query_params.get("id", ""), page.studio.clock(), t)
            is_judge = page.who.may(Permission.REVIEW)
            others = siblings(session, page.who, detail, page.studio.clock(), t) if is_judge else []
    except UnknownTake as error:
        page.problem(error)
        return
    page.title(detail.row.script)
    if said := st.session_state.pop(_SAID, None):
        page.notice(said)
    page.draw("script_text.html", text=detail.text, code=detail.code, size="s1")
    if detail.row.state == TakeState.HELD and detail.is_mine:
        _hand_in(page, detail)
    if detail.may_decide:
        _decide(page, detail)
    draw_take(page, detail)
    if detail.material_id and st.button(t("Look at it in the library"), key="to-material"):
        page.open("material", id=detail.material_id)
    if others:
        page.section(t("Other takes of this script"))
        with st.grid(min_column_width=340, gap="medium", key="siblings"):
            for other in others:
                with st.container(key=f"sibling-{other.row.id}"):
                    page.draw("take_sibling.html", take=other)
                    if st.button(t("Look at this one"), key=f"see-{other.row.id}"):
                        page.open("take", id=other.row.id)


def draw_take(page: Page, detail: TakeDetail) -> None:
    """Its sound, picture and checks; models listen behind the page where they have not yet."""
    page.draw("take_head.html", take=detail)
    page.draw("take_sound.html", take=detail)
    if detail.row.state == TakeState.WITHDRAWN:
        return
    listener = _listener(page.studio, str(page.studio.workspace.project.root))
    if detail.needs_ears:
        listener.ask(detail.row.id)
    page.draw("take_checks.html", checks=detail.checks)
    if listener.is_busy(detail.row.id):
        st.fragment(run_every=_LOOK_AGAIN_S)(_wait)(page, listener, detail.row.id)
    elif (problem := listener.problem(detail.row.id)) is not None:
        page.notice(page.t("The models could not listen: {reason}", reason=problem), "warn")
    if detail.stretches:
        page.section(page.t("What was read"))
        page.draw("take_reading.html", stretches=detail.stretches, code=detail.code)


def _wait(page: Page, listener: Listener, take_id: str) -> None:
    if listener.is_busy(take_id):
        text = page.t("The models listen to it: who speaks, and what. You can go on meanwhile.")
        page.draw("take_listening.html", text=text)
    else:
        st.rerun()


def _hand_in(page: Page, detail: TakeDetail) -> None:
    if hand_in_or_not(page, detail, page.t("Set it aside")) is not None:
        st.rerun()


def hand_in_or_not(page: Page, detail: TakeDetail, away: str, hint: str = "") -> bool | None:
    """Two buttons under a take of one's own: whether it was handed in or set aside now, None while it was neither."""
    with st.container(horizontal=True, vertical_alignment="center"):
        kept = st.button(page.t("Hand it in"), type="primary", key="hand-in")
        again = st.button(away, key="redo")
        if hint:
            page.draw("count.html", text=hint)
    if not (kept or again):
        return None
    become = hand_in if kept else set_aside
    return kept if page.stores(lambda session: become(session, page.who, detail.row.id, page.studio.clock)) else None


def _decide(page: Page, detail: TakeDetail) -> None:
    t = page.t
    with st.form(f"decide-{detail.row.id}"):
        reason = st.text_input(
            t("Reason (needed to refuse it, and to accept what failed a check)"), max_chars=MOST_REASON,
            key=f"reason-{detail.row.id}",
        )  # fmt: skip
        with st.container(horizontal=True):
            accepted = st.form_submit_button(t("Accept"), type="primary", key="take-accept")
            refused = st.form_submit_button(t("Refuse"), key="take-refuse")
    keys = [
        Shortcut(("a",), "A", t("Accept"), "take-accept"),
        Shortcut(("x",), "X", t("Refuse"), "take-refuse"),
    ]
    shortcuts(t, keys, f"take-keys-{detail.row.id}")
    if not (accepted or refused):
        return
    try:
        if accepted:
            with st.spinner(t("Taking it into the library …")):
                accept(page.studio.workspace, page.who, detail.row.id, reason, page.studio.clock)
        else:
            with page.studio.workspace.database.session() as session:
                refuse(session, page.who, detail.row.id, reason, page.studio.clock)
        with page.studio.workspace.database.reading() as session:
            following = next_waiting(session, detail.row.id)
    except InterplayError as error:
        page.problem(error)
        return
    name = detail.row.script
    said = t("{script} is accepted.", script=name) if accepted else t("{script} is refused.", script=name)
    _go_on(page, said, following)


def _go_on(page: Page, said: str, following: str | None) -> None:
    if following is None:
        st.session_state[_SAID] = page.t("{said} No other take waits.", said=said)
        st.rerun()
    st.session_state[_SAID] = page.t("{said} This is the next one.", said=said)
    st.query_params["id"] = following
    st.rerun()


@st.cache_resource(show_spinner=False, on_release=Listener.close)
def _listener(_studio: Studio, root: str) -> Listener:
    """The one that all visitors of this server share."""
    return Listener(_studio.workspace)
