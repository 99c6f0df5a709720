"""Making a counterfactual twin of an item: one material is swapped, and the draft with the rest opens."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from annotation_ui.drafting.twins import twin_of_item
from annotation_ui.forms import new_form_key
from annotation_ui.page import Page
from annotation_ui.pages.picker import draw_picker
from annotation_ui.views.twins import Swappable


def draw_twin_maker(page: Page, name: str, offered: Sequence[Swappable]) -> None:
    """Draw it: a choice of what to swap, what stands there now, and the library to choose another from."""
    t = page.t
    _make_chosen(page, name)
    page.section(
        t("Make a twin"),
        t(
            "A twin asks the same about another material, and has another answer. Choose the new material: the draft "
            "opens with everything but the right answer, which is yours to give."
        ),
    )
    by_place = {one.placeholder: one for one in offered}
    place = st.radio(t("What is swapped"), list(by_place), key=f"twin-place-{name}", horizontal=True)
    one = by_place[place]
    now, others = st.columns([1, 3], gap="large")
    with now:
        page.draw("count.html", text=t("Stands there now"))
        page.draw("pick.html", card=one.card)
        if st.button(t("Cancel"), key="twin-cancel", width="stretch"):
            close_twin_maker(name)
            st.rerun()
    # The key goes with the click: a second click on the same drawing names the same draft.
    form_key = st.session_state.setdefault(_form(name), new_form_key())

    def use(material: dict[str, Any]) -> None:
        st.session_state[_chosen(name)] = (place, material["material_id"], form_key)

    with others:
        draw_picker(page, use, one.modality, but=one.card.id)


def open_twin_maker(name: str) -> None:
    """Show it from now on."""
    st.session_state[_open(name)] = True


def close_twin_maker(name: str) -> None:
    """Show it no more."""
    st.session_state.pop(_open(name), None)


def is_twin_maker_open(name: str) -> bool:
    """Whether it is to be shown."""
    return bool(st.session_state.get(_open(name)))


def _make_chosen(page: Page, name: str) -> None:
    chosen = st.session_state.pop(_chosen(name), None)
    if chosen is None:
        return
    place, material_id, form_key = chosen
    draft = page.stored(
        lambda session: twin_of_item(session, page.who, name, place, material_id, form_key, page.studio.clock)
    )
    if draft is None:
        return
    close_twin_maker(name)
    st.session_state.pop(_form(name), None)
    page.open("author", draft=draft.id)


def _open(name: str) -> str:
    return f"twin-open-{name}"


def _chosen(name: str) -> str:
    return f"twin-chosen-{name}"


def _form(name: str) -> str:
    return f"twin-form-{name}"
