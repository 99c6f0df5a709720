"""What waits for the reader, and the page where it is done."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlmodel import Session, col, func, select

from annotation_ui.drafting.drafts import open_drafts
from annotation_ui.examining.desk import open_seats
from annotation_ui.permissions import Permission, Principal
from annotation_ui.views.takes import takes_to_decide
from annotation_ui.words import Words
from core.ids import Clock
from qc.review.disputes import disputes
from qc.review.queue import waiting_for
from warehouse.people import Role
from warehouse.tables import Item, ItemRevision, ItemState


@dataclass(frozen=True)
class Task:
    """Something that waits for the reader, and the page where it is done, with what its address says."""

    label: str
    count: int
    page: str
    query: Mapping[str, str] = field(default_factory=dict)


def tasks(session: Session, who: Principal, now: datetime, t: Words) -> list[Task]:
    """All that the reader's roles ask of them; rare ones only where there are any."""
    found = [*_writing(session, who, t), *_judging(session, who, lambda: now, t)]
    if seats := len(open_seats(session, who)):
        found.append(Task(t("Exams to sit"), seats, "exam"))
    return found


def _writing(session: Session, who: Principal, t: Words) -> Iterator[Task]:
    if not who.may(Permission.AUTHOR):
        return
    mine = col(ItemRevision.author).in_([who.user_id, who.name])
    current = (
        select(func.count()).select_from(Item).join(ItemRevision, col(Item.current_revision_id) == col(ItemRevision.id))
    )
    drafts = open_drafts(session, who)
    begun = [draft.item_id for draft in drafts if draft.item_id]
    unbegun = current.where(mine, Item.state == ItemState.DRAFT, col(Item.id).not_in(begun))
    returned = current.where(mine, Item.state == ItemState.RETURNED)
    yield Task(t("Your drafts"), len(drafts) + session.exec(unbegun).one(), "author")
    yield Task(t("Returned to you"), session.exec(returned).one(), "author")


def _judging(session: Session, who: Principal, clock: Clock, t: Words) -> Iterator[Task]:
    if Role.REVIEWER in who.roles:
        waiting = waiting_for(session, who.name, clock)
        yield Task(t("Questions to review"), waiting.reviews, "review")
        if waiting.open_cases:
            yield Task(t("Open cases to decide"), waiting.open_cases, "review")
    if who.may(Permission.SEE_EVERY_KEY) and (stuck := len(disputes(session, who.name, clock))):
        yield Task(t("Disputes to decide"), stuck, "review")
    if who.may(Permission.REVIEW):
        yield Task(t("Takes to decide"), takes_to_decide(session, who), "takes", {"list": "waiting"})
