"""Models listen to takes behind the page: one at a time, each take once, as far as this server remembers."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor

from core.errors import InterplayError
from core.media.guard import guard_of_process
from curation.recordings.listening import Ears
from curation.recordings.models import project_ears
from curation.recordings.takes import check_take
from warehouse.workspace import Workspace


class Listener:
    """Has the project's models check takes; what they find is stored with the take."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="listener")
        self._asked: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        self._ears: Ears | None = None

    def close(self, wait: bool = False) -> None:
        """Listen to no more takes; with `wait` those that were asked for are done first."""
        self._pool.shutdown(wait=wait, cancel_futures=not wait)

    def ask(self, recording_id: str) -> None:
        """Have a take listened to, unless it was."""
        with self._lock:
            if recording_id not in self._asked:
                self._asked[recording_id] = self._pool.submit(self._listen, recording_id)

    def is_busy(self, recording_id: str) -> bool:
        """Whether a take waits or is being listened to."""
        asked = self._asked.get(recording_id)
        return asked is not None and not asked.done()

    def problem(self, recording_id: str) -> str | None:
        """Why listening ended without findings, where it did."""
        asked = self._asked.get(recording_id)
        if asked is None or not asked.done() or asked.cancelled():
            return None
        error = asked.exception()
        if error is None or isinstance(error, InterplayError):
            return None if error is None else str(error)
        raise error

    def _listen(self, recording_id: str) -> None:
        if self._ears is None:
            self._ears = project_ears(self._workspace.project.settings)
        guard = guard_of_process(self._workspace.project.media_limits)
        check_take(self._workspace, recording_id, self._ears, guard=guard)
