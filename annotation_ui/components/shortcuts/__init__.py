"""Keyboard shortcuts: keys that press buttons which the page shows, so that both go one way."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import count

import streamlit as st

from annotation_ui.components import DOM
from annotation_ui.words import Words

_FILES = files(__package__)
_mount = st.components.v2.component(
    "interplay_shortcuts",
    css=_FILES.joinpath("shortcuts.css").read_text(encoding="utf-8"),
    js=DOM + _FILES.joinpath("shortcuts.js").read_text(encoding="utf-8"),
)
_drawings = count()


@dataclass(frozen=True)
class Shortcut:
    """Keys that press the button which Streamlit drew under a widget's key (its `place`-th, from 0).

    A key is one character, in small letters (`b`, `2`, `?`), or `ctrl+enter`. `shown` is how the list writes the
    keys; with nothing in it, another entry speaks for this one.
    """

    keys: tuple[str, ...]
    shown: str
    label: str
    widget: str
    place: int = 0


@dataclass(frozen=True)
class Walk:
    """J and K walk through these widgets' buttons, down and up, from the one whose key is `at`."""

    widgets: tuple[str, ...]
    at: str
    label: str


def shortcuts(t: Words, found: Sequence[Shortcut], key: str, walk: Walk | None = None) -> None:
    """Listen for keys on the whole page, as long as this is drawn; `?` opens and closes the list of them.

    Keys, and clicks on the same buttons, that come faster than the page is drawn are pressed one after the other, each
    once the last one is drawn; those that wait are dropped when a component with another `key` takes the place.
    Nothing is heard while somebody types or an input method composes, and browsers keep their own combinations.
    """
    _mount(
        key=key,
        data={
            "shortcuts": [asdict(one) for one in found],
            "walk": asdict(walk) if walk else None,
            "title": t("Keyboard shortcuts"),
            "toggle": t("Show or hide this list"),
            "typing": t("They rest while you type."),
            # New with every drawing, so that the browser's part hears of each: keys wait for what others pressed.
            "drawing": next(_drawings),
        },
    )
