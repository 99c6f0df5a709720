"""The editor of a draft in the browser: it holds the words, saves them by itself, and is their only writer there."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import streamlit as st

from annotation_ui.components import DOM

_FILES = files(__package__)
# One module in several files: nothing is imported in the browser, so that no build step is needed.
_SCRIPTS = ("content.js", "saving.js", "compare.js", "task_type.js", "answers.js", "media.js", "editor.js")
_EVIDENCE = ("evidence_tools.js", "evidence_time.js", "evidence_box.js", "evidence.js")


def _text(name: str) -> str:
    return _FILES.joinpath(name).read_text(encoding="utf-8")


def _script() -> str:
    """All scripts; those of the evidence are closed in themselves, so that their helpers and ours may share names."""
    own = "\n".join(map(_text, _EVIDENCE))
    evidence = f"const mountEvidence = (() => {{\n{own}\nreturn mountEvidence;\n}})();\n"
    return "\n".join([DOM, evidence, *map(_text, _SCRIPTS)])


# Not in a shadow tree: from there Streamlit would take letters that are typed for its own shortcuts.
_mount = st.components.v2.component(
    "interplay_question_editor",
    css=_text("editor.css") + _text("evidence.css"),
    js=_script(),
    isolate_styles=False,
)


def question_editor(data: Mapping[str, Any], key: str) -> Any:
    """Mount the editor on a draft, as `views.author.editor_data` tells it.

    Returns:
        `settled`, `{draft, version}` of the last save after which nobody wrote for a moment, or None; `hand_in`,
        `{draft, version, form_key}` in the run after somebody handed in, else None.
    """
    return _mount(
        key=key, data=dict(data), on_settled_change=lambda: None, on_hand_in_change=lambda: None, width="stretch"
    )
