"""Exams: people who never saw the items answer a sample as models do."""

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel, UniqueConstraint

from warehouse.tables.base import id_column, json_column, moment_column, optional_moment_column


class Exam(SQLModel, table=True):
    """A sample of a release's revisions, put to people under the conditions that models are asked under.

    `sample` lists `{"revision_id", "condition"}` in the order in which they were drawn; each participant gets them in
    an order of their own.
    """

    __tablename__ = "exam"

    id: str = id_column()
    name: str = Field(max_length=64, unique=True)
    release_id: str = Field(foreign_key="release.id")
    seed: int
    sample: list[dict[str, Any]] = json_column(list)
    is_open: bool = True
    created_by: str = Field(max_length=64)
    created_at: datetime = moment_column()


class ExamSitting(SQLModel, table=True):
    """Somebody's way through an exam. `stored_at` is when their answers became responses like a model's."""

    __tablename__ = "exam_sitting"
    __table_args__ = (UniqueConstraint("exam_id", "user_id"),)

    id: str = id_column()
    exam_id: str = Field(foreign_key="exam.id", index=True)
    user_id: str = Field(foreign_key="user.id", index=True)
    pseudonym: str = Field(max_length=32, description="names the participant in responses")
    order: list[int] = json_column(list)
    started_at: datetime = moment_column()
    finished_at: datetime | None = optional_moment_column()
    stored_at: datetime | None = optional_moment_column()


class ExamAnswer(SQLModel, table=True):
    """One answer; None is "cannot tell".

    `confidence` is in percent; times are when the question was first shown and when the answer was handed in.
    """

    __tablename__ = "exam_answer"
    __table_args__ = (UniqueConstraint("sitting_id", "place"),)

    id: str = id_column()
    sitting_id: str = Field(foreign_key="exam_sitting.id", index=True)
    place: int = Field(description="in the exam's sample")
    answer: str | None = None
    confidence: int | None = Field(default=None, ge=0, le=100)
    shown_at: datetime = moment_column()
    answered_at: datetime | None = optional_moment_column()
