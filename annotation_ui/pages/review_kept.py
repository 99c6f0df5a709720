"""What somebody writes in a review and has not handed in: it outlasts a lost lease, another language and a reload."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import streamlit as st

from annotation_ui.components.keeper import keeper
from annotation_ui.page import Page
from annotation_ui.views.review_kept import taken_back

REMARKS = "remarks"
_DONE = "review-done"


@contextmanager
def kept_value(place: str, name: str, default: object = None, *, shared: str | None = None) -> Iterator[str]:
    """The key for a widget whose value outlasts its not being drawn: a lost lease, another language, a reload.

    Widgets that share a value, `shared`, take it over from one another.
    """
    key, kept = f"{name}-{place}", kept_values(place)
    if key not in st.session_state:
        st.session_state[key] = kept.get(shared or name, default)
    yield key
    kept[shared or name] = st.session_state[key]


def kept_values(place: str) -> dict[str, Any]:
    """Everything about a place, by name; what is set here is kept."""
    values: dict[str, Any] = st.session_state.setdefault(f"review-typed-{place}", {})
    return values


def typed_texts(place: str) -> list[str]:
    """What somebody wrote in their own words about a place and did not hand in."""
    kept = kept_values(place)
    return [text for name, text in kept.items() if name.startswith("text-") and isinstance(text, str) and text.strip()]


def forget_texts(place: str) -> None:
    """What was typed is handed in."""
    st.session_state.pop(f"review-typed-{place}", None)
    st.session_state.setdefault(_DONE, []).append(place)


def take_over(place: str, parts: Sequence[str] = ()) -> None:
    """Before the fields of a place are drawn: put into them what the browser kept from before a reload."""
    given = st.session_state.pop(_given(place), None)
    values = taken_back(given, parts)
    if not values:
        return
    kept_values(place).update(values)
    for key in list(st.session_state):
        if str(key).endswith(f"-{place}") and any(str(key).startswith(f"{name}-") for name in values):
            del st.session_state[key]


def keep(page: Page, place: str | None) -> None:
    """After the fields of a place are drawn: have the browser keep them, and ask it once what it kept before.

    Without a place it is only told what is handed in.
    """
    values = kept_values(place) if place else {}
    fields = {_style_class(f"{name}-{place}"): name for name in values if name.startswith("text-")}
    asked = f"review-asked-{place}"
    given = keeper(
        _store(page, place) if place else "",
        values,
        fields,
        [_store(page, one) for one in st.session_state.get(_DONE, ())],
        is_new=asked not in st.session_state,
        key=f"keeper-{place}",
    )
    if place and given is not None and asked not in st.session_state:
        st.session_state[asked] = True
        if given:
            st.session_state[_given(place)] = given
            st.rerun()


def _given(place: str) -> str:
    return f"review-given-{place}"


def _store(page: Page, place: str) -> str:
    # Two people who share a computer share no words.
    return f"{page.who.user_id}-{place}"


def _style_class(key: str) -> str:
    """As Streamlit makes it from a widget's key."""
    return "st-key-" + re.sub(r"[^a-zA-Z0-9_-]", "-", key.strip())
