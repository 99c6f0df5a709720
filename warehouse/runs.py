"""Runs: what was executed, with which settings, on which code, and how it ended."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlmodel import col, select

from core.ids import Clock, utc_now
from core.provenance import content_hash, describe_environment
from warehouse.database import Database
from warehouse.tables import Run, RunStatus


@contextmanager
def open_run(
    database: Database, command: str, settings: Mapping[str, Any], seed: int | None = None, clock: Clock = utc_now
) -> Iterator[Run]:
    """Open a run around a piece of work. What the body puts into `run.summary` is stored when it ends.

    An exception ends the run as failed, Ctrl-C as interrupted. A run whose process died is found and marked interrupted
    when the next one on the same machine opens.
    """
    plain = dict(settings)
    run = Run(
        command=command,
        settings=plain,
        fingerprint=content_hash({"command": command, "settings": plain, "seed": seed}),
        seed=seed,
        environment=describe_environment().model_dump(),
        host=socket.gethostname(),
        process_id=os.getpid(),
        started_at=clock(),
    )
    with database.session() as session:
        for orphan in session.exec(select(Run).where(col(Run.status) == RunStatus.RUNNING, Run.host == run.host)):
            if not is_alive(orphan.process_id):
                orphan.status = RunStatus.INTERRUPTED
                session.add(orphan)
        session.add(run)
    status = RunStatus.FAILED
    try:
        yield run
        status = RunStatus.FINISHED
    except KeyboardInterrupt:
        status = RunStatus.INTERRUPTED
        raise
    finally:
        run.status, run.ended_at = status, clock()
        with database.session() as session:
            session.merge(run)


def is_alive(process_id: int) -> bool:
    """Whether a process of this machine has that number."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
