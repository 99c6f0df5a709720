"""How many questions of which kind the benchmark shall have."""

from datetime import datetime

from sqlmodel import Field, SQLModel, UniqueConstraint

from warehouse.tables.base import id_column, moment_column


class CoverageTarget(SQLModel, table=True):
    """So many accepted questions of a task type, over a combination of media, in a language, are wanted.

    Each of the three may be `""`, which stands for any: a null would not, for rows with nulls are never equal and the
    same target could stand there twice. `modalities` joins the names in the order of the alphabet, as `audio+image`.
    `version` counts changes: who changes the count names the version that they saw.
    """

    __tablename__ = "coverage_target"
    __table_args__ = (UniqueConstraint("task_type", "modalities", "language"),)

    id: str = id_column()
    task_type: str = Field(default="", max_length=64)
    modalities: str = Field(default="", max_length=64)
    language: str = Field(default="", max_length=16)
    target: int
    version: int = 1
    updated_by: str = Field(foreign_key="user.id")
    updated_at: datetime = moment_column()
