"""The studio around its pages: who is there, which pages there are, the sidebar."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from annotation_ui import labels
from annotation_ui.accounts import set_language
from annotation_ui.auth_routes import SIGN_IN_PATH
from annotation_ui.html import render, stylesheet
from annotation_ui.page import Page
from annotation_ui.pages import (
    account,
    author,
    exam,
    exams,
    held_exam,
    home,
    item,
    items,
    judge,
    look_alikes,
    material,
    materials,
    people,
    person,
    play,
    pool,
    pools,
    quality,
    record,
    release,
    releases,
    results,
    review,
    subset,
    take,
    takes,
    targets,
)
from annotation_ui.permissions import NotAllowed, Permission, Principal, require
from annotation_ui.session import OpenedStudio, opened_studio, reader, visitor
from annotation_ui.words import LANGUAGES, N_, Words
from core.errors import InterplayError

# A file of ours: Streamlit's named icons and emojis would make the browser ask a foreign host.
_ASSETS = Path(__file__).parent / "assets"
ICON, LOGO = _ASSETS / "icon.svg", _ASSETS / "logo.svg"


WORK, LIBRARY, QUALITY, PROJECT = N_("Work"), N_("Library"), N_("Quality"), N_("Project")


@dataclass(frozen=True)
class Entry:
    """A page; who lacks the permission finds it in no menu, and is refused when they come by its address."""

    title: str
    icon: str
    draw: Callable[[Page], None]
    needs: Permission | None = None
    section: str | None = WORK
    """Where it stands in the menu; None for a page of one thing, which is reached from a list."""


PAGES: dict[str, Entry] = {
    "home": Entry(N_("Home"), ":material/home:", home.draw),
    "author": Entry(N_("Write questions"), ":material/edit_note:", author.draw, Permission.AUTHOR),
    "review": Entry(N_("Review"), ":material/rate_review:", review.draw, Permission.REVIEW),
    "record": Entry(N_("Record"), ":material/mic:", record.draw, Permission.RECORD),
    "takes": Entry(N_("Takes"), ":material/graphic_eq:", takes.draw, Permission.SEE_LIBRARY),
    "exam": Entry(N_("Exam"), ":material/assignment:", exam.draw, Permission.TAKE_EXAM),
    "play": Entry(N_("Play games"), ":material/sports_esports:", play.draw),
    "materials": Entry(N_("Materials"), ":material/perm_media:", materials.draw, Permission.SEE_LIBRARY, LIBRARY),
    "items": Entry(N_("Items"), ":material/quiz:", items.draw, Permission.SEE_ITEMS, LIBRARY),
    "material": Entry(N_("Material"), ":material/image:", material.draw, Permission.SEE_LIBRARY, None),
    "look_alikes": Entry(N_("Look-alikes"), ":material/compare:", look_alikes.draw, Permission.SEE_LIBRARY, None),
    "take": Entry(N_("Take"), ":material/graphic_eq:", take.draw, Permission.SEE_LIBRARY, None),
    "item": Entry(N_("Item"), ":material/quiz:", item.draw, Permission.SEE_ITEMS, None),
    "results": Entry(N_("Results"), ":material/leaderboard:", results.draw, Permission.SEE_RESULTS, QUALITY),
    "pools": Entry(N_("Pools"), ":material/table_chart:", pools.draw, Permission.SEE_RESULTS, QUALITY),
    "pool": Entry(N_("Pool"), ":material/table_chart:", pool.draw, Permission.SEE_RESULTS, None),
    "subset": Entry(N_("Subset"), ":material/filter_alt:", subset.draw, Permission.SEE_RESULTS, None),
    "quality": Entry(N_("Quality control"), ":material/verified:", quality.draw, Permission.SEE_RESULTS, QUALITY),
    "exams": Entry(N_("Exams"), ":material/groups:", exams.draw, Permission.HOLD_EXAMS, QUALITY),
    "held_exam": Entry(N_("Exam"), ":material/groups:", held_exam.draw, Permission.HOLD_EXAMS, None),
    "judge": Entry(N_("Judge"), ":material/balance:", judge.draw, Permission.SEE_RESULTS, QUALITY),
    "targets": Entry(N_("Targets"), ":material/flag:", targets.draw, Permission.SET_TARGETS, PROJECT),
    "releases": Entry(N_("Releases"), ":material/inventory_2:", releases.draw, Permission.SEE_RESULTS, PROJECT),
    "release": Entry(N_("Release"), ":material/inventory_2:", release.draw, Permission.SEE_RESULTS, None),
    "people": Entry(N_("People"), ":material/group:", people.draw, Permission.MANAGE_PEOPLE, PROJECT),
    "person": Entry(N_("Person"), ":material/person:", person.draw, Permission.MANAGE_PEOPLE, None),
    "account": Entry(N_("My account"), ":material/person:", account.draw, None, None),
}


def run() -> None:
    """Draw the page that the address names."""
    st.set_page_config(page_title="Interplay", page_icon=str(ICON), layout="wide")
    st.logo(str(LOGO), size="large")
    st.html(f"<style>{stylesheet()}</style>")
    opened = opened_studio(st.secrets["studio"]["project"])
    who = visitor(opened)
    t = reader(who)
    if t.language != "en":
        st.html(render("uploader.html", t))  # Streamlit has English words of its own there, and takes no others
    if who is None:
        _nobody(t)
        return
    pages: dict[str, Any] = {}
    menu: dict[str, list[Any]] = {t(section): [] for section in (WORK, LIBRARY, QUALITY, PROJECT)}
    for name, entry in PAGES.items():
        seen = entry.section is not None and (entry.needs is None or who.may(entry.needs))
        pages[name] = st.Page(
            partial(_draw, opened, who, t, name, pages),
            title=t(entry.title),
            icon=entry.icon,
            url_path=name,
            default=name == "home",
            visibility="visible" if seen else "hidden",
        )
        menu[t(entry.section or WORK)].append(pages[name])
    chosen = st.navigation({section: group for section, group in menu.items() if group}, expanded=True)
    _sidebar(opened, who, t, pages["account"])
    chosen.run()


def _draw(opened: OpenedStudio, who: Principal, t: Words, name: str, pages: dict[str, Any]) -> None:
    page = Page(opened.studio, who, t, pages)
    entry = PAGES[name]
    try:
        if entry.needs is not None:
            require(who, entry.needs)
        entry.draw(page)
    except NotAllowed as error:
        page.title(t(entry.title))
        page.problem(error)
        page.go("home", t("Back to the start page"))
    except InterplayError as error:
        page.problem(error)


def _nobody(t: Words) -> None:
    st.html(render("title.html", t, title="Interplay", lead=t("You are not signed in, or your session is over.")))
    st.html(render("sign_in_link.html", t, address=SIGN_IN_PATH))


def _sidebar(opened: OpenedStudio, who: Principal, t: Words, account_page: Any) -> None:
    with st.sidebar:
        chosen = st.segmented_control(
            t("Language"),
            list(LANGUAGES),
            default=t.language,
            format_func=LANGUAGES.__getitem__,
            key="language",
            required=True,
            label_visibility="collapsed",
        )
        roles = t(", ").join(t(label) for role, label in labels.ROLES.items() if role in who.roles)
        st.html(render("who.html", t, who=who, roles=roles))
        st.page_link(account_page, label=t("My account"), icon=":material/person:")
        st.html(render("sign_out.html", t))
    if chosen != t.language:
        with opened.studio.workspace.database.session() as session:
            set_language(session, who.user_id, chosen)
        st.rerun()
