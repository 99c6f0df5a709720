"""Alembic's entry: the connection comes from `warehouse.database`."""

from typing import Any, Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from sqlmodel import AutoString, SQLModel

import warehouse.tables  # noqa: F401 - registers the tables


def _render(_kind: str, item: Any, _context: AutogenContext) -> str | Literal[False]:
    """Write SQLModel's string type as the plain SQLAlchemy one that it is."""
    if isinstance(item, AutoString):
        return f"sa.String(length={item.length})" if item.length else "sa.String()"
    return False


connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=SQLModel.metadata,
    # SQLite cannot alter columns; batch mode copies the table.
    render_as_batch=connection.dialect.name == "sqlite",
    render_item=_render,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
