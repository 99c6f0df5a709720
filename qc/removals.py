"""What round 2 takes away of an item: each required modality, or puts another item's media in its place."""

from dataclasses import dataclass
from functools import cached_property

from core.condition import Condition, without
from core.content import Modality
from core.question import Question
from evaluation.conditions import Donors
from evaluation.report.items import item_facts
from warehouse.items import revisions_in
from warehouse.tables import ItemState
from warehouse.workspace import Workspace


@dataclass(frozen=True)
class Removals:
    """The conditions by modality; with `placebo`, a donor's media follow where another item can give them."""

    workspace: Workspace
    placebo: bool

    def of(self, revision_id: str, question: Question) -> dict[Modality, list[Condition]]:
        """Those of one revision's question."""
        found = {modality: [without(modality)] for modality in sorted(question.required - {Modality.TEXT})}
        if self.placebo:
            for modality in found.keys() & question.modalities:
                donors = self._donors.condition(modality, revision_id, question)
                found[modality].extend([donors] if donors else [])
        return found

    @cached_property
    def _donors(self) -> Donors:
        with self.workspace.database.reading() as session:
            facts = item_facts(session, [revision.id for _, revision in revisions_in(session, *ItemState)])
        return Donors(
            {revision_id: one.question for revision_id, one in facts.items()},
            {revision_id: one.cluster for revision_id, one in facts.items()},
        )
