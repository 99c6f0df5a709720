"""The words that materials are tagged with: facets, values with names in both languages, and prompts for a model."""

import difflib
import shutil
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.errors import InterplayError, first_problem
from core.provenance import content_hash
from curation.tagging.tags import FACETS, FREE, Tag

FILE = "vocabulary.yaml"
PLACE = "{}"
_Words = Annotated[str, Field(min_length=1, max_length=300)]


class BadVocabulary(InterplayError):
    """A vocabulary file that cannot be used."""


class VocabularyExists(InterplayError):
    """The project has a vocabulary already."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Names(_Model):
    """What people read."""

    en: _Words
    zh: _Words


class Value(_Model):
    """One value of a facet.

    `prompts` are phrases of what is seen, which stand in the facet's templates; without any, its English name does.
    """

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)
    names: Names
    prompts: tuple[_Words, ...] = ()

    @property
    def phrases(self) -> tuple[str, ...]:
        """What stands in the templates."""
        return self.prompts or (self.names.en,)


class Facet(_Model):
    """A question that a tag answers.

    `templates` are sentences with `{}`; `top` is how many values a material may have, `threshold` the least share of
    the softmax over all values of the facet that one must have.
    """

    templates: tuple[_Words, ...] = Field(min_length=1)
    top: int = Field(ge=1)
    threshold: float = Field(gt=0, lt=1)
    values: tuple[Value, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _can_be_asked(self) -> "Facet":
        for template in self.templates:
            if template.count(PLACE) != 1:
                raise ValueError(f"the template {template!r} needs {PLACE} once, where the value stands")
        ids = [value.id for value in self.values]
        twice = sorted({one for one in ids if ids.count(one) > 1})
        if twice:
            raise ValueError(f"the values {', '.join(twice)} stand there twice")
        return self


def _texts(value: Value) -> Iterator[str]:
    for text in (*value.prompts, value.names.zh, value.names.en, value.id):
        yield text.casefold()
        yield from text.casefold().replace("-", " ").split() if text.isascii() else text


class Vocabulary(_Model):
    """All facets that a model tags, by name."""

    facets: dict[str, Facet] = Field(min_length=1)

    @model_validator(mode="after")
    def _facets_are_known(self) -> "Vocabulary":
        known = [facet for facet in FACETS if facet != FREE]
        odd = sorted(set(self.facets) - set(known))
        if odd:
            raise ValueError(f"there is no facet {odd[0]!r}; facets: {', '.join(known)}")
        return self

    @cached_property
    def sha256(self) -> str:
        """Of what it says; comments and layout do not count."""
        return content_hash(self.model_dump(mode="json"))

    def ordered(self) -> list[tuple[str, Facet]]:
        """Facets with their names, in the order of `FACETS`."""
        return [(name, self.facets[name]) for name in FACETS if name in self.facets]

    def names(self) -> Mapping[Tag, Names]:
        """What people read for each tag."""
        return {Tag(name, value.id): value.names for name, facet in self.ordered() for value in facet.values}

    def find(self, text: str) -> list[Tag]:
        """The tags with that id, or that name in either language, whatever its case."""
        wanted = text.strip().casefold()
        said = ((tag, (tag.value, names.en, names.zh)) for tag, names in self.names().items())
        return [tag for tag, texts in said if wanted in {one.casefold() for one in texts}]

    def meant(self, text: str) -> Tag:
        """The tag that people write, its value as id or as name in either language, whatever its case.

        Raises:
            BadTag: It is empty or too long.
        """
        tag = Tag.parse(text)
        return next((one for one in self.find(tag.value) if one.facet == tag.facet), tag)

    def nearest(self, tag: Tag) -> list[Tag]:
        """The tags that one which is not in the vocabulary is likely to mean, at most three, the likeliest first.

        By ids, names and prompts, and their single words; a name of another facet is one of that facet.
        """
        facet, _, value = str(tag).partition(":")
        elsewhere = self.find(value or facet)
        if tag.facet == FREE:
            near = difflib.get_close_matches(facet.strip().lower(), FACETS, n=1) if value else []
            tag = Tag(near[0], value.strip()) if near else tag
        held = self.facets.get(tag.facet)
        words = {text: Tag(tag.facet, one.id) for one in reversed(held.values if held else ()) for text in _texts(one)}
        # A Chinese word is short: one character of two in common is near.
        cutoff = 0.75 if tag.value.isascii() else 0.6
        likely = [words[text] for text in difflib.get_close_matches(tag.value.casefold(), words, n=9, cutoff=cutoff)]
        return list(dict.fromkeys((*likely, *elsewhere)))[:3]


def load_vocabulary(root: Path) -> Vocabulary:
    """The vocabulary of a project: its own `vocabulary.yaml`, else the one that comes with Interplay.

    Raises:
        BadVocabulary: The file cannot be used.
    """
    own = root / FILE
    if own.is_file():
        return read_vocabulary(own)
    with as_file(files("curation.tagging") / FILE) as shipped:
        return read_vocabulary(shipped)


def read_vocabulary(file: Path) -> Vocabulary:
    """The vocabulary in a file.

    Raises:
        BadVocabulary: It is no YAML, or says something that cannot be.
    """
    try:
        said: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
        return Vocabulary.model_validate(said)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadVocabulary(f"{file} cannot be read: {' '.join(str(error).split())}; correct it") from error
    except ValidationError as error:
        raise BadVocabulary(f"{file}: {first_problem(error)}; correct it") from error


def write_vocabulary(root: Path) -> Path:
    """Copy the shipped vocabulary into the project, to be edited there.

    Raises:
        VocabularyExists: There is one.
    """
    own = root / FILE
    if own.exists():
        raise VocabularyExists(f"{own} is there already; edit it, or remove it first to begin anew")
    with as_file(files("curation.tagging") / FILE) as shipped:
        shutil.copyfile(shipped, own)
    return own
