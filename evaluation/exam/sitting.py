"""Sitting an exam: one question at a time, each answer once, the time taken by the server's clock."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session, col, select

from core.content import Frozen, Part
from core.errors import InterplayError
from core.ids import Clock, utc_now
from core.question import Question, QuestionKind
from evaluation.exam.places import Seating, can_be_put, counts_of, question_of
from evaluation.exam.sheet import Sheet, answer_text
from evaluation.exam.timing import ends_at, is_over, note_on_screen
from evaluation.graders.choice import chosen
from evaluation.prompts import render
from warehouse import events
from warehouse.tables import Exam, ExamPlace, ExamSeat, ExamState, PlaceState, User


class NoSeat(InterplayError):
    """A seat that is not there, or another's."""


class ExamNotOpen(InterplayError):
    """An exam that has not begun, or is over."""


class NotThisQuestion(InterplayError):
    """An answer to another question than the one that is to be answered now."""


class AnsweredBefore(InterplayError):
    """Another answer to the same question is stored."""


class EmptyAnswer(InterplayError):
    """An answer with nothing in it, or one that names no choice."""


class NoConfidence(InterplayError):
    """An answer without the confidence that the exam asks for."""


@dataclass(frozen=True)
class SeatView:
    """An exam as somebody who sits it sees it. `done` of `total` questions are behind them."""

    seat_id: str
    exam: str
    total: int
    done: int
    limit_s: int | None
    asks_confidence: bool
    started_at: datetime | None
    finished_at: datetime | None
    is_open: bool


class AskedStep(Frozen):
    """What a step asks, and its points of ten."""

    ask: str
    points: int


class Asked(Frozen):
    """A question as it is put to somebody now: what a model would be shown under the condition, and no key.

    `number` of `total` counts from 1. `ends_at` is when its time is over; `saved` what was filled in before.
    """

    place_id: str
    number: int
    total: int
    prompt: tuple[Part, ...]
    kind: QuestionKind
    choices: tuple[str, ...]
    several_are_right: bool
    steps: tuple[AskedStep, ...]
    language: str
    asks_confidence: bool
    ends_at: datetime | None
    saved: Sheet


def open_seats(session: Session, user_id: str) -> list[SeatView]:
    """The open exams that somebody is invited to and has not finished, the oldest invitation first."""
    found = seats_of(session, user_id)
    return [one for one in found if one.is_open and one.finished_at is None]


def seats_of(session: Session, user_id: str) -> list[SeatView]:
    """All exams that somebody is invited to, but drafts."""
    query = (
        select(ExamSeat, Exam)
        .join(Exam, col(Exam.id) == col(ExamSeat.exam_id))
        .where(ExamSeat.user_id == user_id, Exam.state != ExamState.DRAFT)
        .order_by(col(ExamSeat.invited_at), col(ExamSeat.id))
    )
    found = session.exec(query).all()
    counts = counts_of(session, [seat.id for seat, _ in found])
    return [_seat_view(seat, exam, *counts[seat.id]) for seat, exam in found]


def ask_next(session: Session, seat_id: str, user_id: str, clock: Clock = utc_now) -> Asked | None:
    """The question that is to be answered now, which begins its time; None when all are behind them.

    Raises:
        NoSeat, ExamNotOpen: As they say.
    """
    seat, exam = _seat(session, seat_id, user_id)
    seat.started_at = seat.started_at or clock()
    session.add(seat)
    place = _current(session, seat, exam, clock)
    if place is None:
        return None
    if place.shown_at is None:
        place.shown_at = clock()
        place.spans = [[place.shown_at.isoformat()] * 2]
        session.add(place)
        session.flush()
    return _asked(session, seat, exam, place)


def save(session: Session, seat_id: str, user_id: str, place_id: str, sheet: Sheet, clock: Clock = utc_now) -> bool:
    """Keep what is filled in; whether it was kept, which it is only of the question that is to be answered now.

    Raises:
        NoSeat, ExamNotOpen: As they say.
    """
    seat, exam = _seat(session, seat_id, user_id)
    place = _waiting(session, seat)
    if place is None or place.id != place_id or place.shown_at is None or is_over(exam, place, clock()):
        return False
    place.saved = sheet.model_dump(mode="json")
    note_on_screen(place, clock(), begins=False)
    session.add(place)
    session.flush()
    return True


def note_seen(
    session: Session, seat_id: str, user_id: str, place_id: str, *, begins: bool, clock: Clock = utc_now
) -> None:
    """Note that the question is on the screen at this moment; `begins` after it was not, as after a reload.

    Raises:
        NoSeat, ExamNotOpen: As they say.
    """
    seat, _ = _seat(session, seat_id, user_id)
    place = _waiting(session, seat)
    if place is not None and place.id == place_id and place.shown_at is not None:
        note_on_screen(place, clock(), begins=begins)
        session.add(place)
        session.flush()


def hand_in(
    session: Session, seat_id: str, user_id: str, place_id: str, sheet: Sheet, clock: Clock = utc_now
) -> PlaceState:
    """Store the answer for good; the same again changes nothing.

    When the question's time is over, a page hands in what is filled in by itself: nothing then ends the question, and
    how sure somebody is may be missing. What comes later than that is dropped, and what was kept in time counts.

    Raises:
        NoSeat, ExamNotOpen, NotThisQuestion, AnsweredBefore, EmptyAnswer, NoConfidence: As they say.
    """
    seat, exam = _seat(session, seat_id, user_id)
    place = session.get(ExamPlace, place_id)
    if place is None or place.seat_id != seat.id:
        raise NotThisQuestion("this question is not in your exam")
    question = question_of(session, place)
    text = None if sheet.cannot_tell else answer_text(question, sheet)
    confidence = None if sheet.cannot_tell else sheet.confidence
    if place.state is not PlaceState.WAITING:
        if (place.answer, place.confidence) != (text, confidence):
            raise AnsweredBefore("this question is answered already, and an answer is not changed")
        return place.state
    now = _waiting(session, seat)
    if now is None or now.id != place.id or place.shown_at is None:
        raise NotThisQuestion("another question is to be answered first")
    is_late = is_over(exam, place, clock(), timedelta())
    if is_over(exam, place, clock()):
        return _run_out(session, seat, exam, place, clock)
    if is_late and text is not None and not text.strip():
        return _run_out(session, seat, exam, place, clock, Sheet())
    _check(question, text)
    if text is not None and exam.asks_confidence and confidence is None and not is_late:
        raise NoConfidence("say how sure you are first")
    place.answer = text
    place.confidence = confidence if exam.asks_confidence else None
    return _end(session, seat, place, PlaceState.ABSTAINED if text is None else PlaceState.ANSWERED, clock)


def shown_media(session: Session, user_id: str) -> set[str]:
    """The sha256 of the media of the questions that somebody has before them now: what they may fetch, and no more."""
    query = (
        select(ExamSeat)
        .join(Exam, col(Exam.id) == col(ExamSeat.exam_id))
        .where(ExamSeat.user_id == user_id, Exam.state == ExamState.OPEN, col(ExamSeat.finished_at).is_(None))
    )
    places = [_waiting(session, seat) for seat in session.exec(query).all()]
    return {
        part.media.sha256
        for place in places
        if place is not None and place.shown_at is not None
        for part in question_of(session, place).media
    }


def run_out(session: Session, exam: Exam, clock: Clock = utc_now) -> None:
    """End all questions of an exam whose time is over, also of those who never came back."""
    query = select(ExamPlace, ExamSeat).join(ExamSeat, col(ExamSeat.id) == col(ExamPlace.seat_id))
    query = query.where(ExamSeat.exam_id == exam.id, ExamPlace.state == PlaceState.WAITING)
    for place, seat in session.exec(query).all():
        if is_over(exam, place, clock()):
            _run_out(session, seat, exam, place, clock)


def _seat(session: Session, seat_id: str, user_id: str) -> tuple[ExamSeat, Exam]:
    seat = session.get(ExamSeat, seat_id)
    if seat is None or seat.user_id != user_id:
        raise NoSeat("this seat is not yours")
    # The exam first, as who closes it holds it before the seats: it is closed before or after this, and never between.
    exam = session.get_one(Exam, seat.exam_id, with_for_update={"read": True}, populate_existing=True)
    if exam.state is not ExamState.OPEN:
        raise ExamNotOpen(f"exam {exam.name!r} is {exam.state.value}")
    # Then the seat, so that two tabs of one person wait for one another.
    seat = session.get(ExamSeat, seat_id, with_for_update=True, populate_existing=True)
    if seat is None:
        raise NoSeat("this seat is not yours")
    return seat, exam


def _seat_view(seat: ExamSeat, exam: Exam, total: int, done: int) -> SeatView:
    return SeatView(
        seat_id=seat.id,
        exam=exam.name,
        total=total,
        done=done,
        limit_s=exam.limit_s,
        asks_confidence=exam.asks_confidence,
        started_at=seat.started_at,
        finished_at=seat.finished_at,
        is_open=exam.state is ExamState.OPEN,
    )


def _waiting(session: Session, seat: ExamSeat) -> ExamPlace | None:
    """The first question that is not behind them."""
    query = select(ExamPlace).where(ExamPlace.seat_id == seat.id, ExamPlace.state == PlaceState.WAITING)
    return session.exec(query.order_by(col(ExamPlace.position))).first()


def _current(session: Session, seat: ExamSeat, exam: Exam, clock: Clock) -> ExamPlace | None:
    """The same, after what cannot be answered any more has ended, and what cannot be put was exchanged."""
    user = session.get_one(User, seat.user_id)
    while (place := _waiting(session, seat)) is not None:
        if place.shown_at is not None:
            if not is_over(exam, place, clock()):
                return place
            _run_out(session, seat, exam, place, clock)
        elif can_be_put(session, user, place) or _exchange(session, seat, exam, user, place, clock):
            return place
    _finish(session, seat, clock)
    return None


def _exchange(session: Session, seat: ExamSeat, exam: Exam, user: User, place: ExamPlace, clock: Clock) -> bool:
    """Put another question of the same stratum in its place; whether there was one. Without one the place is void."""
    taken = set(session.exec(select(ExamPlace.revision_id).where(ExamPlace.seat_id == seat.id)))
    found = Seating(session, exam).stand_in(seat, user, place, taken - {place.revision_id})
    if found is not None:
        place.revision_id, condition = found
        place.condition = condition.model_dump(mode="json")
    else:
        place.state = PlaceState.VOID
        seat.missing = {**seat.missing, place.stratum: seat.missing.get(place.stratum, 0) + 1}
        session.add(seat)
    session.add(place)
    events.record(session, user.name, "exam", exam.id, "exchange", clock, void=found is None)
    session.flush()
    return found is not None


def _end(session: Session, seat: ExamSeat, place: ExamPlace, state: PlaceState, clock: Clock) -> PlaceState:
    place.state, place.answered_at = state, clock()
    note_on_screen(place, place.answered_at, begins=False)
    _leave_behind(session, seat, place, clock)
    return state


def _run_out(
    session: Session, seat: ExamSeat, exam: Exam, place: ExamPlace, clock: Clock, filled: Sheet | None = None
) -> PlaceState:
    """End a question whose time is over, at the moment at which it was, with what is filled in: what was kept last.

    So it counts no less for somebody whose connection broke than for who sat there and had the page hand it in.
    """
    sheet = Sheet.model_validate(place.saved) if filled is None else filled
    if sheet.cannot_tell:
        place.state = PlaceState.ABSTAINED
    elif text := answer_text(question_of(session, place), sheet):
        place.state, place.answer = PlaceState.ANSWERED, text
        place.confidence = sheet.confidence if exam.asks_confidence else None
    else:
        place.state = PlaceState.TIMED_OUT
    place.answered_at = ends_at(exam, place)
    _leave_behind(session, seat, place, clock)
    return place.state


def _leave_behind(session: Session, seat: ExamSeat, place: ExamPlace, clock: Clock) -> None:
    session.add(place)
    session.flush()
    if _waiting(session, seat) is None:
        _finish(session, seat, clock)


def _finish(session: Session, seat: ExamSeat, clock: Clock) -> None:
    if seat.finished_at is None:
        seat.finished_at = clock()
        session.add(seat)
        session.flush()


def _check(question: Question, text: str | None) -> None:
    if text is not None and not text.strip():
        raise EmptyAnswer("the answer is empty; write one, or say that you cannot tell")
    if text is not None and question.kind is QuestionKind.CHOICE and chosen(question, text) is None:
        raise EmptyAnswer(f"{text!r} names no choice")


def _asked(session: Session, seat: ExamSeat, exam: Exam, place: ExamPlace) -> Asked:
    question = question_of(session, place)
    total, done = counts_of(session, [seat.id])[seat.id]
    *prompt, _how_to_answer = render(question)[0].parts
    return Asked(
        place_id=place.id,
        number=done + 1,
        total=total,
        prompt=tuple(prompt),
        kind=question.kind,
        choices=tuple(choice.text for choice in question.choices),
        several_are_right=len(question.answer.correct) > 1,
        steps=tuple(AskedStep(ask=step.ask, points=step.points) for step in question.steps),
        language=question.language,
        asks_confidence=exam.asks_confidence,
        ends_at=ends_at(exam, place),
        saved=Sheet.model_validate(place.saved),
    )
