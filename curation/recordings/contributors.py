"""Contributors: people who give recordings, known by a pseudonym and by coarse facts only."""

import re
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from core.errors import InterplayError, UnknownName
from core.ids import Clock, NewId, new_id, utc_now
from warehouse import events
from warehouse.tables import Contributor

# Two digits, never five in a row, nothing but small letters: no name, address, telephone or identity number fits.
_PSEUDONYM = re.compile(r"(?!.*\d{5})(?=.*\d.*\d)[a-z][a-z0-9]*(-[a-z0-9]+)*")
_PSEUDONYM_LENGTH = 32
_DIALECT = re.compile(r"(?!.*\d{3})[^\W_][^\x00-\x1f@<>]{0,63}")


class AgeBand(StrEnum):
    """Coarse ages; nobody under 18 gives recordings."""

    FROM_18 = "18-24"
    FROM_25 = "25-34"
    FROM_35 = "35-44"
    FROM_45 = "45-54"
    FROM_55 = "55-64"
    FROM_65 = "65+"


class Gender(StrEnum):
    """Told by those who want to."""

    FEMALE = "female"
    MALE = "male"
    OTHER = "other"


class PersonalData(InterplayError):
    """Something that could tell who a contributor is."""


class PseudonymTaken(InterplayError):
    """Two contributors cannot have one pseudonym."""


@dataclass(frozen=True)
class NewContributor:
    """What is known of somebody; a pseudonym that is not given is made up."""

    pseudonym: str | None = None
    dialect: str | None = None
    age_band: AgeBand | None = None
    gender: Gender | None = None


def add_contributor(
    session: Session, new: NewContributor, actor: str, clock: Clock = utc_now, make_id: NewId = new_id
) -> Contributor:
    """Store a contributor, in the caller's transaction.

    Raises:
        PersonalData: The pseudonym or the dialect could be a name, an address or a number of somebody.
        PseudonymTaken: Another has it.
    """
    if new.pseudonym is not None:
        _check_pseudonym(new.pseudonym)
    if new.dialect is not None and not _DIALECT.fullmatch(new.dialect):
        raise PersonalData(f"{new.dialect!r:.80} is no name of a dialect; write one as 'Sichuan', without numbers")
    contributor = Contributor(
        id=make_id(),
        pseudonym=new.pseudonym or made_up(make_id),
        dialect=new.dialect,
        age_band=new.age_band,
        gender=new.gender,
        created_at=clock(),
    )
    try:
        with session.begin_nested():
            session.add(contributor)
    except IntegrityError as error:
        raise PseudonymTaken(
            f"a contributor {contributor.pseudonym!r} is there already; choose another pseudonym, or let one be made up"
        ) from error
    events.record(
        session, actor, "contributor", contributor.id, "create", clock, pseudonym=contributor.pseudonym
    )  # fmt: skip
    return contributor


def made_up(make_id: NewId) -> str:
    """A pseudonym as voice-4071-9325, from the random end of an id."""
    digits = f"{int(make_id().replace('-', '')[-12:], 16) % 10**8:08d}"
    return f"voice-{digits[:4]}-{digits[4:]}"


def get_contributor(session: Session, name: str) -> Contributor:
    """The contributor of that pseudonym or id.

    Raises:
        UnknownName: There is none.
    """
    is_named = (col(Contributor.pseudonym) == name) | (col(Contributor.id) == name)
    found = session.exec(select(Contributor).where(is_named)).first()
    if found is None:
        raise UnknownName("contributor", name, session.exec(select(Contributor.pseudonym)))
    return found


def list_contributors(session: Session) -> list[Contributor]:
    """All of them, oldest first."""
    return list(session.exec(select(Contributor).order_by(col(Contributor.created_at), col(Contributor.id))))


def _check_pseudonym(text: str) -> None:
    if not _PSEUDONYM.fullmatch(text) or len(text) > _PSEUDONYM_LENGTH:
        raise PersonalData(
            f"{text!r:.80} is not taken as a pseudonym, for it could be a name, an address or a number of somebody; "
            f"write at most {_PSEUDONYM_LENGTH} small letters, digits and '-', two digits at least and never five in a "
            "row, as 'speaker-07'"
        )
