"""The recorder in the browser: a microphone test, takes at 48 kHz without loss, sent until the studio holds them.

Streamlit's own `st.audio_input` cannot do what a benchmark's takes need: its browsers code speech with loss (Opus) and
run noise suppression, echo cancellation and automatic gain over it before the samples are turned into WAV, which hides
what the checks measure; it tells no device, no level, and a refused microphone in English only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import streamlit as st

from annotation_ui.components import DOM
from annotation_ui.components.recorder.words import recorder_words
from annotation_ui.words import Words

_FILES = files(__package__)
_SCRIPTS = ("sound.js", "recorder.js")

# Not in a shadow tree: from there Streamlit would take letters that are typed for its own shortcuts.
_mount = st.components.v2.component(
    "interplay_recorder",
    css=_FILES.joinpath("recorder.css").read_text(encoding="utf-8"),
    js="\n".join([DOM, *(_FILES.joinpath(name).read_text(encoding="utf-8") for name in _SCRIPTS)]),
    isolate_styles=False,
)


@dataclass(frozen=True)
class Desk:
    """Where takes go: the address, and the ids of whose and what they are; `most_s` ends one by itself."""

    address: str
    script: str
    contributor: str
    most_s: int

    @property
    def document(self) -> Mapping[str, Any]:
        """For the browser."""
        return {"address": self.address, "script": self.script, "contributor": self.contributor, "most_s": self.most_s}


def recorder(t: Words, desk: Desk, key: str) -> str | None:
    """Draw the recorder; the id of a take in the run after the studio answered that it is on disk, else None."""
    answered = _mount(
        key=key,
        data={**desk.document, "words": recorder_words(t)},
        on_saved_change=lambda: None,
        width="stretch",
    )
    saved = answered.saved
    return str(saved["id"]) if isinstance(saved, Mapping) and "id" in saved else None
