"""What maintainers do with exams: make, open, invite, take back, close. Nobody sees an answer before it is closed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from core.content import Frozen
from core.errors import InterplayError, UnknownName
from core.ids import Clock, utc_now
from evaluation.conditions import check_names
from evaluation.exam.design import Candidate, Drawn, ability_of, draw_sample, shuffled, stratum_of
from evaluation.exam.places import Askable, Seating, counts_of
from evaluation.exam.sitting import run_out
from warehouse import events
from warehouse.items import revisions_in
from warehouse.people import Role, get_user, require_role
from warehouse.release.records import get_release, members_of
from warehouse.tables import (
    Exam,
    ExamItem,
    ExamPlace,
    ExamSeat,
    ExamState,
    Item,
    ItemRevision,
    ItemState,
    Release,
    User,
)

MOST_QUESTIONS = 2_000
SHORTEST_S, LONGEST_S = 10, 3_600
SETTLED = "accepted items"
"""What an exam is about that is of no release."""


class BadExam(InterplayError):
    """An exam that cannot be held as it is described."""


class ExamExists(InterplayError):
    """Two exams cannot have one name."""


class NothingToAsk(InterplayError):
    """No question fits the conditions, or a person knows all of them."""


class WrongExamState(InterplayError):
    """An exam is not in the state in which this can be done."""


class ExamChanged(InterplayError):
    """Somebody changed the exam since it was looked at."""


class AlreadyInvited(InterplayError):
    """Somebody has a seat in the exam."""


class SeatBegun(InterplayError):
    """An invitation that somebody has taken up."""


class NewExam(Frozen):
    """What a maintainer says of an exam; `release` is name and version, None for all items that are accepted now."""

    name: str
    release: tuple[str, str] | None = None
    conditions: tuple[str, ...] = ("full",)
    size: int
    seed: int = 1
    limit_s: int | None = None
    asks_confidence: bool = True


@dataclass(frozen=True)
class Sample:
    """What an exam can ask, of a release or (without an id) of the accepted items."""

    release_id: str | None
    drawn: tuple[Drawn, ...]


@dataclass(frozen=True)
class SeatProgress:
    """How far somebody is; not what they answered."""

    seat: ExamSeat
    user: User
    total: int
    done: int


def draw_exam(session: Session, new: NewExam) -> Sample:
    """Draw the questions of an exam that is to be made. Only reads: of ten thousand it takes seconds to do so.

    Raises:
        UnknownName: No such release or condition.
        BadExam, NothingToAsk: As they say.
    """
    _checked(new)
    release = get_release(session, *new.release) if new.release else None
    candidates, others = _candidates(session, release, new.conditions)
    if not candidates:
        raise NothingToAsk("there is no question to which any of these conditions applies; choose others")
    drawn = draw_sample(candidates, new.size, new.seed)
    # Those that cannot be asked are kept too: placebos take their media, as they do for models.
    left = (Drawn(one.revision_id, one.stratum, len(drawn), None) for one in others)
    return Sample(release.id if release else None, (*drawn, *left))


def create_exam(session: Session, new: NewExam, by: str, clock: Clock = utc_now, sample: Sample | None = None) -> Exam:
    """Keep the sample, which is drawn here unless `draw_exam` did it before; the exam is a draft.

    Raises:
        UnknownName, NotAllowed: No such release, condition or user; or no maintainer.
        BadExam, ExamExists, NothingToAsk: As they say.
    """
    require_role(get_user(session, by), Role.MAINTAINER)
    name = _checked(new)
    release = get_release(session, *new.release) if new.release else None
    if sample is None or sample.release_id != (release.id if release else None):
        sample = draw_exam(session, new)
    exam = Exam(
        name=name,
        subject=f"{release.name} {release.version}" if release else "",
        release_id=release.id if release else None,
        conditions=list(dict.fromkeys(new.conditions)),
        size=new.size,
        seed=new.seed,
        limit_s=new.limit_s,
        asks_confidence=new.asks_confidence,
        created_by=by,
        created_at=clock(),
    )
    try:
        with session.begin_nested():
            session.add(exam)
    except IntegrityError as error:
        raise ExamExists(f"an exam named {name!r} exists already; choose another name") from error
    session.add_all(ExamItem(exam_id=exam.id, **vars(one)) for one in sample.drawn)
    sampled = sum(one.place is not None for one in sample.drawn)
    events.record(session, by, "exam", exam.id, "create", clock, name=name, size=sampled, seed=new.seed)
    session.flush()
    return exam


def open_exam(session: Session, name: str, by: str, version: int | None = None, clock: Clock = utc_now) -> Exam:
    """Let those who are invited begin.

    Raises:
        UnknownName, NotAllowed, WrongExamState, ExamChanged: As they say.
    """
    exam = _to_change(session, name, by, version, ExamState.DRAFT)
    exam.state, exam.opened_at = ExamState.OPEN, clock()
    return _changed(session, exam, by, "open", clock)


def close_exam(session: Session, name: str, by: str, version: int | None = None, clock: Clock = utc_now) -> Exam:
    """Take no more answers; what was handed in can be graded from now on.

    Raises:
        UnknownName, NotAllowed, WrongExamState, ExamChanged: As they say.
    """
    exam = _to_change(session, name, by, version, ExamState.OPEN)
    run_out(session, exam, clock)
    exam.state, exam.closed_at = ExamState.CLOSED, clock()
    return _changed(session, exam, by, "close", clock)


def discard_exam(session: Session, name: str, by: str, version: int | None = None, clock: Clock = utc_now) -> None:
    """Throw a draft away, with its invitations: nobody has seen anything of it.

    Raises:
        UnknownName, NotAllowed, WrongExamState, ExamChanged: As they say.
    """
    exam = _to_change(session, name, by, version, ExamState.DRAFT)
    for seat in session.exec(select(ExamSeat).where(ExamSeat.exam_id == exam.id)).all():
        _remove_seat(session, seat)
    for row in session.exec(select(ExamItem).where(ExamItem.exam_id == exam.id)).all():
        session.delete(row)
    session.flush()
    session.delete(exam)
    events.record(session, by, "exam", exam.id, "discard", clock, name=exam.name)
    session.flush()


def invite(session: Session, name: str, people: Sequence[str], by: str, clock: Clock = utc_now) -> list[ExamSeat]:
    """Give people seats, each with questions that they do not know; all of them or none.

    Raises:
        UnknownName, NotAllowed: No such exam or user; no maintainer, or somebody whose account is not active.
        WrongExamState: It is closed.
        AlreadyInvited, NothingToAsk: As they say.
    """
    exam = _to_change(session, name, by, None, ExamState.DRAFT, ExamState.OPEN)
    seating = Seating(session, exam)
    return [_seat(session, exam, seating, get_user(session, person), by, clock) for person in dict.fromkeys(people)]


def uninvite(session: Session, seat_id: str, by: str, clock: Clock = utc_now) -> None:
    """Take an invitation back that nobody has taken up; the next one who is invited gets its number.

    Raises:
        UnknownName, NotAllowed: No such seat; no maintainer.
        SeatBegun: They have begun.
    """
    seat = session.get(ExamSeat, seat_id, with_for_update=True)
    if seat is None:
        raise UnknownName("seat", seat_id, ())
    exam = session.get_one(Exam, seat.exam_id)
    require_role(get_user(session, by), Role.MAINTAINER)
    if seat.started_at is not None:
        raise SeatBegun("they have begun already, so their seat stays")
    _remove_seat(session, seat)
    person = session.get_one(User, seat.user_id).name
    events.record(session, by, "exam", exam.id, "uninvite", clock, person=person)
    session.flush()


def get_exam(session: Session, name: str) -> Exam:
    """The exam of that name or id.

    Raises:
        UnknownName: There is none.
    """
    exam = session.exec(select(Exam).where((col(Exam.name) == name) | (col(Exam.id) == name))).first()
    if exam is None:
        raise UnknownName("exam", name, session.exec(select(Exam.name)))
    return exam


def all_exams(session: Session) -> list[Exam]:
    """All exams, the newest first."""
    return list(session.exec(select(Exam).order_by(col(Exam.created_at).desc(), col(Exam.id))))


def strata_of(session: Session, exam: Exam) -> dict[str, tuple[int, int]]:
    """By stratum, how many questions are in the sample and how many there are."""
    counts: dict[str, tuple[int, int]] = {}
    for stratum, place in session.exec(select(ExamItem.stratum, ExamItem.place).where(ExamItem.exam_id == exam.id)):
        sampled, all_of_them = counts.get(stratum, (0, 0))
        counts[stratum] = (sampled + (place is not None), all_of_them + 1)
    return dict(sorted(counts.items()))


def progress_of(session: Session, exam: Exam) -> list[SeatProgress]:
    """How far everybody is, in the order of their numbers."""
    query = select(ExamSeat, User).join(User, col(User.id) == col(ExamSeat.user_id))
    found = session.exec(query.where(ExamSeat.exam_id == exam.id).order_by(col(ExamSeat.number))).all()
    counts = counts_of(session, [seat.id for seat, _ in found])
    return [SeatProgress(seat, user, *counts[seat.id]) for seat, user in found]


def _seat(session: Session, exam: Exam, seating: Seating, user: User, by: str, clock: Clock) -> ExamSeat:
    require_role(user, *Role)
    seats = session.exec(select(ExamSeat).where(ExamSeat.exam_id == exam.id)).all()
    if any(seat.user_id == user.id for seat in seats):
        raise AlreadyInvited(f"{user.name} is invited to {exam.name!r} already")
    seat = ExamSeat(
        exam_id=exam.id,
        user_id=user.id,
        number=_free_number([one.number for one in seats]),
        profile=str(user.profile.get("kind") or ""),
        invited_by=by,
        invited_at=clock(),
    )
    places, seat.missing = seating.lay(seat, user)
    if not places:
        raise NothingToAsk(f"there is no question of {exam.name!r} that {user.name} does not know")
    session.add(seat)
    session.flush()
    keys = [[seat.number, place.turn] for place in places]
    for position, place in enumerate(shuffled(places, exam.seed, "order", keys)):
        place.position = position
        session.add(place)
    events.record(session, by, "exam", exam.id, "invite", clock, person=user.name, questions=len(places))
    session.flush()
    return seat


def _checked(new: NewExam) -> str:
    name = " ".join(new.name.split())
    if not 1 <= len(name) <= 64 or re.search(r"[\x00-\x1f\x7f]", name):
        raise BadExam("an exam needs a name of at most 64 characters")
    if not 1 <= new.size <= MOST_QUESTIONS:
        raise BadExam(f"an exam asks between 1 and {MOST_QUESTIONS:,} questions, not {new.size}")
    if not new.conditions:
        raise BadExam("an exam needs at least one condition, such as full")
    if new.limit_s is not None and not SHORTEST_S <= new.limit_s <= LONGEST_S:
        raise BadExam(f"a question may take between {SHORTEST_S} and {LONGEST_S:,} seconds, not {new.limit_s}")
    if not 0 <= new.seed < 2**31:
        raise BadExam(f"a seed is a whole number from 0 to {2**31 - 1}, not {new.seed}")
    check_names(new.conditions)
    return name


def _candidates(
    session: Session, release: Release | None, conditions: Sequence[str]
) -> tuple[list[Candidate], list[Candidate]]:
    """The questions to which any of the conditions applies, and the others."""
    pairs: list[tuple[Item, ItemRevision]]
    if release is None:
        pairs = revisions_in(session, ItemState.ACCEPTED, ItemState.RELEASED)
    else:
        pairs = [(member.item, member.revision) for member in members_of(session, release)]
    questions = {revision.id: revision.as_question() for _, revision in pairs}
    groups = {revision.id: item.twin_group for item, revision in pairs}
    askable = Askable(session, conditions, questions, groups)
    found: tuple[list[Candidate], list[Candidate]] = ([], [])
    for item, revision in pairs:
        question = questions[revision.id]
        one = Candidate(revision.id, stratum_of(question), ability_of(question), item.twin_group or item.id)
        found[not askable.conditions(revision.id)].append(one)
    return found


def _to_change(session: Session, name: str, by: str, version: int | None, *states: ExamState) -> Exam:
    require_role(get_user(session, by), Role.MAINTAINER)
    exam = session.get_one(Exam, get_exam(session, name).id, with_for_update=True, populate_existing=True)
    if version is not None and exam.version != version:
        raise ExamChanged(f"exam {exam.name!r} was changed meanwhile; look at it again")
    if exam.state not in states:
        needed = " or ".join(states)
        raise WrongExamState(f"exam {exam.name!r} is {exam.state.value}; this needs one that is {needed}")
    return exam


def _changed(session: Session, exam: Exam, by: str, action: str, clock: Clock) -> Exam:
    exam.version += 1
    session.add(exam)
    events.record(session, by, "exam", exam.id, action, clock)
    session.flush()
    return exam


def _remove_seat(session: Session, seat: ExamSeat) -> None:
    for place in session.exec(select(ExamPlace).where(ExamPlace.seat_id == seat.id)).all():
        session.delete(place)
    session.flush()
    session.delete(seat)
    session.flush()


def _free_number(taken: Sequence[int]) -> int:
    return next(number for number in range(len(taken) + 1) if number not in taken)
