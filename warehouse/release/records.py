"""Releases in the tables: names, versions, and everything that a release holds."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import ValidationError
from sqlmodel import Session, col, select

from core.errors import InterplayError, UnknownName
from core.question import Question
from warehouse.database import portions
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
    ReleaseState,
    RevisionMedia,
)

_NAME = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
# https://semver.org/spec/v2.0.0.html, the suggested expression, with ASCII digits only.
_VERSION = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)
RELEASABLE = (ItemState.ACCEPTED, ItemState.RELEASED)
Guard = Callable[[Session], object]
"""Asked in the transaction that writes, before it does; it raises where that must not be."""


class BadReleaseName(InterplayError):
    """A name that cannot stand in folder names and addresses."""


class BadVersion(InterplayError):
    """A version that is not a semantic version."""


class VersionTaken(InterplayError):
    """A release of that name and version exists."""


@dataclass(frozen=True)
class Member:
    """One revision in a release; `materials` are by placeholder."""

    item: Item
    revision: ItemRevision
    split: str
    materials: dict[str, Material] = field(default_factory=dict)

    @cached_property
    def question(self) -> Question | None:
        """The revision's question, read once; None when this version of Interplay does not take it."""
        return question_of(self.revision)


@dataclass(frozen=True)
class Contents:
    """All that a release holds, members in order; `sources` and `consents` are by material id, parents' included."""

    release: Release
    members: tuple[Member, ...]
    lineage: dict[str, tuple[Material, ...]]
    sources: dict[str, tuple[MaterialSource, ...]]
    consents: dict[str, tuple[Consent, ...]]


def check_name_and_version(session: Session, name: str, version: str) -> None:
    """Make sure that a new release may be called so.

    Raises:
        BadReleaseName, BadVersion, VersionTaken: As they say.
    """
    if not _NAME.fullmatch(name) or len(name) > 64:
        raise BadReleaseName(
            f"release name {name!r} is not usable; write at most 64 of a-z, 0-9 with single '-', '_' or '.' between"
        )
    if not _VERSION.fullmatch(version) or len(version) > 32:
        raise BadVersion(f"{version!r} is not a semantic version of at most 32 characters; write one as 1.0.0")
    taken = _find(session, name, version)
    if taken is not None:
        raise version_taken(taken)


def version_taken(release: Release) -> VersionTaken:
    """The mistake of building a release that exists."""
    title = f"{release.name} {release.version}"
    can_go = release.state == ReleaseState.BUILT
    mend = f"discard it with 'interplay release discard {title}', or " if can_go else ""
    return VersionTaken(f"release {title} exists already and is {release.state.value}; {mend}choose a new version")


def get_release(session: Session, name: str, version: str) -> Release:
    """The release of that name and version.

    Raises:
        UnknownName: There is none.
    """
    found = _find(session, name, version)
    if found is None:
        known = [f"{release.name} {release.version}" for release in all_releases(session)]
        raise UnknownName("release", f"{name} {version}", known)
    return found


def all_releases(session: Session, name: str | None = None) -> list[Release]:
    """Releases (of one name), by name, oldest first."""
    query = select(Release).order_by(col(Release.name), col(Release.created_at), col(Release.id))
    return list(session.exec(query if name is None else query.where(Release.name == name)))


def members_of(session: Session, release: Release) -> list[Member]:
    """The release's revisions in order, without their materials."""
    query = (
        select(Item, ItemRevision, ReleaseItem.split)
        .join(ItemRevision, col(ItemRevision.item_id) == col(Item.id))
        .join(ReleaseItem, col(ReleaseItem.revision_id) == col(ItemRevision.id))
        .where(ReleaseItem.release_id == release.id)
        .order_by(col(ReleaseItem.position))
    )
    return [Member(item, revision, split) for item, revision, split in session.exec(query)]


def contents_of(session: Session, release: Release) -> Contents:
    """Everything that the release holds."""
    bare = members_of(session, release)
    by_revision = materials_of(session, [member.revision.id for member in bare])
    members = [Member(m.item, m.revision, m.split, by_revision.get(m.revision.id, {})) for m in bare]
    lineage = lineages(session, [material for member in members for material in member.materials.values()])
    sources, consents = _papers(session, {one.id for line in lineage.values() for one in line})
    return Contents(
        release=release,
        members=tuple(members),
        lineage=lineage,
        # What came with a video holds for the sound that was taken from it, unless the sound has papers of its own.
        sources={
            id_: next((sources[one.id] for one in line if one.id in sources), ()) for id_, line in lineage.items()
        },
        consents={id_: tuple(c for one in line for c in consents.get(one.id, ())) for id_, line in lineage.items()},
    )


def question_of(revision: ItemRevision) -> Question | None:
    """The revision's question; None when this version of Interplay does not take it."""
    try:
        return revision.as_question()
    except ValidationError:
        return None


def materials_of(session: Session, revision_ids: Sequence[str]) -> dict[str, dict[str, Material]]:
    """Materials by revision id and placeholder."""
    found: dict[str, dict[str, Material]] = {}
    for ids in portions(revision_ids):
        query = (
            select(RevisionMedia, Material)
            .join(Material, col(RevisionMedia.material_id) == col(Material.id))
            .where(col(RevisionMedia.revision_id).in_(ids))
        )
        for link, material in session.exec(query):
            found.setdefault(link.revision_id, {})[link.placeholder] = material
    return found


def lineages(session: Session, materials: Iterable[Material]) -> dict[str, tuple[Material, ...]]:
    """Each material, by id, with the materials that it was taken from, nearest first."""
    wanted = {material.id: material for material in materials}
    known = dict(wanted)
    missing = {one.parent_id for one in known.values() if one.parent_id} - known.keys()
    while missing:
        parents = _by_ids(session, sorted(missing))
        known |= {parent.id: parent for parent in parents}
        missing = {one.parent_id for one in parents if one.parent_id} - known.keys()
    return {id_: tuple(_line(material, known)) for id_, material in wanted.items()}


def _line(material: Material, known: dict[str, Material]) -> Iterable[Material]:
    step: Material | None = material
    while step is not None:
        yield step
        step = known[step.parent_id] if step.parent_id else None


def _by_ids(session: Session, material_ids: Sequence[str]) -> list[Material]:
    found: list[Material] = []
    for ids in portions(material_ids):
        found.extend(session.exec(select(Material).where(col(Material.id).in_(ids))))
    return found


def _papers(
    session: Session, material_ids: Iterable[str]
) -> tuple[dict[str, tuple[MaterialSource, ...]], dict[str, tuple[Consent, ...]]]:
    sources: dict[str, tuple[MaterialSource, ...]] = {}
    consents: dict[str, dict[str, Consent]] = {}
    for ids in portions(sorted(material_ids)):
        for source in session.exec(select(MaterialSource).where(col(MaterialSource.material_id).in_(ids))):
            sources[source.material_id] = (*sources.get(source.material_id, ()), source)
        for owner in (MaterialSource, Recording):
            query = (
                select(owner.material_id, Consent)
                .join(Consent, col(owner.consent_id) == col(Consent.id))
                .where(col(owner.material_id).in_(ids))
            )
            for material_id, consent in session.exec(query):
                assert material_id is not None
                consents.setdefault(material_id, {})[consent.id] = consent
    return sources, {id_: tuple(sorted(by_id.values(), key=lambda c: c.id)) for id_, by_id in consents.items()}


def _find(session: Session, name: str, version: str) -> Release | None:
    return session.exec(select(Release).where(Release.name == name, Release.version == version)).first()
