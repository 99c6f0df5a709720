"""Identities and clocks, injectable so that tests and rebuilds can repeat them."""

from collections.abc import Callable
from datetime import UTC, datetime

import uuid_utils

Clock = Callable[[], datetime]
NewId = Callable[[], str]


def utc_now() -> datetime:
    """The present moment, aware, in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """A UUID of version 7 (RFC 9562) as text: unique, and sorted by the time it was made."""
    return str(uuid_utils.uuid7())
