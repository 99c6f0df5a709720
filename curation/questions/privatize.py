"""Private questions made after public ones: the tasks, which item answers which, and how each stands.

UNO-Bench (arXiv:2510.18915), section 3.2.1: a public question is made anew with private material and other words, for
the same ability at the same difficulty, so that no model can have learnt it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, or_, select

from core.errors import InterplayError, UnknownName
from core.ids import Clock, utc_now
from core.question import Question
from core.taxonomy import load_taxonomy
from curation.materials import chunked
from warehouse import events
from warehouse.items import current_revision
from warehouse.tables import Item, ItemState, Privatization, PrivatizationState, PublicQuestion

DIFFICULTY = "difficulty"
"""The label of a public question that says how hard it is."""
_EASY_FROM, _HARD_UP_TO = 0.8, 0.4
_TASKS = (
    select(Privatization, PublicQuestion, Item)
    .join(PublicQuestion, col(PublicQuestion.id) == col(Privatization.public_question_id))
    .outerjoin(Item, col(Item.id) == col(Privatization.item_id))
    .order_by(col(Privatization.id))
)
"""Each with its public question and its item, oldest first."""


class UnknownPrivatization(InterplayError):
    """No privatization, or more than one, is called so."""


class ImpossiblePrivatization(InterplayError):
    """How the task or the item stands does not allow it."""


class StalePrivatization(InterplayError):
    """Somebody else changed the task since it was read."""


@dataclass(frozen=True)
class TaskView:
    """A task with its public question and, once there is one, its private item."""

    task: Privatization
    public: PublicQuestion
    item: Item | None

    @property
    def is_current(self) -> bool:
        """Whether the proof speaks of the item's current revision."""
        return self.item is not None and self.task.proven_revision_id == self.item.current_revision_id

    @property
    def stands(self) -> str:
        """`open`, `linked` (an item, not proven), `proven`, `outdated` (the item was revised since) or `given_up`."""
        if self.task.state == PrivatizationState.GIVEN_UP:
            return self.task.state.value
        if self.task.state == PrivatizationState.PROVEN:
            return "proven" if self.is_current else "outdated"
        return "open" if self.item is None else "linked"


def difficulty_of(question: PublicQuestion, right: float | None) -> str | None:
    """How hard a public question is: as its set says, else by the share of models that are right, else unknown."""
    said = question.labels.get(DIFFICULTY)
    if said not in (None, ""):
        return str(said)[:32]
    if right is None:
        return None
    return "easy" if right >= _EASY_FROM else "hard" if right <= _HARD_UP_TO else "medium"


def open_tasks(
    session: Session,
    questions: Sequence[PublicQuestion],
    by: str,
    rights: Mapping[str, float] | None = None,
    clock: Clock = utc_now,
) -> tuple[list[Privatization], int]:
    """A task for each public question that has none; returns them, and how many had one.

    Args:
        session: The caller's transaction.
        questions: Public questions.
        by: Who asks for it.
        rights: By `qid`, the share of models that are right, where a set says no difficulty.
        clock: For the rows' times.
    """
    known: set[str] = set()
    for ids in chunked(question.id for question in questions):
        held = select(Privatization.public_question_id).where(col(Privatization.public_question_id).in_(ids))
        known |= set(session.exec(held))
    taxonomy = load_taxonomy()
    made = []
    for question in questions:
        if question.id in known:
            continue
        task = Privatization(
            public_question_id=question.id,
            ability=taxonomy.get(question.question["task_type"]).ability,
            difficulty=difficulty_of(question, (rights or {}).get(question.qid)),
            created_by=by,
            created_at=clock(),
        )
        session.add(task)
        session.flush()
        events.record(session, by, "privatization", task.id, "open", clock, public_question_id=question.id)
        made.append(task)
    return made, len(known)


def find_task(session: Session, name: str) -> TaskView:
    """The task of that id, of that public question's id or qid, or of that item's name.

    Raises:
        UnknownPrivatization: There is none, or there are several.
    """
    is_it = or_(
        col(Privatization.id).startswith(name, autoescape=True),
        PublicQuestion.id == name,
        PublicQuestion.qid == name,
        Item.name == name,
    )
    found = session.exec(_TASKS.where(is_it).limit(6)).all() if name else []
    if not found:
        raise UnknownPrivatization(
            f"no privatization is called {name!r}; 'interplay question privatize list' shows them"
        )
    if len(found) > 1:
        near = ", ".join(f"{task.id} ({public.qid})" for task, public, _ in found[:5])
        raise UnknownPrivatization(f"{name!r} can be several privatizations: {near}; write one of these ids")
    return TaskView(*found[0])


def list_tasks(session: Session, state: PrivatizationState | None = None, set_id: str | None = None) -> list[TaskView]:
    """Tasks, oldest first."""
    query = _TASKS
    if state is not None:
        query = query.where(col(Privatization.state) == state)
    if set_id is not None:
        query = query.where(PublicQuestion.set_id == set_id)
    return [TaskView(*row) for row in session.exec(query)]


def link_item(
    session: Session, view: TaskView, item: Item, by: str, clock: Clock = utc_now, *, replace: bool = False
) -> Privatization:
    """Say which item was made after the public question; with `replace` an earlier item gives way, and its proof goes.

    Raises:
        ImpossiblePrivatization: The task was given up or has another item, or the item is rejected, retired, made after
            another question, or the public question itself.
        StalePrivatization: The task was changed meanwhile.
    """
    task = _locked(session, view.task)
    # Or two tasks could be answered by one item at the same moment.
    session.get(Item, item.id, with_for_update=True)
    if task.state == PrivatizationState.GIVEN_UP:
        raise ImpossiblePrivatization(f"privatization {task.id} was given up; open it again first")
    if item.state in (ItemState.REJECTED, ItemState.RETIRED):
        raise ImpossiblePrivatization(f"item {item.name!r} is {item.state.value}; link one that is alive")
    other = session.exec(
        select(Privatization).where(Privatization.item_id == item.id, Privatization.id != task.id)
    ).first()
    if other is not None:
        raise ImpossiblePrivatization(f"item {item.name!r} was made after another public question ({other.id})")
    if task.item_id == item.id:
        return task
    if is_copy(current_revision(session, item).as_question(), view.public.as_question()):
        raise ImpossiblePrivatization(
            f"item {item.name!r} is the public question {view.public.qid!r} itself; link one that is made anew, with "
            "other media and words"
        )
    if task.item_id is not None and not replace:
        held = session.get_one(Item, task.item_id)
        proven = " and proven" if view.stands == "proven" else ""
        raise ImpossiblePrivatization(
            f"privatization {task.id} is linked to item {held.name!r} already{proven}; --replace it if {item.name!r} "
            "is to stand in its place"
        )
    task.item_id, task.proof, task.proven_revision_id, task.state = item.id, {}, None, PrivatizationState.OPEN
    return _changed(session, task, by, "link", clock, item_id=item.id, item=item.name)


def is_copy(private: Question, public: Question) -> bool:
    """Whether two questions ask the same of the same media, whatever else is noted with them."""

    def content(question: Question) -> tuple[object, ...]:
        return (
            question.prompt_text,
            [part.media.sha256 for part in question.media],
            [one.text for one in question.choices],
        )

    return content(private) == content(public)


def store_proof(
    session: Session, view: TaskView, revision_id: str, proof: Mapping[str, Any], by: str, clock: Clock = utc_now
) -> Privatization:
    """Keep a proof of difference with its task, which it proves when it holds.

    Raises:
        StalePrivatization: The task or its item was changed while the proof was made.
    """
    task = _locked(session, view.task)
    item = session.get(Item, task.item_id)
    if item is None or current_revision(session, item).id != revision_id:
        raise StalePrivatization(f"privatization {task.id}: its item was revised meanwhile; prove it again")
    task.proof, task.proven_revision_id = dict(proof), revision_id
    task.state = PrivatizationState.PROVEN if proof["holds"] else PrivatizationState.OPEN
    return _changed(session, task, by, "prove", clock, holds=proof["holds"], revision_id=revision_id)


def give_up(session: Session, view: TaskView, why: str, by: str, clock: Clock = utc_now) -> Privatization:
    """Close a task that cannot be done, with why.

    Raises:
        ImpossiblePrivatization: It is closed already, or no reason is given.
        StalePrivatization: The task was changed meanwhile.
    """
    task = _locked(session, view.task)
    if task.state == PrivatizationState.GIVEN_UP:
        raise ImpossiblePrivatization(f"privatization {task.id} was given up already")
    if not why.strip():
        raise ImpossiblePrivatization(f"privatization {task.id}: say with --reason why it is given up")
    task.state, task.note = PrivatizationState.GIVEN_UP, why.strip()
    return _changed(session, task, by, "give_up", clock, why=task.note)


def reopen(session: Session, view: TaskView, by: str, clock: Clock = utc_now) -> Privatization:
    """Take up again what was given up.

    Raises:
        ImpossiblePrivatization: It was not given up.
        StalePrivatization: The task was changed meanwhile.
    """
    task = _locked(session, view.task)
    if task.state != PrivatizationState.GIVEN_UP:
        raise ImpossiblePrivatization(f"privatization {task.id} is {task.state.value}; only given up ones are reopened")
    task.state, task.proof, task.proven_revision_id = PrivatizationState.OPEN, {}, None
    return _changed(session, task, by, "reopen", clock)


def _locked(session: Session, read: Privatization) -> Privatization:
    expected = read.version  # reading anew may renew this very object
    task = session.get(Privatization, read.id, with_for_update=True, populate_existing=True)
    if task is None:
        raise UnknownName("privatization", read.id, [])
    if task.version != expected:
        raise StalePrivatization(f"privatization {task.id} was changed meanwhile; look at it again and decide again")
    return task


def _changed(session: Session, task: Privatization, by: str, action: str, clock: Clock, **detail: Any) -> Privatization:
    task.version += 1
    session.add(task)
    events.record(session, by, "privatization", task.id, action, clock, version=task.version, **detail)
    session.flush()
    return task
