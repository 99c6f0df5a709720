"""Put questions to models: many at once, each answer stored when it comes, nothing asked twice."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.condition import Condition
from core.errors import InterplayError, MissingExtra
from core.ids import Clock, utc_now
from core.progress import Ticker, progress
from core.provenance import canonical_json, content_hash
from core.question import Question
from evaluation.delivery import UndeliverableMedia, deliver
from evaluation.models.catalogue import ModelSpec
from evaluation.prompts import render
from warehouse.blobs import BlobStore
from warehouse.facts import FactStore, FactWriter
from warehouse.ledger import SettledAnswer, settled_answers
from warehouse.tables import ItemRevision

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelOutput

CONCURRENCY = 16
ANSWER_KEPT_CHARACTERS = 1_000_000


class ModelUnavailable(InterplayError):
    """A provider that Inspect AI cannot start: unknown, without its package, or without its key."""


@dataclass(frozen=True)
class Unit:
    """One question to one model, as shown under a condition, with the choices turned by `rotation` places."""

    model: ModelSpec
    item_name: str
    revision_id: str
    original: Question
    condition: Condition
    rotation: int = 0
    replicate: int = 0

    @cached_property
    def question(self) -> Question:
        """As the model is shown it."""
        return self.condition.apply(self.original).rotated(self.rotation)

    @cached_property
    def request_key(self) -> str:
        """sha256 over all that decides the answer: model, parameters, the messages (media by content), replicate."""
        messages = [message.model_dump(mode="json") for message in render(self.question)]
        return content_hash([self.model.request_identity, messages, self.replicate])

    @cached_property
    def key(self) -> str:
        """sha256 over the request and what it is asked for: the ledger's name of this unit."""
        asked_for = [self.model.name, self.revision_id, self.condition.fingerprint, self.rotation]
        return content_hash([self.request_key, asked_for])


@dataclass(frozen=True)
class Solved:
    """How many units were asked now, taken from an equal earlier request, or settled before; and failures by state."""

    asked: int
    reused: int
    known: int
    failures: dict[str, int]


def plan(
    models: Sequence[ModelSpec],
    items: Iterable[tuple[str, ItemRevision]],
    conditions: Sequence[Condition],
    *,
    rotate: bool = False,
) -> Iterator[Unit]:
    """Every model x item x condition that applies to the item; with `rotate`, every rotation of the choices."""
    for name, revision in items:
        question = revision.as_question()
        turns = range(max(1, len(question.choices))) if rotate else range(1)
        for condition in conditions:
            if not condition.applies_to(question):
                continue
            for model in models:
                for rotation in turns:
                    yield Unit(model, name, revision.id, question, condition, rotation)


@dataclass(frozen=True)
class Asker:
    """Where answers go and media come from."""

    facts: FactStore
    blobs: BlobStore
    project_root: Path
    purpose: str
    run_id: str
    concurrency: int = CONCURRENCY
    clock: Clock = utc_now

    def ask(self, units: Iterable[Unit]) -> Solved:
        """Ask what is not settled yet. Stop it at any moment; the same call goes on where it was.

        Raises:
            ModelUnavailable: A model's provider cannot be started; nothing was asked.
        """
        wanted = {unit.key: unit for unit in units}
        settled = settled_answers(self.facts, (unit.request_key for unit in wanted.values()))
        pending = [unit for unit in wanted.values() if not _has_answer(unit, settled)]
        fresh = [unit for unit in pending if unit.request_key not in settled]
        clients = {model.fingerprint: self._client(model) for model in _models(fresh)}
        failures: dict[str, int] = defaultdict(int)
        with self.facts.writer("response", self.run_id) as writer:
            for unit in pending:
                if unit.request_key in settled:
                    writer.add(self._row(unit, settled[unit.request_key].columns))
            with progress(f"asking ({self.purpose})", len(fresh)) as ticker:
                asyncio.run(self._ask_all(fresh, clients, writer, failures, ticker))
        return Solved(len(fresh), len(pending) - len(fresh), len(wanted) - len(pending), dict(failures))

    async def _ask_all(
        self,
        units: Sequence[Unit],
        clients: dict[str, "Model"],
        writer: FactWriter,
        failures: dict[str, int],
        ticker: Ticker,
    ) -> None:
        # Equal requests of one call (two conditions that show the same) are asked once.
        by_request: dict[str, list[Unit]] = defaultdict(list)
        for unit in units:
            by_request[unit.request_key].append(unit)
        slots = asyncio.Semaphore(self.concurrency)

        async def ask_one(equal: list[Unit]) -> None:
            async with slots:
                answer = await self._answer(equal[0], clients[equal[0].model.fingerprint])
            for unit in equal:
                writer.add(self._row(unit, answer))
            if answer["state"] != "ok":
                failures[answer["state"]] += len(equal)
            ticker.advance(len(equal))

        async with asyncio.TaskGroup() as group:
            for equal in by_request.values():
                group.create_task(ask_one(equal))

    async def _answer(self, unit: Unit, client: "Model") -> dict[str, Any]:
        begun = time.monotonic()
        manifest: list[dict[str, Any]] = []
        try:
            messages, manifest = deliver(render(unit.question), self.blobs)
            output = await client.generate(messages)
            answer = _read(output)
        except UndeliverableMedia as error:
            answer = _nothing("blocked", str(error))
        except Exception as error:  # noqa: BLE001 - the runner stores a failure and goes on
            answer = _nothing("api_error", f"{type(error).__name__}: {error}")
        return answer | {"sent": canonical_json(manifest), "latency_s": time.monotonic() - begun}

    def _client(self, model: ModelSpec) -> "Model":
        if model.provider.startswith("interplay-sim/"):
            import evaluation.models.sim.provider  # noqa: F401 - registers the provider
        from inspect_ai.model import GenerateConfig, get_model

        try:
            arguments = model.resolved_arguments(self.project_root)
            config = GenerateConfig.model_validate({"max_connections": self.concurrency, **model.generate})
            return get_model(model.provider, config=config, memoize=False, **arguments)
        except ModuleNotFoundError as error:
            raise MissingExtra(f"Model {model.name}", str(error.name)) from error
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ModelUnavailable(f"model {model.name!r} ({model.provider}) cannot be used: {reason}") from error

    def _row(self, unit: Unit, answer: dict[str, Any]) -> dict[str, Any]:
        return {
            "key": unit.key,
            "request_key": unit.request_key,
            "purpose": self.purpose,
            "model": unit.model.name,
            "family": unit.model.family,
            "item_name": unit.item_name,
            "revision_id": unit.revision_id,
            "condition": unit.condition.name,
            "condition_fingerprint": unit.condition.fingerprint,
            "kind": unit.question.kind.value,
            "rotation": unit.rotation,
            "replicate": unit.replicate,
            "parameters": canonical_json(unit.model.request_identity),
            "recorded_at": self.clock().isoformat(),
            **answer,
        }


def _has_answer(unit: Unit, settled: Mapping[str, SettledAnswer]) -> bool:
    return unit.request_key in settled and unit.key in settled[unit.request_key].unit_keys


def _models(units: Iterable[Unit]) -> list[ModelSpec]:
    return list({unit.model.fingerprint: unit.model for unit in units}.values())


def _read(output: "ModelOutput") -> dict[str, Any]:
    states = {"max_tokens": "truncated", "model_length": "truncated", "content_filter": "refusal"}
    text = output.completion
    if output.error:
        return _nothing("api_error", output.error)
    state = states.get(output.stop_reason, "ok" if text.strip() else "empty")
    usage = output.usage
    return {
        "state": state,
        "answer": text[:ANSWER_KEPT_CHARACTERS],
        "error": None,
        "input_tokens": usage.input_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "cost_usd": usage.total_cost if usage else None,
    }


def _nothing(state: str, error: str) -> dict[str, Any]:
    unknown = dict.fromkeys(("answer", "input_tokens", "output_tokens", "cost_usd"))
    return {"state": state, "error": error, **unknown}
