"""One person: their account, what they may do, their profile, what they did, and what happened to the account."""

from collections.abc import Callable, Mapping

import streamlit as st
from sqlmodel import Session

from annotation_ui import labels, managing
from annotation_ui.auth import Auth
from annotation_ui.forms import new_form_key
from annotation_ui.managing import Change, NobodyThere
from annotation_ui.page import Page
from annotation_ui.pages.acting import Values, act, say, spoken_fields
from annotation_ui.pages.people import kind_field
from annotation_ui.profiles import Profile
from annotation_ui.views.people import AccountState, PersonDetail, known_people, person_detail
from warehouse.people import Role


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.go("people", t("All people"), back=True)
    try:
        with page.studio.workspace.database.reading() as session:
            found = person_detail(session, page.who, st.query_params.get("id", ""), page.studio.clock(), t)
    except NobodyThere as error:
        page.title(t("Person"))
        page.notice(t(error.text), "warn")
        return
    page.draw("person_head.html", found=found)
    say(page)
    left, right = st.columns([3, 2], gap="large")
    with left:
        if found.row.state == AccountState.WAITING:
            _waiting(page, found)
        else:
            _roles(page, found)
            _profile(page, found)
    with right:
        if found.row.state != AccountState.WAITING:
            _account(page, found)
        page.section(t("What happened to this account"))
        page.draw("home_events.html", happenings=found.history)
    if found.row.state != AccountState.WAITING:
        page.section(t("Work"))
        page.draw("work_table.html", rows=[(found.row.display_name, 1, found.row.work)], with_count=False)


def _waiting(page: Page, found: PersonDetail) -> None:
    t = page.t
    page.section(
        t("Waits to be let in"),
        t("The sign-in service sent this person. Until you decide they have no role and cannot enter."),
    )
    key, change = _version(found), _change(found)
    with st.form(f"let-in-{key}"):
        st.pills(
            t("Roles"), list(labels.ROLES), selection_mode="multi", key=f"roles-{key}",
            format_func=lambda role: t(labels.ROLES[role]), default=[Role.ANNOTATOR],
        )  # fmt: skip

        def let_in(session: Session, given: Values) -> None:
            managing.let_in(session, page.who, change, given["roles"], page.studio.clock)

        _submit(page, t("Let in"), {"roles": f"roles-{key}"}, let_in, t("This person may sign in now."), primary=True)
    with page.studio.workspace.database.reading() as session:
        known = known_people(session, page.who)
    with st.form(f"link-to-{key}"):
        st.selectbox(
            t("Or it is somebody who has an account here"), list(known), index=None, key=f"owner-{key}",
            format_func=known.__getitem__, placeholder=t("Choose a person"),
        )  # fmt: skip

        def link_to(session: Session, given: Values) -> None:
            managing.link_to(session, page.who, change, given["owner"] or "", page.studio.clock)

        said = t("The two are linked; they can sign in either way.")
        _submit(page, t("Link to this account"), {"owner": f"owner-{key}"}, link_to, said)

    def turn_away(session: Session, given: Values) -> None:
        managing.turn_away(session, page.who, change, page.studio.clock)

    _button(page, t("Turn down"), "turn-away", turn_away, t("The request was turned down."))


def _roles(page: Page, found: PersonDetail) -> None:
    t, key, change = page.t, _version(found), _change(found)
    page.section(t("Roles"), t("They hold from this person's next click on."))
    with st.form(f"roles-form-{key}"):
        st.pills(
            t("Roles"), list(labels.ROLES), selection_mode="multi", key=f"roles-{key}", default=found.roles,
            format_func=lambda role: t(labels.ROLES[role]), label_visibility="collapsed",
        )  # fmt: skip

        def store(session: Session, given: Values) -> None:
            managing.change_roles(session, page.who, change, given["roles"], page.studio.clock)

        _submit(page, t("Save the roles"), {"roles": f"roles-{key}"}, store, t("The roles are saved."))


def _profile(page: Page, found: PersonDetail) -> None:
    t, key, change = page.t, _version(found), _change(found)
    page.section(t("Name and profile"))
    with st.form(f"profile-form-{key}"):
        st.text_input(t("Name that others see"), found.row.display_name, max_chars=128, key=f"shown-{key}")
        kind_field(page, found.profile.kind, f"kind-{key}")
        languages, dialects = spoken_fields(page, found.profile.languages, found.profile.dialects, key)

        def store(session: Session, given: Values) -> None:
            profile = Profile(given["kind"], tuple(given["languages"]), tuple(given["dialects"]))
            managing.change_profile(session, page.who, change, given["shown"], profile, page.studio.clock)

        fields = {"kind": f"kind-{key}", "shown": f"shown-{key}", "languages": languages, "dialects": dialects}
        _submit(page, t("Save the profile"), fields, store, t("The profile is saved."))


def _account(page: Page, found: PersonDetail) -> None:
    t, change = page.t, _change(found)
    page.section(t("Account"))
    page.draw("person_account.html", found=found)
    is_on = found.row.state != AccountState.OFF

    def link(session: Session, given: Values) -> str:
        auth = Auth(page.studio.workspace.database, page.studio.key, page.studio.clock)
        return managing.new_link(session, page.who, found.row.id, auth)

    def switch(session: Session, given: Values) -> None:
        managing.switch(session, page.who, change, not is_on, page.studio.clock)

    def unlink(session: Session, given: Values) -> None:
        managing.unlink(session, page.who, change, page.studio.clock)

    with st.container(horizontal=True):
        if is_on:
            _button(page, t("New one-time link"), "new-link", link, t("The link is made."))
            with st.popover(t("Deactivate")):
                st.text(t("It works at once: whoever is signed in under this account is out with their next click."))
                _button(page, t("Deactivate this account"), "deactivate", switch, t("The account is deactivated."))
        else:
            _button(page, t("Activate"), "activate", switch, t("The account is active again."))
        if found.is_linked:
            _button(page, t("Take the outside account away"), "unlink", unlink, t("The outside account is taken away."))


def _button(page: Page, label: str, key: str, do: Callable[[Session, Values], str | None], said: str) -> None:
    st.button(label, key=key, on_click=act, args=(page, {}, do, said))


def _submit(
    page: Page,
    label: str,
    fields: Mapping[str, str],
    do: Callable[[Session, Values], None],
    said: str,
    *,
    primary: bool = False,
) -> None:
    st.form_submit_button(
        label, type="primary" if primary else "secondary", on_click=act, args=(page, fields, do, said)
    )


def _change(found: PersonDetail) -> Change:
    """Made when the form is drawn: its answer names what was shown then, not what is stored when it comes."""
    return Change(new_form_key(), found.row.id, found.version)


def _version(found: PersonDetail) -> str:
    """Widgets of another version are others, so that they show what is stored."""
    return f"{found.row.id}-{found.version}"
