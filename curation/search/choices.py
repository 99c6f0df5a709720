"""What can be chosen by in the library: what is chosen and no material has, and whose vectors there are."""

import sqlite3
from collections.abc import Iterator

from core.errors import nearest
from curation.search.index import SearchIndex
from curation.search.search import Query, labels_of
from curation.tagging.tags import FACETS, FREE
from warehouse.workspace import Workspace

_TAG = "tag"
_WORDS = {"audio_type": "audio type"}


def unknown_choices(workspace: Workspace, query: Query) -> list[str]:
    """A line for each tag, licence, source, dialect, language or audio type of a query that no material has at all.

    By the index as it is; call it after a search, which brings that up to date.
    """
    with SearchIndex(workspace.project.search_folder).reading() as connection:
        return list(_unknown(connection, query))


def embedders_held(workspace: Workspace, like: str | None) -> set[str]:
    """Fingerprints of the embedders that there are vectors of: of any material, or of the one named by its sha256."""
    index = SearchIndex(workspace.project.search_folder)
    index.refresh(workspace)
    with index.reading() as connection:
        if like is None:
            return set(index.embedders(connection))
        return {row[0] for row in connection.execute("SELECT embedder FROM vector WHERE subject = ?", [like])}


def _unknown(connection: sqlite3.Connection, query: Query) -> Iterator[str]:
    held = "SELECT 1 FROM label WHERE kind = ? AND value = ? LIMIT 1"
    for kind, values in labels_of(query):
        for value in values:
            if connection.execute(held, [kind, value]).fetchone() is None:
                word = _TAG if kind in FACETS else _WORDS.get(kind, kind)
                name = f"{kind}:{value}" if kind in FACETS else value
                hint = nearest(name, _known(connection, word, kind), "there are")
                yield f"no material has the {word} {name!r}; {hint}"


def _known(connection: sqlite3.Connection, word: str, kind: str) -> list[str]:
    if word != _TAG:
        return [row[0] for row in connection.execute("SELECT DISTINCT value FROM label WHERE kind = ?", [kind])]
    rows = connection.execute("SELECT DISTINCT kind, value FROM label").fetchall()
    under = {f"{facet}:{value}" for facet, value in rows if facet in FACETS and facet != FREE}
    ids = {name.partition(":")[2] for name in under}
    return [*under, *(value for found, value in rows if found == _TAG and value not in ids)]
