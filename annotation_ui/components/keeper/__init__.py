"""The browser holds what is typed: a reload, a lost connection and a server that starts again lose no words."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import streamlit as st

_mount = st.components.v2.component(
    "interplay_keeper", js=files(__package__).joinpath("keeper.js").read_text(encoding="utf-8")
)


def keeper(
    store: str, values: Mapping[str, Any], fields: Mapping[str, str], done: Sequence[str], *, is_new: bool, key: str
) -> object:
    """Keep `values`, and letter by letter what is typed into text areas, under the name `store` in this browser.

    Args:
        store: The name; empty to keep nothing.
        values: What there is now, as JSON; nothing in it takes away what was kept.
        fields: Names in `values` by the style class of the text area's container.
        done: Names under which nothing is to be kept any more.
        is_new: Whether this session has not asked yet what was kept before it began.
        key: Of the component.

    Returns:
        What was kept (nothing as an empty object), in the one run after a new session's first drawing; else None.
    """
    data = {"store": store, "values": dict(values), "fields": dict(fields), "done": list(done), "is_new": is_new}
    with st.container(key="keeper", height=1, border=False):
        return _mount(key=key, data=data, height=1, on_kept_change=lambda: None).kept
