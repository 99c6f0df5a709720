"""What a reviewer decides, and how it is handed in with the lease."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field
from sqlmodel import Session, select

from core.content import Frozen
from core.errors import UnknownName
from core.ids import Clock, utc_now
from core.question import Question, choice_label
from qc.review.blind import Stage, WrongStage, stage_of
from qc.review.places import case_place, review_place
from qc.review.verdicts import checked_codes, give_verdict
from warehouse import events
from warehouse.assignments import finish
from warehouse.tables import AssignmentState, Decision, Item, Review, Verdict


class Comment(Frozen):
    """Words about one part of a question; `parts_of` lists the parts."""

    part: str
    text: str = Field(min_length=1)


class Opinion(Frozen):
    """A decision with its reasons, comments, and texts that the reviewer suggests for parts of the question."""

    decision: Decision
    reason_codes: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()
    suggested_edit: Mapping[str, str] = {}

    @property
    def words(self) -> str | None:
        """The comments as the author reads them with the verdict."""
        return "\n".join(f"{comment.part}: {comment.text}" for comment in self.comments) or None


def give_review(
    session: Session, assignment_id: str, reviewer: str, opinion: Opinion, clock: Clock = utc_now
) -> Review:
    """Finish a review: store the opinion, end the lease, give the verdict of round 3; all or nothing.

    The same opinion handed in again changes nothing. A review of a gold item gives no verdict and moves nothing; what
    is drawn for the reviewer must show neither `is_gold` and `verdict_id` nor the item's state.

    Raises:
        UnknownName: No such user, reason code or part of the question.
        NotAllowed: Not a reviewer, or not active.
        LeaseLost: The lease is not the reviewer's any more.
        ReviewEnded: A new revision, or a decision, came meanwhile.
        WrongStage: The question is not answered yet.
        ReasonMissing: A return or rejection without a reason code.
        AlreadyJudged: The reviewer gave another verdict elsewhere.
    """
    stored = _stored(opinion)
    done = session.exec(select(Review).where(Review.assignment_id == assignment_id)).first()
    is_mine = done is not None and done.finished_at is not None and done.reviewer == reviewer
    if done is not None and is_mine and stored.items() <= done.model_dump().items():
        return done
    place = review_place(session, assignment_id, reviewer, clock, lock=True)
    if stage_of(place.review) is not Stage.VERDICT:
        raise WrongStage(f"item {place.item.name!r}: answer the question before you judge it")
    codes = checked_codes(place.item.name, opinion.decision, opinion.reason_codes)
    _check_parts(place.question, opinion)
    finish(session, assignment_id, place.user.id, AssignmentState.DONE, clock)
    review = place.review
    for name, value in stored.items():
        setattr(review, name, value)
    review.finished_at = clock()
    if not review.is_gold:
        verdict, _ = give_verdict(session, place.item.name, 3, reviewer, opinion.decision, codes, opinion.words, clock)
        review.verdict_id = verdict.id
    session.add(review)
    events.record(session, reviewer, "review", review.id, "finish", clock, decision=opinion.decision.value)
    session.flush()
    return review


def decide_case(
    session: Session, assignment_id: str, reviewer: str, opinion: Opinion, clock: Clock = utc_now
) -> tuple[Verdict, Item]:
    """Decide what the check of round 1 or 2 left open, and end the lease; the item moves at once.

    Raises:
        UnknownName: No such user, reason code or part of the question.
        NotAllowed: Not a reviewer, or not active.
        LeaseLost: The lease is not the reviewer's any more.
        ReviewEnded: A new revision, or a decision, came meanwhile.
        ReasonMissing: A return or rejection without a reason code.
    """
    place, number = case_place(session, assignment_id, reviewer, clock, lock=True)
    _check_parts(place.question, opinion)
    finish(session, assignment_id, place.user.id, AssignmentState.DONE, clock)
    return give_verdict(
        session, place.item.name, number, reviewer, opinion.decision, opinion.reason_codes, opinion.words, clock
    )


def parts_of(question: Question) -> tuple[str, ...]:
    """What comments and suggested edits can be about, in reading order."""
    return (
        "prompt",
        *(part.name for part in question.media),
        *(f"choice {choice_label(place)}" for place in range(len(question.choices))),
        *(f"step {number}" for number in range(1, len(question.steps) + 1)),
        "answer",
    )


def _check_parts(question: Question, opinion: Opinion) -> None:
    parts = parts_of(question)
    for named in (*(comment.part for comment in opinion.comments), *opinion.suggested_edit):
        if named not in parts:
            raise UnknownName("part of the question", named, parts)


def _stored(opinion: Opinion) -> dict[str, Any]:
    document = opinion.model_dump(mode="json")
    return {name: document[name] for name in ("decision", "reason_codes", "comments", "suggested_edit")}
