"""The index of a library: a file of its own beside the project, made from the tables and facts, and kept up with them.

It holds nothing that cannot be made again: whoever deletes `cache/search` loses only the time to make it.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlmodel import Session, col, func, or_, select

from core.errors import InterplayError
from core.progress import progress
from curation.materials import chunked
from curation.search.project import Doc, read_docs
from curation.search.vectors import add_vectors, map_rows
from curation.search.words import spaced
from warehouse.analytics import load_sql
from warehouse.tables import Event, ItemRevision, Material, MaterialWork, RevisionMedia
from warehouse.workspace import Workspace

VERSION = "4"
"""Of the schema and of what is put into it; another version's index is made anew."""
_FILE = "index.sqlite"
_BUSY_S = 60.0
_BACK = timedelta(minutes=1)
"""How far before the last mark changes are read again on PostgreSQL, where a row can become visible after a later one:
longer than any transaction. SQLite has one writer at a time."""
_BATCH = 500


@dataclass(frozen=True)
class Marks:
    """How far the index has followed the tables."""

    sequence: int
    told_at: str
    worked_at: str


class IndexBusy(InterplayError):
    """Another process is writing the index, for longer than one waits."""


class SearchIndex:
    """An index on this machine; several processes may read and refresh it at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one moment of the index."""
        connection = sqlite3.connect(self.folder / _FILE, timeout=_BUSY_S, isolation_level=None)
        try:
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        self.folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.folder / _FILE, timeout=_BUSY_S, isolation_level=None)
        try:
            self._lock(connection)
            _make_current(connection)
            yield connection
            connection.execute("COMMIT")
        finally:
            connection.close()

    def _lock(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            raise IndexBusy(
                f"another process is still making the index in {self.folder}; search again when it is done"
            ) from error

    def refresh(self, workspace: Workspace) -> int:
        """Follow the tables and facts; returns how many materials were read again.

        Raises:
            IndexBusy: Another process has been doing so for a minute.
        """
        with workspace.database.reading() as session:
            if self._marks() == _marks(session) and not self._new_files(workspace):
                return 0
        # The tables are read under the lock: else what was seen of them before it could be older than the index.
        with self._writing() as connection, workspace.database.reading() as session:
            now = _marks(session)
            ids = _changed(session, _held_marks(connection), now)
            self._follow(connection, session, ids)
            connection.executemany("INSERT OR REPLACE INTO mark VALUES (?, ?)", list(vars(now).items()))
            grown = add_vectors(connection, self.folder, workspace.facts)
            if ids or grown:
                map_rows(connection)
        return len(ids)

    def behind(self, workspace: Workspace) -> int:
        """How many materials `refresh` would read again; all of them where the index was never made."""
        held = self._marks()
        with workspace.database.reading() as session:
            now = _marks(session)
            return 0 if held == now else len(_changed(session, held, now))

    def space(self, connection: sqlite3.Connection, embedder: str) -> "Space | None":
        """The vectors of an embedder, None when there are none."""
        query = "SELECT dimension, row_count, vectors_file, docs FROM space WHERE embedder = ?"
        found = connection.execute(query, [embedder]).fetchone()
        if found is None or found[3] is None:
            return None
        dimension, count, vectors_file, docs = found
        shape = (count, dimension)
        vectors = np.memmap(self.folder / vectors_file, dtype=np.float32, mode="r", shape=shape)
        return Space(vectors, np.frombuffer(docs, dtype=np.int64))

    def embedders(self, connection: sqlite3.Connection) -> list[str]:
        """Whose vectors there are."""
        return [row[0] for row in connection.execute("SELECT embedder FROM space ORDER BY embedder")]

    def _marks(self) -> Marks | None:
        if not (self.folder / _FILE).exists():
            return None
        with self.reading() as connection:
            return _held_marks(connection)

    def _new_files(self, workspace: Workspace) -> bool:
        workspace.facts.recover("embedding")
        with self.reading() as connection:
            seen = {row[0] for row in connection.execute("SELECT name FROM seen_file")}
        return not seen.issuperset(workspace.facts.files("embedding"))

    def _follow(self, connection: sqlite3.Connection, session: Session, ids: Sequence[str]) -> None:
        if len(ids) <= _BATCH:
            _put(connection, read_docs(session, ids))
            return
        with progress("Indexing", len(ids)) as ticker:
            for start in range(0, len(ids), _BATCH):
                batch = ids[start : start + _BATCH]
                _put(connection, read_docs(session, batch))
                session.expunge_all()
                ticker.advance(len(batch))


@dataclass(frozen=True)
class Space:
    """Vectors of one embedder: float32 (rows, d), and for each row the doc it speaks of, -1 for none."""

    vectors: npt.NDArray[np.float32]
    docs: npt.NDArray[np.int64]


def _make_current(connection: sqlite3.Connection) -> None:
    has_marks = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'mark'").fetchone()
    held = connection.execute("SELECT value FROM mark WHERE name = 'version'").fetchone() if has_marks else None
    if held == (VERSION,):
        return
    names = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL AND name NOT LIKE 'words_%'"
    for (name,) in connection.execute(names).fetchall():
        connection.execute(f'DROP TABLE "{name}"')
    for statement in load_sql("curation.search", "schema.sql").split(";"):
        connection.execute(statement)
    connection.execute("INSERT INTO mark VALUES ('version', ?)", [VERSION])


def _held_marks(connection: sqlite3.Connection) -> Marks | None:
    try:
        held: dict[str, Any] = dict(connection.execute("SELECT name, value FROM mark").fetchall())
    except sqlite3.OperationalError:
        return None  # it was never made
    if held.get("version") != VERSION or "sequence" not in held:
        return None
    return Marks(held["sequence"], held["told_at"], held["worked_at"])


def _marks(session: Session) -> Marks:
    sequence = session.exec(select(func.max(Event.sequence))).one() or 0
    last = session.get(Event, sequence)
    worked_at = session.exec(select(func.max(MaterialWork.created_at))).one()
    return Marks(sequence, last.at.isoformat() if last else "", worked_at.isoformat() if worked_at else "")


def _changed(session: Session, then: Marks | None, now: Marks) -> list[str]:
    """Ids of the materials that may have changed."""
    if then is None:
        return list(session.exec(select(Material.id).order_by(col(Material.id))))
    found: set[str] = set()
    back = _BACK if session.get_bind().dialect.name == "postgresql" else timedelta()
    if then.sequence != now.sequence:
        found |= _told_of(session, then, back)
    if now.worked_at and then.worked_at != now.worked_at:
        query = select(MaterialWork.material_id)
        if then.worked_at:
            # Several rows may have been written at one moment.
            query = query.where(MaterialWork.created_at >= datetime.fromisoformat(then.worked_at) - back)
        found |= set(session.exec(query))
    return sorted(found)


def _told_of(session: Session, then: Marks, back: timedelta) -> set[str]:
    """Materials that later events speak of, or whose items they do."""
    found: set[str] = set()
    items: set[str] = set()
    is_later = col(Event.sequence) > then.sequence
    if back and then.told_at:
        is_later = or_(is_later, col(Event.at) > datetime.fromisoformat(then.told_at) - back)
    query = select(Event.subject_kind, Event.subject_id, Event.detail).where(is_later)
    for kind, subject, detail in session.exec(query):
        if kind == "material":
            found.add(subject)
        elif kind == "item":
            items.add(subject)
        if told := detail.get("material_id"):
            found.add(told)
    shown = select(RevisionMedia.material_id).join(ItemRevision, col(ItemRevision.id) == col(RevisionMedia.revision_id))
    for some in chunked(sorted(items)):
        found |= set(session.exec(shown.where(col(ItemRevision.item_id).in_(some))))
    return found


def _put(connection: sqlite3.Connection, docs: Iterator[Doc]) -> None:
    put_doc = load_sql("curation.search", "put_doc.sql")
    for doc in docs:
        material, media = doc.material, doc.material.media
        facts = (media["sha256"], material.modality, material.state.value, media.get("duration_s"))
        (id_,) = connection.execute(put_doc, [material.id, material.sha256, *facts, doc.uses, doc.origin]).fetchone()
        connection.execute("DELETE FROM label WHERE doc = ?", [id_])
        connection.executemany("INSERT INTO label VALUES (?, ?, ?)", [(*label, id_) for label in sorted(doc.labels)])
        words = [spaced("\n".join(dict.fromkeys(texts))) for texts in (doc.said, doc.told, doc.named)]
        connection.execute("INSERT OR REPLACE INTO words (rowid, said, told, named) VALUES (?, ?, ?, ?)", [id_, *words])
