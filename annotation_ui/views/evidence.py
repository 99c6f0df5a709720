"""What an author marked in the media of a question: a box over the picture, a span of the time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from annotation_ui.drafting.content import Evidence
from annotation_ui.media_links import MediaLinks
from annotation_ui.views.notes import evidence_words
from annotation_ui.views.preview import Block, part_blocks
from annotation_ui.words import Words
from core.content import MediaPart, MediaRef, Part
from warehouse.blobs import BlobStore

_NOTED_AS = "evidence"


@dataclass(frozen=True)
class Box:
    """A part of a picture, in percent of its width and height."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Span:
    """A part of the time, in percent of the whole."""

    left: float
    width: float


@dataclass(frozen=True)
class Marked:
    """A medium with what is marked in it; the address of a sound or film plays the marked span."""

    block: Block
    words: str
    box: Box | None
    span: Span | None


def marked_media(
    notes: Mapping[str, object], prompt: Sequence[Part], links: MediaLinks, user_id: str, blobs: BlobStore, t: Words
) -> tuple[list[Marked], dict[str, object]]:
    """Media of the prompt in which something is marked, in its order, and the notes that are words only."""
    noted = notes.get(_NOTED_AS)
    left = dict(noted) if isinstance(noted, Mapping) else {}
    found: list[Marked] = []
    for part in prompt:
        if not isinstance(part, MediaPart) or (told := _as_evidence(left.get(part.name))) is None:
            continue
        box, span = _box(told, part.media), _span(told, part.media)
        if box is None and span is None:
            continue
        (block,) = part_blocks([part], links, user_id, blobs, t)
        fragment = _fragment(told) if part.media.duration_s else ""
        words = evidence_words(left.pop(part.name), t)
        found.append(Marked(replace(block, url=block.url + fragment), words, box, span))
    return found, {**notes, _NOTED_AS: left} if found else dict(notes)


def _as_evidence(told: object) -> Evidence | None:
    """Item files may hold evidence in forms of their own; those are told in words."""
    try:
        return Evidence.model_validate(told)
    except ValidationError:
        return None


def _box(told: Evidence, media: MediaRef) -> Box | None:
    if told.left_px is None or told.top_px is None or told.width_px is None or told.height_px is None:
        return None
    if not media.width_px or not media.height_px or told.left_px >= media.width_px or told.top_px >= media.height_px:
        return None
    left, width = _share(told.left_px, told.left_px + told.width_px, media.width_px)
    top, height = _share(told.top_px, told.top_px + told.height_px, media.height_px)
    return Box(left, top, width, height)


def _span(told: Evidence, media: MediaRef) -> Span | None:
    if not media.duration_s or (told.start_s is None and told.end_s is None):
        return None
    start_s, end_s = told.start_s or 0.0, media.duration_s if told.end_s is None else told.end_s
    return Span(*_share(start_s, end_s, media.duration_s)) if start_s < min(end_s, media.duration_s) else None


def _share(start: float, end: float, whole: float) -> tuple[float, float]:
    """Where a stretch begins and how long it is, in percent; what goes beyond the whole is cut off."""
    return round(100 * start / whole, 3), round(100 * (min(end, whole) - start) / whole, 3)


def _fragment(told: Evidence) -> str:
    """The span as a media fragment (W3C Media Fragments URI 1.0, 4.2.1), in seconds."""
    if told.start_s is None and told.end_s is None:
        return ""
    end = "" if told.end_s is None else f",{told.end_s:.10g}"
    return f"#t={told.start_s or 0:.10g}{end}"
