"""How many questions of which kind are wanted: a grid to type in, many at once, or a table that is brought."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from annotation_ui.forms import new_form_key
from annotation_ui.page import Page
from annotation_ui.targets import COLUMNS, MOST, Target, read_table, store_targets
from annotation_ui.views import targets as view
from annotation_ui.views.coverage import TargetRow, languages, questions, target_cells, target_rows

if TYPE_CHECKING:
    from pandas import DataFrame

_SHOWN, _ROUND, _SAID = "targets-shown", "targets-round", "targets-said"


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(
        t("Targets"),
        t("How many accepted questions of each kind the benchmark shall have. Everybody sees them at home."),
    )
    if said := st.session_state.pop(_SAID, None):
        page.notice(said, "good")
    with page.studio.workspace.database.reading() as session:
        found = questions(session)
        now = target_rows(session, found, t)
    # What is typed belongs to the rows that were shown, also when somebody else changes them meanwhile.
    if _grid_key(page) not in st.session_state:
        st.session_state[_SHOWN] = now
    shown: Sequence[TargetRow] = st.session_state[_SHOWN]
    offered = {
        "task_type": view.task_types(t, shown),
        "media": view.media(t),
        "language": view.languages(t, shown, languages(found)),
    }
    if not shown:
        page.empty(
            t("There are no targets yet"),
            t(
                "A target says how many questions of a task type, over which media, in which language are wanted. "
                "The start page then shows authors what lacks most."
            ),
            [
                (t("Set the same target for many kinds at once, below, and change single ones in the grid."), ""),
                (t("Or bring a table with the columns {columns}.", columns=", ".join(COLUMNS)), ""),
                (t("The task types with their names:"), "interplay item types"),
            ],
        )
    _many(page, offered)
    _grid(page, shown, offered)
    page.downloads(t("targets"), COLUMNS, lambda: target_cells(now))
    _bring(page)
    page.go("home", t("Back to the start page"))


def _grid(page: Page, shown: Sequence[TargetRow], offered: Mapping[str, Mapping[str, str]]) -> None:
    t = page.t
    page.section(t("One by one"), t("Type in the grid; the last row adds one. A target of 0 takes it away."))
    edited = st.data_editor(
        _frame(shown),
        key=_grid_key(page),
        num_rows="dynamic",
        hide_index=True,
        column_config=_columns(page, offered),
    )
    with st.container(horizontal=True):
        if st.button(t("Save the targets"), type="primary", key="save-targets"):
            rows = edited.astype(object).where(edited.notna(), None).to_dict("records")
            _store(page, lambda: view.changes(shown, rows))
        if st.button(t("Show what is stored"), key="reset-targets", type="tertiary"):
            _anew()
            st.rerun()


def _columns(page: Page, offered: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    t, number = page.t, st.column_config.NumberColumn
    heads = {"task_type": (t("Task type"), 190), "media": (t("Media"), 130), "language": (t("Language"), 100)}
    # Nothing is `required`: the grid would leave half a row out without a word.
    chosen = {
        name: st.column_config.SelectboxColumn(
            head, options=list(offered[name]), format_func=_named(offered[name]), default=view.ANY_CODE, width=width_px
        )
        for name, (head, width_px) in heads.items()
    }
    return chosen | {
        "target": number(t("Target"), min_value=0, max_value=MOST, step=1, width=70),
        "have": number(t("Accepted"), disabled=True, width=70),
        "underway": number(t("On the way"), disabled=True, width=70),
    }


def _frame(shown: Sequence[TargetRow]) -> "DataFrame":
    """The rows as a data frame: only that has types for its columns where there is no row yet."""
    from pandas import DataFrame

    numbers = dict.fromkeys(view.NUMBERS, "Int64")
    return DataFrame(view.grid(shown), columns=[*view.SHAPE, *numbers]).astype(
        dict.fromkeys(view.SHAPE, "str") | numbers
    )


def _many(page: Page, offered: Mapping[str, Mapping[str, str]]) -> None:
    t = page.t
    with st.expander(t("Many at once"), icon=":material/playlist_add:"), st.form(f"many-{_number()}", border=False):
        columns = st.columns([4, 3, 2, 2], vertical_alignment="bottom")
        heads = {"task_type": t("Task types"), "media": t("Media"), "language": t("Languages")}
        chosen = [
            column.multiselect(
                head, list(offered[name])[1:], key=f"many-{name}-{_number()}", format_func=_named(offered[name]),
                placeholder=offered[name][view.ANY_CODE],
            )
            for column, (name, head) in zip(columns, heads.items(), strict=False)
        ]  # fmt: skip
        count = columns[-1].number_input(t("Target for each"), 0, MOST, 10, key=f"many-count-{_number()}")
        if st.form_submit_button(t("Set for every combination")):
            _store(page, lambda: view.many(chosen, count))


def _bring(page: Page) -> None:
    t = page.t
    with st.expander(t("Bring a table"), icon=":material/upload:"):
        page.draw(
            "quiet.html",
            text=t(
                "A CSV file with the columns {columns}, as “Save as CSV” gives it. An empty cell is any, a target of 0 "
                "takes one away, and targets that do not stand in the file stay.",
                columns=", ".join(COLUMNS),
            ),
        )
        file = st.file_uploader(t("Table of targets"), type=["csv", "tsv"], key=f"targets-file-{_number()}")
        if st.button(t("Set these targets"), key="bring-targets", disabled=file is None) and file is not None:
            data = file.getvalue()
            _store(page, lambda: read_table(data))


def _store(page: Page, read: Callable[[], Sequence[Target]]) -> None:
    key = st.session_state.setdefault(f"targets-form-{_number()}", new_form_key())
    done = page.stored(lambda session: store_targets(session, page.who, key, read(), page.studio.clock))
    if done is None:
        return
    _anew()
    st.session_state[_SAID] = page.t("Stored: {changed} set, {removed} taken away, {same} as before.", **vars(done))
    st.rerun()


def _anew() -> None:
    """The next drawing begins from what is stored, in new widgets."""
    st.session_state[_ROUND] = _number() + 1


def _grid_key(page: Page) -> str:
    return f"targets-grid-{_number()}-{page.t.language}"


def _number() -> int:
    return int(st.session_state.get(_ROUND, 0))


def _named(names: Mapping[str, str]) -> Callable[[Any], str]:
    return lambda code: names.get(code, code)
