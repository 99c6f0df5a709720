"""What maintainers do with releases: build, check, seal, discard, verify.

What is found is stored as the summary of a Run, so that it outlives the server; pages tell from there.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlmodel import Session

from annotation_ui.permissions import Permission, Principal, authorize
from annotation_ui.told import Told, told_as
from annotation_ui.words import N_
from core.errors import InterplayError, UnknownName
from core.ids import Clock, utc_now
from warehouse.blobs import DamagedBlob, MissingBlob
from warehouse.release.build import NothingToRelease, Recipe, SealedForGood, build_release, discard_release
from warehouse.release.checks import Finding
from warehouse.release.licences import meant_licence
from warehouse.release.media_checks import MediaChecks
from warehouse.release.records import BadReleaseName, BadVersion, VersionTaken
from warehouse.release.seal import SealBlocked, SealOrder, check_release, seal_release
from warehouse.release.splits import BadShares
from warehouse.release.verify import verify_release
from warehouse.runs import open_run
from warehouse.tables import Release, ReleaseState
from warehouse.workspace import Workspace

BUILD_WORK = "release build"
"""The key of building, one at a time in the project: two would take the same items under the same name."""
CHECK, VERIFY = "release check", "release verify"


class NameUnusable(Told):
    """A name that cannot stand in folders and addresses."""

    text = N_(
        "Write the name with small letters a–z and digits, and single “-”, “_” or “.” between; at most 64 in all."
    )


class VersionUnusable(Told):
    """A version that is none."""

    text = N_("Write the version as three numbers, such as 1.0.0.")


class VersionExists(Told):
    """A release of that name and version is there."""

    text = N_("{title} exists already. Choose another version, or open it and discard it while it is a draft.")


class SharesTooLarge(Told):
    """Shares that are more than all."""

    text = N_("The shares of dev and hold-out together are more than everything. Make one of them smaller.")


class NothingFits(Told):
    """A query that chooses nothing."""

    text = N_("No accepted question fits this choice, so there is nothing to build a release from.")


class LicenceUnclear(Told):
    """A licence that is nearly an SPDX identifier."""

    text = N_(
        "“{licence}” is no licence's identifier. Did you mean {meant}? Write it so, or give the licence's web address."
    )


class ReleaseGone(Told):
    """A release that is not there any more, or never was."""

    text = N_("This release is not there any more: somebody discarded it.")


class SealedMeanwhile(Told):
    """A draft that was to be changed and is sealed."""

    text = N_("This release is sealed by now and stays as it is. Build a new version to change anything.")


class NotConfirmed(Told):
    """A confirmation that is not what was asked for."""

    text = N_("Type “{title}” exactly as it stands here. Nothing was sealed.")


class Blocked(Told):
    """A release that cannot be sealed as it is."""

    text = N_("It was not sealed: something blocks it. The list below says what, and how to mend it.")


class NotSealedYet(Told):
    """A draft that was to leave the project."""

    text = N_("Only a sealed release can leave the project. Seal it first.")


class MediaLost(Told):
    """Bytes that the project does not have as it should."""

    text = N_("The project has lost bytes of this release, or they are damaged: {detail}")


@dataclass(frozen=True)
class NewRelease:
    """What somebody asks for."""

    name: str
    version: str
    recipe: Recipe


def work_key(release_id: str) -> str:
    """The key of long work on a release: one piece at a time."""
    return f"release {release_id}"


def build(workspace: Workspace, who: Principal, new: NewRelease, clock: Clock = utc_now) -> str:
    """Build a draft and look what blocks it; returns its id.

    Raises:
        NotAllowed, AccountInactive, NameUnusable, VersionUnusable, VersionExists, NothingFits, LicenceUnclear: As they
            say.
    """
    licence = new.recipe.licence
    if licence is not None and (meant := meant_licence(licence)) is not None:
        raise LicenceUnclear(licence=licence, meant=meant)
    with workspace.database.session() as session:
        authorize(session, who, Permission.RELEASE)
    with told_as(_WORDS, title=f"{new.name} {new.version}"):
        built = build_release(
            workspace.database, new.name, new.version, new.recipe, who.user_id, clock,
            guard=lambda session: authorize(session, who, Permission.RELEASE),
        )  # fmt: skip
    check(workspace, who, built.release.id, (), clock)
    return built.release.id


def check(
    workspace: Workspace, who: Principal, release_id: str, allowed: Sequence[str], clock: Clock = utc_now
) -> list[Finding]:
    """Look what blocks sealing, and keep it. `allowed` are licences that this person has read and allows.

    Raises:
        NotAllowed, AccountInactive, ReleaseGone, SealedMeanwhile: As they say.
    """
    with workspace.database.session() as session:
        release = draft_for(session, who, release_id)
    order = _order(workspace, who, release, allowed)
    with (
        told_as(_WORDS, title=_title(release)),
        open_run(workspace.database, CHECK, _settings(release, allowed), clock=clock) as run,
    ):
        found = check_release(workspace.database, workspace.blobs, order, clock)
        run.summary = {"findings": [asdict(one) for one in found]}
    return found


def seal(
    workspace: Workspace,
    who: Principal,
    release_id: str,
    confirmation: str,
    allowed: Sequence[str] = (),
    clock: Clock = utc_now,
) -> None:
    """Seal a draft for good; `confirmation` is its name and version, typed. What blocks it is kept as `check` does.

    Raises:
        NotAllowed, AccountInactive, ReleaseGone, SealedMeanwhile, NotConfirmed, Blocked: As they say.
    """
    with workspace.database.session() as session:
        release = draft_for(session, who, release_id)
    if confirmation.strip() != _title(release):
        raise NotConfirmed(title=_title(release))
    order = _order(workspace, who, release, allowed)
    try:
        with told_as(_WORDS, title=_title(release)):
            sealed = seal_release(workspace.database, workspace.blobs, order, clock)
    except SealBlocked as blocked:
        with open_run(workspace.database, CHECK, _settings(release, allowed), clock=clock) as run:
            run.summary = {"findings": [asdict(one) for one in blocked.findings]}
        raise Blocked from None
    if not sealed.now:
        raise SealedMeanwhile


def discard(session: Session, who: Principal, release_id: str, clock: Clock = utc_now) -> None:
    """Take a draft back, so that its version is free again.

    Raises:
        NotAllowed, AccountInactive, ReleaseGone, SealedMeanwhile: As they say.
    """
    release = draft_for(session, who, release_id)
    with told_as(_WORDS, title=_title(release)):
        discard_release(session, release.name, release.version, who.user_id, clock)


def verify(workspace: Workspace, who: Principal, release_id: str, clock: Clock = utc_now) -> None:
    """Compute all hashes of a sealed release in the project again, and keep what is damaged.

    Raises:
        NotAllowed, AccountInactive, ReleaseGone, NotSealedYet, MediaLost: As they say.
    """
    with workspace.database.session() as session:
        release = sealed_for(session, who, release_id)
    with (
        told_as(_WORDS, title=_title(release)),
        open_run(workspace.database, VERIFY, _settings(release), clock=clock) as run,
    ):
        found = verify_release(workspace.database, workspace.blobs, release.name, release.version)
        run.summary = {
            "files": found.files,
            "rows": found.rows,
            "withdrawn": len(found.withdrawn),
            "damages": [damage.line() for damage in found.damages],
        }


def draft_for(session: Session, who: Principal, release_id: str) -> Release:
    """The draft, held until the transaction ends, for somebody who may work on it now.

    By its id: a draft that was discarded and built again under the same name is not the one that was looked at.

    Raises:
        NotAllowed, AccountInactive, ReleaseGone, SealedMeanwhile: As they say.
    """
    release = _release_for(session, who, release_id)
    if release.state == ReleaseState.SEALED:
        raise SealedMeanwhile
    return release


def sealed_for(session: Session, who: Principal, release_id: str) -> Release:
    """The sealed release, for somebody who may take it out of the project now.

    Raises:
        NotAllowed, AccountInactive, ReleaseGone, NotSealedYet: As they say.
    """
    release = _release_for(session, who, release_id)
    if release.state != ReleaseState.SEALED:
        raise NotSealedYet
    return release


def _release_for(session: Session, who: Principal, release_id: str) -> Release:
    authorize(session, who, Permission.RELEASE)
    release = session.get(Release, release_id, with_for_update=True)
    if release is None:
        raise ReleaseGone
    return release


def _order(workspace: Workspace, who: Principal, release: Release, allowed: Sequence[str]) -> SealOrder:
    project = workspace.project
    return SealOrder(
        release.name,
        release.version,
        who.user_id,
        allowed,
        MediaChecks(project.media_limits, project.settings.executor, project.workers),
        guard=lambda session: draft_for(session, who, release.id),
    )


def _settings(release: Release, allowed: Sequence[str] = ()) -> dict[str, object]:
    return {"name": release.name, "version": release.version, "allowed_licences": sorted(allowed)}


def _title(release: Release) -> str:
    return f"{release.name} {release.version}"


_WORDS: dict[type[InterplayError], type[Told]] = {
    BadReleaseName: NameUnusable,
    BadVersion: VersionUnusable,
    VersionTaken: VersionExists,
    BadShares: SharesTooLarge,
    NothingToRelease: NothingFits,
    SealedForGood: SealedMeanwhile,
    UnknownName: ReleaseGone,
    MissingBlob: MediaLost,
    DamagedBlob: MediaLost,
}
