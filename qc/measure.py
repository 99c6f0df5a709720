"""A statistic that has a value, or has none and says why."""

from typing import Self

from pydantic import model_validator

from core.content import Frozen


class Measure(Frozen):
    """A number, or None with the reason why it is not defined; never a number that stands for "none"."""

    value: float | None = None
    reason: str | None = None

    @model_validator(mode="after")
    def _value_or_reason(self) -> Self:
        if (self.value is None) == (self.reason is None):
            raise ValueError("a measure has a value, or a reason why it has none")
        return self

    @property
    def text(self) -> str:
        """For people: three decimals (a power of ten where those were zeros), or "undefined (reason)"."""
        if self.value is None:
            return f"undefined ({self.reason})"
        return f"{self.value:.1e}" if 0 < abs(self.value) < 0.0005 else f"{self.value:.3f}"


def undefined(reason: str) -> Measure:
    """A measure without a value."""
    return Measure(reason=reason)
