"""Subsets in the project, sealed, and in folders for whoever has no project."""

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy.exc import IntegrityError
from sqlmodel import select as select_rows

from compression.importers.base import BadName, BadPool
from compression.select import Subset
from compression.subset import Manifest, SubsetSample
from core.errors import InterplayError, UnknownName, first_problem
from core.ids import Clock, utc_now
from warehouse import tables
from warehouse.blobs import write_atomically
from warehouse.runs import open_run
from warehouse.workspace import Workspace

_NAME = re.compile(r"(?=.{1,64}\Z)[A-Za-z0-9]+([._-][A-Za-z0-9]+)*")
MANIFEST_FILE, SAMPLE_FILE, ESTIMATES_FILE = "manifest.json", "subset.parquet", "estimates.json"


class SubsetExists(InterplayError):
    """A name or a folder that holds another subset already; a subset never changes."""


class DamagedSubset(InterplayError):
    """Files of a subset that are not what its manifest says."""


def check_name(workspace: Workspace, name: str) -> None:
    """Refuse a name that is taken, or none, before anything is computed.

    Raises:
        SubsetExists: It is taken.
        BadPool: It is no name.
    """
    if _NAME.fullmatch(name) is None:
        raise BadName(
            f"{name!r} is no name of a subset; write at most 64 letters and digits with single '-', '_' or '.' between"
        )
    if name in subset_names(workspace):
        raise _taken(name)


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something, before anything is computed.

    Raises:
        SubsetExists: It does.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SubsetExists(f"{folder} is not empty; write the subset to a new folder")


def store(workspace: Workspace, command: str, subset: Subset, clock: Clock = utc_now) -> str:
    """Seal a subset in the project; gives its id.

    Raises:
        SubsetExists, BadPool: As `check_name`.
    """
    check_name(workspace, subset.manifest.name)
    manifest = subset.manifest.model_dump(mode="json")
    settings = {name: manifest[name] for name in ("name", "pool", "pool_sha256", "sampler", "sizes", "sample_sha256")}
    with open_run(workspace.database, command, settings, seed=subset.manifest.seed, clock=clock) as run:
        workspace.blobs.put(subset.data)
        row = tables.Subset(
            name=subset.manifest.name,
            pool=subset.manifest.pool,
            sampler=subset.manifest.sampler,
            members=_members(subset),
            manifest=manifest,
            run_id=run.id,
            created_at=clock(),
        )
        try:
            with workspace.database.session() as session:
                session.add(row)
        except IntegrityError as error:
            # Another process stored one between our look and our insert.
            raise _taken(row.name) from error
        run.summary = {"kept": subset.manifest.kept, "questions": subset.manifest.questions}
        return row.id


def write_folder(folder: Path, subset: Subset) -> None:
    """Write the manifest, the questions with their weights, and the estimates into a new or empty folder.

    Raises:
        SubsetExists: Something lies there.
    """
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / SAMPLE_FILE, subset.data)
    estimates = [one.model_dump(mode="json") for one in subset.estimates]
    write_atomically(folder / ESTIMATES_FILE, _pretty(estimates).encode())
    # Last: a folder without it is no subset.
    write_atomically(folder / MANIFEST_FILE, _pretty(subset.manifest.model_dump(mode="json")).encode())


def load(named: str, workspace: Workspace | None) -> tuple[Manifest, SubsetSample]:
    """The subset in that folder, else the project's subset of that name.

    Raises:
        UnknownName: There is neither.
        BadPool: No folder is called so and there is no project.
        DamagedSubset: Its files are not what its manifest says.
        MissingBlob, DamagedBlob: The project's store lost it.
    """
    folder = Path(named)
    if folder.is_dir():
        return _from_folder(folder)
    if workspace is None:
        raise BadPool(f"{named}: no such folder, and no project to look for a subset of that name (--project FOLDER)")
    return load_stored(named, workspace, "folder or subset")


def load_stored(named: str, workspace: Workspace, kind: str = "subset") -> tuple[Manifest, SubsetSample]:
    """As `load`, for a subset of the project: a folder of that name is none; `kind` is what a mistake calls it.

    Raises:
        UnknownName, DamagedSubset, MissingBlob, DamagedBlob: As `load`.
    """
    with workspace.database.reading() as session:
        row = session.exec(select_rows(tables.Subset).where(tables.Subset.name == named)).first()
        if row is None:
            raise UnknownName(kind, named, subset_names(workspace))
        manifest = _manifest(row.manifest, named)
    return manifest, SubsetSample.read(workspace.blobs.get(manifest.sample_sha256), manifest)


def subset_names(workspace: Workspace) -> list[str]:
    """Names of the project's subsets, sorted."""
    with workspace.database.reading() as session:
        return list(session.exec(select_rows(tables.Subset.name).order_by(tables.Subset.name)).all())


def stored_manifests(workspace: Workspace) -> list[Manifest]:
    """Manifests of the project's subsets, by name."""
    with workspace.database.reading() as session:
        rows = session.exec(select_rows(tables.Subset.name, tables.Subset.manifest).order_by(tables.Subset.name)).all()
        return [_manifest(manifest, name) for name, manifest in rows]


def _manifest(stored: Mapping[str, Any], name: str) -> Manifest:
    try:
        manifest = Manifest.model_validate(stored)
    except ValidationError as error:
        raise DamagedSubset(
            f"subset {name!r} has a manifest that this version cannot read ({first_problem(error)}); use the version "
            "that sealed it, or select a new subset"
        ) from error
    return _unchanged(manifest, name)


def _unchanged(manifest: Manifest, place: str) -> Manifest:
    if manifest.seal != manifest.content_sha256():
        raise DamagedSubset(f"the manifest of {place} was changed after it was sealed; take it as select wrote it")
    return manifest


def _from_folder(folder: Path) -> tuple[Manifest, SubsetSample]:
    try:
        written = Manifest.model_validate_json((folder / MANIFEST_FILE).read_bytes())
        data = (folder / SAMPLE_FILE).read_bytes()
    except OSError as error:
        raise DamagedSubset(f"{folder} is no subset: {error.filename} cannot be read; use what select wrote") from error
    except ValidationError as error:
        raise DamagedSubset(f"{folder / MANIFEST_FILE} is no manifest: {first_problem(error)}") from error
    manifest = _unchanged(written, str(folder / MANIFEST_FILE))
    if sha256(data).hexdigest() != manifest.sample_sha256:
        raise DamagedSubset(
            f"{folder / SAMPLE_FILE} is not what the manifest says: its bytes are others; take both from select"
        )
    return manifest, SubsetSample.read(data, manifest)


def _taken(name: str) -> SubsetExists:
    return SubsetExists(f"the project has a subset {name!r} already, and it never changes; choose another --name")


def _members(subset: Subset) -> list[dict[str, object]]:
    sample = subset.sample
    rows = zip(sample.questions(subset.manifest), sample.weights.tolist(), sample.stratum_of.tolist(), strict=True)
    return [
        {"benchmark": benchmark, "question_id": question, "weight": weight, "stratum": stratum}
        for (benchmark, question), weight, stratum in rows
    ]


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False) + "\n"
