"""Counterfactual twins: a sibling of an item with one modality's material swapped, and another key."""

from sqlmodel import Session, select

from annotation_ui.drafting.content import DraftContent, content_of
from annotation_ui.drafting.drafts import NotRevisable, may_revise, opened
from annotation_ui.forms import once
from annotation_ui.permissions import Permission, Principal, authorize
from annotation_ui.told import Told
from annotation_ui.words import N_
from core.ids import Clock, utc_now
from warehouse.items import current_revision, find_item, join_twin_group
from warehouse.lifecycle import lock_item
from warehouse.tables import ItemDraft, Material, MaterialState, RevisionMedia

_TWIN = "make a twin"


class NotSwappable(Told):
    """A twin whose new material does not fit in the place of the old one."""

    text = N_("Choose a kept {modality} other than the one that stands there now.")


def twin_of_item(
    session: Session,
    who: Principal,
    item_name: str,
    placeholder: str,
    material_id: str,
    form_key: str,
    clock: Clock = utc_now,
) -> ItemDraft:
    """A draft that says what the item says, but for one material and the key, which its author still has to give.

    Both are in one twin group, so that they are scored together and land in the same split.

    Raises:
        NotAllowed, AccountInactive, NotRevisable, NotSwappable, TooManyDrafts, FormMisused: As they say.
    """
    who = authorize(session, who, Permission.AUTHOR)

    def make() -> str:
        item = find_item(session, item_name)
        if item is None or not may_revise(session, who, item):
            raise NotRevisable
        item = lock_item(session, item.id)
        revision = current_revision(session, item)
        shown = session.exec(select(RevisionMedia).where(RevisionMedia.revision_id == revision.id))
        media = {one.placeholder: one.material_id for one in shown}
        group = join_twin_group(session, item, item.twin_group or item.name[:64], who.user_id, clock)
        content = content_of("", revision, media, group)
        return opened(session, who, _swapped(session, content, placeholder, material_id), clock).id

    return session.get_one(ItemDraft, once(session, who, form_key, _TWIN, make, clock))


def _swapped(session: Session, content: DraftContent, placeholder: str, material_id: str) -> DraftContent:
    """The content with another material of the same modality, without what was true of the old one only."""
    material, old = session.get(Material, material_id), content.media.get(placeholder)
    modality = placeholder.partition("_")[0]
    fits = material is not None and material.state == MaterialState.KEPT and material.modality == modality
    if not fits or old is None or old == material_id:
        raise NotSwappable(modality=modality)
    return content.model_copy(
        update={
            "media": {**content.media, placeholder: material_id},
            "evidence": {place: told for place, told in content.evidence.items() if place != placeholder},
            "correct": [],
            "accepted": [],
            "steps": [step.model_copy(update={"accepted": []}) for step in content.steps],
        }
    )
