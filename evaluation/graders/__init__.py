"""Graders: stored answers to points, by rule; one registry, and the grader that a question asks for."""

from dataclasses import replace

from core.errors import InterplayError
from core.grading import Grade
from core.provenance import content_hash
from core.question import AnswerKey, Question, QuestionKind
from core.registry import Entry, Registry
from evaluation.graders.base import Grader
from evaluation.graders.verdicts import Mark, Verdict, Why

GRADERS: Registry[Grader] = Registry(
    "graders",
    (
        Entry("bleu_1", "1", "evaluation.graders.bleu:BLEU_1"),
        Entry("choice", "2", "evaluation.graders.choice:CHOICE"),
        Entry("enumeration", "2", "evaluation.graders.enumeration:ENUMERATION"),
        Entry("multi_step", "2", "evaluation.graders.multi_step:MULTI_STEP"),
        Entry("number", "3", "evaluation.graders.number:NUMBER"),
        Entry("ocr_substring", "1", "evaluation.graders.ocr_substring:OCR_SUBSTRING"),
        Entry("ordered_enumeration", "2", "evaluation.graders.enumeration:ORDERED_ENUMERATION"),
        Entry("short_text", "2", "evaluation.graders.short_text:SHORT_TEXT"),
        # Grades by number, short_text and yes_no: a new version of theirs is one of its own.
        Entry("spoken_qa", "2", "evaluation.graders.spoken_qa:SPOKEN_QA"),
        Entry("yes_no", "2", "evaluation.graders.yes_no:YES_NO"),
    ),
)
DEFAULT_GRADER = "short_text"


def grader_for(question: Question) -> Entry[Grader]:
    """The grader of a question: by its kind, and for open questions the one that the key names.

    The version for a multi-step question tells those of its steps' graders too, so that its answers are graded again
    when one of these is new.

    Raises:
        UnknownName: The key names no registered grader.
    """
    match question.kind:
        case QuestionKind.CHOICE:
            return GRADERS["choice"]
        case QuestionKind.MULTI_STEP:
            entry = GRADERS["multi_step"]
            steps = sorted({_fingerprint(step.answer) for step in question.steps})
            return replace(entry, version=f"{entry.version}-{content_hash(steps)[:8]}")
        case QuestionKind.OPEN:
            return grader_for_key(question.answer)


def grader_for_key(key: AnswerKey) -> Entry[Grader]:
    """The grader of an open question or a step.

    Raises:
        UnknownName: The key names no registered grader.
    """
    return GRADERS[key.grader or DEFAULT_GRADER]


def _fingerprint(key: AnswerKey) -> str:
    """That of the key's grader, without a version where it cannot be had: what is said of it changes once it can."""
    try:
        entry = grader_for_key(key)
        entry.load()
    except InterplayError:
        return key.grader or DEFAULT_GRADER
    return entry.fingerprint


def invalid(question: Question, state: str, grader: str) -> Grade:
    """The grade of a response that is no answer: zero points, counted apart by its reason `invalid: <state>: ...`.

    Args:
        question: What was asked.
        state: One of `evaluation.grade.INVALID_STATES`, as the response was stored.
        grader: The fingerprint that signs the grade.
    """
    mark = Mark(Verdict.INVALID, "the response holds no answer", Why(state))
    return mark.signed(grader).model_copy(update={"step_points": (0.0,) * len(question.steps)})
