"""Ingest: from files and URLs to materials. Ask what is known, fetch and examine the rest, store bytes, then rows."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import defer
from sqlmodel import col, select

from core.errors import InterplayError
from core.executor import map_units
from core.grading import Failure, Outcome
from core.ids import Clock, utc_now
from core.media.guard import Guard
from core.progress import Ticker, progress
from curation.dedupe.link import link_duplicates, looks_cache
from curation.downloads import downloads_folder, fetch_links, in_turn
from curation.entries import Entry, Link, Rejected, Wanted, printable
from curation.examine import Examination
from curation.fetch import FetchLimits
from curation.filters.thresholds import Thresholds, thresholds_of
from curation.filters.verdict import DropReason
from curation.judge import judge_again, judged_with_claims, rules_of
from curation.materials import chunked
from curation.shelve import Shelver, shelve, state_of
from curation.standing import ConsentOver, TakenBack, check_bytes, check_consents, copies_of, discard
from curation.workbench import Job, Prepared, StoreRefused, Unit, Workbench, identify, misnamed
from warehouse.runs import open_run
from warehouse.scratch import scratch_folder
from warehouse.tables import Material, MaterialSource, MaterialState
from warehouse.workspace import Workspace

COMMAND = "material ingest"
PORTION = 64
"""Fetched files on the disk at once."""
# All known materials of a call are held at once, and those of films and long sounds are large.
_LOOKS_LEFT_OUT = defer(Material.looks, raiseload=True)  # type: ignore[arg-type]
T = TypeVar("T")


class NothingToIngest(InterplayError):
    """No file was named, or there is none in the folders that were."""


@dataclass(frozen=True)
class Taken:
    """A file that is in the library now (in a dry run: would be); `judged_again` when that was changed by this call."""

    origin: str
    sha256: str
    is_new: bool
    state: str
    drop_reason: str | None = None
    drop_measure: str | None = None
    judged_again: bool = False


@dataclass
class IngestReport:
    """What became of every file. `sounds` came out of new videos and are materials of their own.

    `to_fetch` are the URLs that a dry run would fetch.
    """

    taken: list[Taken] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    to_fetch: list[str] = field(default_factory=list)
    sounds: int = 0
    duplicate_links: int = 0
    run_id: str | None = None

    @property
    def counts(self) -> dict[str, int]:
        """How many files are new, known, dropped (of the new ones), failed, unfetched; sounds; new duplicate links."""
        new = [one for one in self.taken if one.is_new]
        return {
            "new": len(new),
            "known": len(self.taken) - len(new),
            "dropped": sum(one.state == MaterialState.DROPPED for one in new),
            "failed": len(self.rejected),
            "to_fetch": len(self.to_fetch),
            "sounds": self.sounds,
            "duplicate_links": self.duplicate_links,
        }


def ingest(
    workspace: Workspace,
    wanted: Sequence[Wanted],
    rejected: Sequence[Rejected] = (),
    called_with: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    again: bool = False,
    thresholds: Thresholds | None = None,
    clock: Clock = utc_now,
) -> IngestReport:
    """Bring files into the library.

    Each file enters in one transaction, after its bytes are stored; so this can stop at any moment, and the same call
    does what is missing. A dry run examines all files, fetches no URL and writes nothing.

    Args:
        workspace: The opened project.
        wanted: Files to take, and URLs of files.
        rejected: Files already found not to be taken; they are noted with the others.
        called_with: What the run is to remember of how it was called.
        dry_run: Write nothing.
        again: Fetch URLs anew from which there are materials; else these are known.
        thresholds: Of the filters; else the project's.
        clock: For the rows' times.

    Raises:
        NothingToIngest: There are no files at all.
        UnknownName, ConsentOver: A file claims a consent that does not exist, was withdrawn or has ended.
        OSError: The store cannot be written.
    """
    if not wanted and not rejected:
        raise NothingToIngest(
            "there is no file to ingest; name files, URLs, or folders that hold some (hidden ones are skipped)"
        )
    thresholds = thresholds or thresholds_of(workspace.project.settings.filter_thresholds)
    with workspace.database.reading() as session:
        check_consents(session, wanted, clock())
    if dry_run:
        return _Ingest(workspace, None, thresholds, clock).run(wanted, rejected, again)
    remembered = {**(called_with or {}), "thresholds": asdict(thresholds)}
    with open_run(workspace.database, COMMAND, remembered, clock=clock) as run:
        report = _Ingest(workspace, run.id, thresholds, clock).run(wanted, rejected, again)
        report.duplicate_links = link_duplicates(workspace.database, run.id, looks_cache(workspace.project), clock)
        _judge_known(workspace, report, thresholds, clock)
        run.summary = report.counts
    return report


def _judge_known(workspace: Workspace, report: IngestReport, thresholds: Thresholds, clock: Clock) -> None:
    """Judge again what was dropped for its licence, and is known: this call may have said a better one."""
    dropped = {one.sha256 for one in report.taken if not one.is_new and one.drop_reason == DropReason.LICENCE}
    if not dropped:
        return
    judged = judge_again(workspace, among=sorted(dropped), thresholds=thresholds, clock=clock)
    changed = {change.sha256: change for change in judged.changes}
    for place, one in enumerate(report.taken):
        if (change := changed.get(one.sha256)) is not None and not one.is_new:
            report.taken[place] = replace(
                one,
                state=change.after,
                drop_reason=change.reason,
                drop_measure=change.measure,
                judged_again=True,
            )


class _Ingest:
    """One call of `ingest`; without a run id it is dry."""

    def __init__(self, workspace: Workspace, run_id: str | None, thresholds: Thresholds, clock: Clock) -> None:
        self._workspace, self._run_id, self._thresholds, self._clock = workspace, run_id, thresholds, clock
        self._limits = workspace.project.media_limits
        self._report = IngestReport(run_id=run_id)

    def run(self, wanted: Sequence[Wanted], rejected: Sequence[Rejected], again: bool) -> IngestReport:
        for one in rejected:
            self._reject(one)
        entries = [one for one in wanted if isinstance(one, Entry)]
        links = [one for one in wanted if isinstance(one, Link)]
        links = links if again else self._unknown(links)
        if self._run_id is None:
            self._report.to_fetch = [link.origin for link in links]
            links = []
        workers = min(self._workspace.project.workers, len(entries) + len(links)) or 1
        with progress("Ingesting", len(entries) + len(links)) as ticker, self._bench(workers) as bench:
            # Sounds that belong to a film come after it, and find it there.
            for has_film in (False, True):
                self._take([one for one in entries if (one.claims.sound_of is not None) is has_film], bench, ticker)
            # What is fetched lies on the disk until it is examined, so only some of it at a time; of each host some.
            links = in_turn(links)
            for portion in (links[at : at + PORTION] for at in range(0, len(links), PORTION)):
                with downloads_folder(self._workspace.project.root) as folder:
                    fetched = self._fetched(portion, folder)
                    ticker.advance(len(portion) - len(fetched))
                    self._take(fetched, bench, ticker)
        return self._report

    def _take(self, entries: Sequence[Entry], bench: Workbench, ticker: Ticker) -> None:
        jobs = self._identify(entries)
        settled = self._settled([job.sha256 for job in jobs])
        for job in jobs:
            if job.sha256 in settled:
                self._add_known(job, settled[job.sha256])
        pending = [job for job in jobs if job.sha256 not in settled]
        ticker.advance(len(entries) - sum(len(job.entries) for job in pending))
        # An error in here ends the workers at once, not when the error's traceback is forgotten.
        with closing(self._prepare(pending, bench)) as prepared:
            for job, outcome in prepared:
                self._finish(job, outcome)
                ticker.advance(len(job.entries))

    def _unknown(self, links: Sequence[Link]) -> list[Link]:
        """The links from which there is no material yet; those of the others get what is newly said of them."""
        known: dict[str, Material] = {}
        with self._workspace.database.reading() as session:
            for chunk in chunked([link.origin for link in links]):
                query = select(MaterialSource.origin, Material).join(Material).options(_LOOKS_LEFT_OUT)
                query = query.where(col(MaterialSource.origin).in_(chunk)).order_by(col(MaterialSource.id))
                known |= dict(session.exec(query).all())
        known = {origin: material for origin, material in known.items() if self._is_whole(material)}
        for link in links:
            if link.origin in known:
                self._add_sources(known[link.origin].sha256, [link], known[link.origin])
        return [link for link in links if link.origin not in known]

    def _fetched(self, links: Sequence[Link], folder: Path) -> list[Entry]:
        settings = self._workspace.project.settings
        entries = []
        limits = FetchLimits(max_bytes=settings.max_file_bytes)
        with closing(fetch_links(links, folder, limits, settings.fetch_allowed_hosts)) as fetched:
            for link, outcome in fetched:
                match outcome.value if outcome.failure is None else _as_rejected(link.origin, outcome.failure):
                    case StoreRefused() as refused:
                        raise OSError(refused.number, refused.message, refused.place)
                    case Rejected() as rejected:
                        self._reject(rejected)
                    case Entry() as entry:
                        entries.append(entry)
        order = {link.origin: place for place, link in enumerate(links)}
        return sorted(entries, key=lambda entry: order[entry.origin])

    def _identify(self, entries: Sequence[Entry]) -> list[Job]:
        """Files by their bytes and their names' endings, in the order of the first of each.

        One ending can be wrong about bytes about which another is right, so each kind of name is examined.
        """
        # Threads of this process: hashing lets others run, and these paths are this machine's.
        workers = self._workspace.project.workers
        digests = map_units(partial(identify, limits=self._limits), entries, backend="threads", workers=workers)
        found = {entry.origin: outcome.unwrap() for entry, outcome in digests}
        same: dict[tuple[str, str], list[Entry]] = {}
        for entry in entries:
            digest = found[entry.origin]
            if isinstance(digest, Rejected):
                self._reject(digest)
            else:
                same.setdefault((digest, entry.path.suffix.lower()), []).append(entry)
        return [Job(sha256, tuple(entries)) for (sha256, _), entries in same.items()]

    def _settled(self, digests: Sequence[str]) -> dict[str, Material]:
        """The materials of these bytes, but for those whose working copies are no longer in the store."""
        found: dict[str, Material] = {}
        with self._workspace.database.reading() as session:
            for chunk in chunked(digests):
                query = select(Material).where(col(Material.sha256).in_(chunk)).options(_LOOKS_LEFT_OUT)
                for material in session.exec(query):
                    found[material.sha256] = material
        return {sha256: material for sha256, material in found.items() if self._is_whole(material)}

    def _is_whole(self, material: Material) -> bool:
        sound = material.measures.get("sound", {})
        names = [material.media["sha256"], sound.get("copy", sound.get("sha256"))]
        is_stored = all(self._workspace.blobs.exists(name) for name in names if name)
        return is_stored or material.state == MaterialState.WITHDRAWN

    @contextmanager
    def _bench(self, workers: int) -> Iterator[Workbench]:
        project, is_dry = self._workspace.project, self._run_id is None
        seals = project.settings.originals == "sealed"
        bench = Workbench(
            limits=self._limits,
            thresholds=self._thresholds,
            blobs=None if is_dry else self._workspace.blobs,
            originals=self._workspace.originals if seals and not is_dry else None,
        )
        if project.settings.executor in ("ray", "dask"):
            yield bench
            return
        # The guard's processes are the local workers; threads wait for them, and store what they made.
        with Guard(workers, self._limits) as guard:
            yield replace(bench, guard=guard)

    def _prepare(self, jobs: Sequence[Job], bench: Workbench) -> Generator[tuple[Job, Outcome[Unit]]]:
        if jobs:
            project = self._workspace.project
            backend = "threads" if bench.guard else project.settings.executor
            with self._incoming(bench) as folder:
                work = replace(bench, incoming=folder)
                yield from map_units(work, jobs, backend=backend, workers=min(project.workers, len(jobs)))

    @contextmanager
    def _incoming(self, bench: Workbench) -> Iterator[Path | None]:
        """Where working copies are made: beside the blobs where these are local, so that storing is renaming."""
        beside = bench.blobs.incoming if bench.blobs is not None else None
        if beside is None and bench.guard is None:
            yield None  # machines of a cluster may have no disk in common
            return
        with scratch_folder(beside or self._workspace.project.root / "cache" / "incoming") as folder:
            yield folder

    def _finish(self, job: Job, outcome: Outcome[Unit]) -> None:
        unit = outcome.value if outcome.failure is None else _as_rejected(job.entries[0].origin, outcome.failure)
        match unit:
            case StoreRefused():
                raise OSError(unit.number, unit.message, unit.place)
            case Rejected():
                for entry in job.entries:
                    self._reject(replace(unit, origin=entry.origin))
            case Prepared():
                self._add_material(job, unit)

    def _add_material(self, job: Job, prepared: Prepared) -> None:
        rules, blobs = rules_of(self._workspace.project.settings), self._workspace.blobs
        examination = judged_with_claims(prepared.examination, job.entries, rules, blobs, self._thresholds)
        main, sound = examination.main, examination.sound
        state, is_new = state_of(main), True
        if self._run_id is not None:
            try:
                material, is_new = self._shelve(job.sha256, job.entries, examination, prepared.original_kept)
            except (ConsentOver, TakenBack) as error:
                # Taken back while it was examined. Its bytes are stored before its rows, so they go again.
                discard(self._workspace, copies_of(examination), [job.sha256])
                self._refuse(job.entries, error)
                return
            state = material.state
        self._report.sounds += bool(is_new and sound)
        for place, entry in enumerate(job.entries):
            first = is_new and place == 0
            self._report.taken.append(
                Taken(entry.origin, job.sha256, first, state.value, main.drop_reason, main.drop_measure)
            )

    def _add_known(self, job: Job, material: Material) -> None:
        """Add where known bytes come from, unless the name is one under which they would be refused as new."""
        refused = None if material.state == MaterialState.WITHDRAWN else misnamed(job, material, self._limits)
        if refused is None:
            self._add_sources(job.sha256, job.entries, material)
        else:
            for entry in job.entries:
                self._reject(replace(refused, origin=entry.origin))

    def _add_sources(self, sha256: str, entries: Sequence[Wanted], material: Material) -> None:
        try:
            if material.state == MaterialState.WITHDRAWN:
                raise TakenBack("who gave these bytes has withdrawn them; leave them out")
            if self._run_id is not None:
                self._shelve(sha256, entries, None, False)
        except (ConsentOver, TakenBack) as error:
            self._refuse(entries, error)
            return
        for entry in entries:
            self._report.taken.append(
                Taken(entry.origin, sha256, False, material.state.value, material.drop_reason, material.drop_measure)
            )

    def _shelve(
        self, sha256: str, entries: Sequence[Wanted], examination: Examination | None, original_kept: bool
    ) -> tuple[Material, bool]:
        def write(shelver: Shelver) -> tuple[Material, bool]:
            check_consents(shelver.session, entries, self._clock(), lock=True)
            check_bytes(shelver.session, sha256, examination)
            return shelve(shelver, sha256, entries, examination, original_kept)

        return self._transaction(write)

    def _refuse(self, entries: Sequence[Wanted], error: ConsentOver | TakenBack) -> None:
        for entry in entries:
            self._reject(Rejected(entry.origin, error.reason, str(error)))

    def _reject(self, rejected: Rejected) -> None:
        self._report.rejected.append(rejected)
        if self._run_id is not None:
            self._transaction(lambda shelver: shelver.reject(rejected))

    def _transaction(self, write: Callable[[Shelver], T]) -> T:
        """Write one file's rows; once more when another process wrote the same file's at the same moment."""
        assert self._run_id is not None
        try:
            with self._workspace.database.session() as session:
                return write(Shelver(session, self._run_id, self._clock))
        except IntegrityError:
            with self._workspace.database.session() as session:
                return write(Shelver(session, self._run_id, self._clock))


def _as_rejected(origin: str, failure: Failure) -> Rejected:
    return Rejected(origin, failure.kind.value, printable(failure.last_line))
