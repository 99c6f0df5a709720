"""What is said in a material, line by line: a click on a line plays it, and the line that is heard stands out."""

from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files

import streamlit as st

from annotation_ui.views.material import Line

_FILES = files(__package__)
_mount = st.components.v2.component(
    "interplay_transcript",
    css=_FILES.joinpath("transcript.css").read_text(encoding="utf-8"),
    js=_FILES.joinpath("transcript.js").read_text(encoding="utf-8"),
)


def transcript(lines: Sequence[Line], key: str) -> None:
    """Lines for the player that stands in the container `material-player`."""
    _mount(key=key, data={"lines": [asdict(line) for line in lines]})
