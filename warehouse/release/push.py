"""Push an exported release to a hub that speaks Hugging Face's HTTP calls, as a data set with a tag for the version."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from core.errors import InterplayError, MissingExtra
from core.ids import Clock, utc_now
from core.settings import environment_value
from warehouse.database import Database
from warehouse.release.export import MANIFEST
from warehouse.release.manifest import Manifest, read_manifest
from warehouse.release.opened import DamagedExport
from warehouse.release.records import Guard
from warehouse.release.tombstones import refuse_withdrawn
from warehouse.release.verify import exporter_of, verify_folder
from warehouse.runs import open_run

if TYPE_CHECKING:
    from huggingface_hub import HfApi

TOKEN, ENDPOINT = "HF_TOKEN", "HF_ENDPOINT"
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}")
_REFUSED = (401, 403)


class BadRepository(InterplayError):
    """A repository's name that no hub takes."""


class NoToken(InterplayError):
    """Nothing proves to the hub who pushes."""


class TokenRefused(InterplayError):
    """The hub knows the token not, or it may not write there."""


class PushFailed(InterplayError):
    """The hub cannot be reached, or took not all; pushing again sends what is missing."""


class Access(StrEnum):
    """Who sees the data set: its owner, who was let in by its owner, or everybody."""

    PRIVATE = "private"
    GATED = "gated"
    PUBLIC = "public"


@dataclass(frozen=True)
class Destination:
    """Where to push. A `token` that is not given is the environment's, or that of the hub's own login."""

    repository: str
    access: Access = Access.PRIVATE
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Pushed:
    """A release on a hub, under the tag of its version."""

    url: str
    tag: str


def has_hub() -> bool:
    """Whether the package that speaks to the hub is installed."""
    return find_spec("huggingface_hub") is not None


def has_token() -> bool:
    """Whether the environment or the hub's own login holds a token."""
    if environment_value(TOKEN) is not None:
        return True
    if not has_hub():
        return False
    from huggingface_hub import constants

    return Path(constants.HF_TOKEN_PATH).is_file()


def push_export(
    database: Database, folder: Path, to: Destination, clock: Clock = utc_now, guard: Guard | None = None
) -> Pushed:
    """Send an export as it was sealed; files of versions before that are no part of it leave the newest state.

    `guard` is asked right before anything is sent.

    The tag comes last: what has none is not whole. A second call sends what the first did not.

    Raises:
        BadRepository, NoToken, TokenRefused, PushFailed, MissingExtra: As they say.
        NoExport: `folder` holds none.
        DamagedExport: It is not what was sealed.
        MediaWithdrawn: What it shows was withdrawn since.
    """
    if not _REPOSITORY.fullmatch(to.repository) or "--" in to.repository or ".." in to.repository:
        raise BadRepository(f"{to.repository!r} names no repository; write OWNER/NAME")
    if not has_hub():
        raise MissingExtra("Pushing to a hub", "hub")
    manifest = _whole(folder)
    about, _ = exporter_of(folder)
    settings = {
        "name": manifest.name, "version": manifest.version, "format": about["exporter"],
        "repository": to.repository, "access": to.access.value,
    }  # fmt: skip
    with open_run(database, "release push", settings, clock=clock) as run:
        with database.session() as session:
            if guard is not None:
                guard(session)
            # As late as can be: what has left cannot be called back.
            refuse_withdrawn(session, manifest.title, manifest.media)
        pushed = _send(folder, manifest, to)
        run.summary = {"url": pushed.url, "tag": pushed.tag}
    return pushed


def _whole(folder: Path) -> Manifest:
    found = verify_folder(folder)
    if found.damages:
        raise DamagedExport(f"{folder} is damaged: {found.damages[0].line()}; export the release again")
    return read_manifest((folder / MANIFEST).read_bytes(), MANIFEST)


def _send(folder: Path, manifest: Manifest, to: Destination) -> Pushed:
    from huggingface_hub import HfApi, errors, get_token

    token = to.token or get_token()
    if token is None:
        raise NoToken(f"the hub asks who pushes; set {TOKEN} in the environment, or run 'hf auth login'")
    api = HfApi(endpoint=environment_value(ENDPOINT), token=token)
    try:
        _write(api, folder, manifest, to)
    except errors.HFValidationError as error:
        raise BadRepository(f"{to.repository!r} names no repository; write OWNER/NAME") from error
    # Not `from error`: what the library keeps of the request holds the token.
    except errors.HfHubHTTPError as error:
        said = error.server_message or f"status {error.response.status_code}"
        if error.response.status_code in _REFUSED:
            refused = f"the hub refuses to write to {to.repository} ({said}); check the token's rights"
            raise TokenRefused(refused) from None
        raise PushFailed(f"the hub did not take all of {manifest.title} ({said}); push again") from None
    except (errors.HTTPError, errors.OfflineModeIsEnabled, errors.HfUriError, OSError) as error:  # type: ignore[attr-defined]
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PushFailed(f"the hub at {api.endpoint} cannot be reached ({why}); push again") from None
    return Pushed(f"{api.endpoint}/datasets/{to.repository}", manifest.version)


def _write(api: "HfApi", folder: Path, manifest: Manifest, to: Destination) -> None:
    repository, kind, is_private = to.repository, "dataset", to.access is Access.PRIVATE
    api.create_repo(repository, repo_type=kind, private=is_private, exist_ok=True)
    # A repository that was there may be open to others than was asked for now.
    gated: Literal["manual", False] = "manual" if to.access is Access.GATED else False
    api.update_repo_settings(repository, repo_type=kind, private=is_private, gated=gated)
    api.upload_folder(
        repo_id=repository,
        repo_type=kind,
        folder_path=folder,
        commit_message=manifest.title,
        delete_patterns="*",
        ignore_patterns=".*",
    )
    api.create_tag(repository, repo_type=kind, tag=manifest.version, exist_ok=True)
