"""What a release covers: task type, modality combination, language."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from core.condition import SENSES
from core.question import Question


@dataclass(frozen=True)
class Cell:
    """How many questions share a task type, a combination of media (`image+audio`) and a language."""

    task_type: str
    modalities: str
    language: str
    count: int


def coverage(questions: Iterable[Question]) -> list[Cell]:
    """The cells that hold questions, by task type, combination and language."""
    counts = Counter((one.task_type, combination(one), one.language) for one in questions)
    return [Cell(*key, count) for key, count in sorted(counts.items())]


def combination(question: Question) -> str:
    """The media that the prompt holds, as `image+audio`; `text` when it holds none."""
    return "+".join(sense.value for sense in SENSES if sense in question.modalities) or "text"
