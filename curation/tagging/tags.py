"""Tags of materials: what people and models say under each facet, and which of it counts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from sqlalchemy import ColumnElement, and_, or_
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from core.errors import InterplayError
from core.ids import Clock, utc_now
from curation.materials import chunked
from warehouse import events
from warehouse.tables import Material, MaterialTag

FACETS = ("theme", "subject", "event", "scene", "style", "free")
FACET_NAMES_ZH = {
    "主题": "theme", "主体": "subject", "事件": "event", "场景": "scene", "风格": "style", "自由": "free",
}  # fmt: skip
FREE = "free"
"""The facet of tags that name none."""
PEOPLE = "people"
"""The author of tags that came with the files."""
VALUE_CHARACTERS_MAX = 128


class BadTag(InterplayError):
    """A text that cannot be a tag."""


@dataclass(frozen=True, order=True)
class Tag:
    """A value under a facet, written `facet:value`, or `value` alone for a free one."""

    facet: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a tag as people write it; what stands before the colon counts as a facet only when it is one.

        Raises:
            BadTag: It is empty or too long.
        """
        written, colon, value = text.replace("：", ":").partition(":")
        facet = written.strip().lower()
        facet = FACET_NAMES_ZH.get(facet, facet)
        found = cls(facet, value.strip()) if colon and facet in FACETS else cls(FREE, text.strip())
        if not found.value or len(found.value) > VALUE_CHARACTERS_MAX:
            raise BadTag(f"{text!r:.80} is no tag; write 1 to {VALUE_CHARACTERS_MAX} characters, as 'theme:nature'")
        return found

    def __str__(self) -> str:
        return self.value if self.facet == FREE else f"{self.facet}:{self.value}"


def counts() -> ColumnElement[bool]:
    """The rows of `MaterialTag` that count, as a condition.

    Those that people hold; and a model's, unless people hold another value under its facet, or say that it is wrong.
    """
    said = aliased(MaterialTag)
    same_facet = and_(
        col(said.material_id) == MaterialTag.material_id, col(said.facet) == MaterialTag.facet, col(said.by_person)
    )
    overruled = select(said.id).where(same_facet, or_(col(said.holds), col(said.value) == MaterialTag.value))
    return and_(col(MaterialTag.holds), or_(col(MaterialTag.by_person), ~overruled.correlate(MaterialTag).exists()))


def tags_of(session: Session, material_ids: Iterable[str]) -> dict[str, list[MaterialTag]]:
    """The tags that count, by material, each value once under a facet; people's first, then by score."""
    found: dict[str, list[MaterialTag]] = {material_id: [] for material_id in material_ids}
    for ids in chunked(found):
        query = select(MaterialTag).where(col(MaterialTag.material_id).in_(ids), counts())
        order = (col(MaterialTag.by_person).desc(), col(MaterialTag.score).desc(), col(MaterialTag.id))
        for row in session.exec(query.order_by(*order)):
            held = found[row.material_id]
            if all((one.facet, one.value) != (row.facet, row.value) for one in held):
                held.append(row)
    return found


def as_tag(row: MaterialTag) -> Tag:
    """The tag of a row."""
    return Tag(row.facet, row.value)


def say(
    session: Session, material: Material, tag: Tag, author: str, *, holds: bool = True, clock: Clock = utc_now
) -> bool:
    """A person's word on a tag, in the caller's transaction; returns whether it changes anything.

    There is one word of people on each tag, the last; events keep the earlier ones.
    """
    same = (
        MaterialTag.material_id == material.id,
        MaterialTag.facet == tag.facet,
        MaterialTag.value == tag.value,
        col(MaterialTag.by_person),
    )
    held = session.exec(select(MaterialTag).where(*same)).first()
    if held is not None and held.holds == holds:
        return False
    if held is None:
        held = MaterialTag(material_id=material.id, facet=tag.facet, value=tag.value, by_person=True, author=author)
    held.holds, held.author, held.created_at = holds, author, clock()
    session.add(held)
    events.record(
        session, author, "material", material.id, "tag" if holds else "untag", clock, facet=tag.facet, value=tag.value
    )
    return True


def store_machine_tags(
    session: Session,
    material_id: str,
    scores: Mapping[Tag, float],
    author: str,
    run_id: str,
    clock: Clock = utc_now,
) -> None:
    """What a model says of a material, in place of what another version of it said before.

    Args:
        session: The caller's transaction.
        material_id: Of the material.
        scores: Tags with their scores in [0, 1].
        author: `name@version` of the model.
        run_id: Of the run that asked it.
        clock: For the rows' times.
    """
    name = author.partition("@")[0]
    mine = col(MaterialTag.author).startswith(f"{name}@", autoescape=True)
    for row in session.exec(select(MaterialTag).where(MaterialTag.material_id == material_id, mine)):
        session.delete(row)
    session.flush()
    for tag, score in sorted(scores.items()):
        row = MaterialTag(
            material_id=material_id,
            facet=tag.facet,
            value=tag.value,
            by_person=False,
            score=score,
            author=author,
            run_id=run_id,
            created_at=clock(),
        )
        session.add(row)


def texts_of(rows: Sequence[MaterialTag]) -> list[str]:
    """Tags as people write them."""
    return [str(as_tag(row)) for row in rows]
