"""What the project keeps in words, numbers and facts about media, taken out once who gave them has withdrawn.

Rows that tell what happened stay, so that a withdrawal can be proved; what in them could be the person's own goes.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlmodel import Session, SQLModel, select
from sqlmodel.sql.expression import SelectOfScalar

from core.ids import Clock, utc_now
from warehouse import events
from warehouse.blobs import put_whole
from warehouse.facts import FactStore
from warehouse.guards import FORGETTING
from warehouse.tables import (
    Caption,
    CaptionState,
    ContaminationCheck,
    ContaminationMatch,
    Event,
    Material,
    MaterialSource,
    MaterialTag,
    MaterialWork,
    Segment,
)

FORGOTTEN = "[withdrawn]"
"""What stands in the place of words that were taken out."""
_PERSONAL = ("audio_content", "author", "origin", "source", "value")
"""What events of materials tell in the words of those who brought or described them."""
_DESCRIBED = (Segment, MaterialTag, MaterialWork)
_COMPARED = (ContaminationCheck, ContaminationMatch)


def forget_words(session: Session, material: Material, actor: str, clock: Clock = utc_now) -> dict[str, int]:
    """Take out what is said in and of a material, in the caller's transaction; how many rows that cost, by table.

    Segments, tags, machine work and comparisons are deleted; captions and events stay with their words blanked, because
    others are based on them. Calling it again finds nothing.
    """
    counts: dict[str, int] = {}
    for table in _DESCRIBED:
        counts[table.__tablename__] = _delete(session, select(table).where(table.material_id == material.id))
    for compared in _COMPARED:
        about = (compared.subject_kind == "material", compared.subject_id == material.id)
        counts[compared.__tablename__] = _delete(session, select(compared).where(*about))
    with _forgetting(session, material.id):
        counts["caption"] = _blank_captions(session, material.id)
        counts["event"] = _blank_events(session, material.id)
    for source in session.exec(select(MaterialSource).where(MaterialSource.material_id == material.id)):
        source.origin, source.author, source.source = f"withdrawn:{source.id}", None, None
        session.add(source)
    material.audio_content, material.audio_content_by = None, None
    material.audio_type, material.audio_type_by = None, None
    material.looks = {}
    session.add(material)
    told = {table: count for table, count in counts.items() if count}
    if told:
        events.record(session, actor, "material", material.id, "forget", clock, rows=told)
    session.flush()
    return told


def remove_facts(facts: FactStore, kind: str, column: str, values: Collection[str]) -> int:
    """Delete the facts of one kind that name any of the values, by writing their files anew; returns how many.

    A run that writes such facts at this moment keeps them in its journal: call it again when that has ended.
    """
    if not values:
        return 0
    facts.recover(kind)
    filesystem, _ = fsspec.core.url_to_fs(facts.url)
    wanted = pa.array(sorted(values), pa.string())
    removed = 0
    for path in facts.files(kind):
        with filesystem.open(path, "rb") as stream:
            table = pq.ParquetFile(stream).read(use_threads=False)
        if column not in table.column_names:  # a file of an earlier version
            continue
        names_one = pc.is_in(table[column], value_set=wanted)
        count = int(pc.sum(names_one).as_py() or 0)
        if count:
            buffer = pa.BufferOutputStream()
            pq.write_table(table.filter(pc.invert(names_one)), buffer, compression="zstd")
            put_whole(filesystem, path, buffer.getvalue().to_pybytes())
            removed += count
    return removed


def _blank_captions(session: Session, material_id: str) -> int:
    held = [
        caption
        for caption in session.exec(select(Caption).where(Caption.material_id == material_id))
        if caption.text != FORGOTTEN
    ]
    for caption in held:
        caption.text, caption.state = FORGOTTEN, CaptionState.REJECTED
        session.add(caption)
    session.flush()
    return len(held)


def _blank_events(session: Session, material_id: str) -> int:
    query = select(Event).where(Event.subject_kind == "material", Event.subject_id == material_id)
    count = 0
    for event in session.exec(query):
        kept = {name: FORGOTTEN if name in _PERSONAL and value else value for name, value in event.detail.items()}
        if kept != event.detail:
            event.detail = kept
            session.add(event)
            count += 1
    session.flush()
    return count


def _delete(session: Session, query: SelectOfScalar[SQLModel]) -> int:
    rows = session.exec(query).all()
    for row in rows:
        session.delete(row)
    session.flush()
    return len(rows)


@contextmanager
def _forgetting(session: Session, material_id: str) -> Iterator[None]:
    """What `warehouse.guards` allows on captions and events of that material, and of no other."""
    session.info[FORGETTING] = {material_id}
    try:
        yield
    finally:
        session.info[FORGETTING] = ()
