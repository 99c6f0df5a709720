"""Where a row came from: canonical hashes, and the code, packages and machine that made it."""

import hashlib
import json
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import Field

from core.content import Frozen

# The packages whose versions can change what a run produces.
WATCHED_PACKAGES = (
    "av",
    "duckdb",
    "imagehash",
    "inspect-ai",
    "interplay",
    "numpy",
    "pillow",
    "pyarrow",
    "pydantic",
    "scikit-learn",
    "scipy",
    "sqlalchemy",
)


def content_hash(value: Any) -> str:
    """sha256 of a JSON value in canonical form (sorted keys, no spaces, UTF-8)."""
    # A file name that is not UTF-8 reaches Python as lone surrogates; it too has one hash.
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON text that is the same for equal values on every machine."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class Environment(Frozen):
    """The code and machine behind a run."""

    python: str
    platform: str
    commit: str | None = Field(default=None, description="git commit of an editable installation, None for a wheel")
    dirty: bool | None = None
    packages: dict[str, str]


def describe_environment() -> Environment:
    """Versions of what is running now; the commit is known only where the code lies in a git checkout."""
    commit = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return Environment(
        python=platform.python_version(),
        platform=platform.platform(terse=True),
        commit=commit,
        dirty=None if commit is None or changes is None else changes != "",
        packages={name: version for name in WATCHED_PACKAGES if (version := _installed(name))},
    )


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
