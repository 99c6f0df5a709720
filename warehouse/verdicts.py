"""Verdicts on revisions, and the step in the item's life that each one takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from core.errors import InterplayError
from core.ids import Clock, utc_now
from core.provenance import content_hash
from warehouse import events
from warehouse.lifecycle import Action, Advance, advance, lock_item
from warehouse.tables import Decision, DraftVersion, Item, ItemDraft, ItemRevision, ItemState, User, Verdict

ROUND_NEEDS = {1: ItemState.SUBMITTED, 2: ItemState.ROUND1_PASSED, 3: ItemState.ROUND2_PASSED}
_PASS_ACTION = {1: Action.PASS_ROUND1, 2: Action.PASS_ROUND2, 3: Action.ACCEPT}


class WrongRound(InterplayError):
    """A verdict for a round that the item is not in."""


class OldRevision(InterplayError):
    """A verdict on a revision that has been replaced."""


class AlreadyJudged(InterplayError):
    """Somebody judged a revision twice in one round, and differently."""


class OwnItem(InterplayError):
    """Somebody judged an item that they made, or wrote any revision of."""


@dataclass(frozen=True)
class Judgement:
    """What somebody or some check decided about one revision in one round; `decider` is a user or `name@version`."""

    round: int
    decider: str
    by_person: bool
    decision: Decision
    reason_codes: Sequence[str] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    comment: str | None = None
    run_id: str | None = None


def record_verdict(session: Session, revision: ItemRevision, judgement: Judgement, clock: Clock = utc_now) -> Verdict:
    """Store a verdict without moving the item; the same judgement twice is stored once.

    Raises:
        WrongRound, OldRevision, OwnItem, AlreadyJudged: As they say.
    """
    key = _idempotency_key(revision, judgement)
    item = lock_item(session, revision.item_id)
    known = session.exec(select(Verdict).where(Verdict.idempotency_key == key)).first()
    if known is not None:
        if (known.decision, known.reason_codes) != (judgement.decision, list(judgement.reason_codes)):
            raise AlreadyJudged(
                f"{judgement.decider} already judged item {item.name!r}, revision {revision.number}, in round "
                f"{judgement.round}: {known.decision.value}; somebody else, or a new revision, can change that"
            )
        return known
    _check_place(item, revision, judgement.round)
    if judgement.by_person and session.exec(own_items(session, judgement.decider).where(Item.id == item.id)).first():
        raise OwnItem(f"{judgement.decider} wrote item {item.name!r}; somebody else must judge it")
    verdict = Verdict(
        revision_id=revision.id,
        round=judgement.round,
        by_person=judgement.by_person,
        decider=judgement.decider,
        decision=judgement.decision,
        reason_codes=list(judgement.reason_codes),
        evidence=dict(judgement.evidence),
        comment=judgement.comment,
        idempotency_key=key,
        run_id=judgement.run_id,
        created_at=clock(),
    )
    session.add(verdict)
    events.record(
        session, judgement.decider, "item", item.id, f"verdict_round{judgement.round}", clock,
        decision=judgement.decision.value, revision_id=revision.id, reason_codes=list(judgement.reason_codes),
    )  # fmt: skip
    return verdict


def settle_round(session: Session, revision: ItemRevision, verdict: Verdict, clock: Clock = utc_now) -> Item:
    """Take the step that a deciding verdict stands for: on to the next round, back to the author, or out.

    A verdict of `unknown` moves nothing.

    Raises:
        WrongRound, OldRevision: The item went on since the verdict was given.
    """
    item = lock_item(session, revision.item_id)
    action = {
        Decision.PASS: _PASS_ACTION[verdict.round],
        Decision.RETURN: Action.RETURN,
        Decision.REJECT: Action.REJECT,
        Decision.UNKNOWN: None,
    }[verdict.decision]
    if action is None:
        return item
    _check_place(item, revision, verdict.round)
    step = Advance(action, verdict.decider, tuple(verdict.reason_codes), revision.id)
    return advance(session, item.id, item.version, step, clock)


def _check_place(item: Item, revision: ItemRevision, round_number: int) -> None:
    if item.current_revision_id != revision.id:
        raise OldRevision(f"item {item.name!r} has a newer revision than number {revision.number}; judge that one")
    if item.state != ROUND_NEEDS[round_number]:
        raise WrongRound(
            f"item {item.name!r} is {item.state.value}; round {round_number} judges items that are "
            f"{ROUND_NEEDS[round_number].value}"
        )


def verdicts_on(session: Session, revision_id: str, round_number: int | None = None) -> list[Verdict]:
    """Verdicts on one revision, oldest first."""
    query = select(Verdict).where(Verdict.revision_id == revision_id)
    if round_number is not None:
        query = query.where(Verdict.round == round_number)
    return list(session.exec(query.order_by(col(Verdict.created_at), col(Verdict.id))))


def own_items(session: Session, person: str) -> SelectOfScalar[str]:
    """Ids of the items that somebody had a hand in: a small change by somebody else makes an item no less theirs."""
    names = names_of(session, person)
    wrote = select(ItemRevision.item_id).where(col(ItemRevision.author).in_(names))
    handed_in = ItemDraft.closed_as == "submitted"
    saved = select(ItemDraft.item_id).where(handed_in, col(ItemDraft.saved_by).in_(names))
    helped = select(ItemDraft.item_id).join(DraftVersion).where(handed_in, col(DraftVersion.saved_by).in_(names))
    ids = col(Item.id)
    return select(Item.id).where(
        col(Item.created_by).in_(names)
        | ids.in_(wrote)
        | ids.in_(saved)
        | ids.in_(helped.where(~col(DraftVersion.is_aside)))
    )


def judged_revisions(session: Session, person: str) -> SelectOfScalar[str]:
    """Ids of the revisions on which somebody gave a verdict, in any round: they know the answer."""
    return select(Verdict.revision_id).where(
        col(Verdict.by_person), col(Verdict.decider).in_(names_of(session, person))
    )


def names_of(session: Session, person: str) -> set[str]:
    """A person as files (by sign-in name) and the studio (by user id) call them."""
    users = session.exec(select(User).where((col(User.name) == person) | (col(User.id) == person)))
    return {person, *(name for user in users for name in (user.id, user.name))}


def _idempotency_key(revision: ItemRevision, judgement: Judgement) -> str:
    # A person speaks once a round on a revision; a check speaks again when its evidence is new.
    said = (
        None
        if judgement.by_person
        else [judgement.decision.value, list(judgement.reason_codes), dict(judgement.evidence)]
    )
    return content_hash([revision.id, judgement.round, judgement.decider, said])
