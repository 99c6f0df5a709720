"""From what was perceived to an answer: pure, and silent about what is not known."""

import json
from collections.abc import Mapping, Sequence

from core.content import Frozen
from evaluation.models.sim.grammar import (
    CAPTIONS,
    PHOTO_CAPTION,
    REVIEW_ASPECTS,
    Ask,
    AskKind,
    Hearing,
    Language,
    Sight,
    Understood,
)
from evaluation.models.sim.percepts import Clip, Percept, Picture, Sound

NOTHING: Mapping[Language, str] = {"en": "none", "zh": "无"}
_NOT_THERE: Mapping[Language, str] = {
    "en": "What is asked is in none of the materials.",
    "zh": "素材中没有题目所问的信息。",
}


class Known(Frozen):
    """All that a member has to answer with.

    Attributes:
        counts: What was counted, and the spoken number.
        photos: Label of the photo at each place, counted from 1.
        picture: Label of the image as a whole.
        printed: The number printed in the image.
        shown: The digits that the video shows.
        spoken: The digits of the recording, as they were said, or what a caption says of them.
        report: For each piece of media in the order received, what a delivery canary asks for.
        described: What a caption or transcript would say.
    """

    counts: Mapping[Sight | Hearing, int] = {}
    photos: Mapping[int, str] = {}
    picture: str | None = None
    printed: str | None = None
    shown: str | None = None
    spoken: str | None = None
    report: tuple[str, ...] = ()
    described: str | None = None


def know(percepts: Sequence[Percept], labels: Sequence[str], said: Understood) -> Known:
    """Put percepts, and what captions say where nothing was perceived, together.

    The first of two images, recordings or videos counts. The track of a video is listened to where no recording came.
    """
    counts = dict(said.counts)
    photos = dict(said.photos)
    spoken = str(counts[Hearing.NUMBER]) if Hearing.NUMBER in counts else None
    shown = None
    tracks = [clip.sound for clip in percepts if isinstance(clip, Clip) and clip.sound is not None]
    recordings = [percept for percept in percepts if isinstance(percept, Sound)]
    for sound in reversed(recordings or tracks):
        counts |= _heard(sound)
        spoken = _spoken(sound) or spoken
    for clip in reversed([percept for percept in percepts if isinstance(percept, Clip)]):
        counts |= {Sight.FLASHES: clip.flashes, Sight.DOTS: clip.dots}
        photos |= {place: labels[photo] for place, photo in enumerate(clip.shots, start=1)}
        shown = clip.numbers or shown
    pictures = [percept for percept in percepts if isinstance(percept, Picture)]
    for picture in reversed(pictures):
        counts[Sight.DOTS] = picture.dots
        photos |= {place: labels[photo] for place, photo in enumerate(picture.tiles, start=1) if photo is not None}
    whole = pictures[0].photo if pictures else None
    return Known(
        counts=counts,
        photos=photos,
        picture=None if whole is None else labels[whole],
        printed=next((picture.number for picture in pictures if picture.number), None),
        shown=shown,
        spoken=spoken,
        report=tuple(entry for percept in percepts for entry in _entries(percept, said.language)),
        described=" ".join(line for one in percepts for line in _described(one, labels, said.language)) or None,
    )


def work_out(ask: Ask, known: Known, language: Language) -> str | None:
    """The answer to one question, or None where something that it needs is not known."""
    seen = known.counts.get(ask.sight) if ask.sight else None
    heard = known.counts.get(ask.hearing) if ask.hearing else None
    match ask.kind:
        case AskKind.SUM:
            return None if seen is None or heard is None or not ask.modulus else str((seen + heard) % ask.modulus)
        case AskKind.SAME | AskKind.SEEN | AskKind.HEARD:
            either = heard if seen is None else seen
            return None if either is None else str(either)
        case AskKind.POINTED:
            return None if heard is None else known.photos.get(heard)
        case AskKind.PLACED:
            return None if ask.place is None else known.photos.get(ask.place)
        case AskKind.PICTURE:
            return known.picture
        case AskKind.PRINTED:
            return known.printed
        case AskKind.SHOWN:
            return known.shown
        case AskKind.SPOKEN:
            return known.spoken
        case AskKind.REPORT:
            return ", ".join(known.report) or NOTHING[language]
        case AskKind.DESCRIBE:
            return known.described or NOTHING[language]
        case AskKind.REVIEW:
            return _review(ask, known, language)


def _review(ask: Ask, known: Known, language: Language) -> str:
    """An honest review: all is well, unless the question asks for what nothing that was received holds."""
    is_there = bool(ask.about) and all(work_out(one, known, language) is not None for one in ask.about)
    said = dict.fromkeys(REVIEW_ASPECTS, True) | {"answerable": is_there}
    why = {} if is_there else {"answerable": _NOT_THERE[language]}
    return json.dumps({"nonce": ask.nonce, **said, "why": why}, ensure_ascii=False)


def _heard(sound: Sound) -> dict[Sight | Hearing, int]:
    heard: dict[Sight | Hearing, int] = {Hearing.BEEPS: sound.beeps}
    if said := _spoken(sound):
        heard[Hearing.NUMBER] = int(said)
    return heard


def _spoken(sound: Sound) -> str | None:
    """The digits of a recording; None where there is none, or one that was not understood."""
    return None if None in sound.digits else "".join(map(str, sound.digits)) or None


def _entries(percept: Percept, language: Language) -> list[str]:
    """One entry; of a film with sound two."""
    match percept:
        case Picture():
            return [percept.number or NOTHING[language]]
        case Clip():
            heard = _entries(percept.sound, language) if percept.sound else []
            return [percept.numbers or NOTHING[language], *heard]
        case Sound():
            return ["".join(str(digit) for digit in percept.digits if digit is not None) or NOTHING[language]]


def _described(percept: Percept, labels: Sequence[str], language: Language) -> list[str]:
    """What is seen and heard, in the words that members understand when they read them."""
    counts: dict[Sight | Hearing, int | str] = {}
    shots: list[int | None] = []
    match percept:
        case Picture():
            counts, shots = {Sight.DOTS: percept.dots}, list(percept.tiles)
        case Clip():
            counts, shots = {Sight.FLASHES: percept.flashes}, list(percept.shots)
        case Sound():
            digits = _spoken(percept)
            counts = {Hearing.NUMBER: digits} if digits else {Hearing.BEEPS: percept.beeps}
    lines = [CAPTIONS[term][language].format(count=count) for term, count in counts.items() if count]
    photos = [(place, labels[photo]) for place, photo in enumerate(shots, start=1) if photo is not None]
    return lines + [PHOTO_CAPTION[language].format(place=place, label=label) for place, label in photos]
