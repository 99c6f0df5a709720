"""Which files an ingest takes: named ones, those in named folders, and those at URLs."""

import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Self

from core.errors import InterplayError
from curation.addresses import parse_url

MOST_NAME_BYTES = 2000
"""An entry of an index of PostgreSQL holds 2,704 bytes, and a path can have 4,096."""
HEAD, TAIL = 400, 200
RENAME = "rename such files with 'convmv -f GBK -t UTF-8 --notest -r FOLDER'"
_LIKE_HOST = re.compile(r"(www\.|([a-z0-9-]+\.)+[a-z]{2,}/)", re.IGNORECASE)


class MissingPath(InterplayError):
    """A path that was named is not there, or cannot be one."""


@dataclass(frozen=True)
class Claims:
    """What people say of a file: where it is from, who made it, what is in it.

    `caption` describes the file itself, `audio_content` what is heard in it (of a video, in its sound). `sound_of` is
    the origin of the film that a sound belongs to, `offset_s` when it begins on the film's clock, 0 when not said.
    """

    source: str | None = None
    licence: str | None = None
    author: str | None = None
    consent_id: str | None = None
    tags: tuple[str, ...] = ()
    caption: str | None = None
    audio_content: str | None = None
    audio_type: str | None = None
    sound_of: str | None = None
    offset_s: float | None = None

    def filled_from(self, other: Self) -> Self:
        """These claims, and where they are silent the other ones."""
        return replace(self, **{f.name: getattr(self, f.name) or getattr(other, f.name) for f in fields(self)})


@dataclass(frozen=True)
class Entry:
    """A file to take: where it lies, and its name in the library, as it was given."""

    path: Path
    origin: str
    claims: Claims

    def filled_from(self, claims: Claims) -> Self:
        """The entry, with the other claims where its own are silent."""
        return replace(self, claims=self.claims.filled_from(claims))


@dataclass(frozen=True)
class Link:
    """A URL whose file is to be taken, and whose name in the library it is."""

    url: str
    claims: Claims

    @classmethod
    def parse(cls, url: str, claims: Claims) -> Self:
        """A link from what somebody wrote.

        Raises:
            BadUrl: It is of no form that is fetched.
        """
        return cls(str(parse_url(url.strip())), claims)

    @property
    def origin(self) -> str:
        """The URL as the library names it."""
        return self.url

    def filled_from(self, claims: Claims) -> Self:
        """The link, with the other claims where its own are silent."""
        return replace(self, claims=self.claims.filled_from(claims))


Wanted = Entry | Link


@dataclass(frozen=True)
class Rejected:
    """A file that is not taken, with a reason code and the reason in words."""

    origin: str
    reason: str
    message: str


def gather(
    paths: Iterable[Path], claims: Claims, own_places: Collection[Path] = ()
) -> tuple[list[Entry], list[Rejected]]:
    """Files that are named, and all files in folders that are named, by name; each once.

    In folders, files and folders whose name begins with a dot are passed over, and so are `own_places` (the project's
    own stores, resolved). Symbolic links that lead out of the folder are rejected; those that stay inside count as
    files, and linked folders inside are found under their own names. A link that is named itself is followed.

    Raises:
        MissingPath: A named path does not exist.
    """
    entries: dict[str, Entry] = {}
    rejected: list[Rejected] = []
    for path in paths:
        _check_there(path)
        for found in _walk(path, own_places) if path.is_dir() else [_check_regular(path)]:
            if isinstance(found, Rejected):
                rejected.append(found)
            else:
                entries.setdefault(origin_of(found), Entry(found, origin_of(found), claims))
    return list(entries.values()), rejected


def is_undecodable(path: Path) -> bool:
    """Whether a file's name is in another encoding than UTF-8, so that the library shows it with escapes."""
    return any("\udc80" <= letter <= "\udcff" for letter in str(path))


def leads_out(path: Path, root: Path) -> bool:
    """Whether a path ends, all symbolic links followed, outside a folder (itself resolved)."""
    return not _real(path).is_relative_to(root)


def origin_of(path: Path) -> str:
    """A path as the library names it: as it was given, in printable characters, a very long one shortened."""
    name = printable(path.as_posix())
    if len(name.encode()) <= MOST_NAME_BYTES:
        return name
    return f"{name[:HEAD]}...{hashlib.sha256(name.encode()).hexdigest()}...{name[-TAIL:]}"


def printable(text: str) -> str:
    """Text with escapes for line ends, control characters and bytes that are not UTF-8, which file names may hold."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def _real(path: Path) -> Path:
    # Unlike Path.resolve, this also comes back from links that lead to themselves.
    return Path(os.path.realpath(path))


def _check_there(path: Path) -> None:
    # Path.exists raises for a name that is too long for any file.
    if not os.path.exists(path):  # noqa: PTH110
        mend = "check the spelling, or the folder you are in"
        if _LIKE_HOST.match(str(path)):
            mend = f"for a URL write https://{printable(str(path))}; else {mend}"
        raise MissingPath(f"{printable(str(path))} does not exist; {mend}")


def _walk(folder: Path, own_places: Collection[Path]) -> Iterator[Path | Rejected]:
    root = _real(folder)
    problems: list[OSError] = []
    for place, folders, files in os.walk(folder, onerror=problems.append):
        here = Path(place)
        for name in sorted(folders):
            if (here / name).is_symlink() and not name.startswith(".") and leads_out(here / name, root):
                yield _outside(here / name)
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and _real(here / name) not in own_places
        )
        for name in sorted(files):
            path = here / name
            if name.startswith(".") or _real(path) in own_places:
                continue
            yield _outside(path) if leads_out(path, root) else _check_regular(path)
    for problem in problems:
        message = f"the folder cannot be read: {problem.strerror}"
        yield Rejected(origin_of(Path(problem.filename)), "unreadable", message)


def _outside(path: Path) -> Rejected:
    message = f"a symbolic link that leads out of the folder, to {origin_of(_real(path))}; give that file itself"
    return Rejected(origin_of(path), "outside_folder", message)


def _check_regular(path: Path) -> Path | Rejected:
    """The path, when there is an ordinary file; opening a pipe or a device could wait for ever."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return Rejected(origin_of(path), "unreadable", f"the file cannot be read: {error.strerror}")
    if not stat.S_ISREG(mode):
        return Rejected(origin_of(path), "not_a_file", "a pipe, socket or device, not an ordinary file")
    return path
