"""Which questions results are about, who may look at them, and what their numbers rest on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select
from sqlmodel import Session, col, func, select

from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.views.item import SETTLED, sees_key
from annotation_ui.words import Words
from core.content import Modality
from core.provenance import content_hash
from evaluation.run import evaluated_models
from warehouse.database import portions
from warehouse.facts import FactStore
from warehouse.tables import Item, ItemRevision, ItemState, Material, Release, ReleaseItem, RevisionMedia

FACTS_READ = ("response", "grade")


@dataclass(frozen=True)
class Scope:
    """Which questions the numbers are about: a release, or (without an id) every item whose review is over."""

    release_id: str | None
    label: str
    question_count: int

    @property
    def code(self) -> str:
        """What the address calls it."""
        return self.release_id or "all"


@dataclass(frozen=True)
class Basis:
    """All that the numbers of a scope rest on: of equal ones all numbers are the same.

    Attributes:
        title: Of the scope.
        revision_ids: Of the questions.
        models: That were evaluated on a release; None for all that ever answered.
        questions: A hash of the questions with all that reports read of them.
        key: A hash of everything: the questions, the models and the stored answers and grades.
    """

    title: str
    revision_ids: tuple[str, ...]
    models: tuple[str, ...] | None
    questions: str
    key: str


def scopes(session: Session, who: Principal, t: Words) -> list[Scope]:
    """What can be looked at, the newest release first.

    Raises:
        NotAllowed: The person may not see results.
    """
    require(who, Permission.SEE_RESULTS)
    counted = (
        select(Release, func.count(col(ReleaseItem.revision_id)))
        .join(ReleaseItem, col(ReleaseItem.release_id) == col(Release.id), isouter=True)
        .group_by(col(Release.id))
        .order_by(col(Release.created_at).desc())
    )
    found = [Scope(one.id, f"{one.name} {one.version}", count) for one, count in session.exec(counted)]
    settled = session.exec(_of(select(func.count(col(ItemRevision.id))), who, None)).one()
    return [*found, Scope(None, t("All items"), settled)] if settled or not found else found


def basis(session: Session, who: Principal, scope: Scope, facts: FactStore) -> Basis:
    """What the numbers of a scope rest on at this moment, as far as this person may see it.

    Raises:
        NotAllowed: The person may not see results.
    """
    require(who, Permission.SEE_RESULTS)
    asked = session.exec(_of(select(ItemRevision.id, Item.twin_group), who, scope.release_id)).all()
    sounds = (
        _of(select(ItemRevision.id, Material.id, Material.audio_type), who, scope.release_id)
        .join(RevisionMedia, col(RevisionMedia.revision_id) == col(ItemRevision.id))
        .join(Material, col(Material.id) == col(RevisionMedia.material_id))
        .where(col(Material.modality) == Modality.AUDIO.value)
    )
    models = None if scope.release_id is None else evaluated_models(session, scope.label)
    read = [sorted(map(list, asked)), sorted(map(list, session.exec(sounds)), key=lambda row: row[:2])]
    questions = content_hash(read)
    files = {kind: facts.files(kind) for kind in FACTS_READ}
    return Basis(
        title=scope.label,
        revision_ids=tuple(sorted(revision_id for revision_id, _ in asked)),
        models=None if models is None else tuple(models),
        questions=questions,
        key=content_hash([scope.label, questions, models, files]),
    )


def hidden_revisions(session: Session, who: Principal, revision_ids: Sequence[str], now: datetime) -> set[str]:
    """Those of some questions whose answers would tell a key to somebody who must not know it yet."""
    seen: set[str] = set()
    visible = select(ItemRevision.id).join(Item, col(Item.id) == col(ItemRevision.item_id))
    visible = visible.where(sees_key(session, who, now))
    for ids in portions(sorted(set(revision_ids))):
        seen |= set(session.exec(visible.where(col(ItemRevision.id).in_(ids))))
    return set(revision_ids) - seen


def _of(query: Any, who: Principal, release_id: str | None) -> Any:
    """The query over revisions and their items, narrowed to a release, or to settled items; maintainers get all."""
    joined: Select[Any] = query.select_from(ItemRevision)
    if release_id is not None:
        joined = joined.join(Item, col(Item.id) == col(ItemRevision.item_id))
        joined = joined.join(ReleaseItem, col(ReleaseItem.revision_id) == col(ItemRevision.id))
        return joined.where(col(ReleaseItem.release_id) == release_id)
    # Numbers are of many items, and tell no key; whose answers show, `hidden_revisions` says.
    states = list(ItemState) if who.may(Permission.SEE_EVERY_KEY) else sorted(SETTLED)
    joined = joined.join(Item, col(Item.current_revision_id) == col(ItemRevision.id))
    return joined.where(col(Item.state).in_(states))
