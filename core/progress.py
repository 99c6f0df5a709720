"""Progress of long work: a bar on a terminal, log lines elsewhere."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

logger = logging.getLogger("interplay")
LOG_EVERY_S = 10.0
Watcher = Callable[[str, int, int], None]
_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


class Ticker:
    """Counts finished units."""

    def __init__(self, label: str, total: int, bar: Progress | None) -> None:
        self.label, self.total, self.done = label, total, 0
        self._bar = bar
        self._task = bar.add_task(label, total=total) if bar else None
        self._next_log_s = time.monotonic() + LOG_EVERY_S
        self._watcher = _WATCHER.get()
        self.advance(0)

    def advance(self, units: int = 1) -> None:
        """Say that `units` more are done."""
        self.done += units
        if self._watcher is not None:
            self._watcher(self.label, self.done, self.total)
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, units)
        elif time.monotonic() >= self._next_log_s:
            self._next_log_s = time.monotonic() + LOG_EVERY_S
            logger.info("%s: %d of %d", self.label, self.done, self.total)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell `watcher` of all progress in this thread (label, units done, units in all), instead of drawing bars."""
    before = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(before)


@contextmanager
def progress(label: str, total: int) -> Iterator[Ticker]:
    """Show how far `label` is, out of `total` units. Writes to standard error, so that `--json` output stays clean."""
    # Two bars at once cannot share a terminal, and work that is watched runs beside other work.
    if _WATCHER.get() is not None or not sys.stderr.isatty():
        yield Ticker(label, total, None)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield Ticker(label, total, bar)
