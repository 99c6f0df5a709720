"""A question as a model is shown it, with a toggle for each modality."""

import streamlit as st

from annotation_ui import labels
from annotation_ui.page import Page
from annotation_ui.views.preview import condition_for, preview
from annotation_ui.views.results_words import condition_label
from core.condition import SENSES
from core.question import Question


def draw_preview(page: Page, question: Question, key: str) -> None:
    """Draw it; `key` tells the toggles of one question from those of another."""
    t = page.t
    st.text(t("Switch a modality off to see what a model is shown without it."))
    with st.container(horizontal=True, gap="medium"):
        given = {
            sense: st.toggle(t(labels.MODALITIES[sense]), value=True, key=f"give-{sense.value}-{key}")
            for sense in SENSES
            if sense in question.modalities
        }
        options_only = bool(question.choices) and st.toggle(t("Options only"), key=f"options-only-{key}")
    condition = condition_for(question, [sense for sense, is_given in given.items() if not is_given], options_only)
    shown = preview(question, condition, page.links, page.who.user_id, page.studio.workspace.blobs, t)
    page.draw("count.html", text=t("Condition: {name}", name=condition_label(t, shown.condition)))
    page.draw(
        "question.html", prompt=shown.prompt, options=shown.options, steps=shown.steps, marked=False, accepted=(),
        grader="",
    )  # fmt: skip
