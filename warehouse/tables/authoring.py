"""What authors are writing: drafts of questions with their versions, and forms that were handed in."""

from datetime import datetime
from typing import Any

from sqlmodel import Field, Index, SQLModel, text

from warehouse.tables.base import id_column, json_column, moment_column, optional_moment_column


class ItemDraft(SQLModel, table=True):
    """A question that somebody is writing, as far as it has come; it becomes a revision when it is handed in.

    `content` holds the fields of an item file's record, with ids of materials in `media`; fields may be missing or not
    fit together yet. `item_id` is the item that it will revise, None for a new one; then at most one open draft of an
    author is on that item. `version` counts saves: who saves names the version that they started from. `editor` is the
    browser tab that saved last, and `stroke` that tab's own count of saves, by which its late repeats are told. An open
    draft has no `closed_at`; `closed_as` is `submitted` or `discarded`.
    """

    __tablename__ = "item_draft"
    __table_args__ = (
        Index(
            "one_open_draft",
            "item_id",
            "author",
            unique=True,
            sqlite_where=text("closed_at IS NULL"),
            postgresql_where=text("closed_at IS NULL"),
        ),
    )

    id: str = id_column()
    author: str = Field(foreign_key="user.id", index=True)
    item_id: str | None = Field(default=None, foreign_key="item.id")
    base_revision_id: str | None = Field(
        default=None, foreign_key="item_revision.id", description="the revision that it began from"
    )
    version: int = 1
    content: dict[str, Any] = json_column(dict)
    saved_by: str = Field(foreign_key="user.id")
    editor: str = Field(default="", max_length=64)
    stroke: int = 0
    saved_at: datetime = moment_column()
    created_at: datetime = moment_column()
    closed_at: datetime | None = optional_moment_column()
    closed_as: str | None = Field(default=None, max_length=16)
    revision_id: str | None = Field(default=None, foreign_key="item_revision.id", description="what came of it")


class DraftVersion(SQLModel, table=True):
    """Words of a draft that are its words no more: replaced by another editor's, or written on a version that was old.

    `version` is the one that they were (`is_aside` false), or the one that they were written on top of (true).
    """

    __tablename__ = "draft_version"

    id: str = id_column()
    draft_id: str = Field(foreign_key="item_draft.id", index=True)
    version: int
    is_aside: bool
    content: dict[str, Any] = json_column(dict)
    saved_by: str = Field(foreign_key="user.id")
    saved_at: datetime = moment_column()


class HandledForm(SQLModel, table=True):
    """A form that was handed in; its key was minted when the form was drawn, so that handing it in twice does it once.

    `subject_id` is what came of it.
    """

    __tablename__ = "handled_form"

    key: str = Field(primary_key=True, max_length=64)
    user_id: str = Field(foreign_key="user.id", index=True)
    action: str = Field(max_length=48)
    subject_id: str = Field(max_length=64)
    handled_at: datetime = moment_column()
