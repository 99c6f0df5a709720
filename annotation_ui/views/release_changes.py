"""What a release changed against an earlier one: what came, what went and why, what is another now."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from annotation_ui import labels
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.views.item import is_kept_blind
from annotation_ui.views.paging import paging
from annotation_ui.views.releases import SPLITS, ReleaseDetail
from annotation_ui.words import N_, Words
from warehouse.release.diff import diff_releases
from warehouse.release.records import RELEASABLE
from warehouse.release.splits import Split
from warehouse.tables import Item, Release, ReleaseState

PAGE_SIZE = 50
ADDED, CHANGED, REMOVED = "added", "changed", "removed"
HOW = {ADDED: N_("Added"), CHANGED: N_("Changed"), REMOVED: N_("Removed")}
_PARTS = {
    "prompt": N_("the question"),
    "media": N_("its media"),
    "kind": N_("its kind"),
    "choices": N_("the choices"),
    "answer": N_("the answer"),
    "steps": N_("the steps"),
    "required": N_("what it needs"),
    "task_type": N_("the task type"),
    "language": N_("the language"),
    "asked_in": N_("how it is asked"),
}
_MOVED = re.compile(r"split \((\w+) -> (\w+)\)")


@dataclass(frozen=True)
class ChangeRow:
    """One item that is otherwise than before, and why."""

    item: str
    how: str
    how_label: str
    why: str


@dataclass(frozen=True)
class ChangesPage:
    """One page of the changes; `counts` are of all, by what happened. Of what `is_kept_back` there are no rows."""

    rows: Sequence[ChangeRow]
    counts: Mapping[str, int]
    page_count: int
    is_kept_back: bool


def versions_before(session: Session, detail: ReleaseDetail) -> dict[str, str]:
    """Other versions of the same name, as ids and versions: the one to compare with comes first.

    That is the one sealed last before this one was; drafts come last.
    """
    own = session.get_one(Release, detail.row.id)
    others = session.exec(select(Release).where(Release.name == own.name, Release.id != own.id)).all()
    moment = own.sealed_at or datetime.max.replace(tzinfo=own.created_at.tzinfo)

    def nearness(one: Release) -> tuple[bool, bool, float]:
        at = one.sealed_at or one.created_at
        return (one.state != ReleaseState.SEALED, at > moment, -at.timestamp())

    return {one.id: one.version for one in sorted(others, key=nearness)}


def changes_page(
    session: Session, who: Principal, detail: ReleaseDetail, before: str, how: str | None, page: int, t: Words
) -> ChangesPage:
    """The asked page of what changed since the version `before`, all of it or what happened in one way.

    Raises:
        NotAllowed: The person may not see results.
    """
    require(who, Permission.SEE_RESULTS)
    found = diff_releases(session, detail.name, before, detail.version)
    names = {ADDED: found.added, CHANGED: list(found.changed), REMOVED: found.removed}
    # Which items are in a release tells which are decided.
    is_kept_back = is_kept_blind(session, who)
    chosen = [(way, name) for way in HOW if how in (None, way) and not is_kept_back for name in names[way]]
    at = paging(len(chosen), PAGE_SIZE, page)
    shown = chosen[at.rows]
    items = _items(session, [name for _, name in shown])
    earlier = session.exec(select(Release).where(Release.name == detail.name, Release.version == before)).one()

    def why(way: str, name: str) -> str:
        if way == CHANGED:
            return t(", ").join(_part(one, t) for one in found.changed[name])
        if way == ADDED:
            is_new = items[name].created_at > earlier.created_at
            return t("written since") if is_new else t("accepted or asked for since")
        if name in found.withdrawn:
            return t("somebody withdrew what it shows")
        state = items[name].state
        if state in RELEASABLE:
            return t("not among what this version asks for")
        return t("it stands at “{state}” now", state=t(labels.ITEM_STATES[state]))

    return ChangesPage(
        rows=[ChangeRow(name, way, t(HOW[way]), why(way, name)) for way, name in shown],
        counts={way: len(names[way]) for way in HOW},
        page_count=at.page_count,
        is_kept_back=is_kept_back,
    )


def _items(session: Session, names: Sequence[str]) -> dict[str, Item]:
    return {item.name: item for item in session.exec(select(Item).where(col(Item.name).in_(names)))}


def _part(what: str, t: Words) -> str:
    moved = _MOVED.fullmatch(what)
    if moved:
        before, after = (t(SPLITS[Split(one)]) for one in moved.groups())
        return t("its split: {before} → {after}", before=before, after=after)
    return t(_PARTS[what]) if what in _PARTS else what
