"""What can be swapped to make an item's twin."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from annotation_ui.drafting.drafts import may_revise
from annotation_ui.media_links import MediaLinks
from annotation_ui.permissions import Permission, Principal
from annotation_ui.views.materials import Card, cards_of
from annotation_ui.words import Words
from core.content import Modality
from warehouse.tables import Item, Material, RevisionMedia


@dataclass(frozen=True)
class Swappable:
    """A placeholder of the current revision, with the material that stands there now."""

    placeholder: str
    modality: Modality
    card: Card


def swappable(session: Session, who: Principal, item: Item, links: MediaLinks, t: Words) -> list[Swappable]:
    """The media of an item, by placeholder; none where the person may not make its twin."""
    if not (who.may(Permission.AUTHOR) and may_revise(session, who, item)):
        return []
    query = (
        select(RevisionMedia.placeholder, Material)
        .join(Material, col(Material.id) == col(RevisionMedia.material_id))
        .where(RevisionMedia.revision_id == item.current_revision_id)
    )
    shown: Sequence[tuple[str, Material]] = sorted(session.exec(query).all(), key=lambda one: one[0])
    cards = cards_of(session, who, [material for _, material in shown], links, t)
    by_id = {card.id: card for card in cards}
    return [Swappable(place, Modality(row.modality), by_id[row.id]) for place, row in shown]
