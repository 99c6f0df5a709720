"""What a draft still lacks, and what the automatic checks say of it: shown while it is written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlmodel import Session, col, or_, select

from annotation_ui.drafting.content import DraftContent, DraftStep
from annotation_ui.item_files import BadRecord, Record, parse_record, question_of
from annotation_ui.words import Words
from core.content import PLACEHOLDER
from core.errors import UnknownName
from core.question import POINTS_TOTAL, Question, QuestionKind, choice_label
from core.taxonomy import load_taxonomy
from evaluation.graders.choice import MOST_OPTIONS
from qc.checks import Finding, Subject, run_checks
from qc.checks.asked import Asked
from qc.checks.evidence import marks_outside
from qc.checks.key_positions import key_position_balance
from qc.checks.media_state import not_kept
from qc.checks.twins import twin_problems
from qc.reasons import Words as ReasonWords
from warehouse.tables import DuplicateLink, Item, ItemRevision, ItemState, Material, MaterialState, RevisionMedia
from warehouse.verdicts import names_of

UNNAMED = "draft"
RECENT_KEYS = 200
"""Of so many of an author's last items the places of the keys are looked at."""

_FIELDS = {
    "missing_modality": "required",
    "unknown_task_type": "task_type",
    "wrong_task_type": "task_type",
    "wrong_language": "language",
    "bad_placeholder": "prompt",
    "media_named": "prompt",
    "answer_leaked": "prompt",
    "duplicate_question": "prompt",
    "duplicate_choices": "choices",
    "key_stands_out": "choices",
    "key_positions": "choices",
    "bad_step_reference": "steps",
    "points_contradict_rubric": "steps",
    "media_unusable": "media",
    "evidence_outside": "evidence",
    "twins_not_counterfactual": "twin_group",
    "twin_media": "twin_group",
}
"""Beside which field a finding is shown; others stand below the form."""


@dataclass(frozen=True)
class Note:
    """Something about a draft, in the reader's words, beside a field (`choices.1`, `steps.0.points`, or empty).

    What is `missing` or an `error` keeps the draft from being handed in, a `warning` does not.
    """

    field: str
    severity: Literal["missing", "error", "warning"]
    text: str
    code: str = ""


@dataclass(frozen=True)
class Checked:
    """A draft's notes; `question` is there as soon as its parts make one."""

    notes: Sequence[Note]
    question: Question | None

    @property
    def is_ready(self) -> bool:
        """Whether it can be handed in."""
        return self.question is not None and all(note.severity == "warning" for note in self.notes)


def check_draft(session: Session, author: str, content: DraftContent, item: Item | None, t: Words) -> Checked:
    """What is missing first; as soon as nothing is, the same checks that round 1 runs.

    Args:
        session: Of the database.
        author: Id of who writes it.
        content: The draft.
        item: What it will revise.
        t: The reader's words.
    """
    materials = materials_of(session, content)
    notes = [*_gaps(content, t), *_media_gaps(content, materials, t)]
    evidence = {place: one.model_dump(exclude_none=True) for place, one in content.evidence.items()}
    if notes:
        marked = marks_outside({place: material.media_ref for place, material in materials.items()}, evidence)
        return Checked([*notes, *(_note(finding, t) for finding in marked)], None)
    name = item.name if item else content.name or UNNAMED
    try:
        question = as_question(content, name, materials)
    except BadRecord as error:
        return Checked([Note("", "error", str(error))], None)
    others = _asked_about(session, list(materials.values()), item).beside(name, question)
    found = run_checks(Subject(question, others, tuple(_unusable(materials)), evidence))
    found += _twin_findings(session, content, question, item)
    if question.kind is QuestionKind.CHOICE:
        balance = key_position_balance([*_own_questions(session, author, item), question])
        found += [balance] if balance else []
    return Checked([_note(finding, t) for finding in found], question)


def as_question(content: DraftContent, name: str, materials: Mapping[str, Material]) -> Question:
    """The question that the draft says.

    Raises:
        BadRecord: Its parts do not fit together.
    """
    written = parse_record(Record(name, content.as_record(name)))
    return question_of(written, {place: material.media_ref for place, material in materials.items()})


def materials_of(session: Session, content: DraftContent) -> dict[str, Material]:
    """The materials behind placeholders, in their order; unknown ones are left out."""
    found = session.exec(select(Material).where(col(Material.id).in_(list(content.media.values()))))
    by_id = {material.id: material for material in found}
    return {place: by_id[id_] for place, id_ in sorted(content.media.items()) if id_ in by_id}


def _gaps(content: DraftContent, t: Words) -> Iterator[Note]:
    if not content.task_type:
        yield _missing("task_type", t("Choose a task type."))
    else:
        try:
            load_taxonomy().get(content.task_type)
        except UnknownName:
            yield Note("task_type", "error", t("This task type is not in the taxonomy. Choose another one."))
    if not content.language:
        yield _missing("language", t("Choose the language of the question."))
    if not PLACEHOLDER.sub("", content.prompt).strip():
        yield _missing("prompt", t("Write the question."))
    if not content.required:
        yield _missing("required", t("Mark the modalities that the question needs."))
    yield from _KIND_GAPS[content.kind](content, t)


def _choice_gaps(content: DraftContent, t: Words) -> Iterator[Note]:
    if len(content.choices) < 2:
        yield _missing("choices", t("Write at least two choices."))
    if len(content.choices) > MOST_OPTIONS:
        yield Note("choices", "error", t("There are more choices than letters. Leave some out."))
    for place, text in enumerate(content.choices):
        if not text.strip():
            yield _missing(f"choices.{place}", t("Choice {label} is empty.", label=choice_label(place)))
    right = [place for place in content.correct if place < len(content.choices)]
    if not right or len(right) < len(content.correct):
        yield _missing("correct", t("Mark the right choice."))


def _open_gaps(content: DraftContent, t: Words) -> Iterator[Note]:
    yield from _answer_gaps(content, "accepted", t)


def _step_gaps(content: DraftContent, t: Words) -> Iterator[Note]:
    if not content.steps:
        yield _missing("steps", t("Add the first step."))
    for place, step in enumerate(content.steps):
        if not step.ask.strip():
            yield _missing(f"steps.{place}.ask", t("Say what step {number} asks.", number=place + 1))
        if not step.points:
            yield _missing(f"steps.{place}.points", t("Give step {number} its points.", number=place + 1))
        yield from _answer_gaps(step, f"steps.{place}.accepted", t)
    total = sum(step.points or 0 for step in content.steps)
    if content.steps and total != POINTS_TOTAL:
        text = t("The points of all steps sum to {total}; they must sum to {wanted}.", total=total, wanted=POINTS_TOTAL)
        yield Note("steps", "error", text)


def _answer_gaps(given: DraftContent | DraftStep, field: str, t: Words) -> Iterator[Note]:
    if not given.accepted or not all(answer.strip() for answer in given.accepted):
        yield _missing(field, t("Write the answer, and leave no accepted answer empty."))


_KIND_GAPS = {
    QuestionKind.CHOICE: _choice_gaps,
    QuestionKind.OPEN: _open_gaps,
    QuestionKind.MULTI_STEP: _step_gaps,
}


def _media_gaps(content: DraftContent, materials: Mapping[str, Material], t: Words) -> Iterator[Note]:
    named = set(PLACEHOLDER.findall(content.prompt))
    if not content.media and not named:
        yield _missing("media", t("Choose the materials that the question shows."))
    for place in sorted(named - set(content.media)):
        yield Note("prompt", "error", t("No material stands behind <{place}>. Choose one, or remove it.", place=place))
    for place in sorted(set(content.media) - named):
        yield _missing("prompt", t("Write <{place}> where it belongs in the question.", place=place))
    for place in sorted(set(content.media) - set(materials)):
        yield Note("media", "error", t("The material behind <{place}> is gone. Choose another one.", place=place))


def _unusable(materials: Mapping[str, Material]) -> Iterator[ReasonWords]:
    for place, material in materials.items():
        if material.state != MaterialState.KEPT:
            yield not_kept(place, material.state)


def _asked_about(session: Session, materials: Sequence[Material], item: Item | None) -> Asked:
    """Questions of other items that show one of the materials, or a near-duplicate of one."""
    alike = {material.media["sha256"]: material for material in materials}
    ids = [material.id for material in alike.values()]
    first, second = col(DuplicateLink.first_id), col(DuplicateLink.second_id)
    links = session.exec(select(DuplicateLink).where(or_(first.in_(ids), second.in_(ids)), DuplicateLink.shows_same()))
    stands_for: dict[str, str] = {}
    own = {material.id: material.media["sha256"] for material in materials}
    for link in links:
        for mine, other in ((link.first_id, link.second_id), (link.second_id, link.first_id)):
            if mine in own:
                stands_for.setdefault(other, own[mine])
    near = session.exec(select(Material).where(col(Material.id).in_(list(stands_for)))).all()
    same_as = {one.media["sha256"]: stands_for[one.id] for one in near if one.id not in own}
    # Not a join made distinct: PostgreSQL compares no JSON.
    showing = select(RevisionMedia.revision_id).where(col(RevisionMedia.material_id).in_([*ids, *stands_for]))
    query = (
        select(Item.name, ItemRevision)
        .join(ItemRevision, col(Item.current_revision_id) == col(ItemRevision.id))
        .where(col(ItemRevision.id).in_(showing), col(Item.state) != ItemState.REJECTED)
    )
    if item is not None:
        query = query.where(Item.id != item.id)
    return Asked(((name, revision.as_question()) for name, revision in session.exec(query)), same_as)


def _twin_findings(session: Session, content: DraftContent, question: Question, item: Item | None) -> list[Finding]:
    if not content.twin_group:
        return []
    query = (
        select(ItemRevision)
        .join(Item, col(Item.current_revision_id) == col(ItemRevision.id))
        .where(Item.twin_group == content.twin_group, col(Item.state) != ItemState.REJECTED)
        .order_by(Item.name)
    )
    if item is not None:
        query = query.where(Item.id != item.id)
    return twin_problems([*(revision.as_question() for revision in session.exec(query)), question])


def _own_questions(session: Session, author: str, item: Item | None) -> list[Question]:
    """An author's last questions, of which the places of the keys are counted."""
    query = (
        select(ItemRevision)
        .join(Item, col(Item.current_revision_id) == col(ItemRevision.id))
        .where(col(ItemRevision.author).in_(names_of(session, author)), col(Item.state) != ItemState.REJECTED)
        .order_by(col(ItemRevision.created_at).desc(), col(ItemRevision.id))
        .limit(RECENT_KEYS)
    )
    if item is not None:
        query = query.where(Item.id != item.id)
    return [revision.as_question() for revision in session.exec(query)]


def _missing(field: str, text: str) -> Note:
    return Note(field, "missing", text)


def _note(finding: Finding, t: Words) -> Note:
    return Note(_FIELDS.get(finding.code, ""), finding.severity, finding.text(t.language), finding.code)
