"""Vectors in the index: appended to one file for each embedder as facts bring them."""

import hashlib
import sqlite3
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from warehouse.facts import FactStore


def add_vectors(connection: sqlite3.Connection, folder: Path, facts: FactStore) -> bool:
    """Take in the files of `embedding` facts that were not read yet; whether there were any."""
    seen = {row[0] for row in connection.execute("SELECT name FROM seen_file")}
    fresh = [name for name in facts.files("embedding") if name not in seen]
    for name in fresh:
        table = facts.read("embedding", name)
        for embedder in sorted(set(table["embedder"].to_pylist())):
            chosen = table.filter(pc.equal(table["embedder"], embedder))
            vectors = np.stack(chosen["vector"].to_numpy(zero_copy_only=False)).astype(np.float32)
            _append(connection, folder, embedder, chosen["subject"].to_pylist(), vectors)
        connection.execute("INSERT INTO seen_file VALUES (?)", [name])
    return bool(fresh)


def map_rows(connection: sqlite3.Connection, folder: Path) -> None:
    """Write for each embedder which doc each of its rows speaks of."""
    for embedder, count, old in connection.execute("SELECT embedder, row_count, docs_file FROM space").fetchall():
        docs = np.full(count, -1, dtype=np.int64)
        found = connection.execute(
            "SELECT vector.row_number, doc.id FROM vector JOIN doc ON doc.media_sha256 = vector.subject "
            "WHERE vector.embedder = ? ORDER BY doc.id DESC",
            [embedder],
        ).fetchall()
        if found:
            rows, ids = np.array(found, dtype=np.int64).T
            docs[rows] = ids
        digest = hashlib.sha256(docs.tobytes()).hexdigest()[:16]
        name = f"{_stem(embedder)}-{digest}.npy"
        np.save(folder / name, docs)
        connection.execute("UPDATE space SET docs_file = ? WHERE embedder = ?", [name, embedder])
        # Who began to read before this is committed still opens the old one.
        for file in folder.glob(f"{_stem(embedder)}-*.npy"):
            if file.name not in (name, old):
                file.unlink(missing_ok=True)


def _append(
    connection: sqlite3.Connection,
    folder: Path,
    embedder: str,
    subjects: list[str],
    vectors: npt.NDArray[np.float32],
) -> None:
    """Rows go to the file before the tables tell of them: who reads sees whole rows or none."""
    held = connection.execute("SELECT dimension, row_count, vectors_file FROM space WHERE embedder = ?", [embedder])
    dimension, count, name = held.fetchone() or (vectors.shape[1], 0, f"{_stem(embedder)}.f32")
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
    rows = [(embedder, subject, count + place) for place, subject in enumerate(subjects)]
    connection.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", rows)


def _stem(embedder: str) -> str:
    return hashlib.sha256(embedder.encode()).hexdigest()[:16]
