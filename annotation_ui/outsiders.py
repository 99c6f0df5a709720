"""People whom the sign-in service sends: who of them enters, who waits, who is refused.

An account there opens an account here only by what is stored as `User.external_id`. It comes to be stored in three
ways: a maintainer lets somebody in who waits, a maintainer says which of the known people they are, or somebody who is
signed in here goes there and back. An e-mail links nobody, not even a verified one: addresses change their owners.
"""

import hashlib
import re

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, select

from annotation_ui import accounts
from annotation_ui.auth import Auth, SignedIn
from annotation_ui.oidc import Identity
from annotation_ui.permissions import AccountInactive, Principal
from annotation_ui.told import Told
from annotation_ui.words import N_
from core.ids import Clock
from core.settings import Oidc
from warehouse import events
from warehouse.database import Database
from warehouse.tables import User

SERVICE = "sign-in-service"
_UNFIT = re.compile(r"[^\w.@-]")


class NotLetIn(Told):
    """Somebody whose address is not on the project's lists."""

    text = N_("This project lets in only some addresses, and yours ({email}) is none of them. Ask a maintainer.")


class AddressUnknown(Told):
    """Somebody of whom the service told no verified address, where the project goes by addresses."""

    text = N_("{service} does not say that it checked your e-mail address. Confirm the address there, then try again.")


class Stranger(Told):
    """Somebody with an account there and none here."""

    text = N_(
        "Nobody here knows your account at {service} yet. Ask a maintainer to add you; if you have a name and a "
        "password here, sign in with them and link the two under “My account”."
    )


class StillWaiting(Told):
    """Somebody whom no maintainer has let in yet."""

    text = N_("Your request is with the maintainers. Once one of them lets you in, sign in here again.")


def require_allowed(oidc: Oidc, identity: Identity) -> None:
    """Stop who is on none of the lists, where there are lists; only a verified address counts.

    Raises:
        NotLetIn, AddressUnknown: As they say.
    """
    if not oidc.allowed_domains and not oidc.allowed_emails:
        return
    if identity.email is None:
        raise AddressUnknown(service=oidc.shown_label)
    email = identity.email.casefold()
    domain = email.rpartition("@")[2]
    in_lists = email in {one.casefold() for one in oidc.allowed_emails} or domain in {
        one.casefold().removeprefix("@") for one in oidc.allowed_domains
    }
    if not in_lists:
        raise NotLetIn(email=identity.email)


def enter(database: Database, auth: Auth, oidc: Oidc, identity: Identity, clock: Clock) -> SignedIn:
    """A session for somebody whom the service sent.

    Raises:
        NotLetIn, AddressUnknown, Stranger, StillWaiting, AccountInactive: As they say.
    """
    require_allowed(oidc, identity)
    with database.session() as session:
        user = _owner(session, identity)
        if user is None and oidc.new_people == "refuse":
            raise Stranger(service=oidc.shown_label)
        if user is not None and user.active:
            return auth.open_session(session, user)
        if user is not None and not accounts.is_waiting(user):
            raise AccountInactive
        if user is None:
            _queue(session, identity, clock)
    raise StillWaiting


def link_own(session: Session, who: Principal, oidc: Oidc, identity: Identity, clock: Clock) -> None:
    """Let the account there open one's own account here; a request to be let in that it made is settled by that.

    Raises:
        NotLetIn, AddressUnknown, AccountInactive, ExternalAccountTaken, HasExternalAccount: As they say.
    """
    require_allowed(oidc, identity)
    user = session.get(User, who.user_id, with_for_update={"key_share": True})
    if user is None or not user.active:
        raise AccountInactive
    owner = _owner(session, identity)
    if owner is not None and accounts.is_waiting(owner):
        accounts.unlink_external(session, owner, user.id, clock)
        accounts.stop_waiting(session, owner)
        session.flush()
    accounts.link_external(session, user, identity.external_id, user.id, clock, email=identity.email)


def _owner(session: Session, identity: Identity) -> User | None:
    return session.exec(
        select(User).where(User.external_id == identity.external_id).with_for_update(key_share=True)
    ).first()


def _queue(session: Session, identity: Identity, clock: Clock) -> None:
    now = clock()
    name = _free_name(session, identity)
    user = User(
        name=name,
        display_name=accounts.shown_name(identity.name, name),
        external_id=identity.external_id,
        active=False,
        profile={accounts.WAITING: now.isoformat()},
        created_at=now,
    )
    try:
        with session.begin_nested():
            session.add(user)
    except IntegrityError:
        return  # The same person in another window was first.
    events.record(session, SERVICE, "user", user.id, "ask", clock, external_id=identity.external_id)


def _free_name(session: Session, identity: Identity) -> str:
    """A sign-in name that says who it is, and that nobody could have chosen.

    Item files name their authors, so a name that the service lets people choose would claim the work of others.
    """
    digest = hashlib.sha256(identity.external_id.encode()).hexdigest()[:12]
    name = _UNFIT.sub("-", accounts.normal_name(identity.email))[:48] if identity.email else f"sso-{digest}"
    return f"{name}-{digest}" if accounts.is_taken(session, name) else name
