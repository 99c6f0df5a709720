"""Exams: people answer a sample of questions as models do, each question under one condition a person."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlmodel import Field, SQLModel, UniqueConstraint

from warehouse.tables.base import enum_column, id_column, json_column, moment_column, optional_moment_column


class ExamState(StrEnum):
    """A draft is not shown to those who sit it; in a closed one nobody answers any more."""

    DRAFT = "draft"
    OPEN = "open"
    CLOSED = "closed"


class PlaceState(StrEnum):
    """What became of a question in somebody's exam.

    `void`: it could not be put to them (they know it meanwhile, or its media were withdrawn) and nothing could take its
    place.
    """

    WAITING = "waiting"
    ANSWERED = "answered"
    ABSTAINED = "abstained"
    TIMED_OUT = "timed_out"
    VOID = "void"


class Exam(SQLModel, table=True):
    """How people are asked: which questions (`exam_item`), under which conditions, how many of them each person.

    `subject` is the release as people call it, `demo 1.0.0`; empty for the accepted questions of the day on which it
    was made. `release_id` is no foreign key: a release that was not sealed can be discarded, and what people answered
    stays. `limit_s` is what one question may take, from its first showing. `version` counts changes.
    """

    __tablename__ = "exam"

    id: str = id_column()
    name: str = Field(max_length=64, unique=True)
    subject: str = Field(default="", max_length=128)
    release_id: str | None = Field(default=None, max_length=36, index=True)
    conditions: list[str] = json_column(list)
    size: int
    seed: int
    limit_s: int | None = None
    asks_confidence: bool = True
    state: ExamState = enum_column(ExamState, ExamState.DRAFT)
    version: int = 1
    created_by: str = Field(max_length=64)
    created_at: datetime = moment_column()
    opened_at: datetime | None = optional_moment_column()
    closed_at: datetime | None = optional_moment_column()
    graded_run_id: str | None = Field(default=None, foreign_key="run.id", description="the last grading")


class ExamItem(SQLModel, table=True):
    """A question that an exam can put: those with a `place` are its sample, the others stand in for one they know.

    `stratum` is its task type and its media, as `counting, audio+image`; `rank` is its turn in its stratum.
    """

    __tablename__ = "exam_item"

    exam_id: str = Field(foreign_key="exam.id", primary_key=True)
    revision_id: str = Field(foreign_key="item_revision.id", primary_key=True)
    stratum: str = Field(max_length=160)
    rank: int
    place: int | None = None


class ExamSeat(SQLModel, table=True):
    """Somebody who is invited to an exam. `number` decides under which conditions they see which question.

    `profile` is what they were when they were invited (`expert`, `crowd`, or empty); `missing` counts by stratum the
    questions for which there was none that they do not know.
    """

    __tablename__ = "exam_seat"
    __table_args__ = (UniqueConstraint("exam_id", "user_id"), UniqueConstraint("exam_id", "number"))

    id: str = id_column()
    exam_id: str = Field(foreign_key="exam.id", index=True)
    user_id: str = Field(foreign_key="user.id", index=True)
    number: int
    profile: str = Field(default="", max_length=16)
    missing: dict[str, int] = json_column(dict)
    invited_by: str = Field(max_length=64)
    invited_at: datetime = moment_column()
    started_at: datetime | None = optional_moment_column()
    finished_at: datetime | None = optional_moment_column()


class ExamPlace(SQLModel, table=True):
    """One question of somebody's exam, under the condition that they see it under, and what they answered.

    `condition` is the whole `core.condition.Condition`, so that what was shown stays known when captions change. `turn`
    is the place in the sample, `position` that in this person's order. `saved` is what is filled in and not handed in.
    `spans` are pairs of moments between which the question was seen to be on the screen. An answer never changes.
    """

    __tablename__ = "exam_place"
    __table_args__ = (UniqueConstraint("seat_id", "position"), UniqueConstraint("seat_id", "revision_id"))

    id: str = id_column()
    seat_id: str = Field(foreign_key="exam_seat.id", index=True)
    position: int
    turn: int
    stratum: str = Field(max_length=160)
    revision_id: str = Field(foreign_key="item_revision.id", index=True)
    condition: dict[str, Any] = json_column(dict)
    state: PlaceState = enum_column(PlaceState, PlaceState.WAITING)
    answer: str | None = None
    confidence: int | None = Field(default=None, description="percent")
    saved: dict[str, Any] = json_column(dict)
    spans: list[list[str]] = json_column(list)
    shown_at: datetime | None = optional_moment_column()
    answered_at: datetime | None = optional_moment_column()
