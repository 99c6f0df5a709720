"""What authors do with items, for the studio and the command line alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, select

from annotation_ui.item_files import BadRecord, Record, WrittenItem, as_draft, read_records
from core.errors import InterplayError
from core.progress import progress
from core.question import Question
from qc.checks import Finding, Subject, run_checks
from qc.checks.asked import Asked
from qc.checks.evidence import evidence_of
from warehouse.items import Draft, create_item, current_revision, find_item, revise_item, says_the_same
from warehouse.lifecycle import Action, Advance, advance
from warehouse.runs import open_run
from warehouse.tables import Item, ItemRevision, ItemState
from warehouse.workspace import Workspace


@dataclass
class ImportReport:
    """What became of each record: names of items made, revised or left as they are; what was refused, with why.

    `drafts` are items that were to be submitted, but have findings that block it.
    """

    created: list[str] = field(default_factory=list)
    revised: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def import_items(
    workspace: Workspace, file: Path, author: str, *, submit: bool = True, dry_run: bool = False
) -> ImportReport:
    """Bring an item file in: each record alone, in its own transaction; what is wrong with one stops no other.

    A record with a known name and another question is a new revision; with the same question it is nothing. A new item
    with findings that are errors stays a draft; one that left that state keeps the question it has.

    Raises:
        UnreadableItemFile: The file as a whole cannot be read.
    """
    records = list(read_records(file))
    with workspace.database.reading() as session:
        others = other_questions(session)
    if dry_run:
        return _Importer(workspace, file.parent, author, None, submit, others).take_all(records, keep=False)
    settings = {"file": file.name, "author": author, "submit": submit}
    with open_run(workspace.database, "item import", settings) as run:
        report = _Importer(workspace, file.parent, author, run.id, submit, others).take_all(records, keep=True)
        run.summary = {name: len(names) for name, names in vars(report).items()}
    return report


def other_questions(session: Session) -> Asked:
    """Current questions of all items."""
    query = select(Item, ItemRevision).join(ItemRevision, col(Item.current_revision_id) == col(ItemRevision.id))
    return Asked((item.name, revision.as_question()) for item, revision in session.exec(query))


def check_question(question: Question, notes: Mapping[str, Any], name: str, others: Asked) -> list[Finding]:
    """All findings of the automatic checks on a question with its author's notes, against the project's other items."""
    return run_checks(Subject(question, others.beside(name, question), evidence=evidence_of(notes)))


class HasFindings(InterplayError):
    """A new question for an item under review that the checks would stop."""


@dataclass
class _Importer:
    workspace: Workspace
    folder: Path
    author: str
    run_id: str | None
    submit: bool
    others: Asked
    report: ImportReport = field(default_factory=ImportReport)
    seen: dict[str, str] = field(default_factory=dict)

    def take_all(self, records: Sequence[Record], *, keep: bool) -> ImportReport:
        """Each record in a transaction of its own, which is rolled back unless it is to be kept."""
        with progress("importing items", len(records)) as ticker:
            for record in records:
                with self.workspace.database.session() as session:
                    self._take(session, record)
                    if not keep:
                        session.rollback()
                ticker.advance()
        return self.report

    def _take(self, session: Session, record: Record) -> None:
        try:
            written, draft = as_draft(session, record, self.folder, self.author, self.run_id)
            first = self.seen.setdefault(written.name, record.where)
            if first != record.where:
                raise BadRecord(f"{record.where}: the name {written.name!r} is that of {first} too; rename one of them")
        except BadRecord as error:
            self.report.refused.append(str(error))
            return
        findings = check_question(draft.question, draft.notes, written.name, self.others)
        blocking = [f"{finding.code}: {finding.message}" for finding in findings if finding.severity == "error"]
        warnings = [f"{finding.code}: {finding.message}" for finding in findings if finding.severity == "warning"]
        try:
            warnings += self._store(session, written, draft, blocking)
        except InterplayError as error:
            session.rollback()
            self.report.refused.append(f"{record.where}: {error}")
            return
        self.report.warnings.extend(f"{record.where}: {warning}" for warning in warnings)
        self.others.put(written.name, draft.question)
        if blocking and self.submit and self._is_draft(session, written.name):
            self.report.drafts.append(f"{record.where}: {'; '.join(blocking)}")

    def _store(self, session: Session, written: WrittenItem, draft: Draft, blocking: list[str]) -> list[str]:
        """Make, revise or leave the item; returns what the author should know of it."""
        item = find_item(session, written.name)
        if item is None:
            item, _ = create_item(session, written.name, draft, written.twin_group)
            self.report.created.append(written.name)
            told = []
        else:
            told = self._revise(session, item, written, draft, blocking)
        # What was returned goes back to review as a new revision, never as the same question once more.
        if self.submit and not blocking and item.state is ItemState.DRAFT:
            advance(session, item.id, item.version, Advance(Action.SUBMIT, self.author))
        return told

    def _revise(
        self, session: Session, item: Item, written: WrittenItem, draft: Draft, blocking: list[str]
    ) -> list[str]:
        told = []
        if written.twin_group != item.twin_group:
            told.append(f"its twin group stays {item.twin_group}; an item keeps the one it was made with")
        before = current_revision(session, item)
        if says_the_same(item, before, draft):
            self.report.unchanged.append(written.name)
            if dict(before.notes) != dict(draft.notes):
                told.append("its evidence has changed and its question has not; the evidence stays as it was")
            return told
        if blocking and item.state is not ItemState.DRAFT:
            raise HasFindings(f"item {item.name!r} is {item.state.value} and keeps its question; {'; '.join(blocking)}")
        revise_item(session, item, item.version, draft)
        self.report.revised.append(written.name)
        return told

    def _is_draft(self, session: Session, name: str) -> bool:
        item = find_item(session, name)
        return item is not None and item.state is ItemState.DRAFT
