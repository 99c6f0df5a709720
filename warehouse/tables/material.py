"""The material library: media, where it came from, what is in it, what was done with it."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import Field, Index, SQLModel, UniqueConstraint, col

from core.content import MediaRef
from warehouse.tables.base import enum_column, id_column, json_column, moment_column


class MaterialState(StrEnum):
    """Whether authors may use a material."""

    KEPT = "kept"
    DROPPED = "dropped"
    WITHDRAWN = "withdrawn"


class Material(SQLModel, table=True):
    """Media in the library. Its identity is the sha256 of the bytes as received.

    `media` is the `MediaRef` of the working copy: upright, without personal metadata, a video without its sound. The
    sound of a video is a child material (`parent_id`) that starts `parent_offset_s` after the video's first frame.
    `drop_reason` and `drop_measure` come from the filter that dropped it; `looks` holds perceptual hashes. `audio_type`
    (speech, environment, music) and `audio_content` are by 'human', or by the model whose fingerprint stands there.
    """

    __tablename__ = "material"

    id: str = id_column()
    sha256: str = Field(max_length=64, unique=True)
    state: MaterialState = enum_column(MaterialState, MaterialState.KEPT, index=True)
    version: int = 1
    media: dict[str, Any] = json_column(dict)
    modality: str = Field(max_length=8, index=True)
    parent_id: str | None = Field(default=None, foreign_key="material.id", index=True)
    parent_offset_s: float | None = None
    original_kept: bool = False
    drop_reason: str | None = Field(default=None, max_length=64)
    drop_measure: str | None = None
    measures: dict[str, Any] = json_column(dict)
    looks: dict[str, Any] = json_column(dict)
    audio_type: str | None = Field(default=None, max_length=16)
    audio_type_by: str | None = None
    audio_content: str | None = None
    audio_content_by: str | None = None
    run_id: str = Field(foreign_key="run.id")
    created_at: datetime = moment_column()

    @property
    def media_ref(self) -> MediaRef:
        """The working copy."""
        return MediaRef.model_validate(self.media)


class MaterialSource(SQLModel, table=True):
    """One place that a material came from; the same bytes from two places are one material with two sources."""

    __tablename__ = "material_source"
    __table_args__ = (UniqueConstraint("material_id", "origin"),)

    id: str = id_column()
    material_id: str = Field(foreign_key="material.id", index=True)
    origin: str = Field(description="file name, manifest line or URL, as given")
    source: str | None = None
    licence: str | None = Field(default=None, description="SPDX identifier or a URL")
    author: str | None = None
    consent_id: str | None = Field(default=None, foreign_key="consent.id")
    run_id: str = Field(foreign_key="run.id")
    created_at: datetime = moment_column()


class IngestFailure(SQLModel, table=True):
    """A file that did not become a material, and why."""

    __tablename__ = "ingest_failure"
    __table_args__ = (UniqueConstraint("origin", "reason"),)

    id: str = id_column()
    origin: str
    reason: str = Field(max_length=64)
    message: str
    run_id: str = Field(foreign_key="run.id")
    created_at: datetime = moment_column()


SEMANTIC_METHODS = "semantic_"
"""How the methods of links begin that join what means nearly the same, but may show another thing."""


class DuplicateLink(SQLModel, table=True):
    """Evidence that two materials show the same; groups are the connected components.

    The first is the one whose `sha256` is less, whichever came first, so that a link says the same in every project.
    `evidence` tells what was aligned, as seen from the first: which part of the second it is, how it is turned, when it
    begins, how fast and how high. Links whose `method` begins with `SEMANTIC_METHODS` say less: that two materials
    belong into one split of a release.
    """

    __tablename__ = "duplicate_link"
    __table_args__ = (UniqueConstraint("first_id", "second_id", "method"),)

    id: str = id_column()
    first_id: str = Field(foreign_key="material.id", index=True)
    second_id: str = Field(foreign_key="material.id", index=True)
    method: str = Field(max_length=32, description="name@version of what found it")
    distance: float
    evidence: dict[str, Any] = json_column(dict)
    run_id: str = Field(foreign_key="run.id")

    @classmethod
    def shows_same(cls) -> ColumnElement[bool]:
        """The links that say that two materials show the same, as a condition."""
        return ~col(cls.method).startswith(SEMANTIC_METHODS, autoescape=True)


class Segment(SQLModel, table=True):
    """A stretch of speech in a material: who said what, when. Times in seconds from the material's start.

    `words` are `{"text", "start_s", "end_s", "probability"}` in order, where the model tells them.
    """

    __tablename__ = "segment"

    id: str = id_column()
    material_id: str = Field(foreign_key="material.id", index=True)
    start_s: float
    end_s: float
    speaker: str | None = Field(default=None, max_length=32)
    text: str | None = None
    language: str | None = Field(default=None, max_length=16)
    words: list[dict[str, Any]] = json_column(list)
    made_by: str = Field(max_length=128, description="name@version of the model, or a user's name")
    run_id: str = Field(foreign_key="run.id")


class MaterialTag(SQLModel, table=True):
    """What somebody or some model says of a material under a facet (theme, subject, event, scene, style, free).

    `author` is a user's name, or `name@version` of a model; `holds` is False where a person says that a tag is wrong.
    What people say wins over what models say; both are kept.
    """

    __tablename__ = "material_tag"
    __table_args__ = (
        UniqueConstraint("material_id", "facet", "value", "author"),
        Index("tag_values", "facet", "value"),
    )

    id: str = id_column()
    material_id: str = Field(foreign_key="material.id", index=True)
    facet: str = Field(max_length=16)
    value: str = Field(max_length=128)
    by_person: bool
    holds: bool = True
    score: float | None = None
    author: str = Field(max_length=128)
    run_id: str | None = Field(default=None, foreign_key="run.id")
    created_at: datetime = moment_column()


class MaterialWork(SQLModel, table=True):
    """Machine work that was done on a material, or failed: each kind of work by each maker once.

    `work` is what was done ('transcribe', 'tag', 'embed'), `maker` the fingerprint of what did it. `failure` says in
    words what went wrong, None where nothing did; `result` are the few facts that have no table of their own.
    """

    __tablename__ = "material_work"
    __table_args__ = (UniqueConstraint("material_id", "work", "maker"),)

    id: str = id_column()
    material_id: str = Field(foreign_key="material.id", index=True)
    work: str = Field(max_length=32)
    maker: str = Field(max_length=256)
    failure: str | None = None
    result: dict[str, Any] = json_column(dict)
    run_id: str = Field(foreign_key="run.id")
    created_at: datetime = moment_column()
