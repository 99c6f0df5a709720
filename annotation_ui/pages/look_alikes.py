"""Look-alikes side by side: what links them, and the decision which of them to keep."""

import streamlit as st

from annotation_ui.library import MOST_REASON, Ruling, decide_together
from annotation_ui.page import Page
from annotation_ui.tag_words import known_names
from annotation_ui.views.look_alikes import Group, LookAlikes, Side, look_alikes
from warehouse.tables import MaterialState

_KEEP, _DROP = "keep", "drop"
Seen = tuple[int, MaterialState]
"""The version and state of a row that somebody looked at."""


def draw(page: Page) -> None:
    """Draw the groups that wait for a decision, or that of the material which the address names."""
    t = page.t
    page.go("materials", t("All materials"), back=True)
    page.title(t("Look-alikes"), t("Materials that show or sound the same. Keep the best, and drop what adds nothing."))
    around = st.query_params.get("around")
    every = around is None and page.switch(st, t("Also groups that are decided"), "decided")
    names = known_names(page.studio.workspace.project.root)
    with page.studio.workspace.database.reading() as session:
        found = look_alikes(session, page.who, page.links, t, names, every=every, around=around, page=page.page_number)
    if around is not None:
        st.button(t("Show all groups"), key="all-groups", type="tertiary", on_click=_show_all)
    if not found.groups:
        _nothing(page, found)
        return
    page.draw("count.html", text=t.plural("{count} group", "{count} groups", found.total))
    for group in found.groups:
        _group(page, group, found.may_decide)
    page.pages(found.page_count)


def _show_all() -> None:
    st.query_params.pop("around", None)


def _nothing(page: Page, found: LookAlikes) -> None:
    t = page.t
    if found.group_count:
        page.notice(t("No group waits for a decision."), "good")
        return
    page.empty(
        t("No look-alikes have been found"),
        t("New materials are compared with all others when they come in: copies, cuts, mirrored or faster ones."),
        [(t("Compare materials from before again:"), "interplay material look")],
    )


def _group(page: Page, group: Group, may_decide: bool) -> None:
    t = page.t
    with st.container(border=True, key=f"group-{group.id}"):
        page.draw("lines.html", lines=group.evidence)
        if group.hidden:
            page.draw(
                "quiet.html",
                text=t.plural(
                    "{count} more is shown once these are decided.",
                    "{count} more are shown once these are decided.",
                    group.hidden,
                ),
            )
        # The rows as this visitor saw them when they began to decide; they may have moved on since.
        seen = f"seen-{group.id}"
        now = {side.card.id: (side.version, side.card.state) for side in group.sides}
        before: dict[str, Seen] = st.session_state.get(seen, now)
        st.session_state[seen] = now
        with st.form(f"decide-group-{group.id}", border=False):
            with st.grid(min_column_width=230, gap="medium", key=f"sides-{group.id}"):
                chosen = {
                    side.card.id: _side(page, side, before.get(side.card.id, now[side.card.id]), may_decide)
                    for side in group.sides
                }
            reason = st.text_input(t("Why?"), max_chars=MOST_REASON, key=f"why-{group.id}", disabled=not may_decide)
            sent = st.form_submit_button(t("Decide"), disabled=not may_decide)
        if sent:
            _decide(page, group, chosen, before, reason)


def _side(page: Page, side: Side, before: Seen, may_decide: bool) -> str | None:
    t = page.t
    with st.container(key=f"side-{side.card.id}"):
        page.draw("look_alike.html", side=side)
        if not may_decide or side.card.state == MaterialState.WITHDRAWN:
            return None
        return st.segmented_control(
            t("Decision about {letter}", letter=side.letter),
            [_KEEP, _DROP],
            format_func=lambda code: t("Keep") if code == _KEEP else t("Drop"),
            default=_KEEP if before[1] == MaterialState.KEPT else _DROP,
            required=True,
            # A choice stands for the row that was looked at: for another version it begins anew.
            key=f"ruling-{side.card.id}-{before[0]}",
            label_visibility="collapsed",
        )


def _decide(
    page: Page,
    group: Group,
    chosen: dict[str, str | None],
    before: dict[str, Seen],
    reason: str,
) -> None:
    rulings = [
        Ruling(material_id, before[material_id][0], choice == _KEEP)
        for material_id, choice in chosen.items()
        if choice and material_id in before and (choice == _KEEP) != (before[material_id][1] == MaterialState.KEPT)
    ]
    if not page.stores(lambda session: decide_together(session, page.who, rulings, reason, page.studio.clock)):
        return
    del st.session_state[f"seen-{group.id}"]
    st.rerun()
