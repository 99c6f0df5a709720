"""What people decide about materials."""

from sqlmodel import Session

from annotation_ui.permissions import Permission, Principal, authorize
from annotation_ui.told import Told
from annotation_ui.words import N_
from core.errors import UnknownName
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.tables import Material, MaterialState

BY_A_PERSON = "by_a_person"
MOST_REASON = 500


class MaterialChanged(Told):
    """Somebody else decided since the page was drawn."""

    text = N_("Somebody changed this material meanwhile. Look at it again and decide anew.")


class MaterialWithdrawn(Told):
    """A withdrawn material stays withdrawn: the one who gave it has taken it back."""

    text = N_("This material was withdrawn by the one who gave it. It cannot be used again.")


class ReasonNeeded(Told):
    """A decision that must say why."""

    text = N_("Say why: a decision without a reason cannot be checked later.")


def decide_material(
    session: Session,
    who: Principal,
    material_id: str,
    expected_version: int,
    state: MaterialState,
    reason: str,
    clock: Clock = utc_now,
) -> Material:
    """Keep or drop a material, overruling filters and earlier decisions; the same decision handed in twice is one.

    Raises:
        NotAllowed, AccountInactive, UnknownName, ReasonNeeded, MaterialWithdrawn, MaterialChanged: As they say.
    """
    now = authorize(session, who, Permission.CURATE)
    material = session.get(Material, material_id, with_for_update=True)
    if material is None:
        raise UnknownName("material", material_id, ())
    if not (reason := reason.strip()[:MOST_REASON]):
        raise ReasonNeeded
    if MaterialState.WITHDRAWN in {material.state, state}:
        raise MaterialWithdrawn
    if material.version != expected_version:
        if _is_repeated(session, material, now, state, reason):
            return material
        raise MaterialChanged
    before, overruled = material.state, material.drop_reason
    material.state = state
    material.version += 1
    dropped = state == MaterialState.DROPPED
    material.drop_reason = BY_A_PERSON if dropped else None
    material.drop_measure = reason if dropped else None
    session.add(material)
    action = "drop" if dropped else "keep"
    events.record(
        session, now.user_id, "material", material.id, action, clock,
        before=before.value, after=state.value, version=material.version, reason=reason, overruled=overruled,
    )  # fmt: skip
    return material


def _is_repeated(session: Session, material: Material, who: Principal, state: MaterialState, reason: str) -> bool:
    last = events.history(session, "material", material.id)[-1:]
    return material.state == state and any(
        event.actor == who.user_id and event.detail.get("reason") == reason for event in last
    )
