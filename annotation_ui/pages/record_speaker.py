"""Who speaks: choosing or adding a speaker, the consent that they sign, and taking it back."""

from collections.abc import Sequence

import streamlit as st

from annotation_ui.forms import new_form_key
from annotation_ui.page import Page
from annotation_ui.pages.materials import EXAMPLE_LICENCE
from annotation_ui.recording.speakers import (
    MOST_CONSENT_CHARACTERS,
    OFFERED_SCOPES,
    NewSpeaker,
    Signature,
    Speaker,
    add_speaker,
    preview_withdrawal,
    sign,
    take_back,
    words_hash,
    write_words,
)
from annotation_ui.views import record as view
from core.errors import InterplayError
from curation.recordings.contributors import AgeBand, Gender
from warehouse.tables import ConsentText

_ADDING, _SIGNING, _LEAVING, _WITHDRAWN = "speaker-adding", "speaker-signing", "speaker-leaving", "speaker-withdrawn"


def draw(page: Page, found: Sequence[Speaker], text: ConsentText) -> Speaker | None:
    """The speaker who is chosen and has agreed; None while something else is drawn first."""
    if not found or st.session_state.get(_ADDING):
        _add(page, found)
        return None
    chosen = _choose(page, found)
    if chosen is None:
        page.notice(page.t("Choose who speaks, or add a speaker."))
        return None
    unfinished = st.session_state.pop(_WITHDRAWN, None)
    if unfinished is not None:
        _tell_withdrawn(page, unfinished)
    if st.session_state.get(_LEAVING) == chosen.contributor.id:
        _withdraw(page, chosen)
        return None
    if chosen.consent is None or st.session_state.get(_SIGNING) == chosen.contributor.id:
        _ask_consent(page, chosen, text)
        return None
    return chosen


def write_words_form(page: Page) -> None:
    """For maintainers: the words of a consent, in both languages."""
    t = page.t
    page.section(t("Write the consent"), t("Once somebody has signed a version, it never changes."))
    with st.form("consent-words"):
        named, licensed = st.columns(2)
        version = named.text_input(t("Version"), value="1.0", max_chars=32, key="words-version")
        licence = licensed.text_input(
            t("Licence under which recordings may be published (may stay empty)"), max_chars=200, key="words-licence",
            placeholder=EXAMPLE_LICENCE,
        )  # fmt: skip
        hint = t(
            "Say who records and for what, what is kept and published, that it can be withdrawn at any time and what "
            "happens then, and whom to ask."
        )
        english, chinese = st.columns(2)
        texts = {
            "en": english.text_area(
                t("In English"), height=260, max_chars=MOST_CONSENT_CHARACTERS, key="words-en", placeholder=hint
            ),
            "zh": chinese.text_area(
                t("In Chinese"), height=260, max_chars=MOST_CONSENT_CHARACTERS, key="words-zh", placeholder=hint
            ),
        }
        sent = st.form_submit_button(t("Store the consent"), type="primary", key="words-store")
    if not sent:
        return
    if not page.stores(lambda session: write_words(session, page.who, version, texts, licence, page.studio.clock)):
        return
    st.rerun()


def _choose(page: Page, found: Sequence[Speaker]) -> Speaker | None:
    """The speaker of the address, else oneself; nobody else is taken for who speaks unless they were chosen."""
    t = page.t
    options = {one.contributor.id: view.speaker_label(t, one) for one in found}
    if not found[0].is_self:
        options = {"": t("Choose …"), **options}
    with st.container(key="speaker-bar"):
        place = st.columns([3, 4])[0]
        chosen_id = page.choose(place, t("Who speaks"), options, "speaker", next(iter(options)))
        chosen = next((one for one in found if one.contributor.id == chosen_id), None)
        with st.container(horizontal=True, vertical_alignment="center"):
            if st.button(t("Another speaker"), key="speaker-add", icon=":material/person_add:", type="tertiary"):
                st.session_state[_ADDING] = True
                st.rerun()
            if chosen is not None and chosen.consent is not None:
                _consent_actions(page, chosen)
                page.draw("count.html", text=view.consent_line(t, chosen.consent))
    return chosen


def _consent_actions(page: Page, chosen: Speaker) -> None:
    actions = {_SIGNING: page.t("Sign again …"), _LEAVING: page.t("Withdraw the consent …")}
    for state, label in actions.items():
        if st.button(label, key=f"{state}-open", type="tertiary"):
            for other in actions:
                st.session_state.pop(other, None)
            st.session_state[state] = chosen.contributor.id
            st.rerun()


def _add(page: Page, found: Sequence[Speaker]) -> None:
    t = page.t
    page.section(
        t("Who speaks?"),
        t("Speakers are known by a pseudonym that is made up here. Tell only what you like; no names are asked for."),
    )
    has_self = any(one.is_self for one in found)
    key = st.session_state.setdefault("speaker-key", new_form_key())
    with st.form("speaker-new"):
        who = st.radio(
            t("Speaker"),
            ["other"] if has_self else ["self", "other"],
            format_func=lambda code: t("I do") if code == "self" else t("Somebody beside me"),
            key="speaker-who",
            horizontal=True,
        )
        dialect, age, gender = st.columns(3)
        spoken = dialect.text_input(t("Dialect, as Sichuan (may stay empty)"), max_chars=64, key="speaker-dialect")
        band = age.selectbox(
            t("Age"), list(AgeBand), index=None, placeholder=t("Not told"), key="speaker-age",
            format_func=lambda one: AgeBand(one).value,
        )  # fmt: skip
        told = gender.selectbox(
            t("Gender"), list(Gender), index=None, placeholder=t("Not told"), key="speaker-gender",
            format_func=lambda one: t(view.GENDERS[Gender(one)]),
        )  # fmt: skip
        sent = st.form_submit_button(t("Add this speaker"), type="primary", key="speaker-store")
    if found and st.button(t("Cancel"), key="speaker-cancel"):
        del st.session_state[_ADDING]
        st.rerun()
    if not sent:
        return
    new = NewSpeaker(who == "self", spoken, band, told)
    added = page.stored(lambda session: add_speaker(session, page.who, key, new, page.studio.clock))
    if added is None:
        return
    st.session_state.pop("speaker-key", None)
    st.session_state.pop(_ADDING, None)
    st.query_params["speaker"] = added
    st.rerun()


def _ask_consent(page: Page, chosen: Speaker, text: ConsentText) -> None:
    t, pseudonym = page.t, chosen.contributor.pseudonym
    page.section(
        t("Consent"), t("Read it in full. The speaker signs, nobody else. It can be withdrawn here at any time.")
    )
    page.draw(
        "consent_words.html", version=text.version, licence=text.licence or "", language=t.language,
        text=text.texts.get(t.language) or text.texts["en"],
    )  # fmt: skip
    slot = f"consent-key-{chosen.contributor.id}"
    key = st.session_state.setdefault(slot, new_form_key())
    # The words that this visitor reads; they may be replaced until somebody has signed them.
    seen = words_hash(text)
    with st.form(f"consent-{chosen.contributor.id}-{seen[:12]}"):
        ticks = {one: st.checkbox(t(view.SCOPES[one]), key=f"scope-{one.value}-{pseudonym}") for one in OFFERED_SCOPES}
        typed = st.text_input(
            t("To sign, type the speaker's pseudonym: {pseudonym}", pseudonym=pseudonym), max_chars=64,
            key=f"signature-{pseudonym}", autocomplete="off",
        )  # fmt: skip
        sent = st.form_submit_button(t("I agree"), type="primary", key="consent-sign")
    if chosen.consent is not None and st.button(t("Cancel"), key="consent-cancel"):
        del st.session_state[_SIGNING]
        st.rerun()
    if not sent:
        return
    signature = Signature(
        chosen.contributor.id, text.version, seen, [one for one, ticked in ticks.items() if ticked], typed, t.language
    )
    if not page.stores(lambda session: sign(session, page.who, key, signature, page.studio.clock)):
        return
    st.session_state.pop(slot, None)
    st.session_state.pop(_SIGNING, None)
    st.rerun()


def _withdraw(page: Page, chosen: Speaker) -> None:
    t, pseudonym = page.t, chosen.contributor.pseudonym
    page.section(t("Withdraw the consent of {speaker}", speaker=pseudonym))
    reports = preview_withdrawal(page.studio.workspace, page.who, chosen.contributor.id)
    page.draw("lines.html", lines=view.withdrawal_lines(reports, t))
    page.notice(
        t("This cannot be undone: the sound is deleted, and what is told of the speaker. The pseudonym stays."), "warn"
    )
    with st.form("withdraw"):
        typed = st.text_input(
            t("To withdraw, type the speaker's pseudonym: {pseudonym}", pseudonym=pseudonym), max_chars=64,
            key=f"withdraw-{pseudonym}", autocomplete="off",
        )  # fmt: skip
        sent = st.form_submit_button(t("Withdraw for good"), type="primary", key="withdraw-sign")
    if st.button(t("Keep the consent"), key="withdraw-cancel"):
        del st.session_state[_LEAVING]
        st.rerun()
    if not sent:
        return
    try:
        with st.spinner(t("Deleting …")):
            done = take_back(page.studio.workspace, page.who, chosen.contributor.id, typed, page.studio.clock)
    except InterplayError as error:
        page.problem(error)
        return
    del st.session_state[_LEAVING]
    st.session_state[_WITHDRAWN] = [report.consent_id for report in done if report.unfinished]
    st.rerun()


def _tell_withdrawn(page: Page, unfinished: Sequence[str]) -> None:
    t = page.t
    page.notice(t("The consent is withdrawn, and what was given under it is deleted."))
    for consent_id in unfinished:
        page.notice(
            t(
                "Others were at work, so traces in the database's file are left. A maintainer runs: {command}",
                command=f'interplay consent withdraw {consent_id} --reason "asked at the desk"',
            ),
            "warn",
        )
