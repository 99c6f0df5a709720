"""Signing in: passwords, throttling, sessions, one-time links."""

import hashlib
import os
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from itsdangerous import BadData, URLSafeSerializer
from sqlmodel import Session, col, select

from annotation_ui.accounts import (
    COMMAND_LINE,
    check_password,
    create_user,
    has_maintainer,
    normal_name,
    set_password_hash,
)
from annotation_ui.permissions import AccountInactive, Principal, as_principal
from annotation_ui.told import Told
from annotation_ui.words import N_
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.database import Database
from warehouse.people import Role
from warehouse.tables import Event, User

SESSION_LIFE = timedelta(days=7)
LINK_LIFE = timedelta(days=3)
FREE_TRIES = 5
FIRST_LOCK = timedelta(minutes=1)
LONGEST_LOCK = timedelta(hours=1)
_FIRST_USER = "first"
LINK_PATH = "/auth/link"
_STRANGERS_KEPT = 10_000
# What ends every earlier session of somebody, and what makes their earlier links useless.
_ENDS_SESSIONS = ("password_set", "sessions_ended", "deactivate", "unlink_external")
_ENDS_LINKS = ("password_set", "link", "deactivate")


class WrongCredentials(Told):
    """No such name, or not its password; which of the two is not said."""

    text = N_("The name or the password is not right. Try again, or ask a maintainer for a new link.")


class WrongOldPassword(Told):
    """Somebody who changes their password must know the one they have."""

    text = N_("The old password is not right. Try again, or ask a maintainer for a new link.")


class SignInLocked(Told):
    """Too many wrong passwords for one name."""

    text = N_("Too many tries for this name. Try again in {minutes} min, or ask a maintainer for a new link.")


class DeadLink(Told):
    """A one-time link that was used, is too old or was never ours."""

    text = N_("This link was used already or is too old. Ask a maintainer for a new one.")


@dataclass(frozen=True)
class SignedIn:
    """A new session: the token belongs into the browser's cookie and nowhere else."""

    token: str
    expires_at: datetime


@dataclass
class _Tries:
    count: int = 0
    locked_until: datetime | None = None


class Auth:
    """Accounts of one project. The database holds argon2 hashes of passwords and sha256 hashes of session tokens.

    A session is an event (`sign_in`), and its end another (`sign_out`): signing out, a new password and deactivation
    work at once, on every device.
    """

    def __init__(
        self, database: Database, key: bytes, clock: Clock = utc_now, hasher: PasswordHasher | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._hasher = hasher or PasswordHasher()
        # argon2 takes 64 MiB and several processors each time: more at once are no quicker, and fill the memory.
        self._hashing = threading.BoundedSemaphore(os.cpu_count() or 1)
        self._nobody = self._hasher.hash(secrets.token_hex())
        self._strangers: OrderedDict[str, _Tries] = OrderedDict()
        self._links = URLSafeSerializer(
            key, salt="interplay.link", signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256}
        )

    def hash_password(self, name: str, password: str) -> str:
        """The argon2id hash to store.

        Raises:
            WeakPassword: The password is too easy to guess.
        """
        check_password(name, password)
        with self._hashing:
            return self._hasher.hash(password)

    def sign_in(self, name: str, password: str) -> SignedIn:
        """Open a session.

        A try is counted before the password is looked at, so that many at once get no more tries than one by one.

        Raises:
            WrongCredentials, SignInLocked, AccountInactive: As they say.
        """
        user_id, stored = self._count_try(name)
        if not self._matches(stored or self._nobody, password) or user_id is None or stored is None:
            raise WrongCredentials
        with self._database.session() as session:
            user = session.get(User, user_id)
            assert user is not None
            if not user.active:
                raise AccountInactive
            user.failed_sign_ins, user.locked_until = 0, None
            if self._hasher.check_needs_rehash(stored):
                user.password_hash = self._hasher.hash(password)
            session.add(user)
            return self.open_session(session, user)

    def principal(self, token: str | None) -> Principal | None:
        """Who a session token stands for now; None when it is unknown, ended, expired or its owner inactive."""
        if not token:
            return None
        with self._database.reading() as session:
            told = session.exec(
                select(Event)
                .where(Event.subject_kind == "session", Event.subject_id == _digest(token))
                .order_by(col(Event.sequence))
            ).all()
            if not told or any(event.action == "sign_out" for event in told):
                return None
            opened = told[0]
            if datetime.fromisoformat(opened.detail["expires_at"]) <= self._clock():
                return None
            user = session.get(User, opened.actor)
            if user is None or not user.active or _was_ended(session, opened):
                return None
            return as_principal(user)

    def change_password(self, token: str | None, old: str, new: str) -> None:
        """Set one's own password; every other session of one's own ends.

        A wrong old password counts as a try to sign in.

        Raises:
            AccountInactive, SignInLocked, WrongOldPassword, WeakPassword: As they say.
        """
        who = self.principal(token)
        if who is None or token is None:
            raise AccountInactive
        _, stored = self._count_try(who.name)
        if not self._matches(stored or self._nobody, old) or stored is None:
            raise WrongOldPassword
        hashed = self.hash_password(who.name, new)
        with self._database.session() as session:
            user = session.get(User, who.user_id, with_for_update={"key_share": True})
            if user is None or not user.active:
                raise AccountInactive
            if user.password_hash != stored:
                raise WrongOldPassword
            set_password_hash(session, user, hashed, self._clock, kept_session=_digest(token))

    def sign_out(self, token: str | None) -> None:
        """End a session; nothing when it is none."""
        who = self.principal(token)
        if who is None or token is None:
            return
        with self._database.session() as session:
            events.record(session, who.user_id, "session", _digest(token), "sign_out", self._clock)

    def first_link(self) -> str | None:
        """The token of the link that makes the first maintainer; None once there is anybody."""
        with self._database.reading() as session:
            if has_maintainer(session):
                return None
        return self._link(_FIRST_USER, 0)

    def user_link(self, user: User, actor: str = COMMAND_LINE) -> str:
        """The token of a link with which somebody sets their password, made in a transaction of its own."""
        with self._database.session() as session:
            return self.link_for(session, user, actor)

    def link_for(self, session: Session, user: User, actor: str) -> str:
        """The token of a link with which somebody sets their password, made in the caller's transaction.

        It dies when it is used, when the password changes, when another is made, and when the account is deactivated.
        """
        made = events.record(session, actor, "user", user.id, "link", self._clock)
        session.flush()
        assert made.sequence is not None
        return self._link(user.id, made.sequence)

    def link_owner(self, link: str) -> User | None:
        """Whose password the link sets; None for the link that makes the first maintainer.

        Raises:
            DeadLink: It opens nothing.
        """
        with self._database.reading() as session:
            return self._owner(session, link)

    def set_up(self, link: str, password: str, name: str = "", display_name: str = "") -> SignedIn:
        """Use a link up: make the first maintainer, or set the owner's password; and sign them in.

        Raises:
            DeadLink, WeakPassword, BadUserName: As they say.
        """
        owner = self.link_owner(link)
        hashed = self.hash_password(owner.name if owner else name, password)
        with self._database.session() as session:
            user = self._owner(session, link, lock=True)
            if user is None:
                roles = [Role.ANNOTATOR, Role.REVIEWER, Role.MAINTAINER]
                user = create_user(session, name, roles, display_name=display_name, actor="setup", clock=self._clock)
            set_password_hash(session, user, hashed, self._clock)
            session.flush()
            return self.open_session(session, user)

    def open_session(self, session: Session, user: User) -> SignedIn:
        """A new session for somebody whose identity is proven, in the caller's transaction."""
        token = secrets.token_urlsafe(32)
        expires_at = self._clock() + SESSION_LIFE
        events.record(
            session, user.id, "session", _digest(token), "sign_in", self._clock, expires_at=expires_at.isoformat()
        )
        return SignedIn(token, expires_at)

    def _count_try(self, name: str) -> tuple[str | None, str | None]:
        """Id and hash of the one to be tried."""
        now, name = self._clock(), normal_name(name)
        with self._database.session() as session:
            user = session.exec(select(User).where(User.name == name).with_for_update(key_share=True)).first()
            if user is not None and (user.locked_until is None or user.locked_until <= now):
                user.failed_sign_ins += 1
                user.locked_until = _locked_until(user.failed_sign_ins, now) or user.locked_until
                session.add(user)
                return user.id, user.password_hash
            until = user.locked_until if user is not None else self._count_stranger(name, now)
        if until is None:
            return None, None
        raise SignInLocked(minutes=int(-(-(until - now).total_seconds() // 60)))

    def _count_stranger(self, name: str, now: datetime) -> datetime | None:
        """The lock of a name that nobody has, which must look like everybody's; only the latest names are kept."""
        tries = self._strangers.setdefault(name[:64], _Tries())
        self._strangers.move_to_end(name[:64])
        if len(self._strangers) > _STRANGERS_KEPT:
            self._strangers.popitem(last=False)
        if tries.locked_until is not None and tries.locked_until > now:
            return tries.locked_until
        tries.count += 1
        tries.locked_until = _locked_until(tries.count, now)
        return None

    def _matches(self, stored: str, password: str) -> bool:
        try:
            with self._hashing:
                return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False

    def _link(self, subject: str, sequence: int) -> str:
        expires = int((self._clock() + LINK_LIFE).timestamp())
        token = self._links.dumps([subject, sequence, expires])
        return token.decode() if isinstance(token, bytes) else token

    def _owner(self, session: Session, link: str, *, lock: bool = False) -> User | None:
        try:
            subject, sequence, expires = self._links.loads(link)
        except (BadData, ValueError, TypeError):
            raise DeadLink from None
        if expires <= self._clock().timestamp():
            raise DeadLink
        if subject == _FIRST_USER:
            if has_maintainer(session):
                raise DeadLink
            return None
        # Locked where it is used: of two who use one link at once, the second finds it used.
        user = session.get(User, subject, with_for_update={"key_share": True} if lock else None)
        if user is None or not user.active or _latest(session, subject, _ENDS_LINKS, sequence):
            raise DeadLink
        return user


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _locked_until(tries: int, now: datetime) -> datetime | None:
    over = tries - FREE_TRIES
    return now + min(FIRST_LOCK * 2 ** min(over, 10), LONGEST_LOCK) if over >= 0 else None


def _was_ended(session: Session, opened: Event) -> bool:
    assert opened.sequence is not None
    later = _latest(session, opened.actor, _ENDS_SESSIONS, opened.sequence)
    return any(event.detail.get("kept_session") != opened.subject_id for event in later)


def _latest(session: Session, user_id: str, actions: tuple[str, ...], after: int) -> list[Event]:
    """What was done to an account of these kinds later than an event."""
    query = select(Event).where(
        Event.subject_kind == "user",
        Event.subject_id == user_id,
        col(Event.action).in_(actions),
        col(Event.sequence) > after,
    )
    return list(session.exec(query))
