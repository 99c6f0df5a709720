"""Check a release, and seal it for good."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlmodel import Session

from core.errors import InterplayError
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.blobs import BlobStore
from warehouse.database import Database, portions
from warehouse.lifecycle import Action, Advance, advance_all
from warehouse.release.checks import Finding
from warehouse.release.manifest import funnel_of
from warehouse.release.media_checks import MediaChecks, media_findings
from warehouse.release.records import Guard, contents_of, get_release
from warehouse.release.weighing import Weighed, item_states, weigh
from warehouse.runs import open_run
from warehouse.tables import Release, ReleaseState


class SealBlocked(InterplayError):
    """A release with findings; `findings` holds them all."""

    def __init__(self, name: str, version: str, findings: Sequence[Finding]) -> None:
        super().__init__(
            f"release {name} {version} cannot be sealed, {len(findings)} findings block it; "
            f"the first: {findings[0].line()}"
        )
        self.findings = list(findings)


class BuiltAnew(InterplayError):
    """A release that was discarded and built again while it was being sealed: of this one no media were checked."""


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
        release = get_release(session, order.name, order.version)
        contents = contents_of(session, release)
    findings = media_findings(contents, blobs, order.media)
    with database.reading() as session:
        # Again: of one that was discarded meanwhile nothing would be found.
        release = get_release(session, order.name, order.version)
        return weigh(session, release, order.allowed_licences, clock()).findings + findings


def seal_release(database: Database, blobs: BlobStore, order: SealOrder, clock: Clock = utc_now) -> Sealed:
    """Seal a release: manifest, state, and the items' step to released, in one transaction. A second call does nothing.

    Raises:
        UnknownName: There is no such release.
        SealBlocked: Something blocks it.
        BuiltAnew: It is not the one that was looked at.
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
        del contents  # it is read again, and ten thousand questions need not lie in memory twice
        with database.reading() as session:
            weighed = weigh(session, release, order.allowed_licences, clock())
        with database.session() as session:
            sealed = _seal(session, blobs, order, weighed, findings, clock)
        run.summary = {"manifest_sha256": sealed.release.manifest_sha256, "items": len(weighed.contents.members)}
    return sealed


def _seal(
    session: Session, blobs: BlobStore, order: SealOrder, weighed: Weighed, findings: Sequence[Finding], clock: Clock
) -> Sealed:
    if order.guard is not None:
        order.guard(session)
    release = get_release(session, order.name, order.version)
    session.refresh(release, with_for_update=True)
    if release.state == ReleaseState.SEALED:
        return Sealed(release, now=False)
    if release.id != weighed.contents.release.id:
        raise BuiltAnew(f"release {order.name} {order.version} was built anew while it was checked; seal it again")
    if not weighed.stands(session, clock()):
        # Once, and in the transaction that seals, however long that takes: what is sealed must be right.
        weighed = weigh(session, release, order.allowed_licences, clock())
    if weighed.findings or findings:
        raise SealBlocked(order.name, order.version, [*weighed.findings, *findings])
    assert weighed.manifest is not None
    versions = {member.item.id: member.item.version for member in weighed.contents.members}
    funnel = funnel_of(item_states(session), len(versions))
    manifest = weighed.manifest.model_copy(update={"funnel": funnel})
    release.manifest_sha256 = blobs.put(manifest.to_bytes())
    release.settings = {**release.settings, "allowed_licences": sorted(order.allowed_licences)}
    release.state, release.sealed_at = ReleaseState.SEALED, clock()
    step = Advance(Action.RELEASE, order.actor)
    for ids in portions(list(versions)):
        advance_all(session, {id_: versions[id_] for id_ in ids}, step, clock)
    events.record(
        session, order.actor, "release", release.id, "seal", clock,
        name=order.name, version=order.version, manifest_sha256=release.manifest_sha256,
        allowed_licences=sorted(order.allowed_licences),
    )  # fmt: skip
    return Sealed(release, now=True)
