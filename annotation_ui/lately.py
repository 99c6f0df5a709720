"""A memory that many ask at once, and that forgets what was asked for longest ago."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Lately(Generic[T]):
    """The last few of something, by key; many may ask at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> T | None:
        """What is kept under a key."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: str, value: T) -> None:
        """Keep it, in place of what was asked for longest ago."""
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def newest(self, fits: Callable[[T], bool]) -> T | None:
        """What was kept or asked for last, of those that fit."""
        with self._lock:
            return next((one for one in reversed(self._kept.values()) if fits(one)), None)
