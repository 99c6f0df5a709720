"""Which split an item goes to: by hash of names, so that adding an item moves no other."""

import hashlib
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from sqlmodel import Session, col, select

from core.errors import InterplayError
from warehouse.database import portions
from warehouse.release.records import Member
from warehouse.tables import DuplicateLink, Item, ItemRevision, Material, Release, ReleaseItem, ReleaseState


class Split(StrEnum):
    """Where a released item goes, the most public first: `dev` is for tuning, `holdout` never leaves the project."""

    DEV = "dev"
    TEST = "test"
    HOLDOUT = "holdout"


class BadShares(InterplayError):
    """Shares of splits that do not fit into a whole."""


@dataclass(frozen=True)
class SplitPlan:
    """Shares of groups (in [0, 1]) that go to dev and to the hold-out; what is left goes to test."""

    dev_share: float = 0.2
    holdout_share: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the shares."""
        fits = self.dev_share >= 0 and self.holdout_share >= 0 and self.dev_share + self.holdout_share <= 1
        if not fits:
            raise BadShares(
                f"dev share {self.dev_share} and hold-out share {self.holdout_share} must each be at least 0 "
                "and sum to at most 1"
            )

    def split_of(self, group: Iterable[str]) -> Split:
        """The split of a group of item names.

        One member, the anchor, speaks for the group: the share of groups in a split is the share asked for however
        large groups are, and an item that joins a group leaves it in place unless it becomes the anchor.
        """
        anchor = min(group, key=lambda name: _digest(self.seed, "anchor", name))
        place = _digest(self.seed, "split", anchor) / 2**64
        if place < self.dev_share:
            return Split.DEV
        return Split.HOLDOUT if place >= 1 - self.holdout_share else Split.TEST


def assign_splits(
    groups: Iterable[frozenset[str]], plan: SplitPlan, earlier: Mapping[str, Split] | None = None
) -> dict[str, Split]:
    """A split for each item name; no group straddles two.

    Args:
        groups: Names of items that must stay together; a lone item is a group of one.
        plan: Shares and seed.
        earlier: Splits of items in sealed releases of the same name. An item keeps its split, and its group follows;
            where a group joins items of several splits, the most public one wins, because what was public stays so.
    """
    before = earlier or {}
    splits: dict[str, Split] = {}
    for group in groups:
        kept = {before[name] for name in group if name in before}
        split = next((split for split in Split if split in kept), None) or plan.split_of(group)
        splits |= dict.fromkeys(group, split)
    return splits


def item_groups(session: Session, members: Iterable[Member]) -> list[frozenset[str]]:
    """Names of the items that belong together: twins, and items whose media show the same.

    Media show the same when they are one material, when a duplicate link joins them through any number of materials
    (also materials that no item of this release shows), or when one was taken from the other (the sound of a video).
    """
    from scipy.cluster.hierarchy import DisjointSet

    held = list(members)
    parents = select(Material.id, Material.parent_id).where(col(Material.parent_id).is_not(None))
    links: list[tuple[Hashable, Hashable]] = [*session.exec(parents), *_shared_sounds(session, held)]
    links += session.exec(select(DuplicateLink.first_id, DuplicateLink.second_id))
    for member in held:
        item = ("item", member.item.name)
        links += [(item, material.id) for material in member.materials.values()]
        links.append((item, ("twins", member.item.twin_group) if member.item.twin_group else item))
    alike = DisjointSet({end for link in links for end in link})
    for first, second in links:
        alike.merge(first, second)
    names = ({end[1] for end in subset if isinstance(end, tuple) and end[0] == "item"} for subset in alike.subsets())
    return sorted((frozenset(group) for group in names if group), key=min)


def _shared_sounds(session: Session, members: Iterable[Member]) -> list[tuple[str, str]]:
    """Videos with their sounds. Of videos that share one, it is the child of the first alone."""
    sounds = {
        material.id: sound["sha256"]
        for member in members
        for material in member.materials.values()
        if (sound := material.measures.get("sound"))
    }
    ids: dict[str, str] = {}
    for portion in portions(sorted(set(sounds.values()))):
        ids.update(session.exec(select(Material.sha256, Material.id).where(col(Material.sha256).in_(portion))).all())
    return [(video_id, ids[sha256]) for video_id, sha256 in sounds.items() if sha256 in ids]


def earlier_splits(session: Session, release_name: str) -> dict[str, Split]:
    """The most public split that each item name had in sealed releases of that name."""
    query = (
        select(Item.name, ReleaseItem.split)
        .join(ItemRevision, col(ItemRevision.item_id) == col(Item.id))
        .join(ReleaseItem, col(ReleaseItem.revision_id) == col(ItemRevision.id))
        .join(Release, col(Release.id) == col(ReleaseItem.release_id))
        .where(Release.name == release_name, Release.state == ReleaseState.SEALED)
        .distinct()
    )
    publicity = list(Split)
    found: dict[str, Split] = {}
    for name, split in session.exec(query):
        found[name] = min(found.get(name, Split(split)), Split(split), key=publicity.index)
    return found


def _digest(seed: int, purpose: str, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}\0{purpose}\0{name}".encode()).digest()[:8], "big")
