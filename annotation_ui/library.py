"""What people do with materials: decide about them, bring new ones in."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from sqlmodel import Session

from annotation_ui.permissions import Permission, Principal, authorize
from annotation_ui.told import Told
from annotation_ui.words import N_
from core.ids import Clock, utc_now
from curation.entries import Claims, Entry
from curation.ingest import IngestReport, ingest
from curation.materials import Overrule, StaleMaterial, UnknownMaterial, overrule
from curation.tagging.tags import Tag, say
from warehouse import events
from warehouse.tables import Material, MaterialState
from warehouse.workspace import Workspace

MOST_REASON = 500
SUFFIX_LENGTH = 12


class MaterialChanged(Told):
    """Somebody else decided since the page was drawn."""

    text = N_("Somebody changed this material meanwhile. Look at it again and decide anew.")


class MaterialWithdrawn(Told):
    """A withdrawn material stays withdrawn: the one who gave it has taken it back."""

    text = N_("This material was withdrawn by the one who gave it. It cannot be used again.")


class ReasonNeeded(Told):
    """A decision that must say why."""

    text = N_("Say why: a decision without a reason cannot be checked later.")


class NothingDecided(Told):
    """A group that was handed in as it was."""

    text = N_("Choose “Keep” or “Drop” otherwise for at least one of them.")


@dataclass(frozen=True)
class Ruling:
    """What is decided about one material of several; `expected_version` is of the row that was looked at."""

    material_id: str
    expected_version: int
    keep: bool


@dataclass(frozen=True)
class Upload:
    """A file from somebody's browser: its name there, and its bytes."""

    name: str
    stream: IO[bytes]


def decide_material(
    session: Session,
    who: Principal,
    material_id: str,
    expected_version: int,
    keep: bool,
    reason: str,
    clock: Clock = utc_now,
) -> Material:
    """Keep or drop a material, over filters and earlier decisions; the same decision handed in twice is one.

    Raises:
        NotAllowed, AccountInactive, ReasonNeeded, MaterialWithdrawn, MaterialChanged, UnknownMaterial: As they say.
    """
    now = authorize(session, who, Permission.CURATE)
    ruling = Overrule(keep, reason.strip()[:MOST_REASON], now.user_id)
    if not ruling.reason:
        raise ReasonNeeded
    material = session.get(Material, material_id, with_for_update=True)
    if material is not None and material.state == MaterialState.WITHDRAWN:
        raise MaterialWithdrawn
    if material is not None and _was_said(session, material, ruling):
        return material
    try:
        return overrule(session, material_id, expected_version, ruling, clock)
    except StaleMaterial:
        raise MaterialChanged from None


def decide_together(
    session: Session, who: Principal, rulings: Sequence[Ruling], reason: str, clock: Clock = utc_now
) -> None:
    """Keep or drop several materials that were compared, all or none; each as `decide_material` does.

    Raises:
        NothingDecided: There are none.
        NotAllowed, AccountInactive, ReasonNeeded, MaterialWithdrawn, MaterialChanged, UnknownMaterial: As they say.
    """
    if not rulings:
        raise NothingDecided
    # In one order for everybody: two who decide about the same group wait for one another instead of for ever.
    for one in sorted(rulings, key=lambda ruling: ruling.material_id):
        decide_material(session, who, one.material_id, one.expected_version, one.keep, reason, clock)


def say_tag(session: Session, who: Principal, material_id: str, tag: Tag, holds: bool, clock: Clock = utc_now) -> bool:
    """A person's word on a tag: that it is right, or that it is wrong, whoever or whatever said it before.

    The last word of people counts, so that a form which is handed in twice changes nothing more. Returns whether it
    changed anything.

    Raises:
        NotAllowed, AccountInactive, MaterialWithdrawn, UnknownMaterial: As they say.
    """
    now = authorize(session, who, Permission.CURATE)
    material = session.get(Material, material_id, with_for_update=True)
    if material is None:
        raise UnknownMaterial(f"no material has the id {material_id!r}")
    if material.state == MaterialState.WITHDRAWN:
        raise MaterialWithdrawn
    return say(session, material, tag, now.user_id, holds=holds, clock=clock)


def bring_in(
    workspace: Workspace, who: Principal, uploads: Sequence[Upload], claims: Claims, clock: Clock = utc_now
) -> IngestReport:
    """Take uploaded files into the library, through the same checks as every other file.

    Raises:
        NotAllowed, AccountInactive: As they say.
        NothingToIngest: There are no uploads.
    """
    with workspace.database.reading() as session:
        now = authorize(session, who, Permission.CURATE, reads=True)
    folder = workspace.project.root / "cache" / "uploads"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        entries = [
            Entry(_saved(upload, Path(place) / str(number)), origin, claims)
            for number, (upload, origin) in enumerate(zip(uploads, _origins(uploads), strict=True))
        ]
        return ingest(workspace, entries, called_with={"from": "studio", "by": now.user_id}, clock=clock)


def _was_said(session: Session, material: Material, ruling: Overrule) -> bool:
    target = MaterialState.KEPT if ruling.keep else MaterialState.DROPPED
    last = events.history(session, "material", material.id)[-1:]
    return material.state == target and any(
        event.actor == ruling.actor and event.detail.get("reason") == ruling.reason for event in last
    )


def _origins(uploads: Sequence[Upload]) -> list[str]:
    """The files' own names; those that come more than once are numbered."""
    names = [PurePosixPath(upload.name.replace("\\", "/")).name or "file" for upload in uploads]
    seen: Counter[str] = Counter()
    origins: list[str] = []
    for name in names:
        seen[name] += 1
        origins.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return origins


def _saved(upload: Upload, place: Path) -> Path:
    """The upload as a file whose name is ours but for its ending, by which a disguise is told."""
    suffix = PurePosixPath(upload.name).suffix
    file = place.with_suffix(suffix if suffix[1:].isalnum() and len(suffix) <= SUFFIX_LENGTH else "")
    with file.open("wb") as target:
        shutil.copyfileobj(upload.stream, target)
    return file
