"""A pass over the library: one kind of machine work on every material that has not had it, resumable, failures kept."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from typing import Any, Generic, TypeVar

from sqlmodel import Session, col, select

from core.content import MediaRef, Modality
from core.executor import map_units
from core.grading import FailedOutcome, Failure, FailureKind, Outcome
from core.ids import Clock, utc_now
from core.progress import progress
from curation.materials import chunked
from warehouse.blobs import DamagedBlob, MissingBlob
from warehouse.runs import open_run
from warehouse.tables import Material, MaterialState, MaterialWork
from warehouse.workspace import Workspace

R = TypeVar("R")

MAKER_CHARACTERS_MAX = 256
"""As `MaterialWork.maker` is declared: PostgreSQL takes no more."""


@dataclass(frozen=True)
class Work(Generic[R]):
    """A kind of machine work.

    Args:
        name: What is done, as 'transcribe'.
        maker: Fingerprint of what does it: the models' `name@version` and whatever else changes the outcome. Work by
            another maker is done anew. A long one is kept shortened.
        modalities: Which materials it is for.
        make: Given a material's reference and the bytes of its working copy, what comes out; called in a worker, so
            it must be picklable and its models be loaded once a process. A `FailedOutcome` or an `InterplayError` it
            raises is a failure of that material alone.
        make_many: Where a model is quicker on many at once: given what `make` gave for up to `batch` materials, what
            comes out of each, in their order; called in this process. Where it fails, each is tried alone.
        batch: How many it is given at once; they are stored in one transaction.
        reads: Whether `make` needs the bytes; else it is given none.
        prepare: Called once before the first material, and not when there is none: loads the model, so that one which
            is not there is one mistake and not a failure of every material.
        replaces: Whether what it makes stands in place of what other makers made: their marks go, so that they can do
            it anew.
        store: Writes what came out, in the transaction that marks the work as done; returns the few facts to keep
            with the mark (a JSON object).
        label: What the progress bar says.
    """

    name: str
    maker: str
    modalities: frozenset[Modality]
    make: Callable[[MediaRef, bytes], Any]
    store: Callable[[Session, Material, R, str], Mapping[str, Any]]
    label: str
    make_many: Callable[[Sequence[Any]], Sequence[R]] | None = None
    batch: int = 1
    reads: bool = True
    prepare: Callable[[], None] | None = None
    replaces: bool = False


@dataclass(frozen=True)
class Which:
    """Which materials: those with these ids, all that are kept when None; with `again` also those that had it."""

    material_ids: Sequence[str] | None = None
    again: bool = False


@dataclass
class PassReport:
    """What became of every material; `failures` are texts by the material's sha256."""

    done: int = 0
    known: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    run_id: str | None = None

    @property
    def counts(self) -> dict[str, int]:
        """How many were done now, were done before, and failed."""
        return {"done": self.done, "known": self.known, "failed": len(self.failures)}

    def document(self, dry_run: bool) -> dict[str, Any]:
        """For programs."""
        return {"dry_run": dry_run, "run_id": self.run_id, "counts": self.counts, "failures": self.failures}


@dataclass(frozen=True)
class _Unit:
    material_id: str
    ref: MediaRef


@dataclass(frozen=True)
class _Make:
    """Reads the bytes and does the work, in a worker."""

    workspace_blobs: Any
    make: Callable[[MediaRef, bytes], Any]
    reads: bool

    def __call__(self, unit: _Unit) -> Any:
        if not self.reads:
            return self.make(unit.ref, b"")
        try:
            data = self.workspace_blobs.get(unit.ref.sha256)
        except (MissingBlob, DamagedBlob) as error:
            raise FailedOutcome(Failure(kind=FailureKind.BAD_INPUT, message=str(error))) from error
        return self.make(unit.ref, data)


def run_pass(
    workspace: Workspace,
    command: str,
    work: Work[R],
    which: Which = Which(),
    *,
    settings: Mapping[str, Any] | None = None,
    workers: int = 1,
    dry_run: bool = False,
    clock: Clock = utc_now,
) -> PassReport:
    """Do one kind of work on all materials that have not had it by this maker.

    What one material's work made, and the mark that it is done, enter in one transaction: this can stop at any moment,
    and the same call does what is missing. What failed is marked with why, and tried again by the next call.

    Args:
        workspace: The opened project.
        command: Of the run.
        work: What to do.
        which: On which materials.
        settings: What the run is to remember beside the maker.
        workers: Units at work at once; models take memory, so it is not the project's by default.
        dry_run: Only count.
        clock: For the rows' times.
    """
    work = replace(work, maker=shortened(work.maker, MAKER_CHARACTERS_MAX))
    units, known = _pending(workspace, work, which)
    report = PassReport(known=known)
    if dry_run or not units:
        report.done = len(units)
        return report
    if work.prepare is not None:
        work.prepare()
    remembered = {"work": work.name, "maker": work.maker, **(settings or {})}
    with open_run(workspace.database, command, remembered, clock=clock) as run, progress(work.label, len(units)) as bar:
        report.run_id = run.id
        # One worker stays in this process: its models are loaded once, and nothing is pickled.
        backend = workspace.project.settings.executor
        made = map_units(_Make(workspace.blobs, work.make, work.reads), units, backend=backend, workers=workers)
        while batch := list(islice(made, work.batch)):
            # Before the transaction, which no model may hold open; and in one order, so that two processes wait for
            # one another's rows instead of locking each other up.
            finished = sorted(_finished(work, batch), key=lambda one: one[0].material_id)
            with workspace.database.session() as session:
                for unit, outcome in finished:
                    _store(session, work, unit, outcome, run.id, report, clock)
            bar.advance(len(batch))
        run.summary = report.counts
    return report


def _pending(workspace: Workspace, work: Work[R], which: Which) -> tuple[list[_Unit], int]:
    modalities = sorted(modality.value for modality in work.modalities)
    query = select(Material.id, Material.media).where(
        col(Material.modality).in_(modalities), Material.state == MaterialState.KEPT
    )
    with workspace.database.reading() as session:
        rows: list[tuple[str, Mapping[str, Any]]] = []
        if which.material_ids is None:
            rows += session.exec(query.order_by(col(Material.id))).all()
        else:
            for ids in chunked(which.material_ids):
                rows += session.exec(query.where(col(Material.id).in_(ids)).order_by(col(Material.id))).all()
        done = set() if which.again else _done(session, work)
    units = [_Unit(id_, MediaRef.model_validate(media)) for id_, media in rows if id_ not in done]
    return units, len(rows) - len(units)


def _done(session: Session, work: Work[R]) -> set[str]:
    mine = (MaterialWork.work == work.name, MaterialWork.maker == work.maker, col(MaterialWork.failure).is_(None))
    return set(session.exec(select(MaterialWork.material_id).where(*mine)))


def _finished(work: Work[R], batch: list[tuple[_Unit, Outcome[Any]]]) -> Iterator[tuple[_Unit, Outcome[R]]]:
    """What becomes of a batch, by `make_many` if there is one; failures of `make` stay as they are."""
    made = [(unit, outcome) for unit, outcome in batch if outcome.failure is None]
    yield from (one for one in batch if one[1].failure is not None)
    if work.make_many is None or not made:
        yield from made
        return
    # The executor knows how to turn whatever a library raises into a failure.
    ((_, together),) = map_units(work.make_many, [[outcome.unwrap() for _, outcome in made]], backend="threads")
    if together.failure is None:
        yield from zip((unit for unit, _ in made), map(_outcome, together.unwrap()), strict=True)
    elif len(made) == 1:
        yield made[0][0], Outcome(failure=together.failure)
    else:
        for one in made:
            yield from _finished(work, [one])


def _outcome(value: R) -> Outcome[R]:
    return Outcome(value=value)


def _store(
    session: Session,
    work: Work[R],
    unit: _Unit,
    outcome: Outcome[R],
    run_id: str,
    report: PassReport,
    clock: Clock,
) -> None:
    material = session.get(Material, unit.material_id, with_for_update=True)
    if material is None or material.state == MaterialState.WITHDRAWN:
        return  # taken back while it was worked on
    same = (
        MaterialWork.material_id == unit.material_id,
        MaterialWork.work == work.name,
        MaterialWork.maker == work.maker,
    )
    mark = session.exec(select(MaterialWork).where(*same)).first()
    if mark is None:
        mark = MaterialWork(material_id=unit.material_id, work=work.name, maker=work.maker, run_id=run_id)
    mark.run_id, mark.created_at = run_id, clock()
    if outcome.failure is not None:
        mark.failure, mark.result = f"{outcome.failure.kind.value}: {outcome.failure.last_line}", {}
        report.failures[unit.ref.sha256] = mark.failure
    else:
        mark.failure = None
        mark.result = dict(work.store(session, material, outcome.unwrap(), run_id))
        report.done += 1
        if work.replaces:
            others = (*same[:2], MaterialWork.maker != work.maker)
            for other in session.exec(select(MaterialWork).where(*others)):
                session.delete(other)
    session.add(mark)


def shortened(fingerprint: str, characters_max: int) -> str:
    """A fingerprint as it is where it fits; else its beginning and a digest of the whole."""
    if len(fingerprint) <= characters_max:
        return fingerprint
    return f"{fingerprint[: characters_max - 9]}#{sha256(fingerprint.encode()).hexdigest()[:8]}"


def works_of(session: Session, material_ids: Iterable[str], name: str) -> dict[str, MaterialWork]:
    """The latest finished work of one kind, by material; those without are left out."""
    found: dict[str, MaterialWork] = {}
    for ids in chunked(material_ids):
        query = select(MaterialWork).where(
            col(MaterialWork.material_id).in_(ids), MaterialWork.work == name, col(MaterialWork.failure).is_(None)
        )
        for mark in session.exec(query.order_by(col(MaterialWork.created_at), col(MaterialWork.id))):
            found[mark.material_id] = mark
    return found
