"""What sealing a release comes to: its findings or its manifest, and a proof that they are still right a moment later.

Weighing ten thousand questions takes seconds, in which no write should have to wait; comparing its grounds does not.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Mapped
from sqlmodel import Session, col, func, select

from warehouse.audits import content_sha256, standing_certificate
from warehouse.consents import Scope, consent_problems
from warehouse.database import portions
from warehouse.release.checks import Finding, record_findings
from warehouse.release.manifest import NO_CERTIFICATE, Manifest, Tombstone, compose, manifest_damages
from warehouse.release.records import Contents, contents_of
from warehouse.release.splits import item_groups
from warehouse.release.tombstones import tombstones_of
from warehouse.tables import (
    Consent,
    Item,
    ItemRevision,
    ItemState,
    Material,
    MaterialSource,
    Recording,
    Release,
    ReleaseItem,
    Verdict,
)


@dataclass(frozen=True)
class Grounds:
    """All that findings and manifest follow from, but the numbers of items in each state, which anybody may change.

    Revisions, and verdicts once given, never change, so of them the ids and the number are enough.
    """

    groups: list[frozenset[str]]
    certificate: str
    tombstones: tuple[Tombstone, ...]
    rows: list[Any]


@dataclass(frozen=True)
class Weighed:
    """Findings in the records, or the manifest where there are none, and what they follow from."""

    contents: Contents
    findings: list[Finding]
    manifest: Manifest | None
    grounds: Grounds

    def stands(self, session: Session, now: datetime) -> bool:
        """Whether `weigh` would find the same now, but for the manifest's funnel."""
        return _grounds(session, self.contents, now) == self.grounds


def weigh(session: Session, release: Release, allowed_licences: Collection[str], now: datetime) -> Weighed:
    """Findings in the records, with consents as they hold at `now`, and the manifest when there are none."""
    contents = contents_of(session, release)
    grounds = _grounds(session, contents, now)
    verdicts = _verdicts(session, release)
    findings = record_findings(contents, verdicts, grounds.groups, allowed_licences, now)
    if findings:
        return Weighed(contents, findings, None, grounds)
    manifest = compose(contents, verdicts, item_states(session), grounds.certificate, grounds.tombstones)
    damages = manifest_damages(json.loads(manifest.to_bytes()), "manifest")
    bugs = [Finding(one.place, one.what, "report this as a bug of Interplay") for one in damages]
    return Weighed(contents, bugs, manifest, grounds)


def item_states(session: Session) -> dict[ItemState, int]:
    """How many items of the project stand in each state."""
    counts = session.exec(select(Item.state, func.count()).group_by(col(Item.state)))
    return {ItemState(state): count for state, count in counts}


def _verdicts(session: Session, release: Release) -> list[Verdict]:
    query = (
        select(Verdict)
        .join(ReleaseItem, col(ReleaseItem.revision_id) == col(Verdict.revision_id))
        .where(ReleaseItem.release_id == release.id)
        .order_by(col(Verdict.created_at), col(Verdict.id))
    )
    return list(session.exec(query))


def _grounds(session: Session, contents: Contents, now: datetime) -> Grounds:
    members, release = contents.members, contents.release
    certificate = standing_certificate(session, content_sha256(one.revision.content_hash for one in members))
    return Grounds(
        groups=item_groups(session, members),
        certificate=certificate.text if certificate else NO_CERTIFICATE,
        tombstones=tombstones_of(session, release, {member.item.name for member in members}),
        rows=[*_member_rows(session, release), *_material_rows(session, contents), *_consents(session, contents, now)],
    )


def _member_rows(session: Session, release: Release) -> Iterator[Any]:
    yield from session.exec(select(Release.id, Release.settings).where(Release.id == release.id))
    verdicts = select(func.count()).join_from(
        Verdict, ReleaseItem, col(ReleaseItem.revision_id) == col(Verdict.revision_id)
    )
    yield session.exec(verdicts.where(ReleaseItem.release_id == release.id)).one()
    columns: tuple[Any, ...] = (
        ReleaseItem.revision_id, ReleaseItem.split, Item.id, Item.name, Item.version, Item.state,
        Item.current_revision_id, Item.twin_group,
    )  # fmt: skip
    held = (
        select(*columns)
        .join(ItemRevision, col(ItemRevision.id) == col(ReleaseItem.revision_id))
        .join(Item, col(Item.id) == col(ItemRevision.item_id))
        .where(ReleaseItem.release_id == release.id)
        .order_by(col(ReleaseItem.position))
    )
    yield from session.exec(held)


def _material_rows(session: Session, contents: Contents) -> Iterator[Any]:
    ids = sorted({one.id for line in contents.lineage.values() for one in line})
    sound = col(Material.measures)[("sound", "sha256")].as_string()
    of_material = (Material.id, Material.state, Material.drop_reason, Material.parent_id, Material.media, sound)
    paper = MaterialSource
    of_paper = (paper.id, paper.material_id, paper.origin, paper.source, paper.licence, paper.author, paper.consent_id)
    of_take = (Recording.id, Recording.material_id, Recording.consent_id)
    yield from _rows(session, of_material, col(Material.id), ids)
    yield from _rows(session, of_paper, col(paper.material_id), ids)
    yield from _rows(session, of_take, col(Recording.material_id), ids)


def _rows(session: Session, columns: tuple[Any, ...], key: Mapped[Any], ids: list[str]) -> Iterator[Any]:
    for some in portions(ids):
        yield from session.exec(select(*columns).where(key.in_(some)).order_by(columns[0]))


def _consents(session: Session, contents: Contents, now: datetime) -> Iterator[Any]:
    ids = sorted({consent.id for held in contents.consents.values() for consent in held})
    for some in portions(ids):
        # As they are stored now, whatever the session read before.
        query = select(Consent).where(col(Consent.id).in_(some)).order_by(col(Consent.id))
        for consent in session.exec(query, execution_options={"populate_existing": True}):
            yield consent.id, *consent_problems(consent, [Scope.PUBLISH], now)
