"""Questions to units: every model, item, condition and rotation that is asked, and how often."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from core.condition import Condition
from core.content import Message
from core.question import Question
from evaluation.asking import Unit, fingerprint_of
from evaluation.models.catalogue import ModelSpec
from evaluation.prompts import render
from warehouse.tables import ItemRevision


@dataclass(frozen=True)
class Showing:
    """A question as shown under a condition, with the choices turned by `rotation` places; the same for every model."""

    original: Question
    condition: Condition
    rotation: int = 0

    @cached_property
    def question(self) -> Question:
        """As a model is shown it."""
        return self.condition.apply(self.original).rotated(self.rotation)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The turns, media by content."""
        return render(self.question)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over the messages."""
        return fingerprint_of(self.messages)

    @cached_property
    def columns(self) -> Mapping[str, Any]:
        """What the response is stored under."""
        return {
            "condition": self.condition.name,
            "condition_fingerprint": self.condition.fingerprint,
            "kind": self.question.kind.value,
            "rotation": self.rotation,
        }


def plan(
    models: Sequence[ModelSpec],
    items: Iterable[tuple[str, ItemRevision]],
    conditions: Sequence[Condition],
    *,
    rotate: bool = False,
    replicates: int = 1,
) -> Iterator[Unit[Showing]]:
    """Every model x item x condition that applies to the item x replicate; with `rotate`, every turn of the choices."""
    for name, revision in items:
        question = revision.as_question()
        turns = range(max(1, len(question.choices))) if rotate else range(1)
        for condition in conditions:
            if not condition.applies_to(question):
                continue
            showings = [Showing(question, condition, rotation) for rotation in turns]
            yield from (
                Unit(model, name, revision.id, showing, replicate)
                for model in models
                for showing in showings
                for replicate in range(replicates)
            )
