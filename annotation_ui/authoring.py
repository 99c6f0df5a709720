"""What authors do with items, for the studio and the command line alike."""

from dataclasses import dataclass, field
from pathlib import Path

from sqlmodel import Session, col, select

from annotation_ui.item_files import BadRecord, Record, WrittenItem, as_draft, read_records
from core.errors import InterplayError
from core.question import Question
from qc.checks import Finding, Subject, run_checks
from qc.checks.authoring import fingerprint_text
from warehouse.items import Draft, create_item, find_item, revise_item
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

    A record with a known name and another question is a new revision; with the same question it is nothing. An item
    with findings that are errors stays a draft.

    Raises:
        UnreadableItemFile: The file as a whole cannot be read.
    """
    records = list(read_records(file))
    with workspace.database.session() as session:
        others = other_questions(session)
    if dry_run:
        importer = _Importer(file.parent, author, None, submit, others)
        for record in records:
            with workspace.database.session() as session:
                importer.take(session, record)
                session.rollback()
        return importer.report
    settings = {"file": file.name, "author": author, "submit": submit}
    with open_run(workspace.database, "item import", settings) as run:
        importer = _Importer(file.parent, author, run.id, submit, others)
        for record in records:
            with workspace.database.session() as session:
                importer.take(session, record)
        run.summary = {name: len(names) for name, names in vars(importer.report).items()}
    return importer.report


def other_questions(session: Session) -> dict[str, str]:
    """Current questions of all items by name, in the form that the checks compare."""
    query = select(Item, ItemRevision).join(ItemRevision, col(Item.current_revision_id) == col(ItemRevision.id))
    return {item.name: fingerprint_text(revision.as_question()) for item, revision in session.exec(query)}


def check_question(question: Question, name: str, others: dict[str, str]) -> list[Finding]:
    """All findings of the automatic checks on a question, against the other items of the project."""
    return run_checks(Subject(question, {other: text for other, text in others.items() if other != name}))


@dataclass
class _Importer:
    folder: Path
    author: str
    run_id: str | None
    submit: bool
    others: dict[str, str]
    report: ImportReport = field(default_factory=ImportReport)

    def take(self, session: Session, record: Record) -> None:
        try:
            written, draft = as_draft(session, record, self.folder, self.author, self.run_id)
        except BadRecord as error:
            self.report.refused.append(str(error))
            return
        findings = check_question(draft.question, written.name, self.others)
        blocking = [f"{finding.code}: {finding.message}" for finding in findings if finding.severity == "error"]
        warnings = [f"{finding.code}: {finding.message}" for finding in findings if finding.severity == "warning"]
        self.report.warnings.extend(f"{record.where}: {warning}" for warning in warnings)
        try:
            self._store(session, written, draft, submit=self.submit and not blocking)
        except InterplayError as error:
            session.rollback()
            self.report.refused.append(f"{record.where}: {error}")
            return
        if blocking and self.submit:
            self.report.drafts.append(f"{record.where}: {'; '.join(blocking)}")
        self.others[written.name] = fingerprint_text(draft.question)

    def _store(self, session: Session, written: WrittenItem, draft: Draft, *, submit: bool) -> None:
        known = find_item(session, written.name)
        if known is None:
            item, _ = create_item(session, written.name, draft, written.twin_group)
            self.report.created.append(written.name)
        else:
            item = known
            made = revise_item(session, item, item.version, draft)
            (self.report.unchanged if made is None else self.report.revised).append(written.name)
        # What was returned goes back to review as a new revision, never as the same question once more.
        if submit and item.state is ItemState.DRAFT:
            advance(session, item.id, item.version, Advance(Action.SUBMIT, self.author))
