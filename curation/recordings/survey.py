"""What a withdrawal touches: everything that shows, holds or publishes what somebody gave under a consent."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlmodel import Session, col, or_, select

from curation.materials import chunked, sources_of
from curation.recordings.agreements import noted_bytes
from warehouse.lifecycle import Action
from warehouse.tables import (
    AssetPack,
    Consent,
    DuplicateLink,
    Item,
    ItemRevision,
    ItemState,
    Material,
    MaterialSource,
    MaterialState,
    Recording,
    Release,
    ReleaseItem,
    RevisionMedia,
    Run,
    RunStatus,
    Subset,
)

# What is done with an item that shows what was withdrawn. A draft, a returned one and the like stop by themselves:
# release checks let none of them through, and the reviews' own checks stop them before.
_STEPS: Mapping[ItemState, Action] = {
    ItemState.SUBMITTED: Action.RETURN,
    ItemState.ROUND1_PASSED: Action.RETURN,
    ItemState.ROUND2_PASSED: Action.RETURN,
    ItemState.ACCEPTED: Action.RETIRE,
    ItemState.RELEASED: Action.RETIRE,
}
EXPORT_COMMAND = "release export"


@dataclass(frozen=True)
class Going:
    """A material that goes: what it is, where it came from under the consent, and what else brought it.

    `why` says what binds it to the consent. `origins` are its sources under the consent, `elsewhere` the others, with
    who made it and where it is from, as far as their bringer said.
    """

    sha256: str
    modality: str
    state: str
    why: str
    origins: tuple[str, ...]
    elsewhere: tuple[Mapping[str, str | None], ...]


@dataclass(frozen=True)
class TouchedItem:
    """An item that shows the media; `step` is what is done with it, None where nothing is.

    `now` is False where only an earlier revision shows them: the item itself has gone on without.
    """

    name: str
    state: str
    step: str | None
    now: bool


@dataclass(frozen=True)
class TouchedRelease:
    """A release that holds such items; of a sealed one `exports` are the folders that were written of it."""

    name: str
    version: str
    state: str
    items: tuple[str, ...]
    exports: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True)
class Survey:
    """What one withdrawal touches.

    `look_alikes` are sha256 of materials from elsewhere that show or sound the same: nothing happens to them, and a
    person must look. Packs and subsets are only listed, too.
    """

    recordings: tuple[Recording, ...]
    materials: tuple[Material, ...]
    going: tuple[Going, ...]
    revision_ids: frozenset[str]
    items: tuple[tuple[Item, TouchedItem], ...]
    releases: tuple[TouchedRelease, ...]
    look_alikes: tuple[str, ...] = ()
    packs: tuple[str, ...] = ()
    subsets: tuple[str, ...] = ()
    hashes: frozenset[str] = field(default=frozenset())

    def document(self) -> dict[str, Any]:
        """For reports."""
        return {
            "recordings": [one.id for one in self.recordings],
            "materials": [one.sha256 for one in self.materials],
            "going": [vars(one) for one in self.going],
            "items": [vars(touched) for _, touched in self.items],
            "releases": [vars(one) for one in self.releases],
            "look_alikes": list(self.look_alikes),
            "packs": list(self.packs),
            "subsets": list(self.subsets),
        }


def survey(session: Session, consent: Consent) -> Survey:
    """Everything that a withdrawal of that consent touches, also when it was withdrawn before."""
    recordings = tuple(
        session.exec(select(Recording).where(Recording.consent_id == consent.id).order_by(col(Recording.id)))
    )
    noted = noted_bytes(session, consent.id) | {one.sha256 for one in recordings}
    materials = _family(session, _given(session, consent, noted))
    ids = [material.id for material in materials]
    revisions = _showing(session, ids)
    items = _items(session, revisions)
    hashes = noted | {one.sha256 for one in materials} | {one.media_ref.sha256 for one in materials}
    releases = _releases(session, revisions)
    return Survey(
        recordings=recordings,
        materials=materials,
        going=tuple(_going(session, consent, noted, one) for one in materials),
        revision_ids=frozenset(revisions),
        items=items,
        releases=releases,
        look_alikes=_look_alikes(session, ids),
        packs=_packs(session, releases, hashes),
        subsets=_subsets(session, {item.name for item, _ in items}),
        hashes=frozenset(hashes),
    )


def _given(session: Session, consent: Consent, hashes: Collection[str]) -> dict[str, Material]:
    """Materials that came under the consent, or whose bytes, as received or as served, were stored under it."""
    sourced = select(MaterialSource.material_id).where(MaterialSource.consent_id == consent.id)
    found = {one.id: one for one in session.exec(select(Material).where(col(Material.id).in_(sourced)))}
    for names in chunked(sorted(hashes)):
        given = or_(col(Material.sha256).in_(names), col(Material.media)["sha256"].as_string().in_(names))
        found |= {one.id: one for one in session.exec(select(Material).where(given))}
    return found


def _family(session: Session, given: dict[str, Material]) -> tuple[Material, ...]:
    """With the given materials: the films they are the sound of, their sounds, and all with the same working copy.

    A film's sealed original holds its sound, and the same bytes are the same voice, whoever else brought them.
    """
    found, fresh = dict(given), list(given.values())
    while fresh:
        near = {one.id: one for some in chunked(fresh) for one in _nearest(session, some)}
        fresh = [one for id_, one in sorted(near.items()) if id_ not in found]
        found |= near
    return tuple(found[id_] for id_ in sorted(found))


def _nearest(session: Session, materials: Sequence[Material]) -> Sequence[Material]:
    near = or_(
        col(Material.id).in_([one.parent_id for one in materials if one.parent_id]),
        col(Material.parent_id).in_([one.id for one in materials]),
        col(Material.sha256).in_([one.measures["sound"]["sha256"] for one in materials if "sound" in one.measures]),
        col(Material.media)["sha256"].as_string().in_([one.media_ref.sha256 for one in materials]),
        col(Material.measures)["sound"]["sha256"].as_string().in_([one.sha256 for one in materials]),
    )
    return session.exec(select(Material).where(near)).all()


def _going(session: Session, consent: Consent, noted: Collection[str], material: Material) -> Going:
    sources = sources_of(session, material.id)
    mine = tuple(one.origin for one in sources if one.consent_id == consent.id)
    if mine:
        why = "given under this consent"
    elif {material.sha256, material.media_ref.sha256} & set(noted):
        why = "the same bytes were given under this consent"
    else:
        why = "it is the film, the sound or the same working copy of what was given under this consent"
    elsewhere = tuple(
        {"origin": one.origin, "author": one.author, "source": one.source}
        for one in sources
        if one.consent_id != consent.id
    )
    return Going(material.sha256, material.modality, material.state.value, why, mine, elsewhere)


def _showing(session: Session, material_ids: Collection[str]) -> dict[str, str]:
    """Item ids by the ids of the revisions that show the materials."""
    found: dict[str, str] = {}
    for ids in chunked(material_ids):
        query = (
            select(ItemRevision.id, ItemRevision.item_id)
            .join(RevisionMedia, col(RevisionMedia.revision_id) == col(ItemRevision.id))
            .where(col(RevisionMedia.material_id).in_(ids))
        )
        found |= dict(session.exec(query).all())
    return found


def _items(session: Session, revisions: Mapping[str, str]) -> tuple[tuple[Item, TouchedItem], ...]:
    found: list[tuple[Item, TouchedItem]] = []
    for ids in chunked(sorted(set(revisions.values()))):
        for item in session.exec(select(Item).where(col(Item.id).in_(ids))):
            now = item.current_revision_id in revisions
            step = _STEPS.get(item.state) if now else None
            found.append((item, TouchedItem(item.name, item.state.value, step.value if step else None, now)))
    return tuple(sorted(found, key=lambda pair: pair[1].name))


def _releases(session: Session, revisions: Collection[str]) -> tuple[TouchedRelease, ...]:
    held: dict[str, tuple[Release, list[str]]] = {}
    for ids in chunked(sorted(revisions)):
        query = (
            select(Release, Item.name)
            .join(ReleaseItem, col(ReleaseItem.release_id) == col(Release.id))
            .join(ItemRevision, col(ItemRevision.id) == col(ReleaseItem.revision_id))
            .join(Item, col(Item.id) == col(ItemRevision.item_id))
            .where(col(ReleaseItem.revision_id).in_(ids))
        )
        for release, name in session.exec(query):
            held.setdefault(release.id, (release, []))[1].append(name)
    exports = _exports(session) if held else {}
    touched = [
        TouchedRelease(
            one.name, one.version, one.state.value, tuple(sorted(names)), exports.get((one.name, one.version), ())
        )
        for one, names in sorted(held.values(), key=lambda pair: (pair[0].name, pair[0].created_at, pair[0].id))
    ]
    return tuple(touched)


def _exports(session: Session) -> dict[tuple[str, str], tuple[Mapping[str, str], ...]]:
    """By name and version of the release, format and folder of each export that was finished."""
    found: dict[tuple[str, str], dict[str, Mapping[str, str]]] = {}
    query = select(Run).where(Run.command == EXPORT_COMMAND, Run.status == RunStatus.FINISHED)
    for run in session.exec(query.order_by(col(Run.id))):
        title = run.settings["name"], run.settings["version"]
        folder = run.summary.get("folder", "")
        found.setdefault(title, {})[folder] = {"format": run.settings["format"], "folder": folder}
    return {title: tuple(by_folder.values()) for title, by_folder in found.items()}


def _look_alikes(session: Session, material_ids: Collection[str]) -> tuple[str, ...]:
    mine, others = set(material_ids), set()
    for ids in chunked(material_ids):
        touches = or_(col(DuplicateLink.first_id).in_(ids), col(DuplicateLink.second_id).in_(ids))
        for link in session.exec(select(DuplicateLink).where(touches)):
            others |= {link.first_id, link.second_id} - mine
    query = select(Material.sha256).where(
        col(Material.id).in_(sorted(others)), Material.state != MaterialState.WITHDRAWN
    )
    return tuple(sorted(session.exec(query)))


def _packs(session: Session, releases: Iterable[TouchedRelease], hashes: Collection[str]) -> tuple[str, ...]:
    """Those that were made from such a release, or whose manifest names one of the files."""
    titles = {(one.name, one.version) for one in releases}
    named = {one.id: (one.name, one.version) for one in session.exec(select(Release))}
    found = []
    for pack in session.exec(select(AssetPack).order_by(col(AssetPack.name))):
        text = json.dumps(pack.manifest)
        if named.get(pack.release_id or "") in titles or any(sha256 in text for sha256 in hashes):
            found.append(pack.name)
    return tuple(found)


def _subsets(session: Session, item_names: Collection[str]) -> tuple[str, ...]:
    subsets = session.exec(select(Subset).order_by(col(Subset.name)))
    return tuple(one.name for one in subsets if any(row.get("question_id") in item_names for row in one.members))
