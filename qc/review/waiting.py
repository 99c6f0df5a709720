"""What waits for whom: revisions for reviewers, what they cannot settle for a maintainer, open cases for one person."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from core.ids import Clock, utc_now
from qc.review.verdicts import reviewers_needed
from warehouse.tables import Assignment, AssignmentState, Decision, Item, ItemRevision, User, Verdict
from warehouse.verdicts import ROUND_NEEDS

REVIEW = "review"
OPEN_CASE = "open_case"
# In a task's id, between the revision and the slot on it.
_SLOT = "/"


def task_id_of(revision_id: str, slot: str) -> str:
    """The id of the task that a lease on a slot is about."""
    return f"{revision_id}{_SLOT}{slot}"


def revision_of(task_id: str) -> str:
    """The id of the revision that a task is about."""
    return task_id.split(_SLOT, maxsplit=1)[0]


@dataclass(frozen=True)
class Waiting:
    """A revision that waits for people.

    `needed` is how many more of them are asked, `opinions` their verdicts of this round, oldest first, and `at_work`
    who holds a lease on it (task id to user id).
    """

    item_id: str
    item: str
    revision_id: str
    round: int
    since: datetime
    needed: int
    opinions: tuple[Verdict, ...] = ()
    at_work: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_disputed(self) -> bool:
        """Whether people decided differently, or could not decide."""
        return len(self.opinions) > 1

    @property
    def waits_for_maintainer(self) -> bool:
        """Whether no reviewer can settle it any more."""
        return self.needed == 0

    @property
    def free_slots(self) -> list[str]:
        """Task ids that somebody can take now; as many people may be at work as are needed."""
        slots = [task_id_of(self.revision_id, str(number)) for number in range(1, self.needed + 1)]
        free = max(0, self.needed - len(self.at_work))
        # One below a slot that is still held can be free, and nobody is needed on it any more.
        return [slot for slot in slots if slot not in self.at_work][:free]


def waiting_for_review(session: Session, clock: Clock = utc_now, item_id: str | None = None) -> list[Waiting]:
    """Revisions that wait for round 3 (only that item's, if one is named), those in dispute first, the oldest first.

    A dispute is as old as the last verdict in it; other revisions wait since they were written.
    """
    found = _standing(session, 3, REVIEW, clock, item_id, reviewers_needed(()))
    for place, one in enumerate(found):
        if one.opinions:  # few have: thousands may wait
            found[place] = replace(
                one,
                since=max((opinion.created_at for opinion in one.opinions[1:]), default=one.since),
                needed=reviewers_needed([opinion.decision for opinion in one.opinions]),
            )
    return sorted(found, key=lambda one: (not one.is_disputed, one.since, one.revision_id))


def open_cases(session: Session, clock: Clock = utc_now, item_id: str | None = None) -> list[Waiting]:
    """Revisions that the check of round 1 or 2 left open, the oldest first; one person decides each."""
    found: list[Waiting] = []
    for number in (1, 2):
        left_open = _left_open(session, number, item_id)
        found += [
            replace(one, since=left_open[one.revision_id])
            for one in _standing(session, number, OPEN_CASE, clock, item_id)
            if one.revision_id in left_open
        ]
    return sorted(found, key=lambda one: (one.since, one.revision_id))


def cases_seen(session: Session, user: User) -> set[str]:
    """Revisions that somebody took as an open case, decided or not: they were shown the key, and answer none blind."""
    taken = select(Assignment.task_id).where(Assignment.user_id == user.id, Assignment.task_kind == OPEN_CASE)
    return set(map(revision_of, session.exec(taken)))


def last_leases(session: Session, user: User, kind: str) -> dict[str, AssignmentState]:
    """How each revision's last lease of somebody's stands; one that ran out is live until somebody's next look."""
    query = select(Assignment.task_id, Assignment.state).where(
        Assignment.user_id == user.id, Assignment.task_kind == kind
    )
    held = session.exec(query.order_by(col(Assignment.taken_at), col(Assignment.id)))
    return {revision_of(task_id): AssignmentState(state) for task_id, state in held}


def turn(lease: AssignmentState | None) -> int:
    """Of tasks the turn by the last lease: first what ran out, then what was never theirs, last what they gave back."""
    return {None: 1, AssignmentState.RELEASED: 2}.get(lease, 0)


def _left_open(session: Session, number: int, item_id: str | None) -> dict[str, datetime]:
    """Revisions whose last verdict by a check is `unknown`, with its moment."""
    query = (
        select(Verdict.revision_id, Verdict.decision, Verdict.created_at)
        .where(Verdict.round == number, col(Verdict.by_person).is_(False))
        .where(col(Verdict.revision_id).in_(_revisions_before(number, item_id)))
        .order_by(col(Verdict.created_at), col(Verdict.id))
    )
    last = {revision_id: (decision, moment) for revision_id, decision, moment in session.exec(query)}
    return {key: moment for key, (decision, moment) in last.items() if decision is Decision.UNKNOWN}


def _revisions_before(number: int, item_id: str | None) -> SelectOfScalar[str | None]:
    """The current ones that stand before a round; only that item's, if one is named."""
    query = select(col(Item.current_revision_id)).where(Item.state == ROUND_NEEDS[number])
    return query if item_id is None else query.where(Item.id == item_id)


def _standing(
    session: Session, number: int, kind: str, clock: Clock, item_id: str | None, needed: int = 1
) -> list[Waiting]:
    """Current revisions before a round, with people's verdicts and live leases; each as if it `needed` so many."""
    rows = (
        select(Item.id, Item.name, ItemRevision.id, ItemRevision.created_at)
        .join(ItemRevision, col(Item.current_revision_id) == col(ItemRevision.id))
        .where(Item.state == ROUND_NEEDS[number])
    )
    given = (
        select(Verdict)
        .where(Verdict.round == number, col(Verdict.by_person).is_(True))
        .where(col(Verdict.revision_id).in_(_revisions_before(number, item_id)))
        .order_by(col(Verdict.created_at), col(Verdict.id))
    )
    held = select(Assignment.task_id, Assignment.user_id).where(
        Assignment.task_kind == kind, Assignment.state == AssignmentState.LIVE, col(Assignment.expires_at) > clock()
    )
    if item_id is not None:
        rows = rows.where(Item.id == item_id)
    opinions: dict[str, tuple[Verdict, ...]] = defaultdict(tuple)
    for verdict in session.exec(given):
        opinions[verdict.revision_id] += (verdict,)
    at_work: dict[str, dict[str, str]] = defaultdict(dict)
    for task_id, user_id in session.exec(held):
        at_work[revision_of(task_id)][task_id] = user_id
    return [
        Waiting(item, name, revision_id, number, written, needed, opinions[revision_id], at_work[revision_id])
        for item, name, revision_id, written in session.exec(rows)
    ]
