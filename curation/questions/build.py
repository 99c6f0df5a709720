"""From a draft and its examined media to the question."""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from core.content import MediaPart, MediaRef, Modality, Part, TextPart
from core.errors import first_problem
from core.question import Choice, Question
from curation.questions.importers.base import BadRecord, Draft, Given, Label
from curation.questions.language import language_of
from curation.questions.media import Stored

LONGEST_ID = 256
SOUND_OF, OFFSET_S = "_sound_of", "_offset_s"
"""Ends of labels that begin with a sound's name."""


def build(draft: Draft, media: Mapping[str, Stored]) -> tuple[Question, dict[str, Label]]:
    """The question, and its labels; `media` are by the names of what the draft is given.

    A film's sound that belongs to the question follows the film under the next free name, and is required like it. For
    an `audio_` name a film means its sound. The label `audio_N_sound_of` names the film, and `audio_N_offset_s` says
    how much later than it the sound starts, if it does.

    Raises:
        BadRecord: A medium is not what its name says, or the parts contradict each other.
    """
    if len(draft.qid) > LONGEST_ID:
        raise BadRecord("bad_id", f"the id has {len(draft.qid)} characters, at most {LONGEST_ID} are taken")
    labels: dict[str, Label] = {**draft.labels, "task_type_by": draft.task_type_by}
    parts: list[Part] = []
    taken = {one.name for one in draft.given}
    for segment in draft.prompt:
        if isinstance(segment, str):
            parts.append(TextPart(text=segment))
            continue
        stored = media[segment.name]
        parts.append(MediaPart(name=segment.name, media=_shown(segment, stored)))
        if segment.modality is Modality.VIDEO and segment.sound and stored.sound is not None:
            name = _next_audio(taken)
            parts.append(MediaPart(name=name, media=stored.sound))
    labels |= _sounds_of_films(parts, media)
    asked = "\n".join(one for one in draft.prompt if isinstance(one, str))
    try:
        question = Question(
            prompt=tuple(parts),
            kind=draft.kind,
            choices=tuple(Choice(text=text) for text in draft.choices),
            answer=draft.answer,
            steps=draft.steps,
            required=frozenset(part.media.modality for part in parts if isinstance(part, MediaPart)),
            task_type=draft.task_type,
            language=draft.language or language_of(asked, draft.choices),
            asked_in=draft.asked_in,
        )
    except ValidationError as error:
        raise BadRecord("not_a_question", first_problem(error)) from error
    return question, labels


def _sounds_of_films(parts: Sequence[Part], media: Mapping[str, Stored]) -> dict[str, Label]:
    """Of each sound that was taken out of a film of the question: which one, and its offset."""
    labels: dict[str, Label] = {}
    shown = [part for part in parts if isinstance(part, MediaPart)]
    films = {
        sound.sha256: (part.name, media[part.name].offset_s)
        for part in reversed(shown)
        if part.media.modality is Modality.VIDEO and (sound := media[part.name].sound) is not None
    }
    for part in shown:
        if part.media.sha256 in films:
            film, offset_s = films[part.media.sha256]
            labels[f"{part.name}{SOUND_OF}"] = film
            labels |= {f"{part.name}{OFFSET_S}": offset_s} if offset_s else {}
    return labels


def _shown(given: Given, stored: Stored) -> MediaRef:
    if stored.main.modality is given.modality:
        return stored.main
    if given.modality is Modality.AUDIO and stored.main.modality is Modality.VIDEO and stored.sound is not None:
        return stored.sound
    raise BadRecord(
        "wrong_modality", f"{given.name} is {stored.main.modality.value} without the sound or picture named"
    )


def _next_audio(taken: set[str]) -> str:
    number = 1
    while f"audio_{number}" in taken:
        number += 1
    taken.add(f"audio_{number}")
    return f"audio_{number}"
