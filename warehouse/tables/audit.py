"""Random audits by people of finished sets, and the certificates that follow from them."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlmodel import Field, SQLModel, UniqueConstraint

from warehouse.tables.base import enum_column, id_column, json_column, moment_column


class AuditSample(SQLModel, table=True):
    """A random sample of a release, an export or a file of questions, drawn by a seed from `population` items.

    `subject` is what people call it (`demo 1.0.0`); `subject_sha256` names its content, so that a sample of one content
    never speaks for another: of a release, the hash over its revisions' content hashes. `release_id` is no foreign key:
    a release that was not sealed can be discarded, and what people found in it stays.
    """

    __tablename__ = "audit_sample"
    __table_args__ = (UniqueConstraint("subject_sha256", "seed", "size"),)

    id: str = id_column()
    subject: str = Field(max_length=256, index=True)
    subject_sha256: str = Field(max_length=64, index=True)
    release_id: str | None = Field(default=None, max_length=36, index=True)
    population: int
    size: int
    seed: int
    drawn_by: str = Field(max_length=64)
    run_id: str = Field(foreign_key="run.id")
    created_at: datetime = moment_column()


class AuditItem(SQLModel, table=True):
    """A member of a sample. `shown` holds what an item from outside says, as it was read; ours has a revision."""

    __tablename__ = "audit_item"
    __table_args__ = (UniqueConstraint("sample_id", "qid"),)

    id: str = id_column()
    sample_id: str = Field(foreign_key="audit_sample.id", index=True)
    position: int
    qid: str = Field(max_length=256)
    revision_id: str | None = Field(default=None, foreign_key="item_revision.id")
    shown: dict[str, Any] = json_column(dict)


class AuditAnswer(StrEnum):
    """What an auditor says to a question about an item."""

    YES = "yes"
    NO = "no"
    UNSURE = "unsure"


class AuditFinding(SQLModel, table=True):
    """What one auditor found: is the key right, are all required modalities needed.

    `solvable_without` names the modalities without which they could answer; empty where all are needed.
    """

    __tablename__ = "audit_finding"
    __table_args__ = (UniqueConstraint("audit_item_id", "auditor"),)

    id: str = id_column()
    audit_item_id: str = Field(foreign_key="audit_item.id", index=True)
    auditor: str = Field(max_length=64)
    answer_right: AuditAnswer = enum_column(AuditAnswer)
    needs_all: AuditAnswer = enum_column(AuditAnswer)
    solvable_without: list[str] = json_column(list)
    comment: str | None = None
    created_at: datetime = moment_column()


class Certificate(SQLModel, table=True):
    """What an audit of a release proves: at most `bound` of its items are solvable without some modality.

    That holds with `confidence`; `text` is the sentence that goes into the manifest.
    """

    __tablename__ = "certificate"

    id: str = id_column()
    sample_id: str = Field(foreign_key="audit_sample.id", index=True)
    release_id: str = Field(max_length=36, index=True)
    audited: int
    failures: int
    bound: float
    confidence: float
    text: str
    run_id: str = Field(foreign_key="run.id")
    created_at: datetime = moment_column()
