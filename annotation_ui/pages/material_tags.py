"""The tags of a material, to be added to and contradicted."""

import streamlit as st

from annotation_ui.library import say_tag
from annotation_ui.page import Page
from annotation_ui.tag_words import TagNames, TagUnreadable, meant
from annotation_ui.views.material import MaterialDetail
from annotation_ui.views.material_tags import TagLine, tag_choices
from core.errors import InterplayError
from core.provenance import content_hash
from curation.tagging.tags import Tag

_PROBLEM = "tag-problem"


def draw_tags(page: Page, detail: MaterialDetail, names: TagNames) -> None:
    """Draw them."""
    t = page.t
    page.section(t("Tags"), t("What people say counts over what models say."))
    error = st.session_state.pop(_PROBLEM, None)
    if error is not None:
        page.problem(error)
    if not detail.tags:
        page.draw("quiet.html", text=t("Nobody has tagged this yet. Authors find materials by their tags."))
    for line in detail.tags:
        _line(page, detail, line)
    if detail.may_decide:
        _add(page, detail.card.id, names)


def _line(page: Page, detail: MaterialDetail, line: TagLine) -> None:
    t = page.t
    # A tag is anybody's text, which no key of a widget should be made of.
    key = content_hash([str(line.tag)])[:12]
    with st.container(horizontal=True, key=f"tag-line-{key}", vertical_alignment="center"):
        page.draw("tag_line.html", line=line)
        if detail.may_decide:
            st.button(
                t("Wrong") if line.counts else t("Right"),
                key=f"tag-{'wrong' if line.counts else 'right'}-{key}",
                type="tertiary",
                help=t("Say that this tag is wrong") if line.counts else t("Say that this tag is right"),
                on_click=_say,
                args=(page, detail.card.id, line.tag, not line.counts),
            )


def _add(page: Page, material_id: str, names: TagNames) -> None:
    t = page.t
    offered = tag_choices(names, t)
    with st.form(f"add-tag-{material_id}", clear_on_submit=True, border=False):
        chosen = st.selectbox(
            t("Add a tag"),
            list(offered),
            index=None,
            format_func=lambda code: offered.get(code, code),
            placeholder=t("Look in the vocabulary, or write your own"),
            accept_new_options=True,
            key=f"new-tag-{material_id}",
        )
        sent = st.form_submit_button(t("Add the tag"))
    if not sent:
        return
    try:
        tag = meant(names, chosen or "")
    except TagUnreadable as error:
        page.problem(error)
        return
    _say(page, material_id, tag, True)
    st.rerun()


def _say(page: Page, material_id: str, tag: Tag, holds: bool) -> None:
    try:
        with page.studio.workspace.database.session() as session:
            say_tag(session, page.who, material_id, tag, holds, page.studio.clock)
    except InterplayError as error:
        st.session_state[_PROBLEM] = error
