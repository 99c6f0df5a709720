"""Public question sets as people use them: list them, look at their questions, forget them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func
from sqlmodel import Session, col, or_, select

from core.errors import InterplayError, UnknownName
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.tables import Privatization, PublicQuestion, QuestionSet, Run

COMMAND = "question import"
ROWS_AT_ONCE = 500


class UnknownQuestion(InterplayError):
    """No public question has that id, or several have."""


class SetInUse(InterplayError):
    """Something rests on a set that is to be forgotten or replaced."""


@dataclass(frozen=True)
class SetView:
    """A set, how many questions it has, and what its last import was like: status, counts, reasons."""

    question_set: QuestionSet
    questions: int
    last_status: str | None
    last_summary: Mapping[str, Any]


def find_set(session: Session, name: str) -> QuestionSet:
    """The set of that name.

    Raises:
        UnknownName: There is none.
    """
    found = session.exec(select(QuestionSet).where(QuestionSet.name == name)).first()
    if found is None:
        raise UnknownName("question set", name, session.exec(select(QuestionSet.name)))
    return found


def list_sets(session: Session) -> list[SetView]:
    """All sets by name."""
    counted = dict(session.exec(select(PublicQuestion.set_id, func.count()).group_by(PublicQuestion.set_id)).all())
    last: dict[str, Run] = {}
    for run in session.exec(select(Run).where(Run.command == COMMAND).order_by(col(Run.started_at), col(Run.id))):
        last[str(run.settings.get("set"))] = run
    views = []
    for one in session.exec(select(QuestionSet).order_by(QuestionSet.name)):
        run_of_set = last.get(one.name)
        status = run_of_set.status.value if run_of_set else None
        views.append(SetView(one, counted.get(one.id, 0), status, run_of_set.summary if run_of_set else {}))
    return views


def iter_questions(session: Session, set_name: str | None = None) -> Iterator[tuple[PublicQuestion, str]]:
    """Questions, each with its set's name, in the order of their import; read in pieces.

    Raises:
        UnknownName: There is no such set.
    """
    query = select(PublicQuestion, QuestionSet.name).join(QuestionSet).order_by(col(PublicQuestion.id))
    if set_name is not None:
        query = query.where(PublicQuestion.set_id == find_set(session, set_name).id)
    yield from session.exec(query.execution_options(yield_per=ROWS_AT_ONCE))


def find_question(session: Session, name: str) -> tuple[PublicQuestion, str]:
    """The question of that id (or how the id begins), or of that id of its set's own, with the set's name.

    Raises:
        UnknownQuestion: There is none, or there are several.
    """
    is_it = or_(col(PublicQuestion.id).startswith(name, autoescape=True), PublicQuestion.qid == name)
    query = select(PublicQuestion, QuestionSet.name).join(QuestionSet).where(is_it).order_by(col(PublicQuestion.id))
    found: Sequence[tuple[PublicQuestion, str]] = session.exec(query.limit(6)).all() if name else []
    if not found:
        raise UnknownQuestion(f"no public question has the id {name!r}; 'interplay question list' shows them")
    if len(found) > 1:
        near = ", ".join(f"{question.id} ({question.qid} of {of_set})" for question, of_set in found[:5])
        raise UnknownQuestion(f"{name!r} can be several questions: {near}; write one of these ids")
    question, of_set = found[0]
    return question, of_set


def forget_set(session: Session, name: str, actor: str, clock: Clock = utc_now) -> int:
    """Delete a set with its questions, and give how many there were. Media stay in the store: others may show them.

    Raises:
        UnknownName: There is no such set.
        SetInUse: Private questions are made after some of its questions.
    """
    one = find_set(session, name)
    check_unused(session, name)
    count = session.exec(select(func.count()).select_from(PublicQuestion).where(PublicQuestion.set_id == one.id)).one()
    session.exec(delete(PublicQuestion).where(col(PublicQuestion.set_id) == one.id))
    session.delete(one)
    events.record(session, actor, "question_set", one.id, "forget", clock, name=name, questions=count)
    return count


def check_unused(session: Session, name: str) -> None:
    """See that nothing rests on the questions of a set, if there is one of that name.

    Raises:
        SetInUse: Private questions are made after some of them.
    """
    query = select(func.count()).select_from(Privatization).join(PublicQuestion).join(QuestionSet)
    resting = session.exec(query.where(QuestionSet.name == name)).one()
    if resting:
        raise SetInUse(f"{resting} privatizations are made after questions of {name!r}: it must stay as it is")
