"""The library as a grid: facets, pages, cards. Only the rows of one page are ever read whole."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from sqlmodel import Session, col, func, select

from annotation_ui import labels
from annotation_ui.finding import MaterialQuery, every_match, find_materials, label_counts
from annotation_ui.media_links import MediaLinks
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.tag_words import TagNames, known_names, tag_line, tag_name
from annotation_ui.views.formats import short_facts, source_title
from annotation_ui.words import Words
from core.content import Modality
from core.errors import InterplayError
from curation.materials import chunked
from curation.tagging.tags import FACETS, FREE, Tag, as_tag, tags_of
from warehouse.spreadsheets import Cell
from warehouse.tables import DuplicateLink, Material, MaterialSource, MaterialState
from warehouse.workspace import Workspace

TAGS_OFFERED = 200


Choice = tuple[str, str, int]
"""What can be chosen: its code, its words, how many materials it has in the whole library."""


@dataclass(frozen=True)
class Facets:
    """What can be chosen from."""

    modalities: Sequence[Choice]
    states: Sequence[Choice]
    licences: Sequence[Choice]
    tags: Sequence[Choice]
    languages: Sequence[Choice]
    audio_types: Sequence[Choice]
    dialects: Sequence[Choice]


@dataclass(frozen=True)
class Card:
    """One material in the grid; a withdrawn one has no addresses."""

    id: str
    title: str
    modality: Modality
    state: MaterialState
    state_label: str
    modality_label: str
    facts: str
    licence: str
    tags: Sequence[str]
    drop_reason: str | None
    has_duplicates: bool
    picture_url: str
    media_url: str
    snippet: str = ""
    """Where the words that were looked for occur."""


@dataclass(frozen=True)
class MaterialsPage:
    """One page of the grid; `unmeant` says why meaning or likeness was not compared, None where it was."""

    cards: Sequence[Card]
    total: int
    page: int
    page_count: int
    unmeant: InterplayError | None = None


def materials_page(
    workspace: Workspace, who: Principal, query: MaterialQuery, links: MediaLinks, t: Words
) -> MaterialsPage:
    """The asked page of what fits; a page beyond the last is the last.

    Raises:
        NotAllowed: The person may not see the library.
        LibraryBusy: Another process is making the index.
    """
    require(who, Permission.SEE_LIBRARY)
    found = find_materials(workspace, query)
    names = known_names(workspace.project.root)
    with workspace.database.reading() as session:
        rows = _in_order(session, found.ids)
        cards = cards_of(session, who, rows, links, t, names)
    cards = [replace(card, snippet=found.snippets.get(card.id, "")) for card in cards]
    return MaterialsPage(cards, found.total, found.page, found.page_count, found.unmeant)


def material_columns(t: Words) -> list[str]:
    """The head of the table of materials that people save."""
    return [
        t("Name"), t("Modality"), t("State"), t("Reason"), t("Duration (s)"), t("Licence"), t("Made by"), t("Source"),
        t("Came from"), t("Tags"), "sha256",
    ]  # fmt: skip


def material_rows(workspace: Workspace, who: Principal, query: MaterialQuery, t: Words) -> Iterator[list[Cell]]:
    """All materials that fit, for `material_columns`.

    Raises:
        NotAllowed: The person may not see the library.
        LibraryBusy: Another process is making the index.
    """
    require(who, Permission.SEE_LIBRARY)
    names = known_names(workspace.project.root)
    for ids in chunked(every_match(workspace, query)):
        with workspace.database.reading() as session:
            sources, tags = _sources_of(session, ids), tags_of(session, ids)
            for row in _in_order(session, ids):
                yield _cells(row, sources.get(row.id, []), [tag_line(t, names, as_tag(tag)) for tag in tags[row.id]], t)


def cards_of(
    session: Session,
    who: Principal,
    rows: Sequence[Material],
    links: MediaLinks,
    t: Words,
    names: TagNames = MappingProxyType({}),
) -> list[Card]:
    """Cards of some materials, with one query for what belongs to all of them; `names` are the words for their tags."""
    ids = [row.id for row in rows]
    sources = _sources_of(session, ids)
    first, second = col(DuplicateLink.first_id), col(DuplicateLink.second_id)
    same = select(DuplicateLink).where(first.in_(ids) | second.in_(ids), DuplicateLink.shows_same())
    pairs = session.exec(same).all()
    doubled = {end for pair in pairs for end in (pair.first_id, pair.second_id)}
    tags = {
        material_id: [tag_name(t, names, as_tag(tag)) for tag in held]
        for material_id, held in tags_of(session, ids).items()
    }
    return [_card(row, sources.get(row.id, []), tags[row.id], row.id in doubled, who, links, t) for row in rows]


def facets(workspace: Workspace, t: Words) -> Facets:
    """What the library holds, by everything that it can be narrowed to.

    Raises:
        LibraryBusy: Another process is making the index.
    """
    with workspace.database.reading() as session:
        modality, state = col(Material.modality), col(Material.state)
        by_modality = dict(session.exec(select(modality, func.count()).group_by(modality)).all())
        by_state = dict(session.exec(select(state, func.count()).group_by(state)).all())
    held = label_counts(workspace) if by_modality else {}
    names = known_names(workspace.project.root)
    return Facets(
        modalities=[
            (one.value, t(labels.MODALITIES[one]), by_modality.get(one.value, 0))
            for one in Modality
            if one.value in by_modality
        ],
        states=[(one.value, t(labels.MATERIAL_STATES[one]), by_state[one]) for one in MaterialState if one in by_state],
        licences=[(value, value, count) for value, count in held.get("licence", [])],
        tags=_tag_choices(held, names, t),
        languages=[(code, labels.spoken_language(t, code), count) for code, count in held.get("language", [])],
        audio_types=[(code, labels.audio_type(t, code), count) for code, count in held.get("audio_type", [])],
        dialects=[(value, value, count) for value, count in held.get("dialect", [])],
    )


def _tag_choices(held: Mapping[str, Sequence[tuple[str, int]]], names: TagNames, t: Words) -> list[Choice]:
    """By facet, the most frequent first; free ones, which are all that stand under no facet, last."""
    found: list[Choice] = []
    faceted: set[str] = set()
    for facet in FACETS:
        for value, count in held.get(facet, []) if facet != FREE else []:
            tag = Tag(facet, value)
            faceted.add(value)
            found.append((str(tag), tag_line(t, names, tag), count))
    free = [(value, value, count) for value, count in held.get("tag", []) if value not in faceted]
    return found[:TAGS_OFFERED] + free[:TAGS_OFFERED]


def _in_order(session: Session, ids: Sequence[str]) -> list[Material]:
    rows = {row.id: row for row in session.exec(select(Material).where(col(Material.id).in_(ids)))}
    return [rows[material_id] for material_id in ids if material_id in rows]


def _sources_of(session: Session, ids: Sequence[str]) -> dict[str, list[MaterialSource]]:
    sources: dict[str, list[MaterialSource]] = {}
    for source in session.exec(
        select(MaterialSource).where(col(MaterialSource.material_id).in_(ids)).order_by(col(MaterialSource.id))
    ):
        sources.setdefault(source.material_id, []).append(source)
    return sources


def _cells(row: Material, sources: Sequence[MaterialSource], tags: Sequence[str], t: Words) -> list[Cell]:
    first = sources[0] if sources else None
    return [
        source_title(first.origin) if first else row.sha256[:12],
        t(labels.MODALITIES[Modality(row.modality)]),
        t(labels.MATERIAL_STATES[row.state]),
        labels.drop_reason(t, row.drop_reason) if row.drop_reason else None,
        row.media_ref.duration_s,
        next((source.licence for source in sources if source.licence), None),
        next((source.author for source in sources if source.author), None),
        next((source.source for source in sources if source.source), None),
        first.origin if first else None,
        t(", ").join(tags),
        row.sha256,
    ]


def _card(
    row: Material,
    sources: Sequence[MaterialSource],
    tags: Sequence[str],
    doubled: bool,
    who: Principal,
    links: MediaLinks,
    t: Words,
) -> Card:
    media = row.media_ref
    return Card(
        id=row.id,
        title=source_title(sources[0].origin) if sources else row.sha256[:12],
        modality=media.modality,
        state=row.state,
        state_label=t(labels.MATERIAL_STATES[row.state]),
        modality_label=t(labels.MODALITIES[media.modality]),
        facts=short_facts(media),
        licence=next((source.licence for source in sources if source.licence), ""),
        tags=tags,
        drop_reason=labels.drop_reason(t, row.drop_reason) if row.drop_reason else None,
        has_duplicates=doubled,
        # Who withdrew it wants it seen no more; that it was there stays known.
        picture_url="" if row.state == MaterialState.WITHDRAWN else links.url(media, who.user_id, "small"),
        media_url="" if row.state == MaterialState.WITHDRAWN else links.url(media, who.user_id),
    )
