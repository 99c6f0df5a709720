"""How items went through the rounds: from verdicts and events to stories."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlmodel import Session, col, select

from core.question import Question
from qc.checks import Finding
from qc.model_review import Reviews
from qc.reasons import Words
from qc.report.answers import answer_table
from qc.report.document import Answer, ItemStory, Outcome, RoundFlow, RoundStory, StepLine, VerdictStory
from qc.report.why import gate_stories, grounds_of
from qc.review.solves import solves_of
from warehouse.lifecycle import Action
from warehouse.tables import Decision, Event, Item, ItemRevision, ItemState, Review, User, Verdict
from warehouse.verdicts import ROUND_NEEDS

_OUTCOMES: dict[Decision, Outcome] = {
    Decision.PASS: "passed",
    Decision.RETURN: "returned",
    Decision.REJECT: "rejected",
}
_TOLD_BY_EVENTS = (Action.RETURN.value, Action.REJECT.value, Action.RETIRE.value, Action.REOPEN.value)
_STOPPED = (ItemState.RETURNED, ItemState.REJECTED, ItemState.RETIRED)


@dataclass
class Loaded:
    """An item's revision with all that the database tells of it, oldest first; `events` are of the whole item."""

    item: Item
    revision: ItemRevision
    question: Question
    verdicts: list[Verdict] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)

    @property
    def was_reopened(self) -> bool:
        """Whether a person took back that this revision was rejected."""
        return any(
            event.action == Action.REOPEN.value and event.detail.get("revision_id") == self.revision.id
            for event in self.events
        )


def load_current(session: Session, item_ids: Sequence[str] | None = None) -> list[Loaded]:
    """Every item (of these, if they are named) with its current revision, by name; a query for each kind of row."""
    among = [] if item_ids is None else [col(Item.id).in_(item_ids)]
    current = col(Item.current_revision_id) == col(ItemRevision.id)
    items = session.exec(select(Item, ItemRevision).join(ItemRevision, current).where(*among).order_by(Item.name)).all()
    loaded = [Loaded(item, revision, revision.as_question()) for item, revision in items]
    by_revision = {one.revision.id: one for one in loaded}
    judged = select(Verdict).join(Item, col(Item.current_revision_id) == col(Verdict.revision_id))
    for verdict in session.exec(judged.where(*among).order_by(col(Verdict.created_at), col(Verdict.id))):
        by_revision[verdict.revision_id].verdicts.append(verdict)
    solved = select(Review).join(Item, col(Item.current_revision_id) == col(Review.revision_id))
    for review in session.exec(solved.where(*among, col(Review.is_gold).is_(False)).order_by(Review.id)):
        by_revision[review.revision_id].reviews.append(review)
    by_item = {one.item.id: one for one in loaded}
    told = select(Event).where(Event.subject_kind == "item", col(Event.action).in_(_TOLD_BY_EVENTS))
    if item_ids is not None:
        told = told.where(col(Event.subject_id).in_(item_ids))
    for event in session.exec(told.order_by(col(Event.sequence))):
        if event.subject_id in by_item:
            by_item[event.subject_id].events.append(event)
    return loaded


def load_revisions(session: Session, item: Item) -> list[Loaded]:
    """All revisions of one item, oldest first."""
    query = select(ItemRevision).where(ItemRevision.item_id == item.id).order_by(col(ItemRevision.number))
    loaded = [Loaded(item, revision, revision.as_question()) for revision in session.exec(query)]
    for one in loaded:
        judged = select(Verdict).where(Verdict.revision_id == one.revision.id)
        one.verdicts = list(session.exec(judged.order_by(col(Verdict.created_at), col(Verdict.id))))
        solved = select(Review).where(Review.revision_id == one.revision.id, col(Review.is_gold).is_(False))
        one.reviews = list(session.exec(solved.order_by(Review.id)))
        told = select(Event).where(Event.subject_id == item.id, col(Event.action).in_(_TOLD_BY_EVENTS))
        one.events = list(session.exec(told.order_by(col(Event.sequence))))
    return loaded


def people_names(session: Session) -> dict[str, str]:
    """User ids to names: the studio stores ids where files store names."""
    return dict(session.exec(select(User.id, User.name)).all())


def rounds_of(loaded: Loaded, names: Mapping[str, str]) -> tuple[RoundStory, ...]:
    """The rounds that a revision entered."""
    by_round: dict[int, list[Verdict]] = defaultdict(list)
    for verdict in loaded.verdicts:
        by_round[verdict.round].append(verdict)
    is_current = loaded.item.current_revision_id == loaded.revision.id
    waits = next((number for number, state in ROUND_NEEDS.items() if is_current and loaded.item.state is state), None)
    if waits is not None:
        # What a revision that was reopened went through before is history.
        by_round = {number: verdicts for number, verdicts in by_round.items() if number < waits} | {
            waits: by_round.get(waits, [])
        }
    return tuple(_round(loaded, number, by_round[number], names, waits == number) for number in sorted(by_round))


def _against(loaded: Loaded, rounds: Sequence[RoundStory]) -> list[VerdictStory] | None:
    """The verdicts for which an item stopped, or waits for a person; None where none says."""
    for story in reversed(rounds):
        if story.overruled and loaded.item.state is ItemState.DRAFT:
            return []
        if story.outcome == "open":
            return [one for one in story.verdicts if one.decision != Decision.PASS.value]
        deciding = [one for one in story.verdicts if _OUTCOMES.get(Decision(one.decision)) == story.outcome]
        if story.outcome != "passed" and deciding:
            return deciding[-1:]
    return None


def _sentences(verdict: VerdictStory) -> tuple[Words, ...]:
    if not verdict.by_person:
        return verdict.why or ((verdict.note,) if verdict.note else ())
    said = f": {' '.join(verdict.comment.split())}" if verdict.comment else ""
    return (Words(en=f"{verdict.decider} decided so{said}", zh=f"由 {verdict.decider} 裁定{said}"),)


def _reason_codes(loaded: Loaded, against: Sequence[VerdictStory] | None) -> tuple[str, ...]:
    if against is not None:
        return tuple(dict.fromkeys(code for one in against for code in one.codes))
    last = loaded.events[-1] if loaded.events else None
    if last is not None and loaded.item.state in _STOPPED and last.detail.get("after") == loaded.item.state.value:
        return tuple(last.detail.get("reason_codes", ()))
    return ()


def wanted_responses(rounds: Iterable[RoundStory]) -> tuple[str, ...]:
    """Keys of the responses behind the votes and the objections of some rounds, each once."""
    verdicts = [verdict for story in rounds for verdict in story.verdicts]
    voted = [key for verdict in verdicts for gate in verdict.gates for key in gate.votes.responses]
    objected = [
        one.response_key
        for verdict in verdicts
        if verdict.reviews is not None
        for objections in verdict.reviews.objections.values()
        for one in objections
    ]
    return tuple(dict.fromkeys((*voted, *objected)))


def item_story(
    loaded: Loaded, rounds: tuple[RoundStory, ...], answers: Sequence[Answer], names: Mapping[str, str]
) -> ItemStory:
    """The story of an item's current revision."""
    item, question = loaded.item, loaded.question
    against = _against(loaded, rounds)
    return ItemStory(
        name=item.name,
        state=item.state.value,
        kind=question.kind.value,
        task_type=question.task_type,
        language=question.language,
        author=names.get(loaded.revision.author, loaded.revision.author),
        revision=loaded.revision.number,
        twin_group=item.twin_group,
        times_returned=sum(event.action == Action.RETURN.value for event in loaded.events),
        prompt=question.prompt_text,
        required=tuple(sorted(question.required)),
        choices=tuple(choice.text for choice in question.choices),
        correct=question.answer.correct,
        accepted=question.answer.accepted,
        steps=tuple(StepLine(ask=one.ask, points=one.points, answer=one.answer.accepted[0]) for one in question.steps),
        reason_codes=_reason_codes(loaded, against),
        why=tuple(why for one in against or () for why in _sentences(one)),
        rounds=rounds,
        table=answer_table(answers),
        answers=tuple(answers),
        lost=len(wanted_responses(rounds)) - len(answers),
        solves=solves_of(loaded.reviews),
    )


def round_flows(items: Sequence[ItemStory]) -> tuple[RoundFlow, ...]:
    """How many entered each round, and what became of them."""
    return tuple(_flow(number, [story for item in items if (story := item.in_round(number))]) for number in ROUND_NEEDS)


def _flow(number: int, stories: Sequence[RoundStory]) -> RoundFlow:
    outcomes = [story.outcome for story in stories]
    return RoundFlow(
        round=number,
        entered=len(stories),
        passed=outcomes.count("passed"),
        returned=outcomes.count("returned"),
        rejected=outcomes.count("rejected"),
        open=outcomes.count("open"),
        left=outcomes.count("left"),
        settled_by_person=sum(story.settled_by_person for story in stories),
        overruled=sum(story.overruled for story in stories),
    )


def _round(
    loaded: Loaded, number: int, verdicts: Sequence[Verdict], names: Mapping[str, str], is_open: bool
) -> RoundStory:
    deciding = [verdict for verdict in verdicts if verdict.decision is not Decision.UNKNOWN]
    by_check = [verdict.decision for verdict in deciding if not verdict.by_person]
    by_people = [verdict.decision for verdict in deciding if verdict.by_person]
    left_open = any(not verdict.by_person and verdict.decision is Decision.UNKNOWN for verdict in verdicts)
    outcome: Outcome = "open" if is_open else _OUTCOMES[deciding[-1].decision] if deciding else "left"
    return RoundStory(
        round=number,
        outcome=outcome,
        verdicts=tuple(_verdict(loaded.question, verdict, names) for verdict in verdicts),
        settled_by_person=number != 3
        and outcome != "open"
        and left_open
        and deciding[-1:] != []
        and deciding[-1].by_person,
        overruled=bool(by_check and by_people and by_check[-1] is not by_people[-1])
        or (outcome == "rejected" and loaded.was_reopened),
    )


def _verdict(question: Question, verdict: Verdict, names: Mapping[str, str]) -> VerdictStory:
    told = VerdictStory(
        decision=verdict.decision.value,
        codes=tuple(verdict.reason_codes),
        decider=names.get(verdict.decider, verdict.decider),
        by_person=verdict.by_person,
        comment=verdict.comment,
        at=verdict.created_at,
    )
    if verdict.by_person:
        return told
    gates, why, note = gate_stories(question, verdict)
    findings = tuple(Finding.model_validate(one) for one in verdict.evidence.get("findings", ()))
    evidence = verdict.evidence.get("reviews")
    reviews = None if evidence is None else Reviews.model_validate(evidence)
    return told.model_copy(
        update={
            "gates": gates,
            "why": (*why, *grounds_of(findings, told.codes, reviews)),
            "note": note,
            "findings": findings,
            "reviews": reviews,
            "flagged_at": verdict.evidence.get("thresholds", {}).get("flagged"),
        }
    )
