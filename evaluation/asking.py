"""Ask models: many at once, each answer stored when it comes, nothing asked twice, within a budget."""

import asyncio
import gc
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from core.content import Message
from core.ids import Clock, utc_now
from core.media.errors import MediaError
from core.progress import Ticker, progress
from core.provenance import canonical_json, content_hash
from evaluation.adaptation import Adapter
from evaluation.delivery import deliver, is_light
from evaluation.models.catalogue import ModelSpec
from evaluation.models.client import ERROR_KEPT_CHARACTERS, UnreadableReply, answered, nothing, open_client, told
from evaluation.models.spending import Budget
from warehouse.blobs import BlobStore
from warehouse.facts import FactStore, FactWriter
from warehouse.ledger import settled_answers, settled_keys

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Model, ModelOutput

CONCURRENCY = 16


class Shown(Protocol):
    """What a model is shown, and what the answer is stored under."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The turns, media by content."""
        ...

    @property
    def fingerprint(self) -> str:
        """sha256 over the messages."""
        ...

    @property
    def columns(self) -> Mapping[str, Any]:
        """`condition`, `condition_fingerprint`, `kind` and `rotation` of the response."""
        ...


@dataclass(frozen=True)
class Prompt:
    """Something else than a benchmark question: a canary, a request for a caption, an answer to be judged.

    `purpose` stands where a question has its condition.
    """

    messages: tuple[Message, ...]
    purpose: str

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over the messages."""
        return fingerprint_of(self.messages)

    @property
    def columns(self) -> Mapping[str, Any]:
        """As `Shown`."""
        return {
            "condition": self.purpose,
            "condition_fingerprint": content_hash(self.purpose),
            "kind": "prompt",
            "rotation": 0,
        }


ShownT_co = TypeVar("ShownT_co", bound=Shown, covariant=True)


@dataclass(frozen=True)
class Unit(Generic[ShownT_co]):
    """One showing to one model; `revision_id` names what it is about (an item's revision where there is one)."""

    model: ModelSpec
    item_name: str
    revision_id: str
    showing: ShownT_co
    replicate: int = 0

    @cached_property
    def request_key(self) -> str:
        """sha256 over all that decides the answer: model, parameters, the messages, replicate."""
        return content_hash([self.model.request_identity, self.showing.fingerprint, self.replicate])

    @cached_property
    def key(self) -> str:
        """sha256 over the request and what it is asked for: the ledger's name of this unit."""
        shown = self.showing.columns
        asked_for = [self.model.name, self.revision_id, shown["condition_fingerprint"], shown["rotation"]]
        return content_hash([self.request_key, asked_for])


@dataclass(frozen=True)
class Solved:
    """How many questions were asked now, units answered by an equal request, units settled before; failures by state.

    `asked` counts requests, `reused` and `known` count units, `failures` count units that got no answer. `left` are
    requests that the budget did not allow; `cost_usd` is what the calls of now cost, where a price is known. `reasons`
    are the most frequent words of each kind of failure. `answered` are requests of now that a model answered somehow.
    """

    asked: int
    reused: int
    known: int
    failures: dict[str, int]
    left: int = 0
    cost_usd: float | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    answered: int = 0

    @property
    def failure_lines(self) -> list[str]:
        """For a terminal: each kind of failure, how many, and why."""
        return failure_lines(self.failures, self.reasons)

    @property
    def cost_lines(self) -> list[str]:
        """For a terminal: what it cost, where that is known."""
        return cost_lines(self.cost_usd)


def failure_lines(failures: Mapping[str, int], reasons: Mapping[str, str]) -> list[str]:
    """For a terminal: each kind of failure, how many, and why, where that is known."""
    return [
        f"failed: {count} {state}" + (f" ({reasons[state]})" if state in reasons else "")
        for state, count in sorted(failures.items())
    ]


def cost_lines(cost_usd: float | None) -> list[str]:
    """For a terminal: what calls cost, where that is known."""
    return [] if cost_usd is None else [f"cost: {cost_usd:.4f} US dollars"]


@dataclass(frozen=True)
class Asker:
    """Where answers go and media come from; `concurrency` calls to each model at once, `budget_usd` for all of them."""

    facts: FactStore
    blobs: BlobStore
    project_root: Path
    purpose: str
    run_id: str
    concurrency: int = CONCURRENCY
    clock: Clock = utc_now
    budget_usd: float | None = None

    def ask(self, units: Iterable[Unit[Shown]]) -> Solved:
        """Ask what is not settled yet. Stop it at any moment; the same call goes on where it was.

        Raises:
            ModelUnavailable, BadModelSettings: A model's provider cannot be started; nothing was asked.
            NoPrice: There is a budget, and a model's price is not known; nothing was asked.
        """
        wanted = {unit.key: unit for unit in units}
        known = settled_keys(self.facts, wanted)
        pending = [unit for key, unit in wanted.items() if key not in known]
        settled = settled_answers(self.facts, (unit.request_key for unit in pending))
        # Equal requests of one call (two conditions that show the same) are asked once.
        fresh: dict[str, list[Unit[Shown]]] = defaultdict(list)
        for unit in pending:
            if unit.request_key not in settled:
                fresh[unit.request_key].append(unit)
        models = {equal[0].model.fingerprint: equal[0].model for equal in fresh.values()}
        budget = Budget(self.budget_usd, models.values())
        clients = {key: open_client(model, self.project_root, self.concurrency) for key, model in models.items()}
        failures: Counter[str] = Counter()
        reasons: dict[str, Counter[str]] = defaultdict(Counter)
        with self.facts.writer("response", self.run_id) as writer:
            for unit in pending:
                if unit.request_key in settled:
                    writer.add(self._row(unit, settled[unit.request_key]))
            with progress(f"asking ({self.purpose})", len(fresh)) as ticker, _without_old_objects():
                asyncio.run(self._ask_all(fresh, clients, _Outcome(writer, failures, reasons, ticker, budget)))
        asked = len(fresh) - len(budget.refused)
        unasked = sum(len(fresh[key]) for key in budget.refused)
        return Solved(
            asked=asked,
            reused=len(pending) - unasked - asked,
            known=len(known),
            failures=dict(failures),
            reasons={state: said.most_common(1)[0][0] for state, said in reasons.items()},
            answered=asked - sum(said.total() for said in reasons.values()),
            left=len(budget.refused),
            cost_usd=budget.spent_usd,
        )

    async def _ask_all(
        self, fresh: Mapping[str, list[Unit[Shown]]], clients: Mapping[str, "Model"], outcome: "_Outcome"
    ) -> None:
        queues: dict[str, list[list[Unit[Shown]]]] = defaultdict(list)
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

    async def _work(
        self, waiting: Iterator[list[Unit[Shown]]], client: "Model", media: Adapter, outcome: "_Outcome"
    ) -> None:
        for equal in waiting:
            async with outcome.budget.place(equal[0].model, equal[0].request_key) as place:
                if not place.granted:
                    continue
                answer = await self._answer(equal[0], client, media)
                place.answered, place.cost_usd = answer["answer"] is not None, answer["cost_usd"]
            for unit in equal:
                outcome.writer.add(self._row(unit, answer))
            if answer["state"] != "ok":
                outcome.failures[answer["state"]] += len(equal)
                if answer["error"] is not None:
                    outcome.reasons[answer["state"]][answer["error"]] += 1
            outcome.ticker.advance()

    async def _answer(self, unit: Unit[Shown], client: "Model", media: Adapter) -> dict[str, Any]:
        begun = time.monotonic()
        manifest: list[dict[str, Any]] = []
        attempts = _Attempts()
        try:
            messages, manifest = await self._delivered(unit, media)
            # Inspect AI keeps all messages of a task, media included, as long as the task lives: each call has its own.
            call = _generate(client, messages, unit.model.seed_of(unit.replicate), attempts)
            answer = answered(unit.model, await asyncio.create_task(call))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            answer = nothing("api_error", f"the client gave the call up: {error}")
        except MediaError as error:
            answer = nothing("blocked", str(error))
        except UnreadableReply as error:
            answer = nothing("unparsed", str(error))
        except Exception as error:  # noqa: BLE001 - the runner stores a failure and goes on
            answer = nothing("api_error", told(error))
        if answer["error"] is not None:
            answer["error"] = unit.model.hide_secrets(answer["error"])[:ERROR_KEPT_CHARACTERS]
        measured = {"attempts": attempts.count, "latency_s": time.monotonic() - begun}
        return answer | measured | {"sent": canonical_json(manifest)}

    async def _delivered(self, unit: Unit[Shown], media: Adapter) -> tuple[list["ChatMessage"], list[dict[str, Any]]]:
        messages, capability = unit.showing.messages, unit.model.capability
        if is_light(messages, capability, self.blobs.is_local):
            return deliver(messages, media, capability)
        # Files are read, decoded and put into base64 beside the loop, which goes on with other calls.
        return await asyncio.to_thread(deliver, messages, media, capability)

    def _row(self, unit: Unit[Shown], answer: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "key": unit.key,
            "request_key": unit.request_key,
            "purpose": self.purpose,
            "model": unit.model.name,
            "family": unit.model.family,
            "item_name": unit.item_name,
            "revision_id": unit.revision_id,
            "replicate": unit.replicate,
            "parameters": canonical_json(unit.model.request_identity),
            "recorded_at": self.clock().isoformat(),
            **unit.showing.columns,
            **answer,
        }


def fingerprint_of(messages: Iterable[Message]) -> str:
    """sha256 over messages, media by content."""
    return content_hash([message.model_dump(mode="json") for message in messages])


@contextmanager
def _without_old_objects() -> Iterator[None]:
    """Let the garbage collector pass over all that is there already.

    Libraries and units are some hundred thousand objects that outlive the calls; walking them again and again takes
    as long as the calls themselves.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@dataclass(frozen=True)
class _Outcome:
    """Where the workers put what comes back."""

    writer: FactWriter
    failures: Counter[str]
    reasons: Mapping[str, Counter[str]]
    ticker: Ticker
    budget: Budget


@dataclass
class _Attempts:
    """How often a call was tried; 0 when it never went out."""

    count: int = 0


async def _generate(
    client: "Model", messages: list["ChatMessage"], seed: int | None, attempts: _Attempts
) -> "ModelOutput":
    from inspect_ai.log._transcript import Transcript, init_transcript, transcript  # `log` has no way to begin one
    from inspect_ai.model import GenerateConfig

    # Whoever has run Inspect AI in this process may have left one, which all calls would share.
    init_transcript(Transcript())
    try:
        return await client.generate(messages, config=GenerateConfig(seed=seed))
    finally:
        attempts.count = sum(event.event == "model" for event in transcript().events)
