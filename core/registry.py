"""One kind of plug-in, found by name and loaded when it is used."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Generic, TypeVar, cast

from core.errors import InterplayError, UnknownName

T = TypeVar("T")


class BrokenPlugin(InterplayError):
    """A registered target that cannot be imported."""


@dataclass(frozen=True)
class Entry(Generic[T]):
    """A named, versioned target `"module:attribute"`; nothing is imported before `load`."""

    name: str
    version: str
    target: str

    @property
    def fingerprint(self) -> str:
        """`name@version`, which enters the fingerprint of whatever this entry made."""
        return f"{self.name}@{self.version}"

    def load(self) -> T:
        """Import the target.

        Raises:
            BrokenPlugin: The module or the attribute is not there.
        """
        module_name, _, attribute = self.target.partition(":")
        try:
            return cast(T, getattr(import_module(module_name), attribute))
        except (ImportError, AttributeError) as error:
            raise BrokenPlugin(f"{self.name!r} points to {self.target!r}, which cannot be loaded: {error}") from error


class Registry(Generic[T]):
    """All entries of one kind: ours, and those that installed packages offer as entry points `interplay.<kind>`.

    An entry point's name is `name@version`.
    """

    def __init__(self, kind: str, entries: tuple[Entry[T], ...] = ()) -> None:
        self.kind = kind
        self._entries = {entry.name: entry for entry in entries}

    def __iter__(self) -> Iterator[Entry[T]]:
        return iter(sorted(self._all().values(), key=lambda entry: entry.name))

    def __getitem__(self, name: str) -> Entry[T]:
        """The entry of that name.

        Raises:
            UnknownName: With the nearest known names.
        """
        if name in self._entries:
            # Ours win, and reading the metadata of all installed packages takes milliseconds.
            return self._entries[name]
        known = self._all()
        if name not in known:
            raise UnknownName(self.kind.replace("_", " ").removesuffix("s"), name, known)
        return known[name]

    def _all(self) -> dict[str, Entry[T]]:
        found: dict[str, Entry[T]] = {}
        for point in entry_points(group=f"interplay.{self.kind}"):
            name, _, version = point.name.partition("@")
            found[name] = Entry(name, version or "0", point.value)
        return found | self._entries
