"""Transcripts in the library: what machines write, what people edit, and the words that stand for a sound."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, select

from core.content import Modality
from core.errors import InterplayError
from core.ids import Clock, utc_now
from curation.passes import shortened
from curation.speech.attribute import SpokenSegment
from warehouse import events
from warehouse.caption_search import captions_of
from warehouse.caption_texts import told_by_people
from warehouse.captions import WRITERS, Proposal, edit_caption, language_of, replace_proposals, write_caption
from warehouse.people import require_role
from warehouse.tables import CaptionKind, CaptionState, Material, Segment, User

PIPELINE = "speech"
"""The name of the pipeline in `Segment.made_by`, before the '@'."""
SPEAKER_CHARACTERS_MAX = 32
_MADE_BY_CHARACTERS_MAX = 128


class StaleTranscript(InterplayError):
    """Somebody or a machine changed the segments since they were read."""


class BadSegments(InterplayError):
    """Segments that cannot be: their times, their texts or their speakers."""


@dataclass(frozen=True)
class EditedSegment:
    """A segment as a person wants it; with the id of one that is there, that one is changed."""

    start_s: float
    end_s: float
    text: str
    speaker: str | None = None
    id: str | None = None


def made_by(maker: str) -> str:
    """What `Segment.made_by` says for a fingerprint of the whole pipeline."""
    return shortened(f"{PIPELINE}@{maker}", _MADE_BY_CHARACTERS_MAX)


def segments_of(session: Session, material_id: str) -> list[Segment]:
    """The transcript of a material, in order of time; there is one."""
    query = select(Segment).where(Segment.material_id == material_id)
    return list(session.exec(query.order_by(col(Segment.start_s), col(Segment.end_s), col(Segment.id))))


def edition(segments: Iterable[Segment]) -> str:
    """A short name for a transcript as it stands; any change gives another."""
    return hashlib.sha256(json.dumps(sorted(one.id for one in segments)).encode()).hexdigest()[:16]


def transcript_text(segments: Sequence[Segment] | Sequence[SpokenSegment]) -> str:
    """The words as they are read; where several speak, each on a line of their own with their name."""
    if len({one.speaker for one in segments}) < 2:
        return " ".join(one.text for one in segments if one.text)
    return "\n".join(f"{one.speaker or '?'}: {one.text}" for one in segments if one.text)


def store_machine_transcript(
    session: Session,
    material: Material,
    spoken: Sequence[SpokenSegment],
    language: str | None,
    maker: str,
    run_id: str,
    clock: Clock = utc_now,
) -> bool:
    """Put a machine's transcript, and the caption it proposes, in the place of an older machine's.

    Where people wrote or edited segments, nothing is touched; where a person said what is heard in the sound, their
    words stay, and no transcript is proposed.

    Args:
        session: The caller's transaction.
        material: The sound.
        spoken: Who said what; empty where nobody speaks.
        language: The language of most words.
        maker: Fingerprint of the whole pipeline.
        run_id: Of the run that made it.
        clock: For the rows' times.

    Returns:
        Whether it was stored; False where people's segments stand.
    """
    held = segments_of(session, material.id)
    if any(not one.made_by.startswith(f"{PIPELINE}@") for one in held):
        return False
    for row in held:
        session.delete(row)
    session.flush()
    author = made_by(maker)
    session.add_all(_row(material.id, one, author, run_id) for one in spoken)
    if told_by_people(material):
        return True
    text = transcript_text(spoken)
    _retell(session, material, text or None, author, f"run:{run_id}", clock)
    said = None
    if text and language is not None:
        key = hashlib.sha256(f"{run_id}\n{author}\n{material.sha256}".encode()).hexdigest()
        digest = hashlib.sha256(maker.encode()).hexdigest()
        said = Proposal(material.id, CaptionKind.TRANSCRIPT, language_of(language), text, author, digest, key, run_id)
    replace_proposals(session, material, PIPELINE, said, f"run:{run_id}", clock)
    return True


def edit_segments(
    session: Session,
    material: Material,
    wanted: Sequence[EditedSegment],
    user: User,
    expected: str,
    clock: Clock = utc_now,
) -> list[Segment]:
    """A person's transcript in the place of the one that is there, in the caller's transaction, with an event.

    Segments that stay as they are keep their maker; others are the user's, and no machine touches the transcript from
    then on. The whole of it becomes a proposed transcript by the user.

    Args:
        session: The transaction.
        material: The sound.
        wanted: All segments; those of the transcript that are left out are removed.
        user: Who edits.
        expected: The `edition` that was read.
        clock: For the rows' times.

    Raises:
        NotAllowed: The user's roles do not allow it.
        StaleTranscript: The transcript is no longer the one that was read.
        BadSegments: A segment cannot be, or the material has no sound.
    """
    require_role(user, *WRITERS)
    session.get(Material, material.id, with_for_update=True)
    held = segments_of(session, material.id)
    if edition(held) != expected:
        raise StaleTranscript(
            f"the transcript of {material.sha256[:12]} was changed meanwhile; read it again and edit that"
        )
    _check(material, wanted, {row.id for row in held})
    stays = {one.id for one in wanted for row in held if one.id == row.id and _same(one, row)}
    if len(stays) == len(held) == len(wanted):
        return held
    before = [_document(row) for row in held if row.id not in stays]
    by_id = {row.id: row for row in held}
    changed = [_edited(material, one, by_id.get(one.id or ""), held, user) for one in wanted if one.id not in stays]
    for row in held:
        if row.id not in stays:
            session.delete(row)
    session.flush()
    session.add_all(changed)
    session.flush()
    after = [_document(row) for row in changed]
    events.record(session, user.name, "material", material.id, "edit_segments", clock, before=before, after=after)
    rows = segments_of(session, material.id)
    _tell_by_person(session, material, rows, user, clock)
    return rows


def _check(material: Material, wanted: Sequence[EditedSegment], known: set[str]) -> None:
    if material.modality != Modality.AUDIO:
        raise BadSegments(f"material {material.sha256[:12]} is {material.modality}; edit the transcript of its sound")
    duration_s = material.media_ref.duration_s or 0.0
    ids = [one.id for one in wanted if one.id is not None]
    for place, one in enumerate(wanted, start=1):
        where = f"segment {place}"
        if not 0 <= one.start_s < one.end_s <= duration_s + 1.0:
            raise BadSegments(
                f"{where}: lasts from {one.start_s:g} to {one.end_s:g} s; write times within the {duration_s:.2f} s"
            )
        if not one.text.strip() or "\x00" in one.text:
            raise BadSegments(f"{where}: has no usable text; write what is said, or leave the segment out")
        if one.speaker is not None and not 0 < len(one.speaker.strip()) <= SPEAKER_CHARACTERS_MAX:
            raise BadSegments(f"{where}: a speaker's name has 1 to {SPEAKER_CHARACTERS_MAX} characters")
        if one.id is not None and (one.id not in known or ids.count(one.id) > 1):
            raise BadSegments(
                f"{where}: {one.id!r} is no segment of this material, or stands there twice; leave id out"
            )


def _same(wanted: EditedSegment, row: Segment) -> bool:
    return (wanted.start_s, wanted.end_s, wanted.text.strip(), wanted.speaker) == (
        row.start_s,
        row.end_s,
        row.text,
        row.speaker,
    )


def _edited(
    material: Material, wanted: EditedSegment, base: Segment | None, held: Sequence[Segment], user: User
) -> Segment:
    same_words = base is not None and (base.start_s, base.end_s, base.text) == (
        wanted.start_s,
        wanted.end_s,
        wanted.text.strip(),
    )
    near = base or next(iter(held), None)
    return Segment(
        material_id=material.id,
        start_s=wanted.start_s,
        end_s=wanted.end_s,
        speaker=wanted.speaker,
        text=wanted.text.strip(),
        language=near.language if near else None,
        # Nobody knows when the words of another text are said.
        words=base.words if base is not None and same_words else [],
        made_by=user.name,
        # People's rows stay with the run whose transcript they mend.
        run_id=near.run_id if near else material.run_id,
    )


def _row(material_id: str, spoken: SpokenSegment, author: str, run_id: str) -> Segment:
    return Segment(
        material_id=material_id,
        start_s=spoken.span.start_s,
        end_s=spoken.span.end_s,
        speaker=spoken.speaker,
        text=spoken.text,
        language=spoken.language,
        words=[
            {"text": one.text.strip(), "start_s": one.start_s, "end_s": one.end_s, "probability": one.probability}
            for one in spoken.words
        ],
        made_by=author,
        run_id=run_id,
    )


def _tell_by_person(session: Session, material: Material, rows: Sequence[Segment], user: User, clock: Clock) -> None:
    if told_by_people(material):
        return  # what a person said of the sound as a whole is another matter
    text = transcript_text(rows)
    _retell(session, material, text or None, user.name, user.name, clock)
    language = next((row.language for row in rows if row.language), None)
    if not text or language is None:
        return
    standing = [
        one
        for one in captions_of(session, [material.id], CaptionKind.TRANSCRIPT, language_of(language))
        if one.state in (CaptionState.PROPOSED, CaptionState.ACCEPTED)
    ]
    if standing:
        edit_caption(session, standing[-1].id, text, user, clock)
    else:
        write_caption(session, material, language, text, user, clock)


def _retell(session: Session, material: Material, text: str | None, author: str, actor: str, clock: Clock) -> None:
    by = author if text is not None else None
    if (material.audio_content, material.audio_content_by) == (text, by):
        return
    material.audio_content, material.audio_content_by = text, by
    material.version += 1
    session.add(material)
    changed = {"audio_content": text, "audio_content_by": by, "version": material.version}
    events.record(session, actor, "material", material.id, "describe", clock, **changed)


def _document(row: Segment) -> dict[str, Any]:
    return row.model_dump(mode="json", include={"start_s", "end_s", "speaker", "text", "made_by"})
