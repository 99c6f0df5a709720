"""Models by a name on the hub, or a file or folder: loaded, named in fingerprints, and what is wrong said in words."""

import logging
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Thread
from typing import TypeVar

import httpx

from core.errors import InterplayError, MissingExtra

T = TypeVar("T")

REACH_TIMEOUT_S = 5.0
_READ_BYTES = 1 << 20
_SAID_CHARACTERS = 300
_DAMAGE = (
    *(OSError, RuntimeError, ValueError, LookupError, TypeError, AttributeError, EOFError, AssertionError),
    *(ImportError, pickle.UnpicklingError),
)
"""What the libraries raise for files that are not there or are no model."""


class UnusableModel(InterplayError):
    """A setting or an option names a model that is not to be had, or that is not of the kind which is needed."""


def load_model(make: Callable[[], T], name: str, setting: str, from_hub: bool) -> T:
    """What `make` makes, fetched from the hub where it must.

    Args:
        make: Makes it with a library that goes through huggingface_hub.
        name: Of the model, for messages.
        setting: What names it, as a user writes it, for messages.
        from_hub: Whether anything may have to be fetched.

    Raises:
        UnusableModel: It is not on this machine and the hub does not answer, the hub does not give it, or it cannot be
            read.
    """
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]  # of the client that it uses

    # What the libraries log when they fail is said here in other words.
    with _offline_unless_answered(from_hub), _quiet():
        try:
            return make()
        except InterplayError:
            raise
        except (*_DAMAGE, HTTPError) as error:
            raise UnusableModel(_in_words(error, name, setting)) from error


def check_reach(name: str, setting: str) -> None:
    """Whether a model that lies on the hub can be had at all, before a library is imported that takes seconds.

    Raises:
        UnusableModel: Nothing was ever fetched from the hub, and it does not answer.
    """
    from huggingface_hub import constants

    fetched = any(Path(constants.HF_HUB_CACHE).glob("models--*"))
    if not fetched and (constants.HF_HUB_OFFLINE or not _answers(constants.ENDPOINT)):
        raise UnusableModel(_out_of_reach(name, setting))


def package_version(package: str, feature: str, extra: str) -> str:
    """Version of an installed package, without importing it.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        return version(package)
    except PackageNotFoundError as error:
        raise MissingExtra(feature, extra) from error


@cache
def identity(model: str) -> str:
    """What a model is called in a fingerprint: its name on the hub, or its folder's name and a digest of its files.

    Args:
        model: A hub's name, a folder, or a file (then its folder counts, for configurations name files beside them).
    """
    place = Path(model)
    if not place.exists():
        return model
    folder = place if place.is_dir() else place.parent
    return f"{folder.resolve().name}:{digest(folder)[:8]}"


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


def _in_words(error: BaseException, name: str, setting: str) -> str:
    """What went wrong, and the mend. Libraries wrap what the hub's client raises in errors of their own."""
    from huggingface_hub.errors import (  # type: ignore[attr-defined]
        HfHubHTTPError,
        HTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
    )

    chain = list(_chain(error))
    refused = next((one for one in chain if isinstance(one, HfHubHTTPError)), None)
    if refused is not None:
        return (
            f"the hub does not give the model {name!r} ({_said(refused)}); check its name, and HF_TOKEN for one that "
            f"asks for a token, or let {setting} name a file or folder that holds it"
        )
    if any(isinstance(one, (LocalEntryNotFoundError, OfflineModeIsEnabled, HTTPError)) for one in chain):
        return _out_of_reach(name, setting)
    return f"the model {name!r} cannot be loaded ({_said(error)}); let {setting} name another"


def _out_of_reach(name: str, setting: str) -> str:
    return (
        f"the model {name!r} is not on this machine, and the hub cannot be reached to fetch it; connect, or let "
        f"{setting} name a file or folder that holds it"
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _said(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:_SAID_CHARACTERS]


@contextmanager
def _offline_unless_answered(from_hub: bool) -> Iterator[None]:
    """While the hub does not answer, huggingface_hub looks into its cache alone.

    Left to itself it waits 23 seconds for each file of a model that it cannot fetch, and models have many.
    """
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not from_hub or not _answers(constants.ENDPOINT)
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _quiet() -> Iterator[None]:
    before = logging.root.manager.disable
    bars = sys.modules.get("transformers.utils.logging")  # who has not loaded it draws none
    draws = bars is not None and bars.is_progress_bar_enabled()
    logging.disable(logging.CRITICAL)
    if bars is not None and draws:
        bars.disable_progress_bar()
    try:
        yield
    finally:
        logging.disable(before)
        if bars is not None and draws:
            bars.enable_progress_bar()


def _answers(address: str) -> bool:
    answered: list[bool] = []

    def ask() -> None:
        with suppress(httpx.HTTPError):
            status = httpx.head(address, timeout=REACH_TIMEOUT_S).status_code
            answered.append(status < httpx.codes.INTERNAL_SERVER_ERROR)

    # In a thread of its own, for looking up a host's address knows no timeout.
    asking = Thread(target=ask, daemon=True)
    asking.start()
    asking.join(REACH_TIMEOUT_S)
    return any(answered)
