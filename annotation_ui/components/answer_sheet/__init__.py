"""The sheet on which an exam's question is answered: choices or fields, how sure one is, the time that is left.

Streamlit's own widgets cannot do what an exam needs: a text that is being typed reaches the server only when its field
is left, and what is handed in may be an answer of an instant ago.
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from typing import Any

import streamlit as st

from annotation_ui.components import DOM

_FILES = files(__package__)

# Not in a shadow tree: the page's shortcuts press its buttons, and Streamlit's own would hear what is typed.
_mount = st.components.v2.component(
    "interplay_answer_sheet",
    css=_FILES.joinpath("answer_sheet.css").read_text(encoding="utf-8"),
    js=DOM + _FILES.joinpath("answer_sheet.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def answer_sheet(data: Mapping[str, Any], key: str, heard: Callable[[str, Mapping[str, Any]], None]) -> None:
    """Mount the sheet of a question, as `views.exam.sheet_data` tells it.

    `heard` is called before the page is drawn anew, with what happened and its value: `filled`, `{place, stroke,
    sheet}`, a moment after the last change; `hand_in`, `{place, key, stops, sheet}`; `seen`, `{place, begins}`, while
    the sheet is on the screen.
    """

    def tell(event: str) -> None:
        value = st.session_state[key].get(event)
        if isinstance(value, Mapping):
            heard(event, value)

    _mount(
        key=key,
        data=dict(data),
        on_filled_change=partial(tell, "filled"),
        on_hand_in_change=partial(tell, "hand_in"),
        on_seen_change=partial(tell, "seen"),
        width="stretch",
    )
