"""Who gave recordings, what they agreed to, what they were asked to say, and their takes."""

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel

from warehouse.tables.base import id_column, json_column, moment_column, optional_moment_column


class Contributor(SQLModel, table=True):
    """Somebody who gave recordings, under a pseudonym, with coarse facts only."""

    __tablename__ = "contributor"

    id: str = id_column()
    pseudonym: str = Field(max_length=64, unique=True)
    dialect: str | None = Field(default=None, max_length=64)
    age_band: str | None = Field(default=None, max_length=16)
    gender: str | None = Field(default=None, max_length=16)
    created_at: datetime = moment_column()


class ConsentText(SQLModel, table=True):
    """The words of one version of the consent, by language; what somebody agreed to must be readable for ever.

    `licence` is the one under which these words let the project publish what is recorded.
    """

    __tablename__ = "consent_text"

    version: str = Field(primary_key=True, max_length=32)
    texts: dict[str, str] = json_column(dict)
    licence: str | None = Field(default=None, description="SPDX identifier or a URL")
    created_by: str = Field(max_length=64)
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


class Script(SQLModel, table=True):
    """What is to be said, in which language and dialect, in which role."""

    __tablename__ = "script"

    id: str = id_column()
    name: str = Field(max_length=128, unique=True)
    text: str
    language: str = Field(max_length=16)
    dialect: str | None = Field(default=None, max_length=64)
    role: str | None = Field(default=None, max_length=64)
    speakers: int = 1
    active: bool = True
    created_by: str = Field(max_length=64)
    created_at: datetime = moment_column()


class Recording(SQLModel, table=True):
    """A contributor's take of a script.

    `sha256` names the take's bytes as received, kept sealed; `checks` are what the automatic checks measured and found.
    `accepted` is None until a person decides; an accepted take is the material `material_id`.
    """

    __tablename__ = "recording"

    id: str = id_column()
    contributor_id: str = Field(foreign_key="contributor.id", index=True)
    consent_id: str = Field(foreign_key="consent.id", index=True)
    script_id: str | None = Field(default=None, foreign_key="script.id", index=True)
    material_id: str | None = Field(default=None, foreign_key="material.id", index=True)
    script: str
    dialect: str | None = Field(default=None, max_length=64)
    role: str | None = Field(default=None, max_length=64)
    device: str | None = Field(default=None, max_length=128)
    sha256: str = Field(max_length=64)
    checks: dict[str, Any] = json_column(dict)
    accepted: bool | None = None
    decided_by: str | None = Field(default=None, max_length=64)
    decided_at: datetime | None = optional_moment_column()
    decided_why: str | None = None
    created_at: datetime = moment_column()
