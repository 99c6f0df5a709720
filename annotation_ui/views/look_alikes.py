"""Groups of materials that show or sound the same, side by side, with what links them in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from sqlmodel import Session, col, func, select

from annotation_ui.media_links import MediaLinks
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.tag_words import TagNames
from annotation_ui.views.formats import duration
from annotation_ui.views.materials import Card, cards_of
from annotation_ui.words import N_, Words
from curation.dedupe.link import SAME_BYTES_METHOD, duplicate_groups
from curation.materials import chunked
from warehouse.tables import DuplicateLink, Item, Material, MaterialState, RevisionMedia

GROUPS_A_PAGE = 4
SIDES_MAX = 8
_LITTLE = 0.02
SAME = {
    SAME_BYTES_METHOD.partition("@")[0]: N_("{first} and {second} are the same; only the data about them differ."),
    "image_hash": N_("{first} and {second} are the same picture."),
    "video_hash": N_("{first} and {second} are the same film."),
    "audio_hash": N_("{first} and {second} are the same sound."),
}
TURNED = {
    "mirrored": N_("{first} is mirrored."),
    "upside down": N_("{first} is mirrored top to bottom."),
    "turned 180": N_("{first} is turned by half."),
    "transposed": N_("{first} is mirrored along its diagonal."),
    "turned 90 right": N_("{first} must be turned right by a quarter."),
    "turned 90 left": N_("{first} must be turned left by a quarter."),
    "transversed": N_("{first} is mirrored along its other diagonal."),
}


@dataclass(frozen=True)
class Side:
    """One material of a group; `letter` is what the evidence calls it, `uses` how many items show it now."""

    letter: str
    card: Card
    version: int
    uses: int


@dataclass(frozen=True)
class Group:
    """Materials that were linked; `hidden` are so many more of them."""

    id: str
    sides: Sequence[Side]
    evidence: Sequence[str]
    hidden: int


@dataclass(frozen=True)
class LookAlikes:
    """One page of groups. `total` fit; `group_count` there are in all."""

    groups: Sequence[Group]
    total: int
    group_count: int
    page: int
    page_count: int
    may_decide: bool


def look_alikes(
    session: Session,
    who: Principal,
    links: MediaLinks,
    t: Words,
    names: TagNames,
    *,
    every: bool = False,
    around: str | None = None,
    page: int = 1,
) -> LookAlikes:
    """The asked page of groups.

    Args:
        session: Of the database.
        who: The person.
        links: Signs media addresses.
        t: Their words.
        names: Words for tags.
        every: Also groups of which no more than one material is kept: those are decided.
        around: Only the group of this material.
        page: From 1; one beyond the last is the last.

    Raises:
        NotAllowed: The person may not see the library.
    """
    require(who, Permission.SEE_LIBRARY)
    groups = duplicate_groups(session)
    if around is not None:
        fitting = [group for group in groups if around in group]
    elif every:
        fitting = groups
    else:
        fitting = _open(session, groups)
    # The latest first: who has just brought something in wants to see what it resembles.
    fitting.sort(key=max, reverse=True)
    page_count = max(1, -(-len(fitting) // GROUPS_A_PAGE))
    page = min(max(page, 1), page_count)
    shown = fitting[(page - 1) * GROUPS_A_PAGE : page * GROUPS_A_PAGE]
    found = [_group(session, who, group, links, t, names) for group in shown]
    return LookAlikes(found, len(fitting), len(groups), page, page_count, who.may(Permission.CURATE))


def evidence_words(method: str, evidence: Mapping[str, Any], first: str, second: str, t: Words) -> str:
    """What a link says of two materials, which are called `first` and `second`."""
    ends = {"first": first, "second": second}
    same = SAME.get(method.partition("@")[0])
    said = [t(same, **ends) if same else t("{first} and {second} are linked by {method}.", **ends, method=method)]
    if turned := TURNED.get(str(evidence.get("turning"))):
        said.append(t(turned, **ends))
    if (box := evidence.get("box")) and len(box) == 4:
        said += _placed(box, ends, t)
    said += _timed(evidence, ends, t)
    return (" " if t.language == "en" else "").join(said)


def _placed(box: Sequence[float], ends: Mapping[str, str], t: Words) -> list[str]:
    left, top, right, bottom = box
    if max(abs(left), abs(top), abs(right - 1), abs(bottom - 1)) <= _LITTLE:
        return []
    if min(left, top) >= -_LITTLE and max(right, bottom) <= 1 + _LITTLE:
        return [t("{first} is a part of {second}.", **ends)]
    if max(left, top) <= _LITTLE and min(right, bottom) >= 1 - _LITTLE:
        return [t("{first} is a part of {second}.", first=ends["second"], second=ends["first"])]
    return [t("They overlap in part.")]


def _timed(evidence: Mapping[str, Any], ends: Mapping[str, str], t: Words) -> list[str]:
    said = []
    turned_round = {"first": ends["second"], "second": ends["first"]}
    if offset_s := float(evidence.get("offset_s", 0.0)):
        later = ends if offset_s > 0 else turned_round
        said.append(t("{first} begins at {time} of {second}.", **later, time=duration(abs(offset_s))))
    speed = float(evidence.get("speed", 1.0))
    if speed > 0 and speed != 1.0:
        faster, times = (ends, speed) if speed > 1 else (turned_round, 1 / speed)
        said.append(t("{first} runs {times} times as fast as {second}.", **faster, times=f"{times:.3g}"))
    if semitones := float(evidence.get("semitones", 0.0)):
        higher = turned_round if semitones > 0 else ends
        number = f"{abs(semitones):.3g}"
        said.append(t("{first} sounds {semitones} semitones higher than {second}.", **higher, semitones=number))
    return said


def _open(session: Session, groups: Sequence[Sequence[str]]) -> list[list[str]]:
    kept: set[str] = set()
    for ids in chunked(material_id for group in groups for material_id in group):
        query = select(Material.id).where(col(Material.id).in_(ids), col(Material.state) == MaterialState.KEPT)
        kept |= set(session.exec(query))
    return [list(group) for group in groups if len(kept.intersection(group)) > 1]


def _group(session: Session, who: Principal, ids: Sequence[str], links: MediaLinks, t: Words, names: TagNames) -> Group:
    rows = [row for some in chunked(ids) for row in session.exec(select(Material).where(col(Material.id).in_(some)))]
    # What is decided already stands last, so that a large group comes into sight as it is worked through.
    rows.sort(key=lambda row: (row.state != MaterialState.KEPT, row.id))
    shown = rows[:SIDES_MAX]
    cards, uses = cards_of(session, who, shown, links, t, names), _uses(session, [row.id for row in shown])
    sides = [
        Side(letter, card, row.version, uses.get(row.id, 0))
        for letter, card, row in zip(ascii_uppercase, cards, shown, strict=False)
    ]
    evidence = _evidence(session, {side.card.id: side.letter for side in sides}, t)
    return Group(min(ids), sides, evidence, len(rows) - len(shown))


def _evidence(session: Session, letters: Mapping[str, str], t: Words) -> list[str]:
    first, second = col(DuplicateLink.first_id), col(DuplicateLink.second_id)
    query = select(DuplicateLink).where(first.in_(letters), second.in_(letters), DuplicateLink.shows_same())
    found = session.exec(query.order_by(col(DuplicateLink.distance), col(DuplicateLink.id))).all()
    said = (
        evidence_words(link.method, link.evidence, letters[link.first_id], letters[link.second_id], t) for link in found
    )
    return sorted(said)


def _uses(session: Session, ids: Sequence[str]) -> dict[str, int]:
    query = (
        select(RevisionMedia.material_id, func.count(func.distinct(Item.id)))
        .join(Item, col(Item.current_revision_id) == col(RevisionMedia.revision_id))
        .where(col(RevisionMedia.material_id).in_(ids))
        .group_by(col(RevisionMedia.material_id))
    )
    return {material_id: count for material_id, count in session.exec(query) if material_id is not None}
