"""Vectors of materials, kept as facts."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from curation.embedding import Vectors
from warehouse.analytics import connected, load_sql
from warehouse.facts import FactStore


@dataclass(frozen=True)
class Stored:
    """Vectors of one embedder: `vectors[i]`, of length 1, is that of the working copy with the sha256 `subjects[i]`.

    `subjects` rise. Both are empty where nothing is stored; shape of `vectors` (n, d), then (0, 0).
    """

    subjects: tuple[str, ...]
    vectors: Vectors

    def by_subject(self) -> dict[str, Vectors]:
        """Each vector, shape (d,), under its sha256."""
        return dict(zip(self.subjects, self.vectors, strict=True))

    def among(self, subjects: Iterable[str]) -> "Stored":
        """Those of some working copies."""
        wanted = set(subjects)
        rows = [row for row, subject in enumerate(self.subjects) if subject in wanted]
        return Stored(tuple(self.subjects[row] for row in rows), self.vectors[rows])


def stored_vectors(facts: FactStore, embedder: str) -> Stored:
    """All vectors that the embedder of this fingerprint made, the latest of each working copy."""
    with connected() as connection:
        # The query itself picks the latest, of one embedder alone, which is quicker.
        facts.register(connection, "embedding", latest=False)
        sql = load_sql("curation.embedding", "vectors.sql")
        found: pa.Table = connection.sql(sql, params={"embedder": embedder}).to_arrow_table()
    if not found.num_rows:
        return Stored((), np.zeros((0, 0), dtype=np.float32))
    flat = found["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return Stored(tuple(found["subject"].to_pylist()), flat.reshape(found.num_rows, -1).astype(np.float32, copy=False))
