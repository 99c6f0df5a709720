"""What people find: reviews of revisions, and gold items that check the reviewers."""

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel, UniqueConstraint

from warehouse.tables.base import id_column, json_column, moment_column, optional_moment_column


class Review(SQLModel, table=True):
    """One reviewer's way through one revision: blind without a modality, blind with all, then a decision.

    Each stage is written once; `partial_at`, `full_at` and `finished_at` say which are. Answers are texts as a model
    gives them, so that the question's own grader reads them; where the moment is set and the answer is None, the
    reviewer could not answer. Points are None where nothing was graded. `hidden` is the modality that is kept back at
    first; None where the question holds none. `verdict_id` is the verdict of round 3 that came of it; a review of a
    gold item has none, because it moves nothing.
    """

    __tablename__ = "review"
    __table_args__ = (UniqueConstraint("revision_id", "reviewer", "is_gold"),)

    id: str = id_column()
    revision_id: str = Field(foreign_key="item_revision.id", index=True)
    reviewer: str = Field(max_length=64, index=True, description="name of a user")
    is_gold: bool = False
    assignment_id: str = Field(foreign_key="assignment.id")
    hidden: str | None = Field(default=None, max_length=8)
    partial_answer: str | None = None
    partial_points: float | None = None
    partial_at: datetime | None = optional_moment_column()
    full_answer: str | None = None
    full_points: float | None = None
    full_at: datetime | None = optional_moment_column()
    decision: str | None = Field(default=None, max_length=16, description="a `Decision`, once it is given")
    reason_codes: list[str] = json_column(list)
    comments: list[dict[str, Any]] = json_column(list)
    suggested_edit: dict[str, Any] = json_column(dict)
    verdict_id: str | None = Field(default=None, foreign_key="verdict.id")
    started_at: datetime = moment_column()
    finished_at: datetime | None = optional_moment_column()


class GoldItem(SQLModel, table=True):
    """A revision whose right verdict is known, which reviewers get among their own without being told.

    `reason_codes` are those of which one must be given; empty takes any.
    """

    __tablename__ = "gold_item"

    revision_id: str = Field(foreign_key="item_revision.id", primary_key=True)
    decision: str = Field(max_length=16, description="a `Decision`")
    reason_codes: list[str] = json_column(list)
    note: str | None = None
    active: bool = True
    added_by: str = Field(max_length=64)
    created_at: datetime = moment_column()
