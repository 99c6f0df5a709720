"""One material: what it is, where it came from, what it resembles, what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from sqlmodel import Session, col, select

from annotation_ui import labels
from annotation_ui.media_links import MediaLinks
from annotation_ui.people import display_names
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.tag_words import TagNames
from annotation_ui.views.formats import duration, media_facts
from annotation_ui.views.item import shown_state
from annotation_ui.views.material_tags import TagLine, tag_lines
from annotation_ui.views.materials import Card, cards_of
from annotation_ui.words import Words
from curation.materials import UnknownMaterial
from warehouse.events import history
from warehouse.tables import (
    DuplicateLink,
    Item,
    ItemRevision,
    Material,
    MaterialSource,
    MaterialState,
    RevisionMedia,
    Segment,
)

MOST_DUPLICATES = 24
MOST_SEGMENTS = 200


@dataclass(frozen=True)
class Source:
    """One place that the bytes came from."""

    origin: str
    source: str
    licence: str
    author: str
    when: str


@dataclass(frozen=True)
class Line:
    """A stretch of speech, which begins `start_s` seconds from the start."""

    span: str
    speaker: str
    text: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Change:
    """Something that was done with the material."""

    who: str
    what: str
    reason: str
    when: str


@dataclass(frozen=True)
class Use:
    """An item that shows the material."""

    name: str
    state_label: str


@dataclass(frozen=True)
class MaterialDetail:
    """The page of one material. `version` is what a decision on it must name; `may_decide` whether this person may."""

    card: Card
    sha256: str
    version: int
    may_decide: bool
    facts: Sequence[tuple[str, str]]
    measures: Sequence[tuple[str, str]]
    description: str
    sources: Sequence[Source]
    speech: Sequence[Line]
    relatives: Sequence[Card]
    duplicates: Sequence[Card]
    tags: Sequence[TagLine]
    uses: Sequence[Use]
    changes: Sequence[Change]


def material_detail(
    session: Session,
    who: Principal,
    material_id: str,
    links: MediaLinks,
    now: datetime,
    t: Words,
    names: TagNames = MappingProxyType({}),
) -> MaterialDetail:
    """Everything about one material; `names` are the words for tags.

    Raises:
        NotAllowed: The person may not see the library.
        UnknownMaterial: There is none of that id.
    """
    require(who, Permission.SEE_LIBRARY)
    row = session.get(Material, material_id)
    if row is None:
        raise UnknownMaterial(f"no material has the id {material_id!r}")
    family = col(Material.parent_id).in_([row.id, row.parent_id] if row.parent_id else [row.id])
    relatives = session.exec(select(Material).where(family | (col(Material.id) == row.parent_id))).all()
    doubles = session.exec(select(Material).where(col(Material.id).in_(duplicate_group(session, row.id)))).all()
    return MaterialDetail(
        card=cards_of(session, who, [row], links, t, names)[0],
        sha256=row.sha256,
        version=row.version,
        may_decide=who.may(Permission.CURATE) and row.state != MaterialState.WITHDRAWN,
        facts=media_facts(row.media_ref, t),
        measures=_measures(row.measures),
        description=row.audio_content or "",
        sources=_sources(session, row.id, t),
        speech=_speech(session, row.id),
        relatives=cards_of(session, who, [other for other in relatives if other.id != row.id], links, t),
        duplicates=cards_of(session, who, doubles, links, t),
        tags=tag_lines(session, row.id, names, t),
        uses=_uses(session, who, row.id, t),
        changes=_changes(session, row.id, now, t),
    )


def duplicate_group(session: Session, material_id: str) -> list[str]:
    """Others of the connected component of duplicate links, nearest first, at most `MOST_DUPLICATES`."""
    seen, edge = {material_id}, {material_id}
    order: list[str] = []
    first, second = col(DuplicateLink.first_id), col(DuplicateLink.second_id)
    while edge and len(order) < MOST_DUPLICATES:
        near = select(DuplicateLink).where(first.in_(edge) | second.in_(edge), DuplicateLink.shows_same())
        links = session.exec(near.order_by(col(DuplicateLink.distance))).all()
        found = dict.fromkeys(end for link in links for end in (link.first_id, link.second_id) if end not in seen)
        order += found
        seen |= set(found)
        edge = set(found)
    return order[:MOST_DUPLICATES]


def _measures(measures: Mapping[str, object]) -> list[tuple[str, str]]:
    """Numbers and words; what a filter keeps in structures is for programs."""
    return [
        (name.replace("_", " "), f"{value:.4g}" if isinstance(value, float) else str(value))
        for name, value in sorted(measures.items())
        if isinstance(value, int | float | str)
    ]


def _sources(session: Session, material_id: str, t: Words) -> list[Source]:
    query = select(MaterialSource).where(MaterialSource.material_id == material_id).order_by(col(MaterialSource.id))
    return [
        Source(
            origin=row.origin,
            source=row.source or "",
            licence=row.licence or t("not stated"),
            author=row.author or "",
            when=t.moment(row.created_at),
        )
        for row in session.exec(query)
    ]


def _speech(session: Session, material_id: str) -> list[Line]:
    query = (
        select(Segment).where(Segment.material_id == material_id).order_by(col(Segment.start_s)).limit(MOST_SEGMENTS)
    )
    return [
        Line(
            f"{duration(row.start_s)} – {duration(row.end_s)}",
            row.speaker or "",
            row.text or "",
            row.start_s,
            row.end_s,
        )
        for row in session.exec(query)
    ]


def _uses(session: Session, who: Principal, material_id: str, t: Words) -> list[Use]:
    query = (
        select(Item.name, shown_state(session, who))
        .join(ItemRevision, col(Item.current_revision_id) == col(ItemRevision.id))
        .join(RevisionMedia, col(RevisionMedia.revision_id) == col(ItemRevision.id))
        .where(RevisionMedia.material_id == material_id)
        .distinct()
        .order_by(Item.name)
    )
    return [Use(name, t(labels.SHOWN_STATES[state])) for name, state in session.exec(query)]


def _changes(session: Session, material_id: str, now: datetime, t: Words) -> list[Change]:
    told = [event for event in history(session, "material", material_id) if "after" in event.detail]
    names = display_names(session, {event.actor for event in told})
    return [
        Change(
            who=names[event.actor],
            what=t(labels.MATERIAL_STATES[MaterialState(event.detail["after"])]),
            reason=str(event.detail.get("reason") or ""),
            when=t.ago(event.at, now),
        )
        for event in reversed(told)
    ]
