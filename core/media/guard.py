"""Work on untrusted files in worker processes with bounded memory and time: what hangs or crashes costs one file."""

import multiprocessing
import os
import queue
import resource
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache, lru_cache
from multiprocessing.connection import wait
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from pebble import ProcessExpired, ProcessPool
from threadpoolctl import ThreadpoolController

from core.media.errors import DecoderCrashed, DecoderHung
from core.media.limits import MediaLimits

P = ParamSpec("P")
T = TypeVar("T")

ALARM_GRACE_S = 5.0
"""How long after the timeout the kernel itself ends a worker that its parent no longer watches."""


class Guard:
    """Worker processes that run functions on untrusted files under `MediaLimits`.

    Functions and arguments must be picklable, functions importable by name. Exceptions of the function come out as they
    are; a hang comes out as `DecoderHung`, a crash or memory overrun as `DecoderCrashed`, and the workers go on.
    Workers die with their parent. On macOS the kernel does not hold the memory limit.

        with Guard(workers=2, limits=MediaLimits()) as guard:
            found = guard.run(probe, path)
    """

    def __init__(self, workers: int, limits: MediaLimits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="guard")
        # One process a pool, one task a pool at a time: the death of a worker is then always the death of that task.
        self._lanes: queue.SimpleQueue[ProcessPool] = queue.SimpleQueue()
        for _ in range(workers):
            self._lanes.put(self._new_lane())
        self._running: set[Future[Any]] = set()
        self._stopping = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for what was submitted; on an error, give it up and end the workers at once."""
        if kind is not None:
            self._stopping = True
            self._threads.shutdown(wait=False, cancel_futures=True)
            for task in tuple(self._running):
                task.cancel()
        self._threads.shutdown()
        while not self._lanes.empty():
            _end(self._lanes.get())

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a worker call the function; the future gives its result, its exception, or why the worker was ended."""
        return self._threads.submit(self._call, function, args, kwargs)

    def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function in a worker and wait for its result.

        Raises:
            DecoderHung: It took longer than `limits.timeout_s`.
            DecoderCrashed: Its process died, or needed more than `limits.memory_bytes`.
        """
        return self.submit(function, *args, **kwargs).result()

    def _call(self, function: Callable[..., T], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> T:
        limits = self._limits
        subject = next((str(value) for value in args if isinstance(value, Path)), function.__name__)
        lane = self._lanes.get()
        try:
            return self._call_in(lane, function, args, kwargs)
        except TimeoutError as error:
            raise DecoderHung(
                f"{subject}: decoding did not end within {limits.timeout_s:g} s; cut or convert the file"
            ) from error
        except MemoryError as error:
            lane = self._renewed(lane)
            raise DecoderCrashed(
                f"{subject}: decoding needs more than {limits.memory_bytes >> 20} MiB; scale the file down"
            ) from error
        except (ProcessExpired, BrokenProcessPool) as error:
            lane = self._renewed(lane)
            raise DecoderCrashed(f"{subject}: the decoder crashed ({error}); convert the file") from error
        finally:
            self._lanes.put(lane)

    def _call_in(
        self, lane: ProcessPool, function: Callable[..., T], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> T:
        task: Future[T] = lane.schedule(
            _bounded_call,
            args=(self._limits.timeout_s + ALARM_GRACE_S, function, args, kwargs),
            timeout=self._limits.timeout_s,
        )
        self._running.add(task)
        try:
            if self._stopping:
                task.cancel()
            return task.result()
        finally:
            self._running.discard(task)

    def _new_lane(self) -> ProcessPool:
        return ProcessPool(
            max_workers=1,
            initializer=_bound_worker,
            initargs=(self._limits,),
            context=multiprocessing.get_context("spawn"),
        )

    def _renewed(self, lane: ProcessPool) -> ProcessPool:
        _end(lane)
        return self._new_lane()


@cache
def guard_of_process(limits: MediaLimits) -> Guard:
    """A guard of one worker that lives as long as this process: for clusters, where none can be handed over."""
    return Guard(1, limits)


def _end(lane: ProcessPool) -> None:
    lane.stop()
    lane.join()


def _bounded_call(alarm_s: float, function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    # The alarm's default action kills even a worker that holds the interpreter lock and has lost its parent.
    signal.setitimer(signal.ITIMER_REAL, alarm_s)
    try:
        # Workers that each start a thread for every core spend their time waiting for one another.
        with _thread_pools(len(sys.modules)).limit(limits=1):
            return function(*args, **kwargs)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


# Looking through all loaded libraries takes as long as a small file: done again only when modules have come in.
@lru_cache(maxsize=1)
def _thread_pools(_module_count: int) -> ThreadpoolController:
    return ThreadpoolController()


def _bound_worker(limits: MediaLimits) -> None:
    """Set up a worker: its bounds, its death with its parent, and no waiting for Python when it is told to stop."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Anonymous memory, not address space: libraries reserve far more of that than they ever use.
    _lower(resource.RLIMIT_DATA, limits.memory_bytes)
    # A small file can decode to a disk full of sound. What goes over fails with EFBIG, for Python ignores the signal.
    _lower(resource.RLIMIT_FSIZE, limits.max_bytes)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _lower(which: int, most: int) -> None:
    """Bound a resource, which nobody may raise over what its owner was given."""
    _, given = resource.getrlimit(which)
    least = most if given == resource.RLIM_INFINITY else min(most, given)
    resource.setrlimit(which, (least, least))


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGKILL)
