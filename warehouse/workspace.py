"""An opened project's stores, together."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.errors import InterplayError
from core.settings import PROJECT_FILE, Project
from warehouse.blobs import BlobStore
from warehouse.consents import withdrawn_at
from warehouse.database import Database
from warehouse.facts import FactStore

_PROJECT_TEXT = """\
# An Interplay project. Every setting can also come from the environment, as INTERPLAY_<NAME>.
# database_url = "postgresql+psycopg://USER@HOST/NAME"   # default: interplay.db in this folder
# blobs_url = "s3://BUCKET/blobs"                         # default: blobs/ in this folder
# facts_url = "s3://BUCKET/facts"                         # default: facts/ in this folder
# executor = "local"                                      # local, threads, ray or dask
# originals = "sealed"                                    # or "dropped": keep only the stripped working copies
# asr_model = "small"                                     # faster-whisper: a name, or a folder
# diarization_model = "pyannote/speaker-diarization-community-1"  # pyannote: a hub id, or a folder; none: lighter way
# clip_model = "ViT-B-32/laion2b_s34b_b79k"               # open_clip: ARCHITECTURE/TAG, or ARCHITECTURE/FILE
# text_model = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"  # or a folder
# languages = ["zh", "en"]                                # a list; what is said in others is dropped
# allowed_licences = ["CC-BY-NC-4.0"]                     # a list; taken beside those known as open

# Models by a name of your own; any Inspect AI provider works, with its arguments.
# [models.gemini]
# provider = "google/gemini-2.5-flash"
# family = "gemini"
"""


class ProjectExists(InterplayError):
    """A new project was asked for where one is."""


class UnusableFolder(InterplayError):
    """A project cannot be made there."""


@dataclass(frozen=True)
class Workspace:
    """Tables, working copies, sealed originals and facts of one project."""

    project: Project
    database: Database
    blobs: BlobStore
    originals: BlobStore
    facts: FactStore


@contextmanager
def open_workspace(named: Path | None = None) -> Iterator[Workspace]:
    """Open the project that `Project.open` finds.

    Raises:
        NoProject, BadSettings, DatabaseUnreachable, DatabaseOutdated: As they say.
    """
    project = Project.open(named)
    workspace = _stores(project)
    try:
        workspace.database.check_version()
        yield workspace
    finally:
        workspace.database.close()


def init_project(folder: Path, settings: str = "") -> Project:
    """Make a project folder with its tables; its parents are made too. `settings` are further lines of its file.

    Raises:
        ProjectExists: There is one already.
        UnusableFolder: The folder cannot be made.
    """
    file = folder / PROJECT_FILE
    if file.exists():
        raise ProjectExists(f"{folder} already holds an Interplay project; use it, or choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnusableFolder(f"cannot make the folder {folder}: {error.strerror}; choose another place") from error
    file.write_text(_PROJECT_TEXT + settings, encoding="utf-8")
    try:
        return upgrade_project(folder)
    except InterplayError:
        file.unlink()  # without its tables it is no project yet; the same command must work once the cause is mended
        raise


def upgrade_project(folder: Path | None) -> Project:
    """Bring a project's tables to this version's shape."""
    project = Project.open(folder)
    database = Database(project.database_url)
    try:
        database.upgrade()
    finally:
        database.close()
    return project


def _stores(project: Project) -> Workspace:
    database = Database(project.database_url)
    gone = partial(withdrawn_at, database)
    return Workspace(
        project=project,
        database=database,
        blobs=BlobStore(project.blobs_url, gone),
        # As received, with whatever personal data they carry: apart from what is served and released.
        originals=BlobStore(f"{project.blobs_url}/originals", gone),
        facts=FactStore(project.facts_url, project.root / "journal"),
    )
