"""What the project keeps in words, numbers and facts about media, taken out once who gave them has withdrawn.

Rows that tell what happened stay, so that a withdrawal can be proved; what in them could be the person's own goes.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from core.ids import Clock, utc_now
from warehouse import events
from warehouse.blobs import put_whole
from warehouse.facts import FactStore
from warehouse.guards import FORGETTING, FORGOTTEN
from warehouse.tables import (
    Caption,
    CaptionState,
    ContaminationCheck,
    ContaminationMatch,
    Event,
    IngestFailure,
    Material,
    MaterialSource,
    MaterialState,
    MaterialTag,
    MaterialWork,
    Run,
    Segment,
)

# All else that events tell of materials and takes may be somebody's words, whatever is noted in times to come.
_NO_WORDS = frozenset(
    {"audio_content_by", "audio_type", "audio_type_by", "before_reason", "consent_id", "facet", "licence"}
    | {"material_id", "overruled", "parent_id", "rows", "script_id", "sha256", "thresholds", "video_id"}
)
_STATES = frozenset(MaterialState)
_DESCRIBED = (Segment, MaterialTag, MaterialWork)
_COMPARED = (ContaminationCheck, ContaminationMatch)


def forget_words(session: Session, material: Material, actor: str, clock: Clock = utc_now) -> dict[str, int]:
    """Take out what is said in and of a material, in the caller's transaction; how many rows that cost, by table.

    Segments, tags, machine work, comparisons and failures to take the file in are deleted; captions and events stay
    with their words blanked, because others are based on them. Calling it again finds nothing.
    """
    counts: dict[str, int] = {}
    told_of = [("material", material.id), *(("contamination_match", id_) for id_ in _matches(session, material.id))]
    for table in _DESCRIBED:
        counts[table.__tablename__] = _delete(session, select(table).where(table.material_id == material.id))
    for compared in _COMPARED:
        about = (compared.subject_kind == "material", compared.subject_id == material.id)
        counts[compared.__tablename__] = _delete(session, select(compared).where(*about))
    with _forgetting(session, material.id):
        counts["caption"] = _blank_captions(session, material.id)
    counts["event"] = sum(blank_events(session, kind, id_) for kind, id_ in told_of)
    sources = session.exec(select(MaterialSource).where(MaterialSource.material_id == material.id)).all()
    failed = select(IngestFailure).where(col(IngestFailure.origin).in_([source.origin for source in sources]))
    counts["ingest_failure"] = _delete(session, failed)
    for source in sources:
        source.origin, source.author, source.source = f"withdrawn:{source.id}", None, None
        session.add(source)
    material.audio_content, material.audio_content_by = None, None
    material.audio_type, material.audio_type_by = None, None
    # A filter may quote what it judged. Where the sound of a film is must stay known: it goes with the film.
    material.measures = {name: told for name, told in material.measures.items() if name == "sound"}
    material.looks, material.drop_measure = {}, None
    session.add(material)
    told = {table: count for table, count in counts.items() if count}
    if told:
        events.record(session, actor, "material", material.id, "forget", clock, rows=told)
    session.flush()
    return told


def blank_events(session: Session, kind: str, subject_id: str) -> int:
    """Take the words out of all that was noted of a material or a recording, in the caller's transaction; how many."""
    query = select(Event).where(Event.subject_kind == kind, Event.subject_id == subject_id)
    count = 0
    with _forgetting(session, subject_id):
        for event in session.exec(query):
            kept = {name: value if _is_plain(name, value) else FORGOTTEN for name, value in event.detail.items()}
            if kept != event.detail:
                event.detail = kept
                session.add(event)
                count += 1
        session.flush()
    return count


def blank_runs(session: Session, command: str, origins: Collection[str]) -> None:
    """Take the names of these files, and of folders that hold them, out of what runs remember."""
    for run in session.exec(select(Run).where(Run.command == command)):
        paths = run.settings.get("paths", [])
        kept = [FORGOTTEN if _leads_to_any(path, origins) else path for path in paths]
        if kept != paths:
            run.settings = {**run.settings, "paths": kept}
            session.add(run)
    session.flush()


def remove_facts(facts: FactStore, kind: str, column: str, values: Collection[str]) -> int:
    """Delete the facts of one kind that name any of the values, by writing their files anew; returns how many.

    A run that writes such facts at this moment keeps them in its journal: call it again when `facts.is_written(kind)`
    has become False.
    """
    if not values:
        return 0
    facts.recover(kind)
    with facts.rewriting(kind):
        return sum(_without(facts, path, column, values) for path in facts.files(kind))


def response_keys(facts: FactStore, column: str, values: Collection[str]) -> set[str]:
    """The keys of all stored responses that name one of the values in a column."""
    keys: set[str] = set()
    for batch in _batches(facts, "response", ["key", column]):
        keys |= set(batch.filter(_is_among(batch[column], values))["key"].to_pylist())
    return keys


def count_facts(facts: FactStore, kind: str, column: str, values: Collection[str]) -> int:
    """How many facts of one kind, none of those being written, name one of the values in a column."""
    if not values:
        return 0
    batches = _batches(facts, kind, [column])
    return sum(int(pc.sum(_is_among(batch[column], values)).as_py() or 0) for batch in batches)


def _batches(facts: FactStore, kind: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    filesystem, _ = fsspec.core.url_to_fs(facts.url)
    for path in facts.files(kind):
        with filesystem.open(path, "rb") as stream:
            file = pq.ParquetFile(stream)
            if set(columns) <= set(file.schema_arrow.names):  # else of an earlier version
                yield from file.iter_batches(columns=columns, use_threads=False)


def _is_among(column: pa.Array, values: Collection[str]) -> pa.Array:
    return pc.is_in(column, value_set=pa.array(sorted(values), pa.string()))


def _without(facts: FactStore, path: str, column: str, values: Collection[str]) -> int:
    filesystem, _ = fsspec.core.url_to_fs(facts.url)
    with filesystem.open(path, "rb") as stream:
        table = pq.ParquetFile(stream).read(use_threads=False)
    if column not in table.column_names:  # a file of an earlier version
        return 0
    names_one = _is_among(table[column], values)
    count = int(pc.sum(names_one).as_py() or 0)
    if count:
        buffer = pa.BufferOutputStream()
        pq.write_table(table.filter(pc.invert(names_one)), buffer, compression="zstd")
        put_whole(filesystem, path, buffer.getvalue().to_pybytes())
    return count


def _matches(session: Session, material_id: str) -> list[str]:
    about = (ContaminationMatch.subject_kind == "material", ContaminationMatch.subject_id == material_id)
    return list(session.exec(select(ContaminationMatch.id).where(*about).order_by(col(ContaminationMatch.id))))


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


def _is_plain(name: str, value: object) -> bool:
    return name in _NO_WORDS or value is None or isinstance(value, bool | int | float) or value in (*_STATES, FORGOTTEN)


def _leads_to_any(path: str, origins: Collection[str]) -> bool:
    return any(origin == path or origin.startswith(f"{path.rstrip('/')}/") for origin in origins)


def _delete(session: Session, query: SelectOfScalar[Any]) -> int:
    rows = session.exec(query).all()
    for row in rows:
        session.delete(row)
    session.flush()
    return len(rows)


@contextmanager
def _forgetting(session: Session, subject_id: str) -> Iterator[None]:
    """What `warehouse.guards` allows on captions and events of that material or recording, and of no other."""
    session.info[FORGETTING] = {subject_id}
    try:
        yield
    finally:
        session.info[FORGETTING] = ()
