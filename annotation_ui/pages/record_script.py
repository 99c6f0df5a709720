"""Writing a script at the recording desk."""

import streamlit as st

from annotation_ui.forms import new_form_key
from annotation_ui.page import Page
from annotation_ui.recording.script_writing import MOST_CHARACTERS, Written, write_script
from annotation_ui.views.people import SPOKEN, language_name

_ROUND, _SAID = "script-round", "script-said"


def draw(page: Page, *, is_open: bool = False) -> None:
    """Draw the form, folded unless `is_open`, and what came of the one before."""
    t = page.t
    if said := st.session_state.pop(_SAID, None):
        page.notice(said, "good")
    # Another number draws the form anew and empty, once a script was stored.
    number = st.session_state.setdefault(_ROUND, 0)
    key = st.session_state.setdefault(f"script-key-{number}", new_form_key())
    with st.expander(t("Write a script"), icon=":material/edit_note:", expanded=is_open):
        written = _form(page, number)
    if written is None:
        return
    if page.stores(lambda session: write_script(session, page.who, key, written, page.studio.clock)):
        st.session_state[_ROUND] = number + 1
        st.session_state[_SAID] = t("The script is stored. It stands in the list, and never changes.")
        st.rerun()


def _form(page: Page, number: int) -> Written | None:
    t = page.t
    spoken = [t.language, *(code for code in SPOKEN if code != t.language)]
    with st.form(f"script-{number}", border=False):
        text = st.text_area(
            t("What is to be read"), height=160, max_chars=MOST_CHARACTERS, key=f"script-text-{number}",
            placeholder=t("Whole sentences, as somebody would say them"),
        )  # fmt: skip
        columns = st.columns([2, 3, 2, 2])
        language = columns[0].selectbox(
            t("Language"), spoken, key=f"script-language-{number}", format_func=lambda code: language_name(t, code)
        )
        topic = columns[1].text_input(
            t("Topic (may stay empty)"), max_chars=128, key=f"script-topic-{number}",
            help=t("It names the script. Without one it is named after its language, with a number."),
        )  # fmt: skip
        dialect = columns[2].text_input(t("Dialect (may stay empty)"), max_chars=64, key=f"script-dialect-{number}")
        role = columns[3].text_input(t("Role (may stay empty)"), max_chars=64, key=f"script-role-{number}")
        sent = st.form_submit_button(t("Store the script"), type="primary", key=f"script-store-{number}")
    return Written(text, language, topic, dialect, role) if sent else None
