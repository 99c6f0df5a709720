"""Runs, events, people and their assignments."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlmodel import Field, Index, SQLModel, text

from warehouse.tables.base import enum_column, id_column, json_column, moment_column, optional_moment_column


class RunStatus(StrEnum):
    """How a run stands; `interrupted` is a run whose process is gone."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class Run(SQLModel, table=True):
    """One execution of a command; every machine-made row points at one."""

    __tablename__ = "run"

    id: str = id_column()
    command: str = Field(max_length=64, index=True)
    settings: dict[str, Any] = json_column(dict)
    fingerprint: str = Field(max_length=64, description="sha256 over command, settings and seed")
    seed: int | None = None
    environment: dict[str, Any] = json_column(dict)
    host: str = Field(max_length=128)
    process_id: int
    status: RunStatus = enum_column(RunStatus, RunStatus.RUNNING)
    summary: dict[str, Any] = json_column(dict)
    started_at: datetime = moment_column()
    ended_at: datetime | None = optional_moment_column()


class Event(SQLModel, table=True):
    """What happened, appended in the same transaction as the change it tells of; never changed, never deleted.

    Only words about media that were withdrawn are blanked (`warehouse.forgetting`).
    """

    __tablename__ = "event"

    sequence: int | None = Field(default=None, primary_key=True)
    at: datetime = moment_column()
    actor: str = Field(max_length=128)
    subject_kind: str = Field(max_length=32)
    subject_id: str = Field(max_length=64, index=True)
    action: str = Field(max_length=48)
    detail: dict[str, Any] = json_column(dict)


class User(SQLModel, table=True):
    """Somebody who signs in. `roles` are of annotator, reviewer, maintainer, participant."""

    __tablename__ = "user"

    id: str = id_column()
    name: str = Field(max_length=64, unique=True)
    display_name: str = Field(max_length=128)
    password_hash: str | None = None
    external_id: str | None = Field(
        default=None, max_length=512, unique=True, index=True, description="issuer and subject at a sign-in service"
    )
    roles: list[str] = json_column(list)
    profile: dict[str, Any] = json_column(dict)
    active: bool = True
    failed_sign_ins: int = 0
    locked_until: datetime | None = optional_moment_column()
    created_at: datetime = moment_column()


class AssignmentState(StrEnum):
    """How a lease stands."""

    LIVE = "live"
    DONE = "done"
    RELEASED = "released"
    EXPIRED = "expired"


class Assignment(SQLModel, table=True):
    """A lease: this user alone has this task until it expires. At most one live lease a task."""

    __tablename__ = "assignment"
    __table_args__ = (
        Index(
            "one_live_lease",
            "task_kind",
            "task_id",
            unique=True,
            sqlite_where=text("state = 'live'"),
            postgresql_where=text("state = 'live'"),
        ),
    )

    id: str = id_column()
    task_kind: str = Field(max_length=32)
    task_id: str = Field(max_length=64)
    user_id: str = Field(foreign_key="user.id", index=True)
    state: AssignmentState = enum_column(AssignmentState, AssignmentState.LIVE)
    taken_at: datetime = moment_column()
    expires_at: datetime = moment_column()
    ended_at: datetime | None = optional_moment_column()
