"""Verdicts by people: in round 3, and wherever a check could not decide."""

from collections import Counter
from collections.abc import Sequence

from sqlmodel import Session

from core.errors import InterplayError
from core.ids import Clock, utc_now
from qc.reasons import reason
from warehouse.items import current_revision, get_item
from warehouse.lifecycle import ReasonMissing, lock_item
from warehouse.people import Role, get_user, require_role
from warehouse.tables import Decision, Item, Verdict
from warehouse.verdicts import ROUND_NEEDS, AlreadyJudged, Judgement, record_verdict, settle_round, verdicts_on

# Two reviewers who agree settle round 3; a third decides between two who do not (UNO-Bench 3.1.4).
REVIEWERS_TO_SETTLE = 2
REVIEWERS_AT_MOST = 3


class NeedlessReason(InterplayError):
    """Reasons against an item that is to pass."""


class NotLeftOpen(InterplayError):
    """A person was to pass an item through a round that no check of that round left open."""


class NotStuck(InterplayError):
    """A maintainer was to decide what reviewers can still settle, or what waits for no decision."""


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

    In rounds 1 and 2 a person decides what the check left open, alone; to return or reject an item, they need no check.

    Raises:
        UnknownName: No such item, user or reason code.
        NotAllowed: Not a reviewer, or not active.
        OwnItem, WrongRound, NotLeftOpen, AlreadyJudged: As they say.
        ReasonMissing: A return or rejection without a reason code.
    """
    require_role(get_user(session, reviewer), Role.REVIEWER)
    codes = checked_codes(item_name, decision, reason_codes)
    item = get_item(session, item_name)
    revision = current_revision(session, item)
    judgement = Judgement(round_number, reviewer, True, decision, codes, comment=comment)
    verdict = record_verdict(session, revision, judgement, clock)
    session.flush()
    given = verdicts_on(session, revision.id, round_number)
    if round_number != 3 and decision is Decision.PASS and not _is_left_open(given):
        raise NotLeftOpen(
            f"item {item.name!r}: the check of round {round_number} left nothing open that a person could pass; "
            f"run it with 'interplay qc run --round {round_number}'"
        )
    settled = _settling(given) if round_number == 3 else verdict
    # The same verdict given twice finds its round settled already, which is no mistake.
    if settled is not None and item.state is ROUND_NEEDS[round_number]:
        item = settle_round(session, revision, settled, clock)
    return verdict, item


def adjudicate(
    session: Session,
    item_name: str,
    maintainer: str,
    decision: Decision,
    reason_codes: Sequence[str] = (),
    comment: str | None = None,
    clock: Clock = utc_now,
) -> tuple[Verdict, Item]:
    """Decide round 3 of an item whose reviewers cannot settle it any more.

    Raises:
        UnknownName: No such item, user or reason code.
        NotAllowed: Not a maintainer, or not active.
        NotStuck: The item waits for reviewers, or not for round 3 at all; or the decision is `unknown`.
        OwnItem: The maintainer had a hand in the item.
        AlreadyJudged: The maintainer is one of the reviewers.
        ReasonMissing: A return or rejection without a reason code.
    """
    user = get_user(session, maintainer)
    require_role(user, Role.MAINTAINER)
    item = lock_item(session, get_item(session, item_name).id)
    revision = current_revision(session, item)
    given = [verdict for verdict in verdicts_on(session, revision.id, 3) if verdict.by_person]
    if item.state is not ROUND_NEEDS[3] or reviewers_needed([verdict.decision for verdict in given]):
        raise NotStuck(f"item {item.name!r} needs no maintainer's decision; 'qc review waiting' lists those that do")
    if decision is Decision.UNKNOWN:
        raise NotStuck(f"item {item.name!r}: 'unknown' decides nothing; choose pass, return or reject")
    if {user.id, user.name} & {verdict.decider for verdict in given}:
        raise AlreadyJudged(
            f"{maintainer} is one of the reviewers of item {item.name!r}; another maintainer must decide"
        )
    codes = checked_codes(item.name, decision, reason_codes)
    evidence = {"adjudicates": [verdict.id for verdict in given]}
    judgement = Judgement(3, maintainer, True, decision, codes, evidence, comment)
    verdict = record_verdict(session, revision, judgement, clock)
    session.flush()
    return verdict, settle_round(session, revision, verdict, clock)


def checked_codes(item_name: str, decision: Decision, reason_codes: Sequence[str]) -> list[str]:
    """The reason codes of a decision, known ones, and at least one where the author must be told why.

    Raises:
        UnknownName, ReasonMissing, NeedlessReason: As they say.
    """
    codes = [reason(code).code for code in reason_codes]
    if decision is Decision.PASS and codes:
        raise NeedlessReason(
            f"item {item_name!r}: to pass it and to say {', '.join(codes)} contradict each other; return it, or write "
            "a comment instead"
        )
    if decision in (Decision.RETURN, Decision.REJECT) and not codes:
        raise ReasonMissing(f"item {item_name!r}: to {decision.value} it, give a reason code; 'qc reasons' lists them")
    return codes


def reviewers_needed(decisions: Sequence[Decision]) -> int:
    """How many more reviewers round 3 asks, given what people decided on the revision.

    As many as can settle it at best, and none where that takes more than a third: then a maintainer decides. Who cannot
    decide (`unknown`) was asked, but has no vote.
    """
    votes = Counter(decision for decision in decisions if decision is not Decision.UNKNOWN)
    missing = REVIEWERS_TO_SETTLE - max(votes.values(), default=0)
    return missing if 0 < missing <= REVIEWERS_AT_MOST - len(decisions) else 0


def _is_left_open(verdicts: Sequence[Verdict]) -> bool:
    """Whether the last word of a check in a round is `unknown`."""
    by_checks = [verdict.decision for verdict in verdicts if not verdict.by_person]
    return by_checks[-1:] == [Decision.UNKNOWN]


def _settling(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The verdict that the round ends with: the first decision that two people share."""
    people = [verdict for verdict in verdicts if verdict.by_person]
    for decision, count in Counter(verdict.decision for verdict in people).items():
        if count >= REVIEWERS_TO_SETTLE and decision is not Decision.UNKNOWN:
            return next(verdict for verdict in reversed(people) if verdict.decision == decision)
    return None
