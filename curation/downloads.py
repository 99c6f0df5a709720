"""Several URLs fetched at once, politely: a host is asked for few of them at a time, and a slow one holds up none."""

import fcntl
import os
import shutil
import tempfile
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path

from core.executor import map_units
from core.grading import Outcome
from core.media.errors import TooLarge
from curation.addresses import FetchError, host_of
from curation.entries import Entry, Link, Rejected, printable
from curation.fetch import FetchLimits, fetch
from curation.workbench import StoreRefused

AT_ONCE = 16
AT_ONCE_A_HOST = 2

Fetched = Entry | Rejected | StoreRefused


@contextmanager
def downloads_folder(project_root: Path) -> Iterator[Path]:
    """A folder of the project for fetched files, which is gone afterwards; what a killed run left behind goes first."""
    place = project_root / "cache" / "downloads"
    place.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        # Under the lock of the whole, or a folder could be taken for left behind before it is locked itself.
        with _locked(place):
            for left in place.iterdir():
                with suppress(BlockingIOError), _locked(left, fcntl.LOCK_NB):
                    shutil.rmtree(left)
            folder = held.enter_context(tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True))
            held.enter_context(_locked(Path(folder)))
        yield Path(folder)


@contextmanager
def _locked(folder: Path, how: int = 0) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | how)
        yield
    finally:
        os.close(handle)


def fetch_links(
    links: Sequence[Link], folder: Path, limits: FetchLimits, allowed_hosts: Collection[str]
) -> Generator[tuple[Link, Outcome[Fetched]]]:
    """Fetch into a folder; gives each link with its file, or why there is none, as they end.

    At most `AT_ONCE_A_HOST` of one host at a time. What must wait for its host takes no place from others.
    """
    turns = _Turns(links)
    work = partial(_fetch_next, folder=folder, limits=limits, allowed_hosts=allowed_hosts, turns=turns)
    places = range(len(links))
    for place, outcome in map_units(work, places, backend="threads", workers=min(AT_ONCE, len(links))):
        yield turns.given[place], outcome


def in_turn(links: Iterable[Link]) -> list[Link]:
    """The links in an order in which hosts take turns: one of each, the next of each, and so on."""
    by_host = _by_host(links).values()
    return [link for link in chain.from_iterable(zip_longest(*by_host)) if link is not None]


class _Turns:
    """What waits to be fetched, given out to threads; `given` are the links by the place that asked for one."""

    def __init__(self, links: Iterable[Link]) -> None:
        self.given: dict[int, Link] = {}
        self._waiting = _by_host(links)
        self._running: Counter[str] = Counter()
        self._changed = threading.Condition()

    @contextmanager
    def next(self, place: int) -> Iterator[Link]:
        """A link whose host has few others running: of the host that has waited longest."""
        with self._changed:
            self._changed.wait_for(lambda: self._next_host() is not None)
            host = self._next_host()
            assert host is not None
            links = self._waiting.pop(host)
            link = self.given[place] = links.popleft()
            if links:
                self._waiting[host] = links  # behind all others
            self._running[host] += 1
        try:
            yield link
        finally:
            with self._changed:
                self._running[host] -= 1
                self._changed.notify()

    def _next_host(self) -> str | None:
        return next((host for host in self._waiting if self._running[host] < AT_ONCE_A_HOST), None)


def _by_host(links: Iterable[Link]) -> dict[str, deque[Link]]:
    found: dict[str, deque[Link]] = defaultdict(deque)
    for link in links:
        found[str(host_of(link.url)).rstrip(".")].append(link)
    return found


def _fetch_next(
    place: int, folder: Path, limits: FetchLimits, allowed_hosts: Collection[str], turns: _Turns
) -> Fetched:
    with turns.next(place) as link:
        try:
            path = fetch(link.url, folder, limits, allowed_hosts=allowed_hosts)
        except (FetchError, TooLarge) as error:
            return Rejected(link.origin, error.reason, printable(str(error).removeprefix(f"{link.url}: ")))
        except OSError as error:
            return StoreRefused.by(error, folder)
    return Entry(path, link.origin, link.claims)
