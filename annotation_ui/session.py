"""Who is in front of the page, as the browser's cookie says and the database confirms."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import streamlit as st

from annotation_ui.auth import Auth
from annotation_ui.permissions import Principal
from annotation_ui.studio import Studio, open_studio
from annotation_ui.words import Words, closest_language, words_in


class OpenedStudio:
    """The studio that all visitors of this server share."""

    def __init__(self, project: Path) -> None:
        self._open = ExitStack()
        self.studio: Studio = self._open.enter_context(open_studio(project))
        self.auth = Auth(self.studio.workspace.database, self.studio.key, self.studio.clock)

    def close(self) -> None:
        """Give the database back."""
        self._open.close()


@st.cache_resource(show_spinner=False, on_release=OpenedStudio.close)
def opened_studio(project: str) -> OpenedStudio:
    """The studio of a project folder, opened once."""
    return OpenedStudio(Path(project))


def browser_cookies() -> Mapping[str, str]:
    """Cookies that came with the page."""
    return st.context.cookies.to_dict()


def own_token(studio: Studio) -> str | None:
    """The token of the session that this page belongs to."""
    return browser_cookies().get(studio.cookie_name)


def visitor(opened: OpenedStudio) -> Principal | None:
    """Who is signed in, asked anew on every rerun; None for nobody."""
    return opened.auth.principal(own_token(opened.studio))


def reader(who: Principal | None) -> Words:
    """The words for this visitor: as they chose, else as their browser asks."""
    return words_in(who.language if who and who.language else closest_language(st.context.locale))
