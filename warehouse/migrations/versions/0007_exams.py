"""exams."""

import sqlalchemy as sa
from alembic import op

import warehouse.tables.base

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def _moment(name: str, *, nullable: bool) -> "sa.Column[object]":
    return sa.Column(name, warehouse.tables.base.UtcDateTime(timezone=True), nullable=nullable)


def _state(kind: str, *names: str) -> "sa.Column[object]":
    return sa.Column("state", sa.Enum(*names, name=kind, native_enum=False, length=16), nullable=False)


def upgrade() -> None:
    op.create_table(
        "exam",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=128), nullable=False),
        sa.Column("release_id", sa.String(length=36), nullable=True),
        sa.Column("conditions", sa.JSON(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("limit_s", sa.Integer(), nullable=True),
        sa.Column("asks_confidence", sa.Boolean(), nullable=False),
        _state("examstate", "draft", "open", "closed"),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.String(length=64), nullable=False),
        _moment("created_at", nullable=False),
        _moment("opened_at", nullable=True),
        _moment("closed_at", nullable=True),
        sa.Column("graded_run_id", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["graded_run_id"],
            ["run.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    with op.batch_alter_table("exam", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_exam_release_id"), ["release_id"], unique=False)

    op.create_table(
        "exam_item",
        sa.Column("exam_id", sa.String(), nullable=False),
        sa.Column("revision_id", sa.String(), nullable=False),
        sa.Column("stratum", sa.String(length=160), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["exam_id"],
            ["exam.id"],
        ),
        sa.ForeignKeyConstraint(
            ["revision_id"],
            ["item_revision.id"],
        ),
        sa.PrimaryKeyConstraint("exam_id", "revision_id"),
    )
    op.create_table(
        "exam_seat",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("exam_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("profile", sa.String(length=16), nullable=False),
        sa.Column("missing", sa.JSON(), nullable=False),
        sa.Column("invited_by", sa.String(length=64), nullable=False),
        _moment("invited_at", nullable=False),
        _moment("started_at", nullable=True),
        _moment("finished_at", nullable=True),
        sa.ForeignKeyConstraint(
            ["exam_id"],
            ["exam.id"],
        ),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["user.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("exam_id", "number"),
        sa.UniqueConstraint("exam_id", "user_id"),
    )
    with op.batch_alter_table("exam_seat", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_exam_seat_exam_id"), ["exam_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_exam_seat_user_id"), ["user_id"], unique=False)

    op.create_table(
        "exam_place",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("seat_id", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("stratum", sa.String(length=160), nullable=False),
        sa.Column("revision_id", sa.String(), nullable=False),
        sa.Column("condition", sa.JSON(), nullable=False),
        _state("placestate", "waiting", "answered", "abstained", "timed_out", "void"),
        sa.Column("answer", sa.String(), nullable=True),
        sa.Column("confidence", sa.Integer(), nullable=True),
        sa.Column("saved", sa.JSON(), nullable=False),
        sa.Column("spans", sa.JSON(), nullable=False),
        _moment("shown_at", nullable=True),
        _moment("answered_at", nullable=True),
        sa.ForeignKeyConstraint(
            ["revision_id"],
            ["item_revision.id"],
        ),
        sa.ForeignKeyConstraint(
            ["seat_id"],
            ["exam_seat.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("seat_id", "position"),
        sa.UniqueConstraint("seat_id", "revision_id"),
    )
    with op.batch_alter_table("exam_place", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_exam_place_revision_id"), ["revision_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_exam_place_seat_id"), ["seat_id"], unique=False)


def downgrade() -> None:
    for table in ("exam_place", "exam_seat", "exam_item", "exam"):
        op.drop_table(table)
