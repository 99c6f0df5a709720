"""People as maintainers see them: the list, one person, and what each did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from babel import Locale
from sqlmodel import Session, select

from annotation_ui import accounts, labels
from annotation_ui.managing import account_version, get_person
from annotation_ui.outsiders import SERVICE
from annotation_ui.people import display_names
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.profiles import PersonKind, Profile
from annotation_ui.views.formats import searched
from annotation_ui.views.paging import paging
from annotation_ui.views.work import Work, WorkWords, last_seen, together, work_by_person, work_words
from annotation_ui.words import N_, Words
from warehouse import events
from warehouse.database import Database
from warehouse.people import Role
from warehouse.spreadsheets import Cell
from warehouse.tables import Event, User

PAGE_SIZE = 25
NO_KIND = "none"
# Offered first; any other code can be typed by the command line.
SPOKEN = (
    "zh", "yue", "wuu", "nan", "hak", "en", "ja", "ko", "fr", "de", "es", "pt", "it", "ru", "ar", "hi", "vi", "th",
    "id", "tr",
)  # fmt: skip
KINDS = {PersonKind.EXPERT: N_("Expert"), PersonKind.CROWD: N_("Crowd")}


class AccountState(StrEnum):
    """How an account stands."""

    WAITING = "waiting"
    ACTIVE = "active"
    INVITED = "invited"
    OFF = "off"


STATES = {
    AccountState.WAITING: N_("Waits to be let in"),
    AccountState.ACTIVE: N_("Active"),
    AccountState.INVITED: N_("Link not used yet"),
    AccountState.OFF: N_("Deactivated"),
}
HAPPENINGS = {
    "create": N_("added this account"),
    "ask": N_("asked to be let in"),
    "roles": N_("set the roles: {roles}"),
    "profile": N_("changed the profile"),
    "display_name": N_("changed the name that others see"),
    "link": N_("made a one-time link"),
    "password_set": N_("set a new password"),
    "sessions_ended": N_("signed out everywhere"),
    "activate": N_("activated the account"),
    "deactivate": N_("deactivated the account"),
    "turn_away": N_("turned the request down"),
    "link_external": N_("linked an outside account"),
    "unlink_external": N_("took the outside account away"),
}


@dataclass(frozen=True)
class PeopleQuery:
    """Whom to list; None and empty mean "any". `kind` is a `PersonKind` or `NO_KIND`."""

    text: str = ""
    role: Role | None = None
    kind: str | None = None
    language: str | None = None
    state: AccountState | None = None
    page: int = 1


@dataclass(frozen=True)
class PersonRow:
    """Somebody in the list."""

    id: str
    name: str
    display_name: str
    roles: str
    profile: str
    seen: str
    state: AccountState
    state_label: str
    work: WorkWords


@dataclass(frozen=True)
class PeoplePage:
    """One page of the list. `by_kind` holds everybody who fits, told apart by kind."""

    rows: Sequence[PersonRow]
    total: int
    page_count: int
    project_size: int
    by_kind: Sequence[tuple[str, int, WorkWords]]


@dataclass(frozen=True)
class Happened:
    """One line of somebody's history."""

    who: str
    what: str
    when: str
    exact: str


@dataclass(frozen=True)
class PersonDetail:
    """Somebody with all that a maintainer decides by; `version` is what their decision names."""

    row: PersonRow
    version: int
    roles: Sequence[Role]
    profile: Profile
    has_password: bool
    is_linked: bool
    is_self: bool
    since: str
    history: Sequence[Happened]


def kinds(t: Words) -> dict[str, str]:
    """Kinds of people in words, by their codes; last those who have no profile."""
    return {kind.value: t(label) for kind, label in KINDS.items()} | {NO_KIND: t("No profile")}


def kind_words(t: Words, code: str) -> str:
    """One kind in words; whatever is none is no profile."""
    known = kinds(t)
    return known.get(code, known[NO_KIND])


def people_page(session: Session, who: Principal, query: PeopleQuery, now: datetime, t: Words) -> PeoplePage:
    """The asked page of who fits: who waits first, then by name.

    Raises:
        NotAllowed: The person may not manage people.
    """
    require(who, Permission.MANAGE_PEOPLE)
    everybody = session.exec(select(User)).all()
    fitting = sorted((user for user in everybody if _fits(user, query)), key=_place)
    work = work_by_person(session, fitting)
    at = paging(len(fitting), PAGE_SIZE, query.page)
    shown = fitting[at.rows]
    seen = last_seen(session, [user.id for user in shown])
    return PeoplePage(
        rows=[_row(user, seen.get(user.id), work[user.id], now, t) for user in shown],
        total=len(fitting),
        page_count=at.page_count,
        project_size=len(everybody),
        by_kind=_by_kind(fitting, work, t),
    )


def spoken_languages(session: Session, who: Principal) -> list[str]:
    """Codes of languages that occur in profiles.

    Raises:
        NotAllowed: The person may not manage people.
    """
    require(who, Permission.MANAGE_PEOPLE)
    return sorted({code for profile in session.exec(select(User.profile)) for code in Profile.of(profile).languages})


def person_detail(session: Session, who: Principal, user_id: str, now: datetime, t: Words) -> PersonDetail:
    """One person.

    Raises:
        NotAllowed: The person may not manage people.
        NobodyThere: The id is nobody's.
    """
    require(who, Permission.MANAGE_PEOPLE)
    user = get_person(session, user_id)
    work = work_by_person(session, [user])[user.id]
    told = events.history(session, "user", user.id)[::-1]
    names = display_names(session, {event.actor for event in told})
    return PersonDetail(
        row=_row(user, last_seen(session, [user.id]).get(user.id), work, now, t),
        version=account_version(session, user.id),
        roles=[Role(role) for role in user.roles],
        profile=Profile.of(user.profile),
        has_password=user.password_hash is not None,
        is_linked=user.external_id is not None,
        is_self=user.id == who.user_id,
        since=t.moment(user.created_at),
        history=[_happened(event, names, now, t) for event in told if event.action in HAPPENINGS],
    )


def work_columns(t: Words) -> list[str]:
    """The head of the table of people that maintainers save."""
    return [
        t("Name"), t("Name that others see"), t("Roles"), t("Profile"), t("Account"), t("Written"), t("Passed"),
        t("Decided"), t("Times returned"), t("Reviews"), t("Minutes for a review"), t("Recordings"),
    ]  # fmt: skip


def work_rows(database: Database, who: Principal, query: PeopleQuery, now: datetime, t: Words) -> Iterator[list[Cell]]:
    """Everybody who fits, for `work_columns`.

    Raises:
        NotAllowed: The person may not manage people.
    """
    require(who, Permission.MANAGE_PEOPLE)
    with database.reading() as session:
        fitting = sorted((user for user in session.exec(select(User)) if _fits(user, query)), key=_place)
        work = work_by_person(session, fitting)
    for user in fitting:
        row, did = _row(user, None, work[user.id], now, t), work[user.id]
        minutes = None if did.usual_review_s is None else round(did.usual_review_s / 60, 1)
        yield [
            row.name, row.display_name, row.roles, row.profile, row.state_label, did.written, did.passed, did.decided,
            did.returns, did.reviews, minutes, did.recordings,
        ]  # fmt: skip


def known_people(session: Session, who: Principal) -> Mapping[str, str]:
    """Active people without an outside account, by id: to whom one can be linked.

    Raises:
        NotAllowed: The person may not manage people.
    """
    require(who, Permission.MANAGE_PEOPLE)
    free = [user for user in session.exec(select(User)) if user.active and user.external_id is None]
    return {user.id: f"{user.display_name} ({user.name})" for user in sorted(free, key=_place)}


def own_account(session: Session, who: Principal) -> tuple[Profile, int, bool, bool]:
    """One's own profile, account version, whether one has a password, whether an outside account is linked."""
    user = get_person(session, who.user_id)
    version = account_version(session, user.id)
    return Profile.of(user.profile), version, user.password_hash is not None, user.external_id is not None


def language_name(t: Words, code: str) -> str:
    """A spoken language as the reader calls it; a code that nobody named stays a code."""
    return str(Locale.parse("zh_Hans" if t.language == "zh" else "en").languages.get(code, code))


def state_of(user: User) -> AccountState:
    """How an account stands."""
    if accounts.is_waiting(user):
        return AccountState.WAITING
    if not user.active:
        return AccountState.OFF
    return AccountState.ACTIVE if user.password_hash or user.external_id else AccountState.INVITED


def _fits(user: User, query: PeopleQuery) -> bool:
    profile, text = Profile.of(user.profile), (searched(query.text) or "").casefold()
    return (
        (not text or text in user.name.casefold() or text in user.display_name.casefold())
        and (query.role is None or query.role.value in user.roles)
        and (query.kind is None or (profile.kind or NO_KIND) == query.kind)
        and (query.language is None or query.language in profile.languages)
        and (query.state is None or state_of(user) == query.state)
    )


def _place(user: User) -> tuple[int, str]:
    order = (AccountState.WAITING, AccountState.ACTIVE, AccountState.INVITED, AccountState.OFF)
    standing = state_of(user)
    return (0 if standing == order[0] else 2 if standing == order[3] else 1), user.display_name.casefold()


def _row(user: User, seen: datetime | None, work: Work, now: datetime, t: Words) -> PersonRow:
    state = state_of(user)
    return PersonRow(
        id=user.id,
        name=user.name,
        display_name=user.display_name,
        roles=t(", ").join(t(label) for role, label in labels.ROLES.items() if role.value in user.roles),
        profile=_profile_words(Profile.of(user.profile), t),
        seen=t.ago(seen, now) if seen is not None else "",
        state=state,
        state_label=t(STATES[state]),
        work=work_words(work, t),
    )


def _profile_words(profile: Profile, t: Words) -> str:
    kind = [t(KINDS[profile.kind])] if profile.kind else []
    spoken = [*(language_name(t, code) for code in profile.languages), *profile.dialects]
    return " · ".join([*kind, *([t(", ").join(spoken)] if spoken else [])])


def _by_kind(users: Sequence[User], work: Mapping[str, Work], t: Words) -> list[tuple[str, int, WorkWords]]:
    found = []
    for code, label in kinds(t).items():
        theirs = [work[user.id] for user in users if (Profile.of(user.profile).kind or NO_KIND) == code]
        if theirs:
            found.append((label, len(theirs), work_words(together(theirs), t)))
    return found


def _happened(event: Event, names: Mapping[str, str], now: datetime, t: Words) -> Happened:
    roles = [t(label) for role, label in labels.ROLES.items() if role.value in event.detail.get("roles", ())]
    what = t(HAPPENINGS[event.action], roles=t(", ").join(roles))
    when = t.ago(event.at, now) if now - event.at > timedelta(seconds=1) else t("just now")
    who = {accounts.COMMAND_LINE: t("Command line"), "setup": t("First link"), SERVICE: t("Sign-in service")}
    return Happened(who.get(event.actor, names[event.actor]), what, when, t.moment(event.at))
