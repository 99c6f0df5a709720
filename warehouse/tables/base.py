"""What all tables share: moments in UTC, JSON columns, identities."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Column, DateTime, Enum
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field

from core.ids import new_id, utc_now


class UtcDateTime(TypeDecorator[datetime]):
    """An aware moment; SQLite, which keeps none, gets UTC and gives it back as UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    @property
    def python_type(self) -> type[datetime]:
        """What rows hold; a decorator does not ask its `impl`."""
        return datetime

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To the database."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone; store moments as aware UTC")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """From the database."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def id_column() -> Any:
    """Primary key: a UUID of version 7 as text."""
    return Field(default_factory=new_id, primary_key=True, max_length=36)


def moment_column() -> Any:
    """A moment that defaults to now."""
    return Field(default_factory=utc_now, sa_type=UtcDateTime, nullable=False)


def optional_moment_column() -> Any:
    """A moment that may be unknown."""
    return Field(default=None, sa_type=UtcDateTime, nullable=True)


def json_column(default_factory: Any) -> Any:
    """A JSON value, written whole and never changed in place."""
    return Field(default_factory=default_factory, sa_column=Column(JSON, nullable=False))


def enum_column(kind: type[StrEnum], default: StrEnum | None = None, *, index: bool = False) -> Any:
    """One of a closed list, stored as its text: a new member needs no change of type in the database."""
    enum_type = Enum(kind, native_enum=False, length=16, values_callable=lambda members: [str(m) for m in members])
    column: Column[Any] = Column(enum_type, nullable=False, index=index)
    return Field(default=default, sa_column=column) if default is not None else Field(sa_column=column)
