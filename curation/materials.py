"""The material library as people use it: find, list, look at, overrule."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlmodel import Session, col, or_, select

from core.content import Modality
from core.errors import InterplayError
from core.ids import Clock, utc_now
from warehouse import events
from warehouse.tables import DuplicateLink, Material, MaterialSource, MaterialState

T = TypeVar("T")

CHUNK = 500
"""Values in one IN list; SQLite takes 32 766, planners like fewer."""
BY_PERSON = "by_person"
SHORTEST_NAME = 2
HANDLE = 12
"""So many characters of a sha256 people are shown."""


class UnknownMaterial(InterplayError):
    """No material has that id or sha256."""


class AmbiguousMaterial(InterplayError):
    """Several materials' ids or sha256 begin so."""


class StaleMaterial(InterplayError):
    """Somebody else changed the material since it was read."""


class ImpossibleOverrule(InterplayError):
    """The material's state does not allow it."""


@dataclass(frozen=True)
class Overrule:
    """A person's word over a filter's: keep or drop, and why."""

    keep: bool
    reason: str
    actor: str


def find_material(session: Session, name: str) -> Material:
    """The material whose id or sha256 is or begins with `name`.

    Raises:
        UnknownMaterial: There is none.
        AmbiguousMaterial: There are several, or the name is too short to mean one.
    """
    begins = or_(
        col(Material.id).startswith(name, autoescape=True), col(Material.sha256).startswith(name, autoescape=True)
    )
    found = session.exec(select(Material).where(begins).order_by(col(Material.id)).limit(6)).all() if name else []
    exact = [material for material in found if name in (material.id, material.sha256)]
    if len(exact) == 1 or (len(found) == 1 and len(name) >= SHORTEST_NAME):
        return (exact or list(found))[0]
    if not found:
        raise UnknownMaterial(f"no material's id or sha256 begins with {name!r}; 'interplay material list' shows them")
    if len(found) == 1:
        raise AmbiguousMaterial(f"{name!r} is too short to name a material; write at least {SHORTEST_NAME} characters")
    near = ", ".join(material.sha256[:HANDLE] for material in found[:5])
    raise AmbiguousMaterial(
        f"{name!r} begins several materials ({near}); write more, best of the sha256: ids of one hour begin alike"
    )


def list_materials(
    session: Session, state: MaterialState | None = None, modality: Modality | None = None
) -> list[tuple[Material, str | None]]:
    """Materials, oldest first, each with the first place that it came from."""
    query = select(Material).order_by(col(Material.id))
    if state is not None:
        query = query.where(col(Material.state) == state)
    if modality is not None:
        query = query.where(Material.modality == modality.value)
    origins: dict[str, str] = {}
    for material_id, origin in session.exec(
        select(MaterialSource.material_id, MaterialSource.origin).order_by(col(MaterialSource.id))
    ):
        origins.setdefault(material_id, origin)
    return [(material, origins.get(material.id)) for material in session.exec(query)]


def sources_of(session: Session, material_id: str) -> list[MaterialSource]:
    """Every place that a material came from, oldest first."""
    query = select(MaterialSource).where(MaterialSource.material_id == material_id)
    return list(session.exec(query.order_by(col(MaterialSource.id))))


def sound_of(session: Session, video: Material) -> Material | None:
    """The sound that was taken out of a video; two videos with the same sound share it."""
    sound = video.measures.get("sound")
    if sound is None:
        return None
    return session.exec(select(Material).where(Material.sha256 == sound["sha256"])).first()


def links_of(session: Session, material_id: str) -> list[DuplicateLink]:
    """Evidence that other materials show the same."""
    touches = or_(col(DuplicateLink.first_id) == material_id, col(DuplicateLink.second_id) == material_id)
    return list(session.exec(select(DuplicateLink).where(touches).order_by(col(DuplicateLink.distance))))


def overrule(
    session: Session, material_id: str, expected_version: int, ruling: Overrule, clock: Clock = utc_now
) -> Material:
    """Keep a dropped material, or drop a kept one, and append the event, in the caller's transaction.

    Raises:
        UnknownMaterial: No material has that id.
        StaleMaterial: Its version is not `expected_version`.
        ImpossibleOverrule: It is so already, or was withdrawn; or no reason is given.
    """
    material = session.get(Material, material_id, with_for_update=True)
    if material is None:
        raise UnknownMaterial(f"no material has the id {material_id!r}; 'interplay material list' shows them")
    _check_overrule(material, expected_version, ruling)
    detail: dict[str, Any] = {
        "before": material.state.value,
        "before_reason": material.drop_reason,
        "before_measure": material.drop_measure,
        "reason": ruling.reason,
    }
    material.state = MaterialState.KEPT if ruling.keep else MaterialState.DROPPED
    material.drop_reason, material.drop_measure = (None, None) if ruling.keep else (BY_PERSON, ruling.reason)
    material.version += 1
    session.add(material)
    detail |= {"after": material.state.value, "version": material.version}
    events.record(session, ruling.actor, "material", material.id, "overrule", clock, **detail)
    session.flush()
    return material


def chunked(values: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """The values in lists short enough for one IN clause."""
    held = list(values)
    for start in range(0, len(held), size):
        yield held[start : start + size]


def _check_overrule(material: Material, expected_version: int, ruling: Overrule) -> None:
    name = material.sha256[:HANDLE]
    if material.version != expected_version:
        raise StaleMaterial(
            f"material {name} was changed meanwhile (version {material.version}, expected {expected_version}); "
            "look at it again and decide again"
        )
    if not ruling.reason.strip():
        raise ImpossibleOverrule(
            f"material {name}: overruling needs a reason (--reason); write why it is to be kept or dropped"
        )
    possible = {MaterialState.DROPPED: True, MaterialState.KEPT: False}.get(material.state)
    if possible is None:
        raise ImpossibleOverrule(f"material {name} is {material.state.value}; nothing can be overruled")
    if possible != ruling.keep:
        verb = "keep" if possible else "drop"
        raise ImpossibleOverrule(f"material {name} is {material.state.value} already; possible: {verb}")
