"""What somebody fills in, and the text that it stands for: as a model writes it, so that one grader reads both."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from core.content import Frozen
from core.question import Question, QuestionKind, choice_label
from evaluation.prompts import letters_text, steps_text

MOST_CHARACTERS = 4_000
MOST_STEPS = 40
Confidence = Literal[0, 25, 50, 75, 100]
CONFIDENCES: tuple[Confidence, ...] = (0, 25, 50, 75, 100)


def _without_nul(text: str) -> str:
    """PostgreSQL refuses it."""
    return text.replace("\x00", "")


class Sheet(Frozen):
    """An answer as it is filled in: chosen places of choices, or a text for the question or each step.

    `confidence` is in percent; None where it is not said.
    """

    chosen: tuple[Annotated[int, Field(ge=0, le=25)], ...] = ()
    texts: tuple[Annotated[str, Field(max_length=MOST_CHARACTERS), AfterValidator(_without_nul)], ...] = Field(
        default=(), max_length=MOST_STEPS
    )
    cannot_tell: bool = False
    confidence: Confidence | None = None


def answer_text(question: Question, sheet: Sheet) -> str:
    """The answer as a model gives it; empty where nothing is filled in, or where it names what there is not."""
    match question.kind:
        case QuestionKind.CHOICE:
            count = len(question.choices)
            is_one = len(question.answer.correct) == 1
            chosen = sorted(set(sheet.chosen))
            if any(place >= count for place in chosen) or (is_one and len(chosen) > 1):
                return ""
            return letters_text([choice_label(place) for place in chosen])
        case QuestionKind.MULTI_STEP:
            return steps_text(sheet.texts[: len(question.steps)], question.language)
        case QuestionKind.OPEN:
            return sheet.texts[0].strip() if sheet.texts else ""
