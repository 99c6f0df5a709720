"""What reviewers cannot settle, as the maintainer sees it who decides."""

from datetime import datetime

from sqlmodel import Session, col, select

from core.content import Frozen
from core.ids import Clock, utc_now
from qc.review.blind import Background, OwnAnswer, answers_of, background_of
from qc.review.verdicts import NotStuck
from qc.review.waiting import Waiting, waiting_for_review
from warehouse.people import Role, get_user, require_role
from warehouse.tables import Decision, ItemRevision, Review, User, Verdict
from warehouse.verdicts import judged_revisions, own_items


class GivenOpinion(Frozen):
    """What one reviewer decided, and answered before; a verdict from elsewhere comes without answers."""

    reviewer: str
    decision: Decision
    reason_codes: tuple[str, ...]
    comment: str | None
    given_at: datetime
    answers: tuple[OwnAnswer, ...]
    suggested_edit: dict[str, str]


class DisputeView(Frozen):
    """Everything about an item that waits for a maintainer."""

    item: str
    revision_id: str
    background: Background
    opinions: tuple[GivenOpinion, ...]


def disputes(session: Session, maintainer: str, clock: Clock = utc_now) -> list[Waiting]:
    """Items that this maintainer can decide, the longest-waiting first: never their own, or one that they judged.

    Raises:
        UnknownName: No such user.
        NotAllowed: Not a maintainer, or not active.
    """
    user = _maintainer(session, maintainer)
    own = set(session.exec(own_items(session, user.name)))
    judged = set(session.exec(judged_revisions(session, user.name)))
    waiting = [one for one in waiting_for_review(session, clock) if one.waits_for_maintainer]
    return [one for one in waiting if one.item_id not in own and one.revision_id not in judged]


def open_dispute(session: Session, item_name: str, maintainer: str, clock: Clock = utc_now) -> DisputeView:
    """What the maintainer sees who decides. Only reads.

    Raises:
        UnknownName: No such user.
        NotAllowed: Not a maintainer, or not active.
        NotStuck: It waits for no decision, or not for this person's.
    """
    found = next((one for one in disputes(session, maintainer, clock) if one.item == item_name), None)
    if found is None:
        raise NotStuck(f"item {item_name!r} needs no decision of {maintainer}'s; 'qc review waiting' lists what waits")
    revision = session.get_one(ItemRevision, found.revision_id)
    query = select(Review).where(Review.revision_id == revision.id, col(Review.verdict_id).is_not(None))
    by_verdict = {review.verdict_id: review for review in session.exec(query)}
    return DisputeView(
        item=found.item,
        revision_id=revision.id,
        background=Background(**background_of(session, revision)),
        opinions=tuple(_opinion(verdict, by_verdict.get(verdict.id)) for verdict in found.opinions),
    )


def _opinion(verdict: Verdict, review: Review | None) -> GivenOpinion:
    return GivenOpinion(
        reviewer=verdict.decider,
        decision=verdict.decision,
        reason_codes=tuple(verdict.reason_codes),
        comment=verdict.comment,
        given_at=verdict.created_at,
        answers=() if review is None else answers_of(review),
        suggested_edit={} if review is None else review.suggested_edit,
    )


def _maintainer(session: Session, name: str) -> User:
    user = get_user(session, name)
    require_role(user, Role.MAINTAINER)
    return user
