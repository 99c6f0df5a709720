"""One item: its question, key, revisions, and what was decided about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, SQLColumnExpression, String, case, cast, literal, true
from sqlmodel import Session, col, select

from annotation_ui import labels
from annotation_ui.media_links import MediaLinks
from annotation_ui.people import display_names
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.told import Told
from annotation_ui.views.evidence import Marked, marked_media
from annotation_ui.views.notes import note_lines, told_lines
from annotation_ui.views.preview import Block, Option, options, prompt_blocks
from annotation_ui.words import N_, Words
from core.question import AnswerKey, Question
from evaluation.exam.known_items import shut_items
from qc.review.queue import present_task
from qc.review.waiting import REVIEW
from warehouse.blobs import BlobStore
from warehouse.items import current_revision, get_item
from warehouse.tables import GoldItem, Item, ItemRevision, ItemState, Review, Verdict

# Here nobody is to judge the item any more, so its key spoils nothing.
SETTLED = frozenset({ItemState.ACCEPTED, ItemState.RELEASED, ItemState.RETIRED, ItemState.REJECTED})
# What a reviewer may be given looks the same, be it a question that waits for them or a gold item that is settled.
_GIVEN_OUT = SETTLED | {ItemState.ROUND2_PASSED}
KEY_WAITS = N_("The key and the verdicts show once you have judged this item, or when its review is over.")
KEY_WAITS_FOR_YOU = N_("The key and the verdicts show once you have judged this item.")


class UnderYourReview(Told):
    """An item whose page would show a reviewer what is still hidden from them."""

    text = N_("You are reviewing this item. Its page opens again when you have decided: until then you judge it blind.")


class InYourExam(UnderYourReview):
    """An item whose page would show somebody what they are asked in an exam."""

    text = N_("You are to answer this item, or its twin, in an exam. Its page opens again when you have finished that.")


@dataclass(frozen=True)
class StepView:
    """One step of a multi-step question; `accepted` and `rubric` are empty where the key must not show."""

    ask: str
    points: int
    accepted: Sequence[str]
    rubric: str


@dataclass(frozen=True)
class RevisionLine:
    """One revision in the history."""

    number: int
    author: str
    when: str
    hash: str
    is_current: bool
    is_shown: bool


@dataclass(frozen=True)
class VerdictLine:
    """One verdict, with the evidence as lines of name and value."""

    who: str
    by_person: bool
    decision: str
    decision_label: str
    reasons: Sequence[str]
    comment: str
    evidence: Sequence[tuple[str, str]]
    when: str


@dataclass(frozen=True)
class Twin:
    """Another item of the same twin group."""

    name: str
    state: str
    state_label: str


@dataclass(frozen=True)
class ItemDetail:
    """The page of one item. Without `key_visible` nothing in it tells the key, and `key_waits` says for what."""

    name: str
    state: str
    state_label: str
    question: Question
    kind: str
    task_type: str
    language: str
    required: str
    author: str
    twin_group: str
    prompt: Sequence[Block]
    options: Sequence[Option]
    accepted: Sequence[str]
    grader: str
    steps: Sequence[StepView]
    key_visible: bool
    key_waits: str
    revisions: Sequence[RevisionLine]
    rounds: Mapping[int, Sequence[VerdictLine]]
    marked: Sequence[Marked]
    notes: Sequence[tuple[str, str]]
    twins: Sequence[Twin]


def item_detail(
    session: Session,
    who: Principal,
    name: str,
    links: MediaLinks,
    blobs: BlobStore,
    now: datetime,
    t: Words,
    revision_number: int | None = None,
) -> ItemDetail:
    """One item at a revision, the current one unless another is named.

    Raises:
        NotAllowed: The person may not see items.
        UnknownName: There is no such item.
        UnderYourReview, InYourExam: As `refuse_spoiled`.
    """
    require(who, Permission.SEE_ITEMS)
    item = get_item(session, name)
    refuse_spoiled(session, who, item, now)
    all_of_them = session.exec(
        select(ItemRevision).where(ItemRevision.item_id == item.id).order_by(col(ItemRevision.number).desc())
    ).all()
    current = current_revision(session, item)
    shown = next((revision for revision in all_of_them if revision.number == revision_number), current)
    verdicts = session.exec(
        select(Verdict).where(Verdict.revision_id == shown.id).order_by(col(Verdict.created_at), col(Verdict.id))
    ).all()
    visible = may_see_key(session, who, item, shown.id)
    state = session.exec(select(shown_state(session, who)).where(Item.id == item.id)).one()
    names = display_names(
        session, {*(revision.author for revision in all_of_them), *(verdict.decider for verdict in verdicts)}
    )
    question = shown.as_question()
    notes = shown.notes if visible else {}
    marked, other_notes = marked_media(notes, question.prompt, links, who.user_id, blobs, t)
    return ItemDetail(
        name=item.name,
        state=state,
        state_label=t(labels.SHOWN_STATES[state]),
        question=question if visible else _without_key(question),
        kind=t(labels.KINDS[question.kind]),
        task_type=labels.task_type(t, question.task_type),
        language=labels.question_language(t, question.language),
        required=labels.modality_set(t, question.required) if question.required else "",
        author=names[shown.author],
        twin_group=item.twin_group or "",
        prompt=prompt_blocks(question, links, who.user_id, blobs, t),
        options=options(question, key_visible=visible),
        accepted=accepted_answers(question.answer) if visible else (),
        grader=(question.answer.grader or "") if visible else "",
        steps=[
            StepView(
                step.ask,
                step.points,
                accepted_answers(step.answer) if visible else (),
                (step.rubric or "") if visible else "",
            )
            for step in question.steps
        ],
        key_visible=visible,
        key_waits="" if visible else t(KEY_WAITS_FOR_YOU if is_kept_blind(session, who) else KEY_WAITS),
        revisions=[
            RevisionLine(
                number=revision.number,
                author=names[revision.author],
                when=t.ago(revision.created_at, now),
                hash=revision.content_hash[:12],
                is_current=revision.id == current.id,
                is_shown=revision.id == shown.id,
            )
            for revision in all_of_them
        ],
        rounds=_rounds(verdicts, names, now, t) if visible else {},
        marked=marked,
        notes=note_lines(other_notes, t),
        twins=_twins(session, who, item, t),
    )


def is_kept_blind(session: Session, who: Principal) -> bool:
    """Whether somebody may be given gold, which stands among the settled items: of none they learn the key unjudged."""
    if not who.may(Permission.REVIEW) or who.may(Permission.SEE_EVERY_KEY):
        return False
    return session.exec(select(GoldItem.revision_id).where(col(GoldItem.active)).limit(1)).first() is not None


def may_see_key(session: Session, who: Principal, item: Item, revision_id: str) -> bool:
    """Whether the key of a revision, and verdicts that lean on it, may show: reviewers answer blind before they see it.

    It may to the author, to maintainers, to who has judged this very revision, and to everybody once nobody will; but
    not to who `is_kept_blind`.
    """
    knows = _knows(who, literal(revision_id), is_kept_blind(session, who))
    return session.exec(select(Item.id).where(Item.id == item.id, knows)).first() is not None


def sees_key(session: Session, who: Principal, now: datetime) -> ColumnElement[bool]:
    """`may_see_key` as a condition on `Item`, for lists; without what the person is to judge or answer now."""
    knows = _knows(who, col(Item.current_revision_id), is_kept_blind(session, who))
    free = knows & col(Item.id).not_in(shut_items(session, who.user_id))
    name = _to_judge(session, who, now)
    return free if name is None else free & (col(Item.name) != name)


def shown_state(session: Session, who: Principal) -> ColumnElement[str]:
    """The state of an `Item` as this person may know it, a member of `labels.SHOWN_STATES`.

    Of what they may be given to review, `UNDISCLOSED`: "accepted" would tell the verdict, and that a task is gold.
    """
    state = cast(col(Item.state), String)
    if not is_kept_blind(session, who):
        return state.label("shown_state")
    unknown = col(Item.state).in_(_GIVEN_OUT) & ~_knows(who, col(Item.current_revision_id), is_blind=True)
    return case((unknown, labels.UNDISCLOSED), else_=state).label("shown_state")


def _knows(who: Principal, revision_id: SQLColumnExpression[str | None], is_blind: bool) -> ColumnElement[bool]:
    """The condition on `Item` that this person knows the key of its revision anyway, or needs not be blind to it.

    `is_blind` is whether they are kept blind to settled items.
    """
    if who.may(Permission.SEE_EVERY_KEY):
        return true()
    names = [who.user_id, who.name]
    wrote = select(ItemRevision.item_id).where(col(ItemRevision.author).in_(names))
    judged = select(Verdict.revision_id).where(col(Verdict.by_person), col(Verdict.decider).in_(names))
    # Of gold there is a review, but no verdict.
    reviewed = select(Review.revision_id).where(col(Review.reviewer).in_(names), col(Review.finished_at).is_not(None))
    knows = col(Item.id).in_(wrote) | revision_id.in_(judged) | revision_id.in_(reviewed)
    return knows if is_blind else knows | col(Item.state).in_(SETTLED)


def _twins(session: Session, who: Principal, item: Item, t: Words) -> list[Twin]:
    """The others of its group, by name; what they ask and say stands on their own pages."""
    if item.twin_group is None:
        return []
    query = select(Item.name, shown_state(session, who)).where(Item.twin_group == item.twin_group, Item.id != item.id)
    return [Twin(name, state, t(labels.SHOWN_STATES[state])) for name, state in session.exec(query.order_by(Item.name))]


def refuse_spoiled(session: Session, who: Principal, item: Item, now: datetime) -> None:
    """Keep shut what would spoil a blind review or an exam.

    Raises:
        UnderYourReview: The person is to judge the item blind.
        InYourExam: It, or a twin of it, is in an exam of theirs that they have not finished.
    """
    if is_to_judge(session, who, item, now):
        raise UnderYourReview
    if item.id in shut_items(session, who.user_id):
        raise InYourExam


def is_to_judge(session: Session, who: Principal, item: Item, now: datetime) -> bool:
    """Whether the item is the person's present task of blind review, which the page of the item would spoil."""
    return _to_judge(session, who, now) == item.name


def _to_judge(session: Session, who: Principal, now: datetime) -> str | None:
    if not who.may(Permission.REVIEW):
        return None
    task = present_task(session, who.name, lambda: now)
    return task.item if task is not None and task.kind == REVIEW else None


def _without_key(question: Question) -> Question:
    """The question with nothing in it that tells the answer; only good for showing."""
    steps = tuple(step.model_copy(update={"answer": AnswerKey(), "rubric": None}) for step in question.steps)
    return question.model_copy(update={"answer": AnswerKey(), "steps": steps})


def accepted_answers(answer: AnswerKey) -> Sequence[str]:
    """What counts as right, a number with its tolerance."""
    return (
        answer.accepted if answer.tolerance is None else [f"{text} ± {answer.tolerance:g}" for text in answer.accepted]
    )


def _rounds(
    verdicts: Sequence[Verdict], names: Mapping[str, str], now: datetime, t: Words
) -> dict[int, list[VerdictLine]]:
    rounds: dict[int, list[VerdictLine]] = {}
    for verdict in verdicts:
        line = VerdictLine(
            who=names[verdict.decider],
            by_person=verdict.by_person,
            decision=verdict.decision.value,
            decision_label=t(labels.DECISIONS[verdict.decision]),
            reasons=[labels.reason(t, code) for code in verdict.reason_codes],
            comment=verdict.comment or "",
            evidence=told_lines(verdict.evidence),
            when=t.ago(verdict.created_at, now),
        )
        rounds.setdefault(verdict.round, []).append(line)
    return rounds
