"""Matches side by side: as lines in a terminal, and as a page for reviewers."""

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from types import SimpleNamespace
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text
from sqlmodel import Session, col, select

from core.content import Modality
from core.media.errors import MediaError
from core.media.preview import thumbnail
from curation.contamination.carrying import carried_from
from curation.contamination.subjects import SubjectKind
from curation.contamination.words import words_in
from curation.materials import chunked
from warehouse.blobs import BlobStore, DamagedBlob, MissingBlob
from warehouse.tables import ContaminationMatch, Item, ItemRevision, Material, MaterialSource, RevisionMedia

WIDTH = 120
_SIDE_PX = 280
_HANDLE = 12
_OPENING, _CLOSING = "[[", "]]"


@dataclass(frozen=True)
class Picture:
    """A medium of ours: what it is called, and its picture as a `data:` address; None where it has none here."""

    name: str
    address: str | None = None


@dataclass(frozen=True)
class Shown:
    """A match, what of ours it is about, and our media.

    `carried` is a clearing that was carried over: the number of the revision or the name of the index that it is from.
    """

    match: ContaminationMatch
    name: str
    carried: int | str | None = None
    pictures: tuple[Picture, ...] = field(default=(), repr=False)


def shown(
    session: Session, matches: Sequence[ContaminationMatch], blobs: BlobStore | None = None, language: str = "en"
) -> list[Shown]:
    """Matches with the names of their subjects; with a store also with pictures of our media, each read once."""
    names, media = _names(session, matches, words_in(language)), _media(session, matches)
    carried = {
        id_: one.detail["revision"] or one.detail["index"] for id_, one in carried_from(session, matches).items()
    }
    pictures: dict[str, Picture] = {}
    for told in media.values() if blobs is not None else ():
        for name, material in told:
            if material.id not in pictures and blobs is not None:
                pictures[material.id] = Picture(name, _address(material, blobs))
    return [
        Shown(
            match,
            names.get(match.subject_id, match.subject_id),
            carried.get(match.id),
            tuple(
                Picture(name, pictures[material.id].address)
                for name, material in media.get(match.subject_id, ())
                if material.id in pictures
            ),
        )
        for match in matches
    ]


def lines_of(one: Shown, colour: bool = False) -> list[str]:
    """A match as lines: a heading, and our text beside theirs, what they share marked."""
    match, evidence = one.match, one.match.evidence
    state = "open" if match.cleared_at is None else f"cleared by {match.cleared_by}: {match.cleared_why}"
    if one.carried is not None:
        state += f" (carried over from {'revision' if isinstance(one.carried, int) else 'index'} {one.carried})"
    measures = ", ".join(f"{name} {value:g}" for name, value in evidence.get("measures", {}).items())
    table = Table(box=SIMPLE_HEAD, expand=True, show_edge=False, pad_edge=False)
    for head in (one.name, f"{match.benchmark} {match.entry}"):
        table.add_column(Text(head), ratio=1, overflow="fold")
    for left, right in paired(evidence.get("ours", []), _theirs(evidence)):
        table.add_row(_marked(left, colour), _marked(right, colour))
    buffer = io.StringIO()
    console = Console(file=buffer, width=WIDTH, force_terminal=colour, color_system="standard" if colour else None)
    console.print(table)
    head = f"{match.id}  {match.kind} {match.score:.2f} ({measures}); {state}"
    return [head, *(line.rstrip() for line in buffer.getvalue().splitlines()), ""]


def page(matches: Sequence[Shown], language: str) -> str:
    """One HTML file that opens offline; texts of users cannot become part of it."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("curation.contamination")
    templates = Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    words = words_in(language)
    templates.globals.update(
        t=words, word=lambda name: getattr(words, name, name), label=lambda text: _label(text, words)
    )
    return templates.get_template("matches.html").render(
        matches=[(one, one.match.evidence, _rows(one.match.evidence)) for one in matches],
        open_count=sum(one.match.cleared_at is None for one in matches),
        language="zh" if language.partition("-")[0] == "zh" else "en",
    )


def paired(
    ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]:
    """Fields of both sides in rows: texts by their names, then options by what they say, then what is left of each."""
    rows: list[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]] = []
    for are_choices in (False, True):
        left, right = ([one for one in side if _is_choice(one) is are_choices] for side in (ours, theirs))
        for mine in tuple(left):
            match = next((one for one in right if _same_place(mine, one)), None)
            if match is not None:
                rows.append((mine, match))
                left.remove(mine)
                right.remove(match)
        rows += zip_longest(left, right)
    return rows


def _is_choice(one: Mapping[str, Any]) -> bool:
    return str(one["label"]).startswith("choice ")


def _same_place(mine: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Options belong together when they say the same, wherever they stand; other fields when they are called alike."""
    if _is_choice(mine):
        return str(mine["text"]).casefold().split() == str(other["text"]).casefold().split()
    return bool(mine["label"] == other["label"])


def _theirs(evidence: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if "medium" in evidence:
        medium, more = evidence["medium"], evidence["question_count"] - len(evidence["questions"])
        told = f"{medium['name']}\nsha256 {medium['sha256']}"
        if evidence["questions"]:
            told += "\nshown by " + ", ".join(evidence["questions"]) + (f" and {more} more" if more else "")
        return [{"label": "medium", "text": told, "shared": []}]
    if evidence.get("theirs") is None:
        return [{"label": "text", "text": "(the index holds no texts of this benchmark)", "shared": []}]
    return list(evidence["theirs"])


def _marked(one: Mapping[str, Any] | None, colour: bool) -> Text:
    if one is None:
        return Text()
    told = Text(f"{one['label']}: ", style="dim" if colour else "")
    for stretch, is_shared in stretches(one):
        if is_shared and not colour:
            told.append(f"{_OPENING}{stretch}{_CLOSING}")
        else:
            told.append(stretch, style="bold reverse" if is_shared else "not dim")
    return told


def stretches(one: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """A field's text in pieces, each with whether it is shared."""
    text, place = one["text"], 0
    pieces: list[tuple[str, bool]] = []
    for first, end in one["shared"]:
        pieces += [(text[place:first], False), (text[first:end], True)]
        place = end
    return [(piece, is_shared) for piece, is_shared in [*pieces, (text[place:], False)] if piece]


def _rows(evidence: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    theirs = evidence.get("theirs") or []
    return [
        tuple(None if one is None else (one["label"], stretches(one)) for one in pair)  # type: ignore[misc]
        for pair in paired(evidence.get("ours", []), theirs)
    ]


def _label(label: str, words: SimpleNamespace) -> str:
    """'choice B' in the reader's language; a column of somebody's table as it is called there."""
    head, _, rest = label.partition(" ")
    return f"{getattr(words, f'label_{head}', head)} {rest}".strip()


def _names(session: Session, matches: Iterable[ContaminationMatch], words: SimpleNamespace) -> dict[str, str]:
    """What people call the subjects: an item's name, or where a material came from first."""
    found: dict[str, str] = {}
    for ids in chunked(_ids(matches, SubjectKind.REVISION)):
        query = select(ItemRevision.id, ItemRevision.number, Item.name).join(Item).where(col(ItemRevision.id).in_(ids))
        found |= {id_: words.numbered.format(name=name, number=number) for id_, number, name in session.exec(query)}
    for ids in chunked(_ids(matches, SubjectKind.MATERIAL)):
        materials = session.exec(select(Material.id, Material.sha256).where(col(Material.id).in_(ids)))
        handles = {id_: sha256[:_HANDLE] for id_, sha256 in materials}
        sources = select(MaterialSource).where(col(MaterialSource.material_id).in_(ids))
        origins: dict[str, str] = {}
        for source in session.exec(sources.order_by(col(MaterialSource.id))):
            origins.setdefault(source.material_id, source.origin)
        found |= {id_: f"{origins.get(id_, '')} {handle}".strip() for id_, handle in handles.items()}
    return found


def _media(session: Session, matches: Iterable[ContaminationMatch]) -> dict[str, list[tuple[str, Material]]]:
    """Placeholder and material of what revisions show, and the materials themselves, by the subject's id."""
    found: dict[str, list[tuple[str, Material]]] = {}
    for ids in chunked(_ids(matches, SubjectKind.REVISION)):
        query = select(RevisionMedia, Material).join(Material).where(col(RevisionMedia.revision_id).in_(ids))
        for link, material in session.exec(query.order_by(RevisionMedia.placeholder)):
            found.setdefault(link.revision_id, []).append((link.placeholder, material))
    for ids in chunked(_ids(matches, SubjectKind.MATERIAL)):
        for material in session.exec(select(Material).where(col(Material.id).in_(ids))):
            found[material.id] = [(material.modality, material)]
    return found


def _ids(matches: Iterable[ContaminationMatch], kind: SubjectKind) -> list[str]:
    return sorted({one.subject_id for one in matches if one.subject_kind == kind})


def _address(material: Material, blobs: BlobStore) -> str | None:
    """A small picture of it; None for sounds, and for what is not in a store on this machine."""
    if material.modality == Modality.AUDIO or not blobs.is_local:
        return None
    try:
        data = thumbnail(blobs.get(material.media_ref.sha256), _SIDE_PX)
    except (MediaError, MissingBlob, DamagedBlob):
        return None
    return "data:image/jpeg;base64," + base64.b64encode(data).decode()
