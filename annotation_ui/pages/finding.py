"""The search over the library: words or meaning, and everything that it can be narrowed to."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from annotation_ui.finding import LENGTHS, MaterialQuery, follow, is_behind
from annotation_ui.page import Page
from annotation_ui.views.materials import Choice, Facets
from annotation_ui.words import N_
from core.content import Modality
from core.errors import InterplayError
from curation.search.search import NoVectors
from warehouse.tables import MaterialState

LENGTH_WORDS = {
    "10s": N_("Up to 10 seconds"),
    "1m": N_("10 seconds to 1 minute"),
    "10m": N_("1 to 10 minutes"),
    "longer": N_("Over 10 minutes"),
}
# What stands in the address, without the prefix of the page that asks.
_CHOICES = ("modality", "material-state", "licence", "tag", "spoken", "audio-type", "dialect", "length")
_SWITCHES = ("by-meaning", "unused")
_TEXT = "material-search"
_INDEX = "search index"


def draw_search(page: Page, offered: Facets) -> MaterialQuery:
    """The search of the library's own page."""
    t = page.t
    words, modality, state, licence, tag = st.columns([3, 2, 2, 2, 2], vertical_alignment="bottom")
    text = page.search(words, t("Search"), _TEXT, t("File, author, tag, spoken words"))
    chosen_modality = _choose(page, modality, t("Modality"), offered.modalities, "modality")
    chosen_state = _choose(page, state, t("State"), offered.states, "material-state")
    chosen_licence = _choose(page, licence, t("Licence"), offered.licences, "licence")
    chosen_tag = _choose(page, tag, t("Tag"), offered.tags, "tag")
    with st.container(horizontal=True, key="search-more", vertical_alignment="center"):
        by_meaning = page.switch(st, t("By meaning"), "by-meaning")
        unused = page.switch(st, t("Not used yet"), "unused")
        more = st.popover(t("More filters"), icon=":material/tune:")
    spoken = _choose(page, more, t("Language of speech"), offered.languages, "spoken")
    audio_type = _choose(page, more, t("Kind of sound"), offered.audio_types, "audio-type")
    dialect = _choose(page, more, t("Dialect"), offered.dialects, "dialect")
    lengths = {code: t(LENGTH_WORDS[code]) for code in LENGTHS}
    length = page.choose(more, t("Duration"), lengths, "length")
    return MaterialQuery(
        modality=Modality(chosen_modality) if chosen_modality else None,
        state=MaterialState(chosen_state) if chosen_state else None,
        licence=chosen_licence,
        tag=chosen_tag,
        text=text,
        by_meaning=by_meaning,
        like=st.query_params.get("like"),
        language=spoken,
        audio_type=audio_type,
        dialect=dialect,
        length=length,
        unused=unused,
        page=page.page_number,
    )


def draw_clearing(page: Page, query: MaterialQuery) -> None:
    """What the list is narrowed to that stands out of sight, and the way back to everything."""
    t = page.t
    hidden = [value for value in (query.language, query.audio_type, query.dialect, query.length) if value]
    if hidden:
        page.draw("count.html", text=t.plural("{count} more filter is on", "{count} more filters are on", len(hidden)))
    if any(name in st.query_params for name in (*_CHOICES, *_SWITCHES, _TEXT, "like")):
        st.button(t("Show everything"), key="clear-search", type="tertiary", on_click=clear_search)


def clear_search() -> None:
    """Take every filter away."""
    for name in (*_CHOICES, *_SWITCHES, _TEXT, "like", "page"):
        st.query_params.pop(name, None)
    for widget in list(st.session_state):
        name = str(widget)
        if name in _SWITCHES:
            st.session_state[name] = False
        elif name == _TEXT:
            st.session_state[name] = ""
        elif name.rpartition("-")[0] in _CHOICES:
            st.session_state[name] = None


def prepare(page: Page) -> None:
    """Have the index follow a library that has grown much, behind the page, which tells how far it is."""
    t = page.t
    if not is_behind(page.studio.workspace):
        return
    page.notice(
        t(
            "The library is being prepared for searching. Until then names, authors, sources, licences and tags are "
            "searched, and not what is said or meant."
        )
    )
    job = page.studio.background.job(_INDEX)
    if job is None or (job.has_ended and not job.has_failed):
        _follow(page)
    if page.at_work(_INDEX) is not None and st.button(t("Try again"), key="index-again"):
        _follow(page)
        st.rerun()


def _follow(page: Page) -> None:
    page.have_begun(_INDEX, partial(follow, page.studio.workspace))


def tell_unmeant(page: Page, error: InterplayError | None, is_example: bool = False) -> None:
    """Why meaning was not compared, what is shown instead, and what makes it work; nothing where it was."""
    t = page.t
    if error is None:
        return
    if isinstance(error, NoVectors):
        why = t("Meaning cannot be compared yet: no model has looked at this material or the library.")
    else:
        why = t("Meaning cannot be compared now: the model for it is not on this computer.")
    instead = "" if is_example else t("Shown is what holds these words.")
    hint = "" if isinstance(error, NoVectors) else str(error)
    page.draw("unmeant.html", why=why, instead=instead, hint=hint)


def _choose(page: Page, place: object, label: str, offered: Sequence[Choice], key: str) -> str | None:
    return page.choose(place, label, counted(page, offered), key)


def counted(page: Page, offered: Sequence[Choice]) -> dict[str, str]:
    """Choices with how many materials each has."""
    return {code: f"{words} ({page.t.number(count)})" for code, words, count in offered}
