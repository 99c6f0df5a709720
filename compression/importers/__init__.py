"""Importers: files of scores, as other programs write them, to rows of a pool."""

from pathlib import Path

import duckdb

from compression.importers.base import BadPool, Importer, NoScores, Reading, UnknownFormat
from core.registry import Entry, Registry

IMPORTERS: Registry[Importer] = Registry(
    "importers",
    (
        Entry("helm", "1", "compression.importers.helm:HELM"),
        Entry("inspect", "1", "compression.importers.inspect_logs:INSPECT_LOGS"),
        Entry("lmms-eval", "1", "compression.importers.lmms_eval:LMMS_EVAL"),
        Entry("long", "1", "compression.importers.long:LONG"),
        Entry("opencompass", "1", "compression.importers.opencompass:OPENCOMPASS"),
        Entry("vlmevalkit", "1", "compression.importers.vlmevalkit:VLMEVALKIT"),
    ),
)


def load_scores(connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> str:
    """Fill the table `raw` (see `Importer.load`) from a file or folder; gives the `name@version` of the importer.

    The importer is that of `reading.format`, else the one that knows the file.

    Raises:
        UnknownName: No importer is called so.
        BadPool: Nothing is there, no importer knows the file, several know a folder, or it cannot be read as what it
            should be.
    """
    if not path.exists():
        raise BadPool(f"{path}: no such file or folder")
    if path.is_file() and not path.stat().st_size:
        raise NoScores(f"{path} is empty; write it again")
    entry = IMPORTERS[reading.format] if reading.format else _knowing(path)
    entry.load().load(connection, path, reading)
    return entry.fingerprint


def _knowing(path: Path) -> Entry[Importer]:
    found = [entry for entry in IMPORTERS if entry.load().knows(path)]
    if path.is_dir() and len(found) > 1:
        names = ", ".join(entry.name for entry in found)
        raise BadPool(f"{path} holds files in several formats ({names}); name one with --format, then the next")
    if found:
        return found[0]
    known = ", ".join(entry.name for entry in IMPORTERS)
    if path.is_dir():
        raise BadPool(f"{path} holds nothing in a known format ({known}); of a folder of Parquet or CSV name the files")
    raise UnknownFormat(
        f"{path} is not in a known format ({known}); name one with --format, or write it as Parquet or CSV"
    )
