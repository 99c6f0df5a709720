"""What people do with pools of scores: bring them in, look at them, choose subsets, estimate new models.

All but reading takes seconds to minutes: pages let it go on in the background. Each service stores what it makes.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlmodel import col, select

from annotation_ui.permissions import Permission, Principal, authorize, require
from annotation_ui.pools.files import GivenFile, know_model, list_of_ids, safe_name, written
from annotation_ui.pools.kept import (
    CurveSettings,
    KeptCurve,
    KeptStrata,
    LabelCounts,
    PoolResults,
    StrataSettings,
    state_of,
)
from annotation_ui.pools.mistakes import (
    FileTooLarge,
    NotLookedAt,
    PoolChanged,
    UnknownPool,
    UnknownSubset,
    in_page_words,
)
from compression.estimate_new import Estimates, estimate_models
from compression.families import read_families
from compression.importers.base import Reading
from compression.matrix import MissingRule, pivot, read_matrix
from compression.pool import Pool, open_pool, open_stored_pool
from compression.pool_import import Imported, import_pool
from compression.pool_picture import PoolPicture, PoolState, picture_of
from compression.samplers import DEFAULT_SAMPLER
from compression.select import Selection
from compression.subset import Manifest, SubsetSample
from compression.subset_store import check_name, load_stored, store, stored_manifests
from compression.subset_view import by_labels
from core.errors import InterplayError, UnknownName
from core.ids import Clock, utc_now
from core.taxonomy import Language
from warehouse import tables
from warehouse.workspace import Workspace

# Where all pools together have so few rows, one is looked at in a moment, while the page is drawn.
QUICK_ROWS = 200_000
# Scores of one model for a subset are far smaller; the page waits while they are read.
MOST_ESTIMATE_BYTES = 50_000_000
_LANGUAGES: tuple[Language, ...] = ("en", "zh")


@dataclass(frozen=True)
class NewScores:
    """What is brought into a pool: files, how they are read, a file of families, and whether other scores give way."""

    pool: str
    files: Sequence[GivenFile]
    reading: Reading = field(default_factory=Reading)
    families: GivenFile | None = None
    replace: bool = False


@dataclass(frozen=True)
class WantedSubset:
    """What is asked of a subset (see `Selection`); `fixed` is a file, or ids of questions."""

    name: str
    size: int
    sampler: str = DEFAULT_SAMPLER
    seed: int = 0
    missing: MissingRule = MissingRule.DROP
    floors: Mapping[str, int] = field(default_factory=dict)
    together: str | None = None
    labels: GivenFile | None = None
    fixed: GivenFile | Sequence[str] | None = None
    families: GivenFile | None = None


def known_pools(workspace: Workspace, who: Principal) -> list[tuple[PoolState, PoolPicture | None]]:
    """Every pool with what is drawn of it, where somebody looked already.

    Raises:
        NotAllowed: The person may not see results.
    """
    require(who, Permission.SEE_RESULTS)
    results = PoolResults(workspace)
    return [(state, results.picture(state)) for state in results.states()]


def pool_state(workspace: Workspace, who: Principal, pool: str) -> PoolState:
    """How the pool of that name stands.

    Raises:
        NotAllowed, UnknownPool: As they say.
    """
    require(who, Permission.SEE_RESULTS)
    state = state_of(PoolResults(workspace).states(), pool)
    if state is None:
        raise UnknownPool
    return state


def is_quick(workspace: Workspace) -> bool:
    """Whether looking at a pool takes no longer than a page may take: whatever is read, all rows are gone through."""
    return sum(state.rows for state in PoolResults(workspace).states()) <= QUICK_ROWS


def look(workspace: Workspace, who: Principal, pool: str) -> PoolPicture:
    """Work out what is drawn of a pool, and keep it.

    Raises:
        NotAllowed, UnknownPool, PoolChanged: As they say.
    """
    with opened_pool(workspace, who, pool) as (state, opened):
        picture, questions = picture_of(opened)
    PoolResults(workspace).keep_picture(state, picture, questions)
    return picture


def look_at_new(workspace: Workspace, who: Principal, first: str | None = None) -> None:
    """Work out what is drawn of every pool that nobody looked at yet; `first` is the one that somebody waits for.

    Raises:
        NotAllowed: The person may not see results.
        InterplayError: What is wrong with one of them; the others are looked at all the same.
    """
    new = [state.pool for state, picture in known_pools(workspace, who) if picture is None]
    problem: InterplayError | None = None
    for pool in sorted(new, key=lambda name: (name != first, name)):
        try:
            look(workspace, who, pool)
        except InterplayError as error:
            problem = problem or error
    if problem is not None:
        raise problem


def may_compress(workspace: Workspace, who: Principal) -> None:
    """Refuse who may not change anything about pools, as they stand now.

    Raises:
        NotAllowed, AccountInactive: As they say.
    """
    with workspace.database.session() as session:
        authorize(session, who, Permission.COMPRESS)


def bring_in(workspace: Workspace, who: Principal, new: NewScores, clock: Clock = utc_now) -> Imported:
    """Store the scores of files in a pool, as `pool import` does: all, or none.

    Raises:
        NotAllowed, AccountInactive: As they say.
        Told: A file has no scores or bad ones; which, and what to do.
    """
    may_compress(workspace, who)
    with TemporaryDirectory() as folder:
        files = written(Path(folder), new.files)
        try:
            for file in files:
                know_model(file, new.reading)
            families = _families(Path(folder), new.families)
            return import_pool(workspace, files, new.pool, new.reading, families, replace=new.replace, clock=clock)
        except InterplayError as error:
            raise in_page_words(error, files) from error


def work_out_curve(
    workspace: Workspace, who: Principal, pool: str, settings: CurveSettings, clock: Clock = utc_now
) -> None:
    """Work out the cost-benefit curve of a pool, as `compress curve` does, and keep it with its pictures.

    Raises:
        NotAllowed, AccountInactive, UnknownPool, PoolChanged, Refused: As they say.
    """
    from compression.curve import curve
    from compression.curve_plot import curve_picture
    from compression.validate import Protocol

    may_compress(workspace, who)
    try:
        with opened_pool(workspace, who, pool) as (state, opened):
            matrix = read_matrix(opened, settings.missing)
        protocol = Protocol(splits=settings.splits, repeats=settings.repeats, seed=settings.seed)
        moes = () if settings.margin is None else (settings.margin,)
        found = curve(matrix, settings.samplers, protocol=protocol, moes=moes)
    except InterplayError as error:
        raise in_page_words(error) from error
    kept = KeptCurve(settings=settings, by=who.display_name, at=clock(), curve=found)
    pictures = {language: curve_picture(found, "svg", language) for language in _LANGUAGES}
    PoolResults(workspace).keep_curve(state, kept, pictures)


def work_out_strata(
    workspace: Workspace, who: Principal, pool: str, settings: StrataSettings, clock: Clock = utc_now
) -> None:
    """Make the strata of a sampler and a size, and keep what they are.

    Raises:
        NotAllowed, AccountInactive, UnknownPool, PoolChanged, Refused: As they say.
    """
    from compression.strata_view import look_at_strata

    may_compress(workspace, who)
    try:
        with opened_pool(workspace, who, pool) as (state, opened):
            matrix = read_matrix(opened, settings.missing)
        view = look_at_strata(matrix, settings.sampler, settings.size, settings.seed)
    except InterplayError as error:
        raise in_page_words(error) from error
    kept = KeptStrata(settings=settings, by=who.display_name, at=clock(), view=view)
    PoolResults(workspace).keep_strata(state, kept)


def choose_subset(workspace: Workspace, who: Principal, pool: str, wanted: WantedSubset, clock: Clock = utc_now) -> str:
    """Choose a subset and seal it in the project, as `compress select` does; gives its name.

    Raises:
        NotAllowed, AccountInactive, UnknownPool, PoolChanged: As they say.
        Told: The name is taken, floors or fixed questions exceed the size, or a file is not what it should be.
    """
    from compression.select import select as select_subset

    may_compress(workspace, who)
    with TemporaryDirectory() as folder:
        files: list[Path] = []
        try:
            check_name(workspace, wanted.name)
            selection = _selection(Path(folder), wanted, files)
            with opened_pool(workspace, who, pool) as (_, opened):
                matrix, origin = read_matrix(opened, wanted.missing), opened.origin
            subset = select_subset(matrix, origin, selection)
            # Minutes may have passed.
            may_compress(workspace, who)
            store(workspace, "compress select", subset, clock)
        except InterplayError as error:
            raise in_page_words(error, files) from error
    keep_files(workspace, subset.manifest, wanted.labels, _listed(wanted.fixed))
    return wanted.name


def keep_files(workspace: Workspace, manifest: Manifest, labels: GivenFile | None, fixed: GivenFile | None) -> None:
    """Keep what a subset was chosen with: its labels are counted by, and both are needed to extend it."""
    for digest, given in ((manifest.labels_sha256, labels), (manifest.fixed_sha256, fixed)):
        if digest is not None and given is not None:
            PoolResults(workspace).keep_file(digest, Path(safe_name(given.name)).suffix, given.data)


def subsets_of(workspace: Workspace, who: Principal, pool: str) -> list[Manifest]:
    """The subsets of a pool, by name.

    Raises:
        NotAllowed, DamagedSubset: As they say.
    """
    require(who, Permission.SEE_RESULTS)
    return [manifest for manifest in stored_manifests(workspace) if manifest.pool == pool]


def subset_counts(workspace: Workspace, who: Principal) -> dict[str, int]:
    """How many subsets each pool has."""
    require(who, Permission.SEE_RESULTS)
    counts: dict[str, int] = {}
    with workspace.database.reading() as session:
        for pool in session.exec(select(col(tables.Subset.pool))):
            counts[pool] = counts.get(pool, 0) + 1
    return counts


def one_subset(workspace: Workspace, who: Principal, name: str) -> tuple[Manifest, SubsetSample]:
    """A subset of the project.

    Raises:
        NotAllowed, UnknownSubset, DamagedSubset, MissingBlob, DamagedBlob: As they say.
    """
    require(who, Permission.SEE_RESULTS)
    try:
        return load_stored(name, workspace)
    except UnknownName:
        raise UnknownSubset from None


def label_counts(
    workspace: Workspace, who: Principal, manifest: Manifest, sample: SubsetSample, given: GivenFile | None = None
) -> LabelCounts:
    """What is kept of each label: of a given file, else of the one that the subset was chosen with here.

    Raises:
        NotAllowed, NotLookedAt: As they say.
        Told: The file cannot be read as labels.
    """
    require(who, Permission.SEE_RESULTS)
    results = PoolResults(workspace)
    state = state_of(results.states(), manifest.pool)
    questions = None if state is None else results.questions_file(state)
    if given is None:
        stored = results.file_of(manifest.labels_sha256) if manifest.labels_sha256 else None
        if stored is None or questions is None:
            return {}
        given = GivenFile(stored.name, stored.read_bytes())
    if state is None or questions is None:
        raise NotLookedAt
    digest = sha256(given.data).hexdigest()
    known = results.label_counts(manifest.seal, digest, state)
    if known is not None:
        return known
    with TemporaryDirectory() as folder:
        files = written(Path(folder), [given])
        try:
            counts = by_labels(manifest, sample, questions, files[0])
        except InterplayError as error:
            raise in_page_words(error, files) from error
    results.keep_label_counts(manifest.seal, digest, state, counts)
    return counts


def questions_file(workspace: Workspace, who: Principal, pool: str) -> Path | None:
    """Parquet of a pool's questions as it stands; None where nobody looked at it yet.

    Raises:
        NotAllowed: The person may not see results.
    """
    require(who, Permission.SEE_RESULTS)
    results = PoolResults(workspace)
    state = state_of(results.states(), pool)
    return None if state is None else results.questions_file(state)


def estimate_upload(workspace: Workspace, who: Principal, name: str, given: GivenFile, reading: Reading) -> Estimates:
    """What a subset says of models whose scores are in a file; nothing is stored.

    Raises:
        NotAllowed, UnknownSubset, DamagedSubset, MissingBlob, DamagedBlob: As they say.
        Told: The file has no scores, bad ones, or none for the subset.
    """
    manifest, sample = one_subset(workspace, who, name)
    if len(given.data) > MOST_ESTIMATE_BYTES:
        raise FileTooLarge(name=given.name)
    with TemporaryDirectory() as folder:
        (file,) = files = written(Path(folder), [given])
        try:
            know_model(file, reading)
            with open_pool(str(file), None, reading) as pool:
                return estimate_models(manifest, sample, pivot(pool))
        except InterplayError as error:
            raise in_page_words(error, files) from error


@contextmanager
def opened_pool(workspace: Workspace, who: Principal, pool: str) -> Iterator[tuple[PoolState, Pool]]:
    """A pool as it stands, with its state: both are of one moment.

    Raises:
        NotAllowed, UnknownPool, PoolChanged: As they say.
    """
    state = pool_state(workspace, who, pool)
    with open_stored_pool(pool, workspace) as opened:
        if pool_state(workspace, who, pool) != state:
            raise PoolChanged
        yield state, opened


def _selection(folder: Path, wanted: WantedSubset, files: list[Path]) -> Selection:
    """The selection with its files in a folder; they are added to `files` too."""

    def put(place: str, given: GivenFile) -> Path:
        (file,) = written(folder / place, [given])
        files.append(file)
        return file

    fixed = _listed(wanted.fixed)
    return Selection(
        name=wanted.name,
        size=wanted.size,
        sampler=wanted.sampler,
        seed=wanted.seed,
        floors=wanted.floors,
        labels=put("labels", wanted.labels) if wanted.labels else None,
        together=wanted.together or None,
        fixed=put("fixed", fixed) if fixed else None,
        families=read_families(put("families", wanted.families)) if wanted.families else None,
    )


def _listed(fixed: GivenFile | Sequence[str] | None) -> GivenFile | None:
    """Ids of questions as a file."""
    if fixed is None or isinstance(fixed, GivenFile):
        return fixed
    return GivenFile("questions.csv", list_of_ids(fixed))


def _families(folder: Path, given: GivenFile | None) -> Mapping[str, str] | None:
    return None if given is None else read_families(written(folder / "families", [given])[0])
