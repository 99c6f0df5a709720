"""Import of a public question set: records to drafts, media examined and stored, a transaction for each batch."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select

from core.executor import map_units
from core.ids import Clock, utc_now
from core.media.guard import Guard
from core.media.source import Source
from core.progress import progress
from core.question import Question
from curation.entries import origin_of
from curation.questions.build import build
from curation.questions.importers import QUESTION_FORMATS
from curation.questions.importers.base import BadQuestionFile, BadRecord, CopyOf, Draft, Label, QuestionFormat, Row
from curation.questions.media import Bench, Stored, StoreRefused, source_of
from curation.questions.plan import Identity, ImportReport, Wanted, identity_of, known_set, open_set, tables_of
from curation.questions.rows import read_rows
from curation.questions.sets import COMMAND, check_unused
from warehouse.runs import open_run
from warehouse.tables import PublicQuestion
from warehouse.workspace import Workspace

BATCH_QUESTIONS = 64
BATCH_BYTES = 64 << 20
"""Of media that records themselves hold: with one record more, what a batch keeps in memory."""
REMEMBERED_FILES = 1024
"""How many media files' examinations are kept: questions on one film stand close together."""

Built = tuple[Draft, Question, dict[str, Label]]


def import_questions(
    workspace: Workspace, wanted: Wanted, dry_run: bool = False, clock: Clock = utc_now
) -> ImportReport:
    """Bring a public question set in.

    Batches of questions enter in one transaction each, after their media are stored; so this can stop at any moment,
    and the same call does what is missing. A record that is no question is counted with its reason and stops nothing.
    A dry run examines everything and writes nothing.

    Raises:
        UnknownName: There is no such format.
        BadQuestionFile: The files are no question set of the format, or cannot be read on.
        ChangedSet: The set was imported from other files, or with another mapping.
        SetInUse: It is to be replaced, and something rests on it.
        OSError: The store cannot be written.
    """
    entry = QUESTION_FORMATS[wanted.format]
    layout = entry.load().with_mapping(wanted.mapping)
    files = tables_of(wanted.source, layout)
    importing = _Import(workspace, wanted, layout, files, identity_of(wanted, files), clock)
    importing.find_set()
    if dry_run:
        importing.run(None)
        return importing.report
    settings = {
        "set": wanted.name,
        "format": entry.fingerprint,
        "source": origin_of(wanted.source),
        "splits": list(wanted.splits),
        "limit": wanted.limit,
        **importing.identity.parts,
    }
    with open_run(workspace.database, COMMAND, settings, clock=clock) as run:
        try:
            importing.run(run.id)
        finally:
            run.summary = importing.report.summary
    return importing.report


class _Import:
    """One call of `import_questions`; without a run id it is dry."""

    def __init__(
        self,
        workspace: Workspace,
        wanted: Wanted,
        layout: QuestionFormat,
        files: Sequence[Path],
        identity: Identity,
        clock: Clock,
    ) -> None:
        self._workspace, self._wanted, self._layout, self._files = workspace, wanted, layout, files
        self.identity, self._clock = identity, clock
        self._limits = workspace.project.media_limits
        self._workers = workspace.project.workers
        source = wanted.source
        self._folder = wanted.media or (source if source.is_dir() else source.parent)
        self._seen: set[str] = set()
        self._remembered: OrderedDict[Path, Stored | BadRecord] = OrderedDict()
        self._in_dry_run: dict[tuple[str, str], Stored | BadRecord] = {}
        self._bench: Bench | None = None
        self._run_id: str | None = None
        self._set_id: str | None = None
        self.report = ImportReport(wanted.name)

    def find_set(self) -> None:
        """Look for the set; what cannot be is told before anything is examined."""
        with self._workspace.database.reading() as session:
            if self._wanted.replace:
                check_unused(session, self._wanted.name)
            else:
                self._set_id = known_set(session, self._wanted.name, self.identity)

    def run(self, run_id: str | None) -> None:
        """Take everything."""
        self._run_id = self.report.run_id = run_id
        blobs = self._workspace.blobs if run_id is not None else None
        with Guard(self._workers, self._limits) as guard:
            self._bench = Bench(guard, self._limits, blobs)
            for batch in self._batches():
                self._take(batch)
                if self._is_full():
                    break

    def _is_full(self) -> bool:
        limit = self._wanted.limit
        return limit is not None and self.report.new + self.report.known >= limit

    def _batches(self) -> Iterator[list[Draft]]:
        batch: list[Draft] = []
        held_bytes = 0
        for draft in self._drafts():
            batch.append(draft)
            held_bytes += draft.inline_bytes
            if len(batch) >= self._room() or held_bytes >= BATCH_BYTES:
                yield batch
                batch, held_bytes = [], 0
        if batch:
            yield batch

    def _room(self) -> int:
        """How many questions the next batch takes: not more than are still wanted."""
        limit = self._wanted.limit
        return BATCH_QUESTIONS if limit is None else min(BATCH_QUESTIONS, limit - self.report.new - self.report.known)

    def _drafts(self) -> Iterator[Draft]:
        sizes = [file.stat().st_size for file in self._files]
        is_checked = False
        with progress("Importing (bytes of the tables)", sum(sizes)) as ticker:
            for place, file in enumerate(self._files):
                for row in read_rows(file):
                    for record in self._layout.records(row):
                        if not is_checked and not isinstance(record.data, BadRecord):
                            self._check_layout(file, record.data)
                            is_checked = True
                        if (draft := self._draft(record)) is not None:
                            yield draft
                    ticker.advance(max(0, sum(sizes[:place]) + row.read_bytes - ticker.done))
        if not is_checked:
            why = next((f" ({one[0]})" for one in self.report.examples.values()), "")
            raise BadQuestionFile(f"{self._wanted.source} holds no question in format {self._wanted.format}{why}")

    def _check_layout(self, file: Path, data: Mapping[str, object]) -> None:
        """The first record tells whether the files have the format's fields at all."""
        missing = [name for name in self._layout.needs if name not in data]
        if missing:
            there = origin_of(Path(", ".join(map(str, list(data)[:12]))))[:300]
            raise BadQuestionFile(
                f"{file} is not in format {self._wanted.format}: no field {missing[0]!r}, only {there}"
            )

    def _draft(self, record: Row) -> Draft | None:
        try:
            if isinstance(record.data, BadRecord):
                raise record.data
            draft = self._layout.draft(record.where, record.data)
            if self._wanted.splits and str(draft.labels.get("split")) not in self._wanted.splits:
                self.report.other_splits += 1
                return None
            if draft.qid in self._seen:
                raise BadRecord("repeated_id", f"the id {draft.qid!r} stands there a second time")
            self._seen.add(draft.qid)
            return draft
        except CopyOf:
            self.report.copies += 1
        except BadRecord as error:
            self.report.reject(record.where, error)
        return None

    def _take(self, batch: Sequence[Draft]) -> None:
        """Examine the media of what is new in a batch, and store its questions."""
        known = self._known([draft.qid for draft in batch])
        new = [draft for draft in batch if draft.qid not in known]
        self.report.known += len(batch) - len(new)
        sources: dict[tuple[str, str], Source] = {}
        ready: list[Draft] = []
        for draft in new:
            try:
                sources |= {(draft.qid, g.name): source_of(g, self._folder) for g in draft.given if g.same_as is None}
                ready.append(draft)
            except BadRecord as error:
                self.report.reject(draft.where, error)
        examined = self._examine(list(sources.values()))
        found = {place: examined[source] for place, source in sources.items()}
        if self._run_id is None:
            self._in_dry_run |= found
        built: list[Built] = []
        for draft in ready:
            try:
                built.append((draft, *build(draft, self._media_of(draft, found))))
            except BadRecord as error:
                self.report.reject(draft.where, error)
        self._store(built)

    def _known(self, qids: Sequence[str]) -> set[str]:
        if self._set_id is None:
            return set()
        query = select(PublicQuestion.qid).where(PublicQuestion.set_id == self._set_id)
        with self._workspace.database.reading() as session:
            return set(session.exec(query.where(col(PublicQuestion.qid).in_(list(qids)))))

    def _examine(self, sources: Sequence[Source]) -> dict[Source, Stored | BadRecord]:
        found: dict[Source, Stored | BadRecord] = {}
        for source in sources:
            if isinstance(source, Path) and source in self._remembered:
                found[source] = self._remembered[source]
        pending = [source for source in dict.fromkeys(sources) if source not in found]
        if not pending:
            return found
        assert self._bench is not None
        for source, outcome in map_units(self._bench, pending, backend="threads", workers=self._workers):
            done = outcome.unwrap()
            if isinstance(done, StoreRefused):
                raise done.error
            found[source] = done
            self.report.media += isinstance(done, Stored)
            if isinstance(source, Path):
                self._remembered[source] = done
        while len(self._remembered) > REMEMBERED_FILES:
            self._remembered.popitem(last=False)
        return found

    def _media_of(self, draft: Draft, found: Mapping[tuple[str, str], Stored | BadRecord]) -> dict[str, Stored]:
        media: dict[str, Stored] = {}
        for given in draft.given:
            if given.same_as is None:
                stored = found[draft.qid, given.name]
            else:
                place = (given.same_as, given.name)
                stored = found.get(place) or self._in_dry_run.get(place) or self._of_question(*place)
            if isinstance(stored, BadRecord):
                raise stored
            media[given.name] = stored
        return media

    def _of_question(self, qid: str, name: str) -> Stored:
        """The medium of a question that is in the set already."""
        with self._workspace.database.reading() as session:
            query = select(PublicQuestion).where(PublicQuestion.set_id == self._set_id, PublicQuestion.qid == qid)
            held = session.exec(query).first()
        shown = [part.media for part in held.as_question().media if part.name == name] if held else []
        if not shown:
            if qid not in self._seen and not qid.isdecimal():
                told = f"its {name} is {qid[:64]!r}, which is neither base64 nor the id of a question before it"
                raise BadRecord("broken_base64", told)
            raise BadRecord("missing_media", f"its {name} is that of question {qid[:64]!r}, which is not taken")
        return Stored(shown[0])

    def _store(self, built: Sequence[Built]) -> None:
        if self._run_id is not None and built:
            try:
                self._insert(built, self._run_id)
            except IntegrityError:
                # Another process took some of the same questions at the same moment.
                self.find_set()
                known = self._known([draft.qid for draft, _, _ in built])
                self.report.known += len(known)
                built = [one for one in built if one[0].qid not in known]
                self._insert(built, self._run_id)
        self.report.new += len(built)
        self.report.defaults += sum(draft.task_type_by == "default" for draft, _, _ in built)

    def _insert(self, built: Sequence[Built], run_id: str) -> None:
        with self._workspace.database.session() as session:
            set_id = self._set_id or open_set(session, self._wanted, self.identity, run_id, self._clock)
            for draft, question, labels in built:
                session.add(
                    PublicQuestion(
                        set_id=set_id,
                        qid=draft.qid,
                        question=question.model_dump(mode="json"),
                        content_hash=question.content_hash,
                        labels=labels,
                        created_at=self._clock(),
                    )
                )
        self._set_id = set_id
