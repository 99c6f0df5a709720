"""Finding materials for people: the library's index, asked by words, meaning, example and facets."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from sqlalchemy import ColumnElement, func, or_, true
from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from annotation_ui.told import Told
from annotation_ui.views.formats import searched
from annotation_ui.views.paging import paging
from annotation_ui.words import N_
from core.content import Modality
from core.errors import InterplayError, MissingExtra
from curation.embedding import Embedder, clip_embedder, text_embedder
from curation.models import UnusableModel
from curation.search.choices import embedders_held
from curation.search.index import IndexBusy, SearchIndex
from curation.search.search import Found, NoVectors, Query, facet_counts, search
from curation.search.words import NothingToSearchFor
from curation.tagging.tags import Tag
from warehouse.tables import Material, MaterialSource, MaterialState, MaterialTag, RevisionMedia
from warehouse.workspace import Workspace

PAGE_SIZE = 24
_BATCH = 1_000
_HANDLE = re.compile(r"[0-9a-f]{8,64}")
# A word that somebody is still writing is the beginning of one.
_OPEN_END = re.compile(r"[A-Za-z0-9]$")
LENGTHS: Mapping[str, tuple[float | None, float | None]] = {
    "10s": (None, 10),
    "1m": (10, 60),
    "10m": (60, 600),
    "longer": (600, None),
}
"""Ranges of duration in seconds, by the code that stands in the address."""


MANY = 1_000
"""Of more materials that the index does not know yet, a page asks the tables: to read them takes seconds."""


class LibraryBusy(Told):
    """Another process has been making the index for a minute."""

    text = N_("The library is being prepared for searching. Try again in a minute.")


@dataclass(frozen=True)
class MaterialQuery:
    """What to show; None and empty mean "any".

    `text` are words that occur, or with `by_meaning` what is shown or told; `like` is the id of a material that others
    are to be like; `tag` is written as `Tag` reads it; `length` one of `LENGTHS`.
    """

    modality: Modality | None = None
    state: MaterialState | None = None
    licence: str | None = None
    tag: str | None = None
    text: str = ""
    by_meaning: bool = False
    like: str | None = None
    language: str | None = None
    audio_type: str | None = None
    dialect: str | None = None
    length: str | None = None
    unused: bool = False
    page: int = 1


@dataclass(frozen=True)
class Findings:
    """One page of ids, best first. `unmeant` says why meaning or likeness was not compared, None where it was.

    With `is_plain` the tables were asked, for the index is behind: names, authors, sources, licences and tags alone.
    """

    ids: Sequence[str]
    total: int
    page: int
    page_count: int
    snippets: Mapping[str, str] = field(default_factory=dict)
    unmeant: InterplayError | None = None
    is_plain: bool = False


def is_behind(workspace: Workspace) -> bool:
    """Whether the index has so much to follow that no page waits for it; `follow` does it."""
    return SearchIndex(workspace.project.search_folder).behind(workspace) > MANY


def follow(workspace: Workspace) -> int:
    """Have the index follow the library, with progress; returns how many materials were read.

    Raises:
        IndexBusy: Another process has been making it for a minute.
    """
    return SearchIndex(workspace.project.search_folder).refresh(workspace)


def find_materials(workspace: Workspace, query: MaterialQuery) -> Findings:
    """The asked page of what fits; a page beyond the last is the last.

    Raises:
        LibraryBusy: Another process is making the index.
    """
    if (ids := _by_handle(workspace, query)) is not None:
        return Findings(ids, len(ids), 1, 1)
    if is_behind(workspace):
        return _plain(workspace, query)
    try:
        asked, embedders, unmeant = _as_asked(workspace, query)
        page = max(query.page, 1)
        found = _searched(workspace, asked, embedders, page)
        page_count = max(1, -(-found.total // PAGE_SIZE))
        if page > page_count:
            page = page_count
            found = _searched(workspace, asked, embedders, page)
    except NothingToSearchFor:
        return Findings([], 0, 1, 1)
    except NoVectors as error:
        # What is asked for by example alone has no words to fall back on: nothing is like it as far as is known.
        return Findings([], 0, 1, 1, unmeant=error)
    except IndexBusy:
        raise LibraryBusy from None
    snippets = {hit.material_id: hit.snippet for hit in found.hits if hit.snippet}
    return Findings([hit.material_id for hit in found.hits], found.total, page, page_count, snippets, unmeant)


def every_match(workspace: Workspace, query: MaterialQuery) -> list[str]:
    """Ids of all that fits, best first, for a table that people save.

    Raises:
        LibraryBusy: Another process is making the index.
    """
    if (ids := _by_handle(workspace, query)) is not None:
        return ids
    if is_behind(workspace):
        with workspace.database.reading() as session:
            return list(session.exec(_plainly(query)))
    found: list[str] = []
    try:
        asked, embedders, _ = _as_asked(workspace, query)
        while batch := search(workspace, asked, embedders, _BATCH, len(found)).hits:
            found += [hit.material_id for hit in batch]
    except (NothingToSearchFor, NoVectors):
        return []
    except IndexBusy:
        raise LibraryBusy from None
    return found


def label_counts(workspace: Workspace) -> dict[str, list[tuple[str, int]]]:
    """What materials can be chosen by, of the whole library: kinds of labels, their values with how many there are.

    While the index is behind, only what the tables tell at once.

    Raises:
        LibraryBusy: Another process is making the index.
    """
    if is_behind(workspace):
        return _plain_labels(workspace)
    index = SearchIndex(workspace.project.search_folder)
    try:
        index.refresh(workspace)
    except IndexBusy:
        raise LibraryBusy from None
    with index.reading() as connection:
        marks = tuple(connection.execute("SELECT name, value FROM mark ORDER BY name").fetchall())
    return _counted(_Library(workspace), marks)


def _plain(workspace: Workspace, query: MaterialQuery) -> Findings:
    """What fits by the tables alone, the newest first; nothing is like an example as far as they know."""
    if query.like:
        return Findings([], 0, 1, 1, is_plain=True)
    wanted = _plainly(query)
    with workspace.database.reading() as session:
        total = session.exec(select(func.count()).select_from(wanted.subquery())).one()
        at = paging(total, PAGE_SIZE, query.page)
        ids = list(session.exec(wanted.offset(at.start).limit(PAGE_SIZE)))
    return Findings(ids, total, at.page, at.page_count, is_plain=True)


def _plainly(query: MaterialQuery) -> SelectOfScalar[str]:
    own, duration = col(Material.id), col(Material.media)["duration_s"].as_float()
    shortest_s, longest_s = LENGTHS.get(query.length or "", (None, None))
    wanted = select(Material.id).order_by(own.desc())
    for column, value in ((Material.state, query.state), (Material.modality, query.modality)):
        if value is not None:
            wanted = wanted.where(col(column) == value)
    if query.audio_type:
        wanted = wanted.where(Material.audio_type == query.audio_type)
    if shortest_s is not None:
        wanted = wanted.where(duration >= shortest_s)
    if longest_s is not None:
        wanted = wanted.where(duration <= longest_s)
    if query.licence:
        wanted = wanted.where(own.in_(_sources(col(MaterialSource.licence) == query.licence)))
    if query.tag:
        wanted = wanted.where(own.in_(_tagged(col(MaterialTag.value) == Tag.parse(query.tag).value)))
    if query.unused:
        wanted = wanted.where(own.not_in(select(RevisionMedia.material_id)))
    for word in searched(query.text).split():
        named = (MaterialSource.origin, MaterialSource.author, MaterialSource.source, MaterialSource.licence)
        told = or_(*(col(column).icontains(word, autoescape=True) for column in named))
        tagged = _tagged(col(MaterialTag.value).icontains(word, autoescape=True))
        wanted = wanted.where(own.in_(_sources(told)) | own.in_(tagged))
    return wanted


def _sources(*conditions: ColumnElement[bool]) -> SelectOfScalar[str]:
    return select(MaterialSource.material_id).where(*conditions)


def _tagged(*conditions: ColumnElement[bool]) -> SelectOfScalar[str]:
    return select(MaterialTag.material_id).where(col(MaterialTag.holds), *conditions)


def _plain_labels(workspace: Workspace) -> dict[str, list[tuple[str, int]]]:
    # A material has several sources, and a tag several authors, one of whom may say that it does not hold.
    labels = {
        "licence": (col(MaterialSource.licence), col(MaterialSource.material_id), true()),
        "audio_type": (col(Material.audio_type), col(Material.id), true()),
        "tag": (col(MaterialTag.value), col(MaterialTag.material_id), col(MaterialTag.holds)),
    }
    found: dict[str, list[tuple[str, int]]] = {}
    with workspace.database.reading() as session:
        for kind, (value, material_id, counts) in labels.items():
            count = func.count(func.distinct(material_id))
            query = select(value, count).where(counts).group_by(value).order_by(count.desc(), value)
            found[kind] = [(label, number) for label, number in session.exec(query) if label]
    return found


def _searched(workspace: Workspace, asked: Query, embedders: Sequence[Embedder | str], page: int) -> Found:
    return search(workspace, asked, embedders, PAGE_SIZE, (page - 1) * PAGE_SIZE)


def _by_handle(workspace: Workspace, query: MaterialQuery) -> list[str] | None:
    """Materials whose sha256 begins so, which people copy from tables and other pages; None where none does."""
    begins = query.text.strip().lower()
    if not _HANDLE.fullmatch(begins):
        return None
    fitting = [col(Material.sha256).startswith(begins, autoescape=True)]
    if query.state is not None:
        fitting.append(col(Material.state) == query.state)
    with workspace.database.reading() as session:
        found = session.exec(select(Material.id).where(*fitting).order_by(col(Material.id)).limit(PAGE_SIZE)).all()
    return list(found) or None


def _as_asked(
    workspace: Workspace, query: MaterialQuery
) -> tuple[Query, Sequence[Embedder | str], InterplayError | None]:
    shortest_s, longest_s = LENGTHS.get(query.length or "", (None, None))
    text = searched(query.text)
    asked = Query(
        words=f"{text}*" if _OPEN_END.search(text) else text,
        state=query.state,
        modalities=[query.modality] if query.modality else (),
        tags=[Tag.parse(query.tag)] if query.tag else (),
        licences=[query.licence] if query.licence else (),
        dialects=[query.dialect] if query.dialect else (),
        languages=[query.language] if query.language else (),
        audio_types=[query.audio_type] if query.audio_type else (),
        shortest_s=shortest_s,
        longest_s=longest_s,
        unused=query.unused,
    )
    if query.like:
        like = _copy_of(workspace, query.like)
        return replace(asked, like=like), sorted(embedders_held(workspace, None)), None
    if not (query.by_meaning and text):
        return asked, [], None
    loaded, unmeant = _loaded(workspace)
    return (replace(asked, words="", meaning=text) if loaded else asked), loaded, unmeant


def _loaded(workspace: Workspace) -> tuple[list[Embedder], InterplayError | None]:
    """The models at hand whose vectors there are; where there are none, why not."""
    held = embedders_held(workspace, None)
    if not held:
        return [], NoVectors("no material has a vector; run 'interplay material embed'")
    found: list[Embedder] = []
    unmeant: InterplayError = NoVectors("there are vectors of other models only; run 'interplay material embed'")
    for make in (clip_embedder, text_embedder):
        try:
            embedder = make(workspace.project)
            if embedder.fingerprint in held:
                embedder.load()
                found.append(embedder)
        except (UnusableModel, MissingExtra) as error:
            unmeant = error
    return found, None if found else unmeant


@dataclass(frozen=True)
class _Library:
    """A workspace that is told from others by where its index lies."""

    workspace: Workspace = field(compare=False)
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", self.workspace.project.search_folder)


# Counting every label of ten thousand materials takes a fifth of a second: once for each state of the index.
@lru_cache(maxsize=4)
def _counted(library: _Library, marks: tuple[tuple[str, object], ...]) -> dict[str, list[tuple[str, int]]]:
    return facet_counts(library.workspace, Query(state=None))


def _copy_of(workspace: Workspace, material_id: str) -> str:
    """The sha256 of the working copy, by which vectors are found; of one that is not there, what no vector has."""
    with workspace.database.reading() as session:
        row = session.get(Material, material_id)
        return row.media_ref.sha256 if row is not None else material_id
