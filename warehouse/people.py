"""Users as services see them: who may do what."""

from collections.abc import Iterable
from enum import StrEnum

from sqlmodel import Session, select

from core.errors import InterplayError, UnknownName
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.database import Database
from warehouse.tables import User


class Role(StrEnum):
    """What somebody does in a project; one person can have several."""

    ANNOTATOR = "annotator"
    REVIEWER = "reviewer"
    MAINTAINER = "maintainer"
    PARTICIPANT = "participant"


class NotAllowed(InterplayError):
    """Somebody asked for what their roles do not allow, or is no longer active."""


class UnknownUser(UnknownName):
    """No user of the project has this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__("user", name, known)
        self.args = (f"{self} (or add one with 'interplay user add')",)


class UserExists(InterplayError):
    """Two users cannot have one name."""


def add_user(
    session: Session,
    name: str,
    roles: frozenset[Role],
    *,
    actor: str,
    display_name: str | None = None,
    password_hash: str | None = None,
    clock: Clock = utc_now,
) -> User:
    """A new active user; without a password hash nobody can sign in as them.

    Raises:
        UserExists: The name is taken.
    """
    if session.exec(select(User).where(User.name == name)).first() is not None:
        raise UserExists(f"a user named {name!r} exists already; choose another name")
    user = User(
        name=name,
        display_name=display_name or name,
        roles=sorted(roles),
        password_hash=password_hash,
        created_at=clock(),
    )
    session.add(user)
    session.flush()
    events.record(session, actor, "user", user.id, "create", clock, name=name, roles=sorted(roles))
    return user


def get_user(session: Session, name: str) -> User:
    """The user of that name.

    Raises:
        UnknownUser: There is none.
    """
    user = session.exec(select(User).where(User.name == name)).first()
    if user is None:
        raise UnknownUser(name, session.exec(select(User.name)))
    return user


def actor_named(database: Database, name: str) -> str:
    """The name, as the history notes who acts: it is that of an active user.

    Raises:
        UnknownUser: There is none.
        NotAllowed: They are not active.
    """
    with database.reading() as session:
        user = get_user(session, name)
    _require_active(user)
    return user.name


def require_role(user: User, *roles: Role) -> None:
    """Stop who is not active or has none of the roles.

    Raises:
        NotAllowed: With what they lack.
    """
    _require_active(user)
    if not set(user.roles) & set(roles):
        needed = " or ".join(roles)
        raise NotAllowed(f"{user.name} is {', '.join(user.roles) or 'without a role'}; this needs the role {needed}")


def _require_active(user: User) -> None:
    if not user.active:
        raise NotAllowed(f"{user.name} is no longer active; a maintainer can reactivate them")
