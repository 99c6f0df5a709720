"""Forms about accounts: what was shown when a form was drawn is what its answer names, and what came of it is said."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from sqlmodel import Session

from annotation_ui.auth import LINK_LIFE, LINK_PATH
from annotation_ui.page import Page
from annotation_ui.views.people import SPOKEN, language_name
from core.errors import InterplayError

Values = Mapping[str, Any]
_SAID, _PROBLEM, _LINK = "account-said", "account-problem", "account-link"


def act(page: Page, fields: Mapping[str, str], do: Callable[[Session, Values], str | None], said: str) -> None:
    """Do it in one transaction, from a widget's callback. `do` may give the token of a link, to be shown once.

    `fields` are the widgets that it needs, by name: they are read before the transaction, in which no page may be
    stopped.
    """
    attempt(partial(in_transaction, page, do, read(fields)), said)


def read(fields: Mapping[str, str]) -> Values:
    """What the widgets hold now."""
    return {name: st.session_state[key] for name, key in fields.items()}


def in_transaction(page: Page, do: Callable[[Session, Values], str | None], values: Values) -> str | None:
    """Do it with what the widgets held."""
    with page.studio.workspace.database.session() as session:
        return do(session, values)


def attempt(do: Callable[[], str | None], said: str) -> bool:
    """Do it, and keep what is to be said when the page is drawn; whether it was done."""
    try:
        link = do()
    except InterplayError as error:
        st.session_state[_PROBLEM] = error
        return False
    st.session_state[_SAID] = said
    st.session_state[_LINK] = link
    return True


def say(page: Page) -> None:
    """What came of the form before, once: words, a problem, a link."""
    problem, said = st.session_state.pop(_PROBLEM, None), st.session_state.pop(_SAID, None)
    link = st.session_state.pop(_LINK, None)
    if problem is not None:
        page.problem(problem)
    if said is not None:
        page.notice(said, "good")
    if link is not None:
        _show_link(page, link)


def spoken_fields(page: Page, languages: Sequence[str], dialects: Sequence[str], key: str) -> tuple[str, str]:
    """Widgets for languages and dialects; returns their keys."""
    t = page.t
    st.multiselect(
        t("Languages"),
        list(dict.fromkeys([*SPOKEN, *languages])),
        default=list(languages),
        format_func=lambda code: language_name(t, code),
        key=f"languages-{key}",
        placeholder=t("Choose languages"),
    )
    st.multiselect(
        t("Dialects"),
        list(dialects),
        default=list(dialects),
        accept_new_options=True,
        key=f"dialects-{key}",
        placeholder=t("Type one and press Enter"),
    )
    return f"languages-{key}", f"dialects-{key}"


def _show_link(page: Page, token: str) -> None:
    t = page.t
    with st.container(border=True, key="one-time-link"):
        page.section(
            t("One-time link"),
            t(
                "Copy it now and send it to this person only: it is not shown again. It works once, for {days} days; "
                "a newer link makes it useless.",
                days=LINK_LIFE.days,
            ),
        )
        st.code(f"{_address(page)}{LINK_PATH}/{token}", language=None, wrap_lines=True)


def _address(page: Page) -> str:
    """Where the maintainer's own browser found the studio, unless the settings say it."""
    here = urlsplit(st.context.url or "")
    return page.studio.url or (f"{here.scheme}://{here.netloc}" if here.netloc else "")
