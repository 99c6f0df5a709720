"""Round 3, and wherever a check could not decide: people's verdicts."""

from collections import Counter
from collections.abc import Sequence

from sqlmodel import Session

from core.ids import Clock, utc_now
from qc.reasons import reason
from warehouse.items import current_revision, get_item
from warehouse.lifecycle import ReasonMissing
from warehouse.people import Role, get_user, require_role
from warehouse.tables import Decision, Item, Verdict
from warehouse.verdicts import ROUND_NEEDS, Judgement, record_verdict, settle_round, verdicts_on

# Two reviewers who agree settle round 3; a third decides between two who do not (UNO-Bench 3.1.4).
REVIEWERS_TO_SETTLE = 2


def give_verdict(
    session: Session,
    item_name: str,
    round_number: int,
    reviewer: str,
    decision: Decision,
    reason_codes: Sequence[str] = (),
    comment: str | None = None,
    clock: Clock = utc_now,
) -> tuple[Verdict, Item]:
    """Store a reviewer's verdict on an item's current revision and, when it settles the round, move the item.

    In rounds 1 and 2 a person decides what the check left open, alone.

    Raises:
        UnknownName: No such item, user or reason code.
        NotAllowed: Not a reviewer, or not active.
        OwnItem, WrongRound: As they say.
        ReasonMissing: A return or rejection without a reason code.
    """
    require_role(get_user(session, reviewer), Role.REVIEWER)
    codes = [reason(code).code for code in reason_codes]
    item = get_item(session, item_name)
    if decision in (Decision.RETURN, Decision.REJECT) and not codes:
        raise ReasonMissing(f"item {item.name!r}: to {decision.value} it, give a reason code; 'qc reasons' lists them")
    revision = current_revision(session, item)
    judgement = Judgement(round_number, reviewer, True, decision, codes, comment=comment)
    verdict = record_verdict(session, revision, judgement, clock)
    session.flush()
    settled = _settling(verdicts_on(session, revision.id, round_number)) if round_number == 3 else verdict
    # The same verdict given twice finds its round settled already, which is no mistake.
    if settled is not None and item.state is ROUND_NEEDS[round_number]:
        item = settle_round(session, revision, settled, clock)
    return verdict, item


def _settling(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The verdict that the round ends with: the first decision that two people share."""
    people = [verdict for verdict in verdicts if verdict.by_person]
    for decision, count in Counter(verdict.decision for verdict in people).items():
        if count >= REVIEWERS_TO_SETTLE and decision is not Decision.UNKNOWN:
            return next(verdict for verdict in reversed(people) if verdict.decision == decision)
    return None
