"""What of ours is compared: current revisions of items, and kept materials with their words and looks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from core.provenance import content_hash
from curation.contamination.entries import document_of
from curation.contamination.texts import Document
from curation.embedding.words import words_of_library
from curation.materials import find_material
from warehouse.items import current_revision, find_item, revisions_in
from warehouse.release.records import lineages
from warehouse.tables import Item, ItemRevision, ItemState, Material, MaterialState, RevisionMedia

# What is gone is nobody's question any more.
_GONE = frozenset({ItemState.REJECTED, ItemState.RETIRED})


class SubjectKind(StrEnum):
    """What a comparison was about."""

    MATERIAL = "material"
    REVISION = "revision"


@dataclass(frozen=True)
class Subject:
    """A revision or a material.

    Attributes:
        kind: Which of them.
        id: Of the revision or the material.
        document: Its texts; None where it has none.
        modality: Of a material.
        sha256s: Of a material's bytes as received and of its working copy.
        looks: Of a material, by method.
    """

    kind: SubjectKind
    id: str
    document: Document | None = None
    modality: str | None = None
    sha256s: tuple[str, ...] = ()
    looks: Mapping[str, Any] = field(default_factory=dict)

    @property
    def texts_mark(self) -> str:
        """What changes when its texts do: nothing for a revision, which never changes."""
        if self.kind is SubjectKind.REVISION or self.document is None:
            return ""
        return "#" + content_hash([one.text for one in self.document.fields])[:12]


def revisions(session: Session) -> list[Subject]:
    """The current revision of every item that was not rejected or retired, by the items' names."""
    standing = revisions_in(session, *(set(ItemState) - _GONE))
    return [Subject(SubjectKind.REVISION, revision.id, document_of(revision.as_question())) for _, revision in standing]


def standing_revisions() -> SelectOfScalar[str]:
    """A query for the ids of what `revisions` gives."""
    current = col(Item.current_revision_id) == col(ItemRevision.id)
    return select(ItemRevision.id).join(Item, current).where(col(Item.state).not_in(_GONE))


def materials(session: Session) -> list[Subject]:
    """All kept materials, by id."""
    words = {one.material_id: Document.of([("words", one.text)]) for one in words_of_library(session)}
    query = select(Material).where(col(Material.state) == MaterialState.KEPT).order_by(col(Material.id))
    return [
        Subject(
            SubjectKind.MATERIAL,
            material.id,
            words.get(material.id),
            material.modality,
            (material.sha256, material.media["sha256"]),
            material.looks,
        )
        for material in session.exec(query)
    ]


def subjects_of(session: Session, name: str) -> list[tuple[SubjectKind, str]]:
    """Kinds and ids behind a name: of an item its current revision and what it shows; else of a material.

    With each material come those that it was taken from.

    Raises:
        UnknownMaterial, AmbiguousMaterial: It is no item's name, and no material's id or sha256 begins so.
    """
    item = find_item(session, name)
    if item is None:
        shown = [find_material(session, name)]
        found: list[tuple[SubjectKind, str]] = []
    else:
        revision = current_revision(session, item)
        query = select(Material).join(RevisionMedia).where(RevisionMedia.revision_id == revision.id)
        shown = list(session.exec(query))
        found = [(SubjectKind.REVISION, revision.id)]
    lines = lineages(session, shown)
    return found + [(SubjectKind.MATERIAL, id_) for id_ in sorted({one.id for line in lines.values() for one in line})]
