"""the studio."""

import sqlalchemy as sa
from alembic import op

import warehouse.tables.base

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "handled_form",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("action", sa.String(length=48), nullable=False),
        sa.Column("subject_id", sa.String(length=64), nullable=False),
        sa.Column("handled_at", warehouse.tables.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["user.id"],
        ),
        sa.PrimaryKeyConstraint("key"),
    )
    with op.batch_alter_table("handled_form", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_handled_form_user_id"), ["user_id"], unique=False)

    op.create_table(
        "item_draft",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("item_id", sa.String(), nullable=True),
        sa.Column("base_revision_id", sa.String(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("saved_by", sa.String(), nullable=False),
        sa.Column("editor", sa.String(length=64), nullable=False),
        sa.Column("stroke", sa.Integer(), nullable=False),
        sa.Column("saved_at", warehouse.tables.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("created_at", warehouse.tables.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("closed_at", warehouse.tables.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("closed_as", sa.String(length=16), nullable=True),
        sa.Column("revision_id", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["author"],
            ["user.id"],
        ),
        sa.ForeignKeyConstraint(
            ["base_revision_id"],
            ["item_revision.id"],
        ),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["item.id"],
        ),
        sa.ForeignKeyConstraint(
            ["revision_id"],
            ["item_revision.id"],
        ),
        sa.ForeignKeyConstraint(
            ["saved_by"],
            ["user.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("item_draft", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_item_draft_author"), ["author"], unique=False)
        batch_op.create_index(
            "one_open_draft",
            ["item_id", "author"],
            unique=True,
            sqlite_where=sa.text("closed_at IS NULL"),
            postgresql_where=sa.text("closed_at IS NULL"),
        )

    op.create_table(
        "draft_version",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("draft_id", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("is_aside", sa.Boolean(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("saved_by", sa.String(), nullable=False),
        sa.Column("saved_at", warehouse.tables.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["draft_id"],
            ["item_draft.id"],
        ),
        sa.ForeignKeyConstraint(
            ["saved_by"],
            ["user.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("draft_version", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_draft_version_draft_id"), ["draft_id"], unique=False)

    with op.batch_alter_table("user", schema=None) as batch_op:
        batch_op.add_column(sa.Column("external_id", sa.String(length=512), nullable=True))
        batch_op.create_index(batch_op.f("ix_user_external_id"), ["external_id"], unique=True)


def downgrade() -> None:
    with op.batch_alter_table("user", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_user_external_id"))
        batch_op.drop_column("external_id")

    with op.batch_alter_table("draft_version", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_draft_version_draft_id"))

    op.drop_table("draft_version")
    with op.batch_alter_table("item_draft", schema=None) as batch_op:
        batch_op.drop_index(
            "one_open_draft", sqlite_where=sa.text("closed_at IS NULL"), postgresql_where=sa.text("closed_at IS NULL")
        )
        batch_op.drop_index(batch_op.f("ix_item_draft_author"))

    op.drop_table("item_draft")
    with op.batch_alter_table("handled_form", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_handled_form_user_id"))

    op.drop_table("handled_form")
