"""Whether a file may be stored at the very moment that its rows are written: who gave it may have taken it back."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from sqlmodel import Session, col, or_, select

from core.errors import InterplayError
from curation.entries import Wanted
from curation.examine import Examination
from curation.materials import chunked
from warehouse.consents import consent_problems
from warehouse.handles import UnknownId
from warehouse.tables import Consent, Material, MaterialState
from warehouse.workspace import Workspace


class ConsentOver(InterplayError):
    """Files under a consent that allows nothing more."""

    reason = "consent_over"


class TakenBack(InterplayError):
    """Bytes that somebody gave and took back."""

    reason = "withdrawn"


def check_consents(session: Session, wanted: Iterable[Wanted], now: datetime, *, lock: bool = False) -> None:
    """Stop what is given under a consent that does not stand; with `lock` nobody withdraws before the transaction ends.

    Raises:
        UnknownName, ConsentOver: A file claims a consent that does not exist, was withdrawn or has ended.
    """
    claimed = sorted({str(one.claims.consent_id) for one in wanted if one.claims.consent_id is not None})
    for ids in chunked(claimed):
        # In one order, so that two who lock several never wait for each other.
        query = select(Consent).where(col(Consent.id).in_(ids)).order_by(col(Consent.id))
        known = {one.id: one for one in session.exec(query.with_for_update() if lock else query)}
        for consent_id in ids:
            if consent_id not in known:
                raise UnknownId("consent", consent_id, "interplay consent list")
            for problem in consent_problems(known[consent_id], (), now):
                raise ConsentOver(f"{problem}; ask for a new consent, or leave out what was given under it")


def check_bytes(session: Session, sha256: str, examination: Examination | None) -> None:
    """Stop bytes that were withdrawn, as received or as they would be served: alone, as a film, as a film's sound.

    Raises:
        TakenBack: They were.
    """
    # Held, so that it is not withdrawn between this look and the end of the transaction.
    session.exec(select(Material.id).where(Material.sha256 == sha256).with_for_update()).all()
    # Of the few that were withdrawn, for their working copies stand in no index.
    copies = col(Material.media)["sha256"].as_string().in_(copies_of(examination))
    gone = select(Material.id).where(Material.state == MaterialState.WITHDRAWN)
    if session.exec(gone.where(or_(col(Material.sha256) == sha256, copies)).limit(1)).first() is not None:
        raise TakenBack("who gave these bytes has withdrawn them; leave them out")


def copies_of(examination: Examination | None) -> list[str]:
    """The sha256 of the working copies of a file."""
    if examination is None:
        return []
    return [one.ref.sha256 for one in (examination.main, examination.sound) if one is not None]


def discard(workspace: Workspace, copies: Sequence[str], originals: Collection[str] = ()) -> None:
    """Delete bytes of a file that did not enter the tables, except those that a standing material names."""
    standing = select(Material.id).where(Material.state != MaterialState.WITHDRAWN)
    with workspace.database.reading() as session:
        for store, names, column in (
            (workspace.blobs, copies, col(Material.media)["sha256"].as_string()),
            (workspace.originals, originals, col(Material.sha256)),
        ):
            for sha256 in names:
                if session.exec(standing.where(column == sha256)).first() is None:
                    store.remove(sha256)
