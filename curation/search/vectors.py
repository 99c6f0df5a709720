"""Vectors in the index: appended to one file for each embedder as facts bring them."""

import hashlib
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.facts import FactStore


def add_vectors(connection: sqlite3.Connection, folder: Path, facts: FactStore) -> bool:
    """Take in the files of `embedding` facts that were not read yet; whether there were any."""
    seen = {row[0] for row in connection.execute("SELECT name FROM seen_file")}
    fresh = [name for name in facts.files("embedding") if name not in seen]
    held: dict[str, dict[str, int]] = {}
    for name in fresh:
        table = facts.read("embedding", name)
        for embedder in sorted(set(table["embedder"].to_pylist())):
            if embedder not in held:
                known = "SELECT subject, recorded_at FROM vector WHERE embedder = ?"
                held[embedder] = dict(connection.execute(known, [embedder]).fetchall())
            latest = _latest(table.filter(pc.equal(table["embedder"], embedder)), held[embedder])
            if latest.num_rows:
                _append(connection, folder, embedder, latest)
        connection.execute("INSERT INTO seen_file VALUES (?)", [name])
    return bool(fresh)


def _latest(table: pa.Table, held: dict[str, int]) -> pa.Table:
    """The rows of one embedder that are later than what is held, which then holds them.

    A compacted file holds again what was read from others, and the order of names is not that of time.
    """
    table = table.sort_by([("recorded_at", "ascending"), ("run_id", "ascending")])
    places: dict[str, int] = {}
    moments = table["recorded_at"].cast(pa.int64()).to_pylist()
    for place, (subject, moment) in enumerate(zip(table["subject"].to_pylist(), moments, strict=True)):
        if subject in places or subject not in held or moment > held[subject]:
            places[subject], held[subject] = place, moment
    return table.take(pa.array(sorted(places.values()), pa.int64()))


def map_rows(connection: sqlite3.Connection) -> None:
    """Write for each embedder which doc each of its rows speaks of."""
    for embedder, count in connection.execute("SELECT embedder, row_count FROM space").fetchall():
        docs = np.full(count, -1, dtype=np.int64)
        found = connection.execute(
            "SELECT vector.row_number, doc.id FROM vector JOIN doc ON doc.media_sha256 = vector.subject "
            "WHERE vector.embedder = ? ORDER BY doc.id DESC",
            [embedder],
        ).fetchall()
        if found:
            rows, ids = np.array(found, dtype=np.int64).T
            docs[rows] = ids
        connection.execute("UPDATE space SET docs = ? WHERE embedder = ?", [docs.tobytes(), embedder])


def _append(connection: sqlite3.Connection, folder: Path, embedder: str, table: pa.Table) -> None:
    """Rows go to the file before the tables tell of them: who reads sees whole rows or none."""
    vectors = np.stack(table["vector"].to_numpy(zero_copy_only=False)).astype(np.float32)
    held = connection.execute("SELECT dimension, row_count, vectors_file FROM space WHERE embedder = ?", [embedder])
    dimension, count, name = held.fetchone() or (vectors.shape[1], 0, _file_name(embedder))
    if dimension != vectors.shape[1]:
        raise ValueError(f"{embedder} made vectors of {dimension} and of {vectors.shape[1]} numbers")
    with (folder / name).open("r+b" if (folder / name).exists() else "w+b") as file:
        file.seek(count * dimension * 4)
        file.write(np.ascontiguousarray(vectors).tobytes())
    connection.execute(
        "INSERT INTO space (embedder, dimension, row_count, vectors_file) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (embedder) DO UPDATE SET row_count = excluded.row_count",
        [embedder, dimension, count + len(vectors), name],
    )
    told = zip(table["subject"].to_pylist(), table["recorded_at"].cast(pa.int64()).to_pylist(), strict=True)
    rows = [(embedder, subject, count + place, moment) for place, (subject, moment) in enumerate(told)]
    connection.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?)", rows)


def _file_name(embedder: str) -> str:
    return f"{hashlib.sha256(embedder.encode()).hexdigest()[:16]}.f32"
