"""The simulated members that a server serves: those of a TOML file, or a built-in set."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.content import Modality
from core.errors import InterplayError
from evaluation.models.sim.gallery import Gallery
from evaluation.models.sim.member import Knobs, read_knobs
from evaluation.models.sim.spoken_digits import installed_digits

BUILT_IN: Mapping[str, Knobs] = MappingProxyType(
    {
        "perfect": Knobs(seed=1),
        "weak": Knobs(seed=2, perception=0.6, own_prior=0.4),
        "deaf": Knobs(seed=3, dropped=frozenset({Modality.AUDIO})),
        "blind": Knobs(seed=4, dropped=frozenset({Modality.IMAGE, Modality.VIDEO})),
        "flaky": Knobs(seed=5, error_rate=0.3, errors=("429", "500", "timeout", "cut")),
        "stubborn": Knobs(seed=6, position_bias=0.9),
    }
)


class BadMembers(InterplayError):
    """A file of members that is missing or cannot be read."""


def read_members(file: Path) -> dict[str, Knobs]:
    """Members by name, from the `[members.NAME]` tables of knobs in a TOML file.

    Raises:
        BadMembers: The file is missing, is no TOML, or names no member.
        BadKnobs: A knob is unknown or has an impossible value.
    """
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError as error:
        raise BadMembers(f"there is no file {file}; write [members.NAME] tables of knobs into it") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadMembers(f"{file} cannot be read as TOML: {error}") from error
    unknown = sorted(document.keys() - {"members"})
    if unknown:
        raise BadMembers(f"{file}: unknown table [{unknown[0]}]; members stand in [members.NAME] tables")
    members = document.get("members")
    if not isinstance(members, dict) or not members:
        raise BadMembers(f"{file} names no member; write at least one [members.NAME] table, as [members.perfect]")
    return {name: _knobs(name, table, file) for name, table in members.items()}


def default_gallery() -> Gallery:
    """Spoken digits alone, from an installed package.

    Raises:
        MissingExtra: The package is not installed.
    """
    return Gallery.build([], installed_digits())


def _knobs(name: str, table: Any, file: Path) -> Knobs:
    if not name or any(character.isspace() for character in name):
        raise BadMembers(f"{file}: the member's name {name!r} holds white space; a model's name has none")
    if not isinstance(table, dict):
        raise BadMembers(f"{file}: members.{name} is no table; write [members.{name}] and the knobs below it")
    return read_knobs(table, f"{file}, [members.{name}]")
