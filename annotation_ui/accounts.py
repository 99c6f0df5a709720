"""People: making them, their passwords, roles and profiles, and switching them off."""

import re
import unicodedata

from sqlmodel import Session, col, select

from annotation_ui.profiles import Profile
from annotation_ui.told import Told
from annotation_ui.words import LANGUAGES, N_
from core.errors import UnknownName
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.people import Role, add_user
from warehouse.tables import User

MIN_PASSWORD_LENGTH = 10
MAX_PASSWORD_LENGTH = 1024  # hashing time grows with the length
_NAME = re.compile(r"[\w.@-]{1,64}")
COMMAND_LINE = "command-line"
WAITING = "waiting"
"""In `User.profile`: when somebody whom a sign-in service sent began to wait for a maintainer."""


class BadUserName(Told):
    """A sign-in name that cannot be typed back safely."""

    text = N_("A sign-in name has 1 to 64 letters, digits or . _ - @, and no spaces.")


class UserNameTaken(Told):
    """Two people cannot sign in under one name."""

    text = N_("The name {name} is taken. Choose another one.")


class WeakPassword(Told):
    """A password that is too easy to guess."""

    text = N_("A password needs at least {least} characters and must not be the sign-in name. Choose a longer one.")


class NoRoles(Told):
    """Somebody without a role could do nothing."""

    text = N_("{name} needs at least one role. Choose one, or deactivate the account.")


class LastMaintainer(Told):
    """A project needs somebody who can manage it."""

    text = N_("{name} is the only maintainer. Give the role to somebody else first.")


class ExternalAccountTaken(Told):
    """One account at a sign-in service cannot open two accounts here."""

    text = N_("That outside account opens somebody else's account here. Take it away from there first.")


class HasExternalAccount(Told):
    """An account here is opened by one account outside at most."""

    text = N_("This account has an outside account already. Take that one away first.")


def normal_name(name: str) -> str:
    """A sign-in name in the one form that is stored: what looks the same is the same."""
    return unicodedata.normalize("NFKC", name).strip()


def create_user(
    session: Session,
    name: str,
    roles: list[Role],
    *,
    display_name: str = "",
    password_hash: str | None = None,
    profile: Profile | None = None,
    actor: str = COMMAND_LINE,
    clock: Clock = utc_now,
) -> User:
    """A new active person.

    Raises:
        BadUserName, UserNameTaken, NoRoles, BadProfile: As they say.
    """
    name = normal_name(name)
    if not _NAME.fullmatch(name):
        raise BadUserName
    if not roles:
        raise NoRoles(name=name)
    if is_taken(session, name):
        raise UserNameTaken(name=name)
    shown = shown_name(display_name, name)
    user = add_user(
        session, name, frozenset(roles), actor=actor, display_name=shown, password_hash=password_hash, clock=clock
    )
    if profile is not None:
        set_profile(session, user, profile, actor, clock)
    return user


def is_taken(session: Session, name: str) -> bool:
    """Whether somebody has this name, or one that differs in case only: SQLite's own folding knows only ASCII."""
    folded = name.casefold()
    return any(normal_name(other).casefold() == folded for other in session.exec(select(User.name)))


def shown_name(display_name: str, name: str) -> str:
    """What others see: one line of what was typed, else the sign-in name."""
    return " ".join(display_name.split())[:128] or name


def all_users(session: Session) -> list[User]:
    """Everybody, by name."""
    return list(session.exec(select(User).order_by(User.name)))


def has_maintainer(session: Session) -> bool:
    """Whether anybody can manage the project: reviewers that a command made, say, cannot."""
    return any(Role.MAINTAINER in user.roles for user in session.exec(select(User).where(col(User.active))))


def set_password_hash(
    session: Session, user: User, password_hash: str, clock: Clock = utc_now, kept_session: str | None = None
) -> None:
    """Store a new password's hash; every earlier session of theirs ends with it, but for the one to be kept."""
    user.password_hash = password_hash
    user.failed_sign_ins, user.locked_until = 0, None
    session.add(user)
    events.record(session, user.id, "user", user.id, "password_set", clock, kept_session=kept_session)


def set_roles(
    session: Session, user: User, roles: list[Role], actor: str = COMMAND_LINE, clock: Clock = utc_now
) -> None:
    """Give somebody these roles and no others.

    Raises:
        NoRoles: The list is empty.
        LastMaintainer: Nobody would be maintainer any more.
    """
    if not roles:
        raise NoRoles(name=user.name)
    if Role.MAINTAINER not in roles:
        _keep_a_maintainer(session, user)
    user.roles = [role.value for role in roles]
    session.add(user)
    events.record(session, actor, "user", user.id, "roles", clock, roles=user.roles)


def set_active(session: Session, user: User, active: bool, actor: str = COMMAND_LINE, clock: Clock = utc_now) -> None:
    """Switch an account off or on; off works at once, everywhere.

    Raises:
        LastMaintainer: Nobody would be maintainer any more.
        NoRoles: Somebody is to be switched on who could do nothing.
    """
    if user.active == active:
        return
    if not active:
        _keep_a_maintainer(session, user)
    elif not user.roles:
        raise NoRoles(name=user.name)
    user.active = active
    if active:
        user.failed_sign_ins, user.locked_until = 0, None
        stop_waiting(session, user)
    session.add(user)
    events.record(session, actor, "user", user.id, "activate" if active else "deactivate", clock)


def set_display_name(session: Session, user: User, display_name: str, actor: str, clock: Clock = utc_now) -> None:
    """Change what others see."""
    shown = shown_name(display_name, user.name)
    if user.display_name != shown:
        user.display_name = shown
        session.add(user)
        events.record(session, actor, "user", user.id, "display_name", clock, display_name=shown)


def set_profile(
    session: Session, user: User, profile: Profile, actor: str = COMMAND_LINE, clock: Clock = utc_now
) -> None:
    """Store what kind of annotator somebody is and what they speak.

    Raises:
        BadProfile: Something is too long, too many or no code.
    """
    checked = profile.checked()
    if Profile.of(user.profile) != checked:
        user.profile = checked.within(user.profile)
        session.add(user)
        told = {name: user.profile[name] for name in ("kind", "languages", "dialects")}
        events.record(session, actor, "user", user.id, "profile", clock, **told)


def link_external(
    session: Session, user: User, external_id: str, actor: str, clock: Clock = utc_now, email: str | None = None
) -> None:
    """Let an account at the sign-in service open this one.

    Raises:
        ExternalAccountTaken: It opens another one.
        HasExternalAccount: Another one opens this one.
    """
    if user.external_id not in {None, external_id}:
        raise HasExternalAccount
    owner = session.exec(select(User).where(User.external_id == external_id)).first()
    if owner is not None and owner.id != user.id:
        raise ExternalAccountTaken
    if user.external_id != external_id:
        user.external_id = external_id
        session.add(user)
        events.record(session, actor, "user", user.id, "link_external", clock, external_id=external_id, email=email)


def unlink_external(session: Session, user: User, actor: str, clock: Clock = utc_now) -> None:
    """Nobody from the sign-in service opens this account any more; sessions that they opened end."""
    if user.external_id is not None:
        detail = {"external_id": user.external_id}
        user.external_id = None
        session.add(user)
        events.record(session, actor, "user", user.id, "unlink_external", clock, **detail)


def end_sessions(session: Session, user: User, actor: str, clock: Clock = utc_now) -> None:
    """Sign somebody out everywhere."""
    events.record(session, actor, "user", user.id, "sessions_ended", clock)


def is_waiting(user: User) -> bool:
    """Whether somebody came through the sign-in service and no maintainer has decided yet."""
    return not user.active and WAITING in user.profile


def stop_waiting(session: Session, user: User) -> None:
    """A maintainer has decided about somebody who waited."""
    user.profile = {name: value for name, value in user.profile.items() if name != WAITING}
    session.add(user)


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
    # Locked, in one order: of two maintainers who switch each other off at once, one must stay.
    held = select(User).where(col(User.active)).order_by(col(User.id)).with_for_update(key_share=True)
    others = [user for user in session.exec(held.execution_options(populate_existing=True)) if user.id != leaving.id]
    if not any(Role.MAINTAINER.value in user.roles for user in others):
        raise LastMaintainer(name=leaving.display_name)
