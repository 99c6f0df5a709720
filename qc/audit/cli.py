"""`interplay qc audit`, `audit-next`, `audit-answer` and `certificate`."""

import getpass
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from core.content import Modality
from qc.audit.alarm import Estimate, model_estimates
from qc.audit.bounds import interval
from qc.audit.certificate import Certified, certify
from qc.audit.findings import ASKED, Said, next_audit, record_finding, shown_items, taken_item
from qc.audit.sample import draw_sample, latest_sample, sample_size
from qc.audit.sheet import read_sheet, write_sheet
from qc.audit.subjects import Subject, open_subject
from warehouse.audits import AuditCounts, counts_of, samples_of
from warehouse.command_line import DryRunOption, JsonOption, ProjectOption, by_option, show
from warehouse.exporters.base import copy_media, file_name
from warehouse.people import Role, actor_named, get_user
from warehouse.tables import AuditAnswer, AuditSample, ItemRevision
from warehouse.workspace import Workspace, open_workspace

app = typer.Typer(no_args_is_help=True, help="Audit finished sets, and certify releases.", rich_markup_mode=None)

SubjectArgument = Annotated[
    str, typer.Argument(help="A release (NAME VERSION or NAME@VERSION), an exported folder, or a file of questions.")
]
VersionArgument = Annotated[str | None, typer.Argument(help="Release version.", show_default=False)]
AuditorOption = Annotated[str, by_option(Role.REVIEWER, Role.MAINTAINER)]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option("--column", help="In a file: what a part of a question is called, as question=NAME; repeat."),
]


@app.command()
def audit(
    subject: SubjectArgument,
    version: VersionArgument = None,
    size: Annotated[int | None, typer.Option(min=1, help="How many items to draw; more than before extends.")] = None,
    share: Annotated[float | None, typer.Option(min=0, max=1, help="Instead: which share of all items.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Draws other items; 1 when it is not said.")] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", help="Your user name: who fills in the sheet, or draws; else, to draw, your login name."),
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option("--sheet", dir_okay=False, help="Write what is open into this new CSV file.")
    ] = None,
    findings: Annotated[
        Path | None, typer.Option("--findings", exists=True, dir_okay=False, help="Store what this CSV file says.")
    ] = None,
    column: ColumnOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Draw a random sample for people to look at, and show what they found; a second call draws nothing new.

    Without --size and --share: of a release the smallest sample that can certify it (149 items), else 15%.

    Example: interplay qc audit zoo 1.0.0 --by max
    """
    if size is not None and share is not None:
        raise typer.BadParameter("say --size or --share")
    if findings is not None and by is None:
        raise typer.BadParameter("--findings needs --by")
    if sheet is not None and not sheet.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {sheet.parent} to write {sheet.name} into; make it first")
    with open_workspace(project) as workspace:
        opened = open_subject(workspace, subject, version, _columns(column))
        known = _known_size(workspace, opened) if size is None and share is None else None
        wanted = sample_size(opened, size, share) if known is None else known
        if dry_run:
            document = {"subject": opened.name, "population": len(opened.members), "size": wanted}
            what = "would be drawn" if known is None else "are drawn already"
            show(document, [f"{opened.name}: {wanted} of {len(opened.members)} items {what}"], as_json)
            return
        who = by or getpass.getuser()
        if by or known is None:  # who only looks at what is drawn needs no name
            who = actor_named(workspace.database, who)
        sample = draw_sample(workspace.database, opened, wanted, who, seed)
        with workspace.database.session() as session:
            stored = read_sheet(session, sample, findings, by) if findings and by else []
        with workspace.database.reading() as session:
            written = write_sheet(session, sample, sheet, by) if sheet else None
            counts = counts_of(session, sample)
    lines = _audit_lines(sample, counts)
    lines += [f"{findings}: {len(stored)} findings stored"] if findings else []
    if sheet:
        lines += [f"{sheet}: {written} open items; fill in yes, no, unsure / 是, 否, 不确定:"]
        lines += [f"  {name}: {words.en} {words.zh}" for name, words in ASKED.items()]
    show(_audit_document(sample, counts) | {"stored": len(stored), "written": written}, lines, as_json)


@app.command("audit-next")
def audit_next(
    subject: SubjectArgument,
    by: AuditorOption,
    version: VersionArgument = None,
    media: Annotated[
        Path | None,
        typer.Option("--media", file_okay=False, help="Copy an item's media from the project to this folder."),
    ] = None,
    column: ColumnOption = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Take the next item of an audit; it is yours for half an hour, or until you answer.

    Example: interplay qc audit-next zoo 1.0.0 --by rita
    """
    with open_workspace(project) as workspace:
        opened = open_subject(workspace, subject, version, _columns(column))
        with workspace.database.session() as session:
            sample = latest_sample(session, opened)
            taken = next_audit(session, sample, get_user(session, by))
            if taken is None:
                show({"item": None}, [f"{opened.name}: nothing is left for {by}"], as_json)
                return
            item, assignment = taken
            shown = shown_items(session, sample, item.qid)[item.qid]
            revision = session.get(ItemRevision, item.revision_id) if media and item.revision_id else None
        if media and revision is not None:
            parts = revision.as_question().media
            for part in parts:
                copy_media(workspace.blobs, part.media, media)
            shown = {**shown, "media": [f"{part.name} {media / file_name(part.media)}" for part in parts]}
    asked = {name: words.model_dump() for name, words in ASKED.items()}
    document = {"item": item.qid, **shown, "asked": asked, "until": assignment.expires_at.isoformat()}
    lines = [item.qid, *_item_lines(shown), *(f"{words.en} {words.zh}" for words in ASKED.values())]
    show(document, lines, as_json)


@app.command("audit-answer")
def audit_answer(
    subject: SubjectArgument,
    by: AuditorOption,
    answer_right: Annotated[AuditAnswer, typer.Option(help="Is the key right?")],
    needs_all: Annotated[AuditAnswer, typer.Option(help="Does one need all of its modalities to answer?")],
    version: VersionArgument = None,
    without: Annotated[
        list[Modality] | None, typer.Option("--without", help="You can answer without this modality; repeat.")
    ] = None,
    comment: Annotated[str | None, typer.Option(help="Words for the authors.")] = None,
    column: ColumnOption = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Say what you found of the item that you took.

    Example: interplay qc audit-answer zoo 1.0.0 --by rita --answer-right yes --needs-all no --without image
    """
    said = Said(answer_right, needs_all, frozenset(without or ()), comment)
    with open_workspace(project) as workspace:
        opened = open_subject(workspace, subject, version, _columns(column))
        with workspace.database.session() as session:
            sample = latest_sample(session, opened)
            user = get_user(session, by)
            item = taken_item(session, sample, user)
            finding = record_finding(session, sample, item.qid, user, said)
            pending = counts_of(session, sample).pending
    document = {"item": item.qid, "finding": finding.model_dump(mode="json"), "pending": pending}
    show(document, [f"{item.qid}: stored; {pending} items are pending"], as_json)


@app.command()
def certificate(
    name: Annotated[str, typer.Argument(help="Release name.")],
    version: Annotated[str, typer.Argument(help="Release version.")],
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show what the audit of a release proves, beside what models answer with something missing.

    Exit code 1 when nothing is certified, or when models contradict the certificate. A sealed manifest never changes:
    the certificate of a release that was sealed before its audit stands here alone.

    Example: interplay qc certificate zoo 1.0.0
    """
    with open_workspace(project) as workspace:
        certified = certify(workspace, name, version)
        bound = certified.certificate.bound if certified.certificate else None
        estimates = model_estimates(workspace, name, version, bound)
    conflicts = [one for one in estimates if one.is_conflict]
    document = {
        "certificate": certified.certificate.model_dump(mode="json") if certified.certificate else None,
        "why_not": certified.why_not,
        "short_of_target": certified.short_of_target,
        "counts": _counts_document(certified.counts) if certified.counts else None,
        "models": [{**vars(one), "conflict": one.is_conflict} for one in estimates],
        "alarm": bool(conflicts),
    }
    show(document, _certificate_lines(certified, estimates, conflicts), as_json)
    if conflicts or certified.certificate is None:
        raise typer.Exit(1)


def _columns(said: Sequence[str] | None) -> dict[str, str]:
    pairs = [one.partition("=") for one in said or ()]
    if any(not (part and equals and name) for part, equals, name in pairs):
        raise typer.BadParameter("write --column as question=NAME")
    return {part: name for part, _, name in pairs}


def _known_size(workspace: Workspace, subject: Subject) -> int | None:
    with workspace.database.reading() as session:
        found = samples_of(session, subject.sha256)
    return found[-1].size if found else None


def _audit_document(sample: AuditSample, counts: AuditCounts) -> dict[str, Any]:
    about = ("subject", "subject_sha256", "population", "size", "seed")
    return {name: getattr(sample, name) for name in about} | _counts_document(counts)


def _counts_document(counts: AuditCounts) -> dict[str, Any]:
    return {
        "audited": counts.audited,
        "pending": counts.pending,
        "right_answers": _share(counts.answers_right, counts.audited),
        "needs_every_modality": _share(counts.needs_all, counts.audited),
        "solvable_without_some": _share(counts.failures, counts.audited) | {"unsure": counts.unsure},
    }


def _share(part: int, whole: int) -> dict[str, Any]:
    low, high = interval(part, whole) if whole else (None, None)
    return {"count": part, "share": part / whole if whole else None, "low": low, "high": high}


def _audit_lines(sample: AuditSample, counts: AuditCounts) -> list[str]:
    shares = {
        "right answers": counts.answers_right,
        "need every modality": counts.needs_all,
        "solvable without some modality, or perhaps": counts.failures,
    }
    lines = [f"{sample.subject}: {sample.size} of {sample.population} items drawn with seed {sample.seed}"]
    lines += [f"  {title}: {_told(part, counts.audited)}" for title, part in shares.items()]
    return [*lines, f"  pending: {counts.pending}"]


def _told(part: int, whole: int) -> str:
    if not whole:
        return "undefined, no item is audited"
    low, high = interval(part, whole)
    return f"{100 * part / whole:.1f}% [{100 * low:.1f}, {100 * high:.1f}] ({part}/{whole})"


def _item_lines(shown: Mapping[str, Any]) -> list[str]:
    lines = [shown["question"], *(f"  - {choice}" for choice in shown["choices"])]
    return [*lines, f"key / 答案: {shown['answer']}", *(f"media / 媒体: {one}" for one in shown["media"])]


def _certificate_lines(certified: Certified, estimates: Sequence[Estimate], conflicts: Sequence[Estimate]) -> list[str]:
    standing = certified.certificate
    lines = [standing.text if standing else "no certificate"]
    lines += [one for one in (certified.why_not, certified.short_of_target) if one]
    if not estimates:
        return [*lines, "no evaluated model was asked with something missing"]
    lines.append(
        "solved with something missing, guessing taken off, with 95% interval; p of the certificate, after Holm:"
    )
    lines += [f"  {_estimate_line(one)}" for one in estimates]
    lines += [
        f"alarm: {one.model} solves more under {one.condition} than the certificate leaves; audit more items, and look "
        "at those that it answers"
        for one in conflicts
    ]
    return lines


def _estimate_line(one: Estimate) -> str:
    if one.solvable is None or one.low is None or one.high is None:
        return f"{one.model}, {one.condition}: undefined, {one.reason}"
    p = "" if one.p_holm is None else f", p {'<.001' if one.p_holm < 0.001 else f'{one.p_holm:.3f}'}"
    interval_text = f"[{100 * one.low:.1f}, {100 * one.high:.1f}]"
    return f"{one.model}, {one.condition}: {100 * one.solvable:.1f}% {interval_text} of {one.items} items{p}"
