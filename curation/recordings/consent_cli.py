"""`interplay consent ...`."""

from collections.abc import Collection
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from core.errors import InterplayError
from core.ids import utc_now
from curation.materials import HANDLE
from curation.recordings.agreements import (
    NewConsent,
    consent_named,
    get_text,
    give_consent,
    list_consents,
    list_texts,
    put_text,
)
from curation.recordings.withdrawal import WithdrawalReport, withdraw
from warehouse.command_line import ByOption, DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.consents import Scope
from warehouse.people import actor_named
from warehouse.release.licences import checked_licence, forbids_commerce, may_publish
from warehouse.tables import Consent, ConsentText
from warehouse.workspace import open_workspace

UNFINISHED = 1

app = typer.Typer(no_args_is_help=True, help="Note who agreed to what, and take it back.", rich_markup_mode=None)


class UnreadableText(InterplayError):
    """A file with the words of a consent that cannot be read."""


@app.command("text")
def text_command(
    by: ByOption,
    version: Annotated[str | None, typer.Argument(help="Of the words; without one all versions are listed.")] = None,
    en: Annotated[Path | None, typer.Option(help="File with the English words, to store them.")] = None,
    zh: Annotated[Path | None, typer.Option(help="File with the Chinese words, to store them.")] = None,
    licence: Annotated[
        str | None, typer.Option(help="Under which these words let recordings be published, as CC-BY-4.0.")
    ] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Store the words of a consent in both languages, or show those that are there.

    Words that somebody has agreed to never change.

    Example: interplay consent text 1.0 --en consent.en.txt --zh consent.zh.txt --licence CC-BY-4.0 --by mei
    """
    if (en is None) != (zh is None) or (en is not None and version is None):
        raise typer.BadParameter("to store words, give a version, --en and --zh")
    with open_workspace(project) as workspace:
        if version is not None and en is not None and zh is not None:
            allowed = workspace.project.settings.allowed_licences
            checked_licence(licence, allowed)
            texts = {"en": _read(en), "zh": _read(zh)}
            actor = actor_named(workspace.database, by)
            with workspace.database.session() as session:
                stored = put_text(session, version, texts, licence, actor)
            remarks = [f"remark: {one}" for one in _licence_remarks(licence, allowed)]
            show(_text_document(stored), [f"consent text {stored.version} is stored", *remarks], as_json)
            return
        with workspace.database.reading() as session:
            found = list_texts(session) if version is None else [get_text(session, version)]
    if version is None:
        rows = [[one.version, one.licence, f"{one.created_at:%Y-%m-%d}"] for one in found]
        show_table([_text_document(one) for one in found], ["version", "licence", "since"], rows, as_json)
        return
    show(_text_document(found[0]), [found[0].texts["en"], "", found[0].texts["zh"]], as_json)


@app.command("give")
def give_command(
    contributor: Annotated[str, typer.Argument(help="Pseudonym of who agrees.")],
    text: Annotated[str, typer.Option("--text", help="Version of the words that they agree to.")],
    scope: Annotated[list[Scope], typer.Option("--scope", help="What they agree to; repeat.")],
    by: ByOption,
    expires: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Day from which it holds no more (UTC).")
    ] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Note that somebody agreed; a recording needs the scope voice, a release the scope publish.

    Example: interplay consent give speaker-07 --text 1.0 --scope voice --scope publish --expires 2030-01-01 --by mei
    """
    ends = expires.replace(tzinfo=UTC) if expires else None
    with open_workspace(project) as workspace, workspace.database.session() as session:
        actor = actor_named(workspace.database, by)
        consent = give_consent(session, NewConsent(contributor, text, scope, ends), actor)
    show(_document(consent, contributor), [f"consent {consent.id} of {contributor}"], as_json)


@app.command("list")
def list_command(
    contributor: Annotated[str | None, typer.Option(help="Only those of this pseudonym.")] = None,
    expired: Annotated[bool, typer.Option("--expired", help="Only those that have ended by themselves.")] = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List consents, oldest first.

    Example: interplay consent list --expired
    """
    now = utc_now()
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        found = list_consents(session, contributor, now if expired else None)
    rows = [
        [one.id, who.pseudonym, one.text_version, ", ".join(one.scope), _state(one, now), _day(one.expires_at)]
        for one, who in found
    ]
    document = [_document(one, who.pseudonym) | {"state": _state(one, now)} for one, who in found]
    show_table(document, ["id", "contributor", "text", "scope", "state", "expires"], rows, as_json)


@app.command("withdraw")
def withdraw_command(
    consent: Annotated[str, typer.Argument(help="Id of the consent, or how it begins.")],
    reason: Annotated[str, typer.Option(help="Why, or how it was asked for; kept for the record.")],
    by: ByOption,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Take back all that was given under a consent: for good. Stopped half-way, the same command goes on.

    Exit code 1 when something is left to do, because others were at work.

    Example: interplay consent withdraw 01998c0e-5b1f-7a60-8d39-3f2c4ad0b9e7 --reason "asked by mail" --by mei --dry-run
    """
    with open_workspace(project) as workspace:
        actor = actor_named(workspace.database, by)
        with workspace.database.reading() as session:
            consent_id = consent_named(session, consent)
        report = withdraw(workspace, consent_id, reason, actor, dry_run=dry_run)
    show(asdict(report), _withdrawal_lines(report), as_json)
    if report.unfinished:
        raise typer.Exit(UNFINISHED)


def _withdrawal_lines(report: WithdrawalReport) -> list[str]:
    touched = report.touched
    lines = [f"recording {id_}" for id_ in touched["recordings"]]
    lines += [line for one in touched["going"] for line in _going_lines(one)]
    lines += [f"item {one['name']}: {_item_line(one)}" for one in touched["items"]]
    for one in touched["releases"]:
        lines.append(f"release {one['name']} {one['version']} ({one['state']}) holds {', '.join(one['items'])}")
        lines += [f"  export to replace: {export['folder']} ({export['format']})" for export in one["exports"]]
        if one["state"] == "built":
            lines.append("  discard it and build it again")
    lines += [f"game pack {name}: make it again" for name in touched["packs"]]
    lines += [f"subset {name}: select it again" for name in touched["subsets"]]
    lines += [f"look at material {sha256}: it shows or sounds the same" for sha256 in touched["look_alikes"]]
    lines += [f"kept: {one.what} ({one.rows}): {one.why}" for one in report.kept]
    lines += [f"not finished: {why}; give the same command again" for why in report.unfinished]
    return [*lines, _last_line(report)]


def _licence_remarks(licence: str | None, allowed: Collection[str]) -> list[str]:
    if licence is None:
        return ["no licence is said, so no release can hold recordings under these words; give one with --licence"]
    if not may_publish(licence, allowed):
        return [f"{licence} is not known to allow publishing, so recordings under it are dropped and in no release"]
    return [f"{licence} forbids commercial use, also of a release"] if forbids_commerce(licence) else []


def _going_lines(material: dict[str, Any]) -> list[str]:
    came = f" ({', '.join(material['origins'])})" if material["origins"] else ""
    told = f"{material['sha256'][:HANDLE]}: {material['modality']}, {material['state']}: {material['why']}{came}"
    return [f"material {told}", *(f"  somebody else brought it too: {_brought(one)}" for one in material["elsewhere"])]


def _brought(source: dict[str, Any]) -> str:
    said = [f"{name} {source[name]}" for name in ("author", "source") if source[name]]
    return f"{source['origin']} ({', '.join(said) or 'who is not said'})"


def _item_line(item: dict[str, Any]) -> str:
    if item["step"]:
        return f"{item['state']}, {item['step']}"
    return f"stays {item['state']}" if item["now"] else f"stays {item['state']}: only an earlier revision shows it"


def _last_line(report: WithdrawalReport) -> str:
    if report.dry_run:
        counts = f"{len(report.touched['recordings'])} recordings and {len(report.touched['materials'])} materials"
        return f"would take back {counts}; nothing was written"
    facts = sum(report.facts.values())
    rows = sum(report.forgotten.values())
    verb = "withdrawn" if report.now else "was withdrawn before; what was left is done"
    return f"{verb}: {report.blobs} files, {facts} facts and {rows} rows of words are deleted or blanked"


def _document(consent: Consent, pseudonym: str) -> dict[str, Any]:
    return consent.model_dump(mode="json", exclude={"contributor_id"}) | {"contributor": pseudonym}


def _text_document(text: ConsentText) -> dict[str, Any]:
    return text.model_dump(mode="json")


def _state(consent: Consent, now: datetime) -> str:
    if consent.withdrawn_at is not None:
        return "withdrawn"
    return "expired" if consent.expires_at is not None and consent.expires_at <= now else "standing"


def _day(moment: datetime | None) -> str | None:
    return f"{moment:%Y-%m-%d}" if moment else None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableText(f"{file}: cannot be read as UTF-8 text ({error}); check the path and the file") from error
