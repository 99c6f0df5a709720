"""What every page draws with: the visitor, their words, and pieces that show any text as text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import streamlit as st
from sqlmodel import Session

from annotation_ui.background import AlreadyAtWork, Job
from annotation_ui.html import data_address, render
from annotation_ui.media_links import MediaLinks
from annotation_ui.permissions import Principal
from annotation_ui.studio import Studio
from annotation_ui.told import Told
from annotation_ui.words import Words
from core.errors import InterplayError
from core.provenance import content_hash
from warehouse.spreadsheets import Cell, as_csv, as_xlsx

# What a page of one thing is about; all else in the address narrows a list, and waits there for the way back.
OWN_QUERY = frozenset({"id", "name", "revision", "draft", "tab"})
T = TypeVar("T")
_PAGE = "page"
_LOOK_AGAIN_S = 1.0


@dataclass(frozen=True)
class Page:
    """One drawing of one page. `others` are the pages that links can lead to, by name.

    `paging` is what the address calls the number of a list's page: a list beside what another one led to has its own.
    """

    studio: Studio
    who: Principal
    t: Words
    others: Mapping[str, Any]
    paging: str = _PAGE

    @cached_property
    def links(self) -> MediaLinks:
        """Signs media addresses for this visitor."""
        return MediaLinks(self.studio.key, self.studio.clock)

    def draw(self, template: str, **values: object) -> None:
        """A template with its values escaped."""
        st.html(render(template, self.t, **values))

    def title(self, title: str, lead: str = "") -> None:
        """The page's heading."""
        self.draw("title.html", title=title, lead=lead)

    def section(self, title: str, lead: str = "") -> None:
        """The heading of a part of the page."""
        self.draw("section.html", title=title, lead=lead)

    def notice(self, text: str, kind: str = "") -> None:
        """A short message; `kind` is empty, `warn` or `bad`."""
        self.draw("notice.html", text=text, kind=kind)

    def empty(self, title: str, text: str, steps: Sequence[tuple[str, str]] = ()) -> None:
        """What to do where there is nothing yet: words, and the command that does it."""
        self.draw("empty.html", title=title, text=text, steps=steps)

    def go(self, page: str, label: str, *, back: bool = False) -> None:
        """A link to another page of the studio; one that leads back keeps what the list was narrowed to."""
        kept = {name: value for name, value in st.query_params.items() if back and name not in OWN_QUERY}
        icon = ":material/arrow_back:" if back else None
        st.page_link(self.others[page], label=label, icon=icon, query_params=kept or None)

    def open(self, page: str, **query: str) -> None:
        """Go to another page now."""
        st.switch_page(self.others[page], query_params={**st.query_params.to_dict(), **query})

    def search(self, place: Any, label: str, key: str, placeholder: str = "") -> str:
        """Words to look for; they stand in the address, so that a reload and a link find the same."""
        _recall(key, lambda given: given)
        text = place.text_input(
            label, key=key, max_chars=200, placeholder=placeholder or None, on_change=_turn_back,
            args=(self.paging,),
        )  # fmt: skip
        _note(key, text)
        return text or ""

    def choose(
        self, place: Any, label: str, options: Mapping[str, str], key: str, default: str | None = None
    ) -> str | None:
        """One of some codes by its words; the code stands in the address. Without a default none can be chosen too."""
        # Streamlit tells a choice by its words: with other words (a language, a count) it must be another widget.
        widget = f"{key}-{content_hash(list(options.items()))[:8]}"
        if widget not in st.session_state:
            given = st.query_params.get(key)
            st.session_state[widget] = given if given in options else default
        chosen: str | None = place.selectbox(
            label,
            list(options),
            index=None if default is None else list(options).index(default),
            key=widget,
            format_func=lambda code: options.get(code, code),
            placeholder=self.t("All"),
            on_change=_turn_back,
            args=(self.paging,),
        )
        given = st.query_params.get(key)
        if chosen != (given if given in options else default):
            _note(key, None if chosen == default else chosen)
        return chosen

    def choose_several(
        self,
        place: Any,
        label: str,
        options: Mapping[str, str],
        key: str,
        default: Sequence[str] = (),
        most: int | None = None,
    ) -> list[str]:
        """Some of several codes by their words, `most` at most; the codes stand in the address."""
        widget = f"{key}-{content_hash(list(options.items()))[:8]}"
        if widget not in st.session_state:
            given = [code for code in st.query_params.get_all(key) if code in options]
            st.session_state[widget] = (given or [*default])[:most]
        chosen: list[str] = place.multiselect(
            label,
            list(options),
            key=widget,
            format_func=lambda code: options.get(code, code),
            placeholder=self.t("All") if most is None else self.t("Choose"),
            max_selections=most,
            on_change=_turn_back,
            args=(self.paging,),
        )
        given = [code for code in st.query_params.get_all(key) if code in options]
        if chosen != (given or [*default])[:most]:
            _note(key, chosen)
        return chosen

    def part(self, names: Mapping[str, str], key: str, on_change: Callable[[], None] | None = None) -> str:
        """Which part of the page is shown, by its code, which stands in the address.

        By default another part begins at the first page of its list; `on_change` forgets more of what was chosen.
        """
        given, first = st.query_params.get(key, ""), next(iter(names))
        meant = given if given in names else first
        widget = f"{key}-{self.t.language}"
        if widget not in st.session_state:
            st.session_state[widget] = meant
        chosen: str | None = st.segmented_control(
            self.t("Part"), list(names), key=widget, format_func=names.__getitem__, required=True,
            label_visibility="collapsed", on_change=on_change or partial(_turn_back, self.paging),
        )  # fmt: skip
        part = chosen or first
        if part != meant:
            _note(key, part)
        return part

    def switch(self, place: Any, label: str, key: str) -> bool:
        """A choice of yes or no that stands in the address."""
        _recall(key, lambda given: given == "yes")
        chosen = bool(place.toggle(label, key=key, on_change=_turn_back, args=(self.paging,)))
        _note(key, "yes" if chosen else None)
        return chosen

    @property
    def page_number(self) -> int:
        """Which page of a list is to be shown; `pages` is drawn after the list that it turns."""
        given = st.query_params.get(self.paging, "")
        return max(int(given), 1) if given.isdecimal() else 1

    def pages(self, count: int) -> None:
        """The way to the other pages of a list, where there are any."""
        if count < 2:
            return
        narrowed = {name: st.query_params.get_all(name) for name in st.query_params if name != self.paging}
        widget = f"{self.paging}-{content_hash([count, narrowed])[:8]}"
        st.pagination(
            count, default=min(self.page_number, count), key=widget, on_change=_turn, args=(widget, self.paging)
        )

    def downloads(self, name: str, columns: Sequence[str], rows: Callable[[], Iterable[Sequence[Cell]]]) -> None:
        """Two buttons that save a table; `rows` is asked when one is clicked, outside of the page's own run."""
        with st.container(horizontal=True, key=f"downloads-{name}"):
            formats = {"csv": lambda: as_csv(columns, rows()), "xlsx": lambda: as_xlsx(columns, rows(), name)}
            for ending, make in formats.items():
                st.download_button(
                    self.t("Save as {ending}", ending=ending.upper()),
                    data=make,
                    file_name=f"{name}.{ending}",
                    key=f"download-{name}-{ending}",
                    type="tertiary",
                    icon=":material/download:",
                    on_click="ignore",
                )

    def picture(self, svg: bytes, alt: str, caption: str = "") -> None:
        """An SVG file as an image: whatever names stand in it, nothing in it runs."""
        self.draw("picture.html", address=data_address(svg, "image/svg+xml"), alt=alt, caption=caption)

    def stores(self, write: Callable[[Session], object]) -> bool:
        """Write in one transaction, in which nothing may be drawn; a mistake is told here. Whether it was written."""
        return self.stored(lambda session: (write(session),)) is not None

    def stored(self, write: Callable[[Session], T]) -> T | None:
        """The same, for what the page goes on with: what `write` gives, None after a mistake."""
        try:
            with self.studio.workspace.database.session() as session:
                return write(session)
        except InterplayError as error:
            self.problem(error)
            return None

    def begin(self, key: str, work: Callable[[], object]) -> bool:
        """Start long work in the reader's name; whether it began. Work that is being done already is told here."""
        try:
            self.studio.background.start(key, self.who.display_name, work, self.studio.clock)
        except AlreadyAtWork as error:
            self.problem(error)
            return False
        return True

    def have_begun(self, key: str, work: Callable[[], object]) -> None:
        """The same where it is as good that somebody else's visit began it."""
        with suppress(AlreadyAtWork):
            self.studio.background.start(key, self.who.display_name, work, self.studio.clock)

    def at_work(self, key: str) -> Job | None:
        """How far long work is, told anew until it ends, when the page is drawn again; its job once it has ended.

        A job that ended badly is told here as well, until the next one of its key starts.
        """
        job = self.studio.background.job(key)
        if job is None or job.has_ended:
            self._ended_badly(job)
            return job
        st.fragment(run_every=_LOOK_AGAIN_S)(self._tell_progress)(key)
        return None

    def _tell_progress(self, key: str) -> None:
        job = self.studio.background.job(key)
        if job is None or job.has_ended:
            st.rerun()
        since = self.t.ago(job.started_at, self.studio.clock())
        self.draw("at_work.html", job=job, since=since)

    def _ended_badly(self, job: Job | None) -> None:
        if job is None:
            return
        if job.problem is not None:
            self.problem(job.problem)
        elif job.crashed:
            self.notice(self.t("This ended in an error of the program. The server's log tells which."), "bad")

    def problem(self, error: InterplayError) -> None:
        """A mistake in the reader's language, where there are words for it."""
        text = self.t(error.text, **error.values) if isinstance(error, Told) else str(error)
        self.notice(text, "bad")


def _recall(key: str, read: Callable[[str], Any]) -> None:
    """Set a widget that is not drawn yet to what the address says."""
    if key not in st.session_state and key in st.query_params:
        st.session_state[key] = read(st.query_params[key])


def _note(key: str, value: str | Sequence[str] | None) -> None:
    """Write it into the address; each writing is a step of the browser's history, so that nothing is written twice."""
    told = [value] if isinstance(value, str) else [*(value or ())]
    if not any(told):
        st.query_params.pop(key, None)
    elif st.query_params.get_all(key) != told:
        st.query_params[key] = told


def _turn(widget: str, paging: str) -> None:
    _note(paging, str(st.session_state[widget]))


def _turn_back(paging: str) -> None:
    """Another choice starts at its first page."""
    st.query_params.pop(paging, None)
