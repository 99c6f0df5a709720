"""Models by name: those that a project names in its settings, and any Inspect AI provider."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from pydantic import Field, ValidationError

from core.content import Frozen
from core.errors import InterplayError, UnknownName, first_problem
from core.provenance import content_hash
from evaluation.models.omni.capabilities import Capability, capability_for

PROJECT_PREFIX = "project:"

# Fields of `GenerateConfig` that say how calls are made, not what comes back: changing one asks nothing again.
_HOW_ASKED = frozenset(
    {
        "adaptive_connections",
        "attempt_timeout",
        "batch",
        "cache",
        "max_connections",
        "max_retries",
        "stream_idle_timeout",
        "timeout",
    }
)
_SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:api[_-]?key|key|token|secret|password|passwd|auth|authorization|credentials?|cookie)$",
    re.IGNORECASE,
)
_HIDDEN = "***"
_SHORTEST_SECRET = 6


class BadModelSettings(InterplayError):
    """A `[models.NAME]` table that cannot be read."""


class Price(Frozen):
    """US dollars for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class ModelSpec(Frozen):
    """A model as the project uses it.

    Attributes:
        name: What reports call it.
        provider: Inspect AI's `provider/model`.
        family: Models of one family share their mistakes, so they have one vote in a panel.
        arguments: For the provider (base_url, ...). A text `project:FILE` means that file of the project folder. Keys,
            tokens and passwords in them are used and never stored; better still, leave them in the environment.
        panel: Whether `qc run` asks it when no model is named.
        generate: Fields of Inspect AI's `GenerateConfig` (temperature, max_tokens, reasoning_tokens, max_retries, ...).
        endpoint: The row of `capabilities` that says what the server takes; else it follows from the provider.
        delivery: What differs from that row (frames, mixed, ...).
        price: For costs and budgets; else what Inspect AI knows.
    """

    name: str
    provider: str = Field(pattern=r"^[^/\s]+/\S+$")
    family: str
    arguments: Mapping[str, Any] = {}
    generate: Mapping[str, Any] = {}
    endpoint: str | None = None
    delivery: Mapping[str, Any] = {}
    price: Price | None = None
    panel: bool = False

    @cached_property
    def capability(self) -> Capability:
        """What its server takes.

        Raises:
            UnknownName: `endpoint` names no row.
            BadCapability: `delivery` cannot be read.
        """
        return capability_for(self.provider, self.endpoint, self.delivery)

    @cached_property
    def request_identity(self) -> dict[str, Any]:
        """What decides its answers, whatever the project calls it, whoever pays, and however often a call is retried.

        Holds no secret, so it can be stored.
        """
        generate = {key: value for key, value in self.generate.items() if key not in _HOW_ASKED}
        return {
            "provider": self.provider,
            "arguments": _without_secrets(self.arguments),
            "generate": _without_secrets(generate, hashed=True),
            "delivery": self.capability.identity,
        }

    def seed_of(self, replicate: int) -> int | None:
        """The seed of a repeated asking; None for the first, which has the seed of `generate` if there is one."""
        return int(self.generate.get("seed") or 0) + replicate if replicate else None

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over `request_identity`."""
        return content_hash(self.request_identity)

    @property
    def settings(self) -> dict[str, Any]:
        """All of it but the secrets, for the record of a run."""
        return dict(_without_secrets(self.model_dump(mode="json")))

    def hide_secrets(self, text: str) -> str:
        """The text with the secrets of this model's settings masked: providers repeat them in their errors."""
        for secret in sorted(set(_secrets([self.arguments, self.generate])), key=len, reverse=True):
            # The placeholder key of a local server ("x", "EMPTY") is none, and would blot out words.
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, _HIDDEN)
        return text

    def resolved_arguments(self, project_root: Path) -> dict[str, Any]:
        """`arguments` with `project:` files as paths."""
        return {
            key: str(project_root / value.removeprefix(PROJECT_PREFIX))
            if isinstance(value, str) and value.startswith(PROJECT_PREFIX)
            else value
            for key, value in self.arguments.items()
        }


def find_models(names: Sequence[str], settings: Mapping[str, Mapping[str, Any]]) -> list[ModelSpec]:
    """The models of these names, in order: a project's own name, or any `provider/model`.

    Raises:
        UnknownName: Neither.
        BadModelSettings: The project's table cannot be read.
    """
    return [_find(name, settings) for name in names]


def _find(name: str, settings: Mapping[str, Mapping[str, Any]]) -> ModelSpec:
    if name not in settings and "/" not in name.strip("/"):
        raise UnknownName("model", name, settings)
    table = {"family": name, **settings.get(name, {"provider": name})}
    try:
        return ModelSpec.model_validate({"name": name, **table})
    except ValidationError as error:
        place = f"[models.{name}] in interplay.toml" if name in settings else f"model {name!r}"
        raise BadModelSettings(f"{place}: {_problem(error)}") from error


def _problem(error: ValidationError) -> str:
    if error.errors()[0]["loc"] == ("provider",):
        return "'provider' must be Inspect AI's provider/model, as 'google/gemini-2.5-flash'"
    return first_problem(error, ModelSpec.model_fields.keys() - {"name"})


def _without_secrets(value: Any, *, hashed: bool = False) -> Any:
    """A value without the texts that are named like secrets.

    With `hashed`, they are replaced by a hash: among settings of generation, `stop_token` is no secret and changes what
    comes back. Headers are dropped all the same: they say who pays.
    """
    if isinstance(value, Mapping):
        return {
            key: f"sha256:{content_hash(one)[:12]}" if _is_secret(key, one) else _without_secrets(one, hashed=kept)
            for key, one in value.items()
            for kept in [hashed and key != "extra_headers"]
            if hashed or not _is_secret(key, one)
        }
    if isinstance(value, list | tuple):
        return [_without_secrets(one, hashed=hashed) for one in value]
    return _plain_address(value) if isinstance(value, str) else value


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            if _is_secret(key, one):
                yield one
            else:
                yield from _secrets(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _secrets(one)
    elif isinstance(value, str) and (address := _address(value)):
        asked = [text for name, text in parse_qsl(address.query) if _SECRET_NAME.search(name)]
        yield from (text for text in (address.password, *asked) if text)


def _is_secret(name: Any, value: Any) -> bool:
    return isinstance(name, str) and isinstance(value, str) and value != "" and _SECRET_NAME.search(name) is not None


def _plain_address(text: str) -> str:
    """The text; if it is a URL, without user, password and secret parameters."""
    address = _address(text)
    if address is None:
        return text
    asked = parse_qsl(address.query, keep_blank_values=True)
    open_ones = [(name, value) for name, value in asked if not _SECRET_NAME.search(name)]
    host = address.netloc.rpartition("@")[2]
    if host == address.netloc and open_ones == asked:
        return text
    return address._replace(netloc=host, query=urlencode(open_ones)).geturl()


def _address(text: str) -> SplitResult | None:
    if "://" not in text:
        return None
    try:
        return urlsplit(text)
    except ValueError:
        return None
