"""Items that are gone because somebody withdrew what they show: their ids stay, the media and the words do not."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from core.errors import InterplayError
from warehouse.release.manifest import Tombstone
from warehouse.release.records import lineages, materials_of
from warehouse.release.splits import Split
from warehouse.tables import Item, ItemRevision, Material, MaterialState, Release, ReleaseItem, ReleaseState


class MediaWithdrawn(InterplayError):
    """A sealed release that shows what was withdrawn since; it must not leave the project again."""


@dataclass(frozen=True)
class _Held:
    """An item in an earlier release."""

    name: str
    revision_id: str
    split: str
    version: str


def tombstones_of(session: Session, release: Release, present: Collection[str]) -> tuple[Tombstone, ...]:
    """The items of earlier sealed releases of that name which showed what was withdrawn since, but those `present`.

    Each is told of as the last release held it. What only a hold-out showed was never published: nothing is said of it.
    """
    query = (
        select(Item.name, ItemRevision.id, ReleaseItem.split, Release.version)
        .join(ItemRevision, col(ItemRevision.item_id) == col(Item.id))
        .join(ReleaseItem, col(ReleaseItem.revision_id) == col(ItemRevision.id))
        .join(Release, col(Release.id) == col(ReleaseItem.release_id))
        .where(Release.name == release.name, Release.state == ReleaseState.SEALED, Release.id != release.id)
        .order_by(col(Release.sealed_at), col(Release.version))
    )
    if release.sealed_at is not None:
        query = query.where(col(Release.sealed_at) < release.sealed_at)
    last = {held.name: held for held in (_Held(*row) for row in session.exec(query)) if held.name not in present}
    gone = withdrawn_shown(session, [held.revision_id for held in last.values()])
    return tuple(
        Tombstone(
            qid=name,
            reason="withdrawn",
            last_version=last[name].version,
            media=() if last[name].split == Split.HOLDOUT else tuple(sorted(gone[last[name].revision_id])),
        )
        for name in sorted(last)
        if last[name].revision_id in gone
    )


def withdrawn_shown(session: Session, revision_ids: Sequence[str]) -> dict[str, set[str]]:
    """By revision that shows any, the sha256 of the media that were withdrawn, or taken from what was."""
    shown = materials_of(session, revision_ids)
    lines = lineages(session, [material for by_name in shown.values() for material in by_name.values()])
    gone = {id_ for id_, line in lines.items() if any(one.state == MaterialState.WITHDRAWN for one in line)}
    found = {
        revision_id: {one.media_ref.sha256 for one in by_name.values() if one.id in gone}
        for revision_id, by_name in shown.items()
    }
    return {revision_id: media for revision_id, media in found.items() if media}


def withdrawn_media(session: Session) -> dict[str, str]:
    """The sha256 of every working copy that was withdrawn, with the id of its material."""
    query = select(Material).where(Material.state == MaterialState.WITHDRAWN).order_by(col(Material.id))
    return {material.media_ref.sha256: material.id for material in session.exec(query)}


def refuse_withdrawn(session: Session, title: str, media: Iterable[str]) -> None:
    """Stop what would publish withdrawn media.

    Raises:
        MediaWithdrawn: There are some.
    """
    withdrawn = withdrawn_media(session)
    gone = [sha256 for sha256 in media if sha256 in withdrawn]
    if gone:
        raise MediaWithdrawn(
            f"release {title} shows {len(gone)} media that were withdrawn (material {withdrawn[gone[0]]}), so it "
            "leaves the project no more; build, seal and export a new version"
        )
