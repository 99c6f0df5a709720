"""Media in words: what people and models wrote, version by version."""

from datetime import datetime
from enum import StrEnum

from sqlmodel import Field, Index, SQLModel, text

from warehouse.tables.base import enum_column, id_column, moment_column


class CaptionKind(StrEnum):
    """What the words tell: what is seen in an image or a video, or what is heard, speech word for word."""

    CAPTION = "caption"
    TRANSCRIPT = "transcript"


class CaptionState(StrEnum):
    """How a version stands; `superseded` is one in whose place another was written or accepted."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    SUPERSEDED = "superseded"
    REJECTED = "rejected"


class Caption(SQLModel, table=True):
    """One version of a material's words. Only its state changes: an edit is a new version, `based_on_id` the old one.

    `language` is that of the questions in which the words stand, as its primary subtag ('zh' of 'zh-CN'). `author` is
    a user's name, or with `by_person` false a model's; then `model_fingerprint` says under which parameters it was
    asked, and `response_key` is the `key` of the response that the text comes from. At most one version is accepted
    for a material, kind and language.
    """

    __tablename__ = "caption"
    __table_args__ = (
        Index(
            "one_accepted_caption",
            "material_id",
            "kind",
            "language",
            unique=True,
            sqlite_where=text("state = 'accepted'"),
            postgresql_where=text("state = 'accepted'"),
        ),
    )

    id: str = id_column()
    material_id: str = Field(foreign_key="material.id", index=True)
    kind: CaptionKind = enum_column(CaptionKind)
    language: str = Field(max_length=8)
    text: str
    state: CaptionState = enum_column(CaptionState, CaptionState.PROPOSED)
    author: str
    by_person: bool
    model_fingerprint: str | None = Field(default=None, max_length=64)
    response_key: str | None = Field(default=None, max_length=64, unique=True)
    based_on_id: str | None = Field(default=None, foreign_key="caption.id", index=True)
    run_id: str | None = Field(default=None, foreign_key="run.id")
    created_at: datetime = moment_column()
