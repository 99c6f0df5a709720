"""What people do who sit an exam, with the mistakes that they can meet in their own language."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from sqlmodel import Session

from annotation_ui.forms import once
from annotation_ui.permissions import Permission, Principal, authorize, require
from annotation_ui.told import Told, told_as
from annotation_ui.words import N_
from core.errors import InterplayError
from core.ids import Clock, utc_now
from evaluation.exam import sitting
from evaluation.exam.sheet import MOST_CHARACTERS, Sheet
from evaluation.exam.sitting import Asked, SeatView
from warehouse.tables import PlaceState


class SeatNotYours(Told):
    """A seat that is not there, or another's."""

    text = N_("This exam is not yours. Open the list of your exams.")


class ExamOver(Told):
    """An exam that was closed, or is not open yet."""

    text = N_("This exam is closed. What you handed in before is kept.")


class OtherQuestion(Told):
    """An answer to a question that is not the one to be answered now."""

    text = N_("This page is out of date: another question is to be answered now.")


class AnsweredAlready(Told):
    """Another answer to the same question is stored."""

    text = N_("You answered this question before, perhaps in another tab, and an answer is not changed.")


class NothingAnswered(Told):
    """A sheet with nothing on it."""

    text = N_("Give an answer first, or say that you cannot tell.")


class HowSure(Told):
    """An answer without the confidence that is asked for."""

    text = N_("Say first how sure you are.")


class BadSheet(Told):
    """A sheet that no page of ours sends, or far too much text."""

    text = N_("This cannot be stored. Write at most {count} characters in a field.")


_TOLD: dict[type[InterplayError], type[Told]] = {
    sitting.NoSeat: SeatNotYours,
    sitting.ExamNotOpen: ExamOver,
    sitting.NotThisQuestion: OtherQuestion,
    sitting.AnsweredBefore: AnsweredAlready,
    sitting.EmptyAnswer: NothingAnswered,
    sitting.NoConfidence: HowSure,
}


def open_seats(session: Session, who: Principal) -> list[SeatView]:
    """The open exams that wait for this person, the oldest invitation first. Only reads."""
    return sitting.open_seats(session, who.user_id) if who.may(Permission.TAKE_EXAM) else []


def seats(session: Session, who: Principal) -> list[SeatView]:
    """All exams to which this person was invited. Only reads.

    Raises:
        NotAllowed: They may sit none.
    """
    require(who, Permission.TAKE_EXAM)
    return sitting.seats_of(session, who.user_id)


def ask(session: Session, who: Principal, seat_id: str, clock: Clock = utc_now) -> Asked | None:
    """The question to be answered now, which begins its time; None when all are behind them.

    Raises:
        NotAllowed, AccountInactive, SeatNotYours, ExamOver: As they say.
    """
    who = authorize(session, who, Permission.TAKE_EXAM)
    with told_as(_TOLD):
        return sitting.ask_next(session, seat_id, who.user_id, clock)


def save(
    session: Session,
    who: Principal,
    seat_id: str,
    place_id: str,
    filled: Mapping[str, Any],
    clock: Clock = utc_now,
) -> bool:
    """Keep what is filled in; whether it was of the question to be answered now.

    Raises:
        NotAllowed, AccountInactive, SeatNotYours, ExamOver, BadSheet: As they say.
    """
    who = authorize(session, who, Permission.TAKE_EXAM)
    with told_as(_TOLD):
        return sitting.save(session, seat_id, who.user_id, place_id, _sheet(filled), clock)


def note_seen(
    session: Session, who: Principal, seat_id: str, place_id: str, *, begins: bool, clock: Clock = utc_now
) -> None:
    """Note that the question is on the screen now.

    Raises:
        NotAllowed, AccountInactive, SeatNotYours, ExamOver: As they say.
    """
    who = authorize(session, who, Permission.TAKE_EXAM)
    with told_as(_TOLD):
        sitting.note_seen(session, seat_id, who.user_id, place_id, begins=begins, clock=clock)


def hand_in(
    session: Session,
    who: Principal,
    key: str,
    seat_id: str,
    place_id: str,
    filled: Mapping[str, Any],
    clock: Clock = utc_now,
) -> PlaceState:
    """Store an answer for good; the same form twice is handled once.

    Raises:
        NotAllowed, AccountInactive, SeatNotYours, ExamOver, OtherQuestion, AnsweredAlready, NothingAnswered, HowSure,
        BadSheet, FormMisused: As they say.
    """
    who = authorize(session, who, Permission.TAKE_EXAM)
    sheet = _sheet(filled)

    def handle() -> str:
        with told_as(_TOLD):
            return sitting.hand_in(session, seat_id, who.user_id, place_id, sheet, clock).value

    return PlaceState(once(session, who, key, f"exam:{place_id}", handle, clock))


def _sheet(filled: Mapping[str, Any]) -> Sheet:
    try:
        return Sheet.model_validate(dict(filled))
    except (ValidationError, TypeError, ValueError):
        raise BadSheet(count=MOST_CHARACTERS) from None
