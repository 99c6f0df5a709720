"""One item as quality control saw it: why the gates decided so, and what each model answered under each condition."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, select

from annotation_ui import labels
from annotation_ui.people import display_names
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.told import Told
from annotation_ui.views.item import is_kept_blind, may_see_key, refuse_spoiled
from annotation_ui.views.quality import SolveLine, interval, outcome_words, solve_lines
from annotation_ui.views.quality_items import SUSPECT_KEY
from annotation_ui.views.quality_words import qc_words, share
from annotation_ui.words import N_, Words
from core.question import choice_label
from qc.model_review import CODES, Reviews
from qc.report.answers import mark_of
from qc.report.build import revision_story
from qc.report.document import Answer, GateStory, ItemStory, ModelAnswers, RoundStory, VerdictStory
from qc.report.why import condition_words
from warehouse.items import current_revision, get_item
from warehouse.spreadsheets import Cell
from warehouse.tables import Decision, Item, ItemRevision
from warehouse.workspace import Workspace


class StillBlind(Told):
    """What models answered tells the key, which somebody who may still judge the item must not know."""

    text = N_("What models answered shows once you have judged this item, or when its review is over.")


class StillBlindToAll(StillBlind):
    """The same for somebody who may be given settled items too."""

    text = N_("What models answered shows once you have judged this item.")


@dataclass(frozen=True)
class GateWords:
    """Votes under one condition; `choices` are label, share, whether it is the key; `counts` valid/asked/planned."""

    shown: str
    says: str
    says_label: str
    solved: str
    range: str
    counts: str
    choices: Sequence[tuple[str, str, bool]]
    steps: Sequence[tuple[int, str, bool]]
    why: str


@dataclass(frozen=True)
class VerdictWords:
    """One verdict; `objections` are family, what it objects to, its words; `asides` are findings without effect."""

    who: str
    decision: str
    decision_label: str
    when: str
    reasons: Sequence[str]
    comment: str
    why: Sequence[str]
    gates: Sequence[GateWords]
    objections: Sequence[tuple[str, str, str]]
    asides: Sequence[str]


@dataclass(frozen=True)
class RoundWords:
    """What one round did with the revision."""

    name: str
    outcome: str
    outcome_label: str
    overruled: bool
    verdicts: Sequence[VerdictWords]


@dataclass(frozen=True)
class AnswerCell:
    """A mark for each rotation, and how many of the answers that could be read are right."""

    marks: str
    right: int
    valid: int


@dataclass(frozen=True)
class AnswerTable:
    """Rows are conditions, columns models; None where a model was not asked."""

    models: Sequence[str]
    rows: Sequence[tuple[str, Sequence[AnswerCell | None]]]


@dataclass(frozen=True)
class AnswerLine:
    """One response."""

    model: str
    condition: str
    rotation: int
    mark: str
    is_right: bool | None
    state: str
    text: str


@dataclass(frozen=True)
class ItemQuality:
    """All that quality control tells of one revision; `suspect` says for which other choice the panel stands."""

    name: str
    revision: int
    why: Sequence[str]
    reasons: Sequence[str]
    suspect: Sequence[str]
    rounds: Sequence[RoundWords]
    table: AnswerTable
    story: ItemStory
    solves: Sequence[SolveLine]


def item_quality(
    workspace: Workspace, who: Principal, name: str, number: int | None, now: datetime, t: Words
) -> ItemQuality:
    """One revision of an item, the current one unless another is named.

    Raises:
        NotAllowed: The person may not see results.
        UnknownName: There is no such item.
        UnderYourReview, InYourExam: As `views.item.refuse_spoiled`.
        StillBlind: They may still have to judge it.
    """
    require(who, Permission.SEE_RESULTS)
    with workspace.database.reading() as session:
        item = get_item(session, name)
        allowed = _allowed(session, who, item, number, now)
    # By its number: another revision that comes at this moment is judged blind again.
    story = revision_story(workspace, name, allowed)
    deciders = {verdict.decider for one in story.rounds for verdict in one.verdicts}
    with workspace.database.reading() as session:
        names = display_names(session, deciders)
    return ItemQuality(
        name=story.name,
        revision=story.revision,
        why=[why.text(t.language) for why in story.why],
        reasons=[labels.reason(t, code) for code in story.reason_codes],
        suspect=_suspect(story, t),
        rounds=[_round(one, names, t) for one in story.rounds],
        table=_table(story.table, t),
        story=story,
        solves=solve_lines(story.solves, t),
    )


def answer_lines(
    story: ItemStory, t: Words, model: str | None = None, condition: str | None = None
) -> list[AnswerLine]:
    """The responses behind the table, in the order asked."""
    words = qc_words(t.language)
    return [
        AnswerLine(
            model=one.model,
            condition=condition_words(one.condition).text(t.language),
            rotation=one.rotation,
            mark=mark_of(one),
            is_right=one.right,
            state="" if one.state == "ok" else words.get(f"state_{one.state}", one.state),
            text=one.answer or one.error or "",
        )
        for one in _of_question(story)
        if model in (None, one.model) and condition in (None, one.condition)
    ]


def conditions(story: ItemStory, t: Words) -> dict[str, str]:
    """Conditions that models were asked under, in words."""
    return {one.condition: condition_words(one.condition).text(t.language) for one in story.table}


def answer_columns(t: Words) -> list[str]:
    """The head of the table of responses that people save."""
    words = qc_words(t.language)
    return [words[name] for name in ("model", "condition", "rotation", "says", "right", "status", "answer")]


def answer_rows(story: ItemStory, t: Words) -> Iterator[list[Cell]]:
    """All responses, for `answer_columns`."""
    for one in answer_lines(story, t):
        yield [one.model, one.condition, one.rotation, one.mark, one.is_right, one.state, one.text]


def _allowed(session: Session, who: Principal, item: Item, number: int | None, now: datetime) -> int:
    """The number of the revision that is shown, if the person may know what was answered about it."""
    refuse_spoiled(session, who, item, now)
    revisions = session.exec(select(ItemRevision).where(ItemRevision.item_id == item.id)).all()
    current = current_revision(session, item)
    shown = next((revision for revision in revisions if revision.number == number), current)
    if not may_see_key(session, who, item, shown.id):
        raise StillBlindToAll if is_kept_blind(session, who) else StillBlind
    return shown.number


def _of_question(story: ItemStory) -> list[Answer]:
    """Reviews of the question itself are no answers to it."""
    asked = {cell.condition for cell in story.table}
    return [one for one in story.answers if one.condition in asked]


def _suspect(story: ItemStory, t: Words) -> list[str]:
    verdicts = [verdict for one in story.rounds for verdict in one.verdicts if SUSPECT_KEY in verdict.codes]
    return [why.text(t.language) for verdict in verdicts for why in verdict.why]


def _round(story: RoundStory, names: Mapping[str, str], t: Words) -> RoundWords:
    return RoundWords(
        name=qc_words(t.language)[f"round_{story.round}"],
        outcome=story.outcome,
        outcome_label=outcome_words(story.outcome, t),
        overruled=story.overruled,
        verdicts=[_verdict(verdict, names, t) for verdict in story.verdicts],
    )


def _verdict(verdict: VerdictStory, names: Mapping[str, str], t: Words) -> VerdictWords:
    told = {gate.why for gate in verdict.gates}
    why = [one.text(t.language) for one in verdict.why if one not in told]
    return VerdictWords(
        who=names[verdict.decider],
        decision=verdict.decision,
        decision_label=t(labels.DECISIONS[Decision(verdict.decision)]),
        when=t.moment(verdict.at),
        reasons=[labels.reason(t, code) for code in verdict.codes],
        comment=verdict.comment or "",
        why=[*why, *([verdict.note.text(t.language)] if verdict.note else [])],
        gates=[_gate(gate, t) for gate in verdict.gates],
        objections=_objections(verdict.reviews, t),
        asides=[f"{labels.reason(t, one.code)}: {one.text(t.language)}" for one in verdict.asides],
    )


def _gate(gate: GateStory, t: Words) -> GateWords:
    votes, (low, high) = gate.votes, gate.votes.solved_range
    return GateWords(
        shown=gate.shown.text(t.language),
        says=gate.says,
        says_label=qc_words(t.language)[f"says_{gate.says}"],
        solved=share(votes.solved, t),
        range=interval(low, high, t) if votes.remaining else "",
        counts=f"{votes.valid} / {votes.asked} / {votes.planned}",
        choices=[(choice_label(at), t.percent(one), at in votes.key) for at, one in enumerate(votes.shares)],
        steps=[(at, t.percent(one), at in gate.leaking) for at, one in enumerate(votes.step_shares, start=1)],
        why=gate.why.text(t.language),
    )


def _objections(reviews: Reviews | None, t: Words) -> list[tuple[str, str, str]]:
    objections = reviews.objections.items() if reviews else ()
    return [(one.family, labels.reason(t, CODES[aspect]), one.words) for aspect, said in objections for one in said]


def _table(cells: Sequence[ModelAnswers], t: Words) -> AnswerTable:
    models = sorted({cell.model for cell in cells})
    by_place = {(cell.condition, cell.model): AnswerCell(cell.text, cell.right, cell.valid) for cell in cells}
    rows = [
        (condition_words(name).text(t.language), [by_place.get((name, model)) for model in models])
        for name in dict.fromkeys(cell.condition for cell in cells)
    ]
    return AnswerTable(models, rows)
