"""Items, their revisions, and what was decided about them."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlmodel import Field, SQLModel, UniqueConstraint

from core.question import Question
from warehouse.tables.base import enum_column, id_column, json_column, moment_column


class ItemState(StrEnum):
    """Where an item stands in its life."""

    DRAFT = "draft"
    SUBMITTED = "submitted"
    ROUND1_PASSED = "round1_passed"
    ROUND2_PASSED = "round2_passed"
    ACCEPTED = "accepted"
    RELEASED = "released"
    RETIRED = "retired"
    RETURNED = "returned"
    REJECTED = "rejected"


class Item(SQLModel, table=True):
    """Identity and state of a question through all its revisions. Only `lifecycle.advance` writes `state`.

    `name` is what people and files call it (`qid` in releases); `version` counts changes for optimistic writes.
    """

    __tablename__ = "item"

    id: str = id_column()
    name: str = Field(max_length=128, unique=True)
    state: ItemState = enum_column(ItemState, ItemState.DRAFT, index=True)
    version: int = 1
    current_revision_id: str | None = Field(default=None, max_length=36)
    twin_group: str | None = Field(default=None, max_length=64, index=True)
    created_by: str = Field(max_length=64)
    created_at: datetime = moment_column()


class ItemRevision(SQLModel, table=True):
    """One immutable wording of an item: a `core.question.Question`, and in `notes` what the author adds (evidence)."""

    __tablename__ = "item_revision"
    __table_args__ = (UniqueConstraint("item_id", "number"),)

    id: str = id_column()
    item_id: str = Field(foreign_key="item.id", index=True)
    number: int
    question: dict[str, Any] = json_column(dict)
    content_hash: str = Field(max_length=64, index=True)
    notes: dict[str, Any] = json_column(dict)
    author: str = Field(max_length=64)
    run_id: str | None = Field(default=None, foreign_key="run.id")
    created_at: datetime = moment_column()

    def as_question(self) -> Question:
        """The question of this revision."""
        return Question.model_validate(self.question)


class RevisionMedia(SQLModel, table=True):
    """Which materials a revision shows, under which placeholder."""

    __tablename__ = "revision_media"

    revision_id: str = Field(foreign_key="item_revision.id", primary_key=True)
    placeholder: str = Field(primary_key=True, max_length=16)
    material_id: str = Field(foreign_key="material.id", index=True)


class Decision(StrEnum):
    """What a verdict says."""

    PASS = "pass"  # noqa: S105
    RETURN = "return"
    REJECT = "reject"
    UNKNOWN = "unknown"


class Verdict(SQLModel, table=True):
    """A judgement on one revision in one round; `decider` is a user, or a check as `name@version`."""

    __tablename__ = "verdict"

    id: str = id_column()
    revision_id: str = Field(foreign_key="item_revision.id", index=True)
    round: int = Field(ge=1, le=3)
    by_person: bool
    decider: str = Field(max_length=128)
    decision: Decision = enum_column(Decision)
    reason_codes: list[str] = json_column(list)
    evidence: dict[str, Any] = json_column(dict)
    comment: str | None = None
    idempotency_key: str = Field(max_length=128, unique=True)
    run_id: str | None = Field(default=None, foreign_key="run.id")
    created_at: datetime = moment_column()
