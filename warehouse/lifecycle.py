"""The life of an item: one table of transitions, one function that walks it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sqlmodel import Session, col, select

from core.errors import InterplayError
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.guards import ADVANCING
from warehouse.tables import Item, ItemState

S = ItemState


class Action(StrEnum):
    """What can be done with an item."""

    SUBMIT = "submit"
    PASS_ROUND1 = "pass_round1"  # noqa: S105
    PASS_ROUND2 = "pass_round2"  # noqa: S105
    ACCEPT = "accept"
    RELEASE = "release"
    RETIRE = "retire"
    RETURN = "return"
    REJECT = "reject"
    REVISE = "revise"
    REOPEN = "reopen"


_UNDER_REVIEW = (S.SUBMITTED, S.ROUND1_PASSED, S.ROUND2_PASSED, S.ACCEPTED)

TRANSITIONS: dict[tuple[ItemState, Action], ItemState] = {
    (S.DRAFT, Action.SUBMIT): S.SUBMITTED,
    (S.SUBMITTED, Action.PASS_ROUND1): S.ROUND1_PASSED,
    (S.ROUND1_PASSED, Action.PASS_ROUND2): S.ROUND2_PASSED,
    (S.ROUND2_PASSED, Action.ACCEPT): S.ACCEPTED,
    (S.ACCEPTED, Action.RELEASE): S.RELEASED,
    (S.ACCEPTED, Action.RETIRE): S.RETIRED,
    (S.RELEASED, Action.RETIRE): S.RETIRED,
    # A released item that goes into the next release as it is.
    (S.RELEASED, Action.RELEASE): S.RELEASED,
    **{(state, Action.RETURN): S.RETURNED for state in _UNDER_REVIEW},
    **{(state, Action.REJECT): S.REJECTED for state in (*_UNDER_REVIEW, S.RETURNED)},
    # Verdicts bind to a revision, so a new one starts the rounds again.
    (S.DRAFT, Action.REVISE): S.DRAFT,
    **{(state, Action.REVISE): S.SUBMITTED for state in (*_UNDER_REVIEW, S.RETURNED, S.RELEASED)},
    # A person overrules a rejection.
    (S.REJECTED, Action.REOPEN): S.DRAFT,
}
_NEEDS_REASON = {Action.RETURN, Action.REJECT, Action.RETIRE}


class UnknownItem(InterplayError):
    """No item has this id or name."""


class ImpossibleAction(InterplayError):
    """An action that the item's state does not allow."""


class StaleVersion(InterplayError):
    """Somebody else changed the item since it was read."""


class ReasonMissing(InterplayError):
    """An action that must say why."""


@dataclass(frozen=True)
class Advance:
    """A step to take: `reason_codes` are needed to return, reject or retire."""

    action: Action
    actor: str
    reason_codes: tuple[str, ...] = ()
    revision_id: str | None = None


def possible_actions(state: ItemState) -> list[Action]:
    """What the state allows, in the order of `Action`."""
    return [action for action in Action if (state, action) in TRANSITIONS]


def advance(session: Session, item_id: str, expected_version: int, step: Advance, clock: Clock = utc_now) -> Item:
    """Take one step in an item's life and append its event, in the caller's transaction: the only writer of `state`.

    Raises:
        UnknownItem: No such item.
        StaleVersion: Its version is not `expected_version`.
        ImpossibleAction: Its state does not allow the action; the text lists those that it allows.
        ReasonMissing: The action needs a reason code.
    """
    item = lock_item(session, item_id)
    _take(session, [(item, _target(item, expected_version, step))], step, clock)
    return item


def advance_all(session: Session, versions: Mapping[str, int], step: Advance, clock: Clock = utc_now) -> None:
    """The same step for many items, by id with the expected version, in few statements and in the order given.

    There may be as many as a statement takes (`warehouse.database.portions`).

    Raises:
        UnknownItem, StaleVersion, ImpossibleAction, ReasonMissing: As `advance`; nothing is changed then.
    """
    # In the order of ids, so that two such calls wait for each other and never deadlock.
    query = select(Item).where(col(Item.id).in_(list(versions))).order_by(col(Item.id)).with_for_update()
    found = {item.id: item for item in session.exec(query, execution_options={"populate_existing": True})}
    missing = next((id_ for id_ in versions if id_ not in found), None)
    if missing is not None:
        raise _unknown(missing)
    targets = [(found[id_], _target(found[id_], version, step)) for id_, version in versions.items()]
    _take(session, targets, step, clock)


def lock_item(session: Session, item_id: str) -> Item:
    """The item as it stands now, which nobody else can change before the caller's transaction ends.

    Raises:
        UnknownItem: No such item.
    """
    # Without populate_existing an item that the session read earlier would keep its old version on PostgreSQL.
    item = session.get(Item, item_id, with_for_update=True, populate_existing=True)
    if item is None:
        raise _unknown(item_id)
    return item


def target_state(item: Item, expected_version: int, action: Action) -> ItemState:
    """The state that the action would lead to.

    Raises:
        StaleVersion, ImpossibleAction: As `advance`.
    """
    if item.version != expected_version:
        raise StaleVersion(
            f"item {item.name!r} was changed meanwhile (version {item.version}, expected {expected_version}); "
            "reload it and decide again"
        )
    target = TRANSITIONS.get((item.state, action))
    if target is None:
        allowed = ", ".join(possible.value for possible in possible_actions(item.state)) or "nothing"
        raise ImpossibleAction(f"item {item.name!r} is {item.state.value}: cannot {action.value}; possible: {allowed}")
    return target


def _unknown(item_id: str) -> UnknownItem:
    return UnknownItem(f"no item has the id {item_id!r}; 'interplay item list' shows them")


def _target(item: Item, expected_version: int, step: Advance) -> ItemState:
    target = target_state(item, expected_version, step.action)
    if step.action in _NEEDS_REASON and not step.reason_codes:
        raise ReasonMissing(f"item {item.name!r}: {step.action.value} needs a reason code")
    return target


def _take(session: Session, targets: list[tuple[Item, ItemState]], step: Advance, clock: Clock) -> None:
    session.info[ADVANCING] = {item.id for item, _ in targets}
    try:
        for item, target in targets:
            before, item.state = item.state, target
            item.version += 1
            if step.revision_id is not None:
                item.current_revision_id = step.revision_id
            _record(session, item, before, step, clock)
        session.flush()
    finally:
        session.info[ADVANCING] = ()


def _record(session: Session, item: Item, before: ItemState, step: Advance, clock: Clock) -> None:
    events.record(
        session,
        step.actor,
        "item",
        item.id,
        step.action.value,
        clock,
        before=before.value,
        after=item.state.value,
        version=item.version,
        revision_id=item.current_revision_id,
        reason_codes=list(step.reason_codes),
    )
