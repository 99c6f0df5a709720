"""What consents cover, and whether they hold at a moment."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum

from sqlmodel import col, or_, select

from warehouse.database import Database
from warehouse.tables import Consent, Event, Material, MaterialState, Recording


class Scope(StrEnum):
    """What somebody can agree to: three uses, and what of them may be recorded."""

    TRAIN = "train"
    EVALUATE = "evaluate"
    PUBLISH = "publish"
    VOICE = "voice"
    FACE = "face"


def consent_problems(consent: Consent, needed: Iterable[Scope], now: datetime) -> Iterator[str]:
    """Why a consent does not allow what needs these scopes at that moment, in words; nothing when it does."""
    if consent.withdrawn_at is not None:
        yield f"consent {consent.id} was withdrawn on {consent.withdrawn_at:%Y-%m-%d}"
        return
    missing = [scope.value for scope in needed if scope not in consent.scope]
    if missing:
        yield f"consent {consent.id} covers {', '.join(consent.scope) or 'nothing'}, not {' and '.join(missing)}"
    if consent.expires_at is not None and consent.expires_at <= now:
        yield f"consent {consent.id} ended on {consent.expires_at:%Y-%m-%d}"


def withdrawn_at(database: Database, sha256: str) -> datetime | None:
    """When bytes, as received or as served, were taken back; None when they were not."""
    take = select(Consent.withdrawn_at).join(Recording).where(Recording.sha256 == sha256)
    is_it = or_(col(Material.sha256) == sha256, col(Material.media)["sha256"].as_string() == sha256)
    gone = select(Material.id).where(Material.state == MaterialState.WITHDRAWN, is_it)
    told = select(Event.at).where(Event.subject_kind == "material", Event.action == "withdraw")
    with database.reading() as session:
        found = session.exec(take.where(col(Consent.withdrawn_at).is_not(None))).first()
        return found or session.exec(told.where(col(Event.subject_id).in_(gone))).first()
