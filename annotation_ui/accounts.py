"""People: making them, their passwords and roles, and switching them off."""

import re

from sqlmodel import Session, col, func, select

from annotation_ui.told import Told
from annotation_ui.words import LANGUAGES, N_
from core.errors import InterplayError, UnknownName
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.people import Role, add_user
from warehouse.tables import User

MIN_PASSWORD_LENGTH = 10
MAX_PASSWORD_LENGTH = 1024  # hashing time grows with the length
_NAME = re.compile(r"[\w.@-]{1,64}")
COMMAND_LINE = "command-line"


class BadUserName(Told):
    """A sign-in name that cannot be typed back safely."""

    text = N_("A sign-in name has 1 to 64 letters, digits or . _ - @, and no spaces.")


class UserNameTaken(Told):
    """Two people cannot sign in under one name."""

    text = N_("The name {name} is taken. Choose another one.")


class WeakPassword(Told):
    """A password that is too easy to guess."""

    text = N_("A password needs at least {least} characters and must not be the sign-in name. Choose a longer one.")


class NoRoles(InterplayError):
    """Somebody without a role could do nothing."""


class LastMaintainer(InterplayError):
    """A project needs somebody who can manage it."""


def create_user(
    session: Session,
    name: str,
    roles: list[Role],
    *,
    display_name: str = "",
    password_hash: str | None = None,
    actor: str = COMMAND_LINE,
    clock: Clock = utc_now,
) -> User:
    """A new active person.

    Raises:
        BadUserName, UserNameTaken, NoRoles: As they say.
    """
    if not _NAME.fullmatch(name):
        raise BadUserName
    if not roles:
        raise NoRoles(f"{name} needs at least one role; name it with --role")
    if session.exec(select(User).where(func.lower(User.name) == name.lower())).first() is not None:
        raise UserNameTaken(name=name)
    shown = display_name.strip()[:128] or name
    return add_user(
        session, name, frozenset(roles), actor=actor, display_name=shown, password_hash=password_hash, clock=clock
    )


def all_users(session: Session) -> list[User]:
    """Everybody, by name."""
    return list(session.exec(select(User).order_by(User.name)))


def has_maintainer(session: Session) -> bool:
    """Whether anybody can manage the project: reviewers that a command made, say, cannot."""
    return any(Role.MAINTAINER in user.roles for user in session.exec(select(User).where(col(User.active))))


def set_password_hash(session: Session, user: User, password_hash: str, clock: Clock = utc_now) -> None:
    """Store a new password's hash; every earlier session of theirs ends with it."""
    user.password_hash = password_hash
    user.failed_sign_ins, user.locked_until = 0, None
    session.add(user)
    events.record(session, user.id, "user", user.id, "password_set", clock)


def set_roles(
    session: Session, user: User, roles: list[Role], actor: str = COMMAND_LINE, clock: Clock = utc_now
) -> None:
    """Give somebody these roles and no others.

    Raises:
        NoRoles: The list is empty.
        LastMaintainer: Nobody would be maintainer any more.
    """
    if not roles:
        raise NoRoles(f"{user.name} needs at least one role; name it with --role, or deactivate the account")
    if Role.MAINTAINER not in roles:
        _keep_a_maintainer(session, user)
    user.roles = [role.value for role in roles]
    session.add(user)
    events.record(session, actor, "user", user.id, "roles", clock, roles=user.roles)


def set_active(session: Session, user: User, active: bool, actor: str = COMMAND_LINE, clock: Clock = utc_now) -> None:
    """Switch an account off or on; off works at once, everywhere.

    Raises:
        LastMaintainer: Nobody would be maintainer any more.
    """
    if user.active == active:
        return
    if not active:
        _keep_a_maintainer(session, user)
    user.active = active
    if active:
        user.failed_sign_ins, user.locked_until = 0, None
    session.add(user)
    events.record(session, actor, "user", user.id, "activate" if active else "deactivate", clock)


def set_language(session: Session, user_id: str, language: str) -> None:
    """Remember in which language somebody reads the studio.

    Raises:
        UnknownName: There is no catalogue of it.
    """
    if language not in LANGUAGES:
        raise UnknownName("language", language, LANGUAGES)
    user = session.get(User, user_id)
    if user is not None and user.profile.get("language") != language:
        user.profile = {**user.profile, "language": language}
        session.add(user)


def check_password(name: str, password: str) -> None:
    """Refuse what is too easy to guess, after NIST SP 800-63B: length counts, rules on characters do not.

    Raises:
        WeakPassword: It is too short, too long or the name itself.
    """
    if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH or password.lower() == name.lower():
        raise WeakPassword(least=MIN_PASSWORD_LENGTH)


def _keep_a_maintainer(session: Session, leaving: User) -> None:
    if Role.MAINTAINER.value not in leaving.roles or not leaving.active:
        return
    others = session.exec(select(User).where(col(User.id) != leaving.id, col(User.active)))
    if not any(Role.MAINTAINER.value in user.roles for user in others):
        raise LastMaintainer(f"{leaving.name} is the only maintainer; give the role to somebody else first")
