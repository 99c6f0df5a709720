"""Public benchmarks: their questions, what of ours overlaps with them, and the private questions made after them."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlmodel import Field, Index, SQLModel, UniqueConstraint

from core.question import Question
from warehouse.tables.base import enum_column, id_column, json_column, moment_column, optional_moment_column


class QuestionSet(SQLModel, table=True):
    """A public set of questions as it was brought in; `sha256` names the content of its files."""

    __tablename__ = "question_set"

    id: str = id_column()
    name: str = Field(max_length=128, unique=True)
    format: str = Field(max_length=32)
    origin: str = Field(description="file or folder, as given")
    sha256: str = Field(max_length=64)
    licence: str | None = Field(default=None, description="SPDX identifier or a URL")
    run_id: str = Field(foreign_key="run.id")
    created_at: datetime = moment_column()


class PublicQuestion(SQLModel, table=True):
    """One question of a public set: a `core.question.Question`, whose media lie in the blob store and are no materials.

    `labels` are the set's own: category, ability, difficulty, subset and what else it tells.
    """

    __tablename__ = "public_question"
    __table_args__ = (UniqueConstraint("set_id", "qid"),)

    id: str = id_column()
    set_id: str = Field(foreign_key="question_set.id", index=True)
    qid: str = Field(max_length=256)
    question: dict[str, Any] = json_column(dict)
    content_hash: str = Field(max_length=64, index=True)
    labels: dict[str, Any] = json_column(dict)
    created_at: datetime = moment_column()

    def as_question(self) -> Question:
        """The question itself."""
        return Question.model_validate(self.question)


class PrivatizationState(StrEnum):
    """How a privatization stands."""

    OPEN = "open"
    PROVEN = "proven"
    GIVEN_UP = "given_up"


class Privatization(SQLModel, table=True):
    """The task to make a private question after a public one: same ability and difficulty, new media and words.

    `item_id` is the private item, once there is one. `proof` is the last proof of difference, and `proven_revision_id`
    the revision that it speaks of; the task is proven while that is the item's current one.
    """

    __tablename__ = "privatization"

    id: str = id_column()
    public_question_id: str = Field(foreign_key="public_question.id", unique=True)
    state: PrivatizationState = enum_column(PrivatizationState, PrivatizationState.OPEN, index=True)
    version: int = 1
    ability: str | None = Field(default=None, max_length=64)
    difficulty: str | None = Field(default=None, max_length=32)
    note: str | None = None
    item_id: str | None = Field(default=None, foreign_key="item.id", index=True)
    proof: dict[str, Any] = json_column(dict)
    proven_revision_id: str | None = Field(default=None, foreign_key="item_revision.id")
    created_by: str = Field(max_length=64)
    created_at: datetime = moment_column()


class ContaminationCheck(SQLModel, table=True):
    """That a subject (a material or a revision) was compared with an index, and by which method.

    Without this row nobody knows; with it and without matches the subject is clean as far as the index goes.
    """

    __tablename__ = "contamination_check"
    __table_args__ = (UniqueConstraint("subject_kind", "subject_id", "index_sha256", "method"),)

    id: str = id_column()
    subject_kind: str = Field(max_length=16, description="material or revision")
    subject_id: str = Field(max_length=36)
    index_name: str = Field(max_length=128)
    index_sha256: str = Field(max_length=64)
    method: str = Field(max_length=64, description="name@version of the comparison")
    run_id: str = Field(foreign_key="run.id")
    created_at: datetime = moment_column()


class ContaminationMatch(SQLModel, table=True):
    """One overlap of a subject with an entry of an index; it counts until a person clears it with a reason.

    `kind` is image, video, audio, words, characters, options or embedding; `score` is in [0, 1], larger is nearer.
    `evidence` holds what stands side by side: ours, theirs, and what they share.
    """

    __tablename__ = "contamination_match"
    __table_args__ = (
        UniqueConstraint("subject_kind", "subject_id", "index_sha256", "benchmark", "entry", "kind"),
        Index("matches_of", "subject_kind", "subject_id"),
    )

    id: str = id_column()
    subject_kind: str = Field(max_length=16)
    subject_id: str = Field(max_length=36)
    index_name: str = Field(max_length=128)
    index_sha256: str = Field(max_length=64)
    benchmark: str = Field(max_length=128)
    entry: str = Field(max_length=256, description="the question or the medium, as the benchmark names it")
    kind: str = Field(max_length=16)
    score: float
    evidence: dict[str, Any] = json_column(dict)
    cleared_by: str | None = Field(default=None, max_length=64)
    cleared_why: str | None = None
    cleared_at: datetime | None = optional_moment_column()
    run_id: str = Field(foreign_key="run.id")
    created_at: datetime = moment_column()
