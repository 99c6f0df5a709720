"""Mistakes that the studio tells people in their language."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from core.errors import InterplayError


class Told(InterplayError):
    """A mistake with a text that the catalogue translates; `values` fill its braces."""

    text: str = ""

    def __init__(self, **values: Any) -> None:
        self.values = values
        super().__init__(self.text.format(**values))


@contextmanager
def told_as(
    words: Mapping[type[InterplayError], type[Told]], *, with_advice: bool = True, **values: Any
) -> Iterator[None]:
    """Tell a workshop's mistakes in the studio's words: the first kind that fits counts, others pass as they are.

    `values` fill the braces; `detail` is what the workshop said, with what it advises or without.
    """
    try:
        yield
    except tuple(words) as error:
        told = next(words[kind] for kind in words if isinstance(error, kind))
        detail = str(error) if with_advice else str(error).partition("; ")[0]
        raise told(detail=detail, **values) from error
