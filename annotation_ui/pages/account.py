"""One's own account: name, language, profile, password, sessions."""

import streamlit as st
from sqlmodel import Session

from annotation_ui import managing
from annotation_ui.accounts import MIN_PASSWORD_LENGTH, set_language
from annotation_ui.auth import Auth
from annotation_ui.auth_routes import PasswordsDiffer
from annotation_ui.forms import new_form_key
from annotation_ui.managing import Change
from annotation_ui.page import Page
from annotation_ui.pages.acting import Values, act, attempt, say, spoken_fields
from annotation_ui.profiles import Profile
from annotation_ui.session import own_token
from annotation_ui.views.people import own_account
from annotation_ui.words import LANGUAGES

_FIELDS = "password-form"


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(t("My account"), t("You sign in as {name}.", name=page.who.name))
    say(page)
    with page.studio.workspace.database.reading() as session:
        profile, version, has_password, is_linked = own_account(session, page.who)
    left, right = st.columns(2, gap="large")
    with left:
        _about_me(page, profile, version)
        _language(page)
    with right:
        _password(page, has_password)
        _outside(page, is_linked)
        _leave(page)


def _about_me(page: Page, profile: Profile, version: int) -> None:
    t, change = page.t, Change(new_form_key(), page.who.user_id, version)
    page.section(t("About me"), t("Maintainers see it, and go by it when they look for people."))
    with st.form(f"me-{version}"):
        st.text_input(t("Name that others see"), page.who.display_name, max_chars=128, key=f"shown-{version}")
        languages, dialects = spoken_fields(page, profile.languages, profile.dialects, f"me-{version}")

        def store(session: Session, given: Values) -> None:
            spoken = Profile(None, tuple(given["languages"]), tuple(given["dialects"]))
            managing.change_own(session, page.who, change, given["shown"], spoken, page.studio.clock)

        fields = {"shown": f"shown-{version}", "languages": languages, "dialects": dialects}
        st.form_submit_button(t("Save"), type="primary", on_click=act, args=(page, fields, store, t("Saved.")))


def _language(page: Page) -> None:
    t = page.t
    page.section(t("Language of the studio"))

    key = f"own-language-{t.language}"

    def store() -> None:
        chosen = st.session_state[key]
        with page.studio.workspace.database.session() as session:
            set_language(session, page.who.user_id, chosen)
        st.session_state["language"] = chosen  # the switch in the sidebar

    st.radio(
        t("Language of the studio"), list(LANGUAGES), index=list(LANGUAGES).index(t.language), key=key,
        format_func=LANGUAGES.__getitem__, horizontal=True, on_change=store, label_visibility="collapsed",
    )  # fmt: skip


def _password(page: Page, has_password: bool) -> None:
    t = page.t
    page.section(t("Password"))
    if not has_password:
        page.notice(t("You have no password here. A maintainer can send you a link by which you set one."))
        return
    number = st.session_state.setdefault(_FIELDS, 0)
    with st.form(f"password-{number}"):
        st.text_input(t("Old password"), type="password", key=f"old-{number}", autocomplete="current-password")
        st.text_input(
            t("New password, at least {least} characters", least=MIN_PASSWORD_LENGTH),
            type="password", key=f"new-{number}", autocomplete="new-password",
        )  # fmt: skip
        st.text_input(t("The same password again"), type="password", key=f"again-{number}", autocomplete="new-password")
        st.form_submit_button(t("Change the password"), on_click=_change_password, args=(page, number))


def _change_password(page: Page, number: int) -> None:
    state, auth = st.session_state, Auth(page.studio.workspace.database, page.studio.key, page.studio.clock)
    old, new, again = (state.pop(f"{name}-{number}") for name in ("old", "new", "again"))
    state[_FIELDS] = number + 1  # No password stays in the fields, whatever came of it.

    def do() -> None:
        if new != again:
            raise PasswordsDiffer
        auth.change_password(own_token(page.studio), old, new)

    attempt(do, page.t("The password is changed. Everywhere else you are signed out."))


def _outside(page: Page, is_linked: bool) -> None:
    t, oidc = page.t, page.studio.workspace.project.settings.oidc
    if oidc is None:
        return
    page.section(t("Sign in with {service}", service=oidc.shown_label))
    if is_linked:
        page.notice(
            t("Your account at {service} opens this one. A maintainer can undo that.", service=oidc.shown_label)
        )
    else:
        page.draw("link_own.html", service=oidc.shown_label)


def _leave(page: Page) -> None:
    t, key = page.t, new_form_key()
    page.section(t("Sign out everywhere"), t("Ends your sessions on all devices, this one too."))

    def leave(session: Session, _given: Values) -> None:
        managing.leave_everywhere(session, page.who, key, page.studio.clock)

    st.button(t("Sign out everywhere"), key="leave", on_click=act, args=(page, {}, leave, t("You are signed out.")))
