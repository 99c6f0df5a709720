"""Long work that a page starts: it goes on in a thread of the server while people turn to other pages."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from annotation_ui.told import Told
from annotation_ui.words import N_
from core.errors import InterplayError
from core.ids import Clock, utc_now
from core.progress import watched


class AlreadyAtWork(Told):
    """The same work is being done already."""

    text = N_("This is being done already: {name} started it. Wait until it has ended.")


@dataclass(frozen=True)
class Job:
    """Work of one key: who started it when, how far it is, and how it ended.

    `step` is what is being counted, `done` of `total` units. `outcome` is what the work returned, `problem` the mistake
    that ended it; `crashed` says that it ended in another error, which stands in the log.
    """

    by: str
    started_at: datetime
    step: str = ""
    done: int = 0
    total: int = 0
    ended_at: datetime | None = None
    outcome: object = None
    problem: InterplayError | None = None
    crashed: bool = False

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes."""
        return self.ended_at is not None

    @property
    def has_failed(self) -> bool:
        """Whether it ended without what was asked for."""
        return self.problem is not None or self.crashed

    @property
    def share(self) -> float | None:
        """How much of the step is done, in [0, 1]; None where that is not known."""
        return self.done / self.total if self.total else None


class Background:
    """The long work of one server, one piece at a time for each key.

    Work stores what it makes by itself, as a command does: this memory ends with the server, and a page tells from what
    is stored what there is.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def job(self, key: str) -> Job | None:
        """The work of a key, as it stands; None where none was started since the server was."""
        with self._lock:
            return self._jobs.get(key)

    def is_at_work(self, key: str) -> bool:
        """Whether the work of a key is being done at this moment."""
        job = self.job(key)
        return job is not None and not job.has_ended

    def start(self, key: str, by: str, work: Callable[[], object], clock: Clock = utc_now) -> None:
        """Do `work` in a thread. `by` is the name of the person who starts it.

        The thread ends with the server: whoever stops the studio does not wait for it, and finds what an interrupted
        command leaves.

        Raises:
            AlreadyAtWork: It is being done.
        """
        with self._lock:
            known = self._jobs.get(key)
            if known is not None and not known.has_ended:
                raise AlreadyAtWork(name=known.by)
            self._jobs[key] = Job(by, clock())
        threading.Thread(target=self._do, args=(key, work, clock), name=f"work {key}", daemon=True).start()

    def _do(self, key: str, work: Callable[[], object], clock: Clock) -> None:
        # An error of the program goes on to the thread's hook, which writes it to the server's log.
        ended: dict[str, object] = {"crashed": True}
        try:
            with watched(lambda step, done, total: self._change(key, step=step, done=done, total=total)):
                ended = {"outcome": work()}
        except InterplayError as error:
            ended = {"problem": error}
        finally:
            self._change(key, ended_at=clock(), **ended)

    def _change(self, key: str, **values: object) -> None:
        with self._lock:
            self._jobs[key] = replace(self._jobs[key], **values)  # type: ignore[arg-type]
