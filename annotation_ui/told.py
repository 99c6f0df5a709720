"""Mistakes that the studio tells people in their language."""

from typing import Any

from core.errors import InterplayError


class Told(InterplayError):
    """A mistake with a text that the catalogue translates; `values` fill its braces."""

    text: str = ""

    def __init__(self, **values: Any) -> None:
        self.values = values
        super().__init__(self.text.format(**values))
