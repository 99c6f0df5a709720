"""What is made of a subset that is there: a larger one that holds it, and how well subsets of its size predict."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from annotation_ui.permissions import Principal
from annotation_ui.pools.desk import keep_files, may_compress, one_subset, opened_pool
from annotation_ui.pools.files import GivenFile, written
from annotation_ui.pools.kept import KeptValidity, PoolResults, ValiditySettings
from annotation_ui.pools.mistakes import NotOfThisProject, UnknownPool, in_page_words
from compression.matrix import read_matrix
from compression.subset import Manifest
from compression.subset_store import check_name, store
from core.errors import InterplayError
from core.ids import Clock, utc_now
from warehouse.workspace import Workspace


@dataclass(frozen=True)
class WantedMore:
    """What is asked of a larger subset: its name and size; files only where the earlier one's are not kept here."""

    name: str
    size: int
    labels: GivenFile | None = None
    fixed: GivenFile | None = None


def lacking_files(workspace: Workspace, manifest: Manifest) -> Mapping[str, bool]:
    """Whether the file of `labels`, and that of `fixed` questions, has to be given again to extend a subset."""
    known = PoolResults(workspace).file_of
    hashes = {"labels": manifest.labels_sha256, "fixed": manifest.fixed_sha256}
    return {name: sha256 is not None and known(sha256) is None for name, sha256 in hashes.items()}


def extend_subset(workspace: Workspace, who: Principal, subset: str, more: WantedMore, clock: Clock = utc_now) -> str:
    """Seal a larger subset that holds all of an earlier one, as `compress extend` does; gives its name.

    Raises:
        NotAllowed, AccountInactive, UnknownSubset, NotOfThisProject, PoolChanged: As they say.
        Told: The name is taken, or the pool, a file or what computes the subset is not what it was.
    """
    from compression.select import extend, selection_of

    may_compress(workspace, who)
    before, sample = one_subset(workspace, who, subset)
    with TemporaryDirectory() as folder:
        labels = _file(workspace, Path(folder) / "labels", more.labels, before.labels_sha256)
        fixed = _file(workspace, Path(folder) / "fixed", more.fixed, before.fixed_sha256)
        try:
            check_name(workspace, more.name)
            with opened_pool(workspace, who, before.pool) as (_, opened):
                matrix, origin = read_matrix(opened, before.missing.rule), opened.origin
            wanted = selection_of(before, more.name, labels, fixed)
            larger = extend(matrix, origin, (before, sample), wanted, None, more.size)
            # Minutes may have passed.
            may_compress(workspace, who)
            store(workspace, "compress extend", larger, clock)
        except UnknownPool:
            raise NotOfThisProject(pool=before.pool) from None
        except InterplayError as error:
            raise in_page_words(error, [file for file in (labels, fixed) if file]) from error
    keep_files(workspace, larger.manifest, more.labels, more.fixed)
    return more.name


def try_out(
    workspace: Workspace, who: Principal, pool: str, settings: ValiditySettings, clock: Clock = utc_now
) -> None:
    """Measure how well subsets of a size predict models that are left out, as `compress validate` does, and keep it.

    Raises:
        NotAllowed, AccountInactive, NotOfThisProject, PoolChanged: As they say.
        Told: No model can be left out, or a rule leaves nothing.
    """
    from compression.validate import Protocol, validate

    may_compress(workspace, who)
    try:
        with opened_pool(workspace, who, pool) as (state, opened):
            matrix = read_matrix(opened, settings.missing)
        protocol = Protocol(settings.splits, settings.repeats, settings.held_out)
        found = validate(matrix, None, settings.size, settings.samplers, protocol)
    except UnknownPool:
        raise NotOfThisProject(pool=pool) from None
    except InterplayError as error:
        raise in_page_words(error) from error
    kept = KeptValidity(settings=settings, by=who.display_name, at=clock(), validation=found)
    PoolResults(workspace).keep_validity(state, kept)


def _file(workspace: Workspace, folder: Path, given: GivenFile | None, sha256: str | None) -> Path | None:
    """The file that was given, else the one that the subset was chosen with here."""
    if given is not None:
        return written(folder, [given])[0]
    return None if sha256 is None else PoolResults(workspace).file_of(sha256)
