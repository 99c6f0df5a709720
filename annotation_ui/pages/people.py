"""Everybody in the project: who they are, what they may do, what they did; and adding somebody."""

from functools import partial

import streamlit as st
from sqlmodel import Session

from annotation_ui import labels
from annotation_ui.auth import Auth
from annotation_ui.forms import new_form_key
from annotation_ui.managing import NewPerson, add_person
from annotation_ui.page import Page
from annotation_ui.pages.acting import Values, attempt, in_transaction, read, say, spoken_fields
from annotation_ui.profiles import PersonKind, Profile
from annotation_ui.views import people as view
from warehouse.people import Role

_FORM = "person-form"


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(t("People"), t("Who takes part, what they may do, and what they have done."))
    say(page)
    _add(page)
    query = _query(page)
    with page.studio.workspace.database.reading() as session:
        found = view.people_page(session, page.who, query, page.studio.clock(), t)
    if found.project_size == 1:
        page.empty(
            t("You are alone here"),
            t("Add the people who will write, record and review. Each gets a link by which they set their password."),
            [(t("Here, under “Add somebody”, or on the command line:"), "interplay user add mei --role annotator")],
        )
    else:
        page.draw("count.html", text=t.plural("{count} person", "{count} people", found.total))
    if found.rows:
        _list(page, query, found)
    else:
        page.notice(t("Nobody fits this choice. Take a filter away."))


def _list(page: Page, query: view.PeopleQuery, found: view.PeoplePage) -> None:
    t = page.t
    for row in found.rows:
        with st.container(key=f"row-{row.id}"):
            page.draw("person_row.html", row=row)
            if st.button(t("Open"), key=f"open-{row.id}"):
                page.open("person", id=row.id)
    page.pages(found.page_count)
    page.section(t("By profile"), t("Everybody who fits the choice above."))
    page.draw("work_table.html", rows=found.by_kind, with_count=True)
    rows = partial(view.work_rows, page.studio.workspace.database, page.who, query, page.studio.clock(), t)
    page.downloads(t("people"), view.work_columns(t), rows)


def _query(page: Page) -> view.PeopleQuery:
    t = page.t
    with page.studio.workspace.database.reading() as session:
        spoken = view.spoken_languages(session, page.who)
    words, role, kind, language, state = st.columns([3, 2, 2, 2, 2], vertical_alignment="bottom")
    kinds = view.kinds(t)
    text = page.search(words, t("Search"), "person-search", t("Name"))
    chosen_role = page.choose(role, t("Role"), {one.value: t(label) for one, label in labels.ROLES.items()}, "role")
    chosen_state = page.choose(
        state, t("Account"), {one.value: t(label) for one, label in view.STATES.items()}, "account"
    )
    return view.PeopleQuery(
        text=text,
        role=Role(chosen_role) if chosen_role else None,
        kind=page.choose(kind, t("Profile"), kinds, "profile"),
        language=page.choose(language, t("Speaks"), {code: view.language_name(t, code) for code in spoken}, "speaks"),
        state=view.AccountState(chosen_state) if chosen_state else None,
        page=page.page_number,
    )


def _add(page: Page) -> None:
    t = page.t
    # Another number draws the form anew and empty, once somebody was added.
    number = st.session_state.setdefault(_FORM, 0)
    form_key = st.session_state.setdefault(f"{_FORM}-{number}", new_form_key())
    with st.expander(t("Add somebody"), icon=":material/person_add:"), st.form(f"add-{number}", border=False):
        left, right = st.columns(2, gap="large")
        with left:
            st.text_input(t("Name to sign in with"), key=f"name-{number}", max_chars=64)
            st.text_input(t("Name that others see"), key=f"shown-{number}", max_chars=128)
            st.pills(
                t("Roles"), list(labels.ROLES), selection_mode="multi", key=f"roles-{number}",
                format_func=lambda role: t(labels.ROLES[role]), default=[Role.ANNOTATOR],
            )  # fmt: skip
        with right:
            kind_field(page, None, f"kind-{number}")
            spoken_fields(page, (), (), str(number))
        st.form_submit_button(t("Add and make a link"), type="primary", on_click=_store, args=(page, number, form_key))


def kind_field(page: Page, chosen: PersonKind | None, key: str) -> None:
    """A widget for the kind of annotator; none can be chosen."""
    t = page.t
    st.pills(
        t("Profile"), list(view.KINDS), default=chosen, key=key, format_func=lambda kind: t(view.KINDS[kind]),
        help=t("Statistics are told apart by it."),
    )  # fmt: skip


def _store(page: Page, number: int, form_key: str) -> None:
    given = read({name: f"{name}-{number}" for name in ("name", "shown", "roles", "kind", "languages", "dialects")})
    profile = Profile(given["kind"], tuple(given["languages"]), tuple(given["dialects"]))
    new = NewPerson(given["name"], given["shown"], list(given["roles"]), profile)
    auth = Auth(page.studio.workspace.database, page.studio.key, page.studio.clock)

    def do(session: Session, _given: Values) -> str:
        return add_person(session, page.who, form_key, new, auth, page.studio.clock)[1]

    if attempt(
        partial(in_transaction, page, do, given), page.t("{name} was added.", name=new.display_name or new.name)
    ):
        st.session_state[_FORM] = number + 1
