"""What happened to something, whether all that the tables name is really there, and what is there that none names."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, SQLModel, col, select
from sqlmodel.sql.expression import SelectOfScalar

from core.errors import UnknownName
from core.progress import progress
from warehouse.blobs import BlobStore, DamagedBlob, MissingBlob
from warehouse.database import Database
from warehouse.release.records import question_of
from warehouse.release.tombstones import withdrawn_media
from warehouse.tables import Consent, Event, Item, ItemRevision, Material, MaterialState, Recording, Release, User

_SHA256 = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


@dataclass(frozen=True)
class NamedBlob:
    """Bytes that a row names; `stores` are those that may hold them, in order."""

    owner: str
    sha256: str
    stores: tuple[BlobStore, ...]


@dataclass(frozen=True)
class Inspection:
    """How many blobs the tables name, and what is wrong with which."""

    blobs: int
    problems: list[str]


@dataclass(frozen=True)
class UnnamedBlob:
    """Bytes in a store (`blobs` or `originals`) that no row names; `noted` is of whom the ledger noted them, if any."""

    store: str
    sha256: str
    size_bytes: int
    stored_at: datetime
    noted: str | None


def inspect_blobs(database: Database, blobs: BlobStore, originals: BlobStore) -> Inspection:
    """Read every blob that the tables name through, and compare its sha256.

    What was withdrawn must be gone.
    """
    with database.reading() as session:
        named = list(_named(session, blobs, originals))
        problems = list(_left_over(session, blobs, originals))
    owners: dict[tuple[str, tuple[BlobStore, ...]], list[str]] = {}
    for one in named:
        owners.setdefault((one.sha256, one.stores), []).append(one.owner)
    with progress("blobs verified", len(owners)) as ticker:
        for (sha256, stores), names in owners.items():
            problem = _problem(sha256, stores)
            if problem is not None:
                more = f" and {len(names) - 1} more" if len(names) > 1 else ""
                problems.append(f"{names[0]}{more}: {problem}")
            ticker.advance()
    return Inspection(len(owners), sorted(problems))


def unnamed_blobs(database: Database, blobs: BlobStore, originals: BlobStore, before: datetime) -> list[UnnamedBlob]:
    """Bytes that were stored before a moment and that no row of any table names: whatever stored them was stopped.

    Younger ones may be of a write under way, and so may older ones that are sent again just now, for storing what is
    there leaves its moment. A row names whatever stands in it, in a column of its own or anywhere within. The ledger
    does not: it tells what was to be stored. What no row needs is listed too: what facts alone name, and the media of
    canaries, which every run stores anew.
    """
    stored = {name: set(store.names()) for name, store in (("blobs", blobs), ("originals", originals))}
    # After the look into the stores: what got its row meanwhile is seen.
    with database.reading() as session:
        named = set(_hashes_in_tables(session))
        left = {name: hashes - named for name, hashes in stored.items()}
        noted = _noted(session, set().union(*left.values()))
    found = []
    for name, store in (("blobs", blobs), ("originals", originals)):
        for sha256 in sorted(left[name]):
            try:
                size, at = store.size_and_time(sha256)
            except MissingBlob:  # taken away meanwhile
                continue
            if at < before:
                found.append(UnnamedBlob(name, sha256, size, at, noted.get(sha256)))
    return found


def history_of(session: Session, subject: str) -> list[Event]:
    """What happened to an item or a user (by name), a release (as NAME@VERSION) or anything by its id, oldest first.

    Raises:
        UnknownName: Nothing is called so, or nothing was ever told of it.
    """
    name, _, version = subject.rpartition("@")
    queries = (
        select(Item.id).where(Item.name == subject),
        select(User.id).where(User.name == subject),
        select(Release.id).where(Release.name == name, Release.version == version),
    )
    ids = {subject, *(id_ for query in queries for id_ in session.exec(query))}
    found = list(session.exec(select(Event).where(col(Event.subject_id).in_(ids)).order_by(col(Event.sequence))))
    if not found:
        raise UnknownName("subject", subject, session.exec(select(Item.name)))
    return found


def _hashes_in_tables(session: Session) -> Iterator[str]:
    # All columns of all tables, so that none that names bytes is forgotten, now or later.
    for table in SQLModel.metadata.sorted_tables:
        if table is not SQLModel.metadata.tables[str(Event.__tablename__)]:
            for row in session.connection().execute(table.select().execution_options(yield_per=1000)):
                yield from _SHA256.findall(str(row))


def _noted(session: Session, hashes: set[str]) -> dict[str, str]:
    """Of whom the ledger tells of these bytes, the last time."""
    if not hashes:
        return {}
    told = session.exec(select(Event).order_by(col(Event.sequence)).execution_options(yield_per=1000))
    return {
        sha256: f"{event.subject_kind} {event.subject_id}"
        for event in told
        for sha256 in hashes.intersection(_SHA256.findall(str(event.detail)))
    }


def _named(session: Session, blobs: BlobStore, originals: BlobStore) -> Iterator[NamedBlob]:
    withdrawn = withdrawn_media(session)
    for material in session.exec(select(Material).where(Material.state != MaterialState.WITHDRAWN)):
        yield NamedBlob(f"material {material.id}", material.media_ref.sha256, (blobs,))
        # Bytes that needed no change are their own working copy, and lie there alone.
        if material.original_kept and material.sha256 != material.media_ref.sha256:
            yield NamedBlob(f"original of material {material.id}", material.sha256, (originals,))
    for recording in session.exec(_standing_recordings()):
        # A take is sealed as it came, and also stored as a working copy once it is a material.
        yield NamedBlob(f"recording {recording.id}", recording.sha256, (originals, blobs))
    for release in session.exec(select(Release).where(col(Release.manifest_sha256).is_not(None))):
        assert release.manifest_sha256 is not None
        yield NamedBlob(f"manifest of release {release.name} {release.version}", release.manifest_sha256, (blobs,))
    for revision in session.exec(select(ItemRevision)):
        for sha256 in _shown(revision) - withdrawn.keys():
            yield NamedBlob(f"item revision {revision.id}", sha256, (blobs,))


def _left_over(session: Session, blobs: BlobStore, originals: BlobStore) -> Iterator[str]:
    """Bytes that a withdrawal was stopped before it had deleted."""
    gone = select(Material.id, Material.sha256, Material.media).where(Material.state == MaterialState.WITHDRAWN)
    named = [(f"material {id_}", {sha256, media["sha256"]}) for id_, sha256, media in session.exec(gone)]
    takes = select(Recording.id, Recording.sha256).join(Consent).where(col(Consent.withdrawn_at).is_not(None))
    named += [(f"recording {id_}", {sha256}) for id_, sha256 in session.exec(takes)]
    erased = select(Event.subject_id).where(Event.subject_kind == "consent", Event.action == "erase")
    taken_back = select(Consent.id).where(col(Consent.withdrawn_at).is_not(None), col(Consent.id).not_in(erased))
    for id_ in session.exec(taken_back):
        yield f"consent {id_}: was withdrawn, and not all is erased yet; run 'interplay consent withdraw' again"
    for owner, hashes in named:
        if any(store.exists(sha256) for sha256 in hashes for store in (blobs, originals)):
            yield f"{owner}: was withdrawn, and its bytes are still there; run 'interplay consent withdraw' again"


def _standing_recordings() -> SelectOfScalar[Recording]:
    return select(Recording).join(Consent).where(col(Consent.withdrawn_at).is_(None))


def _shown(revision: ItemRevision) -> set[str]:
    question = question_of(revision)
    return {part.media.sha256 for part in question.media} if question else set()


def _problem(sha256: str, stores: Iterable[BlobStore]) -> str | None:
    """None when one of the stores holds the bytes whole."""
    problem = None
    for store in stores:
        try:
            store.verify(sha256)
        except (MissingBlob, DamagedBlob) as error:
            problem = problem or str(error)
        else:
            return None
    return problem
