"""Search in the library: by facets, words, meaning and example, ranked together."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from core.content import Modality
from core.errors import InterplayError
from curation.embedding import Embedder
from curation.search.index import SearchIndex
from curation.search.words import match_expression, unspaced
from curation.tagging.tags import FREE, Tag
from warehouse.tables import MaterialState
from warehouse.workspace import Workspace

WORDS = "words"
RANK_OFFSET = 60
"""Of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""
DEPTH = 1_000
"""How many places of a ranking by words are in the order of their scores."""
_WEIGHTS = "3.0, 2.0, 1.0"
"""Of words said, told and naming, in BM25."""

_FACTS = ("material_id", "sha256", "media_sha256", "modality", "duration_s", "uses", "origin")
"""Columns of `doc` that a hit shows."""

Ids = npt.NDArray[np.int64]


class NoVectors(InterplayError):
    """A search by meaning in a library that has no embeddings of the model."""


@dataclass(frozen=True)
class Query:
    """What to look for; None and empty mean "any". All that is given must hold, and each way of ranking counts.

    Attributes:
        words: Words that occur in what is said, told of it, or in its names and tags; `said` in speech alone.
        meaning: A text whose meaning is near.
        picture: An example that looks alike; `like` a material (sha256 of its working copy) that is alike.
        state: Kept ones, unless said.
        modalities, licences, sources, dialects, languages, audio_types: One of each must fit.
        tags: All must fit; a free tag fits under any facet.
        shortest_s, longest_s: Bounds of the duration in seconds.
        unused: Only what no item shows.
    """

    words: str = ""
    said: str = ""
    meaning: str = ""
    picture: Image.Image | None = field(default=None, compare=False)
    like: str | None = None
    state: MaterialState | None = MaterialState.KEPT
    modalities: Sequence[Modality] = ()
    tags: Sequence[Tag] = ()
    licences: Sequence[str] = ()
    sources: Sequence[str] = ()
    dialects: Sequence[str] = ()
    languages: Sequence[str] = ()
    audio_types: Sequence[str] = ()
    shortest_s: float | None = None
    longest_s: float | None = None
    unused: bool = False


@dataclass(frozen=True)
class Hit:
    """One material that was found.

    `scores` are what each ranking gives: `words` (BM25, larger is better), and the cosine by each embedder's name.
    """

    material_id: str
    sha256: str
    media_sha256: str
    modality: str
    duration_s: float | None
    uses: int
    origin: str | None
    scores: Mapping[str, float] = field(default_factory=dict)
    snippet: str | None = None


@dataclass(frozen=True)
class Found:
    """The asked hits, and how many fit in all; by meaning alone, everything fits that the facets let through."""

    hits: Sequence[Hit]
    total: int


def search(
    workspace: Workspace,
    query: Query,
    embedders: Sequence[Embedder | str] = (),
    limit: int = 20,
    offset: int = 0,
) -> Found:
    """Look for materials; the index follows the library first.

    Without a way of ranking the newest come first; with one, the best; with several, the best by reciprocal rank
    fusion.

    Args:
        workspace: The opened project.
        query: What to look for.
        embedders: Whose vectors meaning and examples are compared with; models are loaded only for these. A fingerprint
            alone names vectors that only `like` is compared with, for which no model is needed.
        limit: How many hits.
        offset: How many to leave out before them.

    Raises:
        NothingToSearchFor: The words hold none.
        NoVectors: Meaning or an example was asked for, and no material has a vector of any of the embedders.
    """
    index = SearchIndex(workspace.project.search_folder)
    index.refresh(workspace)
    with index.reading() as connection:
        return _Search(index, connection, query, embedders).run(limit, offset)


def facet_counts(workspace: Workspace, query: Query) -> dict[str, list[tuple[str, int]]]:
    """By kind of label (tag, its facets, licence, source, dialect, language, audio_type), its values with how many fit.

    Most frequent first.
    """
    index = SearchIndex(workspace.project.search_folder)
    index.refresh(workspace)
    where, values = _conditions(query)
    found: dict[str, list[tuple[str, int]]] = {}
    with index.reading() as connection:
        sql = (
            f"SELECT kind, value, count(*) AS number FROM label JOIN doc ON doc.id = label.doc WHERE {where} "  # noqa: S608
            "GROUP BY kind, value ORDER BY kind, number DESC, value"
        )
        for kind, value, number in connection.execute(sql, values):
            found.setdefault(kind, []).append((value, number))
    return found


def labels_of(query: Query) -> list[tuple[str, Sequence[str]]]:
    """The labels that a query chooses by: kinds as `facet_counts` names them, with values of which one must fit."""
    choices: tuple[tuple[str, Sequence[str]], ...] = (
        ("licence", query.licences),
        ("source", query.sources),
        ("dialect", query.dialects),
        ("language", query.languages),
        ("audio_type", query.audio_types),
        *(("tag" if tag.facet == FREE else tag.facet, [tag.value]) for tag in query.tags),
    )
    return [(kind, chosen) for kind, chosen in choices if chosen]


class _Search:
    """One search in one moment of the index."""

    def __init__(
        self, index: SearchIndex, connection: sqlite3.Connection, query: Query, embedders: Sequence[Embedder | str]
    ) -> None:
        self._index, self._connection, self._query = index, connection, query
        # By fingerprint; None where there is no more than that.
        self._embedders: dict[str, Embedder | None] = {
            **{one: None for one in embedders if isinstance(one, str)},
            **{one.fingerprint: one for one in embedders if not isinstance(one, str)},
        }
        self._where, self._values = _conditions(query)

    def run(self, limit: int, offset: int) -> Found:
        rankings = self._rankings()
        if not rankings:
            newest = self._ids("ORDER BY id DESC LIMIT ? OFFSET ?", [limit, offset])
            return Found(self._hits(newest, {}), self._count())
        alike = [ids for name, (ids, _) in rankings.items() if name != WORDS]
        lists = [_at_best(alike)] if alike else []
        lists += [ids for name, (ids, _) in rankings.items() if name == WORDS]
        best = lists[0] if len(lists) == 1 else _fused(lists)
        return Found(self._hits(best[offset : offset + limit].tolist(), rankings), len(best))

    def _rankings(self) -> dict[str, tuple[Ids, npt.NDArray[np.float64]]]:
        """By name, docs from the best on, and their scores."""
        query = self._query
        rankings: dict[str, tuple[Ids, npt.NDArray[np.float64]]] = {}
        if expression := _expression(query):
            rankings[WORDS] = self._by_words(expression)
        if query.meaning or query.picture is not None or query.like:
            rankings |= self._by_vectors()
        if WORDS in rankings and len(rankings) > 1:
            # What lacks the words does not fit, however near its meaning.
            fitting = rankings[WORDS][0]
            rankings = {name: _only(fitting, *ranked) for name, ranked in rankings.items()}
        return rankings

    def _by_words(self, expression: str) -> tuple[Ids, npt.NDArray[np.float64]]:
        """The best by BM25; those beyond the first thousand have no score, and the newest of them come first."""
        best = (
            f"SELECT doc.id, -bm25(words, {_WEIGHTS}) AS score FROM words JOIN doc ON doc.id = words.rowid "  # noqa: S608
            f"WHERE words MATCH ? AND {self._where} ORDER BY score DESC, doc.id DESC LIMIT {DEPTH}"
        )
        ranked = self._connection.execute(best, [expression, *self._values]).fetchall()
        if len(ranked) < DEPTH:
            everything = _ints(row[0] for row in ranked)
        else:
            matching = "AND id IN (SELECT rowid FROM words WHERE words MATCH ?) ORDER BY id DESC"
            fitting = _ints(self._ids(matching, [expression]))
            first = _ints(row[0] for row in ranked)
            everything = np.concatenate([first, fitting[~np.isin(fitting, first)]])
        scores = np.full(len(everything), np.nan)
        scores[: len(ranked)] = [row[1] for row in ranked]
        return everything, scores

    def _by_vectors(self) -> dict[str, tuple[Ids, npt.NDArray[np.float64]]]:
        allowed = _ints(self._ids("", []))
        rankings: dict[str, tuple[Ids, npt.NDArray[np.float64]]] = {}
        for fingerprint, embedder in self._embedders.items():
            space = self._index.space(self._connection, fingerprint)
            asked = None if space is None else self._asked(fingerprint, embedder, space.vectors)
            if space is None or asked is None:
                continue
            held = np.flatnonzero(np.isin(space.docs, allowed))
            scores = (space.vectors[held] if len(held) < len(space.docs) else space.vectors) @ asked
            order = np.argsort(-scores, kind="stable")
            rankings[fingerprint] = space.docs[held][order], scores[order].astype(np.float64)
        if not rankings:
            known = ", ".join(self._index.embedders(self._connection)) or "none"
            raise NoVectors(
                f"no material has a vector of {', '.join(self._embedders) or 'any model'} "
                f"to compare with (there are vectors of: {known}); run 'interplay material embed'"
            )
        return rankings

    def _asked(
        self, fingerprint: str, embedder: Embedder | None, vectors: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32] | None:
        """The mean direction of all that is asked for; None where this embedder can say nothing of it."""
        query = self._query
        found = []
        if query.meaning and embedder is not None:
            found.append(embedder.embed_texts([query.meaning])[0])
        if query.picture is not None and embedder is not None and embedder.logit_scale is not None:
            found.append(embedder.embed_images([query.picture])[0])
        if query.like:
            sql = "SELECT row_number FROM vector WHERE embedder = ? AND subject = ?"
            row = self._connection.execute(sql, [fingerprint, query.like]).fetchone()
            if row is not None:
                found.append(vectors[row[0]])
        return np.mean(found, axis=0) if found else None

    def _ids(self, order: str, values: Sequence[object]) -> list[int]:
        sql = f"SELECT id FROM doc WHERE {self._where} {order}"  # noqa: S608 - values are parameters
        return [row[0] for row in self._connection.execute(sql, [*self._values, *values])]

    def _count(self) -> int:
        sql = f"SELECT count(*) FROM doc WHERE {self._where}"  # noqa: S608
        return int(self._connection.execute(sql, self._values).fetchone()[0])

    def _hits(self, ids: Sequence[int], rankings: Mapping[str, tuple[Ids, npt.NDArray[np.float64]]]) -> list[Hit]:
        marks = ", ".join("?" * len(ids))
        sql = f"SELECT id, {', '.join(_FACTS)} FROM doc WHERE id IN ({marks})"  # noqa: S608
        found = self._connection.execute(sql, ids)
        rows: dict[int, dict[str, Any]] = {row[0]: dict(zip(_FACTS, row[1:], strict=True)) for row in found}
        snippets = self._snippets(ids)
        hits = []
        for id_ in ids:
            scores = {
                name: float(values[place[0]])
                for name, (ranked, values) in rankings.items()
                if len(place := np.flatnonzero(ranked == id_)) and np.isfinite(values[place[0]])
            }
            hits.append(Hit(**rows[id_], scores=scores, snippet=snippets.get(id_)))
        return hits

    def _snippets(self, ids: Sequence[int]) -> dict[int, str]:
        expression = _expression(self._query)
        if not expression or not ids:
            return {}
        marks = ", ".join("?" * len(ids))
        sql = f"SELECT rowid, snippet(words, -1, '', '', '…', 24) FROM words WHERE words MATCH ? AND rowid IN ({marks})"  # noqa: S608
        return {row[0]: unspaced(row[1]) for row in self._connection.execute(sql, [expression, *ids])}


def _expression(query: Query) -> str:
    parts = []
    if query.words:
        parts.append(f"({match_expression(query.words)})")
    if query.said:
        parts.append(f"({{said}} : ({match_expression(query.said)}))")
    return " AND ".join(parts)


def _conditions(query: Query) -> tuple[str, list[object]]:
    """SQL about `doc`, and its parameters."""
    parts, values = ["1"], list[object]()
    if query.state is not None:
        parts.append("state = ?")
        values.append(query.state.value)
    if query.modalities:
        parts.append(f"modality IN ({', '.join('?' * len(query.modalities))})")
        values += [modality.value for modality in query.modalities]
    for kind, chosen in labels_of(query):
        among = ", ".join("?" * len(chosen))
        parts.append(f"doc.id IN (SELECT doc FROM label WHERE kind = ? AND value IN ({among}))")  # noqa: S608
        values += [kind, *chosen]
    for bound, sign in ((query.shortest_s, ">="), (query.longest_s, "<=")):
        if bound is not None:
            parts.append(f"duration_s {sign} ?")
            values.append(bound)
    if query.unused:
        parts.append("uses = 0")
    return " AND ".join(parts), values


def _ints(values: Iterable[int]) -> Ids:
    return np.fromiter(values, dtype=np.int64)


def _only(fitting: Ids, ids: Ids, scores: npt.NDArray[np.float64]) -> tuple[Ids, npt.NDArray[np.float64]]:
    held = np.isin(ids, fitting)
    return ids[held], scores[held]


def _at_best(rankings: Sequence[Ids]) -> Ids:
    """Docs of all rankings by their best place, for what has vectors of one model alone is no worse for it."""
    everything = np.concatenate(rankings)
    places = np.concatenate([np.arange(len(ids)) for ids in rankings])
    docs, owner = np.unique(everything, return_inverse=True)
    best = np.full(len(docs), len(everything))
    np.minimum.at(best, owner, places)
    order: Ids = docs[np.lexsort((-docs, best))]
    return order


def _fused(rankings: Sequence[Ids]) -> Ids:
    """Docs of all rankings, by the sum of 1 / (60 + place); the newer first where that is equal."""
    everything = np.concatenate(rankings)
    weights = np.concatenate([1.0 / (RANK_OFFSET + 1 + np.arange(len(ids))) for ids in rankings])
    docs, owner = np.unique(everything, return_inverse=True)
    totals = np.bincount(owner, weights)
    order: Ids = docs[np.lexsort((-docs, -totals))]
    return order


def open_picture(path: Path) -> Image.Image:
    """An example picture as search compares it.

    Raises:
        MediaError: It is no picture that is read here.
    """
    from core.media.image import load_image

    return load_image(path)
