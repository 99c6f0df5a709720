"""The recording desk: who speaks, which script, the take, and what the checks say of it."""

import streamlit as st

from annotation_ui import labels
from annotation_ui.components.recorder import Desk, recorder
from annotation_ui.page import Page
from annotation_ui.pages import record_script, record_speaker
from annotation_ui.pages.take import draw_take, hand_in_or_not
from annotation_ui.permissions import Permission
from annotation_ui.recording.routes import RECORDINGS_PATH
from annotation_ui.recording.speakers import Speaker, latest_text, speakers
from annotation_ui.recording.takes import MOST_TAKE_S, UnknownTake
from annotation_ui.views import record as view
from annotation_ui.views.takes import TakeDetail, TakeState, take_detail
from annotation_ui.words import N_
from warehouse.tables import Script

_SIZES = {"s1": N_("Small"), "s2": N_("Medium"), "s3": N_("Large"), "s4": N_("Very large")}
_SAID = "record-said"


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(t("Record"), t("Read scripts aloud. What you record is saved at once, and checked while you are here."))
    with page.studio.workspace.database.reading() as session:
        text = latest_text(session)
        offered = view.script_choices(session)
        found = speakers(session, page.who, page.studio.clock())
    if text is None or not offered.languages:
        _teach(page, text is None, not offered.languages)
        return
    chosen = record_speaker.draw(page, found, text)
    if chosen is None:
        return
    query = _query(page, offered) if "script" not in st.query_params else _remembered()
    with page.studio.workspace.database.reading() as session:
        script = session.get(Script, st.query_params.get("script", ""))
    if script is None or not script.active:
        if "script" in st.query_params:
            _leave_script()
        _scripts(page, query, chosen)
    else:
        _desk(page, query, chosen, script)


def _teach(page: Page, no_words: bool, no_scripts: bool) -> None:
    """What must be there before anybody can speak."""
    t = page.t
    steps = []
    if no_scripts:
        steps.append(
            (t("Write what is to be read, below, or bring in a table:"), "interplay script import scripts.csv")
        )
    if no_words:
        command = "interplay consent text 1.0 --en consent.en.txt --zh consent.zh.txt --licence CC-BY-4.0"
        steps.append((t("Store the words that speakers agree to:"), command))
    page.empty(
        t("Nothing can be recorded yet"),
        t("A recording needs a script to read, and words of consent that the speaker signs before the first take."),
        steps,
    )
    if no_scripts:
        record_script.draw(page, is_open=True)
    if no_words and page.who.may(Permission.MANAGE_PEOPLE):
        record_speaker.write_words_form(page)


def _query(page: Page, offered: view.ScriptChoices) -> view.ScriptQuery:
    t = page.t
    words, language, dialect, role, recorded = st.columns([3, 2, 2, 2, 2.4], vertical_alignment="bottom")
    languages = {code: labels.question_language(t, code) for code in offered.languages}
    return view.ScriptQuery(
        text=page.search(words, t("Search"), "script-search", t("Name or words")),
        language=page.choose(language, t("Language"), languages, "script-language"),
        dialect=page.choose(dialect, t("Dialect"), {name: name for name in offered.dialects}, "script-dialect"),
        role=page.choose(role, t("Role"), {name: name for name in offered.roles}, "script-role"),
        recorded=page.choose(recorded, t("Recorded"), {code: t(label) for code, label in view.RECORDED.items()}, "by"),
        page=page.page_number,
    )


def _remembered() -> view.ScriptQuery:
    """What the list was narrowed to before a script was chosen; it waits in the address."""
    given = st.query_params
    return view.ScriptQuery(
        text=given.get("script-search", ""),
        language=given.get("script-language"),
        dialect=given.get("script-dialect"),
        role=given.get("script-role"),
        recorded=given.get("by"),
    )


def _scripts(page: Page, query: view.ScriptQuery, chosen: Speaker) -> None:
    t = page.t
    with page.studio.workspace.database.reading() as session:
        found = view.scripts_page(session, query, chosen.contributor.id, t)
    page.draw("count.html", text=t.plural("{count} script to read", "{count} scripts to read", found.total))
    if not found.rows:
        page.notice(t("No script fits this choice. Take a filter away."))
    for row in found.rows:
        with st.container(key=f"row-{row.id}"):
            page.draw("script_row.html", row=row)
            if st.button(t("Read this one"), key=f"open-{row.id}"):
                _read(row.id)
    page.pages(found.page_count)
    record_script.draw(page)
    page.go("takes", t("My takes"))


def _read(script_id: str) -> None:
    st.query_params["script"] = script_id
    st.query_params.pop("take", None)
    st.rerun()


def _leave_script() -> None:
    for name in ("script", "take"):
        st.query_params.pop(name, None)


def _desk(page: Page, query: view.ScriptQuery, chosen: Speaker, script: Script) -> None:
    t = page.t
    back, following, sized = st.columns([2, 2, 5], vertical_alignment="center")
    if back.button(t("All scripts"), key="all-scripts", icon=":material/arrow_back:", type="tertiary"):
        _leave_script()
        st.rerun()
    with page.studio.workspace.database.reading() as session:
        after = view.next_script(session, query, chosen.contributor.id, script)
    if after is not None and following.button(t("Next script"), key="next-script", type="tertiary"):
        _read(after)
    size = sized.segmented_control(
        t("Text size"), list(_SIZES), default="s2", format_func=lambda code: t(_SIZES[code]), key="script-size",
        required=True, label_visibility="collapsed",
    )  # fmt: skip
    page.section(script.name, view.script_about(t, script))
    page.draw("script_text.html", text=script.text, code=script.language, size=size)
    desk = Desk(RECORDINGS_PATH, script.id, chosen.contributor.id, MOST_TAKE_S)
    if saved := recorder(t, desk, "recorder"):
        st.query_params["take"] = saved
        st.session_state.pop(_SAID, None)
    if said := st.session_state.pop(_SAID, None):
        page.notice(said)
    _last_take(page, script)


def _last_take(page: Page, script: Script) -> None:
    """The take that was just made, to hear, keep or do again."""
    take_id = st.query_params.get("take")
    if take_id is None:
        return
    try:
        with page.studio.workspace.database.reading() as session:
            detail = take_detail(session, page.who, take_id, page.studio.clock(), page.t)
    except UnknownTake:
        st.query_params.pop("take")
        return
    if detail.script_id != script.id or not detail.is_mine:
        st.query_params.pop("take")
        return
    page.section(page.t("Your take"))
    if detail.row.state == TakeState.HELD:
        _keep_or_redo(page, detail)
    draw_take(page, detail)


def _keep_or_redo(page: Page, detail: TakeDetail) -> None:
    t = page.t
    hint = t("Listen first. What you hand in goes to somebody who decides on it.")
    kept = hand_in_or_not(page, detail, t("Do it again"), hint)
    if kept is None:
        return
    st.session_state[_SAID] = (
        t("Handed in. You find it under “My takes”, with what becomes of it.")
        if kept
        else t("Set aside. Record it again when you are ready.")
    )
    st.query_params.pop("take")
    st.rerun()
