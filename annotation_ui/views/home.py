"""What the start page says: where the work stands, what waits for the reader, what happened last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, func, select

from annotation_ui import labels
from annotation_ui.people import display_names
from annotation_ui.permissions import Permission, Principal
from annotation_ui.views.formats import source_title
from annotation_ui.views.item import is_kept_blind
from annotation_ui.views.my_work import Task, tasks
from annotation_ui.words import N_, Words
from warehouse.lifecycle import Action
from warehouse.tables import (
    Event,
    Item,
    ItemState,
    Material,
    MaterialSource,
    MaterialState,
)

RECENT_EVENTS = 10
_FUNNEL = (
    ItemState.DRAFT,
    ItemState.SUBMITTED,
    ItemState.ROUND1_PASSED,
    ItemState.ROUND2_PASSED,
    ItemState.ACCEPTED,
    ItemState.RELEASED,
)
_ASIDE = (ItemState.RETURNED, ItemState.REJECTED, ItemState.RETIRED)
_WAITING_FOR = {
    ItemState.SUBMITTED: N_("Round 1: automatic checks and models"),
    ItemState.ROUND1_PASSED: N_("Round 2: the ablation study"),
    ItemState.ROUND2_PASSED: N_("Round 3: reviewers"),
    ItemState.RETURNED: N_("The author: a new revision"),
    ItemState.ACCEPTED: N_("The next release"),
}

# These tell that nobody waits for an item any more, and most of them how it was judged.
_SETTLING = {Action.ACCEPT, Action.RELEASE, Action.RETIRE, Action.REJECT, Action.REOPEN}


@dataclass(frozen=True)
class Stage:
    """One bar of the funnel; `share` in [0, 1] is its length against the longest."""

    label: str
    count: int
    share: float


@dataclass(frozen=True)
class Waiting:
    """Items that wait for the same thing."""

    label: str
    count: int
    longest: str


@dataclass(frozen=True)
class Happening:
    """One line of recent events."""

    who: str
    what: str
    when: str
    exact: str


@dataclass(frozen=True)
class Home:
    """The start page."""

    is_empty: bool
    tasks: Sequence[Task]
    funnel: Sequence[Stage]
    aside: Sequence[Stage]
    waiting: Sequence[Waiting]
    happenings: Sequence[Happening]


def home(session: Session, who: Principal, now: datetime, t: Words) -> Home:
    """The start page as this person sees it. Who may not see items gets what waits for them, and nothing else."""
    if not who.may(Permission.SEE_ITEMS):
        return Home(False, tasks(session, who, now, t), (), (), (), ())
    kept = session.exec(select(func.count()).select_from(Material).where(Material.state == MaterialState.KEPT)).one()
    by_state = _count_states(session)
    longest = max(kept, *by_state.values(), 1) if by_state else max(kept, 1)
    stages = [Stage(t("Materials kept"), kept, kept / longest)]
    stages += [_stage(state, by_state, longest, t) for state in _FUNNEL]
    return Home(
        is_empty=not kept and not by_state,
        tasks=tasks(session, who, now, t),
        funnel=stages,
        aside=[_stage(state, by_state, longest, t) for state in _ASIDE if by_state.get(state)],
        waiting=_waiting(session, now, t),
        happenings=_happenings(session, who, now, t),
    )


def _count_states(session: Session) -> Mapping[ItemState, int]:
    return dict(session.exec(select(col(Item.state), func.count()).group_by(col(Item.state))).all())


def _stage(state: ItemState, by_state: Mapping[ItemState, int], longest: int, t: Words) -> Stage:
    count = by_state.get(state, 0)
    return Stage(t(labels.ITEM_STATES[state]), count, count / longest)


def _waiting(session: Session, now: datetime, t: Words) -> list[Waiting]:
    since = (
        select(Event.subject_id, func.max(Event.at).label("at"))
        .where(Event.subject_kind == "item", ~col(Event.action).startswith("verdict"))
        .group_by(col(Event.subject_id))
        .subquery()
    )
    query = (
        select(Item.state, func.count(), func.min(since.c.at))
        .join(since, col(Item.id) == since.c.subject_id)
        .where(col(Item.state).in_(list(_WAITING_FOR)))
        .group_by(col(Item.state))
    )
    found = {state: (count, oldest) for state, count, oldest in session.exec(query)}
    return [
        Waiting(t(label), found[state][0], t.span(now - found[state][1]))
        for state, label in _WAITING_FOR.items()
        if state in found
    ]


def _happenings(session: Session, who: Principal, now: datetime, t: Words) -> list[Happening]:
    told = {action for kind, action in labels.EVENTS if kind == "item"}
    if is_kept_blind(session, who):
        told -= _SETTLING
    recent = session.exec(
        select(Event)
        .where(
            ((col(Event.subject_kind) == "item") & col(Event.action).in_(told))
            | ((col(Event.subject_kind) == "material") & (col(Event.action) == "overrule"))
        )
        .order_by(col(Event.sequence).desc())
        .limit(RECENT_EVENTS)
    ).all()
    names = display_names(session, {event.actor for event in recent})
    subjects = _subject_names(session, {event.subject_id for event in recent})
    return [
        Happening(names[event.actor], what, t.ago(event.at, now), t.moment(event.at))
        for event in recent
        if (what := labels.happening(t, event, subjects[event.subject_id])) is not None
    ]


def _subject_names(session: Session, ids: set[str]) -> Mapping[str, str]:
    items = session.exec(select(Item.id, Item.name).where(col(Item.id).in_(ids))).all()
    sources = session.exec(
        select(MaterialSource.material_id, MaterialSource.origin).where(col(MaterialSource.material_id).in_(ids))
    ).all()
    materials = {material_id: source_title(origin) for material_id, origin in sources}
    return {subject_id: subject_id[:8] for subject_id in ids} | materials | dict(items)
