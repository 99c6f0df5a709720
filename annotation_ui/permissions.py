"""Who may do what. Services ask here on every write, pages on every rerun."""

from dataclasses import dataclass
from enum import StrEnum

from sqlmodel import Session

from annotation_ui.told import Told
from annotation_ui.words import N_
from core.errors import UnknownName
from warehouse.people import Role
from warehouse.tables import User


class Permission(StrEnum):
    """Something that a role allows."""

    SEE_LIBRARY = "see_library"
    CURATE = "curate"
    SEE_ITEMS = "see_items"
    AUTHOR = "author"
    RECORD = "record"
    REVIEW = "review"
    SEE_RESULTS = "see_results"
    SEE_EVERY_KEY = "see_every_key"
    MANAGE_PEOPLE = "manage_people"
    COMPRESS = "compress"
    RELEASE = "release"
    HOLD_EXAMS = "hold_exams"
    TAKE_EXAM = "take_exam"
    SET_TARGETS = "set_targets"


# Whoever works on items may sit an exam too: on those that they never saw.
_WORKING = frozenset(
    {
        Permission.SEE_LIBRARY,
        Permission.CURATE,
        Permission.SEE_ITEMS,
        Permission.SEE_RESULTS,
        Permission.TAKE_EXAM,
    }
)

# A participant takes exams and plays: seeing items first would spoil what is measured.
GRANTS: dict[Role, frozenset[Permission]] = {
    Role.ANNOTATOR: _WORKING | {Permission.AUTHOR, Permission.RECORD},
    Role.REVIEWER: _WORKING | {Permission.REVIEW},
    Role.MAINTAINER: frozenset(Permission),
    Role.PARTICIPANT: frozenset({Permission.TAKE_EXAM}),
}


class NotAllowed(Told):
    """Somebody asked for what none of their roles allows."""

    text = N_("Your roles do not allow this. Ask a maintainer to give you the role that does.")


class AccountInactive(Told):
    """Somebody whose account was deactivated."""

    text = N_("This account is not active. Ask a maintainer to switch it on again.")


@dataclass(frozen=True)
class Principal:
    """Somebody who is signed in, as they stand in the database at this moment."""

    user_id: str
    name: str
    display_name: str
    roles: frozenset[Role]
    language: str | None = None

    @property
    def permissions(self) -> frozenset[Permission]:
        """Everything that the roles allow together."""
        return frozenset().union(*(GRANTS[role] for role in self.roles))

    def may(self, permission: Permission) -> bool:
        """Whether one of the roles allows it."""
        return permission in self.permissions

    def is_author(self, author: str) -> bool:
        """Whether a revision's author is this person: files name people, the studio stores ids."""
        return author in {self.user_id, self.name}


def as_principal(user: User) -> Principal:
    """The person behind a row."""
    return Principal(
        user_id=user.id,
        name=user.name,
        display_name=user.display_name,
        roles=frozenset(Role(role) for role in user.roles),
        language=user.profile.get("language"),
    )


def require(who: Principal, permission: Permission) -> None:
    """Raise unless the person may.

    Raises:
        NotAllowed: No role of theirs allows it.
    """
    if not who.may(permission):
        raise NotAllowed


def authorize(session: Session, who: Principal, permission: Permission, *, reads: bool = False) -> Principal:
    """The person as they stand in this transaction, which is what a write must ask: a rerun may be seconds old.

    They stay so until it ends, unless it only `reads`: work that is too long for one transaction begins with that.

    Raises:
        AccountInactive: They were deactivated or removed meanwhile.
        NotAllowed: No role of theirs allows it any more.
    """
    # Not for update: rows that name the person are written meanwhile, which would wait, and two such for each other.
    user = session.get(User, who.user_id, with_for_update=None if reads else {"key_share": True})
    if user is None or not user.active:
        raise AccountInactive
    now = as_principal(user)
    require(now, permission)
    return now


def parse_roles(names: list[str]) -> list[Role]:
    """Roles by name, each once, in the order of `Role`.

    Raises:
        UnknownName: One of them is no role.
    """
    known = {role.value: role for role in Role}
    for name in names:
        if name not in known:
            raise UnknownName("role", name, known)
    return [role for role in Role if role.value in names]
