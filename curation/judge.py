"""Judging materials: with what people say of them when they come in, and again when filters or knowledge changed."""

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from sqlmodel import Session, col, or_, select

from core.content import MediaRef, Modality
from core.errors import InterplayError
from core.executor import map_units
from core.grading import Failure, FailureKind, Outcome
from core.ids import Clock, utc_now
from core.media.guard import Guard
from core.media.limits import MediaLimits
from core.progress import Ticker, progress
from core.settings import Settings
from curation.entries import Entry
from curation.examine import Examination, Examined
from curation.filters.catalogue import ANY, Judgement, filters_of, judge, judge_described, worst_drop
from curation.filters.described import Described, Rules, Said
from curation.filters.thresholds import Thresholds, thresholds_of
from curation.filters.verdict import Drop
from curation.filters.views import view_of
from curation.materials import BY_PERSON, chunked
from warehouse import events
from warehouse.blobs import BlobStore
from warehouse.caption_search import Search, find_captions
from warehouse.runs import open_run
from warehouse.tables import CaptionState, Event, Material, MaterialSource, MaterialState, MaterialWork, Segment
from warehouse.workspace import Workspace

COMMAND = "material judge"
WORK = "judge"
OVERRULE = "overrule"


class CopyUnseen(InterplayError):
    """A filter wants the bytes of a working copy that could not be decoded."""


@dataclass(frozen=True)
class Change:
    """A material that is kept or dropped otherwise than before; reasons are None where it is kept."""

    sha256: str
    before: str
    after: str
    before_reason: str | None
    reason: str | None
    measure: str | None


@dataclass
class JudgeReport:
    """What became of every material; `failures` are texts by the material's sha256.

    Of a material whose working copy cannot be looked at, what is known without it is judged all the same; it is one of
    the failed, not of the judged.
    """

    judged: int = 0
    known: int = 0
    changes: list[Change] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    run_id: str | None = None

    @property
    def counts(self) -> dict[str, int]:
        """How many were judged now or before, are kept again, dropped now, dropped for another reason, and failed."""
        kept = [change for change in self.changes if change.after == MaterialState.KEPT]
        dropped = [change for change in self.changes if change.after != change.before == MaterialState.KEPT]
        return {
            "judged": self.judged,
            "known": self.known,
            "now_kept": len(kept),
            "now_dropped": len(dropped),
            "other_reason": len(self.changes) - len(kept) - len(dropped),
            "failed": len(self.failures),
        }


@dataclass(frozen=True)
class _Unit:
    """A material to judge; `media` and `words` say what about it is not judged as it stands."""

    material_id: str
    sha256: str
    ref: MediaRef
    described: Described
    media: bool
    words: bool


@dataclass(frozen=True)
class Looker:
    """Decodes working copies in guarded processes and asks the filters of their modality."""

    guard: Guard
    blobs: BlobStore
    limits: MediaLimits
    thresholds: Thresholds

    def __call__(self, ref: MediaRef) -> Judgement:
        """What they say.

        Raises:
            MissingBlob, DamagedBlob: There is no such copy.
            MediaError: It cannot be decoded.
        """
        return self.guard.run(judge_copy, self.blobs.get(ref.sha256), ref, self.limits, self.thresholds)


def judge_copy(copy: bytes, ref: MediaRef, limits: MediaLimits, thresholds: Thresholds) -> Judgement:
    """What the filters of its modality say of a working copy; for a guarded process.

    Raises:
        MediaError: It cannot be decoded.
    """
    return judge(view_of(copy, ref, limits, thresholds), ref.modality, thresholds)


def rules_of(settings: Settings) -> Rules:
    """What the project takes."""
    return Rules(tuple(sorted(set(settings.languages))), tuple(sorted(set(settings.allowed_licences))))


def judged_with_claims(
    examination: Examination, entries: Sequence[Entry], rules: Rules, blobs: BlobStore, thresholds: Thresholds
) -> Examination:
    """An examination of a file, judged also by what people say of it."""
    claims = [entry.claims for entry in {entry.origin: entry for entry in entries}.values()]
    licences = tuple(claim.licence for claim in claims)
    shown = next((claim.caption for claim in claims if claim.caption), None)
    either = next((text for claim in claims if (text := claim.caption or claim.audio_content)), None)
    heard = next((claim.audio_content for claim in claims if claim.audio_content), None)
    kind = next((claim.audio_type for claim in claims if claim.audio_type), None)

    def judged(examined: Examined, content: str | None) -> Examined:
        described = Described(
            ref=examined.ref,
            licences=licences,
            audio_type=kind if examined.ref.modality == Modality.AUDIO else None,
            audio_content=content,
            rules=rules,
            read=partial(blobs.get, examined.ref.sha256),
        )
        measures = examined.measures | judge_described(described, thresholds).measures
        drop = worst_drop(measures)
        return replace(
            examined, measures=measures, drop_reason=drop.reason if drop else None, drop_measure=_in_words(drop)
        )

    if examination.sound is None:
        return replace(examination, main=judged(examination.main, either))
    return replace(examination, main=judged(examination.main, shown), sound=judged(examination.sound, heard))


def judge_again(
    workspace: Workspace,
    *,
    among: Collection[str] | None = None,
    again: bool = False,
    dry_run: bool = False,
    thresholds: Thresholds | None = None,
    clock: Clock = utc_now,
) -> JudgeReport:
    """Judge all kept and dropped materials about which filters, thresholds or what is known have changed.

    What a person decided stands, whatever filters say. Each material is judged in one transaction: this can stop at
    any moment, and the same call does what is missing.

    Args:
        workspace: The opened project.
        among: sha256 of those that are looked at, with the sounds of films; all when None.
        again: Also those that are judged as they stand.
        dry_run: Judge, and write nothing.
        thresholds: Of the filters; else the project's.
        clock: For the rows' times.
    """
    thresholds = thresholds or thresholds_of(workspace.project.settings.filter_thresholds)
    report = JudgeReport()
    with workspace.database.reading() as session:
        query = select(Material.id).where(col(Material.state) != MaterialState.WITHDRAWN)
        if among is None:
            ids = list(session.exec(query.order_by(col(Material.id))))
        else:
            ids = sorted({id_ for some in chunked(among) for id_ in session.exec(query.where(_is_one_of(some)))})
    rules = rules_of(workspace.project.settings)
    # Ids alone: what is known of a whole library does not fit into memory, and is read again when it is judged.
    pending = [unit.material_id for some in chunked(ids) for unit in _units(workspace, some, rules, thresholds, again)]
    report.known = len(ids) - len(pending)
    if dry_run or not pending:
        _Judging(workspace, None, thresholds, clock, report).run(pending, rules, again)
        return report
    remembered = {"again": again, "rules": asdict(rules), "thresholds": asdict(thresholds)}
    with open_run(workspace.database, COMMAND, remembered, clock=clock) as run:
        report.run_id = run.id
        _Judging(workspace, run.id, thresholds, clock, report).run(pending, rules, again)
        run.summary = report.counts
    return report


def _is_one_of(hashes: Sequence[str]) -> Any:
    films = select(Material.id).where(col(Material.sha256).in_(hashes))
    return or_(col(Material.sha256).in_(hashes), col(Material.parent_id).in_(films))


class _Judging:
    """One call of `judge_again`; without a run id it is dry."""

    def __init__(
        self, workspace: Workspace, run_id: str | None, thresholds: Thresholds, clock: Clock, report: JudgeReport
    ) -> None:
        self._workspace, self._run_id, self._thresholds = workspace, run_id, thresholds
        self._clock, self._report = clock, report

    def run(self, ids: Sequence[str], rules: Rules, again: bool) -> None:
        project = self._workspace.project
        limits, workers = project.media_limits, min(project.workers, len(ids)) or 1
        # As in ingest: the guard's processes are the workers, threads wait for them.
        with progress("Judging", len(ids)) as ticker, Guard(workers, limits) as guard:
            looker = Looker(guard, self._workspace.blobs, limits, self._thresholds)
            for some in chunked(ids):
                units = list(_units(self._workspace, some, rules, self._thresholds, again))
                ticker.advance(len(some) - len(units))  # judged by another process meanwhile
                for unit in units:
                    if not unit.media:
                        self._finish(unit, None)
                        ticker.advance()
                self._look([unit for unit in units if unit.media], looker, workers, ticker)

    def _look(self, units: Sequence[_Unit], looker: Looker, workers: int, ticker: Ticker) -> None:
        with closing(_looked(units, looker, workers)) as looked:
            for unit, outcome in looked:
                if outcome.failure is None:
                    self._finish(unit, outcome.unwrap())
                else:
                    self._finish(unit, None, _said(outcome.failure))
                ticker.advance()

    def _finish(self, unit: _Unit, looked: Judgement | None, unseen: str | None = None) -> None:
        """Take over what filters say; `unseen` tells why the working copy could not be looked at."""
        new = dict(looked.measures) if looked else {}
        prefixes = [f"{unit.ref.modality.value}-"] if looked else []
        if unit.words:
            new |= judge_described(_blind(unit.described, unseen), self._thresholds).measures
            prefixes.append(f"{ANY}-")
        failures = [f"{name}: {facts['failure']}" for name, facts in sorted(new.items()) if _failed(facts)]
        with self._session() as session:
            material = session.get(Material, unit.material_id, with_for_update=self._run_id is not None)
            if material is None or material.state == MaterialState.WITHDRAWN:
                return  # taken back meanwhile
            if unseen is not None or failures:
                self._report.failures[unit.sha256] = "; ".join([unseen] if unseen is not None else failures)
            self._report.judged += unseen is None
            held = {key: value for key, value in material.measures.items() if not key.startswith(tuple(prefixes))}
            if unseen is not None and failures:
                # A filter that could not see has taken nothing back: what it said stands until it can.
                new = {name: facts for name, facts in new.items() if name != "known" and not _failed(facts)}
                held = dict(material.measures)
            self._apply(session, material, held | new)
            if self._run_id is not None and (looked or unseen is not None):
                self._mark(session, unit, unseen)

    def _apply(self, session: Session, material: Material, measures: dict[str, Any]) -> None:
        """Take measures over, and what follows from them; a person's decision stays."""
        drop = worst_drop(measures)
        before = (material.state, material.drop_reason, material.drop_measure)
        after = (
            MaterialState.DROPPED if drop else MaterialState.KEPT,
            drop.reason if drop else None,
            _in_words(drop),
        )
        if _is_decided(session, material):
            after = before
        if before[:2] != after[:2]:
            told = (before[0].value, after[0].value, before[1], after[1], after[2])
            self._report.changes.append(Change(material.sha256, *told))
        if self._run_id is None:
            return
        material.measures = measures
        session.add(material)
        if before == after:
            return  # events tell of changes, and what a person looks at is no other material than before
        material.state, material.drop_reason, material.drop_measure = after
        material.version += 1
        detail: dict[str, Any] = {"version": material.version, "thresholds": self._thresholds.version}
        detail |= {"before": before[0].value, "before_reason": before[1], "before_measure": before[2]}
        detail |= {"after": after[0].value, "reason": after[1], "measure": after[2]}
        events.record(session, f"run:{self._run_id}", "material", material.id, "judge", self._clock, **detail)

    def _mark(self, session: Session, unit: _Unit, unseen: str | None) -> None:
        """Note that a working copy could not be looked at, or forget it; the next call tries again."""
        marks = select(MaterialWork).where(MaterialWork.material_id == unit.material_id, MaterialWork.work == WORK)
        for mark in session.exec(marks):
            session.delete(mark)
        session.flush()
        if unseen is not None and self._run_id is not None:
            # The maker says which filters it is about.
            maker = f"{unit.ref.modality.value}-filters@{self._thresholds.version}"
            mark = MaterialWork(material_id=unit.material_id, work=WORK, maker=maker, run_id=self._run_id)
            mark.failure, mark.created_at = unseen, self._clock()
            session.add(mark)

    def _session(self) -> Any:
        database = self._workspace.database
        return database.reading() if self._run_id is None else database.session()


def _looked(units: Sequence[_Unit], looker: Looker, workers: int) -> Generator[tuple[_Unit, Outcome[Judgement]]]:
    yield from map_units(lambda unit: looker(unit.ref), units, backend="threads", workers=workers)


def _said(failure: Failure) -> str:
    is_told = failure.kind == FailureKind.BAD_INPUT
    return failure.last_line if is_told else f"{failure.kind.value}: {failure.last_line}"


def _blind(described: Described, unseen: str | None) -> Described:
    """What is known of a material; filters that want to read a copy that no guarded process could decode fail."""

    def read() -> bytes:
        raise CopyUnseen(f"its working copy could not be looked at: {unseen}")

    return described if unseen is None else replace(described, read=read)


def _units(
    workspace: Workspace, ids: Sequence[str], rules: Rules, thresholds: Thresholds, again: bool
) -> Iterator[_Unit]:
    """Of some materials those that are not judged as they stand."""
    with workspace.database.reading() as session:
        materials = session.exec(select(Material).where(col(Material.id).in_(ids)).order_by(col(Material.id))).all()
        described = _described(session, materials, rules, workspace.blobs)
    for material in materials:
        one, measures = described[material.id], material.measures
        media = again or not _is_fresh(measures, material.modality, thresholds)
        failed = any(_failed(facts) for facts in measures.values())
        words = again or failed or not _is_fresh(measures, ANY, thresholds) or measures.get("known") != one.fingerprint
        if media or words:
            yield _Unit(material.id, material.sha256, one.ref, one, media, words)


def _is_fresh(measures: Mapping[str, Any], kind: str, thresholds: Thresholds) -> bool:
    held = {name for name in measures if name.startswith(f"{kind}-")}
    return measures.get("thresholds") == thresholds.version and held == {name for name, _ in filters_of(kind)}


def _failed(facts: Any) -> bool:
    return isinstance(facts, Mapping) and "failure" in facts


def _described(session: Session, materials: Sequence[Material], rules: Rules, blobs: BlobStore) -> dict[str, Described]:
    """What the tables know of materials, by id."""
    ids = [material.id for material in materials]
    licences: dict[str, list[str | None]] = {id_: [] for id_ in ids}
    sources = select(MaterialSource).where(col(MaterialSource.material_id).in_(ids)).order_by(col(MaterialSource.id))
    for source in session.exec(sources):
        licences[source.material_id].append(source.licence)
    captions: dict[str, list[str]] = {id_: [] for id_ in ids}
    for caption in find_captions(session, Search(ids, states=[CaptionState.ACCEPTED])):
        captions[caption.material_id].append(caption.text)
    speech = _transcripts(session, ids)
    return {
        material.id: Described(
            ref=material.media_ref,
            licences=tuple(licences[material.id]),
            speech=tuple(speech[material.id]),
            audio_type=material.audio_type,
            audio_content=material.audio_content,
            captions=tuple(captions[material.id]),
            rules=rules,
            read=partial(blobs.get, material.media["sha256"]),
        )
        for material in materials
    }


def _transcripts(session: Session, ids: Sequence[str]) -> dict[str, list[Said]]:
    """Who says what in each material; there is one transcript, the newest."""
    found: dict[str, list[Said]] = {id_: [] for id_ in ids}
    query = select(Segment).where(col(Segment.material_id).in_(ids))
    for one in session.exec(query.order_by(col(Segment.start_s), col(Segment.end_s), col(Segment.id))):
        found[one.material_id].append(Said(one.end_s - one.start_s, one.language, one.text))
    return found


def _is_decided(session: Session, material: Material) -> bool:
    """Whether a person ever overruled the filters."""
    if material.drop_reason == BY_PERSON:
        return True
    said = (Event.subject_kind == "material", Event.subject_id == material.id, Event.action == OVERRULE)
    return session.exec(select(Event).where(*said).limit(1)).first() is not None


def _in_words(drop: Drop | None) -> str | None:
    return f"{drop.drop_class.value}: {drop.measure}" if drop else None
