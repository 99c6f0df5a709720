"""Models by name: those that a project names in its settings, and any Inspect AI provider."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from core.content import Frozen
from core.errors import InterplayError, UnknownName
from core.provenance import content_hash

PROJECT_PREFIX = "project:"


class BadModelSettings(InterplayError):
    """A `[models.NAME]` table that cannot be read."""


class ModelSpec(Frozen):
    """A model as the project uses it.

    Attributes:
        name: What reports call it.
        provider: Inspect AI's `provider/model`.
        family: Models of one family share their mistakes, so they have one vote in a panel.
        arguments: For the provider (base_url, ...). A text `project:FILE` means that file of the project folder.
        panel: Whether `qc run` asks it when no model is named.
        generate: Fields of Inspect AI's `GenerateConfig` (temperature, max_tokens, reasoning_tokens, ...).
    """

    name: str
    provider: str = Field(pattern=r"^[^/\s]+/\S+$")
    family: str
    arguments: Mapping[str, Any] = {}
    generate: Mapping[str, Any] = {}
    panel: bool = False

    @property
    def request_identity(self) -> dict[str, Any]:
        """What decides its answers, whatever the project calls it."""
        return {"provider": self.provider, "arguments": dict(self.arguments), "generate": dict(self.generate)}

    @property
    def fingerprint(self) -> str:
        """sha256 over `request_identity`."""
        return content_hash(self.request_identity)

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
    if name in settings:
        table = {"name": name, "family": name, **settings[name]}
        try:
            return ModelSpec.model_validate(table)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(step) for step in first["loc"]) or "table"
            raise BadModelSettings(f"[models.{name}] in interplay.toml, {where}: {first['msg']}") from error
    if "/" in name.strip("/"):
        return ModelSpec(name=name, provider=name, family=name)
    raise UnknownName("model", name, settings)
