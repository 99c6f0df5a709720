"""What search needs to know of each material, read from the tables."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlmodel import Session, col, func, select

from curation.filters.language import language_of
from curation.materials import chunked
from curation.tagging.tags import FREE, tags_of
from warehouse.tables import (
    Caption,
    CaptionState,
    Contributor,
    Item,
    ItemState,
    Material,
    MaterialSource,
    Recording,
    RevisionMedia,
    Segment,
)

TAG = "tag"
_IDLE = (ItemState.REJECTED, ItemState.RETIRED)
"""Items in these states use nothing."""


@dataclass
class Doc:
    """A material as it is searched: what it is, what it can be chosen by, and the words said, told and naming it."""

    material: Material
    origin: str | None = None
    uses: int = 0
    labels: set[tuple[str, str]] = field(default_factory=set)
    said: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)


def read_docs(session: Session, material_ids: Sequence[str]) -> Iterator[Doc]:
    """The documents of some materials; those that do not exist are left out."""
    for ids in chunked(material_ids):
        found = session.exec(select(Material).where(col(Material.id).in_(ids)).order_by(col(Material.id)))
        docs = {material.id: Doc(material) for material in found}
        _add_own(docs)
        _add_sources(session, docs)
        _add_tags(session, docs)
        _add_words(session, docs)
        _add_dialects(session, docs)
        _add_uses(session, docs)
        yield from docs.values()


def _add_own(docs: dict[str, Doc]) -> None:
    for doc in docs.values():
        material = doc.material
        if material.audio_type:
            doc.labels.add(("audio_type", material.audio_type))
        if material.audio_content:
            (doc.said if material.audio_type == "speech" else doc.told).append(material.audio_content)


def _add_sources(session: Session, docs: dict[str, Doc]) -> None:
    query = select(MaterialSource).where(col(MaterialSource.material_id).in_(docs))
    for source in session.exec(query.order_by(col(MaterialSource.id))):
        doc = docs[source.material_id]
        doc.origin = doc.origin or source.origin
        doc.named += [text for text in (source.origin, source.source, source.author) if text]
        doc.labels |= {(kind, value) for kind in ("licence", "source") if (value := getattr(source, kind))}


def _add_tags(session: Session, docs: dict[str, Doc]) -> None:
    for material_id, tags in tags_of(session, docs).items():
        for tag in tags:
            docs[material_id].named.append(tag.value)
            docs[material_id].labels |= {(TAG, tag.value)} | ({(tag.facet, tag.value)} if tag.facet != FREE else set())


def _add_words(session: Session, docs: dict[str, Doc]) -> None:
    spoken = select(Segment).where(col(Segment.material_id).in_(docs))
    for segment in session.exec(spoken.order_by(col(Segment.start_s), col(Segment.id))):
        doc = docs[segment.material_id]
        if segment.text:
            doc.said.append(segment.text)
        if segment.language:
            doc.labels.add(("language", segment.language))
    for doc in docs.values():
        spoken_in = {kind for kind, _ in doc.labels}
        if doc.said and "language" not in spoken_in and (language := language_of(" ".join(doc.said))):
            doc.labels.add(("language", language))
    standing = (CaptionState.ACCEPTED, CaptionState.PROPOSED)
    captions = select(Caption).where(col(Caption.material_id).in_(docs), col(Caption.state).in_(standing))
    for caption in session.exec(captions.order_by(col(Caption.id))):
        docs[caption.material_id].told.append(caption.text)


def _add_dialects(session: Session, docs: dict[str, Doc]) -> None:
    query = (
        select(Recording.material_id, Recording.dialect, Contributor.dialect)
        .join(Contributor, col(Contributor.id) == col(Recording.contributor_id))
        .where(col(Recording.material_id).in_(docs))
    )
    for material_id, asked, own in session.exec(query):
        if material_id and (dialect := asked or own):
            docs[material_id].labels.add(("dialect", dialect))


def _add_uses(session: Session, docs: dict[str, Doc]) -> None:
    query = (
        select(RevisionMedia.material_id, func.count(func.distinct(Item.id)))
        .join(Item, col(Item.current_revision_id) == col(RevisionMedia.revision_id))
        .where(col(RevisionMedia.material_id).in_(docs), col(Item.state).not_in(_IDLE))
        .group_by(col(RevisionMedia.material_id))
    )
    counts: defaultdict[str, int] = defaultdict(int, session.exec(query).all())
    for material_id, doc in docs.items():
        doc.uses = counts[material_id]
