"""What leaves the house: releases, subsets of question pools, asset packs."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlmodel import Field, SQLModel, UniqueConstraint

from warehouse.tables.base import enum_column, id_column, json_column, moment_column, optional_moment_column


class ReleaseState(StrEnum):
    """A built release can be discarded; a sealed one never changes."""

    BUILT = "built"
    SEALED = "sealed"


class Release(SQLModel, table=True):
    """A chosen set of accepted revisions under a name and a semantic version."""

    __tablename__ = "release"
    __table_args__ = (UniqueConstraint("name", "version"),)

    id: str = id_column()
    name: str = Field(max_length=64)
    version: str = Field(max_length=32)
    state: ReleaseState = enum_column(ReleaseState, ReleaseState.BUILT)
    settings: dict[str, Any] = json_column(dict)
    manifest_sha256: str | None = Field(default=None, max_length=64)
    run_id: str = Field(foreign_key="run.id")
    created_at: datetime = moment_column()
    sealed_at: datetime | None = optional_moment_column()


class ReleaseItem(SQLModel, table=True):
    """A revision in a release."""

    __tablename__ = "release_item"

    release_id: str = Field(foreign_key="release.id", primary_key=True)
    revision_id: str = Field(foreign_key="item_revision.id", primary_key=True)
    split: str = Field(max_length=16)
    position: int


class Subset(SQLModel, table=True):
    """Questions of a pool that stand for all of it: `members` are (question id, weight, stratum)."""

    __tablename__ = "subset"

    id: str = id_column()
    name: str = Field(max_length=64, unique=True)
    pool: str = Field(max_length=128)
    sampler: str = Field(max_length=64, description="name@version")
    members: list[dict[str, Any]] = json_column(list)
    manifest: dict[str, Any] = json_column(dict)
    run_id: str = Field(foreign_key="run.id")
    created_at: datetime = moment_column()


class AssetPack(SQLModel, table=True):
    """Pictures and sounds for the games, made from a release."""

    __tablename__ = "asset_pack"

    id: str = id_column()
    name: str = Field(max_length=64, unique=True)
    release_id: str | None = Field(default=None, foreign_key="release.id")
    manifest: dict[str, Any] = json_column(dict)
    manifest_sha256: str = Field(max_length=64)
    run_id: str = Field(foreign_key="run.id")
    created_at: datetime = moment_column()
