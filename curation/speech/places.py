"""Where models are: a name on the hub, or a folder; and what they are called in fingerprints."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from core.errors import InterplayError
from curation.embedding.hub import digest


class UnreachableModel(InterplayError):
    """A model that is neither in a folder here nor to be had from the hub."""


class UnusableModel(InterplayError):
    """A folder or a hub's repository that holds something else than the model that is needed."""


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


def config_file(model: str, name: str, token: str | None = None) -> Path:
    """A model's configuration: in its folder, itself a file, or fetched from the hub; for use under `fetching`.

    Only what fetches whole repositories gives up at once when no hub can be reached.
    """
    from huggingface_hub import snapshot_download

    place = Path(model)
    if not place.exists():
        place = Path(snapshot_download(model, allow_patterns=[name], token=token))
    return place / name if place.is_dir() else place


@contextmanager
def fetching(model: str, setting: str) -> Iterator[None]:
    """Turn what a hub's client or a loader raises into words.

    Args:
        model: What is loaded.
        setting: What names it, as a user writes it.

    Raises:
        UnreachableModel: The hub cannot be reached, or has no such model, or does not give it to this user.
        UnusableModel: What is there is no such model.
    """
    import httpx
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled

    unreachable = (HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled, HFValidationError, httpx.HTTPError)
    try:
        yield
    except unreachable as error:
        raise UnreachableModel(
            f"the model {model!r} is no folder here, and the hub does not give it ({_first_line(error)}); check its "
            f"name, the connection and HF_TOKEN, or let {setting} be a folder that holds one"
        ) from error
    except (OSError, ValueError, RuntimeError, KeyError, AttributeError, TypeError) as error:
        raise UnusableModel(
            f"{model!r} holds no model that can be loaded here ({type(error).__name__}: {_first_line(error)}); "
            f"let {setting} name another"
        ) from error


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
