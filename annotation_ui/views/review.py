"""What the review page shows: a question without its key, then everything, and what is written about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from annotation_ui import labels
from annotation_ui.media_links import MediaLinks
from annotation_ui.permissions import Principal
from annotation_ui.reviewing.desk import Finished
from annotation_ui.views.changes import ChangeLine, change_lines
from annotation_ui.views.evidence import Marked, marked_media
from annotation_ui.views.item import StepView, VerdictLine, accepted_answers
from annotation_ui.views.notes import note_lines, told_lines
from annotation_ui.views.preview import Block, Option, options, part_blocks
from annotation_ui.words import N_, Words
from core.content import MediaPart, Modality
from core.question import Question, QuestionKind, choice_label
from qc.reasons import REASONS
from qc.review.blind import Background, OwnAnswer, ReviewView, ShownQuestion, Stage
from qc.review.disputes import DisputeView, GivenOpinion
from qc.review.revision_diff import Change
from qc.review.solves import Solves
from warehouse.blobs import BlobStore
from warehouse.tables import Decision

# When so little time is left, holding a task for longer is offered.
SHORT = timedelta(minutes=30)
DECISIONS: Mapping[Decision, str] = {
    Decision.PASS: N_("Pass"),
    Decision.RETURN: N_("Return to the author"),
    Decision.REJECT: N_("Reject"),
    Decision.UNKNOWN: N_("I cannot decide"),
}
_QUESTION, _CHOICES, _NEEDS = N_("Question and answer"), N_("Choices and steps"), N_("What it needs")
_MATERIALS, _OTHERS = N_("Materials and rights"), N_("Found by checks and models")
# What people give as a reason comes first; every code that is named nowhere here stands in the last group.
_GROUPS: Mapping[str, Sequence[str]] = {
    _QUESTION: (
        "ambiguous", "wrong_key", "not_unique", "unanswerable", "answer_leaked", "duplicate_question",
        "wrong_task_type", "wrong_language",
    ),
    _CHOICES: (
        "duplicate_choices", "key_stands_out", "key_positions", "bad_step_reference", "points_contradict_rubric",
    ),
    _NEEDS: (
        "answerable_from_text", "redundant_modality", "unhelpful_modality", "missing_modality", "leaking_step",
        "evidence_outside",        "too_easy", "twins_not_counterfactual", "twin_media",
    ),
    _MATERIALS: (
        "poor_material", "media_unusable", "bad_placeholder", "media_named", "inappropriate", "withdrawn",
        "contaminated",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class StageLine:
    """One of the stages of a review; `place` is `done`, `now` or `later`."""

    label: str
    place: str


@dataclass(frozen=True)
class Asked:
    """A question as somebody sees it who must not know its key."""

    kind: QuestionKind
    prompt: Sequence[Block]
    options: Sequence[Option]
    steps: Sequence[StepView]
    several: bool
    facts: Sequence[str]


@dataclass(frozen=True)
class AnswerLine:
    """One of somebody's answers; `mark` is `right`, `wrong`, `partly` or empty."""

    shown: str
    answer: str
    mark: str
    told: str


@dataclass(frozen=True)
class Revealed:
    """A question with its key, what the author noted, and what was decided before."""

    prompt: Sequence[Block]
    options: Sequence[Option]
    steps: Sequence[StepView]
    accepted: Sequence[str]
    grader: str
    required: str
    marked: Sequence[Marked]
    notes: Sequence[tuple[str, str]]
    rounds: Mapping[int, Sequence[VerdictLine]]
    changes: Sequence[ChangeLine] | None


@dataclass(frozen=True)
class OpinionLine:
    """What one reviewer said, for the maintainer who decides between them."""

    verdict: VerdictLine
    answers: Sequence[AnswerLine]
    suggestions: Sequence[ChangeLine]


@dataclass(frozen=True)
class FinishedLine:
    """One of one's last reviews."""

    item: str
    decision: str
    decision_label: str
    reasons: str
    when: str


def stage_lines(view: ReviewView, t: Words) -> list[StageLine]:
    """Where the review stands; a question without media has no first stage."""
    named = {
        Stage.PARTIAL: t("One kind of material hidden"),
        Stage.FULL: t("With everything"),
        Stage.VERDICT: t("Your verdict"),
    }
    order = list(named)
    now = order.index(view.stage)
    return [
        StageLine(named[stage], "now" if at == now else "done" if at < now else "later")
        for at, stage in enumerate(order)
        if stage is not Stage.PARTIAL or has_partial(view)
    ]


def has_partial(view: ReviewView) -> bool:
    """Whether the review begins with something hidden."""
    if view.revealed is not None:
        return len(view.revealed.answers) > 1
    return view.stage is Stage.PARTIAL or any(isinstance(part, MediaPart) for part in view.shown.prompt)


def asked(shown: ShownQuestion, links: MediaLinks, who: Principal, blobs: BlobStore, t: Words) -> Asked:
    """The question as the workshop lets it be shown: what is hidden is not in it, and gets no address."""
    return Asked(
        kind=shown.kind,
        prompt=part_blocks(shown.prompt, links, who.user_id, blobs, t),
        options=[Option(choice_label(place), text) for place, text in enumerate(shown.choices)],
        steps=[StepView(step.ask, step.points, (), "") for step in shown.steps],
        several=shown.several_are_right,
        facts=[
            t(labels.KINDS[shown.kind]),
            labels.task_type(t, shown.task_type),
            labels.question_language(t, shown.language),
        ],
    )


def revealed(background: Background, links: MediaLinks, who: Principal, blobs: BlobStore, t: Words) -> Revealed:
    """The question with its key and history, for who may know them."""
    question = background.question
    rounds: dict[int, list[VerdictLine]] = {}
    for verdict in background.verdicts:
        line = VerdictLine(
            who=verdict.decider,
            by_person=verdict.by_person,
            decision=verdict.decision,
            decision_label=t(labels.DECISIONS[Decision(verdict.decision)]),
            reasons=[labels.reason(t, code) for code in verdict.reason_codes],
            comment=verdict.comment or "",
            evidence=told_lines(verdict.evidence),
            when="",
        )
        rounds.setdefault(verdict.round, []).append(line)
    marked, other_notes = marked_media(background.notes, question.prompt, links, who.user_id, blobs, t)
    return Revealed(
        prompt=part_blocks(question.prompt, links, who.user_id, blobs, t),
        options=options(question, key_visible=True),
        steps=[
            StepView(step.ask, step.points, accepted_answers(step.answer), step.rubric or "") for step in question.steps
        ],
        accepted=accepted_answers(question.answer),
        grader=question.answer.grader or "",
        required=labels.modality_set(t, question.required),
        marked=marked,
        notes=note_lines(other_notes, t),
        rounds=rounds,
        changes=None if background.changes is None else change_lines(background.changes, t),
    )


def answer_lines(question: Question, answers: Sequence[OwnAnswer], t: Words) -> list[AnswerLine]:
    """Somebody's blind answers, with the words of the choices that they chose."""
    return [_answer_line(question, one, t) for one in answers]


def opinion_lines(view: DisputeView, names: Mapping[str, str], now: datetime, t: Words) -> list[OpinionLine]:
    """What the reviewers said who could not settle it."""
    return [_opinion_line(view.background.question, one, names, now, t) for one in view.opinions]


def solve_lines(solves: Sequence[Solves], t: Words) -> list[str]:
    """How other reviewers answered."""
    return [
        t("{shown}: {right} of {answered} right", shown=_shown(one.hidden, t), right=one.right, answered=one.answered)
        + (t(", {count} not graded", count=one.ungraded) if one.ungraded else "")
        for one in solves
    ]


def finished_lines(found: Sequence[Finished], now: datetime, t: Words) -> list[FinishedLine]:
    """One's last reviews; what came of them is not told."""
    return [
        FinishedLine(
            item=one.item,
            decision=one.decision.value,
            decision_label=t(labels.DECISIONS[one.decision]),
            reasons=t("; ").join(labels.reason(t, code) for code in one.reason_codes),
            when=t.ago(one.at, now),
        )
        for one in found
    ]


def reason_labels(t: Words) -> dict[str, str]:
    """Every reason code with its words and group, what people say first."""
    grouped = {code: group for group, codes in _GROUPS.items() for code in codes}
    ordered = [code for codes in _GROUPS.values() for code in codes if code in REASONS]
    ordered += [code for code in REASONS if code not in grouped]
    return {code: f"{_reason(t, code)} · {t(grouped.get(code, _OTHERS))}" for code in ordered}


def part_text(question: Question, part: str) -> str | None:
    """What a part of a question says now, to begin a suggestion from; None for media."""
    kind, _, name = part.partition(" ")
    match kind:
        case "prompt":
            return question.prompt_text
        case "choice":
            return next(one.text for at, one in enumerate(question.choices) if choice_label(at) == name)
        case "step":
            return question.steps[int(name) - 1].ask
        case "answer":
            return "; ".join(question.answer.accepted) or ", ".join(map(choice_label, question.answer.correct))
    return None


def time_left(expires_at: datetime, now: datetime, t: Words) -> str:
    """How long a task is still one's own, in hours and minutes."""
    minutes = max(int((expires_at - now).total_seconds()) // 60, 1)
    hours, rest = divmod(minutes, 60)
    if hours:
        return t("{hours} h {minutes} min", hours=hours, minutes=rest)
    return t("{minutes} min", minutes=rest)


def _reason(t: Words, code: str) -> str:
    """In English with the code, which other pages and the command line say, so that it is found by it too."""
    words = labels.reason(t, code)
    return words if t.language == "zh" else f"{code.replace('_', ' ')}: {words}"


def _answer_line(question: Question, given: OwnAnswer, t: Words) -> AnswerLine:
    marks = {1.0: ("right", t("right")), 0.0: ("wrong", t("not right"))}
    if given.points is None:
        mark, words = "", "" if given.answer is None else t("not graded")
    else:
        points = t.number(round(10 * given.points, 1))
        mark, words = marks.get(given.points, ("partly", t("{points} of 10 points", points=points)))
    answer = t("could not tell") if given.answer is None else _with_choices(question, given.answer)
    return AnswerLine(_shown(given.hidden, t), answer, mark, words)


def _with_choices(question: Question, answer: str) -> str:
    """Letters with the texts behind them; anything else as it was written."""
    letters = answer.split(", ")
    by_letter = {choice_label(at): choice.text for at, choice in enumerate(question.choices)}
    if not by_letter or not set(letters) <= set(by_letter):
        return answer
    return "\n".join(f"{letter}. {by_letter[letter]}" for letter in letters)


def _shown(hidden: Modality | None, t: Words) -> str:
    if hidden is None:
        return t("With everything")
    return t("Without {modality}", modality=t(labels.MODALITIES[hidden]).lower())


def _opinion_line(
    question: Question, given: GivenOpinion, names: Mapping[str, str], now: datetime, t: Words
) -> OpinionLine:
    verdict = VerdictLine(
        who=names.get(given.reviewer, given.reviewer),
        by_person=True,
        decision=given.decision.value,
        decision_label=t(labels.DECISIONS[given.decision]),
        reasons=[labels.reason(t, code) for code in given.reason_codes],
        comment=given.comment or "",
        evidence=(),
        when=t.ago(given.given_at, now),
    )
    edits = [
        Change(part=part, how="changed", before=part_text(question, part), after=text)
        for part, text in given.suggested_edit.items()
    ]
    return OpinionLine(verdict, answer_lines(question, given.answers, t), change_lines(edits, t))
