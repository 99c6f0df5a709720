"""What every page and route of a running studio works with."""

import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from annotation_ui.background import Background
from annotation_ui.quality import Quality
from core.errors import InterplayError
from core.ids import Clock, utc_now
from warehouse.workspace import Workspace, open_workspace

KEY_FILE = "studio.key"
KEY_BYTES = 32


class KeyExposed(InterplayError):
    """The studio's key can be read by other users of the machine."""


@dataclass(frozen=True)
class Studio:
    """An opened project, the key that signs its links, a clock, and what its pages started and counted."""

    workspace: Workspace
    key: bytes
    clock: Clock = utc_now
    background: Background = field(default_factory=Background)
    quality: Quality = field(default_factory=Quality)

    @property
    def cookie_name(self) -> str:
        """Cookies know no ports: two projects served by one host must not sign each other out."""
        return f"interplay_{hashlib.sha256(b'cookie' + self.key).hexdigest()[:12]}"

    @property
    def url(self) -> str | None:
        """Where browsers reach the studio, where the settings say it."""
        return self.workspace.project.settings.studio_url

    @property
    def thumbnail_folder(self) -> Path:
        """Where small pictures are kept; they can be deleted at any time."""
        return self.workspace.project.thumbnail_folder


@contextmanager
def open_studio(project: Path | None = None, clock: Clock = utc_now) -> Iterator[Studio]:
    """Open the project that `Project.open` finds, for the studio.

    Raises:
        NoProject, BadSettings, DatabaseUnreachable, DatabaseOutdated, KeyExposed: As they say.
    """
    with open_workspace(project) as workspace:
        yield Studio(workspace, read_or_make_key(workspace.project.root), clock)


def read_or_make_key(folder: Path) -> bytes:
    """The project's own signing key, made at the first start, readable by the owner only.

    Raises:
        KeyExposed: Others may read the file.
    """
    file = folder / KEY_FILE
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise KeyExposed(f"{file} signs people in and can be read by others; run 'chmod 600 {file}'") from None
        return bytes.fromhex(file.read_text(encoding="ascii"))
    key = secrets.token_bytes(KEY_BYTES)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(key.hex())
    return key
