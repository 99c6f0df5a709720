"""An author's desk: open drafts, items that came back, what was thrown away; and a draft as its editor takes it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, select

from annotation_ui import labels
from annotation_ui.drafting.checks import check_draft, materials_of
from annotation_ui.drafting.content import DraftContent
from annotation_ui.drafting.drafts import SUBMITTED, discarded_drafts, draft_versions, get_draft, open_drafts
from annotation_ui.media_links import MediaLinks
from annotation_ui.people import display_names
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.views.editor_words import editor_words, graders, kinds
from annotation_ui.views.materials import Card, cards_of
from annotation_ui.words import Words
from core.content import PLACEHOLDER, MediaPart, Modality, Part, TextPart
from core.question import POINTS_TOTAL, AnswerKey, Choice, Question, Step
from core.taxonomy import Language, Taxonomy, load_taxonomy
from warehouse.tables import Decision, Item, ItemDraft, ItemRevision, ItemState, Material, MaterialState, Verdict

TITLE_LENGTH = 80
MOST_DRAFTS_CHECKED = 30
RECENT_MATERIALS = 24


@dataclass(frozen=True)
class DraftRow:
    """One draft in a list; `open_points` is None where it was not counted."""

    id: str
    title: str
    revises: str
    media: str
    saved: str
    version: int
    open_points: int | None = None


@dataclass(frozen=True)
class Returned:
    """An item of one's own that waits for a new revision, with what its judges said."""

    name: str
    state: ItemState
    state_label: str
    reasons: Sequence[str]
    comments: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Desk:
    """Everything that an author has under way."""

    drafts: Sequence[DraftRow]
    returned: Sequence[Returned]
    discarded: Sequence[DraftRow]


@dataclass(frozen=True)
class VersionLine:
    """Words that a draft held, or that were laid aside when somebody else had saved."""

    id: str
    label: str
    who: str
    when: str
    is_aside: bool
    content: DraftContent


@dataclass(frozen=True)
class Writing:
    """A draft as its page shows it."""

    id: str
    version: int
    content: DraftContent
    item: Returned | None
    question: Question
    versions: Sequence[VersionLine]
    editor: dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """A draft that is written no more: `item_name` is what it was handed in as, empty where it was thrown away."""

    title: str
    item_name: str


def desk(session: Session, who: Principal, now: datetime, t: Words) -> Desk:
    """What this author has under way; an item with an open draft stands among the drafts only.

    Raises:
        NotAllowed: They may not write items.
    """
    require(who, Permission.AUTHOR)
    drafts = open_drafts(session, who)
    names = _item_names(session, drafts)
    rows = [
        _row(session, draft, names, now, t, count_points=place < MOST_DRAFTS_CHECKED)
        for place, draft in enumerate(drafts)
    ]
    begun = {draft.item_id for draft in drafts}
    thrown = discarded_drafts(session, who)
    thrown_names = _item_names(session, thrown)
    return Desk(
        drafts=rows,
        returned=[returned(session, item, t) for item in _to_revise(session, who) if item.id not in begun],
        discarded=[_row(session, draft, thrown_names, now, t, count_points=False) for draft in thrown],
    )


def returned(session: Session, item: Item, t: Words) -> Returned:
    """An item with why it came back: what the verdicts on its current revision say that do not pass it."""
    query = select(Verdict).where(Verdict.revision_id == item.current_revision_id, Verdict.decision == Decision.RETURN)
    verdicts = session.exec(query.order_by(col(Verdict.created_at), col(Verdict.id))).all()
    names = display_names(session, {verdict.decider for verdict in verdicts})
    codes = dict.fromkeys(code for verdict in verdicts for code in verdict.reason_codes)
    return Returned(
        name=item.name,
        state=item.state,
        state_label=t(labels.ITEM_STATES[item.state]),
        reasons=[labels.reason(t, code) for code in codes],
        comments=[(names[verdict.decider], verdict.comment) for verdict in verdicts if verdict.comment],
    )


def ended(session: Session, who: Principal, draft_id: str, now: datetime, t: Words) -> Ended | None:
    """What became of a draft of theirs; None while it is open.

    Raises:
        UnknownDraft: It is not theirs, or there is none.
    """
    draft = get_draft(session, who, draft_id)
    if draft.closed_at is None:
        return None
    names = _item_names(session, [draft])
    title = _row(session, draft, names, now, t, count_points=False).title
    return Ended(title, names.get(draft.item_id or "", "") if draft.closed_as == SUBMITTED else "")


def writing(session: Session, who: Principal, draft_id: str, links: MediaLinks, now: datetime, t: Words) -> Writing:
    """A draft with everything that its page shows.

    Raises:
        NotAllowed: The person may not write items.
        UnknownDraft: It is not theirs, or there is none.
        DraftClosed: It was handed in or thrown away.
    """
    require(who, Permission.AUTHOR)
    draft = get_draft(session, who, draft_id, is_open=True)
    content = DraftContent.parse(draft.content)
    item = session.get(Item, draft.item_id) if draft.item_id else None
    materials = materials_of(session, content)
    cards = {card.id: card for card in cards_of(session, who, list(materials.values()), links, t)}
    checked = check_draft(session, draft.author, content, item, t)
    return Writing(
        id=draft.id,
        version=draft.version,
        content=content,
        item=returned(session, item, t) if item else None,
        question=as_far_as_it_goes(content, materials),
        versions=_versions(session, draft, now, t),
        editor={
            "user": who.user_id,
            "draft": draft.id,
            "version": draft.version,
            "content": draft.content,
            "saved_at": draft.saved_at.isoformat(),
            "notes": [asdict(note) for note in checked.notes],
            "is_ready": checked.is_ready,
            "item_name": item.name if item else "",
            "materials": {
                place: material_for_editor(material, cards[material.id]) for place, material in materials.items()
            },
            **_choices(t),
        },
    )


def material_for_editor(material: Material, card: Card) -> dict[str, Any]:
    """A material as the editor shows it; a command that puts one into a draft carries the same."""
    media = material.media_ref
    return {
        "material_id": material.id,
        "modality": media.modality.value,
        "label": card.title,
        "facts": card.facts,
        "picture_url": card.picture_url,
        "media_url": card.media_url,
        "duration_s": media.duration_s,
        "width_px": media.width_px,
        "height_px": media.height_px,
    }


def as_far_as_it_goes(content: DraftContent, materials: dict[str, Material]) -> Question:
    """The question of a draft that may not make one yet; only good for showing.

    A placeholder without a material stays visible, as `[image_1]`.
    """
    parts: list[Part] = []
    end = 0
    for found in PLACEHOLDER.finditer(content.prompt):
        name = found.group(1)
        parts.append(TextPart(text=content.prompt[end : found.start()]))
        shown = _is_shown(name, materials) and all(
            not isinstance(part, MediaPart) or part.name != name for part in parts
        )
        parts.append(MediaPart(name=name, media=materials[name].media_ref) if shown else TextPart(text=f"[{name}]"))
        end = found.end()
    parts.append(TextPart(text=content.prompt[end:]))
    return Question.model_construct(
        prompt=tuple(part for part in parts if not isinstance(part, TextPart) or part.text.strip()),
        kind=content.kind,
        choices=tuple(Choice.model_construct(text=text) for text in content.choices if content.kind == "choice"),
        steps=tuple(
            Step.model_construct(ask=step.ask, points=step.points or 0, answer=AnswerKey())
            for step in content.steps
            if content.kind == "multi_step"
        ),
        required=frozenset(content.required),
        task_type=content.task_type,
        language=content.language or "en",
        asked_in=content.asked_in,
    )


def _is_shown(name: str, materials: dict[str, Material]) -> bool:
    """Whether something stands behind a placeholder that may be seen, and is what the placeholder says."""
    found = materials.get(name)
    return found is not None and found.modality == name.partition("_")[0] and found.state != MaterialState.WITHDRAWN


def recent_cards(session: Session, who: Principal, links: MediaLinks, t: Words) -> list[Card]:
    """Kept materials of this author's last drafts, the latest first."""
    query = select(ItemDraft).where(ItemDraft.author == who.user_id).order_by(col(ItemDraft.saved_at).desc())
    drafts = session.exec(query.limit(RECENT_MATERIALS)).all()
    ids = list(dict.fromkeys(id_ for draft in drafts for id_ in draft.content.get("media", {}).values()))
    rows = session.exec(select(Material).where(col(Material.id).in_(ids[:RECENT_MATERIALS]))).all()
    kept = sorted((row for row in rows if row.state == MaterialState.KEPT), key=lambda row: ids.index(row.id))
    return cards_of(session, who, kept, links, t)


def _row(
    session: Session, draft: ItemDraft, names: dict[str, str], now: datetime, t: Words, *, count_points: bool
) -> DraftRow:
    content = DraftContent.parse(draft.content)
    words = " ".join(PLACEHOLDER.sub(r"[\1]", content.prompt).split())
    first = words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"
    points = None
    if count_points:
        item = session.get(Item, draft.item_id) if draft.item_id else None
        notes = check_draft(session, draft.author, content, item, t).notes
        points = sum(note.severity != "warning" for note in notes)
    revises = names.get(draft.item_id or "", "")
    return DraftRow(
        id=draft.id,
        title=first or content.name or t("(no text)"),
        revises=revises,
        media=labels.modality_set(t, {Modality(place.partition("_")[0]) for place in content.media}),
        saved=t.ago(draft.saved_at, now),
        version=draft.version,
        open_points=points,
    )


def _item_names(session: Session, drafts: Sequence[ItemDraft]) -> dict[str, str]:
    ids = [draft.item_id for draft in drafts if draft.item_id]
    return dict(session.exec(select(Item.id, Item.name).where(col(Item.id).in_(ids))).all())


def _to_revise(session: Session, who: Principal) -> Sequence[Item]:
    """Items of theirs that wait for a revision: returned ones first, then those that were never submitted."""
    query = (
        select(Item)
        .join(ItemRevision, col(Item.current_revision_id) == col(ItemRevision.id))
        .where(col(ItemRevision.author).in_([who.user_id, who.name]))
        .where(col(Item.state).in_([ItemState.RETURNED, ItemState.DRAFT]))
    )
    found = session.exec(query.order_by(Item.name)).all()
    return sorted(found, key=lambda item: item.state != ItemState.RETURNED)


def _versions(session: Session, draft: ItemDraft, now: datetime, t: Words) -> list[VersionLine]:
    # What was laid aside, and is what the draft says now, is no other version.
    found = [version for version in draft_versions(session, draft) if version.content != draft.content]
    names = display_names(session, {version.saved_by for version in found})
    return [
        VersionLine(
            id=version.id,
            label=t("Version {number}", number=version.version) if not version.is_aside else t("Laid aside"),
            who=names[version.saved_by],
            when=t.ago(version.saved_at, now),
            is_aside=version.is_aside,
            content=DraftContent.parse(version.content),
        )
        for version in found
    ]


def _choices(t: Words) -> dict[str, Any]:
    """What the editor offers, in the reader's language."""
    return {
        "language": t.language,
        "words": editor_words(t),
        "task_types": _task_types(load_taxonomy(), t),
        "languages": [{"id": code, "name": t(text)} for code, text in labels.QUESTION_LANGUAGES.items()],
        "kinds": kinds(t),
        "graders": graders(t),
        "modalities": [{"id": modality.value, "name": t(text)} for modality, text in labels.MODALITIES.items()],
        "points_total": POINTS_TOTAL,
    }


def _task_types(taxonomy: Taxonomy, t: Words) -> list[dict[str, str]]:
    language: Language = "zh" if t.language == "zh" else "en"
    groups = {group.id: group.name(language) for group in (*taxonomy.branches, *taxonomy.abilities)}
    return [
        {
            "id": one.id,
            "name": one.name(language),
            "ability": " · ".join(groups[name] for name in one.path),
            "definition": one.definition(language),
            "example": one.example(language),
        }
        for one in taxonomy.task_types
    ]
