"""Where a draft is written: the editor, and beside it materials, the preview, and what the draft said before."""

from typing import Any

import streamlit as st

from annotation_ui.components.question_editor import question_editor
from annotation_ui.drafting.drafts import discard_draft
from annotation_ui.drafting.handing_in import NotReady, hand_in
from annotation_ui.forms import new_form_key
from annotation_ui.page import Page
from annotation_ui.pages.picker import draw_picker
from annotation_ui.pages.preview import draw_preview
from annotation_ui.told import Told
from annotation_ui.views.author import VersionLine, Writing, writing
from annotation_ui.views.author_words import content_pairs
from core.errors import InterplayError


def draw(page: Page, draft_id: str) -> None:
    """Draw an open draft. The page is the same before and after it ends: what became of it is told in its place."""
    t = page.t
    page.go("author", t("All my drafts"), back=True)
    with page.studio.workspace.database.reading() as session:
        found = writing(session, page.who, draft_id, page.links, page.studio.clock(), t)
    page.title(t("Revise {name}", name=found.item.name) if found.item else t("New question"))
    if found.item and (found.item.reasons or found.item.comments):
        page.draw("returned.html", item=found.item, with_name=False)
    with st.container(key="author-desk"):
        left, right = st.columns([3, 2], gap="large")
    with left:
        _editor(page, found)
    with right, st.container(key="author-aside"):
        _aside(page, found)


def _editor(page: Page, found: Writing) -> None:
    form_key = st.session_state.setdefault(f"hand-in-{found.id}", new_form_key())
    data = found.editor | {"form_key": form_key, "command": st.session_state.get(_command_key(found.id))}
    told = question_editor(data, key=f"editor-{found.id}")
    asked = told.get("hand_in")
    if asked and asked["draft"] == found.id:
        _hand_in(page, asked)


def _hand_in(page: Page, asked: dict[str, Any]) -> None:
    draft_id = asked["draft"]
    try:
        with page.studio.workspace.database.session() as session:
            hand_in(
                session, page.who, draft_id, int(asked["version"]), str(asked["form_key"]), page.t, page.studio.clock
            )
    except NotReady as error:
        first = next(iter(error.notes), None)
        command(draft_id, problem=page.t(error.text, **error.values), focus=first.field if first else "")
    except InterplayError as error:
        text = page.t(error.text, **error.values) if isinstance(error, Told) else str(error)
        command(draft_id, problem=text)
    st.rerun()


def _aside(page: Page, found: Writing) -> None:
    t = page.t
    materials, shown, versions = st.tabs(
        [t("Materials"), t("As a model sees it"), t("Versions")], key="author-tab", on_change="rerun"
    )
    if materials.open:
        with materials:
            draw_picker(page, lambda material: command(found.id, put=material))
    if shown.open:
        with shown:
            draw_preview(page, found.question, found.id)
    if versions.open:
        with versions:
            _versions(page, found)


def _versions(page: Page, found: Writing) -> None:
    t = page.t
    if not found.versions:
        page.notice(t("Nothing yet. What somebody else's save replaces, or what you bring back over, is kept here."))
    for version in found.versions:
        _version(page, found, version)
    with st.popover(t("Throw this draft away")):
        st.text(t("It leaves your list. You can bring it back from “Thrown away” at any time."))
        if st.button(t("Throw away"), key="discard"):
            _discard(page, found)


def _version(page: Page, found: Writing, version: VersionLine) -> None:
    t = page.t
    with st.container(key=f"version-{version.id}"):
        page.draw("version.html", version=version)
        with st.expander(t("Show")):
            page.draw("pairs.html", pairs=content_pairs(version.content, t))
        put_back = {"content": version.content.as_json(), "label": f"{version.label} ({version.when})"}
        st.button(
            t("Bring back into the editor"),
            key=f"take-{version.id}",
            on_click=command,
            args=(found.id,),
            kwargs={"take": put_back},
        )


def _discard(page: Page, found: Writing) -> None:
    if not page.stores(lambda session: discard_draft(session, page.who, found.id, found.version, page.studio.clock)):
        return
    st.rerun()


def command(draft_id: str, **what: Any) -> None:
    """Tell the editor of a draft to do something; it does so once."""
    st.session_state[_command_key(draft_id)] = {"nonce": new_form_key(), **what}


def _command_key(draft_id: str) -> str:
    return f"editor-command-{draft_id}"
