"""Loading of models that may have to be fetched from the hub: quick and in clear words when it is out of reach."""

import logging
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

import httpx

from core.errors import InterplayError, MissingExtra
from curation.embedding import BadEmbedder, ModelOutOfReach

T = TypeVar("T")

REACH_TIMEOUT_S = 5.0
_READ_BYTES = 1 << 20
_DAMAGE = (
    *(OSError, RuntimeError, ValueError, LookupError, TypeError, AttributeError, EOFError, AssertionError),
    *(ImportError, pickle.UnpicklingError),
)
"""What the libraries raise for files that are not there or are no model."""


def load_model(make: Callable[[], T], name: str, setting: str, from_hub: bool) -> T:
    """What `make` makes, fetched from the hub where it must.

    Args:
        make: Makes it with a library that goes through huggingface_hub.
        name: Of the model, for messages.
        setting: That names it, for messages.
        from_hub: Whether anything may have to be fetched.

    Raises:
        ModelOutOfReach: It is not in the cache of this machine, and the hub does not answer.
        BadEmbedder: There is no such model, or it cannot be read.
    """
    # What the libraries log when they fail is said here in other words.
    with _offline_unless_answered(from_hub) as is_online, _quiet():
        try:
            return make()
        except InterplayError:
            raise
        except _DAMAGE as error:
            said = " ".join(str(error).split()) or type(error).__name__
            if from_hub and not is_online:
                raise ModelOutOfReach(
                    f"the model {name!r} is not on this machine, and the hub cannot be reached to fetch it; connect, "
                    f"or name one that lies in a local file or folder in the setting {setting}"
                ) from error
            raise BadEmbedder(
                f"the model {name!r} cannot be loaded ({said:.300}); correct the setting {setting}"
            ) from error


def package_version(package: str, feature: str, extra: str) -> str:
    """Version of an installed package, without importing it.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        return version(package)
    except PackageNotFoundError as error:
        raise MissingExtra(feature, extra) from error


def digest(place: Path) -> str:
    """The first 16 hexadecimal digits of the sha256 of a file, or of the names and contents of a folder's files.

    Hidden ones, which tools leave behind, are left out.
    """
    hashed = sha256()
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if _is_part(path, place))
    for file in files:
        if file != place:
            hashed.update(f"\0{file.relative_to(place).as_posix()}\0".encode())
        with file.open("rb") as stream:
            while block := stream.read(_READ_BYTES):
                hashed.update(block)
    return hashed.hexdigest()[:16]


def _is_part(path: Path, folder: Path) -> bool:
    return path.is_file() and not any(name.startswith(".") for name in path.relative_to(folder).parts)


@contextmanager
def _offline_unless_answered(from_hub: bool) -> Iterator[bool]:
    """Whether the hub answers; while it does not, huggingface_hub looks into its cache alone.

    Left to itself it waits 23 seconds for each file of a model that it cannot fetch, and models have many.
    """
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not from_hub or not _answers(constants.ENDPOINT)
    try:
        yield not constants.HF_HUB_OFFLINE
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _quiet() -> Iterator[None]:
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _answers(address: str) -> bool:
    try:
        return httpx.head(address, timeout=REACH_TIMEOUT_S).status_code < httpx.codes.INTERNAL_SERVER_ERROR
    except httpx.HTTPError:
        return False
