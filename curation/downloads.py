"""Several URLs fetched at once, politely: a host is asked for few of them at a time."""

import fcntl
import os
import shutil
import tempfile
import threading
from collections import defaultdict
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
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

AT_ONCE = 8
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

    At most `AT_ONCE_A_HOST` of one host at a time; hosts take turns, so that a slow one holds up none.
    """
    by_host: dict[str | None, list[Link]] = defaultdict(list)
    for link in links:
        by_host[host_of(link.url)].append(link)
    turns = {host: threading.Semaphore(AT_ONCE_A_HOST) for host in by_host}
    in_turn = [link for link in chain.from_iterable(zip_longest(*by_host.values())) if link is not None]
    work = partial(_fetch_link, folder=folder, limits=limits, allowed_hosts=allowed_hosts, turns=turns)
    yield from map_units(work, in_turn, backend="threads", workers=min(AT_ONCE, len(links)))


def _fetch_link(
    link: Link,
    folder: Path,
    limits: FetchLimits,
    allowed_hosts: Collection[str],
    turns: Mapping[str | None, threading.Semaphore],
) -> Fetched:
    with turns[host_of(link.url)]:
        try:
            path = fetch(link.url, folder, limits, allowed_hosts=allowed_hosts)
        except (FetchError, TooLarge) as error:
            return Rejected(link.origin, error.reason, printable(str(error).removeprefix(f"{link.url}: ")))
        except OSError as error:
            return StoreRefused.by(error, folder)
    return Entry(path, link.origin, link.claims)
