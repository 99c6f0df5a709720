"""Which endpoints of a panel receive what they are sent: delivery canaries first, verdicts after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.content import Modality
from core.question import Question
from evaluation.canary import Delivery, known_delivery, problems
from evaluation.models.catalogue import ModelSpec
from qc.polling import Poller
from warehouse.ledger import SETTLED
from warehouse.workspace import Workspace


@dataclass(frozen=True)
class Quarantine:
    """Modalities that do not arrive, by model: it is asked nothing about an item that holds one of them.

    An endpoint that drops a part without a word answers just like one that needs the part. `told` says for each model
    what its canaries showed. `silent` are models of which no call came to an end: nothing is known of them.
    """

    undelivered: Mapping[str, frozenset[Modality]] = field(default_factory=dict)
    told: Mapping[str, Sequence[str]] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()

    def usable(self, models: Sequence[ModelSpec], question: Question) -> list[ModelSpec]:
        """Those that receive all media of a question."""
        nothing: frozenset[Modality] = frozenset()
        return [model for model in models if not self.undelivered.get(model.name, nothing) & question.modalities]

    def perhaps_usable(self, models: Sequence[ModelSpec], question: Question) -> list[ModelSpec]:
        """Those, and the silent ones: what they receive will be known when they answer."""
        usable = {model.name for model in self.usable(models, question)}
        return [model for model in models if model.name in usable | self.silent]


def quarantine(workspace: Workspace, poller: Poller, models: Sequence[ModelSpec]) -> Quarantine | None:
    """Ask each endpoint the canaries that it has not answered yet, and keep back what does not arrive.

    None where the money is not enough to ask all of them: then nothing is known of the endpoints.
    """
    known = known_delivery(workspace.facts, models)
    unsure = [model for model, delivery in zip(models, known, strict=True) if delivery.failures]
    # To make the media of canaries takes seconds, so nobody is asked who has answered all of them.
    if unsure and not poller.ask_canaries(unsure):
        return None
    return _read(known_delivery(workspace.facts, models) if unsure else known)


def _read(deliveries: Sequence[Delivery]) -> Quarantine:
    kept_back = {delivery.model: delivery.undelivered for delivery in deliveries if delivery.undelivered}
    silent = {one.model for one in deliveries if not any(canary.state in SETTLED for canary in one.heard)}
    told = {one.model: problems(one) for one in deliveries if one.model in kept_back}
    return Quarantine(kept_back, told, frozenset(silent))
