"""What reviewers and deciding maintainers do, with the mistakes that they can meet in their own language."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlmodel import Session, col, select

from annotation_ui.forms import once
from annotation_ui.permissions import Permission, Principal, authorize
from annotation_ui.told import Told, told_as
from annotation_ui.words import N_
from core.errors import InterplayError
from core.ids import Clock, utc_now
from qc.review import blind, disputes, opinions, queue, verdicts
from qc.review.blind import CaseView, ReviewView, Stage
from qc.review.disputes import DisputeView
from qc.review.opinions import Comment, Opinion
from qc.review.places import ReviewEnded
from qc.review.queue import Task
from qc.review.waiting import OPEN_CASE
from warehouse.assignments import LeaseLost
from warehouse.lifecycle import ReasonMissing
from warehouse.people import NotAllowed, Role
from warehouse.tables import Assignment, AssignmentState, Decision, Item, ItemRevision, Review
from warehouse.verdicts import AlreadyJudged, OldRevision, OwnItem, WrongRound

MOST_CHARACTERS = 4_000
MOST_REMARKS = 40
RECENT = 8

Fate = Literal["ran_out", "handed_in", "given_back"]


class NoReviewer(Told):
    """Who may see the page, but holds no reviewer's role."""

    text = N_("To review you need the role “reviewer”. A maintainer can give it to you.")


class TaskLost(Told):
    """Something was handed in on a lease that is no longer the reviewer's."""

    text = N_(
        "This task is no longer yours: its time ran out, or it was given back. Nothing was stored just now. "
        "Take it again to go on; what you typed stays here."
    )


class TaskEnded(Told):
    """The item went on while somebody was at work on it."""

    text = N_(
        "This question was decided or rewritten meanwhile, so your task is over. What you answered is kept. "
        "Take the next one."
    )


class NoAnswer(Told):
    """A stage that was to be answered with nothing."""

    text = N_("Give an answer first, or say that you cannot tell.")


class AnsweredBefore(Told):
    """Another answer of the same stage is stored."""

    text = N_("You answered this stage before, perhaps in another tab, and an answer is not changed.")


class OutOfDate(Told):
    """A page that shows another stage than the one that the review is in."""

    text = N_("This page is out of date. Reload it to see where the review stands.")


class NoDecision(Told):
    """A verdict without a decision."""

    text = N_("Choose what you decide first.")


class ReasonNeeded(Told):
    """A return or rejection without a reason."""

    text = N_("Give at least one reason, so that the author knows what to do.")


class ReasonNeedless(Told):
    """Reasons against an item that is to pass."""

    text = N_("Passing it and giving a reason against it contradict each other. Return it, or take the reasons away.")


class JudgedBefore(Told):
    """Somebody judged the same revision before, and differently."""

    text = N_("You judged this question before, and a verdict is not changed.")


class OwnWork(Told):
    """Somebody was to judge what they had a hand in."""

    text = N_("You had a hand in this question, so somebody else must judge it.")


class NoDispute(Told):
    """A maintainer was to decide what waits for nobody's decision."""

    text = N_("This question waits for no decision of yours any more.")


class TooMuch(Told):
    """Far more text than a comment holds."""

    text = N_("A text may have at most {count} characters.")


class TwoEdits(Told):
    """Two texts that are suggested for one part."""

    text = N_("You suggest two texts for the same part. Keep one of them.")


_TOLD: dict[type[InterplayError], type[Told]] = {
    NotAllowed: NoReviewer,
    LeaseLost: TaskLost,
    ReviewEnded: TaskEnded,
    WrongRound: TaskEnded,
    OldRevision: TaskEnded,
    blind.EmptyAnswer: NoAnswer,
    blind.NoSuchChoice: NoAnswer,
    blind.AlreadyAnswered: AnsweredBefore,
    blind.WrongStage: OutOfDate,
    ReasonMissing: ReasonNeeded,
    verdicts.NeedlessReason: ReasonNeedless,
    AlreadyJudged: JudgedBefore,
    OwnItem: OwnWork,
    verdicts.NotStuck: NoDispute,
}


@dataclass(frozen=True)
class Remark:
    """What a reviewer writes about one part of a question: a comment, a text that they suggest for it, or both."""

    part: str
    comment: str = ""
    suggestion: str = ""


@dataclass(frozen=True)
class Judged:
    """A verdict as it is handed in; None for a decision that is not chosen yet."""

    decision: Decision | None
    reason_codes: Sequence[str] = ()
    remarks: Sequence[Remark] = ()


@dataclass(frozen=True)
class Finished:
    """A review of one's own that is over. It says nothing of what came of it: that would tell gold items."""

    item: str
    decision: Decision
    reason_codes: Sequence[str]
    at: datetime


def take(session: Session, who: Principal, kind: str, clock: Clock = utc_now) -> Task | None:
    """One's present task of that kind, or the next one; None when nothing waits.

    Raises:
        NotAllowed, AccountInactive, NoReviewer: As they say.
    """
    who = authorize(session, who, Permission.REVIEW)
    with told_as(_TOLD):
        return (queue.take_open_case if kind == OPEN_CASE else queue.take_review)(session, who.name, clock)


def keep(session: Session, who: Principal, assignment_id: str, clock: Clock = utc_now) -> datetime:
    """Hold a task for a whole term from now on.

    Raises:
        NotAllowed, AccountInactive, NoReviewer, TaskLost: As they say.
    """
    who = authorize(session, who, Permission.REVIEW)
    with told_as(_TOLD):
        return queue.keep_task(session, assignment_id, who.name, clock)


def give_back(session: Session, who: Principal, assignment_id: str, clock: Clock = utc_now) -> None:
    """Let others have a task; what was answered is kept.

    Raises:
        NotAllowed, AccountInactive, NoReviewer, TaskLost: As they say.
    """
    who = authorize(session, who, Permission.REVIEW)
    with told_as(_TOLD):
        queue.release_task(session, assignment_id, who.name, clock)


def see_review(session: Session, who: Principal, assignment_id: str, clock: Clock = utc_now) -> ReviewView:
    """What there is to see of a review at its stage. Only reads.

    Raises:
        NoReviewer, TaskLost, TaskEnded: As they say.
    """
    with told_as(_TOLD):
        return blind.open_review(session, assignment_id, who.name, clock)


def see_case(session: Session, who: Principal, assignment_id: str, clock: Clock = utc_now) -> CaseView:
    """What there is to see of an open case. Only reads.

    Raises:
        NoReviewer, TaskLost, TaskEnded: As they say.
    """
    with told_as(_TOLD):
        return blind.open_case(session, assignment_id, who.name, clock)


def see_dispute(session: Session, who: Principal, item_name: str, clock: Clock = utc_now) -> DisputeView:
    """What there is to see of an item that waits for a maintainer. Only reads.

    Raises:
        NoDispute: It does not, or not for this one.
    """
    with told_as(_TOLD):
        return disputes.open_dispute(session, item_name, who.name, clock)


def answer(
    session: Session, who: Principal, assignment_id: str, stage: Stage, text: str | None, clock: Clock = utc_now
) -> None:
    """Store the answer to a blind stage, None for "cannot tell", and hold the task for a whole term again.

    The same twice is stored once.

    Raises:
        NotAllowed, AccountInactive, NoReviewer, TaskLost, TaskEnded, NoAnswer, AnsweredBefore, OutOfDate, TooMuch: As
            they say.
    """
    who = authorize(session, who, Permission.REVIEW)
    text = None if text is None else _clean(text)
    with told_as(_TOLD):
        store = blind.answer_partial if stage is Stage.PARTIAL else blind.answer_full
        store(session, assignment_id, who.name, text, clock)
        queue.keep_task(session, assignment_id, who.name, clock)


def hand_in(session: Session, who: Principal, key: str, task: Task, judged: Judged, clock: Clock = utc_now) -> None:
    """Give the verdict on a review or an open case, and end the task; the same form twice is handled once.

    Raises:
        NotAllowed, AccountInactive, NoReviewer, TaskLost, TaskEnded, OutOfDate, NoDecision, ReasonNeeded,
        ReasonNeedless, JudgedBefore, OwnWork, TooMuch, TwoEdits, FormMisused: As they say.
    """
    who = authorize(session, who, Permission.REVIEW)
    is_case = task.kind == OPEN_CASE
    opinion = _opinion(judged, keeps_edits=not is_case)
    give = opinions.decide_case if is_case else opinions.give_review

    def handle() -> str:
        with told_as(_TOLD):
            give(session, task.assignment_id, who.name, opinion, clock)
        return task.assignment_id

    once(session, who, key, f"review:{task.assignment_id}", handle, clock)


def settle(session: Session, who: Principal, key: str, item_name: str, judged: Judged, clock: Clock = utc_now) -> None:
    """Decide as a maintainer what reviewers cannot settle; the same form twice is handled once.

    Raises:
        NotAllowed, AccountInactive, NoDispute, NoDecision, ReasonNeeded, ReasonNeedless, JudgedBefore, OwnWork,
        TooMuch, TwoEdits, FormMisused: As they say.
    """
    who = authorize(session, who, Permission.SEE_EVERY_KEY)
    opinion = _opinion(judged, keeps_edits=False)

    def handle() -> str:
        with told_as(_TOLD):
            verdict, _ = verdicts.adjudicate(
                session, item_name, who.name, opinion.decision, opinion.reason_codes, opinion.words, clock
            )
        return verdict.id

    once(session, who, key, "settle", handle, clock)


def fate(session: Session, who: Principal, assignment_id: str) -> Fate | None:
    """What became of a task of one's own that one has not any more; None when it is nobody's or another's."""
    assignment = session.get(Assignment, assignment_id)
    if assignment is None or assignment.user_id != who.user_id:
        return None
    ends: dict[AssignmentState, Fate] = {AssignmentState.DONE: "handed_in", AssignmentState.RELEASED: "given_back"}
    return ends.get(assignment.state, "ran_out")


def finished(session: Session, who: Principal) -> list[Finished]:
    """One's last blind reviews, the newest first."""
    query = (
        select(Review, Item.name)
        .join(ItemRevision, col(Review.revision_id) == col(ItemRevision.id))
        .join(Item, col(ItemRevision.item_id) == col(Item.id))
        .where(Review.reviewer == who.name, col(Review.finished_at).is_not(None))
        .order_by(col(Review.finished_at).desc(), col(Review.id))
        .limit(RECENT)
    )
    return [
        Finished(name, Decision(review.decision), tuple(review.reason_codes), review.finished_at)
        for review, name in session.exec(query)
        if review.decision is not None and review.finished_at is not None
    ]


def is_reviewer(who: Principal) -> bool:
    """Whether blind reviews are theirs: maintainers open the page too, to decide what is stuck."""
    return Role.REVIEWER in who.roles


def _opinion(judged: Judged, *, keeps_edits: bool) -> Opinion:
    """The verdict for the workshop; where it keeps no suggested texts, they go to the author as comments."""
    if judged.decision is None:
        raise NoDecision
    if len(judged.remarks) > MOST_REMARKS:
        raise TooMuch(count=MOST_CHARACTERS)
    remarks = [Remark(one.part, _clean(one.comment), _clean(one.suggestion)) for one in judged.remarks]
    edits = [(one.part, one.suggestion) for one in remarks if one.suggestion]
    if len(dict(edits)) < len(edits):
        raise TwoEdits
    if not keeps_edits:
        remarks += [Remark(part, f"→ {text}") for part, text in edits]
        edits = []
    return Opinion(
        decision=judged.decision,
        reason_codes=tuple(judged.reason_codes),
        comments=tuple(Comment(part=one.part, text=one.comment) for one in remarks if one.comment),
        suggested_edit=dict(edits),
    )


def _clean(text: str) -> str:
    """Without the NUL that PostgreSQL refuses, and without blanks around it."""
    if len(text) > MOST_CHARACTERS:
        raise TooMuch(count=MOST_CHARACTERS)
    return text.replace("\x00", "").strip()
