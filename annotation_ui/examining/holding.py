"""What maintainers do with exams, checked in the transaction that writes, with mistakes in their language."""

from collections.abc import Sequence

from sqlmodel import Session, col, select

from annotation_ui.forms import once
from annotation_ui.permissions import Permission, Principal, authorize, require
from annotation_ui.told import Told, told_as
from annotation_ui.words import N_
from core.errors import InterplayError
from core.ids import Clock, utc_now
from evaluation.exam import grading, holding
from evaluation.exam.holding import NewExam, Sample
from evaluation.grade import Graded
from evaluation.imports import NameTaken
from warehouse.tables import Exam, ExamSeat, User
from warehouse.workspace import Workspace


class ExamGone(Told):
    """An exam that is not there."""

    text = N_("This exam is not there any more. Somebody threw it away, or the address is wrong.")


class BadExam(Told):
    """An exam that cannot be held as it is described."""

    text = N_(
        "Give the exam a name of at most 64 characters, at least one condition, and between 1 and 2,000 questions; "
        "a time limit lies between 10 seconds and an hour."
    )


class ExamNameTaken(Told):
    """Two exams cannot have one name."""

    text = N_("There is an exam of this name already. Choose another one.")


class NothingToAsk(Told):
    """No question fits."""

    text = N_("None of these questions can be asked under these conditions. Choose other questions or conditions.")


class KnowsAll(Told):
    """Somebody was invited who knows all questions."""

    text = N_("One of them had to do with every question of this exam, so nobody was invited. Leave them out.")


class OutOfDate(Told):
    """A page that shows an exam as it was before."""

    text = N_("Somebody changed this exam meanwhile. Look at it again, then decide.")


class Invited(Told):
    """Somebody who has a seat."""

    text = N_("One of them is invited already.")


class HasBegun(Told):
    """An invitation that was taken up."""

    text = N_("They have begun already, so their place stays.")


class NoAnswers(Told):
    """An exam in which nobody answered."""

    text = N_("Nobody has answered a question in this exam, so there is nothing to grade.")


class PeopleNamed(Told):
    """A model that is called as people are."""

    text = N_(
        "A model in interplay.toml is called human/expert, human/crowd or human/other. Give it another name: "
        "people's answers are stored under these."
    )


_TOLD: dict[type[InterplayError], type[Told]] = {
    holding.BadExam: BadExam,
    holding.ExamExists: ExamNameTaken,
    holding.NothingToAsk: NothingToAsk,
    holding.ExamChanged: OutOfDate,
    holding.WrongExamState: OutOfDate,
    holding.AlreadyInvited: Invited,
    holding.SeatBegun: HasBegun,
    grading.NothingAnswered: NoAnswers,
    NameTaken: PeopleNamed,
}


def find(session: Session, who: Principal, exam_id: str) -> Exam:
    """An exam by its id. Only reads.

    Raises:
        NotAllowed: The person holds no exams.
        ExamGone: It is not there.
    """
    require(who, Permission.HOLD_EXAMS)
    exam = session.get(Exam, exam_id)
    if exam is None:
        raise ExamGone
    return exam


def invitable(session: Session, who: Principal, exam: Exam) -> list[User]:
    """Active people without a seat in the exam, by the name that others see.

    Raises:
        NotAllowed: The person holds no exams.
    """
    require(who, Permission.HOLD_EXAMS)
    seated = select(ExamSeat.user_id).where(ExamSeat.exam_id == exam.id)
    query = select(User).where(User.active, col(User.id).not_in(seated))
    return sorted((user for user in session.exec(query) if user.roles), key=lambda user: user.display_name.casefold())


def draw(session: Session, who: Principal, new: NewExam) -> Sample:
    """Draw the questions of an exam that is to be made. Only reads, so that no write waits while it takes seconds.

    Raises:
        NotAllowed, BadExam, NothingToAsk: As they say.
    """
    require(who, Permission.HOLD_EXAMS)
    with told_as(_TOLD):
        return holding.draw_exam(session, new)


def create(
    session: Session, who: Principal, key: str, new: NewExam, clock: Clock = utc_now, sample: Sample | None = None
) -> str:
    """Make an exam, of what `draw` gave where that was asked before; gives its id. The same form twice is handled once.

    Raises:
        NotAllowed, AccountInactive, BadExam, ExamNameTaken, NothingToAsk, FormMisused: As they say.
    """
    who = authorize(session, who, Permission.HOLD_EXAMS)

    def handle() -> str:
        with told_as(_TOLD):
            return holding.create_exam(session, new, who.name, clock, sample).id

    return once(session, who, key, "exam:create", handle, clock)


def invite(session: Session, who: Principal, exam_id: str, names: Sequence[str], clock: Clock = utc_now) -> None:
    """Give people seats; all of them or none.

    Raises:
        NotAllowed, AccountInactive, ExamGone, OutOfDate, Invited, KnowsAll: As they say.
    """
    who = authorize(session, who, Permission.HOLD_EXAMS)
    with told_as(_TOLD | {holding.NothingToAsk: KnowsAll}):
        holding.invite(session, find(session, who, exam_id).id, names, who.name, clock)


def uninvite(session: Session, who: Principal, exam_id: str, seat_id: str, clock: Clock = utc_now) -> None:
    """Take an invitation back.

    Raises:
        NotAllowed, AccountInactive, ExamGone, HasBegun: As they say.
    """
    who = authorize(session, who, Permission.HOLD_EXAMS)
    seat = session.get(ExamSeat, seat_id)
    if seat is None or seat.exam_id != exam_id:
        raise ExamGone
    with told_as(_TOLD):
        holding.uninvite(session, seat_id, who.name, clock)


def open_exam(session: Session, who: Principal, exam_id: str, version: int, clock: Clock = utc_now) -> None:
    """Let those who are invited begin.

    Raises:
        NotAllowed, AccountInactive, ExamGone, OutOfDate: As they say.
    """
    who = authorize(session, who, Permission.HOLD_EXAMS)
    exam = find(session, who, exam_id)
    with told_as(_TOLD):
        holding.open_exam(session, exam.id, who.name, version, clock)


def close_exam(session: Session, who: Principal, exam_id: str, version: int, clock: Clock = utc_now) -> None:
    """Take no more answers.

    Raises:
        NotAllowed, AccountInactive, ExamGone, OutOfDate: As they say.
    """
    who = authorize(session, who, Permission.HOLD_EXAMS)
    exam = find(session, who, exam_id)
    with told_as(_TOLD):
        holding.close_exam(session, exam.id, who.name, version, clock)


def discard(session: Session, who: Principal, exam_id: str, version: int, clock: Clock = utc_now) -> None:
    """Throw a draft away.

    Raises:
        NotAllowed, AccountInactive, ExamGone, OutOfDate: As they say.
    """
    who = authorize(session, who, Permission.HOLD_EXAMS)
    exam = find(session, who, exam_id)
    with told_as(_TOLD):
        holding.discard_exam(session, exam.id, who.name, version, clock)


def grade(workspace: Workspace, who: Principal, exam_id: str, clock: Clock = utc_now) -> Graded:
    """Store and grade what was answered; long work, which stores what it makes by itself.

    Raises:
        NotAllowed, AccountInactive, ExamGone, OutOfDate, NoAnswers, PeopleNamed: As they say.
    """
    with workspace.database.session() as session:
        who = authorize(session, who, Permission.HOLD_EXAMS)
        find(session, who, exam_id)
    with told_as(_TOLD):
        return grading.grade_exam(workspace, exam_id, who.name, clock)
