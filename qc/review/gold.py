"""Gold items: revisions whose right verdict is known, given to reviewers among their own to measure attention."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import func
from sqlmodel import Session, col, select

from core.content import Frozen
from core.errors import InterplayError
from core.ids import Clock, utc_now
from core.provenance import content_hash
from evaluation.metrics import wilson
from qc.review.verdicts import checked_codes
from qc.review.waiting import REVIEW, cases_seen, last_leases, turn
from warehouse import events
from warehouse.items import current_revision, find_item, get_item
from warehouse.people import Role, get_user, require_role
from warehouse.tables import AssignmentState, Decision, GoldItem, Item, ItemRevision, ItemState, Review, User
from warehouse.verdicts import judged_revisions, own_items, verdicts_on

# Every so many tasks of a reviewer one is gold.
GOLD_EVERY = 10
_DECIDED = (ItemState.ACCEPTED, ItemState.REJECTED, ItemState.RELEASED)
_STOPS = (Decision.RETURN, Decision.REJECT)


class NotDecided(InterplayError):
    """An item was to become gold whose right verdict is not known."""


class GoldExists(InterplayError):
    """A revision is gold already."""


class NotGold(InterplayError):
    """A revision was to be gold no more that is none."""


class GoldDue(NamedTuple):
    """The revision that is a reviewer's next task, and whether they gave it back before."""

    revision_id: str
    is_given_back: bool


class GoldScore(Frozen):
    """How many gold items a reviewer judged rightly, with Wilson's 95% interval of the share."""

    reviewer: str
    right: int
    given: int
    low: float
    high: float


def add_gold(
    session: Session,
    name: str,
    decision: Decision,
    reason_codes: Sequence[str] = (),
    *,
    by: str,
    note: str | None = None,
    clock: Clock = utc_now,
) -> GoldItem:
    """Make an item's current revision, or the revision of that id, gold; of `reason_codes` a reviewer must give one.

    A retired one becomes gold again, with the new decision.

    Raises:
        UnknownName: No such item, user or reason code.
        NotAllowed: Not a maintainer, or not active.
        NotDecided: The item is not accepted, rejected or released, or was stopped before round 3; or the decision is
            `unknown`.
        GoldExists: It is gold already.
    """
    require_role(get_user(session, by), Role.MAINTAINER)
    item, revision = _revision_named(session, name)
    if item.state not in _DECIDED or decision is Decision.UNKNOWN:
        states = ", ".join(state.value for state in _DECIDED)
        raise NotDecided(f"gold needs a known verdict on an item that is {states}; {item.name!r} is {item.state.value}")
    if any(one.round < 3 and one.decision in _STOPS for one in verdicts_on(session, revision.id)):
        # Reviewers are shown the verdicts of rounds 1 and 2, and one that stopped the item would give gold away.
        raise NotDecided(f"item {item.name!r} was stopped before round 3, which reviewers would see; choose another")
    known = session.get(GoldItem, revision.id)
    if known is not None and known.active:
        raise GoldExists(f"item {item.name!r} is gold already ({known.decision}); retire it first")
    gold = known or GoldItem(revision_id=revision.id, decision="", added_by=by)
    gold.decision, gold.note, gold.active = decision.value, note, True
    gold.reason_codes = checked_codes(item.name, decision, reason_codes) if reason_codes else []
    gold.added_by, gold.created_at = by, clock()
    session.add(gold)
    events.record(session, by, "gold_item", revision.id, "add", clock, item=item.name, decision=decision.value)
    session.flush()
    return gold


def retire_gold(session: Session, name: str, *, by: str, clock: Clock = utc_now) -> GoldItem:
    """Give a gold item to nobody any more; what it measured stays.

    Raises:
        UnknownName: No such user or item.
        NotAllowed: Not a maintainer, or not active.
        NotGold: It is not gold.
    """
    require_role(get_user(session, by), Role.MAINTAINER)
    _, revision = _revision_named(session, name)
    gold = session.get(GoldItem, revision.id)
    if gold is None or not gold.active:
        raise NotGold(f"{name!r} is not gold; 'qc review gold list' shows what is")
    gold.active = False
    events.record(session, by, "gold_item", revision.id, "retire", clock)
    session.flush()
    return gold


def gold_items(session: Session, *, by: str) -> list[tuple[str, GoldItem]]:
    """All gold items with their items' names, for maintainers only.

    Raises:
        UnknownName: No such user.
        NotAllowed: Not a maintainer, or not active.
    """
    require_role(get_user(session, by), Role.MAINTAINER)
    query = (
        select(Item.name, GoldItem)
        .select_from(GoldItem)
        .join(ItemRevision, col(GoldItem.revision_id) == col(ItemRevision.id))
        .join(Item, col(ItemRevision.item_id) == col(Item.id))
    )
    return [(name, gold) for name, gold in session.exec(query.order_by(Item.name, col(GoldItem.revision_id)))]


def gold_score(session: Session) -> tuple[GoldScore, ...]:
    """How well each reviewer who judged gold items did, by name."""
    judged: dict[str, list[bool]] = defaultdict(list)
    for reviewer, is_right in judged_gold(session):
        judged[reviewer].append(is_right)
    return tuple(_score(reviewer, judged[reviewer]) for reviewer in sorted(judged))


def judged_gold(session: Session) -> list[tuple[str, bool]]:
    """Who decided on gold items, oldest first, and whether rightly: as is known, and for one of the known reasons."""
    query = (
        select(Review, GoldItem)
        .join(GoldItem, col(Review.revision_id) == col(GoldItem.revision_id))
        .where(col(Review.is_gold), col(Review.finished_at).is_not(None))
        .order_by(col(Review.finished_at), col(Review.id))
    )
    return [
        (
            review.reviewer,
            review.decision == gold.decision
            and (not gold.reason_codes or bool(set(gold.reason_codes) & set(review.reason_codes))),
        )
        for review, gold in session.exec(query)
    ]


def gold_due(session: Session, user: User, every: int = GOLD_EVERY) -> GoldDue | None:
    """What is the reviewer's next task, if that is to be gold: each `every`-th that they finish.

    Never of an item that they had a hand in, judged, or took as an open case, and never for a maintainer, who can list
    the gold items. One that they began comes first, one that they gave back last; else the order is theirs alone and
    always the same.
    """
    if Role.MAINTAINER in user.roles:
        return None
    finished = select(func.count()).select_from(Review).where(Review.reviewer == user.name)
    if (session.exec(finished.where(col(Review.finished_at).is_not(None))).one() + 1) % every:
        return None
    met = select(Review.revision_id).where(
        Review.reviewer == user.name, col(Review.finished_at).is_not(None) | col(Review.is_gold).is_(False)
    )
    known = select(ItemRevision.item_id).where(
        col(ItemRevision.id).in_(judged_revisions(session, user.name))
        | col(ItemRevision.id).in_(met)
        | col(ItemRevision.item_id).in_(own_items(session, user.name))
    )
    query = select(GoldItem.revision_id).join(ItemRevision).where(col(GoldItem.active))
    offered = set(session.exec(query.where(col(ItemRevision.item_id).not_in(known)))) - cases_seen(session, user)
    held = last_leases(session, user, REVIEW)
    first = min(offered, key=lambda one: (turn(held.get(one)), content_hash([one, user.name])), default=None)
    return None if first is None else GoldDue(first, held.get(first) is AssignmentState.RELEASED)


def _revision_named(session: Session, name: str) -> tuple[Item, ItemRevision]:
    revision = session.get(ItemRevision, name)
    if revision is not None and find_item(session, name) is None:
        return session.get_one(Item, revision.item_id), revision
    item = get_item(session, name)
    return item, current_revision(session, item)


def _score(reviewer: str, judged: list[bool]) -> GoldScore:
    low, high = wilson(sum(judged), len(judged))
    return GoldScore(reviewer=reviewer, right=sum(judged), given=len(judged), low=low, high=high)
