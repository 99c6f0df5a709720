"""Check a release, and seal it for good."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlmodel import Session, col, func, select

from core.errors import InterplayError
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.audits import content_sha256, standing_certificate
from warehouse.blobs import BlobStore
from warehouse.database import Database
from warehouse.lifecycle import Action, Advance, advance
from warehouse.release.checks import Finding, record_findings
from warehouse.release.manifest import NO_CERTIFICATE, Manifest, compose, manifest_damages
from warehouse.release.media_checks import MediaChecks, media_findings
from warehouse.release.records import Contents, Guard, contents_of, get_release
from warehouse.release.splits import item_groups
from warehouse.release.tombstones import tombstones_of
from warehouse.runs import open_run
from warehouse.tables import Item, ItemState, Release, ReleaseItem, ReleaseState, Verdict


class SealBlocked(InterplayError):
    """A release with findings; `findings` holds them all."""

    def __init__(self, name: str, version: str, findings: Sequence[Finding]) -> None:
        super().__init__(
            f"release {name} {version} cannot be sealed, {len(findings)} findings block it; "
            f"the first: {findings[0].line()}"
        )
        self.findings = list(findings)


@dataclass(frozen=True)
class SealOrder:
    """Which release to seal, who does it, and which licences, not on our list, they have read and allow.

    `guard` is asked once more in the transaction that seals: decoding before it takes long.
    """

    name: str
    version: str
    actor: str
    allowed_licences: Sequence[str] = ()
    media: MediaChecks = field(default_factory=MediaChecks)
    guard: Guard | None = None


@dataclass(frozen=True)
class Sealed:
    """A sealed release; `now` says whether this call sealed it."""

    release: Release
    now: bool


def check_release(database: Database, blobs: BlobStore, order: SealOrder, clock: Clock = utc_now) -> list[Finding]:
    """All that blocks sealing; writes nothing. A sealed release is looked at in the same way.

    Raises:
        UnknownName: There is no such release.
    """
    with database.reading() as session:
        contents = contents_of(session, get_release(session, order.name, order.version))
    findings = media_findings(contents, blobs, order.media)
    with database.reading() as session:
        found, _ = _weighed(session, contents, order, clock)
    return found + findings


def seal_release(database: Database, blobs: BlobStore, order: SealOrder, clock: Clock = utc_now) -> Sealed:
    """Seal a release: manifest, state, and the items' step to released, in one transaction. A second call does nothing.

    Raises:
        UnknownName: There is no such release.
        SealBlocked: Something blocks it.
    """
    with database.reading() as session:
        release = get_release(session, order.name, order.version)
        if release.state == ReleaseState.SEALED:
            return Sealed(release, now=False)
        contents = contents_of(session, release)
    settings = {"name": order.name, "version": order.version, "allowed_licences": sorted(order.allowed_licences)}
    with open_run(database, "release seal", settings, clock=clock) as run:
        # Decoding takes long, so it happens before the transaction; bytes under a sha256 do not change meanwhile.
        findings = media_findings(contents, blobs, order.media)
        with database.session() as session:
            sealed = _seal(session, blobs, order, findings, clock)
        run.summary = {"manifest_sha256": sealed.release.manifest_sha256, "items": len(contents.members)}
    return sealed


def _seal(session: Session, blobs: BlobStore, order: SealOrder, findings: Sequence[Finding], clock: Clock) -> Sealed:
    if order.guard is not None:
        order.guard(session)
    release = get_release(session, order.name, order.version)
    session.refresh(release, with_for_update=True)
    if release.state == ReleaseState.SEALED:
        return Sealed(release, now=False)
    contents = contents_of(session, release)
    found, manifest = _weighed(session, contents, order, clock)
    if found or findings:
        raise SealBlocked(order.name, order.version, [*found, *findings])
    assert manifest is not None
    release.manifest_sha256 = blobs.put(manifest.to_bytes())
    release.settings = {**release.settings, "allowed_licences": sorted(order.allowed_licences)}
    release.state, release.sealed_at = ReleaseState.SEALED, clock()
    step = Advance(Action.RELEASE, order.actor)
    for member in contents.members:
        advance(session, member.item.id, member.item.version, step, clock)
    events.record(
        session, order.actor, "release", release.id, "seal", clock,
        name=order.name, version=order.version, manifest_sha256=release.manifest_sha256,
        allowed_licences=sorted(order.allowed_licences),
    )  # fmt: skip
    return Sealed(release, now=True)


def _weighed(
    session: Session, contents: Contents, order: SealOrder, clock: Clock
) -> tuple[list[Finding], Manifest | None]:
    """Findings in the records, and the manifest when there are none."""
    verdicts = _verdicts(session, contents.release)
    groups = item_groups(session, contents.members)
    findings = record_findings(contents, verdicts, groups, order.allowed_licences, clock())
    if findings:
        return findings, None
    certificate = standing_certificate(session, content_sha256(one.revision.content_hash for one in contents.members))
    sentence = certificate.text if certificate else NO_CERTIFICATE
    tombstones = tombstones_of(session, contents.release, {member.item.name for member in contents.members})
    manifest = compose(contents, verdicts, _states(session), sentence, tombstones)
    damages = manifest_damages(json.loads(manifest.to_bytes()), "manifest")
    return [Finding(one.place, one.what, "report this as a bug of Interplay") for one in damages], manifest


def _verdicts(session: Session, release: Release) -> list[Verdict]:
    query = (
        select(Verdict)
        .join(ReleaseItem, col(ReleaseItem.revision_id) == col(Verdict.revision_id))
        .where(ReleaseItem.release_id == release.id)
        .order_by(col(Verdict.created_at), col(Verdict.id))
    )
    return list(session.exec(query))


def _states(session: Session) -> dict[ItemState, int]:
    counts = session.exec(select(Item.state, func.count()).group_by(col(Item.state)))
    return {ItemState(state): count for state, count in counts}
