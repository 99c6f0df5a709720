"""Near neighbours among hashes of 64 bits: all of them, without comparing every pair."""

import itertools

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from warehouse.analytics import load_sql

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]

WORD_COUNT = 4
WORD_BITS = 16
RADIUS_MAX = 15
"""Beyond this, every word may differ in four bits, and the join looks at a large part of all pairs."""


def near_pairs(asked: Hashes, known: Hashes, radius: int) -> tuple[Rows, Rows]:
    """Rows (i, j) of all pairs with a Hamming distance of at most `radius` between asked[i] and known[j], in order.

    The result is exactly what comparing every pair would find. DuckDB joins the words of the hashes, out of core when
    it must, so the work grows with the number of hashes and of near pairs, not with the number of pairs.

    Raises:
        ValueError: The radius is negative or larger than 15.
    """
    if not 0 <= radius <= RADIUS_MAX:
        raise ValueError(f"the radius must be between 0 and {RADIUS_MAX}, not {radius}")
    with duckdb.connect() as connection:
        connection.register("asked", _numbered(asked))
        connection.register("known", _numbered(known))
        connection.register("masks", pa.table({"mask": pa.array(_masks(radius // WORD_COUNT), pa.uint64())}))
        found = connection.execute(load_sql("curation.dedupe", "near_pairs.sql"), {"radius": radius}).fetchnumpy()
    return found["asked_row"].astype(np.int64), found["known_row"].astype(np.int64)


def bit_distances(first: npt.NDArray[np.uint64], second: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Number of different bits along the last axis, element by element; each has shape (..., words)."""
    counts: Rows = np.bitwise_count(np.bitwise_xor(first, second)).sum(axis=-1, dtype=np.int64)
    return counts


def _numbered(hashes: Hashes) -> pa.Table:
    return pa.table({"row_number": np.arange(len(hashes)), "hash": hashes.astype(np.uint64)})


def _masks(flips: int) -> list[int]:
    """Every word of 16 bits with at most so many bits set."""
    choices = (itertools.combinations(range(WORD_BITS), count) for count in range(flips + 1))
    return [sum(1 << bit for bit in bits) for bits in itertools.chain.from_iterable(choices)]
