"""What every page draws with: the visitor, their words, and pieces that show any text as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import streamlit as st

from annotation_ui.html import render
from annotation_ui.media_links import MediaLinks
from annotation_ui.permissions import Principal
from annotation_ui.studio import Studio
from annotation_ui.told import Told
from annotation_ui.words import Words
from core.errors import InterplayError


@dataclass(frozen=True)
class Page:
    """One drawing of one page. `others` are the pages that links can lead to, by name."""

    studio: Studio
    who: Principal
    t: Words
    others: Mapping[str, Any]

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

    def go(self, page: str, label: str, **query: str) -> None:
        """A link to another page of the studio."""
        if page in self.others:
            st.page_link(self.others[page], label=label, query_params=query or None)

    def problem(self, error: InterplayError) -> None:
        """A mistake in the reader's language, where there are words for it."""
        text = self.t(error.text, **error.values) if isinstance(error, Told) else str(error)
        self.notice(text, "bad")
