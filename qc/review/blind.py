"""Blind first: a reviewer answers without one modality, then with all, and only then sees the author's answer."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlmodel import Session, col, select

from core.condition import FULL, without
from core.content import Frozen, Message, Modality, Part
from core.errors import InterplayError
from core.ids import Clock, utc_now
from core.provenance import content_hash
from core.question import Question, QuestionKind, choice_label
from evaluation.graders import grader_for
from evaluation.graders.choice import chosen
from evaluation.prompts import render
from qc.reasons import Words
from qc.review.places import ReviewPlace, case_place, review_place
from qc.review.revision_diff import Change, diff_revisions
from qc.review.solves import Solves, solves_of
from qc.review.verdicts import REVIEWERS_TO_SETTLE
from warehouse import events
from warehouse.tables import ItemRevision, Review
from warehouse.verdicts import verdicts_on


class Stage(StrEnum):
    """Where a review stands."""

    PARTIAL = "partial"
    FULL = "full"
    VERDICT = "verdict"


INSTRUCTIONS: Mapping[Stage, Words] = {
    Stage.PARTIAL: Words(
        en="One kind of material is kept back. Answer from what is left, or say that you cannot tell. "
        "You cannot change this answer later.",
        zh="有一类素材暂不提供。请仅根据其余内容作答；若无法判断，请选择“无法判断”。提交后不能修改。",
    ),
    Stage.FULL: Words(
        en="Now everything is shown. Answer the question, or say that you cannot tell. "
        "You cannot change this answer later.",
        zh="现在显示全部素材。请作答；若无法判断，请选择“无法判断”。提交后不能修改。",
    ),
    Stage.VERDICT: Words(
        en="Compare your answers with the author's, then decide: pass, return to the author, reject, or unknown. "
        "To return or reject, give a reason.",
        zh="请将你的回答与作者答案对照，然后作出判定：通过、退回作者、拒绝或无法判定。退回或拒绝时须给出理由。",
    ),
}
CASE_INSTRUCTION = Words(
    en="An automatic check could not decide on this question. Look at its evidence and decide; "
    "your verdict alone counts.",
    zh="自动检查未能判定此题。请查看依据并作出判定：由你一人决定。",
)


class WrongStage(InterplayError):
    """A review's stages were not taken in their order."""


class AlreadyAnswered(InterplayError):
    """A stage was answered before, and differently."""


class EmptyAnswer(InterplayError):
    """An answer without a word."""


class NoSuchChoice(InterplayError):
    """An answer to a choice question that names none of the choices."""


class ShownStep(Frozen):
    """What a step asks, and its points of ten."""

    ask: str
    points: int


class ShownQuestion(Frozen):
    """A question as it is put to somebody who must not know the key; `message` is what a model would be asked."""

    prompt: tuple[Part, ...]
    kind: QuestionKind
    choices: tuple[str, ...]
    several_are_right: bool
    steps: tuple[ShownStep, ...]
    task_type: str
    language: str
    message: Message


class OwnAnswer(Frozen):
    """What the reviewer answered (None: could not tell) with a modality hidden or with none, and its points in [0, 1].

    Points are None where nothing was graded.
    """

    hidden: Modality | None
    answer: str | None
    points: float | None


class EarlierVerdict(Frozen):
    """What was decided about the same revision in a round."""

    round: int
    decider: str
    by_person: bool
    decision: str
    reason_codes: tuple[str, ...]
    comment: str | None
    evidence: dict[str, Any]


class Background(Frozen):
    """All that the author and the rounds before said; `changes` is None for a first revision."""

    question: Question
    notes: dict[str, Any]
    verdicts: tuple[EarlierVerdict, ...]
    changes: tuple[Change, ...] | None


class Revealed(Background):
    """What a reviewer sees at last, with their own answers and other reviewers' ablation solves."""

    answers: tuple[OwnAnswer, ...]
    solves: tuple[Solves, ...]


class ReviewView(Frozen):
    """What to show of a review now; `hidden` is the modality that is kept back at this stage.

    `revealed` is None before the last stage, and nothing else tells of the key.
    """

    assignment_id: str
    item: str
    expires_at: datetime
    stage: Stage
    instruction: Words
    hidden: Modality | None
    shown: ShownQuestion
    revealed: Revealed | None = None


class CaseView(Frozen):
    """What to show of an open case: everything, with the evidence of the check that could not decide."""

    assignment_id: str
    item: str
    expires_at: datetime
    round: int
    instruction: Words
    background: Background


def open_review(session: Session, assignment_id: str, reviewer: str, clock: Clock = utc_now) -> ReviewView:
    """What the reviewer sees now. Only reads.

    Raises:
        UnknownName, NotAllowed, LeaseLost, ReviewEnded: As `review_place`.
    """
    return _view(session, review_place(session, assignment_id, reviewer, clock, lock=False))


def open_case(session: Session, assignment_id: str, reviewer: str, clock: Clock = utc_now) -> CaseView:
    """What the one who decides an open case sees. Only reads.

    Raises:
        UnknownName, NotAllowed, LeaseLost, ReviewEnded: As `case_place`.
    """
    place, number = case_place(session, assignment_id, reviewer, clock, lock=False)
    return CaseView(
        assignment_id=assignment_id,
        item=place.item.name,
        expires_at=place.assignment.expires_at,
        round=number,
        instruction=CASE_INSTRUCTION,
        background=Background(**background_of(session, place.revision)),
    )


def answer_partial(
    session: Session, assignment_id: str, reviewer: str, answer: str | None, clock: Clock = utc_now
) -> ReviewView:
    """Store the answer with a modality hidden, None for "cannot tell"; gives what to show next.

    The same answer again changes nothing.

    Raises:
        UnknownName, NotAllowed, LeaseLost, ReviewEnded: As `review_place`.
        WrongStage: The question holds no media, so that nothing is hidden.
        AlreadyAnswered: Another answer is stored.
        EmptyAnswer: A text without a word.
        NoSuchChoice: It names none of the choices.
    """
    place = review_place(session, assignment_id, reviewer, clock, lock=True)
    review = place.review
    if review.hidden is None:
        raise WrongStage(f"item {place.item.name!r} holds no media, so nothing is hidden; answer it with everything")
    if _is_new(place.question, answer, review.partial_at is not None, review.partial_answer):
        review.partial_answer, review.partial_at = answer, clock()
        review.partial_points = _points(place.question, answer)
        _record(session, place, Stage.PARTIAL, clock)
    return _view(session, place)


def answer_full(
    session: Session, assignment_id: str, reviewer: str, answer: str | None, clock: Clock = utc_now
) -> ReviewView:
    """Store the answer with everything shown; as `answer_partial`, after it.

    Raises:
        UnknownName, NotAllowed, LeaseLost, ReviewEnded: As `review_place`.
        WrongStage: The question was not answered with a modality hidden yet.
        AlreadyAnswered: Another answer is stored.
        EmptyAnswer: A text without a word.
        NoSuchChoice: It names none of the choices.
    """
    place = review_place(session, assignment_id, reviewer, clock, lock=True)
    review = place.review
    if stage_of(review) is Stage.PARTIAL:
        raise WrongStage(f"item {place.item.name!r}: answer without the hidden material first")
    if _is_new(place.question, answer, review.full_at is not None, review.full_answer):
        review.full_answer, review.full_at = answer, clock()
        review.full_points = _points(place.question, answer)
        _record(session, place, Stage.FULL, clock)
    return _view(session, place)


def stage_of(review: Review) -> Stage:
    """What the reviewer has to do next."""
    if review.hidden is not None and review.partial_at is None:
        return Stage.PARTIAL
    return Stage.FULL if review.full_at is None else Stage.VERDICT


def answers_of(review: Review) -> tuple[OwnAnswer, ...]:
    """What was answered in both blind stages, in their order."""
    full = OwnAnswer(hidden=None, answer=review.full_answer, points=review.full_points)
    if review.hidden is None:
        return (full,)
    hidden = Modality(review.hidden)
    return OwnAnswer(hidden=hidden, answer=review.partial_answer, points=review.partial_points), full


def hidden_modality(
    question: Question, revision_id: str, reviewer: str, used: Iterable[str | None] = ()
) -> Modality | None:
    """The modality that a reviewer answers without at first; None for a question without media.

    One of the required media modalities (of all, where none is required) that the fewest of those who came before were
    given, `used`; among equals the reviewer's name and the revision choose, as evenly as a hash does. So two reviewers
    of one revision get different ones where there are two.
    """
    candidates = sorted(question.required & question.modalities or question.modalities)
    if not candidates:
        return None
    counts = Counter(used)
    fewest = min(counts[one] for one in candidates)
    open_ones = [one for one in candidates if counts[one] == fewest]
    return open_ones[int(content_hash([revision_id, reviewer])[:16], 16) % len(open_ones)]


def _is_new(question: Question, answer: str | None, is_answered: bool, stored: str | None) -> bool:
    if answer is not None and not answer.strip():
        raise EmptyAnswer("the answer holds no word; write one, or say that you cannot tell")
    # An answer is not changed, so a slip of the finger must not become one.
    if answer is not None and question.kind is QuestionKind.CHOICE and chosen(question, answer) is None:
        last = choice_label(len(question.choices) - 1)
        raise NoSuchChoice(f"{answer!r} names no choice; write a letter from A to {last}, or say that you cannot tell")
    if is_answered and answer != stored:
        raise AlreadyAnswered("you answered this stage before, and an answer is not changed; go on to the next stage")
    return not is_answered


def _points(question: Question, answer: str | None) -> float | None:
    """What the question's own grader gives, None where it cannot be had or cannot tell."""
    if answer is None:
        return None
    try:
        return grader_for(question).load().grade(question, answer).points
    except InterplayError:
        return None


def _record(session: Session, place: ReviewPlace, stage: Stage, clock: Clock) -> None:
    session.add(place.review)
    events.record(session, place.user.name, "review", place.review.id, f"answer_{stage.value}", clock)
    session.flush()


def _view(session: Session, place: ReviewPlace) -> ReviewView:
    stage = stage_of(place.review)
    hidden = Modality(place.review.hidden) if stage is Stage.PARTIAL and place.review.hidden else None
    question = place.question
    return ReviewView(
        assignment_id=place.assignment.id,
        item=place.item.name,
        expires_at=place.assignment.expires_at,
        stage=stage,
        instruction=INSTRUCTIONS[stage],
        hidden=hidden,
        shown=_shown((without(hidden) if hidden else FULL).apply(question)),
        revealed=_revealed(session, place) if stage is Stage.VERDICT else None,
    )


def _shown(question: Question) -> ShownQuestion:
    (message,) = render(question)
    return ShownQuestion(
        prompt=question.prompt,
        kind=question.kind,
        choices=tuple(choice.text for choice in question.choices),
        several_are_right=len(question.answer.correct) > 1,
        steps=tuple(ShownStep(ask=step.ask, points=step.points) for step in question.steps),
        task_type=question.task_type,
        language=question.language,
        message=message,
    )


def _revealed(session: Session, place: ReviewPlace) -> Revealed:
    review = place.review
    others = session.exec(
        select(Review)
        .where(Review.revision_id == review.revision_id, Review.reviewer != review.reviewer)
        .where(col(Review.is_gold).is_(False))
        .order_by(col(Review.started_at), col(Review.id))
        # A third reviewer sees two others. On a gold item more would tell that it is one.
        .limit(REVIEWERS_TO_SETTLE)
    )
    # Verdicts of round 3 stay hidden: nobody judges after another.
    return Revealed(**background_of(session, place.revision), answers=answers_of(review), solves=solves_of(others))


def background_of(session: Session, revision: ItemRevision) -> dict[str, Any]:
    """The fields of a `Background`: all but what reviewers said of the revision."""
    question = revision.as_question()
    before = session.exec(
        select(ItemRevision).where(ItemRevision.item_id == revision.item_id, ItemRevision.number == revision.number - 1)
    ).first()
    verdicts = [
        EarlierVerdict(**verdict.model_dump(include=set(EarlierVerdict.model_fields)))
        for verdict in verdicts_on(session, revision.id)
        if verdict.round != 3
    ]
    return {
        "question": question,
        "notes": dict(revision.notes),
        "verdicts": tuple(verdicts),
        "changes": None if before is None else diff_revisions(before.as_question(), question),
    }
