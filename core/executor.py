"""Map a function over units: local processes by default, a Ray or Dask cluster by setting."""

import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Literal, TypeVar

from core.errors import InterplayError, MissingExtra
from core.grading import FailedOutcome, Failure, FailureKind, Outcome

U = TypeVar("U")
R = TypeVar("R")
Backend = Literal["local", "threads", "ray", "dask"]


def map_units(
    function: Callable[[U], R], units: Iterable[U], *, backend: Backend = "local", workers: int = 1
) -> Iterator[tuple[U, Outcome[R]]]:
    """Yield (unit, outcome) as units finish, in any order; one unit's failure never stops the others.

    A worker process that dies (out of memory, a decoder that crashes) fails its unit on Ray and ends the whole map
    elsewhere; what may crash belongs into `core.media.guard`.

    Args:
        function: Picklable; gets one unit, returns anything but None.
        units: Picklable values.
        backend: `local` processes, `threads` of this process, a `ray` or a `dask` cluster (the one that the usual
            environment variables of Ray and Dask name, else a local one).
        workers: Units at work at once; 1 runs `local` and `threads` in this process.

    Raises:
        MissingExtra: The cluster's package is not installed.
    """
    match backend:
        case "local":
            # One thread each: numeric libraries that start a thread for every core in every worker crawl.
            yield from _through_joblib(function, units, workers, "loky", inner_max_num_threads=1)
        case "threads":
            yield from _through_joblib(function, units, workers, "threading")
        case "dask":
            with _dask_client(workers):
                yield from _through_joblib(function, units, workers, "dask")
        case "ray":
            yield from _on_ray(function, units, workers)


def _through_joblib(
    function: Callable[[U], R], units: Iterable[U], workers: int, backend: str, **options: int
) -> Iterator[tuple[U, Outcome[R]]]:
    from joblib import Parallel, delayed, parallel_config

    # Left before the first yield, or it would hold for whatever the caller does between two outcomes.
    with parallel_config(backend, **options):
        parallel = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch="2*n_jobs")
    results = parallel(delayed(_attempt)(function, unit) for unit in units)
    try:
        for result in results:  # noqa: UP028 - `yield from` would close them before the warning is silenced
            yield result
    finally:
        with warnings.catch_warnings():
            # Who stops early means it; joblib would warn of the units that are cancelled.
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _on_ray(function: Callable[[U], R], units: Iterable[U], workers: int) -> Iterator[tuple[U, Outcome[R]]]:
    # Ray's joblib backend gives nothing back before the last unit is done.
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("Running on Ray", "ray") from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)  # without an address it goes by RAY_ADDRESS
    attempt: Any = ray.remote(_attempt)
    waiting = iter(units)
    running: dict[Any, U] = {}
    while True:
        for unit in islice(waiting, workers - len(running)):
            running[attempt.remote(function, unit)] = unit
        if not running:
            return
        (done, *_), _rest = ray.wait(list(running))
        unit = running.pop(done)
        try:
            unit, outcome = ray.get(done)
        except ray.exceptions.RayError as error:
            outcome = Outcome(failure=Failure(kind=FailureKind.CRASHED, message=str(error)))
        yield unit, outcome


def _attempt(function: Callable[[U], R], unit: U) -> tuple[U, Outcome[R]]:
    try:
        return unit, Outcome(value=function(unit))
    except FailedOutcome as error:
        return unit, Outcome(failure=error.failure)
    except InterplayError as error:
        return unit, Outcome(failure=Failure(kind=FailureKind.BAD_INPUT, message=str(error)))
    except Exception as error:  # noqa: BLE001 - the runner stores a failure and the other units go on
        trace = "".join(traceback.format_exception(error, limit=-3))
        return unit, Outcome(failure=Failure(kind=FailureKind.BUG, message=trace))


def _dask_client(workers: int) -> Any:
    try:
        import dask.config
        from distributed import Client
    except ImportError as error:
        raise MissingExtra("Running on Dask", "dask") from error
    address = dask.config.get("scheduler-address", default=None)
    if address:
        return Client(address=address)
    # A daemon may start no processes of its own, and the guard of untrusted files does.
    with dask.config.set({"distributed.worker.daemon": False}):
        return Client(n_workers=workers, threads_per_worker=1, dashboard_address=None)
