"""The task types that a question can have, as a versioned tree in English and Chinese.

The names and the tree are those of UNO-Bench (arXiv:2510.18915); the definitions, examples and Chinese names are ours.
A published version never changes: a new wording or type is a new file `core/data/taxonomy-<version>.json`.

UNO-Bench reports abilities in the columns of its Table 3 but does not print which types each column holds, so
`TaskType.report_ability` is our reading of the names and of the item counts that the table implies:

- `alignment`: Cross-Modal Alignment. `recognition`: Object, Attribute and Scenario Perception.
- `temporal`: Temporal Reasoning. `spatial`: Spatial Reasoning.
- `general`: General Reasoning, and also STEM Reasoning, Complex Reasoning and Code, because the three reasoning columns
  (402 + 66 + 120 items) already sum to the reasoning total of 588, which leaves no room for a fourth.
- None: Spatial Perception, Cross-Modal Conversion and Semantic Understanding. The two perception columns (191 + 217
  items) also sum to their total of 408, but nothing tells in which of them these types were counted. They count in
  perception overall only.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files
from typing import Literal, Self

from pydantic import Field, model_validator

from core.content import Frozen
from core.errors import UnknownName

Language = Literal["en", "zh"]

_FILE = re.compile(r"taxonomy-(\w+)\.json")
_SLUG = r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$"


class ReportAbility(StrEnum):
    """The ability columns of reports; the overall columns follow from a type's branch."""

    ALIGNMENT = "alignment"
    RECOGNITION = "recognition"
    GENERAL = "general"
    TEMPORAL = "temporal"
    SPATIAL = "spatial"


class Named(Frozen):
    """Something with a stable id and a name in each language; on its own, a branch or an ability."""

    id: str = Field(pattern=_SLUG)
    name_en: str = Field(min_length=1)
    name_zh: str = Field(min_length=1)

    def name(self, language: Language) -> str:
        """The name in that language."""
        return self.name_zh if language == "zh" else self.name_en


class TaskType(Named):
    """A leaf of the tree: what a question asks for, and how sound and picture take part in it.

    `path` holds the ids of its branch, its ability and, where there is one, its sub-ability.
    """

    path: tuple[str, ...] = Field(min_length=2, max_length=3)
    report_ability: ReportAbility | None
    definition_en: str = Field(min_length=1)
    definition_zh: str = Field(min_length=1)
    example_en: str = Field(min_length=1)
    example_zh: str = Field(min_length=1)

    @property
    def branch(self) -> str:
        """Id of the branch: `perception` or `reasoning`."""
        return self.path[0]

    @property
    def ability(self) -> str:
        """Id of the ability, the level below the branch."""
        return self.path[1]

    def definition(self, language: Language) -> str:
        """What belongs to this type, in that language."""
        return self.definition_zh if language == "zh" else self.definition_en

    def example(self, language: Language) -> str:
        """An idea for a question of this type, in that language."""
        return self.example_zh if language == "zh" else self.example_en


class Taxonomy(Frozen):
    """One version of the tree; task types and abilities stand in reading order."""

    version: str
    branches: tuple[Named, ...]
    abilities: tuple[Named, ...] = Field(description="abilities and sub-abilities")
    task_types: tuple[TaskType, ...]

    @model_validator(mode="after")
    def _check_tree(self) -> Self:
        groups = (*self.branches, *self.abilities)
        for kind, entries in (("task type", self.task_types), ("ability", groups)):
            keys = Counter(key for entry in entries for key in _keys(entry))
            twice = sorted(key for key, count in keys.items() if count > 1)
            if twice:
                raise ValueError(f"more than one {kind} is called {', '.join(twice)}")
        branch_ids, ability_ids = {entry.id for entry in self.branches}, {entry.id for entry in self.abilities}
        for task_type in self.task_types:
            if task_type.branch not in branch_ids or not ability_ids.issuperset(task_type.path[1:]):
                raise ValueError(f"the path {'/'.join(task_type.path)} of {task_type.id} names an unknown ability")
        return self

    @cached_property
    def _task_types_by_key(self) -> Mapping[str, TaskType]:
        return {key: task_type for task_type in self.task_types for key in _keys(task_type)}

    @cached_property
    def _groups_by_key(self) -> Mapping[str, Named]:
        return {key: group for group in (*self.branches, *self.abilities) for key in _keys(group)}

    def get(self, name: str) -> TaskType:
        """The task type with that id, English or Chinese name; case, spaces, hyphens and underscores do not count.

        Raises:
            UnknownName: No task type is called so.
        """
        found = self._task_types_by_key.get(_key(name))
        if found is None:
            raise UnknownName("task type", name, _names_like(name, self.task_types), "interplay item types")
        return found

    def group(self, name: str) -> Named:
        """The branch, ability or sub-ability with that id, English or Chinese name.

        Raises:
            UnknownName: No branch or ability is called so.
        """
        found = self._groups_by_key.get(_key(name))
        if found is None:
            raise UnknownName("ability", name, _names_like(name, (*self.branches, *self.abilities)))
        return found

    def children(self, group: str) -> tuple[TaskType, ...]:
        """All task types below a branch, ability or sub-ability, which is named as in `group`.

        Raises:
            UnknownName: No branch or ability is called so.
        """
        group_id = self.group(group).id
        return tuple(task_type for task_type in self.task_types if group_id in task_type.path)

    def names(self, language: Language) -> tuple[str, ...]:
        """The names of all task types in that language."""
        return tuple(task_type.name(language) for task_type in self.task_types)


@cache
def load_taxonomy(version: str = "1") -> Taxonomy:
    """Read a version of the taxonomy that is part of this package.

    Raises:
        UnknownName: There is no such version.
    """
    found = ((_FILE.fullmatch(file.name), file) for file in files("core").joinpath("data").iterdir())
    by_version = {match.group(1): file for match, file in found if match}
    if version not in by_version:
        raise UnknownName("taxonomy version", version, by_version)
    return Taxonomy.model_validate_json(by_version[version].read_bytes())


def _key(name: str) -> str:
    # NFKC folds the full-width letters and spaces that Chinese input methods produce.
    return re.sub(r"[\s_-]+", "", unicodedata.normalize("NFKC", name).casefold())


def _keys(entry: Named) -> set[str]:
    return {_key(entry.id), _key(entry.name_en), _key(entry.name_zh)}


def _names_like(name: str, entries: Iterable[Named]) -> list[str]:
    """The names to suggest from: ids to one who wrote an id, else names of the language that `name` is written in."""
    if re.fullmatch(_SLUG, name):
        return [entry.id for entry in entries]
    return [entry.name("en" if name.isascii() else "zh") for entry in entries]
