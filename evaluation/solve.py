"""Put questions to models: many at once, each answer stored when it comes, nothing asked twice."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from core.condition import Condition
from core.errors import InterplayError
from core.ids import Clock, utc_now
from core.media.errors import MediaError
from core.progress import Ticker, progress
from core.provenance import canonical_json, content_hash
from core.question import Question
from evaluation.adaptation import Adapter
from evaluation.delivery import deliver
from evaluation.models.catalogue import BadModelSettings, ModelSpec
from evaluation.prompts import render
from warehouse.blobs import BlobStore
from warehouse.facts import FactStore, FactWriter
from warehouse.ledger import settled_answers, settled_keys
from warehouse.tables import ItemRevision

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelOutput

CONCURRENCY = 16
# Inspect AI retries for ever unless it is told otherwise. Six retries are about three minutes of growing pauses, for a
# server that is overloaded; an attempt has ten minutes, as with OpenAI's own client. A model's `generate` wins.
PATIENCE = {"max_retries": 6, "attempt_timeout": 600, "timeout": 3600}
ANSWER_KEPT_CHARACTERS = 1_000_000
ERROR_KEPT_CHARACTERS = 2_000


class ModelUnavailable(InterplayError):
    """A provider that Inspect AI cannot start: unknown, without its package, or without its key."""


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

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over the messages, media by content."""
        return content_hash([message.model_dump(mode="json") for message in render(self.question)])


@dataclass(frozen=True)
class Unit:
    """One showing of one item's revision to one model."""

    model: ModelSpec
    item_name: str
    revision_id: str
    showing: Showing
    replicate: int = 0

    @cached_property
    def request_key(self) -> str:
        """sha256 over all that decides the answer: model, parameters, the messages, replicate."""
        return content_hash([self.model.request_identity, self.showing.fingerprint, self.replicate])

    @cached_property
    def key(self) -> str:
        """sha256 over the request and what it is asked for: the ledger's name of this unit."""
        shown = self.showing
        asked_for = [self.model.name, self.revision_id, shown.condition.fingerprint, shown.rotation]
        return content_hash([self.request_key, asked_for])


@dataclass(frozen=True)
class Solved:
    """How many questions were asked now, units answered by an equal request, units settled before; failures by state.

    `asked` counts requests, `reused` and `known` count units, `failures` count units that got no answer.
    """

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
            showings = [Showing(question, condition, rotation) for rotation in turns]
            yield from (Unit(model, name, revision.id, showing) for model in models for showing in showings)


@dataclass(frozen=True)
class Asker:
    """Where answers go and media come from; `concurrency` calls to each model at once."""

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
            ModelUnavailable, BadModelSettings: A model's provider cannot be started; nothing was asked.
        """
        wanted = {unit.key: unit for unit in units}
        known = settled_keys(self.facts, wanted)
        pending = [unit for key, unit in wanted.items() if key not in known]
        settled = settled_answers(self.facts, (unit.request_key for unit in pending))
        # Equal requests of one call (two conditions that show the same) are asked once.
        fresh: dict[str, list[Unit]] = defaultdict(list)
        for unit in pending:
            if unit.request_key not in settled:
                fresh[unit.request_key].append(unit)
        models = {equal[0].model.fingerprint: equal[0].model for equal in fresh.values()}
        clients = {fingerprint: self._client(model) for fingerprint, model in models.items()}
        failures: Counter[str] = Counter()
        with self.facts.writer("response", self.run_id) as writer:
            for unit in pending:
                if unit.request_key in settled:
                    writer.add(self._row(unit, settled[unit.request_key].columns))
            with progress(f"asking ({self.purpose})", len(fresh)) as ticker:
                asyncio.run(self._ask_all(fresh, clients, _Outcome(writer, failures, ticker)))
        return Solved(len(fresh), len(pending) - len(fresh), len(known), dict(failures))

    async def _ask_all(
        self, fresh: Mapping[str, list[Unit]], clients: Mapping[str, "Model"], outcome: "_Outcome"
    ) -> None:
        queues: dict[str, list[list[Unit]]] = defaultdict(list)
        for equal in fresh.values():
            queues[equal[0].model.fingerprint].append(equal)
        media = Adapter(self.blobs)
        try:
            async with AsyncExitStack() as opened, asyncio.TaskGroup() as group:
                for fingerprint, queue in queues.items():
                    client = await opened.enter_async_context(clients[fingerprint])
                    waiting = iter(queue)
                    for _ in range(min(self.concurrency, len(queue))):
                        # The workers of one model share one iterator; a slow model holds up no other.
                        group.create_task(self._work(waiting, client, media, outcome))
        except BaseExceptionGroup as failed:
            # Whatever stops a worker (a full disk) stops all of them, and is told as it is.
            raise failed.exceptions[0] from None

    async def _work(self, waiting: Iterator[list[Unit]], client: "Model", media: Adapter, outcome: "_Outcome") -> None:
        for equal in waiting:
            answer = await self._answer(equal[0], client, media)
            for unit in equal:
                outcome.writer.add(self._row(unit, answer))
            if answer["state"] != "ok":
                outcome.failures[answer["state"]] += len(equal)
            outcome.ticker.advance()

    async def _answer(self, unit: Unit, client: "Model", media: Adapter) -> dict[str, Any]:
        begun = time.monotonic()
        manifest: list[dict[str, Any]] = []
        try:
            # Files are read, decoded and put into base64 beside the loop, which goes on with other calls.
            messages, manifest = await asyncio.to_thread(deliver, render(unit.showing.question), media)
            # Inspect AI keeps all messages of a task, media included, as long as the task lives: each call has its own.
            answer = _read(await asyncio.create_task(client.generate(messages)))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            answer = _nothing("api_error", f"the client gave the call up: {error}")
        except MediaError as error:
            answer = _nothing("blocked", str(error))
        except Exception as error:  # noqa: BLE001 - the runner stores a failure and goes on
            answer = _nothing("api_error", _told(error))
        if answer["error"] is not None:
            answer["error"] = unit.model.hide_secrets(answer["error"])[:ERROR_KEPT_CHARACTERS]
        return answer | {"sent": canonical_json(manifest), "latency_s": time.monotonic() - begun}

    def _client(self, model: ModelSpec) -> "Model":
        if model.provider.startswith("interplay-sim/"):
            import evaluation.models.sim.provider  # noqa: F401 - registers the provider
        from inspect_ai.model import GenerateConfig, get_model

        try:
            config = GenerateConfig.model_validate(
                {"max_connections": self.concurrency, **_patience(model), **model.generate}
            )
        except ValidationError as error:
            raise BadModelSettings(f"model {model.name!r}, generate: {_first_problem(error)}") from error
        arguments = model.resolved_arguments(self.project_root)
        try:
            return get_model(model.provider, config=config, memoize=False, **arguments)
        except Exception as error:
            reason = model.hide_secrets(_told(error))
            raise ModelUnavailable(f"model {model.name!r} ({model.provider}) cannot be used: {reason}") from error

    def _row(self, unit: Unit, answer: Mapping[str, Any]) -> dict[str, Any]:
        shown = unit.showing
        return {
            "key": unit.key,
            "request_key": unit.request_key,
            "purpose": self.purpose,
            "model": unit.model.name,
            "family": unit.model.family,
            "item_name": unit.item_name,
            "revision_id": unit.revision_id,
            "condition": shown.condition.name,
            "condition_fingerprint": shown.condition.fingerprint,
            "kind": shown.question.kind.value,
            "rotation": shown.rotation,
            "replicate": unit.replicate,
            "parameters": canonical_json(unit.model.request_identity),
            "recorded_at": self.clock().isoformat(),
            **answer,
        }


@dataclass(frozen=True)
class _Outcome:
    """Where the workers put what comes back."""

    writer: FactWriter
    failures: Counter[str]
    ticker: Ticker


def _patience(model: ModelSpec) -> dict[str, int]:
    # A provider's batch interface answers within a day.
    return {"max_retries": PATIENCE["max_retries"]} if model.generate.get("batch") else PATIENCE


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
    """The columns of a call that brought no answer."""
    unknown = dict.fromkeys(("answer", "input_tokens", "output_tokens", "cost_usd"))
    return {"state": state, "error": error, **unknown}


def _told(error: BaseException) -> str:
    """An error of a provider on one line: what lies behind a retry that gave up, without markup for terminals."""
    from rich.text import Text
    from tenacity import RetryError

    if isinstance(error, RetryError):
        last = error.last_attempt.exception()
        return _told(last) + f" (after {error.last_attempt.attempt_number} attempts)" if last else "no attempt ended"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"it needs the Python package {error.name!r}: pip install {error.name}"
    said = getattr(error, "provider_message", None)  # without the whole request, which Inspect AI puts before it
    text = " ".join(str(said or error).split())
    if type(error).__name__ == "PrerequisiteError":  # Inspect AI's, which it exports nowhere
        return Text.from_markup(text).plain.removeprefix("ERROR: ")
    if isinstance(error, InterplayError):
        return text
    cause = error.__cause__ if said and error.__cause__ else error
    return f"{type(cause).__name__}: {text}"


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(step) for step in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
