"""What consents cover, and whether they hold at a moment."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum

from warehouse.tables import Consent


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
