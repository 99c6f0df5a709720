"""Importers: files of scores, as other programs write them, to rows of a pool."""

from pathlib import Path

import duckdb

from compression.importers.base import BadPool, Importer, Reading
from core.registry import Entry, Registry

IMPORTERS: Registry[Importer] = Registry(
    "importers",
    (Entry("long", "1", "compression.importers.long:LONG"),),
)


def load_scores(connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> str:
    """Fill the table `raw` (see `Importer.load`) from a file or folder; gives the `name@version` of the importer.

    The importer is that of `reading.format`, else the first, by name, that knows the file.

    Raises:
        UnknownName: No importer is called so.
        BadPool: Nothing is there, or no importer knows the file, or it cannot be read as what it should be.
    """
    if not path.exists():
        raise BadPool(f"{path}: no such file or folder")
    entries = [IMPORTERS[reading.format]] if reading.format else list(IMPORTERS)
    for entry in entries:
        importer = entry.load()
        if reading.format or importer.knows(path):
            importer.load(connection, path, reading)
            return entry.fingerprint
    known = ", ".join(entry.name for entry in IMPORTERS)
    raise BadPool(f"{path} is in no known format ({known}); name one with --format, or write it as Parquet or CSV")
