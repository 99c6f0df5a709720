"""The library as a grid: facets, pages, cards. Only the rows of one page are ever read whole."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, func, select

from annotation_ui import labels
from annotation_ui.media_links import MediaLinks
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.views.formats import searched, short_facts, source_title
from annotation_ui.words import Words
from core.content import Modality
from curation.tagging.tags import counts, tags_of
from warehouse.tables import DuplicateLink, Material, MaterialSource, MaterialState, MaterialTag

PAGE_SIZE = 24
TAGS_OFFERED = 200


@dataclass(frozen=True)
class MaterialQuery:
    """What to show; None and empty mean "any"."""

    modality: Modality | None = None
    state: MaterialState | None = None
    licence: str | None = None
    tag: str | None = None
    text: str = ""
    page: int = 1


@dataclass(frozen=True)
class Facets:
    """What can be chosen from, with how many materials each choice has in the whole library."""

    modalities: Sequence[tuple[Modality, int]]
    states: Sequence[tuple[MaterialState, int]]
    licences: Sequence[tuple[str, int]]
    tags: Sequence[tuple[str, int]]


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


@dataclass(frozen=True)
class MaterialsPage:
    """One page of the grid."""

    cards: Sequence[Card]
    total: int
    page: int
    page_count: int
    library_size: int


def materials_page(
    session: Session, who: Principal, query: MaterialQuery, links: MediaLinks, t: Words
) -> MaterialsPage:
    """The asked page of what fits; a page beyond the last is the last.

    Raises:
        NotAllowed: The person may not see the library.
    """
    require(who, Permission.SEE_LIBRARY)
    conditions = _conditions(query)
    total = session.exec(select(func.count()).select_from(Material).where(*conditions)).one()
    library_size = session.exec(select(func.count()).select_from(Material)).one()
    page_count = max(1, -(-total // PAGE_SIZE))
    page = min(max(query.page, 1), page_count)
    rows = session.exec(
        select(Material)
        .where(*conditions)
        .order_by(col(Material.id).desc())
        .offset((page - 1) * PAGE_SIZE)
        .limit(PAGE_SIZE)
    ).all()
    return MaterialsPage(cards_of(session, who, rows, links, t), total, page, page_count, library_size)


def cards_of(session: Session, who: Principal, rows: Sequence[Material], links: MediaLinks, t: Words) -> list[Card]:
    """Cards of some materials, with one query for what belongs to all of them."""
    ids = [row.id for row in rows]
    sources: dict[str, list[MaterialSource]] = {}
    for source in session.exec(
        select(MaterialSource).where(col(MaterialSource.material_id).in_(ids)).order_by(col(MaterialSource.id))
    ):
        sources.setdefault(source.material_id, []).append(source)
    first, second = col(DuplicateLink.first_id), col(DuplicateLink.second_id)
    same = select(DuplicateLink).where(first.in_(ids) | second.in_(ids), DuplicateLink.shows_same())
    pairs = session.exec(same).all()
    doubled = {end for pair in pairs for end in (pair.first_id, pair.second_id)}
    tags = tags_of(session, ids)
    return [_card(row, sources.get(row.id, []), tags[row.id], row.id in doubled, who, links, t) for row in rows]


def facets(session: Session) -> Facets:
    """What the library holds, by modality, state, licence and tag."""
    by_modality = dict(session.exec(select(Material.modality, func.count()).group_by(col(Material.modality))).all())
    by_state = dict(session.exec(select(col(Material.state), func.count()).group_by(col(Material.state))).all())
    licence = col(MaterialSource.licence)
    count = func.count(func.distinct(MaterialSource.material_id))
    by_licence = session.exec(
        select(MaterialSource.licence, count).where(licence.is_not(None)).group_by(licence).order_by(count.desc())
    ).all()
    return Facets(
        modalities=[(modality, by_modality.get(modality.value, 0)) for modality in Modality if modality in by_modality],
        states=[(state, by_state[state]) for state in MaterialState if state in by_state],
        licences=[(name, number) for name, number in by_licence if name],
        tags=_tags(session),
    )


def _conditions(query: MaterialQuery) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if query.modality is not None:
        found.append(col(Material.modality) == query.modality.value)
    if query.state is not None:
        found.append(col(Material.state) == query.state)
    sources = select(MaterialSource.material_id)
    if query.licence is not None:
        found.append(col(Material.id).in_(sources.where(MaterialSource.licence == query.licence)))
    if query.tag is not None:
        found.append(_tagged(col(MaterialTag.value) == query.tag))
    if text := searched(query.text):
        named = sources.where(
            col(MaterialSource.origin).icontains(text, autoescape=True)
            | col(MaterialSource.source).icontains(text, autoescape=True)
            | col(MaterialSource.author).icontains(text, autoescape=True)
        )
        found.append(
            col(Material.id).in_(named)
            | col(Material.audio_content).icontains(text, autoescape=True)
            | _tagged(col(MaterialTag.value).icontains(text, autoescape=True))
            | col(Material.sha256).startswith(text.lower(), autoescape=True)
        )
    return found


def _tags(session: Session) -> list[tuple[str, int]]:
    number = func.count(func.distinct(MaterialTag.material_id))
    query = select(MaterialTag.value, number).where(counts()).group_by(col(MaterialTag.value))
    return list(session.exec(query.order_by(number.desc(), col(MaterialTag.value)).limit(TAGS_OFFERED)))


def _tagged(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return col(Material.id).in_(select(MaterialTag.material_id).where(counts(), condition))


def _card(
    row: Material,
    sources: Sequence[MaterialSource],
    tags: Sequence[MaterialTag],
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
        tags=[tag.value for tag in tags],
        drop_reason=labels.drop_reason(t, row.drop_reason) if row.drop_reason else None,
        has_duplicates=doubled,
        # Who withdrew it wants it seen no more; that it was there stays known.
        picture_url="" if row.state == MaterialState.WITHDRAWN else links.url(media, who.user_id, "small"),
        media_url="" if row.state == MaterialState.WITHDRAWN else links.url(media, who.user_id),
    )
