"""Clients of models: Inspect AI's, started with a project's settings, and what they say put into our columns."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from core.errors import InterplayError, UnknownName, first_problem
from core.provenance import canonical_json
from evaluation.models.catalogue import BadModelSettings, ModelSpec
from evaluation.models.omni.capabilities import ROW_OF_PROVIDER

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelOutput, ModelUsage

# Inspect AI retries for ever unless it is told otherwise. Six retries are about three minutes of growing pauses, for a
# server that is overloaded; an attempt has ten minutes, as with OpenAI's own client. A model's `generate` wins.
PATIENCE = {"max_retries": 6, "attempt_timeout": 600, "timeout": 3600}
ANSWER_KEPT_CHARACTERS = 1_000_000
ERROR_KEPT_CHARACTERS = 2_000
_OWN_PROVIDERS = {
    "interplay-sim": "evaluation.models.sim.provider",
    "interplay-omni": "evaluation.models.omni.provider",
}
_STATES = {"max_tokens": "truncated", "model_length": "truncated", "content_filter": "refusal"}
# The columns of a call that brought no answer.
_UNKNOWN = (
    "answer",
    "served_model",
    "input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "tokens_by_modality",
    "cost_usd",
)


class UnreadableReply(InterplayError):
    """A server answered, but not with anything that holds an answer."""


class ModelUnavailable(InterplayError):
    """A provider that Inspect AI cannot start: unknown, without its package, or without its key."""


def open_client(model: ModelSpec, project_root: Path, concurrency: int) -> "Model":
    """Inspect AI's client of a model.

    Raises:
        UnknownName: There is no such provider.
        ModelUnavailable: Its provider cannot be started.
        BadModelSettings: Its `generate` holds what Inspect AI does not know.
    """
    from importlib import import_module

    from inspect_ai.model import GenerateConfig, get_model, get_model_info

    kind = model.provider.partition("/")[0]
    if kind in _OWN_PROVIDERS:
        import_module(_OWN_PROVIDERS[kind])  # registers the provider
    settings = {"max_connections": concurrency, **_patience(model), **model.generate}
    try:
        config = GenerateConfig.model_validate(settings)
    except ValidationError as error:
        raise BadModelSettings(f"model {model.name!r}, generate: {first_problem(error)}") from error
    arguments = model.resolved_arguments(project_root)
    if kind == "interplay-omni":
        # It writes requests for the server that the media are delivered for.
        arguments |= {"endpoint": model.endpoint, "delivery": dict(model.delivery)}
    try:
        client = get_model(model.provider, config=config, memoize=False, **arguments)
        # Inspect AI reads its table of prices (half a second) when it first needs it: not while calls are timed.
        get_model_info(client)
        return client
    except Exception as error:
        if "not recognized" in str(error):
            raise UnknownName("provider", kind, ROW_OF_PROVIDER) from error
        reason = model.hide_secrets(told(error))
        raise ModelUnavailable(f"model {model.name!r} ({model.provider}) cannot be used: {reason}") from error


def _patience(model: ModelSpec) -> dict[str, int]:
    # A provider's batch interface answers within a day.
    return {"max_retries": PATIENCE["max_retries"]} if model.generate.get("batch") else PATIENCE


def answered(model: ModelSpec, output: "ModelOutput") -> dict[str, Any]:
    """The columns of what came back."""
    text = output.completion
    if output.error:
        return nothing("api_error", output.error)
    usage = output.usage
    by_modality = (output.metadata or {}).get("tokens_by_modality")
    return {
        "state": "truncated" if len(text) > ANSWER_KEPT_CHARACTERS else _state(output.stop_reason, text),
        "answer": text[:ANSWER_KEPT_CHARACTERS],
        "error": None,
        # Services send old names to newer models: what the server itself says it is.
        "served_model": output.model or None,
        "input_tokens": _all_input(usage) if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "reasoning_tokens": usage.reasoning_tokens if usage else None,
        "tokens_by_modality": canonical_json(by_modality) if by_modality else None,
        "cost_usd": _cost_usd(model, usage) if usage else None,
    }


def _state(stop_reason: str, text: str) -> str:
    return _STATES.get(stop_reason, "ok" if text.strip() else "empty")


def nothing(state: str, error: str) -> dict[str, Any]:
    """The columns of a call that brought no answer."""
    return {"state": state, "error": error, **dict.fromkeys(_UNKNOWN)}


def _all_input(usage: "ModelUsage") -> int:
    # Inspect AI counts what the provider's prompt cache served apart.
    return usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)


def _cost_usd(model: ModelSpec, usage: "ModelUsage") -> float | None:
    if model.price is None:
        return usage.total_cost
    return (_all_input(usage) * model.price.input + usage.output_tokens * model.price.output) / 1_000_000


def told(error: BaseException) -> str:
    """An error of a provider on one line: what lies behind a retry that gave up, without markup for terminals."""
    from rich.text import Text
    from tenacity import RetryError

    if isinstance(error, RetryError):
        last, count = error.last_attempt.exception(), error.last_attempt.attempt_number
        return told(last) + (f" (after {count} attempts)" if count > 1 else "") if last else "no attempt ended"
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
