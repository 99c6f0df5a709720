"""What maintainers do with people, and people with their own account: each checked in the transaction that writes.

An account's version is the sequence of its last event: whoever changes it names the version that they saw.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, func, select

from annotation_ui import accounts
from annotation_ui.auth import Auth
from annotation_ui.forms import once
from annotation_ui.permissions import AccountInactive, Permission, Principal, authorize
from annotation_ui.profiles import Profile
from annotation_ui.told import Told
from annotation_ui.words import N_
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.people import Role
from warehouse.tables import Event, User


class StaleAccount(Told):
    """An account that changed since it was looked at."""

    text = N_("This account changed meanwhile. Nothing was stored just now; look at it again, then decide.")


class NobodyThere(Told):
    """An id that is nobody's."""

    text = N_("There is no such person. Go back to the list.")


class NotWaiting(Told):
    """Somebody who was to be let in, but does not wait."""

    text = N_("This person does not wait to be let in any more. Look at the list again.")


@dataclass(frozen=True)
class Change:
    """A form about somebody: its key, whose account it is, and which version of it was shown."""

    key: str
    user_id: str
    seen: int


@dataclass(frozen=True)
class NewPerson:
    """Somebody to be added."""

    name: str
    display_name: str
    roles: Sequence[Role]
    profile: Profile


def account_version(session: Session, user_id: str) -> int:
    """The sequence of the last event about an account."""
    query = select(func.max(Event.sequence)).where(Event.subject_kind == "user", Event.subject_id == user_id)
    return session.exec(query).one() or 0


def get_person(session: Session, user_id: str) -> User:
    """A user by id.

    Raises:
        NobodyThere: There is none.
    """
    user = session.get(User, user_id)
    if user is None:
        raise NobodyThere
    return user


def add_person(
    session: Session, who: Principal, key: str, new: NewPerson, auth: Auth, clock: Clock = utc_now
) -> tuple[User, str]:
    """Somebody new, and the token of the link by which they set their password.

    Handed in twice it adds one person; the link is made each time, for only the last is sure to have been shown.

    Raises:
        AccountInactive, NotAllowed, BadUserName, UserNameTaken, NoRoles, BadProfile, FormMisused: As they say.
    """
    actor = _as_maintainer(session, who)

    def handle() -> str:
        return accounts.create_user(
            session, new.name, list(new.roles), display_name=new.display_name, profile=new.profile,
            actor=actor.user_id, clock=clock,
        ).id  # fmt: skip

    user = get_person(session, once(session, actor, key, "people:add", handle, clock))
    return user, auth.link_for(session, user, actor.user_id)


def new_link(session: Session, who: Principal, user_id: str, auth: Auth) -> str:
    """The token of a link by which somebody sets a new password; links that they had before are useless then.

    Raises:
        AccountInactive, NotAllowed, NobodyThere: As they say; also AccountInactive for who is to get it.
    """
    actor = _as_maintainer(session, who)
    user = get_person(session, user_id)
    if not user.active:
        raise AccountInactive
    return auth.link_for(session, user, actor.user_id)


def change_roles(
    session: Session, who: Principal, change: Change, roles: Sequence[Role], clock: Clock = utc_now
) -> User:
    """Give somebody these roles and no others.

    Raises:
        AccountInactive, NotAllowed, NobodyThere, StaleAccount, NoRoles, LastMaintainer, FormMisused: As they say.
    """
    return _change(
        session, who, change, "roles", clock,
        lambda user, actor: accounts.set_roles(session, user, list(roles), actor, clock),
    )  # fmt: skip


def change_profile(
    session: Session, who: Principal, change: Change, display_name: str, profile: Profile, clock: Clock = utc_now
) -> User:
    """Set what others see of somebody, and what they speak.

    Raises:
        AccountInactive, NotAllowed, NobodyThere, StaleAccount, BadProfile, FormMisused: As they say.
    """

    def store(user: User, actor: str) -> None:
        accounts.set_display_name(session, user, display_name, actor, clock)
        accounts.set_profile(session, user, profile, actor, clock)

    return _change(session, who, change, "profile", clock, store)


def switch(session: Session, who: Principal, change: Change, active: bool, clock: Clock = utc_now) -> User:
    """Switch an account off, which works at once and everywhere, or on again.

    Raises:
        AccountInactive, NotAllowed, NobodyThere, StaleAccount, NoRoles, LastMaintainer, FormMisused: As they say.
    """
    return _change(
        session, who, change, "activate" if active else "deactivate", clock,
        lambda user, actor: accounts.set_active(session, user, active, actor, clock),
    )  # fmt: skip


def let_in(session: Session, who: Principal, change: Change, roles: Sequence[Role], clock: Clock = utc_now) -> User:
    """Give somebody who waits their roles, and switch the account on.

    Raises:
        AccountInactive, NotAllowed, NobodyThere, StaleAccount, NotWaiting, NoRoles, FormMisused: As they say.
    """

    def store(user: User, actor: str) -> None:
        _require_waiting(user)
        accounts.set_roles(session, user, list(roles), actor, clock)
        accounts.set_active(session, user, True, actor, clock)

    return _change(session, who, change, "let_in", clock, store)


def turn_away(session: Session, who: Principal, change: Change, clock: Clock = utc_now) -> User:
    """Somebody who waits stays outside; they are told so when they come again.

    Raises:
        AccountInactive, NotAllowed, NobodyThere, StaleAccount, NotWaiting, FormMisused: As they say.
    """

    def store(user: User, actor: str) -> None:
        _require_waiting(user)
        accounts.stop_waiting(session, user)
        events.record(session, actor, "user", user.id, "turn_away", clock)

    return _change(session, who, change, "turn_away", clock, store)


def link_to(session: Session, who: Principal, change: Change, owner_id: str, clock: Clock = utc_now) -> User:
    """Somebody who waits is known here: let their outside account open that person's account. Returns that person.

    Raises:
        AccountInactive, NotAllowed, NobodyThere, StaleAccount, NotWaiting, FormMisused: As they say.
    """

    def store(user: User, actor: str) -> None:
        _require_waiting(user)
        owner, external_id = get_person(session, owner_id), user.external_id or ""
        accounts.unlink_external(session, user, actor, clock)
        accounts.stop_waiting(session, user)
        session.flush()
        accounts.link_external(session, owner, external_id, actor, clock, email=user.name)

    _change(session, who, change, "link_to", clock, store)
    return get_person(session, owner_id)


def unlink(session: Session, who: Principal, change: Change, clock: Clock = utc_now) -> User:
    """Take somebody's outside account away from their account here.

    Raises:
        AccountInactive, NotAllowed, NobodyThere, StaleAccount, FormMisused: As they say.
    """
    return _change(
        session, who, change, "unlink", clock,
        lambda user, actor: accounts.unlink_external(session, user, actor, clock),
    )  # fmt: skip


def change_own(
    session: Session, who: Principal, change: Change, display_name: str, spoken: Profile, clock: Clock = utc_now
) -> User:
    """One's own name as others see it, languages and dialects; whether one is an expert is not for oneself to say.

    Raises:
        AccountInactive, StaleAccount, BadProfile, FormMisused: As they say.
    """
    user = _own(session, who)

    def handle() -> str:
        _require_seen(session, user, change.seen)
        profile = Profile(Profile.of(user.profile).kind, spoken.languages, spoken.dialects)
        accounts.set_display_name(session, user, display_name, user.id, clock)
        accounts.set_profile(session, user, profile, user.id, clock)
        return user.id

    once(session, who, change.key, "account:profile", handle, clock)
    return user


def leave_everywhere(session: Session, who: Principal, key: str, clock: Clock = utc_now) -> None:
    """End every session of one's own, this one too.

    Raises:
        AccountInactive, FormMisused: As they say.
    """
    user = _own(session, who)

    def handle() -> str:
        accounts.end_sessions(session, user, user.id, clock)
        return user.id

    once(session, who, key, "account:leave", handle, clock)


def _change(
    session: Session,
    who: Principal,
    change: Change,
    action: str,
    clock: Clock,
    store: Callable[[User, str], None],
) -> User:
    actor = _as_maintainer(session, who)
    user = get_person(session, change.user_id)

    def handle() -> str:
        _require_seen(session, user, change.seen)
        store(user, actor.user_id)
        return user.id

    once(session, actor, change.key, f"people:{action}", handle, clock)
    return user


def _as_maintainer(session: Session, who: Principal) -> Principal:
    # All in one order before anybody's row is read: two maintainers at once wait for one another, and never deadlock.
    session.exec(select(User.id).order_by(col(User.id)).with_for_update(key_share=True)).all()
    return authorize(session, who, Permission.MANAGE_PEOPLE)


def _own(session: Session, who: Principal) -> User:
    user = session.get(User, who.user_id, with_for_update={"key_share": True})
    if user is None or not user.active:
        raise AccountInactive
    return user


def _require_seen(session: Session, user: User, seen: int) -> None:
    if account_version(session, user.id) != seen:
        raise StaleAccount


def _require_waiting(user: User) -> None:
    if not accounts.is_waiting(user):
        raise NotWaiting
