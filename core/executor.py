"""Map a function over units: local processes by default, a Ray or Dask cluster by setting."""

import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar

from core.errors import InterplayError, MissingExtra
from core.grading import Failure, FailureKind, Outcome

U = TypeVar("U")
R = TypeVar("R")
Backend = Literal["local", "threads", "ray", "dask"]


def map_units(
    function: Callable[[U], R], units: Iterable[U], *, backend: Backend = "local", workers: int = 1
) -> Iterator[tuple[U, Outcome[R]]]:
    """Yield (unit, outcome) as units finish, in any order; one unit's failure never stops the others.

    Args:
        function: Picklable; gets one unit.
        units: Picklable values.
        backend: `local` processes, `threads` of this process, a `ray` or a `dask` cluster (the one that the usual
            environment variables of Ray and Dask name, else a local one).
        workers: Units in flight at once; 1 runs `local` and `threads` in this process.

    Raises:
        MissingExtra: The cluster's package is not installed.
    """
    from joblib import Parallel, delayed

    with _joblib_backend(backend, workers):
        parallel = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch="2*n_jobs")
        yield from parallel(delayed(_attempt)(function, unit) for unit in units)


def _attempt(function: Callable[[U], R], unit: U) -> tuple[U, Outcome[R]]:
    try:
        return unit, Outcome(value=function(unit))
    except InterplayError as error:
        return unit, Outcome(failure=Failure(kind=FailureKind.BAD_INPUT, message=str(error)))
    except Exception as error:  # noqa: BLE001 - the runner stores a failure and the other units go on
        trace = "".join(traceback.format_exception(error, limit=-3))
        return unit, Outcome(failure=Failure(kind=FailureKind.BUG, message=trace))


@contextmanager
def _joblib_backend(backend: Backend, workers: int) -> Iterator[None]:
    from joblib import parallel_config

    match backend:
        case "local":
            # One thread each: numeric libraries that start a thread for every core in every worker crawl.
            with parallel_config("loky", inner_max_num_threads=1):
                yield
        case "threads":
            with parallel_config("threading"):
                yield
        case "ray":
            try:
                import ray
                from ray.util.joblib import register_ray
            except ImportError as error:
                raise MissingExtra("Running on Ray", "ray") from error
            if not ray.is_initialized():
                ray.init(address=None, num_cpus=None, log_to_driver=False, include_dashboard=False)
            register_ray()
            with parallel_config("ray"):
                yield
        case "dask":
            try:
                from distributed import Client
            except ImportError as error:
                raise MissingExtra("Running on Dask", "dask") from error
            with Client(**_dask_arguments(workers)), parallel_config("dask"):
                yield


def _dask_arguments(workers: int) -> dict[str, object]:
    import dask.config

    address = dask.config.get("scheduler-address", default=None)
    if address:
        return {"address": address}
    return {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
