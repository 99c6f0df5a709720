"""Grades, and values that may be failures."""

from enum import StrEnum
from typing import Generic, Self, TypeVar

from pydantic import Field, model_validator

from core.content import Frozen
from core.errors import InterplayError

T = TypeVar("T")


class Grade(Frozen):
    """How right an answer is: a share in [0, 1] of the points, or None when it could not be graded (never 0 for that).

    `step_points` are the same shares for each step of a multi-step question. `grader` is `name@version`.
    """

    points: float | None = Field(ge=0, le=1)
    reason: str
    grader: str
    step_points: tuple[float | None, ...] = ()


class FailureKind(StrEnum):
    """Why there is no value."""

    API_ERROR = "api_error"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    UNPARSED = "unparsed"
    BLOCKED = "blocked"
    BAD_INPUT = "bad_input"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    BUG = "bug"


class Failure(Frozen):
    """A value that could not be had, with its reason in words."""

    kind: FailureKind
    message: str

    @property
    def last_line(self) -> str:
        """The message's last line, which tells what happened where the message is a traceback; '' when it is empty."""
        return (self.message.strip().splitlines() or [""])[-1]


class FailedOutcome(InterplayError):
    """The value of an outcome was asked for, but the outcome is a failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind.value}: {failure.message}")
        self.failure = failure


class Outcome(Frozen, Generic[T]):
    """Exactly one of a value and a failure."""

    value: T | None = None
    failure: Failure | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.value is None) == (self.failure is None):
            raise ValueError("an outcome holds a value or a failure, exactly one of them")
        return self

    def unwrap(self) -> T:
        """The value.

        Raises:
            FailedOutcome: There is none.
        """
        if self.failure is not None:
            raise FailedOutcome(self.failure)
        assert self.value is not None
        return self.value
