"""The material library: media, where it came from, what is in it, who gave it."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlmodel import Field, SQLModel, UniqueConstraint

from core.content import MediaRef
from warehouse.tables.base import enum_column, id_column, json_column, moment_column, optional_moment_column


class MaterialState(StrEnum):
    """Whether authors may use a material."""

    KEPT = "kept"
    DROPPED = "dropped"
    WITHDRAWN = "withdrawn"


class Material(SQLModel, table=True):
    """Media in the library. Its identity is the sha256 of the bytes as received.

    `media` is the `MediaRef` of the working copy: upright, without personal metadata, a video without its sound. The
    sound of a video is a child material (`parent_id`) that starts `parent_offset_s` after the video's first frame.
    `drop_reason` and `drop_measure` come from the filter that dropped it; `looks` holds perceptual hashes.
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
    tags: list[str] = json_column(list)
    audio_type: str | None = Field(default=None, max_length=16)
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


class DuplicateLink(SQLModel, table=True):
    """Evidence that two materials show the same; groups are the connected components. `first_id` < `second_id`."""

    __tablename__ = "duplicate_link"
    __table_args__ = (UniqueConstraint("first_id", "second_id", "method"),)

    id: str = id_column()
    first_id: str = Field(foreign_key="material.id", index=True)
    second_id: str = Field(foreign_key="material.id", index=True)
    method: str = Field(max_length=32, description="name@version of what found it")
    distance: float
    run_id: str = Field(foreign_key="run.id")


class Segment(SQLModel, table=True):
    """A stretch of speech in a material: who said what, when. Times in seconds from the material's start."""

    __tablename__ = "segment"

    id: str = id_column()
    material_id: str = Field(foreign_key="material.id", index=True)
    start_s: float
    end_s: float
    speaker: str | None = Field(default=None, max_length=32)
    text: str | None = None
    language: str | None = Field(default=None, max_length=16)
    made_by: str = Field(max_length=64, description="name@version of the model, or a user id")
    run_id: str = Field(foreign_key="run.id")


class Contributor(SQLModel, table=True):
    """Somebody who gave recordings, under a pseudonym, with coarse facts only."""

    __tablename__ = "contributor"

    id: str = id_column()
    pseudonym: str = Field(max_length=64, unique=True)
    dialect: str | None = Field(default=None, max_length=64)
    age_band: str | None = Field(default=None, max_length=16)
    gender: str | None = Field(default=None, max_length=16)
    created_at: datetime = moment_column()


class Consent(SQLModel, table=True):
    """What a contributor agreed to, in which words, until when; a withdrawal is a moment, never a deletion."""

    __tablename__ = "consent"

    id: str = id_column()
    contributor_id: str = Field(foreign_key="contributor.id", index=True)
    text_version: str = Field(max_length=32)
    scope: list[str] = json_column(list)
    given_at: datetime = moment_column()
    expires_at: datetime | None = optional_moment_column()
    withdrawn_at: datetime | None = optional_moment_column()


class Recording(SQLModel, table=True):
    """A contributor's take of a script."""

    __tablename__ = "recording"

    id: str = id_column()
    contributor_id: str = Field(foreign_key="contributor.id", index=True)
    consent_id: str = Field(foreign_key="consent.id")
    material_id: str | None = Field(default=None, foreign_key="material.id")
    script: str
    dialect: str | None = Field(default=None, max_length=64)
    role: str | None = Field(default=None, max_length=64)
    device: str | None = Field(default=None, max_length=128)
    sha256: str = Field(max_length=64)
    checks: dict[str, Any] = json_column(dict)
    accepted: bool | None = None
    created_at: datetime = moment_column()
