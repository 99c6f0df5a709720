"""Graders: stored answers to points, by rule; one registry, and the grader that a question asks for."""

from core.grading import Grade
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
        Entry("number", "2", "evaluation.graders.number:NUMBER"),
        Entry("ocr_substring", "1", "evaluation.graders.ocr_substring:OCR_SUBSTRING"),
        Entry("ordered_enumeration", "2", "evaluation.graders.enumeration:ORDERED_ENUMERATION"),
        Entry("short_text", "2", "evaluation.graders.short_text:SHORT_TEXT"),
        Entry("spoken_qa", "1", "evaluation.graders.spoken_qa:SPOKEN_QA"),
        Entry("yes_no", "2", "evaluation.graders.yes_no:YES_NO"),
    ),
)
DEFAULT_GRADER = "short_text"


def grader_for(question: Question) -> Entry[Grader]:
    """The grader of a question: by its kind, and for open questions the one that the key names.

    Raises:
        UnknownName: The key names no registered grader.
    """
    match question.kind:
        case QuestionKind.CHOICE:
            return GRADERS["choice"]
        case QuestionKind.MULTI_STEP:
            return GRADERS["multi_step"]
        case QuestionKind.OPEN:
            return grader_for_key(question.answer)


def grader_for_key(key: AnswerKey) -> Entry[Grader]:
    """The grader of an open question or a step.

    Raises:
        UnknownName: The key names no registered grader.
    """
    return GRADERS[key.grader or DEFAULT_GRADER]


def invalid(question: Question, state: str, grader: str) -> Grade:
    """The grade of a response that is no answer: zero points, counted apart by its reason `invalid: <state>: ...`.

    Args:
        question: What was asked.
        state: `refusal`, `truncated` or `empty`, as the response was stored.
        grader: The fingerprint that signs the grade.
    """
    mark = Mark(Verdict.INVALID, "the response holds no answer", Why(state))
    return mark.signed(grader).model_copy(update={"step_points": (0.0,) * len(question.steps)})
