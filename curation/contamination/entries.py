"""What a public benchmark consists of for an index: questions with their texts, and media that can be looked at."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from core.content import TextPart
from core.question import Question, Step, choice_label
from curation.contamination.texts import Document


@dataclass(frozen=True)
class PublicText:
    """A question of a benchmark under the benchmark's own id."""

    id: str
    document: Document


@dataclass(frozen=True)
class PublicMedium:
    """A medium of a benchmark: its name there, the questions that show it, and how its file is had.

    `open` gives a file that is there until its context ends.
    """

    id: str
    questions: tuple[str, ...]
    open: Callable[[], AbstractContextManager[Path]]


@dataclass(frozen=True)
class Source:
    """A benchmark as it comes; `origin` says from where."""

    name: str
    origin: str
    texts: tuple[PublicText, ...]
    media: tuple[PublicMedium, ...]
    version: str | None = None
    licence: str | None = None


def document_of(question: Question) -> Document:
    """The texts of a question: prompt and steps, and its choices."""
    prompt = [part.text for part in question.prompt if isinstance(part, TextPart)]
    return document_from(prompt, question.steps, [choice.text for choice in question.choices])


def document_from(prompt: Iterable[str], steps: Iterable[Step], choices: Iterable[str]) -> Document:
    """The texts of a question by its parts."""
    asked = [(f"step {number}", step.ask) for number, step in enumerate(steps, start=1)]
    offered = [(f"choice {choice_label(place)}", choice) for place, choice in enumerate(choices)]
    return Document.of([("prompt", " ".join(prompt)), *asked], offered)


def merged_media(media: Iterable[PublicMedium]) -> tuple[PublicMedium, ...]:
    """Each medium once, in the order of ids, with all questions that show it."""
    by_id: dict[str, PublicMedium] = {}
    for one in media:
        known = by_id.get(one.id, one)
        questions = tuple(sorted({*known.questions, *one.questions}))
        by_id[one.id] = PublicMedium(one.id, questions, known.open)
    return tuple(by_id[name] for name in sorted(by_id))
