"""The tags of one material: what is said, by whom, and whether it counts."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from annotation_ui.people import display_names
from annotation_ui.tag_words import FACETS, TagNames, tag_choice, tag_name
from annotation_ui.words import Words
from curation.tagging.tags import PEOPLE, Tag, as_tag, tags_of
from warehouse.tables import MaterialTag


@dataclass(frozen=True)
class TagLine:
    """A tag with everybody who spoke of it. `state` says why it does not count."""

    tag: Tag
    facet: str
    name: str
    counts: bool
    state: str
    said: Sequence[str]


def tag_lines(session: Session, material_id: str, names: TagNames, t: Words) -> list[TagLine]:
    """All that was ever said of a material: by facet, what counts first."""
    query = select(MaterialTag).where(MaterialTag.material_id == material_id)
    rows = session.exec(query.order_by(col(MaterialTag.by_person).desc(), col(MaterialTag.id))).all()
    counting = {as_tag(row) for row in tags_of(session, [material_id])[material_id]}
    people = display_names(session, {row.author for row in rows if row.by_person})
    by_tag: dict[Tag, list[MaterialTag]] = {}
    for row in rows:
        by_tag.setdefault(as_tag(row), []).append(row)
    facets = list(FACETS)
    ordered = sorted(by_tag, key=lambda tag: (facets.index(tag.facet), tag not in counting, tag.value))
    return [
        TagLine(
            tag=tag,
            facet=t(FACETS[tag.facet]),
            name=tag_name(t, names, tag),
            counts=tag in counting,
            state=_state(tag in counting, by_tag[tag], t),
            said=[_said(row, people, t) for row in by_tag[tag]],
        )
        for tag in ordered
    ]


def tag_choices(names: TagNames, t: Words) -> dict[str, str]:
    """What the vocabulary offers: codes with words in both languages."""
    return {str(tag): tag_choice(t, names, tag) for tag in names}


def _state(counts: bool, rows: Sequence[MaterialTag], t: Words) -> str:
    if counts:
        return ""
    if any(row.by_person and not row.holds for row in rows):
        return t("said to be wrong")
    return t("people say another")


def _said(row: MaterialTag, people: dict[str, str], t: Words) -> str:
    if row.by_person:
        who = t("Came with the file") if row.author == PEOPLE else people[row.author]
        return who if row.holds else t("{who}: this is wrong", who=who)
    if row.score is None:
        return row.author
    return t("{model}, {score} sure", model=row.author, score=t.percent(row.score))
